#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "maps/attention_map.hpp"

namespace {

using namespace attn;

std::string doubt(const Shape& shape, std::vector<double> numbers, bool any_numbers = false) {
  return unlike_weights(Tensor(shape, std::move(numbers)), any_numbers).value_or("none");
}

}  // namespace

TEST_CASE("rows that sum to 1 or have no key are those of weights") {
  CHECK(doubt({2, 2}, {0.25, 0.75, 1, 0}) == "none");
  CHECK(doubt({2, 2}, {0, 0, 1, 0}) == "none");
}

TEST_CASE("numbers that no softmax gives are told with what shows it") {
  CHECK(doubt({2, 2}, {-1, 2, 0.5, 0.5}) == "1 of 4 numbers are negative, which no weight is");
  CHECK(doubt({2, 2}, {NAN, 0.5, 0.5, 0.5}) == "1 of 4 numbers are NaN");
  CHECK(doubt({2, 2}, {25, 75, 65, 60}) == "the rows sum to 100 … 125, those of weights to 1");
  CHECK(doubt({2, 2}, {-1, 2, 0.5, 0.5}, true) == "none");
}

TEST_CASE("an axis of keys in another place is told, of scores and other numbers too") {
  const std::string turned =
      "the columns sum to 1, not the rows: MapRequest::axes with key before query turns them";
  CHECK(doubt({2, 2}, {0.25, 0.5, 0.75, 0.5}) == turned);
  CHECK(doubt({2, 2}, {0.25, 0.5, 0.75, 0.5}, true) == turned);
  CHECK(
      doubt({2, 1, 3}, {0.25, 0.5, 0.125, 0.75, 0.5, 0.875}) ==
      "the numbers sum to 1 along axis 0 of [2,1,3], counted from 0, not along the last one: name "
      "it key with MapRequest::axes");
}

TEST_CASE("only maps of other programs are doubtful, and axes that are named are known") {
  AttentionMap map;
  map.numbers = Tensor({2, 2, 2}, std::vector<double>{0.5, 0.5, 1, 0, 0.5, 0.5, 1, 0});
  CHECK(doubts_of(map, {}, false).empty());
  map.of_result = false;
  CHECK(doubts_of(map, {}, false) ==
        std::vector<std::string>{
            "a tensor of three axes is taken as samples of one head each, [samples,queries,keys]: "
            "say with MapRequest::axes head that they are heads"});
  MapRequest named;
  named.axes = {MapAxis::head};
  CHECK(doubts_of(map, named, false).empty());
}
