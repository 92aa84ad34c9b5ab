#include "tokens/precompiled_map.hpp"

#include <utf8proc.h>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

// The layout of a unit is that of Darts-clone (github.com/s-yata/darts-clone, darts.h).
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
                     translated("take the file as it was published"));
}

// Bytes up to the end of the grapheme cluster that begins at `begin`.
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

}  // namespace

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

// What the shortest entry that the text begins with becomes.
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
  // What becomes nothing belongs to what comes next.
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

}  // namespace attn
