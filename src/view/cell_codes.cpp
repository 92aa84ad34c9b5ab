#include "view/cell_codes.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace attn {
namespace {

template <class Number>
void append_bytes(std::string& bytes, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
  }
}

// The finite value of the row that is furthest from 0, in single precision.
float row_scale(std::span<const double> values, std::span<const std::uint8_t> hidden) {
  double largest = 0;
  for (std::size_t j = 0; j < values.size(); ++j) {
    if (hidden[j] == 0 && std::isfinite(values[j])) {
      largest = std::max(largest, std::abs(values[j]));
    }
  }
  return static_cast<float>(
      std::min(largest, static_cast<double>(std::numeric_limits<float>::max())));
}

}  // namespace

std::string_view name(CellType type) noexcept {
  switch (type) {
    case CellType::float32:
      return "float32";
    case CellType::float64:
      return "float64";
    case CellType::uint8:
      return "uint8";
    case CellType::uint16:
      break;
  }
  return "uint16";
}

Codes codes_of(CellType type) noexcept {
  const std::uint32_t highest = type == CellType::uint16 ? 65531 : 251;
  return {highest, highest + 1, highest + 2, highest + 3, highest + 4};
}

std::uint32_t code_of_share(double share, const Codes& codes) noexcept {
  return static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * codes.highest));
}

std::uint32_t code_apart(double value, bool hidden, const Codes& codes) noexcept {
  if (hidden) return codes.hidden;
  if (std::isnan(value)) return codes.not_a_number;
  if (std::isinf(value)) return value > 0 ? codes.infinity : codes.minus_infinity;
  return 0;
}

void CellRows::add(std::span<const double> values, std::span<const std::uint8_t> hidden) {
  if (!is_exact(type_)) {
    add_codes(values, hidden);
    return;
  }
  bytes_.hidden.resize((count_ + values.size() + 7) / 8);
  for (std::size_t j = 0; j < values.size(); ++j, ++count_) {
    if (type_ == CellType::float32) {
      append_float(bytes_.cells, static_cast<float>(values[j]));
    } else {
      append_double(bytes_.cells, values[j]);
    }
    if (hidden[j] == 0) continue;
    hides_ = true;
    char& bits = bytes_.hidden[count_ / 8];
    bits = static_cast<char>(bits | 1 << (count_ % 8));
  }
}

void CellRows::add_codes(std::span<const double> values, std::span<const std::uint8_t> hidden) {
  const Codes codes = codes_of(type_);
  const float scale = row_scale(values, hidden);
  append_float(scales_, scale);
  const double highest = codes.highest, unit = static_cast<double>(scale);
  const auto append = [&](std::uint32_t code) {
    bytes_.cells += static_cast<char>(code & 0xFFU);
    if (type_ == CellType::uint16) bytes_.cells += static_cast<char>(code >> 8U);
  };
  for (std::size_t j = 0; j < values.size(); ++j) {
    const double value = values[j];
    if (hidden[j] != 0 || !std::isfinite(value)) {
      append(code_apart(value, hidden[j] != 0, codes));
      continue;
    }
    const double share = unit > 0 ? value / unit : 0;
    const std::uint32_t code = code_of_share(diverging_ ? (share + 1) / 2 : share, codes);
    append(code);
    const double decoded = unit * (diverging_ ? code * 2 / highest - 1 : code / highest);
    bytes_.error = std::max(bytes_.error, std::abs(value - decoded));
  }
}

CellBytes CellRows::finish() && {
  if (!hides_) bytes_.hidden.clear();
  scales_ += bytes_.cells;
  bytes_.cells = std::move(scales_);
  return std::move(bytes_);
}

void append_float(std::string& bytes, float number) {
  append_bytes(bytes, std::bit_cast<std::uint32_t>(number));
}

void append_double(std::string& bytes, double number) {
  append_bytes(bytes, std::bit_cast<std::uint64_t>(number));
}

void append_word(std::string& bytes, std::uint32_t number) {
  append_bytes(bytes, number);
}

}  // namespace attn
