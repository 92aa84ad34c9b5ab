#include "statistics/rollout.hpp"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "statistics/head_distances.hpp"

namespace attn {
namespace {

std::vector<double> numbers(const Tensor& tensor) {
  const auto values = tensor.values<double>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("rows of a rollout sum to one, and nothing arrives where nothing is looked at") {
  Rollout rollout({}, {2}, 1);
  const Tensor first = rollout.next(Tensor({1, 2, 2, 2}, std::vector<double>{1, 0, 0.5, 0.5,  //
                                                                             1, 0, 1, 0}));
  CHECK(numbers(first) == std::vector<double>{1, 0, 0.375, 0.625});
  const Tensor second = rollout.next(Tensor({1, 1, 2, 2}, std::vector<double>{1, 0, 0, 1}));
  CHECK(numbers(second) == numbers(first));
}

TEST_CASE("the residual's share and the fusion of heads are as given") {
  const Tensor maps({1, 2, 2, 2}, std::vector<double>{1, 0, 0.5, 0.5, 1, 0, 1, 0});
  RolloutOptions options;
  options.residual = 0;
  CHECK(numbers(Rollout(options, {2}, 1).next(maps)) == std::vector<double>{1, 0, 0.75, 0.25});
  options.fusion = RolloutOptions::Fusion::max;
  const std::vector<double> largest = numbers(Rollout(options, {2}, 1).next(maps));
  CHECK(largest[2] == doctest::Approx(1 / 1.5));
  options.fusion = RolloutOptions::Fusion::min;
  CHECK(numbers(Rollout(options, {2}, 1).next(maps)) == std::vector<double>{1, 0, 1, 0});
  options = {};
  options.discarded = 0.5;
  const std::vector<double> kept = numbers(Rollout(options, {2}, 1).next(maps));
  CHECK(kept[2] == doctest::Approx(0.375 / 0.875));
}

TEST_CASE("what lies behind a text's end stays zero in a rollout") {
  const Tensor maps({1, 1, 2, 2}, std::vector<double>{1, 0, 0, 0});
  CHECK(numbers(Rollout({}, {1}, 1).next(maps)) == std::vector<double>{1, 0, 0, 0});
}

TEST_CASE("equal heads have no distance, unlike ones as much as their rows differ") {
  HeadDistances distances(1);
  distances.add(Tensor({1, 3, 1, 2}, std::vector<double>{1, 0, 1, 0, 0, 1}));
  const std::vector<double> all = numbers(distances.distances());
  CHECK(all[1] == doctest::Approx(0));
  CHECK(all[2] > 0.68);  // nearly ln 2, but for the smoothing
  CHECK(all[2] < 0.6932);
  CHECK(all[2] == all[6]);
}

TEST_CASE("points in the plane have the distances that they were made of") {
  // A right-angled triangle with sides 3, 4 and 5.
  const Tensor points =
      scaled_to_plane(Tensor({3, 3}, std::vector<double>{0, 3, 5, 3, 0, 4, 5, 4, 0}));
  const std::vector<double> at = numbers(points);
  const auto distance = [&](std::size_t a, std::size_t b) {
    return std::hypot(at[2 * a] - at[2 * b], at[2 * a + 1] - at[2 * b + 1]);
  };
  CHECK(distance(0, 1) == doctest::Approx(3));
  CHECK(distance(1, 2) == doctest::Approx(4));
  CHECK(distance(0, 2) == doctest::Approx(5));
}

}  // namespace attn
