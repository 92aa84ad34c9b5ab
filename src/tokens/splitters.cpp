#include "tokens/splitters.hpp"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/nearest_name.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/characters.hpp"
#include "tokens/normalizers.hpp"
#include "tokens/split.hpp"

namespace attn {
namespace {

// Each unsettled part becomes what change(part) makes of it, a text and its parts.
template <class Change>
void rewrite_parts(SplitText& text, Change&& change) {
  SplitText result;
  result.reserve(text.text.size());
  for (const SplitText::Part& part : text.parts) {
    const std::size_t base = result.text.size();
    if (part.token) {
      result.append(text, part.begin, part.end);
      result.parts.push_back({base, result.text.size(), part.token});
      continue;
    }
    AlignedText own;
    own.append(text, part.begin, part.end);
    change(own);
    result.append(own, 0, own.text.size());
    if (result.text.size() > base) {
      result.parts.push_back({base, result.text.size(), std::nullopt});
    }
  }
  text = std::move(result);
}

template <class IsMatch>
void split_characters(SplitText& text, SplitBehavior behavior, IsMatch is_match) {
  split(text, behavior, [&](std::string_view part, std::vector<Stretch>& stretches) {
    find_characters(part, is_match, stretches);
  });
}

void split_pattern(SplitText& text, SplitBehavior behavior, const RegularExpression& pattern,
                   bool invert) {
  split(text, behavior, [&](std::string_view part, std::vector<Stretch>& stretches) {
    pattern.find(part, stretches);
    for (Stretch& s : stretches) s.match = s.match != invert;
  });
}

// Runs of word characters, and runs of what is neither that nor white space.
void split_words(SplitText& text) {
  static const RegularExpression words(
      "[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]+|"
      "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}"
      "\\t-\\r\\x20\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
      "\\x{3000}]+",
      "");
  split_pattern(text, SplitBehavior::removed, words, true);
}

SplitBehavior read_behavior(const Stage& stage) {
  constexpr std::array<std::string_view, 5> names = {"Removed", "Isolated", "MergedWithPrevious",
                                                     "MergedWithNext", "Contiguous"};
  const std::string name = stage.string("behavior");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<SplitBehavior>(i);
  }
  throw input_error(translated("the behavior {1} is not supported", in_quotes(name)),
                    stage.at("behavior"), suggestion(name, names));
}

Splitter read_split(const Stage& stage) {
  stage.expect_keys({"pattern", "behavior", "invert"});
  const RegularExpression pattern = read_pattern(stage.need("pattern"), stage.at("pattern"));
  const SplitBehavior behavior = read_behavior(stage);
  const bool invert = stage.boolean("invert");
  return [=](SplitText& text) { split_pattern(text, behavior, pattern, invert); };
}

void append_splitters(const Stage& stage, std::vector<Splitter>& splitters) {
  const std::string& type = stage.type();
  const auto add_characters = [&](SplitBehavior behavior, auto is_match) {
    splitters.push_back([=](SplitText& text) { split_characters(text, behavior, is_match); });
  };
  if (type == "Sequence") {
    stage.expect_keys({"pretokenizers"});
    stage.each("pretokenizers", [&](const Stage& s) { append_splitters(s, splitters); });
  } else if (type == "BertPreTokenizer") {
    stage.expect_keys({});
    splitters.push_back(split_as_bert);
  } else if (type == "ByteLevel") {
    stage.expect_keys({"add_prefix_space", "trim_offsets", "use_regex"});
    const bool space = stage.boolean("add_prefix_space");
    const bool pattern = stage.boolean("use_regex", true);
    splitters.push_back([=](SplitText& text) { split_bytes(text, space, pattern); });
  } else if (type == "Split") {
    splitters.push_back(read_split(stage));
  } else if (type == "Metaspace") {
    splitters.push_back(read_metaspace(stage));
  } else if (type == "Whitespace") {
    stage.expect_keys({});
    splitters.push_back(split_words);
  } else if (type == "WhitespaceSplit") {
    stage.expect_keys({});
    add_characters(SplitBehavior::removed, is_white_space);
  } else if (type == "Digits") {
    stage.expect_keys({"individual_digits"});
    add_characters(
        stage.boolean("individual_digits") ? SplitBehavior::isolated : SplitBehavior::contiguous,
        is_numeric);
  } else if (type == "Punctuation") {
    stage.expect_keys({"behavior"});
    add_characters(stage.find("behavior") ? read_behavior(stage) : SplitBehavior::isolated,
                   is_punctuation);
  } else if (type == "CharDelimiterSplit") {
    stage.expect_keys({"delimiter"});
    const char32_t delimiter = stage.character("delimiter");
    add_characters(SplitBehavior::removed, [=](char32_t c) { return c == delimiter; });
  } else {
    refuse_type(stage, translated("the pre-tokenizer"),
                {"BertPreTokenizer", "ByteLevel", "CharDelimiterSplit", "Digits", "Metaspace",
                 "Punctuation", "Sequence", "Split", "Whitespace", "WhitespaceSplit"});
  }
}

}  // namespace

void split_as_bert(SplitText& text) {
  split_characters(text, SplitBehavior::removed, is_white_space);
  split_characters(text, SplitBehavior::isolated, is_punctuation);
}

void split_bytes(SplitText& text, bool add_space, bool use_pattern) {
  // Radford et al. 2019, encoder.py of openai/gpt-2.
  static const RegularExpression words(
      R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)", "");
  if (add_space) {
    rewrite_parts(text, [](AlignedText& part) {
      if (!part.text.starts_with(' ')) prepend(part, " ");
    });
  }
  if (use_pattern) split_pattern(text, SplitBehavior::isolated, words, false);
  rewrite_parts(text, spell_bytes);
}

Splitter isolate(const std::string& pattern) {
  return [words = RegularExpression(pattern, "")](SplitText& text) {
    split_pattern(text, SplitBehavior::isolated, words, false);
  };
}

void Metaspace::operator()(SplitText& text) const {
  rewrite_parts(text, [&](AlignedText& part) {
    const bool begins_text = part.origins[0].begin == 0;
    AlignedText marked;
    marked.reserve(part.text.size());
    for (std::size_t i = 0; i < part.text.size(); ++i) {
      const std::string_view byte = std::string_view(part.text).substr(i, 1);
      marked.append(byte == " " ? std::string_view(replacement) : byte, part.origins[i]);
    }
    part = std::move(marked);
    const bool wanted = prepend == Prepend::always || (prepend == Prepend::first && begins_text);
    if (wanted && !part.text.starts_with(replacement)) attn::prepend(part, replacement);
  });
  if (!cut) return;
  split(text, SplitBehavior::merged_with_next,
        [&](std::string_view part, std::vector<Stretch>& stretches) {
          std::size_t done = 0;
          for (std::size_t at = part.find(replacement); at != std::string_view::npos;
               at = part.find(replacement, done)) {
            if (done < at) stretches.push_back({done, at, false});
            done = at + replacement.size();
            stretches.push_back({at, done, true});
          }
          if (done < part.size()) stretches.push_back({done, part.size(), false});
        });
}

Metaspace read_metaspace(const Stage& stage) {
  stage.expect_keys({"replacement", "prepend_scheme", "split", "add_prefix_space", "str_rep"});
  Metaspace metaspace;
  metaspace.replacement.clear();
  append_utf8(metaspace.replacement, stage.character("replacement"));
  metaspace.cut = stage.boolean("split", true);
  // Files of before 2023 have add_prefix_space alone.
  const bool space = stage.boolean("add_prefix_space", true);
  if (!space) metaspace.prepend = Metaspace::Prepend::never;
  if (const auto scheme = stage.optional_string("prepend_scheme")) {
    constexpr std::array<std::string_view, 3> names = {"never", "first", "always"};
    std::size_t i = 0;
    while (i < names.size() && *scheme != names[i]) ++i;
    if (i == names.size()) {
      throw input_error(translated("the prepend_scheme {1} is not supported", in_quotes(*scheme)),
                        stage.at("prepend_scheme"), suggestion(*scheme, names));
    }
    metaspace.prepend = static_cast<Metaspace::Prepend>(i);
    if (!space && metaspace.prepend != Metaspace::Prepend::never) {
      throw input_error(
          translated("add_prefix_space is false, but prepend_scheme is {1}", in_quotes(*scheme)),
          stage.at("prepend_scheme"), translated("leave out one of the two"));
    }
  }
  return metaspace;
}

std::vector<Splitter> read_splitters(const Stage& stage) {
  std::vector<Splitter> splitters;
  append_splitters(stage, splitters);
  return splitters;
}

}  // namespace attn
