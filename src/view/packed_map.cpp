#include "view/packed_map.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "view/packed_block.hpp"

namespace attn {
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
  for (const std::uint32_t key : strongest.keys) append_word(bytes, key);
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

}  // namespace attn
