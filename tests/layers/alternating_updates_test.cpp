#include "layers/alternating_updates.hpp"

#include <cmath>
#include <vector>

#include <doctest/doctest.h>

#include "tensor_is.hpp"

namespace attn {
namespace {

TEST_CASE("streams come apart and stand side by side again") {
  const Tensor all({2, 6}, std::vector<double>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const std::vector<Tensor> streams = apart(all, 3);
  REQUIRE(streams.size() == 3);
  CHECK(tensor_is<double>(streams[1], {2, 2}, {3, 4, 9, 10}));
  CHECK(tensor_is<double>(side_by_side(streams), {2, 6}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TEST_CASE("streams without coefficients stay, and move with the one that is computed") {
  AlternatingUpdates updates;
  updates.count = 2;
  updates.active = 1;
  const auto zeros = [](std::size_t rows, std::size_t columns) {
    return StoredLinear(Linear{Tensor({rows, columns}, std::vector<double>(rows * columns)), {}});
  };
  updates.router = zeros(2, 2);
  updates.router_norm = {Tensor({2}, std::vector<double>{1, 1}), {}, NormKind::rms};
  updates.prediction = zeros(4, 2);
  updates.correction = zeros(2, 2);
  const std::vector<Tensor> streams{Tensor({1, 2}, std::vector<double>{1, 2}),
                                    Tensor({1, 2}, std::vector<double>{3, 5})};
  const std::vector<Tensor> expected = predicted(updates, streams, 1e-6, 1);
  CHECK(tensor_is<double>(expected[0], {1, 2}, {1, 2}));
  const Tensor computed({1, 2}, std::vector<double>{4, 7});
  const std::vector<Tensor> after = corrected(updates, expected, computed, 1e-6, 1);
  CHECK(tensor_is<double>(after[0], {1, 2}, {2, 4}));
  CHECK(tensor_is<double>(after[1], {1, 2}, {4, 7}));
}

TEST_CASE("products that make streams are as long as the states, and their mean comes back") {
  StreamEnds ends;
  const auto diagonal = [](double number) {
    return StoredLinear(Linear{Tensor({2, 2}, std::vector<double>{number, 0, 0, number}), {}});
  };
  ends.in.push_back(diagonal(-7));
  ends.out.push_back(diagonal(0.5));
  const Tensor x({1, 2}, std::vector<double>{3, 4});
  const Tensor streams = ends.spread(x, 1);
  CHECK(streams.shape() == Shape{1, 4});
  CHECK(streams.values<double>()[2] == doctest::Approx(-3).epsilon(1e-15));
  const Tensor back = ends.joined(streams, 1);
  CHECK(back.values<double>()[0] == doctest::Approx(0).epsilon(1e-15));
  // Lengths of nothing stay nothing.
  const Tensor none = ends.spread(Tensor({1, 2}, std::vector<double>{0, 0}), 1);
  for (const double number : none.values<double>()) CHECK(number == 0);
}

TEST_CASE("quantiles of the normal distribution are those of its table") {
  CHECK(normal_quantile(0.5) == doctest::Approx(0).epsilon(1e-12));
  CHECK(normal_quantile(0.95) == doctest::Approx(1.6448536269514722).epsilon(1e-13));
  CHECK(normal_quantile(0.025) == doctest::Approx(-1.9599639845400545).epsilon(1e-13));
}

TEST_CASE("of a row the numbers above mean and deviations are left, less these") {
  const Tensor x({1, 4}, std::vector<double>{1, 2, 3, 6});
  CHECK(tensor_is<double>(largest_of_rows(x, 0), {1, 4}, {0, 0, 0, 3}));
  const double deviation = std::sqrt(3.5);
  const Tensor y = largest_of_rows(x, -1);
  CHECK(y.values<double>()[0] == 0);
  CHECK(y.values<double>()[3] == doctest::Approx(3 + deviation).epsilon(1e-15));
}

}  // namespace
}  // namespace attn
