#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "attention/geometry.hpp"
#include "attention/kernel_attention.hpp"
#include "attention/linear.hpp"
#include "attention/paths.hpp"
#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "support/overloaded.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Whether a factor is a normal number of T with room for its product with log₂ e.
template <class T>
bool normal(double x) {
  return x == 0 || (std::abs(x) < std::numeric_limits<T>::max() / 2 &&
                    std::abs(x) > std::numeric_limits<T>::min());
}

// k Wᵀ, with which qᵀ W k is a product of queries and keys. Rows of all heads are as wide as W,
// whether heads are apart or side by side. Absent if they are not finite or not precise enough.
Tensor projected_keys(const Tensor& key, const Tensor& W, const std::function<double()>& steepness,
                      DType dtype, std::size_t threads) {
  const std::size_t width = W.shape()[1];
  Shape shape = key.shape();
  shape.back() = shape.back() / width * W.shape()[0];
  bool precise = true;
  const Tensor rows = projected_rows(key, W, steepness, dtype, threads, precise);
  // Projections of finite keys may leave the range.
  return precise && all_finite(rows) ? rows.reshaped(std::move(shape)) : Tensor();
}

// One zero for each row of each head, in the layout of `rows`.
Tensor zeros_like(const Tensor& rows, std::size_t heads) {
  Shape shape = rows.shape();
  shape.back() = rows.rank() == 4 ? 1 : heads;
  std::vector<float> numbers(element_count(shape));
  return {std::move(shape), std::move(numbers)};
}

// One attention by the kernel of its score; absent where the reference has to compute it.
class FastScore {
 public:
  // `exact`: in double precision only.
  FastScore(const AttentionRequest& request, const Geometry& geometry,
            const KeyIntervals& intervals, const Progress& progress, bool exact)
      : request_(request),
        progress_(progress),
        exact_(exact),
        scale_(scale_of(request, geometry)),
        geometry_(geometry),
        intervals_(intervals),
        preparation_(request, geometry, intervals.visibility().places()),
        own_(request, geometry) {}

  std::optional<AttentionResult> operator()(const GivenScores&) const { return std::nullopt; }
  std::optional<AttentionResult> operator()(const DotProduct& score) const {
    return prepared_products(score);
  }
  std::optional<AttentionResult> operator()(const ScaledDotProduct& score) const {
    return prepared_products(score);
  }

  std::optional<AttentionResult> operator()(const General& score) const {
    return products(&score, [&](DType dtype) -> std::optional<Sequences> {
      // A score changes by at most the query's length per unit of length of the projected key.
      const auto steepness = [&] {
        return std::abs(scale_) * longest_row(score.query, score.W.shape()[0], request_.threads);
      };
      const auto projected = [&](const Tensor& key) {
        return projected_keys(key, score.W, steepness, dtype, request_.threads);
      };
      Sequences sequences = score;
      sequences.value = score.value_or_key();
      sequences.key = projected(score.key_or_query());
      if (score.past_key) sequences.past_key = projected(score.past_key);
      const bool fit = sequences.key && (sequences.past_key || !score.past_key);
      return fit ? std::optional(sequences) : std::nullopt;
    });
  }

  std::optional<AttentionResult> operator()(const Additive& score) const {
    if (is_half(request_.dtype)) return std::nullopt;
    if (request_.dtype == DType::float64) return added<double, double>(score);
    if (!exact_ && own_.fit_single()) {
      if (auto single = added<float, float>(score)) return single;
    }
    return added<double, float>(score);
  }

 private:
  std::optional<AttentionResult> prepared_products(const Sequences& sequences) const {
    return products(nullptr, [&](DType dtype) {
      return std::optional<Sequences>(preparation_ ? preparation_.prepared(sequences, dtype)
                                                   : sequences);
    });
  }

  // Single precision within its limits, else double precision. `make` prepares the sequences for
  // one of them; absent if it cannot. Expressions compare the rows of `compared`, or of these.
  template <class MakeSequences>
  std::optional<AttentionResult> products(const Sequences* compared,
                                          const MakeSequences& make) const {
    if (is_half(request_.dtype)) return computed<float, float>(make(DType::float32), compared);
    if (request_.dtype == DType::float64) {
      return computed<double, double>(make(DType::float64), compared);
    }
    if (!exact_ && own_.fit_single()) {
      if (auto single = computed<float, float>(make(DType::float32), compared)) return single;
    }
    return computed<double, float>(make(DType::float64), compared);
  }

  template <class T, class R>
  std::optional<AttentionResult> computed(const std::optional<Sequences>& sequences,
                                          const Sequences* compared) const {
    if (!sequences) return std::nullopt;
    const ComparedRows rows =
        own_.reads_rows() ? ComparedRows(compared != nullptr ? *compared : *sequences, geometry_)
                          : ComparedRows();
    return kernel_attention<T, R>(request_, *sequences, scale_, geometry_, intervals_,
                                  {nullptr, own(), &rows}, progress_);
  }

  const OwnExpressions* own() const { return own_.score || own_.weight ? &own_ : nullptr; }

  // Scores from AdditiveScores, added to products of queries and keys of one zero each.
  template <class T, class R>
  std::optional<AttentionResult> added(const Additive& score) const {
    if (!additive_scores_fit<T>(score, scale_)) return std::nullopt;
    // A softcap follows an expression of scores.
    AttentionRequest uncapped;
    const AttentionRequest* request = &request_;
    if (own_.score) {
      uncapped = request_;
      uncapped.softcap.reset();
      request = &uncapped;
    }
    const AdditiveScores<T> scores(score, *request, geometry_);
    if (!scores.precise()) return std::nullopt;
    Sequences sequences = score;
    sequences.value = score.value_or_key();
    sequences.query = zeros_like(score.query, geometry_.heads);
    sequences.key = zeros_like(score.key_or_query(), geometry_.kv_heads);
    if (score.past_key) sequences.past_key = zeros_like(score.past_key, geometry_.kv_heads);
    AttentionOptions options = request_;
    if (!own_.score) options.softcap.reset();
    Geometry geometry = geometry_;
    geometry.query_width = geometry.key_width = 1;
    return kernel_attention<T, R>(options, sequences, 1, geometry, intervals_, {&scores, own()},
                                  progress_);
  }

  const AttentionRequest& request_;
  const Progress& progress_;
  bool exact_;
  double scale_;
  const Geometry& geometry_;
  const KeyIntervals& intervals_;
  HeadPreparation preparation_;
  OwnExpressions own_;
};

// Whether the kernels offer all options: no stages, dropout or finite fill.
bool supported(const AttentionOptions& options) {
  const auto holds = [&](double x) {
    return options.dtype == DType::float64 ? normal<double>(x) : normal<float>(x);
  };
  // Bins of rounded weights are left to the reference.
  if (is_half(options.dtype) && options.pool) return false;
  if (options.softcap_after_bias) return false;
  if (options.weight_expression && is_half(options.dtype)) return false;
  return !options.stages && !options.dropout && !options.mask.fill &&
         holds(options.scale.value_or(1)) && holds(options.softcap.value_or(0));
}

double multiply_adds(const Geometry& geometry) {
  const double pairs = static_cast<double>(geometry.batch * geometry.heads) *
                       static_cast<double>(geometry.queries) * static_cast<double>(geometry.keys);
  return pairs * static_cast<double>(geometry.query_width + geometry.value_width);
}

std::optional<AttentionResult> fast_result(const AttentionRequest& request,
                                           const Geometry& geometry, const Visibility& visibility,
                                           const Progress& progress, bool exact) {
  if (geometry.keys > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  if (!supported(request)) return std::nullopt;
  // Few cells are not worth the search for intervals of `where`.
  const KeyIntervals intervals =
      exact ? KeyIntervals(visibility) : KeyIntervals(visibility, geometry, request.threads);
  return std::visit(FastScore(request, geometry, intervals, progress, exact), request.score);
}

}  // namespace

bool fast_path_pays(const Geometry& geometry) {
  return multiply_adds(geometry) >= 1 << 22U;
}

bool exact_path_pays(const AttentionRequest& request, const Geometry& geometry) {
  return request.dtype == DType::float32 && multiply_adds(geometry) >= 1 << 14U;
}

std::optional<AttentionResult> fast_attention(const AttentionRequest& request,
                                              const Geometry& geometry,
                                              const Visibility& visibility,
                                              const Progress& progress) {
  return fast_result(request, geometry, visibility, progress, false);
}

std::optional<AttentionResult> exact_fast_attention(const AttentionRequest& request,
                                                    const Geometry& geometry,
                                                    const Visibility& visibility,
                                                    const Progress& progress) {
  return fast_result(request, geometry, visibility, progress, true);
}

namespace {

// Rounds all tensors that are compared and weighted to a 16-bit type.
void round_inputs(Score& score, DType dtype) {
  std::visit(Overloaded{[&](GivenScores& given) {
                          given.scores = given.scores.converted(dtype);
                          given.value = given.value.converted(dtype);
                        },
                        [&](Sequences& sequences) {
                          for (Tensor* tensor : {&sequences.query, &sequences.key, &sequences.value,
                                                 &sequences.past_key, &sequences.past_value}) {
                            *tensor = tensor->converted(dtype);
                          }
                        }},
             score);
}

// Multiplies the output by the sigmoid of the gate.
void multiply_by_gate(AttentionResult& result, const AttentionOptions& options,
                      const Geometry& geometry) {
  if (!options.gate || !result.output) return;
  // A gate of another type is not rounded to the type of the outputs.
  const DType stored = result.output.dtype();
  const DType type = stored == options.gate.dtype() && !is_half(stored) ? stored : DType::float64;
  const Tensor gated = mapped(
      options.threads, [](double y, double gate) { return y / (1 + std::exp(-gate)); },
      result.output.converted(type), options.gate.converted(type));
  result.output = gated.reshaped(geometry.output_shape()).converted(stored);
}

// Replaces queries and new keys by those that are compared, and forgets what made these.
void prepare_heads(AttentionRequest& request, const Geometry& geometry) {
  const HeadPreparation preparation(request, geometry, QueryPlaces(request.mask, geometry));
  if (!preparation) return;
  Sequences& sequences = *sequences_of(request.score);
  sequences = preparation.prepared(sequences, DType::float64);
  request.rotary.reset();
  request.query_norm.reset();
  request.key_norm.reset();
  if (is_half(request.dtype)) round_inputs(request.score, request.dtype);
}

// By the kernels, where they pay; in single precision if `single` or if the attention is large.
std::optional<AttentionResult> kernel_result(const AttentionRequest& request,
                                             const Geometry& geometry, const Visibility& visibility,
                                             const Progress& progress, bool single) {
  const bool large = fast_path_pays(geometry);
  if (!large && !exact_path_pays(request, geometry)) return std::nullopt;
  auto result = large || single ? fast_attention(request, geometry, visibility, progress)
                                : exact_fast_attention(request, geometry, visibility, progress);
  if (result) visibility.check_where();
  return result;
}

AttentionResult attend_by(const AttentionRequest& given, const Progress& progress, bool single) {
  AttentionRequest request = given;
  request.weights = request.weights && !request.pool;
  const Geometry geometry = check_geometry(request);
  check_options(request, geometry);
  const bool compares = compares_rows(request.mask, geometry);
  if (is_half(request.dtype)) round_inputs(request.score, request.dtype);
  // Kernels of single precision include the preparation of heads. Those of 16-bit types take the
  // reference's, rounded, and a mask compares heads that are prepared.
  const bool prepared_first = is_half(request.dtype) || compares;
  if (prepared_first) prepare_heads(request, geometry);
  const Sequences compared = compares ? *sequences_of(request.score) : Sequences();
  const Visibility visibility(request.mask, geometry, compared);
  AttentionResult result;
  if (auto computed = kernel_result(request, geometry, visibility, progress, single)) {
    result = *std::move(computed);
  } else {
    if (!prepared_first) prepare_heads(request, geometry);
    result = reference_attention(request, geometry, visibility, progress);
  }
  if (request.pool) result.pooled_from = {geometry.queries, geometry.keys};
  result.compared = compared;
  multiply_by_gate(result, request, geometry);
  return result;
}

}  // namespace

AttentionResult attend(const AttentionRequest& request, const Progress& progress) {
  return attend_by(request, progress, false);
}

AttentionResult attend_in_single(const AttentionRequest& request, const Progress& progress) {
  return attend_by(request, progress, true);
}

AttentionResult attend(const Score& score, const AttentionOptions& options) {
  return attend(AttentionRequest{options, score});
}

AttentionResult attend(const Sequences& sequences, const AttentionOptions& options) {
  return attend(AttentionRequest{options, ScaledDotProduct{sequences}});
}

namespace {

// Rows of [1,L,D] as [1,count,D], shared.
Tensor rows_between(const Tensor& x, std::size_t first, std::size_t end) {
  const std::size_t width = x.shape()[2];
  return rows_of(x.reshaped({x.shape()[1], width}), first, end - first)
      .reshaped({1, end - first, width});
}

// The first rows of [1,L,G·d] as a past [1,G,count,d].
Tensor past_of(const Tensor& x, std::size_t count, std::size_t heads) {
  const std::size_t width = x.shape()[2] / heads;
  return permuted(rows_between(x, 0, count).reshaped({1, count, heads, width}), {0, 2, 1, 3});
}

}  // namespace

Tensor attend_by_queries(const AttentionRequest& request, std::size_t queries_at_a_time,
                         const TakeRows& take, const Progress& progress) {
  const Geometry geometry = check_geometry(request);
  AttentionRequest part = request;
  part.weights = true;
  part.rotary.reset();
  part.query_norm.reset();
  part.key_norm.reset();
  ScaledDotProduct all = std::get<ScaledDotProduct>(request.score);
  const HeadPreparation preparation(request, geometry, QueryPlaces(request.mask, geometry));
  if (preparation) static_cast<Sequences&>(all) = preparation.prepared(all, DType::float64);
  const std::size_t length = geometry.queries, groups = geometry.kv_heads;
  std::vector<Tensor> outputs;
  for (std::size_t first = 0; first < length; first += queries_at_a_time) {
    const std::size_t end = std::min(length, first + queries_at_a_time);
    // Keys before the block become a past, so that its queries have their own positions.
    ScaledDotProduct& score = part.score.emplace<ScaledDotProduct>(all);
    score.query = rows_between(all.query, first, end);
    score.key = rows_between(all.key, first, length);
    score.value = rows_between(all.value, first, length);
    if (first > 0) {
      score.past_key = past_of(all.key, first, groups);
      score.past_value = past_of(all.value, first, groups);
    }
    if (request.gate) part.gate = rows_between(request.gate, first, end);
    const AttentionResult result = attend(part, progress);
    take(first, result.weights);
    outputs.push_back(result.output);
  }
  return concatenated(outputs, 1);
}

}  // namespace attn
