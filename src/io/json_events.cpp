#include "io/json_events.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "attn/error.hpp"

#include "io/number_array.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::size_t most_levels = 512;

// True if eight characters are ASCII without control characters, quotes and backslashes. (x − 1) &
// ~x has the highest bit of the lowest byte that is zero.
bool all_plain(const char* characters) {
  constexpr std::uint64_t ones = 0x0101010101010101, highest = 0x8080808080808080;
  std::uint64_t eight = 0;
  std::memcpy(&eight, characters, sizeof eight);
  const auto has = [&](unsigned char wanted) {
    const std::uint64_t x = eight ^ ones * wanted;
    return (x - ones) & ~x & highest;
  };
  const std::uint64_t control = (eight - ones * 0x20) & ~eight & highest;
  return ((eight & highest) | control | has('"') | has('\\')) == 0;
}

}  // namespace

JsonEvents::JsonEvents(std::string_view text) : text_(text) {
  if (text_.starts_with(byte_order_mark)) at_ = byte_order_mark.size();
}

// Throws the error of the parser of whole texts.
void JsonEvents::fail() const {
  parse_json_by_element(text_, most_levels);
  throw Error(ErrorKind::internal, translated("two readers of JSON disagree"),
              "byte " + std::to_string(at_), "");
}

void JsonEvents::skip_space() noexcept {
  while (at_ < text_.size() && is_json_space(text_[at_])) ++at_;
}

char JsonEvents::next() {
  skip_space();
  if (at_ == text_.size()) fail();
  return text_[at_];
}

void JsonEvents::expect(char wanted) {
  if (next() != wanted) fail();
  ++at_;
}

JsonValue::Type JsonEvents::peek() {
  const char c = next();
  if (c == '{') return JsonValue::Type::object;
  if (c == '[') return JsonValue::Type::array;
  if (c == '"') return JsonValue::Type::string;
  if (c == 't' || c == 'f') return JsonValue::Type::boolean;
  if (c == 'n') return JsonValue::Type::null;
  if (c != '-' && (c < '0' || c > '9')) fail();
  return JsonValue::Type::number;
}

void JsonEvents::enter() {
  next();
  ++at_;
  first_ = true;
}

bool JsonEvents::next_item(char closing) {
  const char c = next();
  const bool first = first_;
  first_ = false;
  if (c == closing) {
    ++at_;
    return false;
  }
  if (!first) expect(',');
  return true;
}

bool JsonEvents::next_member(std::string_view& key) {
  if (!next_item('}')) return false;
  if (next() != '"') fail();
  key = string();
  expect(':');
  return true;
}

bool JsonEvents::next_element() {
  return next_item(']');
}

// Offset of the quote that ends the string whose first character is at `at`.
std::size_t JsonEvents::end_of_string(std::size_t at, bool& escaped) const {
  while (at < text_.size()) {
    if (at + 8 <= text_.size() && all_plain(text_.data() + at)) {
      at += 8;
      continue;
    }
    const auto byte = static_cast<unsigned char>(text_[at]);
    if (byte == '"') return at;
    if (byte < 0x20) fail();
    if (byte == '\\') {
      escaped = true;
      at += 2;
    } else if (byte < 0x80) {
      ++at;
    } else {
      const std::size_t length = utf8_length(text_.substr(at));
      if (length == 0) fail();
      at += length;
    }
  }
  fail();
}

std::string_view JsonEvents::string() {
  if (next() != '"') fail();
  bool escaped = false;
  const std::size_t begin = at_ + 1, end = end_of_string(begin, escaped);
  at_ = end + 1;
  const std::string_view raw = text_.substr(begin, end - begin);
  if (!escaped) return raw;
  append_escaped(raw);
  return unescaped_;
}

void JsonEvents::append_escaped(std::string_view raw) {
  unescaped_.clear();
  const auto code_unit = [&](std::size_t at) {
    unsigned unit = 0;
    const std::string_view digits = raw.substr(std::min(at, raw.size()), 4);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), unit, 16);
    if (digits.size() < 4 || error != std::errc() || end != digits.data() + digits.size()) fail();
    return unit;
  };
  for (std::size_t i = 0; i < raw.size();) {
    if (raw[i] != '\\') {
      const std::size_t end = std::min(raw.find('\\', i), raw.size());
      unescaped_ += raw.substr(i, end - i);
      i = end;
      continue;
    }
    constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
    const char letter = raw[i + 1];
    i += 2;
    if (letter != 'u') {
      const std::size_t which = letters.find(letter);
      if (which == std::string_view::npos) fail();
      unescaped_ += meanings[which];
      continue;
    }
    unsigned code = code_unit(i);
    i += 4;
    if (code >= 0xDC00 && code < 0xE000) fail();
    if (code >= 0xD800 && code < 0xDC00) {
      if (raw.substr(i, 2) != "\\u") fail();
      const unsigned low = code_unit(i + 2);
      if (low < 0xDC00 || low >= 0xE000) fail();
      code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      i += 6;
    }
    append_utf8(unescaped_, code);
  }
}

bool JsonEvents::small_integer(std::uint32_t& number) {
  next();
  const char* const begin = text_.data() + at_;
  const char* const stop = text_.data() + text_.size();
  const auto [end, error] = std::from_chars(begin, stop, number);
  const bool leading_zero = end - begin > 1 && *begin == '0';
  if (error != std::errc() || leading_zero) return false;
  if (end != stop && (*end == '.' || *end == 'e' || *end == 'E')) return false;
  at_ += static_cast<std::size_t>(end - begin);
  return true;
}

// Reads up to the end of a number or a literal.
std::string_view JsonEvents::take_word() {
  const std::size_t begin = at_;
  const auto ends = [](char c) { return is_json_space(c) || c == ',' || c == '}' || c == ']'; };
  while (at_ < text_.size() && !ends(text_[at_])) ++at_;
  return text_.substr(begin, at_ - begin);
}

std::string_view JsonEvents::number() {
  next();
  const std::string_view written = take_word();
  // RFC 8259, section 6.
  std::size_t i = written.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const std::size_t begin = i;
    while (i < written.size() && written[i] >= '0' && written[i] <= '9') ++i;
    if (i == begin) fail();
    return i - begin;
  };
  const bool zero = i < written.size() && written[i] == '0';
  if (digits() > 1 && zero) fail();
  if (i < written.size() && written[i] == '.') {
    ++i;
    digits();
  }
  if (i < written.size() && (written[i] == 'e' || written[i] == 'E')) {
    ++i;
    if (i < written.size() && (written[i] == '+' || written[i] == '-')) ++i;
    digits();
  }
  if (i != written.size()) fail();
  return written;
}

JsonValue JsonEvents::value(std::size_t most_bytes) {
  const JsonValue::Type type = peek();
  const std::size_t begin = at_;
  std::size_t depth = 0;
  do {
    const char c = next();
    if (c == '"') {
      bool escaped = false;
      at_ = end_of_string(at_ + 1, escaped) + 1;
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    ++at_;
  } while (depth > 0);
  if (type == JsonValue::Type::null || type == JsonValue::Type::boolean ||
      type == JsonValue::Type::number) {
    take_word();
  }
  if (at_ - begin > most_bytes) {
    throw input_error(
        translated("a value takes {1} bytes, and at most {2} are read", at_ - begin, most_bytes),
        "byte " + std::to_string(begin), "");
  }
  try {
    return parse_json_by_element(text_.substr(begin, at_ - begin), most_levels);
  } catch (const Error&) {
    fail();  // with a place in the whole text
  }
}

void JsonEvents::expect_end() {
  skip_space();
  if (at_ != text_.size()) fail();
}

}  // namespace attn
