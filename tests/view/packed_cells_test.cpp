#include "view/packed_cells.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

namespace attn {
namespace {

using Sizes = std::vector<ViewedInput::Sizes>;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

template <class Code>
std::vector<double> decoded(const CellBytes& bytes, std::size_t rows, std::size_t columns,
                            bool diverging) {
  REQUIRE(bytes.cells.size() == rows * (sizeof(float) + columns * sizeof(Code)));
  const double highest = sizeof(Code) == 1 ? 251 : 65531;
  std::vector<double> values;
  for (std::size_t i = 0; i < rows; ++i) {
    float scale = 0;
    std::memcpy(&scale, bytes.cells.data() + i * sizeof scale, sizeof scale);
    for (std::size_t j = 0; j < columns; ++j) {
      Code code = 0;
      std::memcpy(&code, bytes.cells.data() + rows * sizeof scale + (i * columns + j) * sizeof code,
                  sizeof code);
      const double share = code / highest;
      values.push_back(static_cast<double>(scale) * (diverging ? 2 * share - 1 : share));
    }
  }
  return values;
}

template <class Code>
void check_errors(CellType type, bool diverging) {
  CAPTURE(name(type));
  CAPTURE(diverging);
  constexpr std::size_t rows = 37, columns = 53;
  std::mt19937 random(5);
  std::uniform_real_distribution<double> draw(diverging ? -3 : 0, 1);
  std::vector<double> values(rows * columns);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = draw(random) * std::pow(10.0, -static_cast<double>(i / columns % 40));
  }
  const std::vector<std::uint8_t> hidden(columns, std::uint8_t{0});
  CellRows cells(type, diverging);
  for (std::size_t i = 0; i < rows; ++i) {
    cells.add(std::span<const double>(values).subspan(i * columns, columns), hidden);
  }
  const CellBytes bytes = std::move(cells).finish();
  const std::vector<double> read = decoded<Code>(bytes, rows, columns, diverging);
  double error = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    error = std::max(error, std::abs(read[i] - values[i]));
    // Half a step of the row, and the rounding of its largest value to single precision.
    double largest = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      largest = std::max(largest, std::abs(values[i / columns * columns + j]));
    }
    const double step = largest / codes_of(type).highest * (diverging ? 2 : 1);
    CHECK(std::abs(read[i] - values[i]) <= step / 2 + largest * 6e-8 + 1e-45);
  }
  CHECK(bytes.error == doctest::Approx(error).epsilon(1e-9));
  CHECK(bytes.hidden.empty());
}

}  // namespace

TEST_CASE("codes are off by at most half a step of their row, and say by how much") {
  check_errors<std::uint8_t>(CellType::uint8, false);
  check_errors<std::uint8_t>(CellType::uint8, true);
  check_errors<std::uint16_t>(CellType::uint16, false);
  check_errors<std::uint16_t>(CellType::uint16, true);
}

TEST_CASE("infinities, NaN and hidden cells have codes of their own") {
  const std::vector<double> values{0.5, -infinity, infinity, not_a_number, 9, 0};
  const std::vector<std::uint8_t> hidden{0, 0, 0, 0, 1, 0};
  CellRows bytes(CellType::uint8, false);
  bytes.add(values, hidden);
  CHECK(std::move(bytes).finish().cells ==
        std::string("\0\0\0\x3F", 4) + std::string("\xFB\xFC\xFD\xFE\xFF\0", 6));
  CellRows words(CellType::uint16, true);
  words.add(values, hidden);
  CHECK(std::move(words).finish().cells ==
        std::string("\0\0\0\x3F", 4) +
            std::string("\xFB\xFF\xFC\xFF\xFD\xFF\xFE\xFF\xFF\xFF\xFE\x7F", 12));
}

TEST_CASE("exact cells keep their bits, and hidden ones are told by bits beside them") {
  const std::vector<double> values{0.1, -0.0, not_a_number, infinity, 5e-324, 1e300, 1, 2, 3};
  const std::vector<std::uint8_t> hidden{0, 1, 0, 0, 0, 0, 0, 1, 1};
  CellRows cells(CellType::float64, false);
  cells.add(values, hidden);
  const CellBytes bytes = std::move(cells).finish();
  REQUIRE(bytes.cells.size() == values.size() * sizeof(double));
  CHECK(std::memcmp(bytes.cells.data(), values.data(), bytes.cells.size()) == 0);
  CHECK(bytes.hidden == "\x82\x01");
  CHECK(bytes.error == 0);
}

TEST_CASE("a row of zeros, or of nothing that is finite, is no row of NaN") {
  for (const double value : {0.0, not_a_number, infinity}) {
    CellRows cells(CellType::uint8, false);
    cells.add(std::vector<double>{value}, std::vector<std::uint8_t>{0});
    const CellBytes bytes = std::move(cells).finish();
    CHECK(bytes.cells.substr(0, 4) == std::string(4, '\0'));
    CHECK(bytes.error == 0);
  }
}

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
