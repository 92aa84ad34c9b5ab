#include "maps/attention_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "attn/error.hpp"

#include "maps/map_selection.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/errors.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

void check_index(std::size_t index, std::size_t count, const CountedNoun& what, const char* field) {
  if (index < count) return;
  const std::string noun = translated(what.noun);
  throw input_error(translated("there is no {1} {2}: the weights have {3}", noun, index,
                               count == 1 ? translated("only one {1}", noun)
                                          : translated_count(count, what.one, what.many)),
                    field, count == 1 ? translated("leave it out, or give 0") : give_below(count));
}

}  // namespace

Maps::Maps(const Tensor& numbers, bool heads_only) : numbers_(numbers) {
  const Shape& shape = numbers.shape();
  const std::size_t rank = shape.size();
  if (rank < 2 || rank > 4) {
    throw input_error(
        translated("the weights have the shape {1}", text(shape)), "/weights",
        rank == 1  ? translated("take it as one row with MapRequest::reshape 1,{1}", numbers.size())
        : rank > 4 ? translated("say with MapRequest::axes what the axes before queries "
                                "and keys are, such as layer,batch,head")
                   : translated("give them 2 to 4 axes: [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]"));
  }
  if (numbers.size() == 0) {
    throw input_error(translated("the weights {1} have an axis of size 0", text(shape)), "/weights",
                      translated("give every axis at least one element"));
  }
  keys_ = shape[rank - 1];
  queries_ = shape[rank - 2];
  if (rank == 4) {
    samples_ = shape[0];
    heads_ = shape[1];
  } else if (rank == 3) {
    (heads_only ? heads_ : samples_) = shape[0];
  }
}

Tensor Maps::matrix(std::size_t sample, std::size_t head) const {
  const std::size_t at = (sample * heads_ + (heads_ == 1 ? 0 : head)) * queries_ * keys_;
  return part_of(numbers_, at, {queries_, keys_});
}

Tensor Maps::all() const {
  return numbers_.reshaped({samples_, heads_, queries_, keys_});
}

std::string place_of(const AttentionMap& map) {
  return map.place.empty() ? AttentionName::of_tensor(map.tensor).title() : map.place;
}

std::size_t AttentionMap::first_number() const {
  const bool of_model = layer || name.layer() || AttentionName::of_tensor(tensor).layer() ||
                        !axes_of(tensor).first.empty();
  return of_model ? 0 : 1;
}

void check_place(std::size_t sample, std::size_t samples, std::size_t head, std::size_t heads) {
  check_index(sample, samples, counted_samples, "RunOptions::sample");
  check_index(head, heads, counted_heads, "RunOptions::head");
}

void check_is_map(const AttentionMap& map) {
  if (map.is_map()) return;
  throw input_error(
      translated("\"{1}\" is not a map of queries and keys", map.tensor), "MapRequest::name",
      translated("draw it as a heatmap, or say with MapRequest::axes that it is a map"));
}

void check_allowed(const AttentionMap& map) {
  Shape once_for_heads = map.numbers.shape();
  if (once_for_heads.size() == 4) once_for_heads[1] = 1;
  if (map.allowed.shape() != map.numbers.shape() && map.allowed.shape() != once_for_heads) {
    throw input_error(translated("allowed {1} does not have the shape of the weights {2}",
                                 text(map.allowed.shape()), text(map.numbers.shape())),
                      "/allowed", translated("give both the same shape"));
  }
}

Error placed(const Error& error, const AttentionMap& map) {
  return names_option(error.where()) ? error : error.inside(map.file);
}

Tensor once_for_heads(const Tensor& allowed) {
  if (!allowed || allowed.rank() != 4 || allowed.shape()[1] == 1) return allowed;
  const std::size_t batch = allowed.shape()[0], heads = allowed.shape()[1];
  const std::size_t bytes = allowed.shape()[2] * allowed.shape()[3] * size_of(allowed.dtype());
  const auto* const all = static_cast<const std::byte*>(allowed.bytes());
  for (std::size_t b = 0; b < batch; ++b) {
    const std::byte* const first = all + b * heads * bytes;
    for (std::size_t h = 1; h < heads; ++h) {
      if (std::memcmp(first, first + h * bytes, bytes) != 0) return allowed;
    }
  }
  return picked(allowed, std::array{std::size_t{0}}, 1);
}

Tensor for_each_head(const Tensor& allowed, std::size_t heads) {
  if (!allowed || allowed.rank() != 4 || allowed.shape()[1] != 1 || heads == 1) return allowed;
  return picked(allowed, std::vector<std::size_t>(heads), 1);
}

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
