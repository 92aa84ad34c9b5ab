#include "statistics/stack_analyses.hpp"

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

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

namespace {

// Distances of no plane, whole multiples of 1/16.
Tensor uneven_distances(std::size_t count) {
  std::vector<double> distances(count * count);
  for (std::size_t a = 0; a < count; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      const std::size_t mixed = (a * a + 3 * b * b + a * b) * 7 % 13;
      distances[a * count + b] = distances[b * count + a] =
          1 + static_cast<double>(2 * mixed + a + b) / 16;
    }
  }
  return {{count, count}, std::move(distances)};
}

}  // namespace

TEST_CASE("points in the plane are those that another program computes") {
  // By Eigen 3.4's SelfAdjointEigenSolver.
  const std::vector<std::vector<double>> golden{
      {0, 0},
      {0.96875, 0, -0.96875, 0},
      {-0.94145080314075957, -0.43659864187672065, 1.0198089433229298, 0.11131847261019462,
       -1.0765145372103384, -0.42620003123664757, 1.1775501395130603, -0.62534597859324037,
       -0.17939374248489068, 1.3768261790964138},
      {0.32240220966491395,  -0.65151460070003109, 0.090165649849855881, -0.14215412494855248,
       -0.2899530812669468,  -0.12507647073302344, 0.38757831310408697,  -0.41799349509870587,
       -0.68887517858258096, -0.17849240372827713, 0.67859039701326029,  0.7256396771315119,
       -1.2664560251939763,  -0.80838053118083175, -0.51520459932855955, -1.259908726127773,
       -0.97935759876550765, 0.69526356895383379,  1.120907530583175,    1.1581382803072173,
       -0.89926564678942145, 1.5671753265647197,   2.0394680297116992,   -0.56269650044008657}};
  for (const std::vector<double>& expected : golden) {
    const std::size_t count = expected.size() / 2;
    CAPTURE(count);
    const std::vector<double> found = numbers(scaled_to_plane(uneven_distances(count)));
    REQUIRE(found.size() == expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CAPTURE(i);
      CHECK(std::abs(found[i] - expected[i]) <= 1e-12);
    }
  }
}

TEST_CASE("points in the plane of many heads have the eigenvectors' axes") {
  const std::size_t count = 200;
  const Tensor distances = uneven_distances(count);
  const std::vector<double> at = numbers(scaled_to_plane(distances));
  // −½ J D² J, applied to an axis, multiplies it by the sum of its squares.
  const std::vector<double> d = numbers(distances);
  std::array<double, 2> previous{};
  for (std::size_t axis = 0; axis < 2; ++axis) {
    CAPTURE(axis);
    double squares = 0, sum = 0, largest = 0;
    for (std::size_t i = 0; i < count; ++i) {
      const double x = at[2 * i + axis];
      squares += x * x;
      sum += x;
      if (std::abs(x) > std::abs(largest)) largest = x;
    }
    CHECK(largest > 0);
    CHECK(std::abs(sum) < 1e-9);
    previous[axis] = squares;
    std::vector<double> turned(count);
    double mean = 0;
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        turned[i] -= d[i * count + j] * d[i * count + j] * at[2 * j + axis] / 2;
      }
      mean += turned[i] / static_cast<double>(count);
    }
    for (std::size_t i = 0; i < count; ++i) {
      CHECK(std::abs(turned[i] - mean - squares * at[2 * i + axis]) < 1e-8);
    }
  }
  CHECK(previous[0] > previous[1]);
}

TEST_CASE("equal heads lie on one point, and two heads on a line") {
  CHECK(numbers(scaled_to_plane(Tensor({3, 3}, std::vector<double>(9)))) == std::vector<double>(6));
  const std::vector<double> two =
      numbers(scaled_to_plane(Tensor({2, 2}, std::vector<double>{0, 0.3, 0.3, 0})));
  CHECK(two[0] > 0);
  CHECK(two[1] == 0);
  CHECK(two[3] == 0);
}

}  // namespace attn
