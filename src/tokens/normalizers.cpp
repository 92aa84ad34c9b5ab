#include <algorithm>
#include <array>
#include <memory>

#include <utf8proc.h>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/stages.hpp"

namespace attn {
namespace {

// Replaces each character by what change(character, origin, result) appends.
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

// SentencePiece's nmt rules for control characters and unusual spaces, as Hugging Face's library
// has them.
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

// Puts marks after their starters into canonical order.
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

// Parts of a unit of the trie, as Darts-clone lays it out (github.com/s-yata/darts-clone, darts.h).
bool has_leaf(std::uint32_t unit) {
  return (unit >> 8 & 1) != 0;
}
std::uint32_t value(std::uint32_t unit) {
  return unit & 0x7FFFFFFF;
}
std::uint32_t label(std::uint32_t unit) {
  return unit & 0x800000FF;
}
std::size_t offset(std::uint32_t unit) {
  return static_cast<std::size_t>(unit >> 10) << ((unit & 0x200) >> 6);
}

std::uint32_t little_endian(std::string_view bytes) {
  std::uint32_t number = 0;
  for (std::size_t i = 4; i-- > 0;) {
    number = number << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return number;
}

Error damaged(const std::string& where) {
  return input_error(translated("the precompiled table of characters is damaged"), where,
                     translated("use the file as published"));
}

// The end in bytes of the grapheme cluster that begins at `begin`.
std::size_t cluster_end(std::string_view text, std::size_t begin) {
  std::size_t at = begin;
  char32_t previous = next_character(text, at);
  utf8proc_int32_t state = 0;
  while (at < text.size()) {
    std::size_t next = at;
    const char32_t c = next_character(text, next);
    if (utf8proc_grapheme_break_stateful(static_cast<utf8proc_int32_t>(previous),
                                         static_cast<utf8proc_int32_t>(c), &state)) {
      break;
    }
    previous = c;
    at = next;
  }
  return at;
}

// The bytes of Base64 text. Throws Error(input) at `where` if it is none.
std::string base64_decoded(std::string_view text, const std::string& where) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  while (text.ends_with('=')) text.remove_suffix(1);
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 3);
  std::uint32_t bits = 0;
  std::size_t count = 0;
  for (const char c : text) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string_view::npos) throw damaged(where);
    bits = bits << 6 | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFF);
  }
  return bytes;
}

Normalizer read_bert(const Stage& stage) {
  BertNormalizer bert;
  bert.clean = stage.boolean("clean_text");
  bert.chinese = stage.boolean("handle_chinese_chars");
  bert.lowercase = stage.boolean("lowercase");
  bert.strip_accents = stage.boolean("strip_accents", bert.lowercase);
  return bert;
}

Normalizer read_precompiled(const Stage& stage) {
  const std::string where = stage.place("precompiled_charsmap");
  const auto map = std::make_shared<const PrecompiledMap>(
      base64_decoded(stage.string("precompiled_charsmap"), where), where);
  return [map](AlignedText& text) { map->normalize(text); };
}

Normalizer read_strip(const Stage& stage) {
  const bool left = stage.boolean("strip_left"), right = stage.boolean("strip_right");
  return [=](AlignedText& text) { strip(text, left, right); };
}

Normalizer read_prepend(const Stage& stage) {
  return [content = stage.string("prepend")](AlignedText& text) { prepend(text, content); };
}

// A row of a type without settings.
StageType<Normalizer> plain(std::string_view name, const Normalizer& normalizer) {
  return {name, Names{}, [=](const Stage&) { return normalizer; }};
}

const std::vector<StageType<Normalizer>>& normalizer_types() {
  static const std::vector<StageType<Normalizer>> types = {
      {"BertNormalizer", Names{"clean_text", "handle_chinese_chars", "strip_accents", "lowercase"},
       read_bert},
      plain("ByteLevel", spell_bytes),
      plain("Lowercase", lower_case_all),
      plain("NFC", UnicodeForm{false, true}),
      plain("NFD", UnicodeForm{false, false}),
      plain("NFKC", UnicodeForm{true, true}),
      plain("NFKD", UnicodeForm{true, false}),
      plain("Nmt", nmt),
      {"Precompiled", Names{"precompiled_charsmap"}, read_precompiled},
      {"Prepend", Names{"prepend"}, read_prepend},
      {"Replace", Names{"pattern", "content"},
       [](const Stage& stage) {
         return Replace{read_pattern(stage, "pattern"), stage.string("content")};
       }},
      {"Strip", Names{"strip_left", "strip_right"}, read_strip},
      plain("StripAccents", [](AlignedText& text) { drop(text, is_combining_mark); })};
  return types;
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

void Replace::operator()(AlignedText& text, MatchBudget& budget) const {
  std::vector<Stretch> stretches;
  if (!text.text.empty()) pattern.find(text.text, budget, stretches);
  AlignedText result;
  result.reserve(text.text.size());
  for (const Stretch& s : stretches) {
    if (!s.match) {
      result.append(text, s.begin, s.end);
    } else if (s.begin < s.end) {
      result.append(content, text.origin(s.begin, s.end));
    } else {
      // An insertion between two characters comes from the one before, if there is one, and else
      // stands before the text, which may go on after an added token.
      const std::uint32_t begin = text.origins[0].begin;
      result.append(content, s.begin == 0 ? Origin{begin, begin} : text.origins[s.begin - 1]);
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

PrecompiledMap::PrecompiledMap(std::string_view bytes, const std::string& where) : where_(where) {
  constexpr std::size_t unit_size = 4;
  if (bytes.size() < unit_size) throw damaged(where);
  const std::size_t size = little_endian(bytes);
  bytes.remove_prefix(unit_size);
  if (size == 0 || size % unit_size != 0 || size > bytes.size()) throw damaged(where);
  for (std::size_t i = 0; i < size; i += unit_size) {
    trie_.push_back(little_endian(bytes.substr(i)));
  }
  replacements_ = bytes.substr(size);
  if (!replacements_.ends_with('\0')) replacements_ += '\0';
  for (std::size_t at = 0; at < replacements_.size();) {
    const std::size_t length = utf8_length(std::string_view(replacements_).substr(at));
    if (length == 0) throw damaged(where);
    at += length;
  }
}

void PrecompiledMap::check_every_way() const {
  constexpr std::size_t labels = 256;
  constexpr std::uint32_t is_value = 0x80000000;
  for (std::size_t node = 0; node < trie_.size(); ++node) {
    const std::uint32_t here = trie_[node];
    if ((here & is_value) != 0) continue;
    const std::size_t next = node ^ offset(here);
    if ((next | (labels - 1)) >= trie_.size()) throw damaged(where_);
    if (has_leaf(here) && value(trie_[next]) >= replacements_.size()) throw damaged(where_);
  }
}

// The replacement of the shortest entry with which the text begins.
std::optional<std::string_view> PrecompiledMap::find(std::string_view text) const {
  const auto unit = [&](std::size_t at) {
    if (at >= trie_.size()) throw damaged(where_);
    return trie_[at];
  };
  std::size_t node = offset(unit(0));
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte == 0) break;
    node ^= byte;
    const std::uint32_t here = unit(node);
    if (label(here) != byte) return std::nullopt;
    node ^= offset(here);
    if (!has_leaf(here)) continue;
    const std::size_t begin = value(unit(node));
    if (begin >= replacements_.size() || continues_character(replacements_[begin])) {
      throw damaged(where_);
    }
    return std::string_view(replacements_).substr(begin, replacements_.find('\0', begin) - begin);
  }
  return std::nullopt;
}

void PrecompiledMap::normalize(AlignedText& text) const {
  constexpr std::size_t shortest_left_alone = 6;
  AlignedText result;
  result.reserve(text.text.size());
  // The origin of characters that became nothing: it joins the next one.
  std::optional<Origin> pending;
  const auto replace = [&](std::size_t begin, std::size_t end, std::string_view by) {
    Origin origin = text.origin(begin, end);
    if (pending) origin = united(*pending, origin);
    pending.reset();
    if (by.empty()) pending = origin;
    result.append(by, origin);
  };
  const std::string_view all = text.text;
  for (std::size_t begin = 0; begin < all.size();) {
    const std::size_t end = cluster_end(all, begin);
    const std::string_view cluster = all.substr(begin, end - begin);
    const auto whole = cluster.size() < shortest_left_alone ? find(cluster) : std::nullopt;
    if (whole) {
      replace(begin, end, *whole);
    } else {
      for_each_character(cluster, [&](char32_t, std::size_t first, std::size_t last) {
        const std::string_view character = cluster.substr(first, last - first);
        replace(begin + first, begin + last, find(character).value_or(character));
      });
    }
    begin = end;
  }
  text = std::move(result);
}

std::vector<Normalizer> read_normalizer(const Stage& stage) {
  std::vector<Normalizer> normalizers;
  read_stages(stage, translated("the normalizer"), "normalizers", normalizer_types(),
              [&](const Normalizer& one, const Stage& read) {
                check_stage_count(normalizers.size(), read);
                normalizers.push_back(one);
              });
  return normalizers;
}

}  // namespace attn
