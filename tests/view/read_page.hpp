#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <libdeflate.h>

#include "attn/view.hpp"

#include "io/json_value.hpp"

/// A page as a browser reads it, but for its script.
class ReadPage {
 public:
  explicit ReadPage(std::string page) : page_(std::move(page)) {
    data_ =
        attn::parse_json_by_element(element("<script type=\"application/json\" id=\"view\">"), 100);
  }

  const std::string& text() const { return page_; }
  const attn::JsonValue& data() const { return data_; }

  /// A member of the data, by the names and numbers on the way: {"attentions", "0", "name"}.
  const attn::JsonValue& at(const std::vector<std::string>& way) const {
    const attn::JsonValue* value = &data_;
    for (const std::string& step : way) {
      value = value->is(attn::JsonValue::Type::array) ? &value->element(std::stoul(step))
                                                      : value->find(step);
      REQUIRE_MESSAGE(value != nullptr, step);
    }
    return *value;
  }

  /// The text of the element that begins so, which must be there once.
  std::string element(const std::string& begin) const {
    const std::size_t at = page_.find(begin);
    REQUIRE(at != std::string::npos);
    CHECK(page_.find(begin, at + 1) == std::string::npos);
    const std::size_t first = at + begin.size();
    return page_.substr(first, page_.find('<', first) - first);
  }

  /// The bytes of a block.
  std::string block(std::size_t number) const {
    const std::string packed = bytes_of(
        element("<script type=\"text/plain\" id=\"block-" + std::to_string(number) + "\">"));
    libdeflate_decompressor* decompressor = libdeflate_alloc_decompressor();
    std::string bytes(std::size_t{1} << 20U, '\0');
    std::size_t size = 0;
    libdeflate_result result = LIBDEFLATE_INSUFFICIENT_SPACE;
    while (result == LIBDEFLATE_INSUFFICIENT_SPACE) {
      bytes.resize(2 * bytes.size());
      result = libdeflate_deflate_decompress(decompressor, packed.data(), packed.size(),
                                             bytes.data(), bytes.size(), &size);
    }
    libdeflate_free_decompressor(decompressor);
    REQUIRE(result == LIBDEFLATE_SUCCESS);
    bytes.resize(size);
    return bytes;
  }

  template <class Number>
  std::vector<Number> numbers(std::size_t block_number) const {
    const std::string bytes = block(block_number);
    std::vector<Number> numbers(bytes.size() / sizeof(Number));
    std::memcpy(numbers.data(), bytes.data(), numbers.size() * sizeof(Number));
    return numbers;
  }

  static std::size_t count(const attn::JsonValue& value) {
    return static_cast<std::size_t>(value.integer());
  }

  /// Values of the cells of a map, as data.d.ts says; none for hidden ones of codes.
  std::vector<std::optional<double>> cells(const attn::JsonValue& map, std::size_t head) const;

 private:
  static std::string bytes_of(std::string_view base64) {
    constexpr std::string_view digits =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string bytes;
    std::uint32_t group = 0, bits = 0;
    for (const char c : base64) {
      if (c == '=') break;
      group = group << 6U | static_cast<std::uint32_t>(digits.find(c));
      bits += 6;
      if (bits < 8) continue;
      bits -= 8;
      bytes += static_cast<char>(group >> bits & 255U);
    }
    return bytes;
  }

  template <class Code>
  std::vector<std::optional<double>> decoded(const attn::JsonValue& cells, bool diverging) const;

  std::string page_;
  attn::JsonValue data_;
};

template <class Code>
std::vector<std::optional<double>> ReadPage::decoded(const attn::JsonValue& cells,
                                                     bool diverging) const {
  const std::string bytes = block(count(*cells.find("cells")));
  const std::size_t rows = count(*cells.find("rows")), columns = count(*cells.find("columns"));
  REQUIRE(bytes.size() == rows * (sizeof(float) + columns * sizeof(Code)));
  const double highest = sizeof(Code) == 1 ? 251 : 65531;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  std::vector<std::optional<double>> values;
  for (std::size_t i = 0; i < rows; ++i) {
    float scale = 0;
    std::memcpy(&scale, bytes.data() + i * sizeof scale, sizeof scale);
    for (std::size_t j = 0; j < columns; ++j) {
      Code code = 0;
      std::memcpy(&code, bytes.data() + rows * sizeof scale + (i * columns + j) * sizeof code,
                  sizeof code);
      const double above = code - highest;
      if (above == 4) {
        values.emplace_back();
      } else if (above > 0) {
        values.emplace_back(above == 1   ? -infinity
                            : above == 2 ? infinity
                                         : std::numeric_limits<double>::quiet_NaN());
      } else {
        values.emplace_back(static_cast<double>(scale) *
                            (diverging ? code * 2 / highest - 1 : code / highest));
      }
    }
  }
  return values;
}

inline std::vector<std::optional<double>> ReadPage::cells(const attn::JsonValue& map,
                                                          std::size_t head) const {
  const attn::JsonValue& cells = map.find("heads")->element(head);
  const bool diverging = map.find("diverging")->boolean();
  const std::string& type = cells.find("type")->string();
  if (type == "uint8") return decoded<std::uint8_t>(cells, diverging);
  if (type == "uint16") return decoded<std::uint16_t>(cells, diverging);
  std::vector<std::optional<double>> values;
  if (type == "float64") {
    for (const double value : numbers<double>(count(*cells.find("cells")))) {
      values.emplace_back(value);
    }
  } else {
    for (const float value : numbers<float>(count(*cells.find("cells")))) {
      values.emplace_back(static_cast<double>(value));
    }
  }
  return values;
}

inline ReadPage page_of(const attn::ViewOptions& options, attn::ViewOutcome* outcome = nullptr) {
  std::string page;
  const attn::ViewOutcome made =
      attn::view(options, [&](std::string_view piece) { page += piece; });
  CHECK(made.bytes == page.size());
  if (outcome != nullptr) *outcome = made;
  return ReadPage(std::move(page));
}
