#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/layers.hpp"

#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

// Parts of scores that are large and cancel each other: what is left is small, and the rounding of
// the parts must not show in it.

namespace attn::testing {
namespace {

constexpr std::size_t length = 512, width = 16, window = 7;
constexpr double bound = 1e-4;  // docs/inside/numerics.md, "Parts that cancel each other"

// The largest relative error of weights, but for those that are nearly nothing.
double largest_error(const std::vector<double>& found, const std::vector<double>& exact) {
  double largest = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    if (exact[i] < 1e-30) continue;
    const double error = std::abs(found[i] / exact[i] - 1);
    largest = error <= largest ? largest : error;  // NaN stays
  }
  return largest;
}

// The largest relative error of the weights in single precision.
double worst_error(AttentionRequest request) {
  request.dtype = DType::float32;
  const std::vector<double> single = numbers(attend(request).weights);
  request.dtype = DType::float64;
  return largest_error(single, numbers(attend(request).weights));
}

AttentionRequest plain_request(RandomRequests& random) {
  AttentionRequest request;
  sequences(request).query = random.normal({length, width}).converted(DType::float32);
  sequences(request).key = random.normal({length, width}).converted(DType::float32);
  return request;
}

Tensor matrix_of(const std::function<double(double i, double j)>& term) {
  std::vector<double> terms(length * length);
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t j = 0; j < length; ++j) {
      terms[i * length + j] = term(static_cast<double>(i), static_cast<double>(j));
    }
  }
  return doubles({length, length}, std::move(terms));
}

// A part adds `size` · (i − j) to the score of key j and query i, i − window ≤ j ≤ i.
struct Part {
  std::string name;
  std::function<void(AttentionRequest& request, double size)> add;
};

void add_product(AttentionRequest& request, double size) {
  // Two more columns: (i, 1) · (size, −size j), divided by the scale beforehand.
  const auto extend = [](Tensor& rows, const std::function<std::pair<double, double>(double)>& to) {
    const std::vector<double> from = numbers(rows);
    const std::size_t before = rows.shape()[1];
    std::vector<double> all;
    for (std::size_t i = 0; i < length; ++i) {
      all.insert(all.end(), from.begin() + static_cast<std::ptrdiff_t>(i * before),
                 from.begin() + static_cast<std::ptrdiff_t>((i + 1) * before));
      const auto [first, second] = to(static_cast<double>(i));
      all.push_back(first);
      all.push_back(second);
    }
    rows = Tensor({length, before + 2}, std::vector<float>(all.begin(), all.end()));
  };
  const double scale = 1 / std::sqrt(static_cast<double>(width));
  request.scale = scale;
  extend(sequences(request).query, [](double i) { return std::pair(i, 1.0); });
  extend(sequences(request).key,
         [&](double j) { return std::pair(size / scale, -size / scale * j); });
}

void add_bias(AttentionRequest& request, double size) {
  request.mask.bias = matrix_of([&](double i, double j) { return size * (i - j); });
}

void add_alibi(AttentionRequest& request, double size) {
  request.mask.alibi.emplace().slopes = {-size};
}

void add_relative_bias(AttentionRequest& request, double size) {
  RelativeBias& relative = request.relative_bias.emplace();
  relative.buckets = 4 * (window + 1);
  relative.bidirectional = false;  // the first half of the buckets has one distance each
  std::vector<double> table(relative.buckets);
  for (std::size_t bucket = 0; bucket < table.size(); ++bucket) {
    table[bucket] = size * static_cast<double>(bucket);
  }
  relative.table = doubles({relative.buckets, 1}, std::move(table));
}

void add_expression(AttentionRequest& request, double size) {
  request.score_expression.text = "s + " + std::to_string(size) + " * (i - j)";
}

const std::vector<Part> parts{{"product", add_product},
                              {"bias", add_bias},
                              {"alibi", add_alibi},
                              {"relative bias", add_relative_bias},
                              {"expression", add_expression}};

}  // namespace

TEST_CASE("parts of scores that cancel each other leave no rounding, whichever two they are") {
  on_every_target([] {
    RandomRequests random(61);
    for (std::size_t first = 0; first < parts.size(); ++first) {
      for (std::size_t second = first + 1; second < parts.size(); ++second) {
        for (const double size : {0.7, 10.0, 1e3, 1e6 / 3}) {
          AttentionRequest request = plain_request(random);
          request.mask.causal = true;
          request.mask.window = Window{window, 0};
          parts[first].add(request, size);
          parts[second].add(request, -size);
          CAPTURE(parts[first].name);
          CAPTURE(parts[second].name);
          CAPTURE(size);
          CHECK(worst_error(std::move(request)) <= bound);
        }
      }
    }
  });
}

TEST_CASE("a relative bias and a bias of all keys that cancel leave the products' weights") {
  on_every_target([] {
    RandomRequests random(62);
    for (const double size : {1e3, 1e4, 1e6}) {
      CAPTURE(size);
      AttentionRequest request = plain_request(random);
      RelativeBias& relative = request.relative_bias.emplace();
      relative.table = doubles({32, 1}, std::vector<double>(32, size));
      request.mask.bias = matrix_of([&](double, double) { return -size; });
      CHECK(worst_error(request) <= bound);
      // Without weights the kernels are others.
      sequences(request).value = random.normal({length, width}).converted(DType::float32);
      request.weights = false;
      const std::vector<double> single = numbers(attend(request).output);
      request.dtype = DType::float64;
      const std::vector<double> exact = numbers(attend(request).output);
      double worst = 0;
      for (std::size_t i = 0; i < exact.size(); ++i) {
        worst = std::max(worst, std::abs(single[i] - exact[i]));
      }
      CHECK(worst <= bound);
    }
  });
}

TEST_CASE("projections whose products cancel are as precise as their scores need") {
  on_every_target([] {
    RandomRequests random(63);
    constexpr std::size_t wide = 64;
    for (const double size : {1.0, 30.0, 1e3}) {
      for (const bool halves : {false, true}) {
        CAPTURE(size);
        CAPTURE(halves);
        // Equal rows of ±size: by turns, or half of each.
        std::vector<double> weight(wide * wide), key = numbers(random.normal({length, wide}));
        for (std::size_t i = 0; i < weight.size(); ++i) {
          const bool positive = halves ? i % wide < wide / 2 : i % 2 == 0;
          weight[i] = positive ? size : -size;
        }
        for (double& number : key) number = 1 + 1e-3 * number;
        const Tensor keys = doubles({length, wide}, std::move(key)).converted(DType::float32);
        const Tensor queries = random.normal({length, wide}).converted(DType::float32);
        AttentionRequest request;
        const Tensor W = doubles({wide, wide}, weight).converted(DType::float32);
        request.score = General{{.query = queries, .key = keys}, W};
        CHECK(worst_error(request) <= bound);
        request.score = Additive{
            {.query = queries, .key = keys},
            W,
            W,
            doubles({1, wide}, numbers(random.normal({1, wide}))).converted(DType::float32)};
        CHECK(worst_error(request) <= bound);
      }
    }
  });
}

TEST_CASE("heads whose projections cancel are as precise as their scores need") {
  constexpr std::size_t wide = 128, heads = 4;
  RandomRequests random(65);
  const auto single = [](Tensor tensor) { return tensor.converted(DType::float32); };
  for (const double size : {1.0, 30.0, 1e3}) {
    for (const bool with_norm : {false, true}) {
      CAPTURE(size);
      CAPTURE(with_norm);
      // Equal rows of ±size, and states of nearly equal numbers.
      std::vector<double> weight(wide * wide), states = numbers(random.normal({length, wide}));
      for (std::size_t i = 0; i < weight.size(); ++i) {
        weight[i] = i % wide < wide / 2 ? size : -size;
      }
      for (double& number : states) number = 1 + 1e-3 * number;
      ProjectedAttentionRequest request;
      request.states.query = single(random.normal({length, wide}));
      request.states.key = single(doubles({length, wide}, std::move(states)));
      request.states.heads = heads;
      std::vector<double> plain = numbers(random.normal({wide, wide}));
      for (double& x : plain) x /= std::sqrt(static_cast<double>(wide));
      request.projections.query.weight = single(doubles({wide, wide}, std::move(plain)));
      request.projections.key.weight = single(doubles({wide, wide}, weight));
      request.projections.value.weight = request.projections.query.weight;
      if (with_norm) {
        request.key_norm.emplace().kind = NormKind::rms;
        request.key_norm->weight = single(random.normal({wide / heads}));
      }
      request.dtype = DType::float32;
      const std::vector<double> found = numbers(attend_projected(request).weights);
      request.dtype = DType::float64;
      CHECK(largest_error(found, numbers(attend_projected(request).weights)) <= bound);
    }
  }
}

TEST_CASE(
    "projected queries and keys of additive scores that cancel each other leave no rounding") {
  RandomRequests random(66);
  constexpr std::size_t units = 32;
  for (const double size : {1.0, 1e3, 1e5}) {
    CAPTURE(size);
    // W q = size + small numbers, W k = −size + small numbers.
    std::vector<double> to_query = numbers(random.normal({units, width})), to_key = to_query;
    for (std::size_t u = 0; u < units; ++u) {
      to_query[u * width] = size;
      to_key[u * width] = -size;
    }
    std::vector<double> query = numbers(random.normal({length, width})), key = query;
    for (std::size_t i = 0; i < length; ++i) query[i * width] = key[i * width] = 1;
    const auto single = [](Shape shape, std::vector<double> elements) {
      return doubles(std::move(shape), std::move(elements)).converted(DType::float32);
    };
    AttentionRequest request;
    request.score =
        Additive{{.query = single({length, width}, query), .key = single({length, width}, key)},
                 single({units, width}, to_key),
                 single({units, width}, to_query),
                 single({1, units}, numbers(random.normal({1, units})))};
    CHECK(worst_error(request) <= bound);
  }
}

TEST_CASE("additive scores that a bias cancels are as precise as others") {
  on_every_target([] {
    RandomRequests random(64);
    constexpr std::size_t units = 32;
    for (const double size : {1.0, 1e2, 1e4}) {
      CAPTURE(size);
      // tanh is ±1 for all pairs: the scores are Σ w, which the bias cancels, and small ones.
      std::vector<double> w(units, size);
      for (std::size_t u = units / 2; u < units; ++u) w[u] = 0.1;
      std::vector<double> to_query(units * width), to_key(units * width);
      for (std::size_t u = 0; u < units; ++u) to_query[u * width] = u < units / 2 ? 40 : 0.1;
      for (std::size_t u = 0; u < units; ++u)
        to_key[u * width + u % width] = u < units / 2 ? 0 : 0.3;
      std::vector<double> query = numbers(random.normal({length, width}));
      for (std::size_t i = 0; i < length; ++i) query[i * width] = 1;
      AttentionRequest request;
      request.score =
          Additive{{.query = doubles({length, width}, std::move(query)).converted(DType::float32),
                    .key = random.normal({length, width}).converted(DType::float32)},
                   doubles({units, width}, std::move(to_key)).converted(DType::float32),
                   doubles({units, width}, std::move(to_query)).converted(DType::float32),
                   doubles({1, units}, std::move(w)).converted(DType::float32)};
      request.mask.bias =
          matrix_of([&](double, double) { return -size * static_cast<double>(units / 2); });
      CHECK(worst_error(request) <= bound);
    }
  });
}

namespace {

// Whole eighths, whose products and sums are exact in every type.
Tensor eighths(RandomRequests& random, Shape shape) {
  std::vector<double> elements = numbers(random.normal(shape));
  for (double& x : elements) x = std::round(8 * x) / 8;
  return doubles(std::move(shape), std::move(elements));
}

// Two parts that cancel each other, and what else meets them.
AttentionRequest drawn_request(RandomRequests& random, DType dtype) {
  AttentionRequest request;
  request.dtype = dtype;
  const auto likely = [&](std::size_t one_in) { return random.number(1, one_in) == 1; };
  sequences(request).query = eighths(random, {length, width});
  sequences(request).key = eighths(random, {length, width});
  const std::size_t kinds = parts.size() - 1;  // an expression is computed before it is rounded
  const std::size_t first = random.number(0, kinds - 1);
  const std::size_t second = (first + random.number(1, kinds - 1)) % kinds;
  // The numbers of float16 end at 65504.
  const std::size_t most = dtype == DType::float16 ? 3 : 8;
  const double size = std::ldexp(1.0, static_cast<int>(random.number(0, most)));
  parts[first].add(request, size);
  parts[second].add(request, -size);
  request.mask.causal = true;
  request.mask.window = Window{window, 0};
  if (likely(3)) request.mask.padding = random.flags({length}, 0.2);
  if (likely(3)) request.sinks = random.normal({1}).converted(DType::float32);
  if (likely(6)) request.softcap = std::ldexp(1.0, static_cast<int>(random.number(3, 20)));
  if (likely(6)) request.rotary.emplace();
  if (likely(6)) {
    const std::size_t columns = sequences(request).query.shape()[1];
    request.key_norm.emplace().kind = NormKind::rms;
    request.key_norm->weight = random.normal({columns}).converted(DType::float32);
  }
  return request;
}

}  // namespace

// The bound of each type: float32 as above. For 16-bit types one unit of the request's type,
// whatever type the weights have: sums of eighths are exact, so that a score is off only where it
// lies in the middle of two numbers of the type. It is then another product's unit, at most half of
// 2^-7 of bfloat16 (2^-10 of float16) for the scores below 1 that large parts leave, and moves its
// weight by as much; a weight of the type is rounded by half a unit more.
TEST_CASE("parts that are drawn to cancel each other stay within the bound of every type") {
  constexpr int cases = 24;
  RandomRequests random(67);
  for (int i = 0; i < cases; ++i) {
    CAPTURE(i);
    AttentionRequest request = drawn_request(random, i % 2 == 0 ? DType::bfloat16 : DType::float16);
    CHECK(worst_error(request) <= bound);
    // These leave no sum of 16-bit numbers exact.
    request.rotary.reset();
    request.key_norm.reset();
    const Tensor found = attend(request).weights;
    request.stages = true;  // by the reference
    const Tensor exact = attend(request).weights;
    const double unit = request.dtype == DType::bfloat16 ? 0x1p-7 : 0x1p-10;
    std::vector<double> of_exact = numbers(exact);
    for (double& weight : of_exact) weight = weight < 1e-4 ? 0 : weight;  // float16 keeps no digits
    CHECK(largest_error(numbers(found), of_exact) <= unit);
  }
}

}  // namespace attn::testing
