#include "attention/projected_attention.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "attn/error.hpp"

#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

void check_states(const Tensor& states, const char* name) {
  const std::string where = std::string("/") + name;
  if (!states)
    throw input_error(translated("there is no {1}", name), where,
                      translated("give hidden states [L,D] or [B,L,D]"));
  if (states.rank() != 2 && states.rank() != 3) {
    throw input_error(
        translated("{1} {2} is not [L,D] or [B,L,D]", name, text(states.shape())), where,
        translated("give hidden states without a head axis: the projections make the heads"));
  }
}

void check_heads(std::size_t width, std::size_t heads, const std::string& weight,
                 const char* option) {
  if (width % heads == 0) return;
  throw input_error(
      translated("{1} has {2} rows, which is not divisible by {3} heads", weight, width, heads),
      option, translated("choose a number of heads that divides the rows"));
}

void check_same_width(std::size_t query, std::size_t key, const std::string& prefix) {
  if (query == key) return;
  throw input_error(
      translated("{1}W_q.weight makes heads of width {2}, {1}W_k.weight of width {3}", prefix,
                 query, key),
      "/parameters/" + prefix + "W_k.weight",
      translated(
          "give both the same number of rows per head; fewer key heads are set by \"kv_heads\""));
}

// A past is projected already: as wide as the projected rows it continues, or with an axis of
// heads.
void check_past(const Tensor& past, const char* name, const Shape& rows, std::size_t heads) {
  if (!past) return;
  const std::size_t width = rows.back() / heads;
  const Shape& shape = past.shape();
  const std::size_t rank = shape.size();
  const bool side_by_side = rank == rows.size() && rank >= 2 && shape[rank - 1] == heads * width;
  const bool apart =
      rank == rows.size() + 1 && shape[rank - 3] == heads && shape[rank - 1] == width;
  if ((side_by_side || apart) && past.size() > 0) return;
  const std::string batch = rows.size() == 3 ? "B," : "";
  const std::string h = std::to_string(heads), w = std::to_string(width);
  throw input_error(
      translated("{1} {2} does not continue the projected rows {3}", name, text(shape), text(rows)),
      std::string("/") + name,
      translated("give it the shape [{1}P,{2}] or [{1}{3},P,{4}], P rows of the past", batch,
                 heads * width, h, w));
}

// [B,G,P,d] as [B,P,G·d], so that it continues projected rows, whose heads stand side by side;
// likewise [G,P,d] as [P,G·d]. A past of as many axes as the rows stays.
Tensor heads_side_by_side(const Tensor& past, std::size_t row_axes) {
  if (!past || past.rank() == row_axes) return past;
  const Shape& shape = past.shape();
  const std::size_t width = shape.back(), length = shape[past.rank() - 2],
                    heads = shape[past.rank() - 3];
  const std::size_t batch = past.size() / (heads * length * width);
  Shape joined(shape.begin(), shape.end() - 3);
  joined.insert(joined.end(), {length, heads * width});
  return permuted(past.converted(DType::float64).reshaped({batch, heads, length, width}),
                  {0, 2, 1, 3})
      .reshaped(std::move(joined));
}

}  // namespace

Tensor heads_apart(const Tensor& past, const Shape& shape) {
  const std::size_t rank = shape.size(), width = shape.back(), length = shape[rank - 2],
                    heads = shape[rank - 3];
  const std::size_t batch = past.size() / (heads * length * width);
  return permuted(past.converted(DType::float64).reshaped({batch, length, heads, width}),
                  {0, 2, 1, 3})
      .reshaped(shape);
}

namespace {

// Keys [..,L,H·n] of H heads with the numbers [..,L,s] that all share before each one's own.
Tensor with_shared(const Tensor& keys, const Tensor& shared, std::size_t heads) {
  const std::size_t first = shared.shape().back(), own = keys.shape().back() / heads,
                    width = heads * (first + own);
  Shape shape = keys.shape();
  shape.back() = width;
  return with_floats(keys, [&]<class T>(std::span<const T> from) {
    const std::span<const T> all = shared.values<T>();
    std::vector<T> y(keys.size() / (heads * own) * width);
    auto to = y.begin();
    for (std::size_t row = 0; row < y.size() / width; ++row) {
      for (std::size_t head = 0; head < heads; ++head) {
        to = std::ranges::copy(all.subspan(row * first, first), to).out;
        to = std::ranges::copy(from.subspan((row * heads + head) * own, own), to).out;
      }
    }
    return Tensor(shape, std::move(y));
  });
}

// The attention over tensors that are projected already.
AttentionRequest projected(const AttentionOptions& options, const Sequences& states, Tensor query,
                           Tensor key, Tensor value) {
  Tensor past_key = heads_side_by_side(states.past_key, key.rank());
  Tensor past_value = heads_side_by_side(states.past_value, value.rank());
  return {options,
          ScaledDotProduct{{std::move(query), std::move(key), std::move(value), std::move(past_key),
                            std::move(past_value), states.heads, states.kv_heads}}};
}

}  // namespace

void round_to(DType dtype, AttentionResult& result) {
  for (Tensor* tensor : {&result.weights, &result.pooled, &result.dropped, &result.output,
                         &result.scores, &result.capped, &result.masked, &result.lse}) {
    *tensor = tensor->converted(dtype);
  }
}

Geometry check_projected(const ProjectedAttentionRequest& request, const std::string& prefix,
                         Shape& output) {
  const Sequences& states = request.states;
  const Tensor &key = states.key_or_query(), &value = states.value_or_key();
  check_states(states.query, "query");
  check_states(key, "key");
  check_states(value, "value");
  check_sequences_together(states);
  check_heads_options(states);
  const Projections& p = request.projections;
  const Shape q = check_linear(p.query, states.query.shape(), prefix, "W_q");
  const Shape k = check_linear(p.key, key.shape(), prefix, "W_k");
  const Shape v = check_linear(p.value, value.shape(), prefix, "W_v");
  const std::size_t heads = states.heads.value_or(1), kv_heads = states.kv_heads.value_or(heads);
  const char* kv_option = states.kv_heads ? "/kv_heads" : "/heads";
  check_heads(q.back(), heads, prefix + "W_q.weight", "/heads");
  check_heads(k.back(), kv_heads, prefix + "W_k.weight", kv_option);
  check_heads(v.back(), kv_heads, prefix + "W_v.weight", kv_option);
  check_same_width(q.back() / heads, k.back() / kv_heads, prefix);
  check_past(states.past_key, "past_key", k, kv_heads);
  check_past(states.past_value, "past_value", v, kv_heads);

  const Geometry geometry =
      check_geometry(projected(request, states, shape_only(q), shape_only(k), shape_only(v)));
  const Shape joined = geometry.output_shape();
  if (p.gate.weight) {
    if (request.gate) {
      throw input_error(
          translated("both \"gate\" and the parameter {1} are given", prefix + "W_gate.weight"),
          "/gate", translated("leave one of them out"));
    }
    const Shape gate = check_linear(p.gate, states.query.shape(), prefix, "W_gate");
    if (gate.back() != joined.back()) {
      throw input_error(translated("{1} makes gates of width {2}, the joined heads have {3}",
                                   prefix + "W_gate.weight", gate.back(), joined.back()),
                        "/parameters/" + prefix + "W_gate.weight",
                        translated("give it {1} rows", joined.back()));
    }
  }
  output = p.output.weight ? check_linear(p.output, joined, prefix, "W_o") : joined;
  check_options(request, geometry);
  return geometry;
}

AttentionWeights::AttentionWeights(const Projections& projections)
    : query(projections.query),
      key(projections.key),
      value(projections.value),
      output(projections.output),
      gate(projections.gate) {}

namespace {

// In a 16-bit type rows, weight and bias are rounded to it, and so is their sum.
Tensor apply_in_half(DType type, const StoredLinear& linear, const Tensor& rows,
                     std::size_t threads) {
  const auto rounded = [&](const Tensor& tensor) {
    return tensor.converted(type).converted(DType::float64);
  };
  return apply(Linear{rounded(linear.weight.tensor()), rounded(linear.bias)}, rounded(rows),
               threads)
      .converted(type);
}

// y for each of the Linear layers.
std::vector<Tensor> apply_in(DType precision, std::span<const StoredLinear* const> all,
                             const Tensor& rows, std::size_t threads) {
  if (!is_half(precision)) return apply(all, rows.converted(precision), threads);
  std::vector<Tensor> results;
  results.reserve(all.size());
  for (const StoredLinear* linear : all) {
    results.push_back(apply_in_half(precision, *linear, rows, threads));
  }
  return results;
}

// `epilogue` is not for 16-bit types.
Tensor apply_in(DType precision, const StoredLinear& linear, const Tensor& rows,
                std::size_t threads, const Epilogue& epilogue = {}) {
  if (is_half(precision)) return apply_in_half(precision, linear, rows, threads);
  return apply(linear, rows.converted(precision), threads, epilogue);
}

}  // namespace

void KeyValueCache::Room::append(const Tensor& added, std::size_t at) {
  if (added.shape()[0] > 1) {
    several = several ? concatenated(std::array{several, added}, 1) : added;
    return;
  }
  if (!bytes) {
    width = added.shape().back();
    dtype = added.dtype();
  }
  const std::size_t row = width * size_of(dtype), needed = at + added.size() / width;
  if (needed > rows) {
    constexpr std::size_t fewest = 64;
    rows = std::max({2 * rows, needed, fewest});
    const auto larger = new_elements<std::byte>(rows * row);
    if (at > 0) std::memcpy(larger.get(), bytes.get(), at * row);
    bytes = larger;
  }
  std::memcpy(bytes.get() + at * row, added.bytes(), added.size() * size_of(dtype));
}

Tensor KeyValueCache::Room::all(std::size_t length) const {
  if (several) return several;
  return Tensor::borrowed({1, length, width}, dtype, bytes.get(), bytes);
}

void KeyValueCache::append(const Tensor& key, const Tensor& value) {
  key_.append(key, length_);
  value_.append(value, length_);
  length_ += key.shape()[1];
}

namespace {

// Queries, keys and values of the narrow vectors that are made of the states.
std::vector<Tensor> projected_latents(const AttentionOptions& options, const Sequences& states,
                                      const AttentionWeights& weights, DType precision) {
  const LatentStates& latent = *weights.latent;
  const auto made = [&](const StoredLinear& linear, const std::optional<Norm>& norm) {
    const Tensor x = apply_in(precision, linear, states.query, options.threads);
    return norm ? apply(*norm, x, latent.eps, options.threads) : x;
  };
  const Tensor of_queries = latent.query ? made(latent.query, latent.query_norm) : states.query;
  const Tensor of_keys = made(latent.key_value, latent.key_value_norm);
  const Tensor own = apply_in(precision, weights.key, of_keys, options.threads);
  return {apply_in(precision, weights.query, of_queries, options.threads),
          with_shared(own, made(latent.shared_key, std::nullopt), states.heads.value_or(1)),
          apply_in(precision, weights.value, of_keys, options.threads)};
}

}  // namespace

AttentionRequest project(const AttentionOptions& options, const Sequences& states,
                         const AttentionWeights& weights, DType precision, KeyValueCache* cache) {
  // Products of the same states share the threads.
  std::vector<Tensor> rows;
  std::vector<const StoredLinear*> together;
  const auto finish = [&](const Tensor& of) {
    for (Tensor& one : apply_in(precision, together, of, options.threads)) {
      rows.push_back(std::move(one));
    }
    together.clear();
  };
  const bool known = cache != nullptr && cache->length() > 0 && states.key;
  if (weights.latent) {
    rows = projected_latents(options, states, weights, precision);
  } else {
    together.push_back(&weights.query);
    if (states.key) finish(states.query);
    if (!known) {
      together.push_back(&weights.key);
      if (states.value) finish(states.key_or_query());
      together.push_back(&weights.value);
      finish(states.value_or_key());
    }
  }
  const auto normed = [&](const std::optional<Norm>& norm, Tensor x) {
    return norm ? apply(*norm, x, options.eps, options.threads) : std::move(x);
  };
  rows[0] = normed(weights.query_norm, std::move(rows[0]));
  if (!known) {
    rows[1] = normed(weights.key_norm, std::move(rows[1]));
    if (weights.value_norm) {
      const Shape shape = rows[2].shape();
      const std::size_t heads = states.kv_heads.value_or(states.heads.value_or(1));
      const std::size_t width = shape.back() / heads;
      const Tensor by_head = rows[2].reshaped({rows[2].size() / width, width});
      rows[2] = normed(weights.value_norm, by_head).reshaped(shape);
    }
  }
  for (Tensor& one : rows) {
    if (!weights.clip) break;
    one = mapped(
        options.threads, [most = *weights.clip](double x) { return std::clamp(x, -most, most); },
        one);
  }
  if (cache != nullptr) {
    if (!known) cache->append(rows[1], rows[2]);
    rows.resize(1);
    rows.insert(rows.end(), {cache->key(), cache->value()});
  }
  AttentionRequest inner =
      projected(options, states, std::move(rows[0]), std::move(rows[1]), std::move(rows[2]));
  inner.dtype = precision;
  if (cache != nullptr) inner.mask.align = Alignment::lower_right;
  if (weights.gate) {
    inner.gate = apply_in(precision, weights.gate, states.query, options.threads);
  }
  return inner;
}

bool single_precision_pays(const AttentionOptions& attention, double multiply_adds) {
  constexpr double enough = 1 << 22U;
  return attention.dtype == DType::float32 && !attention.stages && !attention.dropout &&
         multiply_adds >= enough;
}

namespace {

double multiply_adds(const Linear& linear, const Tensor& states) {
  return static_cast<double>(states.size()) * static_cast<double>(linear.weight.shape()[0]);
}

// The largest factor by which cosines and sines change the length of a row.
double largest_stretch(const AttentionOptions& options, const Geometry& geometry) {
  if (!options.rotary) return 1;
  if (!options.rotary->cos) {
    if (std::holds_alternative<std::monostate>(options.rotary->scaling)) return 1;
    const HeadPreparation preparation(options, geometry, QueryPlaces(options.mask, geometry));
    return std::abs(preparation.frequencies()->amplitude);
  }
  const Tensor cos = options.rotary->cos.converted(DType::float64),
               sin = options.rotary->sin.converted(DType::float64);
  double largest = 1;
  for (std::size_t i = 0; i < cos.size(); ++i) {
    largest = std::max(largest, std::hypot(cos.values<double>()[i], sin.values<double>()[i]));
  }
  return largest;
}

double largest_size(const Tensor& numbers) {
  const Tensor doubles = numbers.converted(DType::float64);
  double largest = 0;
  for (const double x : doubles.values<double>()) largest = std::max(largest, std::abs(x));
  return largest;
}

// Projected queries or keys [..,heads·width], and what becomes of them before they are compared.
struct ProjectedHeads {
  const Tensor& rows;
  std::size_t width;
  const std::optional<Norm>& norm;
  double eps;
  std::size_t threads;

  // A bound of the length of a head's row, normed.
  double longest() const {
    if (!norm) return longest_row(rows, width, threads);
    const double bias = norm->bias ? largest_size(norm->bias) : 0;
    return std::sqrt(static_cast<double>(width)) * (largest_size(norm->weight) + bias);
  }

  // `slope` bounds the change of a score per unit of length of a normed row.
  Steepness steepness(double slope) const {
    if (!norm) return {rows.shape().back() / width, slope, {}};
    const std::size_t count = rows.size() / rows.shape().back();
    const std::size_t heads = rows.shape().back() / width;
    const std::span<const float> numbers = rows.values<float>();
    Steepness result{heads, 0, std::vector<double>(count)};
    const double weight = largest_size(norm->weight);
    parallel_for(count, threads, [&](std::size_t i) {
      double least = HUGE_VAL;
      for (std::size_t h = 0; h < heads; ++h) {
        least = std::min(least, divisor(numbers.subspan((i * heads + h) * width, width)));
      }
      result.rows[i] = slope * weight / least;
    });
    result.most = *std::max_element(result.rows.begin(), result.rows.end());
    return result;
  }

 private:
  // The number that the norm divides a head's row by.
  double divisor(std::span<const float> row) const {
    const auto count = static_cast<double>(row.size());
    double mean = 0, squares = 0;
    if (norm->kind == NormKind::layer) mean = std::accumulate(row.begin(), row.end(), 0.0) / count;
    for (const float x : row) squares += (x - mean) * (x - mean);
    return std::sqrt(squares / count + eps);
  }
};

// Makes projected queries and keys in float32 as precise as their scores need. False if these need
// double precision.
bool fits_single_precision(AttentionRequest& inner, const ProjectedAttentionRequest& request,
                           const Geometry& geometry) {
  Sequences& sequences = *sequences_of(inner.score);
  const std::size_t width = geometry.query_width;
  const ProjectedHeads query{sequences.query, width, inner.query_norm, inner.eps, inner.threads};
  const ProjectedHeads key{sequences.key, width, inner.key_norm, inner.eps, inner.threads};
  const double stretch = largest_stretch(inner, geometry);
  const double scale = std::abs(scale_of(inner, geometry)) * stretch * stretch;
  // Few rows are too little work for all threads: one measures queries, another keys.
  constexpr std::size_t few_numbers = std::size_t{1} << 18U;
  const std::size_t beside = sequences.query.size() <= few_numbers ? inner.threads : 1;
  double longest_key = 0, longest_query = 0;
  run_beside(
      beside, [&] { longest_query = query.longest(); }, [&] { longest_key = key.longest(); });
  if (sequences.past_key) {
    longest_key = std::max(longest_key, longest_row(sequences.past_key, width, inner.threads));
  }
  const Steepness by_queries = query.steepness(scale * longest_key),
                  by_keys = key.steepness(scale * longest_query);
  const Projections& linear = request.projections;
  const auto precise = [&](Tensor& y, const Linear& of, const Tensor& x, const Steepness& slopes) {
    return make_precise(y, of, x.converted(DType::float32), slopes, inner.threads);
  };
  bool queries = false, keys = false;
  run_beside(
      beside,
      [&] { queries = precise(sequences.query, linear.query, request.states.query, by_queries); },
      [&] {
        // After the queries, the keys need not be precise where these cannot be.
        keys = (beside != 1 || queries) &&
               precise(sequences.key, linear.key, request.states.key_or_query(), by_keys);
      });
  return queries && keys;
}

// The inner attention and the output projection with its epilogue.
AttentionResult finished(AttentionRequest inner, const AttentionWeights& weights,
                         const Progress& progress, const Epilogue& epilogue = {}) {
  AttentionResult result = attend(inner, progress);
  inner.score = {};  // so that the output may take its memory
  if (weights.output) {
    result.output = apply_in(inner.dtype, weights.output, result.output, inner.threads, epilogue);
  }
  return result;
}

}  // namespace

// Except in 16-bit types, nothing is rounded to the dtype before the last step.
AttentionResult attend_projected(const ProjectedAttentionRequest& request,
                                 const Progress& progress) {
  Shape output;
  const Geometry geometry = check_projected(request, "", output);
  const AttentionWeights weights = request.projections;
  const auto projected_in = [&](DType precision) {
    return project(request, request.states, weights, precision);
  };
  if (is_half(request.dtype)) return finished(projected_in(request.dtype), weights, progress);
  const Projections& p = request.projections;
  const double work = multiply_adds(p.query, request.states.query) +
                      multiply_adds(p.key, request.states.key_or_query()) +
                      multiply_adds(p.value, request.states.value_or_key());
  if (single_precision_pays(request, work)) {
    AttentionRequest inner = projected_in(DType::float32);
    if (fits_single_precision(inner, request, geometry)) {
      // Numbers may leave the range of single precision on their way to a result within it.
      std::atomic<bool> finite{true};
      const Epilogue check{[&](std::size_t, std::size_t count, const float* y) {
                             if (!all_finite(std::span(y, count))) finite = false;
                           },
                           {}};
      AttentionResult result = finished(std::move(inner), weights, progress, check);
      if (weights.output ? finite.load() : all_finite(result.output)) return result;
    }
  }
  AttentionResult result = finished(projected_in(DType::float64), weights, progress);
  round_to(request.dtype, result);
  return result;
}

}  // namespace attn
