#include <algorithm>
#include <cstddef>
#include <vector>

#include <doctest/doctest.h>

#include "view/packed_cells.hpp"

namespace attn {

using Sizes = std::vector<ViewedInput::Sizes>;

TEST_CASE("few cells are exact, more are codes of two bytes, and many of one") {
  const CellPlan few = cell_plan(Sizes{{2, 100, 1000}}, 48'000'000);
  CHECK(few.exact);
  CHECK(few.side == 0);
  const CellPlan more = cell_plan(Sizes{{2, 100, 1001}}, 48'000'000);
  CHECK_FALSE(more.exact);
  CHECK(more.codes == CellType::uint16);
  CHECK(cell_plan(Sizes{{144, 512, 512}}, 48'000'000).codes == CellType::uint8);
}

TEST_CASE("beyond the budget long sides are pooled in bins of one size, and short ones kept") {
  const Sizes sizes{{1, 8192, 8192}, {4, 20, 30}};
  const CellPlan plan = cell_plan(sizes, 48'000'000);
  CHECK(plan.all == 8192U * 8192U + 2400U);
  CHECK(plan.kept(8192) == 4096);
  CHECK(plan.kept(20) == 20);
  CHECK(plan.kept(30) == 30);
  CHECK(plan.strongest_keys == 8);
  CHECK(plan.kept(4096) == 4096);
}

TEST_CASE("the cells that are kept are never more than the budget, down to one a map") {
  for (const std::size_t budget : {1UL, 7UL, 100UL, 1000UL, 12345UL, 1000000UL}) {
    const Sizes sizes{{3, 40, 60}, {2, 1000, 7}, {1, 333, 334}};
    const CellPlan plan = cell_plan(sizes, budget);
    std::size_t cells = 0;
    for (const auto& one : sizes) {
      CHECK(plan.kept(one.queries) >= 1);
      cells += one.maps * plan.kept(one.queries) * plan.kept(one.keys);
    }
    CHECK(cells <= std::max<std::size_t>(budget, 6));
    if (plan.all > budget) CHECK(plan.strongest_keys >= 1);
  }
}

TEST_CASE("strongest keys are fewer where there are very many queries") {
  const CellPlan plan = cell_plan(Sizes{{1024, 2048, 2048}}, 48'000'000);
  CHECK(plan.strongest_keys == 2);
}

}  // namespace attn
