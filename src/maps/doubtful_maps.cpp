#include "maps/doubtful_maps.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include "plot/numbers/value_format.hpp"
#include "result/tensor_names.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Warning that names the reading of the axes before queries and keys, where they may be others.
std::optional<std::string> guessed_axes(const AttentionMap& map, const MapRequest& request) {
  if (!request.axes.empty() || request.changes_shape()) return std::nullopt;
  if (map.layers_of_axis) {
    return translated(
        "a tensor of five axes is taken as [layers,samples,heads,queries,keys]: say with "
        "MapRequest::axes if they are others");
  }
  const Shape& shape = map.numbers.shape();
  const bool several = shape.size() > 2 && shape[0] > 1;
  if (!several || map.labels.query.size() > 1) return std::nullopt;
  if (shape.size() == 3) {
    return translated(
        "a tensor of three axes is taken as samples of one head each, [samples,queries,keys]: say "
        "with MapRequest::axes head that they are heads");
  }
  if (map.layer) return std::nullopt;
  return translated(
      "a tensor of four axes is taken as [samples,heads,queries,keys]: say with MapRequest::axes "
      "layer,head that the first are layers");
}

// Whether the numbers are at least 0 and sum to 1 along the axis, everywhere or, as rows without
// any key, to 0.
bool sums_to_one(std::span<const double> numbers, const Shape& shape, std::size_t axis) {
  constexpr double most_rounding = 0.01;
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= shape[i];
  const std::size_t count = shape[axis], outer = numbers.size() / count / inner;
  bool any = false;
  for (std::size_t a = 0; a < outer; ++a) {
    for (std::size_t b = 0; b < inner; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const double number = numbers[(a * count + i) * inner + b];
        if (!(number >= 0)) return false;
        sum += number;
      }
      if (sum != 0 && !(std::abs(sum - 1) <= most_rounding)) return false;
      any = any || sum != 0;
    }
  }
  return any;
}

}  // namespace

std::optional<std::string> unlike_weights(const Tensor& numbers, bool any_numbers) {
  if (!numbers || numbers.rank() < 2 || numbers.size() == 0 || has_rows_of_weights(numbers))
    return std::nullopt;
  const Shape& shape = numbers.shape();
  const Tensor doubles = numbers.converted(DType::float64);
  const auto values = doubles.values<double>();
  // An axis of one number each sums to 1 only by chance.
  for (std::size_t axis = shape.size() - 1; axis-- > 0;) {
    if (shape[axis] < 2 || !sums_to_one(values, shape, axis)) continue;
    if (axis + 2 == shape.size()) {
      return translated(
          "the columns sum to 1, not the rows: MapRequest::axes with key before query turns them");
    }
    return translated(
        "the numbers sum to 1 along axis {1} of {2}, counted from 0, not along the last one: name "
        "it key with MapRequest::axes",
        axis, attn::text(shape));
  }
  if (any_numbers) return std::nullopt;
  const auto nan = static_cast<std::size_t>(
      std::ranges::count_if(values, [](double number) { return std::isnan(number); }));
  if (nan > 0) return translated("{1} of {2} numbers are NaN", nan, values.size());
  const auto negative = static_cast<std::size_t>(
      std::ranges::count_if(values, [](double number) { return number < 0; }));
  if (negative > 0) {
    return translated("{1} of {2} numbers are negative, which no weight is", negative,
                      values.size());
  }
  double low = 0, high = 0;
  for (std::size_t first = 0; first < values.size(); first += shape.back()) {
    double sum = 0;
    for (const double number : values.subspan(first, shape.back())) sum += number;
    low = first == 0 ? sum : std::min(low, sum);
    high = first == 0 ? sum : std::max(high, sum);
  }
  return translated("the rows sum to {1} … {2}, those of weights to 1", plot::short_number(low),
                    plot::short_number(high));
}

std::vector<std::string> doubts_of(const AttentionMap& map, const MapRequest& request,
                                   bool any_numbers) {
  std::vector<std::string> doubts;
  if (map.of_result || !map.numbers || !map.is_map()) return doubts;
  if (auto axes = guessed_axes(map, request)) doubts.push_back(std::move(*axes));
  // Numbers that are weights by their rows, not by name, were looked at when they were found.
  const bool known = map.holds_weights() && meaning_of(map.tensor) != TensorMeaning::weights;
  if (known) return doubts;
  if (auto numbers = unlike_weights(map.numbers, any_numbers))
    doubts.push_back(translated("{1}: {2}", map.tensor, *numbers));
  return doubts;
}

}  // namespace attn
