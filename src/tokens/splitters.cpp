#include <array>

#include "attn/error.hpp"

#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/stages.hpp"

namespace attn {
namespace {

// Rewrites the text: append(part, result) appends the change of an unsettled part.
template <class Append>
void rewrite_parts(SplitText& text, Append&& append) {
  SplitText result;
  result.reserve(text.text.size());
  for (const SplitText::Part& part : text.parts) {
    const std::size_t base = result.text.size();
    if (part.token) {
      result.append(text, part.begin, part.end);
    } else {
      append(part, result);
    }
    if (part.token || result.text.size() > base) {
      result.parts.push_back({base, result.text.size(), part.token});
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

}  // namespace

Splitter split_pattern(const RegularExpression& pattern, SplitBehavior behavior, bool invert) {
  return [=](SplitText& text, MatchBudget& budget) {
    split(text, behavior, [&](std::string_view part, std::vector<Stretch>& stretches) {
      pattern.find(part, budget, stretches);
      for (Stretch& s : stretches) s.match = s.match != invert;
    });
  };
}

namespace {

// Runs of word characters, and runs of characters that are neither that nor white space.
Splitter split_words() {
  return split_pattern(
      {"[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}]+|"
       "[^\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\x{200C}\\x{200D}"
       "\\t-\\r\\x20\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
       "\\x{3000}]+",
       ""},
      SplitBehavior::removed, true);
}

SplitBehavior read_behavior(const Stage& stage) {
  constexpr std::array<std::string_view, 5> names = {"Removed", "Isolated", "MergedWithPrevious",
                                                     "MergedWithNext", "Contiguous"};
  const std::string& name = stage.string("behavior");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i]) return static_cast<SplitBehavior>(i);
  }
  throw input_error(translated("the behavior {1} is not supported", in_quotes(name)),
                    stage.place("behavior"), suggestion(name, names));
}

Splitter read_byte_level(const Stage& stage) {
  return split_bytes(stage.boolean("add_prefix_space"), stage.boolean("use_regex", true));
}

Splitter read_split(const Stage& stage) {
  const RegularExpression pattern = read_pattern(stage, "pattern");
  const SplitBehavior behavior = read_behavior(stage);
  return split_pattern(pattern, behavior, stage.boolean("invert"));
}

Splitter read_digits(const Stage& stage) {
  const bool single = stage.boolean("individual_digits");
  return [=](SplitText& text) {
    split_characters(text, single ? SplitBehavior::isolated : SplitBehavior::contiguous,
                     is_numeric);
  };
}

Splitter read_punctuation(const Stage& stage) {
  const bool given = stage.find("behavior") != nullptr;
  const SplitBehavior behavior = given ? read_behavior(stage) : SplitBehavior::isolated;
  return [=](SplitText& text) { split_characters(text, behavior, is_punctuation); };
}

Splitter read_delimiter(const Stage& stage) {
  const char32_t delimiter = stage.character("delimiter");
  return [=](SplitText& text) {
    split_characters(text, SplitBehavior::removed, [=](char32_t c) { return c == delimiter; });
  };
}

// Parts of so many characters, the last of fewer.
Splitter read_fixed_length(const Stage& stage) {
  constexpr std::int64_t most = 1'000'000;
  const auto length = static_cast<std::size_t>(stage.integer("length", most));
  if (length == 0) {
    throw input_error(translated("parts of no characters make no text"), stage.place("length"),
                      translated("give at least 1"));
  }
  return [=](SplitText& text) {
    split(text, SplitBehavior::isolated, [&](std::string_view part, std::vector<Stretch>& all) {
      std::size_t characters = 0, first = 0;
      for_each_character(part, [&](char32_t, std::size_t, std::size_t end) {
        if (++characters % length != 0 && end != part.size()) return;
        all.push_back({first, end, true});
        first = end;
      });
    });
  };
}

// Scripts of Unicode but for those of Chinese and Japanese, which are one here.
// clang-format off
constexpr std::array scripts = {
    "Common", "Latin", "Inherited", "Cyrillic", "Greek", "Arabic", "Hebrew", "Devanagari", "Hangul",
    "Thai", "Bengali", "Adlam", "Ahom", "Anatolian_Hieroglyphs", "Armenian", "Avestan", "Balinese",
    "Bamum", "Bassa_Vah", "Batak", "Bhaiksuki", "Bopomofo", "Brahmi", "Braille", "Buginese",
    "Buhid", "Canadian_Aboriginal", "Carian", "Caucasian_Albanian", "Chakma", "Cham", "Cherokee",
    "Coptic", "Cuneiform", "Cypriot", "Deseret", "Duployan", "Egyptian_Hieroglyphs", "Elbasan",
    "Ethiopic", "Georgian", "Glagolitic", "Gothic", "Grantha", "Gujarati", "Gurmukhi", "Hanunoo",
    "Hatran", "Imperial_Aramaic", "Inscriptional_Pahlavi", "Inscriptional_Parthian", "Javanese",
    "Kaithi", "Kannada", "Kayah_Li", "Kharoshthi", "Khmer", "Khojki", "Khudawadi", "Lao", "Lepcha",
    "Limbu", "Linear_A", "Linear_B", "Lisu", "Lycian", "Lydian", "Mahajani", "Malayalam", "Mandaic",
    "Manichaean", "Marchen", "Meetei_Mayek", "Mende_Kikakui", "Meroitic_Cursive",
    "Meroitic_Hieroglyphs", "Miao", "Modi", "Mongolian", "Mro", "Multani", "Myanmar", "Nabataean",
    "New_Tai_Lue", "Newa", "Nko", "Ogham", "Ol_Chiki", "Old_Hungarian", "Old_Italic",
    "Old_North_Arabian", "Old_Permic", "Old_Persian", "Old_South_Arabian", "Old_Turkic", "Oriya",
    "Osage", "Osmanya", "Pahawh_Hmong", "Palmyrene", "Pau_Cin_Hau", "Phags_Pa", "Phoenician",
    "Psalter_Pahlavi", "Rejang", "Runic", "Samaritan", "Saurashtra", "Sharada", "Shavian",
    "Siddham", "SignWriting", "Sinhala", "Sora_Sompeng", "Sundanese", "Syloti_Nagri", "Syriac",
    "Tagalog", "Tagbanwa", "Tai_Le", "Tai_Tham", "Tai_Viet", "Takri", "Tamil", "Tangut", "Telugu",
    "Thaana", "Tibetan", "Tifinagh", "Tirhuta", "Ugaritic", "Vai", "Warang_Citi", "Yi"};
// clang-format on

// Runs of one script, with the spaces and the characters of no script behind it. What has none and
// stands before all others is dropped.
const Splitter& split_scripts() {
  static const Splitter splitter = [] {
    const std::string eastern = R"(\p{Han}\p{Hiragana}\p{Katakana}\x{30FC})";
    std::string known = eastern, runs;
    const auto add = [&](const std::string& own) {
      runs += (runs.empty() ? "[" : "|[") + own + "](?:[" + own + R"(]|\g<none>)*)";
    };
    for (const std::string script : scripts) {
      const std::string own = R"(\p{)" + script + "}";
      known += own;
      add(script == "Common" ? own + R"(&&[^\x20\x{30FC}])" : own);
    }
    add(eastern);
    return split_pattern({R"((?<none>\x20|[^)" + known + "]){0}(?:" + runs + ")", ""},
                         SplitBehavior::removed, true);
  }();
  return splitter;
}

void split_at_white_space(SplitText& text) {
  split_characters(text, SplitBehavior::removed, is_white_space);
}

const std::vector<StageType<Splitter>>& splitter_types() {
  static const std::vector<StageType<Splitter>> types = {
      {"BertPreTokenizer", Names{}, [](const Stage&) { return split_as_bert; }},
      {"ByteLevel", Names{"add_prefix_space", "trim_offsets", "use_regex"}, read_byte_level},
      {"CharDelimiterSplit", Names{"delimiter"}, read_delimiter},
      {"Digits", Names{"individual_digits"}, read_digits},
      {"FixedLength", Names{"length"}, read_fixed_length},
      {"Metaspace", metaspace_keys, read_metaspace},
      {"Punctuation", Names{"behavior"}, read_punctuation},
      {"Split", Names{"pattern", "behavior", "invert"}, read_split},
      {"UnicodeScripts", Names{}, [](const Stage&) { return split_scripts(); }},
      {"Whitespace", Names{}, [](const Stage&) { return split_words(); }},
      {"WhitespaceSplit", Names{}, [](const Stage&) { return split_at_white_space; }}};
  return types;
}

}  // namespace

void split_as_bert(SplitText& text) {
  split_at_white_space(text);
  split_characters(text, SplitBehavior::isolated, is_punctuation);
}

Splitter split_bytes(bool add_space, bool use_pattern) {
  // Radford et al. 2019, encoder.py of openai/gpt-2.
  static const Splitter split_words =
      isolate(R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)");
  return [=](SplitText& text, MatchBudget& budget) {
    if (add_space) {
      rewrite_parts(text, [&](const SplitText::Part& part, SplitText& result) {
        if (!text.part(part).starts_with(' ')) result.append(U' ', text.origins[part.begin]);
        result.append(text, part.begin, part.end);
      });
    }
    if (use_pattern) split_words(text, budget);
    rewrite_parts(text, [&](const SplitText::Part& part, SplitText& result) {
      for (std::size_t i = part.begin; i < part.end; ++i) {
        result.append(letter_of_byte(static_cast<unsigned char>(text.text[i])), text.origins[i]);
      }
    });
  };
}

Splitter isolate(const std::string& pattern) {
  return split_pattern({pattern, ""}, SplitBehavior::isolated, false);
}

void Metaspace::operator()(SplitText& text) const {
  rewrite_parts(text, [&](const SplitText::Part& part, SplitText& result) {
    const bool marked =
        text.part(part).starts_with(' ') || text.part(part).starts_with(replacement);
    const Origin first = text.origins[part.begin];
    const bool wanted =
        prepend == Prepend::always || (prepend == Prepend::first && first.begin == 0);
    if (wanted && !marked) result.append(replacement, first);
    for (std::size_t i = part.begin; i < part.end; ++i) {
      const std::string_view byte = std::string_view(text.text).substr(i, 1);
      result.append(byte == " " ? std::string_view(replacement) : byte, text.origins[i]);
    }
  });
  if (!cut) return;
  split(text, SplitBehavior::merged_with_next,
        [&](std::string_view part, std::vector<Stretch>& stretches) {
          find_literal(replacement, part, stretches);
        });
}

Metaspace read_metaspace(const Stage& stage) {
  Metaspace metaspace;
  metaspace.replacement.clear();
  append_utf8(metaspace.replacement, stage.character("replacement"));
  metaspace.cut = stage.boolean("split", true);
  // Files from before 2023 have add_prefix_space alone.
  const bool space = stage.boolean("add_prefix_space", true);
  if (!space) metaspace.prepend = Metaspace::Prepend::never;
  if (const auto scheme = stage.optional_string("prepend_scheme")) {
    constexpr std::array<std::string_view, 3> names = {"never", "first", "always"};
    std::size_t i = 0;
    while (i < names.size() && *scheme != names[i]) ++i;
    if (i == names.size()) {
      throw input_error(translated("the prepend_scheme {1} is not supported", in_quotes(*scheme)),
                        stage.place("prepend_scheme"), suggestion(*scheme, names));
    }
    metaspace.prepend = static_cast<Metaspace::Prepend>(i);
    if (!space && metaspace.prepend != Metaspace::Prepend::never) {
      throw input_error(
          translated("add_prefix_space is false, but prepend_scheme is {1}", in_quotes(*scheme)),
          stage.place("prepend_scheme"), translated("leave out one of the two"));
    }
  }
  return metaspace;
}

std::vector<Splitter> read_splitters(const Stage& stage) {
  std::vector<Splitter> splitters;
  read_stages(stage, translated("the pre-tokenizer"), "pretokenizers", splitter_types(),
              [&](const Splitter& one, const Stage& read) {
                check_stage_count(splitters.size(), read);
                splitters.push_back(one);
              });
  return splitters;
}

}  // namespace attn
