#pragma once

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attention/paths.hpp"
#include "attention/positions.hpp"
#include "attention/random_mask.hpp"
#include "attention/random_request.hpp"
#include "document/mask_reader.hpp"

namespace attn::testing {

/// The mask of a request, whose `where` compares the rows as they are given.
inline Visibility seen_by(const AttentionRequest& request, const Geometry& geometry) {
  const Sequences* const compared = sequences_of(request.score);
  return {request.mask, geometry, compared != nullptr ? *compared : Sequences()};
}

/// The result of the kernels; absent where they leave a request to the reference.
inline std::optional<AttentionResult> fast(const AttentionRequest& request) {
  const Geometry geometry = check_geometry(request);
  return fast_attention(request, geometry, seen_by(request, geometry));
}

/// The result of the reference.
inline AttentionResult reference(AttentionRequest request) {
  const Geometry geometry = check_geometry(request);
  const Visibility visibility = seen_by(request, geometry);
  if (const HeadPreparation preparation(request, geometry, visibility.places()); preparation) {
    sequences(request) = preparation.prepared(sequences(request), DType::float64);
  }
  return reference_attention(request, geometry, visibility);
}

/// The request in double precision.
inline AttentionResult exact(AttentionRequest request) {
  request.dtype = DType::float64;
  return reference(std::move(request));
}

/// The inputs in the precision of the result, so that both ways compute from the same numbers.
inline AttentionRequest rounded(AttentionRequest request, DType dtype = DType::float32) {
  request.dtype = dtype;
  request.stages = false;
  Sequences& compared = sequences(request);
  for (Tensor* tensor : {&compared.query, &compared.key, &compared.value, &compared.past_key,
                         &compared.past_value}) {
    *tensor = tensor->converted(dtype);
  }
  for (Tensor* parameter : parameters_of(request.score)) *parameter = parameter->converted(dtype);
  return request;
}

/// Normal queries [..,Lq,D], keys [..,Lk,D] and values [..,Lk,value_width] in single precision.
inline AttentionRequest random_attention(RandomRequests& random, const Shape& query,
                                         const Shape& key, std::size_t value_width) {
  AttentionRequest request;
  request.threads = 1;
  sequences(request).query = random.normal(query);
  sequences(request).key = random.normal(key);
  Shape value = key;
  value.back() = value_width;
  sequences(request).value = random.normal(value);
  return rounded(std::move(request));
}

/// The error that a weight may have, relative to itself, and an output, relative to the largest
/// value it may hold, about 1 here. With u the unit roundoff (2⁻²⁴, 2⁻⁵³), D the width and s the
/// largest sum of the absolute products of one score in units of ln 2, D below 64 and s below 40
/// here:
/// 1. A score is off by at most (D + 3) u s: D products are added one after the other, and the
///    query was multiplied by scale · log₂ e, a product that is rounded itself. In practice the
///    errors of the sum grow with √D, and s is ten times the score.
/// 2. 2^score by 0.7 times that, relative, and 4 u for the polynomial.
/// 3. The sum of L such, added in lanes and then across them, by (L / lanes + lanes) u more.
/// 4. The product with the values by L u in the worst case.
/// All worst cases at once would give 64 · 40 · u = 1.5e-4; scores of random numbers stay ten times
/// below it. Rotations and norms make one more rounding of each number, terms by distance one of
/// each score.
inline double kernel_bound(DType dtype) {
  return dtype == DType::float32 ? 2e-5 : 4e-14;
}

/// Whether each number is within a relative kernel_bound(), or absolutely within that of `unit`.
inline bool near(const Tensor& result, const Tensor& expected, double unit) {
  if (result.shape() != expected.shape()) return false;
  const double bound = kernel_bound(result.dtype());
  const std::vector<double> a = numbers(result), b = numbers(expected);
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= bound * std::max(std::abs(b[i]), unit))) {
      MESSAGE("at " << i << ": " << a[i] << " instead of " << b[i]);
      return false;
    }
  }
  return true;
}

/// With and without the weights; zeros of the reference are zeros here.
inline void check_one_type(const AttentionRequest& request) {
  const AttentionResult expected = exact(request);
  const std::optional<AttentionResult> result = fast(request);
  REQUIRE(result);
  CHECK(near(result->output, expected.output, 1));
  CHECK(near(result->weights, expected.weights, 1e-30));
  CHECK(same_bits(result->allowed, expected.allowed));
  CHECK(result->empty_rows == expected.empty_rows);

  AttentionRequest without = request;
  without.weights = false;
  const std::optional<AttentionResult> output = fast(without);
  REQUIRE(output);
  CHECK(!output->weights);
  CHECK(!output->allowed);
  CHECK(near(output->output, expected.output, 1));
  CHECK(output->empty_rows == expected.empty_rows);
}

/// In both precisions.
inline void check_both_types(const AttentionRequest& request) {
  check_one_type(request);
  check_one_type(rounded(request, DType::float64));
}

/// Calls check(request) for requests that make() gives, with each part of a mask by itself, with
/// each beside a causal mask that is aligned to the last key, and with some of several parts. A
/// finite fill, which no kernel takes, is left out, and parts that are named.
template <class Make, class Check>
void for_masks(RandomRequests& random, const Make& make, const Check& check,
               std::initializer_list<std::string_view> without = {}) {
  auto choose = [&](std::size_t below) { return random.number(0, below - 1); };
  const auto checked = [&](const auto& draw) {
    AttentionRequest request = make();
    const Geometry geometry = check_geometry(request);
    RandomMask masks(choose, geometry);
    request.mask = draw(masks);
    CAPTURE(mask_text(request.mask));
    check(request);
  };
  using Masks = RandomMask<decltype(choose)>;
  for (const auto& part : Masks::parts()) {
    if (part.name == "fill" || std::ranges::count(without, part.name) > 0) continue;
    checked([&](Masks& masks) { return masks.of(part); });
    checked([&](Masks& masks) {
      Mask mask = masks.of(part);
      mask.causal = true;
      mask.align = Alignment::lower_right;
      return mask;
    });
  }
  std::vector<std::string_view> left_out(without);
  left_out.push_back("fill");
  for (int round = 0; round < 4; ++round) {
    checked([&](Masks& masks) { return masks.any(3, left_out); });
  }
}

/// The tensor with another element at that place.
inline Tensor with_number(const Tensor& tensor, std::size_t at, float number) {
  std::vector<double> copy = numbers(tensor);
  copy[at] = static_cast<double>(number);
  return doubles(tensor.shape(), std::move(copy)).converted(tensor.dtype());
}

}  // namespace attn::testing
