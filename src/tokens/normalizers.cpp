#include "tokens/normalizers.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "attn/error.hpp"

#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "tokens/byte_letters.hpp"
#include "tokens/characters.hpp"
#include "tokens/precompiled_map.hpp"

namespace attn {
namespace {

// Each character becomes what change(character, origin, result) appends.
template <class Change>
void rewrite(AlignedText& text, Change&& change) {
  AlignedText result;
  result.reserve(text.text.size());
  for_each_character(text.text, [&](char32_t c, std::size_t begin, std::size_t end) {
    change(c, text.origin(begin, end), result);
  });
  text = std::move(result);
}

template <class IsDropped>
void drop(AlignedText& text, IsDropped&& is_dropped) {
  rewrite(text, [&](char32_t c, Origin origin, AlignedText& result) {
    if (!is_dropped(c)) result.append(c, origin);
  });
}

void lower_case_all(AlignedText& text) {
  rewrite(text, [](char32_t c, Origin origin, AlignedText& result) {
    const ShortText lower = lower_case(c);
    for (std::size_t i = 0; i < lower.count; ++i) result.append(lower.characters[i], origin);
  });
}

void strip(AlignedText& text, bool left, bool right) {
  std::size_t first = 0, last = 0;
  bool any = false;
  for_each_character(text.text, [&](char32_t c, std::size_t begin, std::size_t end) {
    if (is_white_space(c)) return;
    if (!any) first = begin;
    any = true;
    last = end;
  });
  AlignedText result;
  const std::size_t begin = !left ? 0 : any ? first : text.text.size();
  const std::size_t end = !right ? text.text.size() : any ? last : begin;
  if (begin < end) result.append(text, begin, end);
  text = std::move(result);
}

// SentencePiece's nmt rules for control characters and unusual spaces, as the library has them.
void nmt(AlignedText& text) {
  rewrite(text, [](char32_t c, Origin origin, AlignedText& result) {
    const bool dropped = (c >= 0x1 && c <= 0x8) || c == 0xB || (c >= 0xE && c <= 0x1F) ||
                         c == 0x7F || c == 0x8F || c == 0x9F;
    const bool space = c == 0x9 || c == 0xA || c == 0xC || c == 0xD || c == 0x1680 ||
                       (c >= 0x200B && c <= 0x200F) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                       c == 0xFEFF || c == 0xFFFD;
    if (!dropped) result.append(space ? U' ' : c, origin);
  });
}

struct Character {
  char32_t c;
  int combining_class;
  Origin origin;
};

// Marks in canonical order behind their starters.
void order_marks(std::vector<Character>& characters) {
  const auto is_starter = [](const Character& x) { return x.combining_class == 0; };
  for (auto first = characters.begin(); first != characters.end();) {
    const auto end = std::find_if(first, characters.end(), is_starter);
    std::stable_sort(first, end, [](const Character& a, const Character& b) {
      return a.combining_class < b.combining_class;
    });
    first = std::find_if_not(end, characters.end(), is_starter);
  }
}

// UAX #15, D117: a character joins the last starter unless one of its class or higher is between.
void compose(std::vector<Character>& characters) {
  std::size_t written = 0, starter = 0;
  bool any_starter = false;
  int last_class = 0;
  for (const Character& x : characters) {
    const bool adjacent = any_starter && starter + 1 == written;
    if (any_starter && (adjacent || last_class < x.combining_class)) {
      if (const char32_t both = composite(characters[starter].c, x.c)) {
        characters[starter].c = both;
        characters[starter].origin = united(characters[starter].origin, x.origin);
        continue;
      }
    }
    if (x.combining_class == 0) {
      starter = written;
      any_starter = true;
    }
    last_class = x.combining_class;
    characters[written++] = x;
  }
  characters.resize(written);
}

bool is_ascii(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Normalizer read_bert(const Stage& stage) {
  stage.expect_keys({"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"});
  BertNormalizer bert;
  bert.clean = stage.boolean("clean_text");
  bert.chinese = stage.boolean("handle_chinese_chars");
  bert.lowercase = stage.boolean("lowercase");
  bert.strip_accents = stage.boolean("strip_accents", bert.lowercase);
  return bert;
}

Normalizer read_precompiled(const Stage& stage) {
  stage.expect_keys({"precompiled_charsmap"});
  const std::string where = stage.at("precompiled_charsmap");
  const auto map = std::make_shared<const PrecompiledMap>(
      base64_decoded(stage.string("precompiled_charsmap"), where), where);
  return [map](AlignedText& text) { map->normalize(text); };
}

void append_normalizers(const Stage& stage, std::vector<Normalizer>& normalizers) {
  const std::string& type = stage.type();
  if (type == "Sequence") {
    stage.expect_keys({"normalizers"});
    stage.each("normalizers", [&](const Stage& s) { append_normalizers(s, normalizers); });
  } else if (type == "BertNormalizer") {
    normalizers.push_back(read_bert(stage));
  } else if (type == "NFC" || type == "NFD" || type == "NFKC" || type == "NFKD") {
    stage.expect_keys({});
    normalizers.push_back(UnicodeForm{type.size() == 4, type.ends_with('C')});
  } else if (type == "Lowercase") {
    stage.expect_keys({});
    normalizers.push_back(lower_case_all);
  } else if (type == "StripAccents") {
    stage.expect_keys({});
    normalizers.push_back([](AlignedText& text) { drop(text, is_combining_mark); });
  } else if (type == "Strip") {
    stage.expect_keys({"strip_left", "strip_right"});
    const bool left = stage.boolean("strip_left"), right = stage.boolean("strip_right");
    normalizers.push_back([=](AlignedText& text) { strip(text, left, right); });
  } else if (type == "Replace") {
    stage.expect_keys({"pattern", "content"});
    normalizers.push_back(
        Replace{read_pattern(stage.need("pattern"), stage.at("pattern")), stage.string("content")});
  } else if (type == "Prepend") {
    stage.expect_keys({"prepend"});
    const std::string content = stage.string("prepend");
    normalizers.push_back([=](AlignedText& text) { prepend(text, content); });
  } else if (type == "Precompiled") {
    normalizers.push_back(read_precompiled(stage));
  } else if (type == "Nmt") {
    stage.expect_keys({});
    normalizers.push_back(nmt);
  } else if (type == "ByteLevel") {
    stage.expect_keys({});
    normalizers.push_back(spell_bytes);
  } else {
    refuse_type(stage, translated("the normalizer"),
                {"BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt",
                 "Precompiled", "Prepend", "Replace", "Sequence", "Strip", "StripAccents"});
  }
}

}  // namespace

void BertNormalizer::operator()(AlignedText& text) const {
  constexpr char32_t replacement_character = 0xFFFD;
  rewrite(text, [&](char32_t c, Origin origin, AlignedText& result) {
    if (clean) {
      const bool parts_words = c == U'\t' || c == U'\n' || c == U'\r';
      if (!parts_words && (c == replacement_character || is_control(c))) return;
      if (parts_words || is_white_space(c)) c = U' ';
    }
    const bool alone = chinese && is_chinese(c);
    if (alone) result.append(U' ', origin);
    result.append(c, origin);
    if (alone) result.append(U' ', origin);
  });
  if (strip_accents) {
    UnicodeForm{false, false}(text);
    drop(text, is_nonspacing_mark);
  }
  if (lowercase) lower_case_all(text);
}

void UnicodeForm::operator()(AlignedText& text) const {
  if (is_ascii(text.text)) return;
  std::vector<Character> characters;
  for_each_character(text.text, [&](char32_t c, std::size_t begin, std::size_t end) {
    std::array<char32_t, longest_decomposition> parts{};
    const std::size_t count = decompose(c, compatibility, parts);
    for (std::size_t i = 0; i < count; ++i) {
      characters.push_back({parts[i], combining_class(parts[i]), text.origin(begin, end)});
    }
  });
  order_marks(characters);
  if (composed) compose(characters);
  AlignedText result;
  result.reserve(text.text.size());
  for (const Character& x : characters) result.append(x.c, x.origin);
  text = std::move(result);
}

void Replace::operator()(AlignedText& text) const {
  std::vector<Stretch> stretches;
  if (!text.text.empty()) pattern.find(text.text, stretches);
  AlignedText result;
  result.reserve(text.text.size());
  for (const Stretch& s : stretches) {
    if (!s.match) {
      result.append(text, s.begin, s.end);
    } else if (s.begin < s.end) {
      result.append(content, text.origin(s.begin, s.end));
    } else {
      // Put in between two characters: it comes from the one before, if there is one.
      result.append(content, s.begin == 0 ? Origin{} : text.origins[s.begin - 1]);
    }
  }
  text = std::move(result);
}

void prepend(AlignedText& text, std::string_view content) {
  if (text.text.empty()) return;
  AlignedText result;
  result.reserve(text.text.size() + content.size());
  result.append(content, text.origins[0]);
  result.append(text, 0, text.text.size());
  text = std::move(result);
}

void spell_bytes(AlignedText& text) {
  AlignedText result;
  result.reserve(text.text.size() * 2);
  for (std::size_t i = 0; i < text.text.size(); ++i) {
    result.append(letter_of_byte(static_cast<unsigned char>(text.text[i])), text.origins[i]);
  }
  text = std::move(result);
}

std::vector<Normalizer> read_normalizer(const Stage& stage) {
  std::vector<Normalizer> normalizers;
  append_normalizers(stage, normalizers);
  return normalizers;
}

RegularExpression read_pattern(const JsonValue& value, const std::string& where) {
  const Stage pattern{value, where};
  if (value.is(JsonValue::Type::object) && value.members().size() == 1) {
    if (pattern.find("String") != nullptr) {
      return RegularExpression::literal(pattern.string("String"));
    }
    if (pattern.find("Regex") != nullptr) return {pattern.string("Regex"), pattern.at("Regex")};
  }
  throw input_error(translated("expected a pattern, found {1}", translated(type_text(value))),
                    where, R"(give {"String": …} or {"Regex": …})");
}

}  // namespace attn
