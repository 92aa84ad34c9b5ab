#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attention/paths.hpp"
#include "attention/random_request.hpp"

namespace {

using namespace attn::testing;
using attn::attend;
using attn::AttentionRequest;
using attn::AttentionResult;
using attn::GivenScores;
using attn::KindInfo;
using attn::Shape;
using attn::Tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr int rounds = 20;

std::size_t query_count(const AttentionRequest& request) {
  const auto* given = std::get_if<GivenScores>(&request.score);
  return (given ? given->scores : sequences(request).query).shape()[2];
}

std::size_t key_count(const AttentionRequest& request) {
  return value_of(request.score).shape()[2];
}

// Changes all that has a place for each key: the rows of keys and values, or the columns of scores.
template <class OfRows, class OfColumns>
void change_keys(AttentionRequest& request, OfRows of_rows, OfColumns of_columns) {
  value_in(request) = of_rows(value_in(request));
  if (auto* given = std::get_if<GivenScores>(&request.score)) {
    given->scores = of_columns(given->scores);
  } else {
    sequences(request).key = of_rows(sequences(request).key);
  }
}

// Checks a property of every kind on random sizes.
template <class Property>
void for_every_kind(unsigned seed, Property property) {
  RandomRequests random(seed);
  for (const KindInfo& row : attended_kinds()) {
    CAPTURE(row.name);
    for (int round = 0; round < rounds; ++round) {
      CAPTURE(round);
      property(random, random.request(row.kind));
    }
  }
}

// One query and some keys with these scores, and values 1, 2, 3…
AttentionRequest one_row(std::vector<double> scores) {
  AttentionRequest request;
  request.dtype = attn::DType::float64;
  request.stages = true;
  std::vector<double> values;
  for (std::size_t i = 0; i < scores.size(); ++i) values.push_back(static_cast<double>(i) + 1);
  const std::size_t keys = scores.size();
  request.score =
      GivenScores{doubles({1, keys}, std::move(scores)), doubles({keys, 1}, std::move(values))};
  return request;
}

TEST_CASE("the weights of each query are positive and sum to 1") {
  for_every_kind(1, [](RandomRequests&, const AttentionRequest& request) {
    const std::vector<double> weights = numbers(attend(request).weights);
    const std::size_t keys = key_count(request);
    for (std::size_t first = 0; first < weights.size(); first += keys) {
      double sum = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        REQUIRE(weights[first + j] >= 0);
        sum += weights[first + j];
      }
      REQUIRE(std::abs(sum - 1) < 1e-14);
    }
  });
}

TEST_CASE("each stage follows from the one before it by its definition") {
  for_every_kind(2, [](RandomRequests& random, AttentionRequest request) {
    request.scale = 1;
    const AttentionResult plain = attend(request);
    request.scale = -0.7;
    request.softcap = 1.5;
    const std::size_t keys = key_count(request);
    request.mask.bias = random.normal({query_count(request), keys});
    request.mask.allow = random.flags({keys}, 0.8);
    const AttentionResult result = attend(request);
    const std::vector<double> raw = numbers(plain.scores), scores = numbers(result.scores),
                              capped = numbers(result.capped), masked = numbers(result.masked),
                              weights = numbers(result.weights), lse = numbers(result.lse),
                              bias = numbers(request.mask.bias),
                              allow = numbers(request.mask.allow);
    for (std::size_t at = 0; at < scores.size(); ++at) {
      const std::size_t row = at / keys, j = at % keys;
      REQUIRE(scores[at] == doctest::Approx(-0.7 * raw[at]).epsilon(1e-14));
      REQUIRE(capped[at] == doctest::Approx(1.5 * std::tanh(scores[at] / 1.5)).epsilon(1e-14));
      if (allow[j] == 0) {
        REQUIRE(masked[at] == -infinity);
        REQUIRE(weights[at] == 0);
        continue;
      }
      REQUIRE(masked[at] == capped[at] + bias[at % bias.size()]);
      REQUIRE(weights[at] == doctest::Approx(std::exp(masked[at] - lse[row])).epsilon(1e-13));
    }
  });
}

TEST_CASE("the log-sum-exp is the logarithm of the sum of the exponentials of the masked scores") {
  for_every_kind(3, [](RandomRequests&, const AttentionRequest& request) {
    const AttentionResult result = attend(request);
    const std::vector<double> masked = numbers(result.masked), lse = numbers(result.lse);
    const std::size_t keys = key_count(request);
    for (std::size_t row = 0; row < lse.size(); ++row) {
      double sum = 0;
      for (std::size_t j = 0; j < keys; ++j) sum += std::exp(masked[row * keys + j]);
      REQUIRE(lse[row] == doctest::Approx(std::log(sum)).epsilon(1e-13));
    }
  });
}

TEST_CASE("the output is the sum of the values, each times its weight") {
  for_every_kind(4, [](RandomRequests&, const AttentionRequest& request) {
    const AttentionResult result = attend(request);
    const std::vector<double> weights = numbers(result.weights),
                              values = numbers(value_of(request.score)),
                              output = numbers(result.output);
    const Shape& shape = result.weights.shape();
    const std::size_t heads = shape[1], queries = shape[2], keys = shape[3];
    const Shape& value = value_of(request.score).shape();
    const std::size_t kv_heads = value[1], width = value[3];
    for (std::size_t at = 0; at < output.size(); ++at) {
      const std::size_t d = at % width, row = at / width;
      const std::size_t b = row / queries / heads, h = row / queries % heads;
      double sum = 0;
      for (std::size_t j = 0; j < keys; ++j) {
        const std::size_t kv_head = b * kv_heads + h / (heads / kv_heads);
        sum += weights[row * keys + j] * values[(kv_head * keys + j) * width + d];
      }
      REQUIRE(output[at] == doctest::Approx(sum).epsilon(1e-13));
    }
  });
}

TEST_CASE("weights of either sign have as many digits in the output") {
  RandomRequests random(31);
  AttentionRequest request = random.request(attn::Kind::scaled_dot_product);
  request.dtype = attn::DType::float64;
  const std::vector<double> expected = numbers(attend(request).output);
  request.weight_expression = {"-p", {}};
  std::vector<double> negative = numbers(attend(request).output);
  for (double& number : negative) number = -number;
  CHECK(negative == expected);
}

TEST_CASE("the default scale is 1/√d_k for scaled dot products and 1 for all others") {
  for_every_kind(5, [](RandomRequests&, AttentionRequest request) {
    const AttentionResult by_default = attend(request);
    const auto* scaled = std::get_if<attn::ScaledDotProduct>(&request.score);
    request.scale = scaled ? 1 / std::sqrt(static_cast<double>(scaled->query.shape().back())) : 1.0;
    REQUIRE(same_bits(attend(request).scores, by_default.scores));
  });
}

TEST_CASE("without softcap and mask the stages are the scores") {
  for_every_kind(6, [](RandomRequests&, const AttentionRequest& request) {
    const AttentionResult result = attend(request);
    REQUIRE(same_bits(result.capped, result.scores));
    REQUIRE(same_bits(result.masked, result.scores));
    REQUIRE_FALSE(static_cast<bool>(result.allowed));
  });
}

TEST_CASE("permuting the keys permutes the weights and leaves the output") {
  for_every_kind(7, [](RandomRequests& random, AttentionRequest request) {
    const std::size_t keys = key_count(request);
    request.mask.allow = random.flags({query_count(request), keys}, 0.7);
    request.mask.bias = random.normal({keys});
    const AttentionResult before = attend(request);
    const std::vector<std::size_t> order = random.permutation(keys);
    change_keys(
        request, [&](const Tensor& rows) { return with_rows(rows, order); },
        [&](const Tensor& scores) { return with_columns(scores, order); });
    request.mask.allow = with_columns(request.mask.allow, order);
    request.mask.bias = with_columns(request.mask.bias, order);
    const AttentionResult after = attend(request);
    REQUIRE(difference(after.weights, with_columns(before.weights, order)) < 1e-14);
    REQUIRE(difference(after.output, before.output) < 1e-13);
    REQUIRE(after.empty_rows == before.empty_rows);
  });
}

TEST_CASE("permuting the queries permutes the rows of weights and output, to the bit") {
  for_every_kind(8, [](RandomRequests& random, AttentionRequest request) {
    const AttentionResult before = attend(request);
    const std::vector<std::size_t> order = random.permutation(query_count(request));
    auto* given = std::get_if<GivenScores>(&request.score);
    Tensor& rows = given ? given->scores : sequences(request).query;
    rows = with_rows(rows, order);
    const AttentionResult after = attend(request);
    REQUIRE(same_bits(after.weights, with_rows(before.weights, order)));
    REQUIRE(same_bits(after.output, with_rows(before.output, order)));
  });
}

TEST_CASE("the output is linear in the values") {
  for_every_kind(9, [](RandomRequests& random, AttentionRequest request) {
    Tensor& value = value_in(request);
    const Tensor first = value, second = random.normal(first.shape());
    const std::vector<double> a = numbers(first), b = numbers(second);
    std::vector<double> sum;
    for (std::size_t i = 0; i < a.size(); ++i) sum.push_back(2 * a[i] - 3 * b[i]);
    const std::vector<double> of_first = numbers(attend(request).output);
    value = second;
    const std::vector<double> of_second = numbers(attend(request).output);
    value = doubles(first.shape(), std::move(sum));
    const std::vector<double> of_sum = numbers(attend(request).output);
    for (std::size_t i = 0; i < of_sum.size(); ++i) {
      REQUIRE(std::abs(of_sum[i] - (2 * of_first[i] - 3 * of_second[i])) < 1e-13);
    }
  });
}

TEST_CASE("a constant added to all scores changes only the log-sum-exp") {
  for_every_kind(10, [](RandomRequests&, AttentionRequest request) {
    const AttentionResult before = attend(request);
    request.mask.bias = doubles({}, {100});
    const AttentionResult after = attend(request);
    REQUIRE(difference(after.weights, before.weights) < 1e-13);
    REQUIRE(difference(after.output, before.output) < 1e-12);
    const std::vector<double> lse_before = numbers(before.lse), lse = numbers(after.lse);
    for (std::size_t i = 0; i < lse.size(); ++i) {
      REQUIRE(lse[i] - lse_before[i] == doctest::Approx(100).epsilon(1e-13));
    }
  });
}

TEST_CASE("a hidden key contributes exactly nothing, even if it holds NaN or infinity") {
  for (const double poison : {nan, infinity, -infinity, 1e308}) {
    CAPTURE(poison);
    for_every_kind(11, [&](RandomRequests& random, AttentionRequest request) {
      const std::size_t keys = key_count(request);
      request.mask.allow = random.flags({keys}, 0.5);
      const std::vector<double> allow = numbers(request.mask.allow);
      const AttentionResult clean = attend(request);
      const auto poisoned = [&](const Tensor& tensor, std::size_t key_stride) {
        std::vector<double> elements = numbers(tensor);
        for (std::size_t at = 0; at < elements.size(); ++at) {
          if (allow[at / key_stride % keys] == 0) elements[at] = poison;
        }
        return doubles(tensor.shape(), std::move(elements));
      };
      change_keys(
          request, [&](const Tensor& rows) { return poisoned(rows, rows.shape().back()); },
          [&](const Tensor& scores) { return poisoned(scores, 1); });
      const AttentionResult result = attend(request);
      REQUIRE(same_bits(result.weights, clean.weights));
      REQUIRE(same_bits(result.output, clean.output));
      REQUIRE(same_bits(result.masked, clean.masked));
      REQUIRE(same_bits(result.lse, clean.lse));
      const std::vector<double> weights = numbers(result.weights);
      for (std::size_t at = 0; at < weights.size(); ++at) {
        if (allow[at % keys] == 0) REQUIRE((weights[at] == 0 && !std::signbit(weights[at])));
      }
    });
  }
}

TEST_CASE("hiding keys is the same as leaving them out") {
  for_every_kind(12, [](RandomRequests& random, AttentionRequest request) {
    const std::size_t keys = key_count(request);
    request.mask.allow = random.flags({keys}, 0.6);
    const std::vector<double> allow = numbers(request.mask.allow);
    std::vector<std::size_t> kept;
    for (std::size_t j = 0; j < keys; ++j) {
      if (allow[j] != 0) kept.push_back(j);
    }
    if (kept.empty()) return;
    const AttentionResult hidden = attend(request);
    request.mask = {};
    change_keys(
        request, [&](const Tensor& rows) { return with_rows(rows, kept); },
        [&](const Tensor& scores) { return with_columns(scores, kept); });
    const AttentionResult without = attend(request);
    REQUIRE(difference(without.weights, with_columns(hidden.weights, kept)) < 1e-15);
    REQUIRE(difference(without.output, hidden.output) < 1e-14);
  });
}

TEST_CASE("a query with no key left has zero weights, zero output and is counted") {
  for_every_kind(13, [](RandomRequests&, AttentionRequest request) {
    const std::size_t queries = query_count(request), keys = key_count(request);
    std::vector<std::uint8_t> block(queries, 0);
    block[0] = 1;
    request.mask.block = booleans({queries, 1}, block);
    const AttentionResult result = attend(request);
    const std::size_t heads = result.weights.shape()[0] * result.weights.shape()[1];
    REQUIRE(result.empty_rows == heads);
    const std::vector<double> weights = numbers(result.weights), lse = numbers(result.lse),
                              output = numbers(result.output);
    const std::size_t width = value_of(request.score).shape().back();
    for (std::size_t head = 0; head < heads; ++head) {
      const std::size_t row = head * queries;
      REQUIRE(lse[row] == -infinity);
      for (std::size_t j = 0; j < keys; ++j) REQUIRE(weights[row * keys + j] == 0);
      for (std::size_t d = 0; d < width; ++d) REQUIRE(output[row * width + d] == 0);
    }
  });
}

TEST_CASE("with a finite fill a query with no key left is uniform, and no row is empty") {
  for_every_kind(14, [](RandomRequests&, AttentionRequest request) {
    request.mask.block = booleans({}, {1});
    request.mask.fill = -1e6;
    const AttentionResult result = attend(request);
    REQUIRE(result.empty_rows == 0);
    const double uniform = 1.0 / static_cast<double>(key_count(request));
    for (const double weight : numbers(result.weights)) {
      REQUIRE(weight == doctest::Approx(uniform).epsilon(1e-15));
    }
  });
}

TEST_CASE("a finite fill replaces the score of an unseen key, which then takes part as weighted") {
  AttentionRequest request = one_row({5, nan, 7});
  request.mask.allow = booleans({3}, {1, 0, 1});
  request.mask.fill = 6;
  const AttentionResult result = attend(request);
  CHECK(numbers(result.masked) == std::vector<double>{5, 6, 7});
  const double sum = std::exp(-2) + std::exp(-1) + 1;
  CHECK(numbers(result.weights)[1] == doctest::Approx(std::exp(-1) / sum).epsilon(1e-15));
  CHECK(numbers(result.output)[0] ==
        doctest::Approx((std::exp(-2) + 2 * std::exp(-1) + 3) / sum).epsilon(1e-15));
  CHECK(numbers(result.allowed) == std::vector<double>{1, 0, 1});
}

TEST_CASE("a bias of minus infinity hides whatever the fill is") {
  AttentionRequest request = one_row({5, nan, 7});
  value_in(request) = doubles({3, 1}, {1, nan, 3});
  request.mask.bias = doubles({3}, {0, -infinity, 0});
  request.mask.fill = -1e9;
  const AttentionResult result = attend(request);
  CHECK(numbers(result.masked) == std::vector<double>{5, -infinity, 7});
  CHECK(numbers(result.weights)[1] == 0);
  CHECK(std::isfinite(numbers(result.output)[0]));
  CHECK(numbers(result.allowed) == std::vector<double>{1, 0, 1});
}

TEST_CASE("a score of minus infinity contributes nothing, even where no mask hides its key") {
  AttentionRequest request = one_row({1, -infinity, 1});
  value_in(request) = doubles({3, 1}, {2, nan, 4});
  const AttentionResult result = attend(request);
  CHECK(numbers(result.weights) == std::vector<double>{0.5, 0, 0.5});
  CHECK(numbers(result.output) == std::vector<double>{3});
  const AttentionResult empty = attend(one_row({-infinity, -infinity}));
  CHECK(numbers(empty.weights) == std::vector<double>{0, 0});
  CHECK(numbers(empty.output) == std::vector<double>{0});
  CHECK(empty.empty_rows == 1);
}

TEST_CASE("a NaN that is seen makes the seen weights NaN and leaves the hidden ones 0") {
  AttentionRequest request = one_row({1, nan, 2, -infinity, 5});
  request.mask.allow = booleans({5}, {1, 1, 1, 1, 0});
  const AttentionResult result = attend(request);
  const std::vector<double> weights = numbers(result.weights);
  for (const std::size_t seen : {0U, 1U, 2U}) CHECK(std::isnan(weights[seen]));
  CHECK(weights[3] == 0);
  CHECK(weights[4] == 0);
  CHECK(std::isnan(numbers(result.output)[0]));
  CHECK(std::isnan(numbers(result.lse)[0]));
  CHECK(result.empty_rows == 0);
}

TEST_CASE("a row whose only seen score is NaN is not empty") {
  const AttentionResult result = attend(one_row({-infinity, nan}));
  CHECK(numbers(result.weights)[0] == 0);
  CHECK(std::isnan(numbers(result.weights)[1]));
  CHECK(result.empty_rows == 0);
}

TEST_CASE("a NaN in a seen value reaches the queries that see it and no others") {
  AttentionRequest request = one_row({1, 1});
  request.score = GivenScores{doubles({2, 2}, {1, 1, 1, 1}), doubles({2, 2}, {1, 2, nan, 3})};
  request.mask.allow = booleans({2, 2}, {1, 1, 1, 0});
  const std::vector<double> output = numbers(attend(request).output);
  CHECK(std::isnan(output[0]));
  CHECK(output[1] == 2.5);
  CHECK(output[2] == 1);
  CHECK(output[3] == 2);
}

TEST_CASE("huge scores do not overflow") {
  CHECK(numbers(attend(one_row({1e4, -1e4, 1e4})).weights) == std::vector<double>{0.5, 0, 0.5});
  CHECK(numbers(attend(one_row({-1e4, -1e4})).weights) == std::vector<double>{0.5, 0.5});
  CHECK(numbers(attend(one_row({1e30, 0, -1e30})).weights) == std::vector<double>{1, 0, 0});
  CHECK(numbers(attend(one_row({1e308, -1e308})).weights) == std::vector<double>{1, 0});
  const AttentionResult result = attend(one_row({1e4, 1e4, -1e4}));
  CHECK(numbers(result.lse)[0] == doctest::Approx(1e4 + std::log(2)).epsilon(1e-15));
  CHECK(numbers(result.output)[0] == 1.5);
}

TEST_CASE("the softcap bounds even huge and infinite scores") {
  AttentionRequest request = one_row({1e30, -1e30, 0, infinity});
  request.softcap = 20;
  CHECK(numbers(attend(request).capped) == std::vector<double>{20, -20, 0, 20});
}

TEST_CASE("huge queries and keys do not overflow") {
  for (const double size : {1e4, 1e30}) {
    CAPTURE(size);
    AttentionRequest request;
    request.dtype = attn::DType::float64;
    sequences(request).query = doubles({1, 2}, {size, 0});
    sequences(request).key = doubles({3, 2}, {size, 1, -size, 1, size, 5});
    sequences(request).value = doubles({3, 1}, {1, 10, 3});
    CHECK(numbers(attend(request).weights) == std::vector<double>{0.5, 0, 0.5});
    CHECK(numbers(attend(request).output) == std::vector<double>{2});
  }
}

TEST_CASE("additive scores saturate for huge inputs instead of overflowing") {
  AttentionRequest request;
  request.dtype = attn::DType::float64;
  request.stages = true;
  const Tensor one = doubles({1, 1}, {1});
  request.score = attn::Additive{
      {doubles({1, 1}, {1e300}), doubles({2, 1}, {-1, 1e300})}, one, one, doubles({1, 1}, {3})};
  CHECK(numbers(attend(request).scores) == std::vector<double>{3, 3});
}

}  // namespace
