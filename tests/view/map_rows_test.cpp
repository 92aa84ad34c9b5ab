#include "view/map_rows.hpp"

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

namespace attn {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const float not_a_number = std::numeric_limits<float>::quiet_NaN();

std::vector<std::uint8_t> seen_of(std::size_t count, std::initializer_list<std::size_t> hidden) {
  std::vector<std::uint8_t> seen(count, std::uint8_t{1});
  for (const std::size_t at : hidden) seen[at] = 0;
  return seen;
}

}  // namespace

TEST_CASE("a pooled cell is the largest of its bins, whatever the sizes") {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> draw(-1, 1);
  constexpr std::size_t queries = 13, keys = 17, rows = 5, columns = 4;
  std::vector<float> values(queries * keys);
  for (float& value : values) value = draw(random);
  const MapRows map(Tensor({1, 1, queries, keys}, values), {}, 0, 0);
  for (const bool diverging : {false, true}) {
    const ReducedMap small = pooled(map, rows, columns, diverging);
    REQUIRE(small.values.size() == rows * columns);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c) {
        double expected = diverging ? 0 : -infinity;
        for (std::size_t i = r * queries / rows; i < (r + 1) * queries / rows; ++i) {
          for (std::size_t j = c * keys / columns; j < (c + 1) * keys / columns; ++j) {
            const double value = static_cast<double>(values[i * keys + j]);
            if (diverging ? std::abs(value) > std::abs(expected) : value > expected) {
              expected = value;
            }
          }
        }
        CHECK(small.values[r * columns + c] == expected);
        CHECK(small.hidden[r * columns + c] == 0);
      }
    }
  }
}

TEST_CASE("a pooled cell is hidden if all of its are, and NaN if any that is seen is") {
  const Tensor maps({1, 1, 2, 6}, {9, 9, 1, 9, not_a_number, 2, 9, 9, 3, 9, 4, 5});
  const Tensor allowed({1, 1, 2, 6}, seen_of(12, {0, 1, 3, 6, 7, 9}));
  const ReducedMap small = pooled(MapRows(maps, allowed, 0, 0), 1, 3, false);
  CHECK(small.hidden == std::vector<std::uint8_t>{1, 0, 0});
  CHECK(small.values[1] == 3);
  CHECK(std::isnan(small.values[2]));
  const Tensor hides_nan({1, 1, 1, 6}, seen_of(6, {4}));
  CHECK(pooled(MapRows(maps, hides_nan, 0, 0), 1, 3, false).values[2] == 5);
}

TEST_CASE("the strongest keys come largest first, without hidden ones and NaN") {
  const Tensor maps({1, 2, 1, 5}, {0, 0, 0, 0, 0, 0.1F, not_a_number, 0.5F, 0.9F, 0.5F});
  const Tensor allowed({1, 1, 1, 5}, seen_of(5, {3}));
  const StrongestKeys strongest = strongest_keys(MapRows(maps, allowed, 0, 1), 4, false);
  CHECK(strongest.keys == std::vector<std::uint32_t>{2, 4, 0, StrongestKeys::none});
  CHECK(strongest.values == std::vector<float>{0.5F, 0.5F, 0.1F, 0});
  const Tensor scores({1, 1, 1, 3}, {-5, 1, 2});
  CHECK(strongest_keys(MapRows(scores, {}, 0, 0), 2, true).keys ==
        std::vector<std::uint32_t>{0, 2});
  CHECK(strongest_keys(MapRows(scores, {}, 0, 0), 2, false).keys ==
        std::vector<std::uint32_t>{2, 1});
}

TEST_CASE("a mask of one head and one query is that of all, and of each sample its own") {
  const Tensor maps({2, 2, 2, 2}, std::vector<float>(16, 1.0F));
  const Tensor allowed({2, 1, 1, 2}, seen_of(4, {3}));
  std::vector<double> values(2);
  std::vector<std::uint8_t> hidden(2);
  for (std::size_t head = 0; head < 2; ++head) {
    MapRows(maps, allowed, 0, head).read(1, values, hidden);
    CHECK(hidden == std::vector<std::uint8_t>{0, 0});
    MapRows(maps, allowed, 1, head).read(1, values, hidden);
    CHECK(hidden == std::vector<std::uint8_t>{0, 1});
  }
}

TEST_CASE("a range is that of finite values that are seen") {
  const Tensor maps({1, 1, 1, 5}, {0.25F, not_a_number, static_cast<float>(infinity), -7, 0.75F});
  const Tensor allowed({1, 1, 1, 5}, seen_of(5, {3}));
  const FiniteRange range = finite_range(MapRows(maps, allowed, 0, 0));
  CHECK(range.least == 0.25);
  CHECK(range.most == 0.75);
  CHECK(finite_range(MapRows(maps, Tensor({1, 1, 1, 1}, seen_of(1, {0})), 0, 0)).empty());
}

}  // namespace attn
