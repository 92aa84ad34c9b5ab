#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "attn/compare.hpp"

#include "compare/compared_tensors.hpp"
#include "result/tensor_names.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using Outcome = TensorComparison::Outcome;

TensorComparison::Number number_at(const Tensor& tensor, std::size_t element) {
  return with_elements(tensor, [element]<class T>(std::span<const T> values) {
    using Number = std::conditional_t<std::is_same_v<T, std::uint8_t>, std::int64_t, T>;
    return TensorComparison::Number(Number{values[element]});
  });
}

double ratio(long double a, long double b) {
  if (a == 0) return 0;
  return static_cast<double>(a / b);  // infinite for b = 0
}

// `left_out` of the elements are zeros in both and do not count.
TensorComparison::Spread spread_of(const Tensor& a, const Tensor& b,
                                   const ElementDifferences& found, std::size_t left_out) {
  TensorComparison::Spread spread;
  if (found.absolute.error == 0) return spread;
  spread.mean = ratio(found.sum, static_cast<long double>(a.size() - left_out));
  spread.relative_norm = ratio(std::sqrt(found.squares), std::sqrt(found.squares_of_b));
  const std::vector<double> quantiles = error_quantiles(a, b, {0.5, 0.9, 0.99}, left_out);
  spread.median = quantiles[0];
  spread.percent90 = quantiles[1];
  spread.percent99 = quantiles[2];
  return spread;
}

bool is_exact(const Tensor& tensor) {
  return tensor.dtype() == DType::int64 || tensor.dtype() == DType::boolean;
}

Tolerances allowed_by(const CompareRequest& request, bool exact) {
  return {request.rtol.value_or(exact ? 0 : CompareRequest::default_rtol),
          request.atol.value_or(exact ? 0 : CompareRequest::default_atol)};
}

// The type whose rounding the difference may come from: the one with the larger tolerances of the
// two files, if all is within them and none are given but those of another type.
std::string agreeing_type(const Tensor& a, const Tensor& b, const CompareRequest& request,
                          const TensorComparison& comparison) {
  const bool of_type = std::ranges::any_of(tolerances_of_types(), [&](const auto& row) {
    return request.rtol == row.value.rtol && request.atol == row.value.atol;
  });
  if ((request.rtol || request.atol) && !of_type) return "";
  for (const auto& [type, allowed] : tolerances_of_types()) {
    if (type != comparison.a.type && type != comparison.b.type) continue;
    const bool would_do = element_differences(a, b, allowed, request.threads).beyond == 0;
    return would_do ? std::string(type) : "";
  }
  return "";
}

}  // namespace

std::span<const Named<Tolerances>> tolerances_of_types() noexcept {
  constexpr static Tolerances bfloat16{1.6e-2, 1e-5}, float16{1e-3, 1e-5}, float32{1.3e-6, 1e-5},
      float64{1e-7, 1e-7};
  static constexpr Named<Tolerances> types[]{
      {"bf16", bfloat16},     {"f16", float16},     {"f32", float32},     {"f64", float64},
      {"bfloat16", bfloat16}, {"float16", float16}, {"float32", float32}, {"float64", float64}};
  return types;
}

std::optional<Tolerances> tolerances_of(std::string_view type) noexcept {
  for (const auto& [name, allowed] : tolerances_of_types()) {
    if (name == type) return allowed;
  }
  return {};
}

void compare_elements(const Tensor& a, const Tensor& b, const CompareRequest& request,
                      std::size_t left_out, TensorComparison& comparison) {
  const bool exact = is_exact(a) && is_exact(b);
  comparison.exact = exact && !request.rtol && !request.atol;
  const ElementDifferences found =
      element_differences(a, b, allowed_by(request, exact), request.threads);
  const auto largest = [&](const ElementDifferences::Largest& of) {
    TensorComparison::Largest result{of.error, {}};
    if (of.error > 0) result.index = index_of(of.index, a.shape());
    return result;
  };
  comparison.absolute = largest(found.absolute);
  comparison.relative = largest(found.relative);
  comparison.spread = spread_of(a, b, found, left_out);
  comparison.compared = a.shape();
  comparison.elements = a.size() - left_out;
  comparison.beyond = found.beyond;
  comparison.outcome = found.beyond == 0 ? Outcome::within : Outcome::beyond;
  if (found.first_beyond) {
    const std::size_t at = *found.first_beyond;
    comparison.first_beyond = {index_of(at, a.shape()), number_at(a, at), number_at(b, at)};
  }
}

void explain_difference(const Tensor& a, const Tensor& b, const CompareRequest& request,
                        TensorComparison& comparison) {
  const Tolerances allowed = allowed_by(request, is_exact(a) && is_exact(b));
  comparison.agreeing_order = agreeing_order(a, b, allowed);
  const bool sums = is_sums(comparison.name);
  if (!sums && !is_map(comparison.name)) comparison.agrees_joined = agree_joined(a, b, allowed);
  if (!is_map(comparison.name)) {
    comparison.layout_of_a = agreeing_layout(a, b, sums, allowed);
    comparison.layout_of_b = agreeing_layout(b, a, sums, allowed);
  }
  if (comparison.outcome != Outcome::beyond) return;
  if (is_map(comparison.name)) comparison.aligned_otherwise = aligned_otherwise(a, b);
  comparison.agreeing_factor = agreeing_factor(a, b, allowed);
  comparison.agreeing_type = agreeing_type(a, b, request, comparison);
  // All differences are, so the first one is too.
  const auto is_nan = [](const TensorComparison::Number& number) {
    return std::visit([](auto value) { return value != value; }, number);
  };
  if (is_nan(comparison.first_beyond->a) || is_nan(comparison.first_beyond->b))
    comparison.nan_for_zero = are_nan_for_zero(a, b, allowed);
  if (!comparison.agreeing_factor && !sums)
    comparison.rows_are_multiples = are_multiples_by_row(a, b, allowed);
  if (!comparison.agreeing_factor && sums) comparison.factor_of_lone_key = factor_of_lone_key(a, b);
  if (comparison.beyond == 1) return;  // whose place is told
  comparison.confined = confined_differences(a, b, allowed);
  comparison.moved = moved_places(a, b, allowed);
  const std::vector<std::string_view> axes =
      axis_names(comparison.name, a.rank(), request.maps.axes);
  const auto set_name = [&](auto& of) {
    if (of.number < axes.size()) of.axis = axes[of.number];
  };
  for (TensorComparison::Confined& one : comparison.confined) set_name(one);
  if (comparison.moved) set_name(*comparison.moved);
}

}  // namespace attn
