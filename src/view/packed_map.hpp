#pragma once

#include <cstddef>
#include <string>

#include "view/cell_codes.hpp"
#include "view/cell_plan.hpp"
#include "view/map_rows.hpp"

namespace attn {

/// A map as blocks of the page.
struct PackedMap {
  CellType type = CellType::float32;
  std::size_t rows = 0, columns = 0;
  std::string cells, hidden, strongest;  ///< packed; the last two may be empty
  std::size_t strongest_keys = 0;
  double error = 0;
};

/// `range` is that of the map's values; `exact_type` what they are stored as where the plan keeps
/// them.
PackedMap packed_map(const MapRows& map, const FiniteRange& range, const CellPlan& plan,
                     CellType exact_type, bool diverging);

}  // namespace attn
