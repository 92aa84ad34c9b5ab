#include "view/cell_plan.hpp"

#include <algorithm>

namespace attn {
namespace {

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

}  // namespace attn
