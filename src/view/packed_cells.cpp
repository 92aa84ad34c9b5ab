#include "view/packed_cells.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <utility>

#include <libdeflate.h>

#include "support/number_text.hpp"

namespace attn {
namespace {

// The bytes of a whole number, little endian.
template <class Number>
void append_bytes(std::string& bytes, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    bytes += static_cast<char>(number >> (8 * i) & 0xFFU);
  }
}

void append_float(std::string& bytes, float number) {
  append_bytes(bytes, std::bit_cast<std::uint32_t>(number));
}

void append_double(std::string& bytes, double number) {
  append_bytes(bytes, std::bit_cast<std::uint64_t>(number));
}

// The code of a share, 0 … 1, cut at these.
std::uint32_t code_of_share(double share, const Codes& codes) noexcept {
  return static_cast<std::uint32_t>(std::lround(std::clamp(share, 0.0, 1.0) * codes.highest));
}

// The code of what has no share; 0 of finite values that are not hidden.
std::uint32_t code_apart(double value, bool hidden, const Codes& codes) noexcept {
  if (hidden) return codes.hidden;
  if (std::isnan(value)) return codes.not_a_number;
  if (std::isinf(value)) return value > 0 ? codes.infinity : codes.minus_infinity;
  return 0;
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

namespace {

// Exact up to `most_exact` cells that are kept, two bytes a cell up to `most_wide`, else one.
constexpr std::size_t most_exact = 200'000, most_wide = 6'000'000;
constexpr std::size_t most_strongest_keys = 8;

struct Kept {
  std::size_t cells = 0;
  std::size_t pooled_queries = 0;  // of maps that are pooled
};

Kept kept_by(const CellPlan& plan, std::span<const ViewedInput::Sizes> sizes) {
  Kept kept;
  for (const ViewedInput::Sizes& one : sizes) {
    const std::size_t rows = plan.kept(one.queries), columns = plan.kept(one.keys);
    kept.cells += one.maps * rows * columns;
    if (rows < one.queries || columns < one.keys) kept.pooled_queries += one.maps * one.queries;
  }
  return kept;
}

}  // namespace

std::size_t CellPlan::kept(std::size_t positions) const noexcept {
  if (side == 0 || positions <= side) return positions;
  const std::size_t bin = (positions + side - 1) / side;
  return (positions + bin - 1) / bin;
}

CellPlan cell_plan(std::span<const ViewedInput::Sizes> sizes, std::size_t budget) {
  CellPlan plan;
  plan.all = kept_by(plan, sizes).cells;
  if (plan.all > budget) {
    std::size_t longest = 1;
    for (const ViewedInput::Sizes& one : sizes) {
      longest = std::max({longest, one.queries, one.keys});
    }
    // The largest side that fits; 1 is taken even if it does not.
    std::size_t fits = 1, too_large = longest + 1;
    while (too_large - fits > 1) {
      plan.side = fits + (too_large - fits) / 2;
      (kept_by(plan, sizes).cells <= budget ? fits : too_large) = plan.side;
    }
    plan.side = fits;
    // A pair of a key and its value takes as much room as eight cells.
    const std::size_t queries = std::max<std::size_t>(1, kept_by(plan, sizes).pooled_queries);
    plan.strongest_keys = std::clamp<std::size_t>(budget / 8 / queries, 1, most_strongest_keys);
  }
  const std::size_t cells = kept_by(plan, sizes).cells;
  plan.exact = cells <= most_exact;
  plan.codes = cells <= most_wide ? CellType::uint16 : CellType::uint8;
  return plan;
}

namespace {

// Higher levels take twice the time for a hundredth less.
constexpr int compression_level = 6;

}  // namespace

std::string packed_block(std::string_view bytes) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> compressor(
      libdeflate_alloc_compressor(compression_level), libdeflate_free_compressor);
  if (compressor == nullptr) throw std::bad_alloc();
  std::string packed(libdeflate_deflate_compress_bound(compressor.get(), bytes.size()), '\0');
  packed.resize(libdeflate_deflate_compress(compressor.get(), bytes.data(), bytes.size(),
                                            packed.data(), packed.size()));
  return base64(packed);
}

namespace {

// Codes stand for shares of a number of single precision.
bool fit_codes(const FiniteRange& range) {
  constexpr double most = std::numeric_limits<float>::max();
  return range.empty() || (std::abs(range.least) <= most && std::abs(range.most) <= most);
}

CellBytes whole(const MapRows& map, CellRows rows) {
  std::vector<double> values(map.columns());
  std::vector<std::uint8_t> hidden(map.columns());
  for (std::size_t i = 0; i < map.rows(); ++i) {
    map.read(i, values, hidden);
    rows.add(values, hidden);
  }
  return std::move(rows).finish();
}

CellBytes reduced(const ReducedMap& map, CellRows rows) {
  const std::span<const double> values(map.values);
  const std::span<const std::uint8_t> hidden(map.hidden);
  for (std::size_t i = 0; i < map.rows; ++i) {
    rows.add(values.subspan(i * map.columns, map.columns),
             hidden.subspan(i * map.columns, map.columns));
  }
  return std::move(rows).finish();
}

// All keys, then all values.
std::string bytes_of(const StrongestKeys& strongest) {
  std::string bytes;
  for (const std::uint32_t key : strongest.keys) append_bytes(bytes, key);
  for (const float value : strongest.values) append_float(bytes, value);
  return bytes;
}

}  // namespace

PackedMap packed_map(const MapRows& map, const FiniteRange& range, const CellPlan& plan,
                     CellType exact_type, bool diverging) {
  PackedMap packed;
  packed.type = plan.exact ? exact_type : fit_codes(range) ? plan.codes : CellType::float64;
  packed.rows = plan.kept(map.rows());
  packed.columns = plan.kept(map.columns());
  const CellRows rows(packed.type, diverging);
  CellBytes bytes;
  if (packed.rows == map.rows() && packed.columns == map.columns()) {
    bytes = whole(map, rows);
  } else {
    bytes = reduced(pooled(map, packed.rows, packed.columns, diverging), rows);
    packed.strongest_keys = std::min(plan.strongest_keys, map.columns());
    packed.strongest =
        packed_block(bytes_of(strongest_keys(map, packed.strongest_keys, diverging)));
  }
  packed.error = bytes.error;
  packed.cells = packed_block(bytes.cells);
  if (!bytes.hidden.empty()) packed.hidden = packed_block(bytes.hidden);
  return packed;
}

ReducedMap Thumbnails::of(const MapRows& map, bool diverging) {
  return pooled(map, std::min(side, map.rows()), std::min(side, map.columns()), diverging);
}

void Thumbnails::add(const ReducedMap& map, bool diverging) {
  maps_.push_back({values_.size(), values_.size() + map.values.size(), diverging});
  for (const double value : map.values) values_.push_back(static_cast<float>(value));
  hidden_.insert(hidden_.end(), map.hidden.begin(), map.hidden.end());
}

std::string Thumbnails::codes(double least, double most, double furthest) const {
  const Codes codes = codes_of(CellType::uint8);
  std::string bytes;
  bytes.reserve(values_.size());
  for (const Map& map : maps_) {
    const double from = map.diverging ? -furthest : least;
    const double width = (map.diverging ? furthest : most) - from;
    for (std::size_t i = map.first; i < map.end; ++i) {
      const double value = static_cast<double>(values_[i]);
      std::uint32_t code = code_apart(value, hidden_[i] != 0, codes);
      if (code == 0) {
        const double share = width > 0 ? (value - from) / width : map.diverging ? 0.5 : 0;
        code = code_of_share(share, codes);
      }
      bytes += static_cast<char>(code);
    }
  }
  return bytes;
}

}  // namespace attn
