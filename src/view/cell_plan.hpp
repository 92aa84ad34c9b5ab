#pragma once

#include <cstddef>
#include <span>

#include "view/cell_codes.hpp"
#include "view/viewed_attention.hpp"

namespace attn {

/// How all maps of a page are held, so that the page stays within its budget of cells.
struct CellPlan {
  /// Whether values are kept as they are; else as codes of this type.
  bool exact = true;
  CellType codes = CellType::uint16;
  std::size_t all = 0;             ///< cells before anything is reduced
  std::size_t side = 0;            ///< more queries or keys than so many are pooled; 0 = none are
  std::size_t strongest_keys = 0;  ///< kept of each query of a pooled map

  /// How many rows or columns a map keeps of so many positions: those that evenly sized bins of
  /// them leave.
  std::size_t kept(std::size_t positions) const noexcept;
};

/// Exact up to `most_exact` cells that are kept, two bytes a cell up to `most_wide`, else one.
inline constexpr std::size_t most_exact = 200'000, most_wide = 6'000'000;

CellPlan cell_plan(std::span<const ViewedInput::Sizes> sizes, std::size_t budget);

}  // namespace attn
