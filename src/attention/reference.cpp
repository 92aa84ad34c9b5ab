#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "attention/expression.hpp"
#include "attention/head_rows.hpp"
#include "attention/matrix.hpp"
#include "attention/paths.hpp"
#include "attention/pooled_map.hpp"
#include "attention/positions.hpp"
#include "support/parallel_for.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Σ_u w_v[u] tanh(a[i,u] + b[j,u]) with a = W_q q and b = W_k k.
Matrix additive(const Matrix& a, const Matrix& b, const Matrix& w_v) {
  Matrix scores = xt::empty<double>({a.shape(0), b.shape(0)});
  for (std::size_t i = 0; i < a.shape(0); ++i) {
    row_of(scores, i) = xt::sum(row_of(w_v, 0) * xt::tanh(row_of(a, i) + b), {1});
  }
  return scores;
}

// Scores of some queries of a head with every key, before the scale: [count,Lk].
using Formula = std::function<Matrix(std::size_t batch, std::size_t head, std::size_t first,
                                     std::size_t count)>;

// A formula of queries [count,dq] and keys [Lk,dk].
template <class F>
Formula of_rows(const Sequences& sequences, const Geometry& geometry, F formula) {
  const HeadRows<double> query(sequences.query, geometry.heads);
  const HeadRows<double> key(sequences.key_or_query(), geometry.kv_heads, sequences.past_key);
  const std::size_t group = geometry.heads / geometry.kv_heads;
  return [=](std::size_t batch, std::size_t head, std::size_t first, std::size_t count) -> Matrix {
    return formula(matrix(query, batch, head, first, count), matrix(key, batch, head / group));
  };
}

Formula formula(const GivenScores& given, const Geometry&) {
  return [scores = HeadRows<double>(given.scores, 1)](std::size_t batch, std::size_t head,
                                                      std::size_t first, std::size_t count) {
    return matrix(scores, batch, head, first, count);
  };
}
Formula formula(const DotProduct& score, const Geometry& geometry) {
  return of_rows(score, geometry, times_transposed);
}
Formula formula(const ScaledDotProduct& score, const Geometry& geometry) {
  return of_rows(score, geometry, times_transposed);
}
Formula formula(const General& score, const Geometry& geometry) {
  return of_rows(score, geometry, [W = matrix(score.W)](const Matrix& q, const Matrix& k) {
    return times_transposed(q, times_transposed(k, W));
  });
}
Formula formula(const Additive& score, const Geometry& geometry) {
  return of_rows(score, geometry,
                 [W_q = matrix(score.W_q), W_k = matrix(score.W_k), w_v = matrix(score.w_v)](
                     const Matrix& q, const Matrix& k) {
                   return additive(times_transposed(q, W_q), times_transposed(k, W_k), w_v);
                 });
}

// Rounding of each step to the type of a computation. float32 and float64 round nothing before the
// result; in a 16-bit type each step's sum is one of float32 and then rounded to the type.
class Rounding {
 public:
  explicit Rounding(DType dtype) : dtype_(dtype), half_(is_half(dtype)) {}

  double operator()(double x) const {
    return half_ ? nearest_half(static_cast<double>(static_cast<float>(x)), dtype_) : x;
  }
  void operator()(Matrix& numbers) const {
    if (!half_) return;
    for (double& x : numbers) x = (*this)(x);
  }

 private:
  DType dtype_;
  bool half_;
};

// The softmax of each row and its log-sum-exp, both with the sink as one more term. A score of −inf
// weighs exactly 0; a row of nothing else is empty and has zeros.
struct Softmax {
  Matrix weights;
  Vector lse;
  std::size_t empty_rows = 0;
};

// `round` is for exponentials that are rounded after they were summed.
Softmax softmax(const Matrix& masked, double sink, const Rounding& round) {
  Softmax result{xt::empty<double>(masked.shape()), xt::empty<double>({masked.shape(0)}), 0};
  for (std::size_t i = 0; i < masked.shape(0); ++i) {
    const auto scores = row_of(masked, i);
    const auto hidden = xt::equal(scores, -infinity);
    // 1. The largest score, so that no exponential overflows. NaN enters through the sum.
    const double largest = std::max(xt::amax(scores)(), sink);
    // 2. Exponentials and their sum, which is 0 only in empty rows without a sink.
    Vector exponentials = xt::where(hidden, 0.0, xt::exp(scores - largest));
    const double sum = xt::sum(exponentials)() + (sink == -infinity ? 0 : std::exp(sink - largest));
    // 3. Weights. The zeros stay zeros even if NaN makes the others NaN.
    for (double& exponential : exponentials) exponential = round(exponential);
    row_of(result.weights, i) = xt::where(hidden, 0.0, exponentials / sum);
    result.lse(i) = largest + std::log(sum);
    if (xt::all(hidden)) ++result.empty_rows;
  }
  return result;
}

// Kept weights are divided by 1 − p, which preserves expected values. With p = 1 all are 0.
void drop(Matrix& weights, std::span<const std::uint8_t> kept, double p) {
  const double factor = p < 1 ? 1 / (1 - p) : 0;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    weights.data()[i] = kept[i] ? weights.data()[i] * factor : 0;
  }
}

// Σ_j weights[i,j] value[j] over the keys that are not hidden: [Lq,Dv]. Weights below the normal
// numbers of the result's type are rounded to it: one that becomes 0 makes NaN of an infinite value
// (IEEE 754), as with weights that are rounded first.
Matrix weighted_sum(const Matrix& weights, const Matrix& masked, const Matrix& value, DType dtype) {
  const double normal = dtype == DType::float32 ? std::numeric_limits<float>::min() : 0;
  const std::size_t width = value.shape(1);
  Matrix output = xt::zeros<double>({weights.shape(0), width});
  for (std::size_t i = 0; i < weights.shape(0); ++i) {
    double* sum = output.data() + i * width;
    for (std::size_t j = 0; j < weights.shape(1); ++j) {
      if (masked(i, j) == -infinity) continue;
      const double exact = weights(i, j);
      const double weight = std::abs(exact) < normal ? static_cast<float>(exact) : exact;
      const double* row = value.data() + j * width;
      for (std::size_t d = 0; d < width; ++d) sum[d] += weight * row[d];
    }
  }
  return output;
}

// A result under construction: collects matrices [rows,columns], rounded to its dtype.
class Collector {
 public:
  Collector(bool wanted, Shape shape, DType dtype)
      : wanted_(wanted), shape_(std::move(shape)), dtype_(dtype) {
    if (!wanted_) return;
    if (dtype_ == DType::float64) {
      doubles_.resize(element_count(shape_));
    } else {
      floats_.resize(element_count(shape_));
    }
  }

  // Row i of the matrix goes to `offset + i * stride`.
  void put(const double* matrix, std::size_t rows, std::size_t columns, std::size_t offset,
           std::size_t stride) {
    if (!wanted_) return;
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < columns; ++j) {
        const double number = matrix[i * columns + j];
        if (dtype_ == DType::float64) {
          doubles_[offset + i * stride + j] = number;
        } else {
          floats_[offset + i * stride + j] = static_cast<float>(number);
        }
      }
    }
  }

  Tensor finish() {
    if (!wanted_) return {};
    if (dtype_ == DType::float64) return {std::move(shape_), std::move(doubles_)};
    return Tensor(std::move(shape_), std::move(floats_)).converted(dtype_);
  }

 private:
  bool wanted_;
  Shape shape_;
  DType dtype_;
  std::vector<double> doubles_;
  std::vector<float> floats_;
};

// The results of all blocks.
struct Collected {
  Collector scores, capped, masked, lse, weights, dropped, output;
  std::vector<std::uint8_t> allowed;  // of all cells; empty where it is not wanted

  Collected(const AttentionRequest& request, const Geometry& geometry, bool drops)
      : scores(request.stages, geometry.weights_shape(), step_dtype(request)),
        capped(request.stages, geometry.weights_shape(), step_dtype(request)),
        masked(request.stages, geometry.weights_shape(), weights_dtype(request)),
        lse(request.stages, geometry.row_shape(), widened(request.dtype)),
        weights(request.weights, geometry.weights_shape(), weights_dtype(request)),
        dropped(drops, geometry.weights_shape(), weights_dtype(request)),
        output(static_cast<bool>(value_of(request.score)), geometry.output_shape(), request.dtype) {
    if (!request.weights || !request.mask.present()) return;
    allowed.resize(element_count(geometry.weights_shape()));
  }

  AttentionResult finish() {
    AttentionResult result;
    result.scores = scores.finish();
    result.capped = capped.finish();
    result.masked = masked.finish();
    result.lse = lse.finish();
    result.weights = weights.finish();
    result.dropped = dropped.finish();
    result.output = output.finish();
    if (!allowed.empty()) result.allowed = Tensor(result.weights.shape(), std::move(allowed));
    return result;
  }
};

// The rows that expressions of scores and weights compare.
ComparedRows compared_rows(const AttentionRequest& request, const Geometry& geometry) {
  const Sequences* const sequences = sequences_of(request.score);
  const bool compares = request.score_expression || request.weight_expression;
  return sequences && compares ? ComparedRows(*sequences, geometry) : ComparedRows();
}

HeadRows<double> value_rows(const AttentionRequest& request, const Geometry& geometry) {
  const Sequences* const sequences = sequences_of(request.score);
  return {value_of(request.score), geometry.kv_heads, sequences ? sequences->past_value : Tensor()};
}

// Some queries of one head, which are computed together; `map` counts the heads of all samples.
struct Block {
  std::size_t batch, head, map, index, first, count;
};

// The cells [count,Lk] of a block that queries see; without a mask all, and none is noted.
class SeenCells {
 public:
  SeenCells(const Visibility& visibility, const Block& block, std::size_t keys, bool masked)
      : keys_(keys), cells_(masked ? block.count * keys : 0) {
    if (!masked) return;
    for (std::size_t i = 0; i < block.count; ++i) {
      visibility.see(block.batch, block.head, block.first + i, row(i));
    }
  }

  bool at(std::size_t i, std::size_t j) const { return cells_.empty() || cells_[i * keys_ + j]; }
  std::span<std::uint8_t> row(std::size_t i) { return std::span(cells_).subspan(i * keys_, keys_); }

 private:
  std::size_t keys_;
  std::vector<std::uint8_t> cells_;
};

// One attention, block by block in four passes: score, bias and mask, softmax, output.
class Definition {
 public:
  Definition(const AttentionRequest& request, const Geometry& geometry,
             const Visibility& visibility, const Progress& progress)
      : request_(request),
        progress_(progress),
        geometry_(geometry),
        visibility_(visibility),
        masked_(request.mask.present()),
        formula_(
            std::visit([&](const auto& score) { return formula(score, geometry); }, request.score)),
        scale_(scale_of(request, geometry)),
        compared_(compared_rows(request, geometry)),
        own_score_(request.score_expression, ExpressionUse::score, "/score", geometry, compared_),
        own_weight_(request.weight_expression, ExpressionUse::weight, "/weight", geometry,
                    compared_),
        position_bias_(request, geometry),
        sinks_(request.sinks.converted(DType::float64)),
        value_(value_rows(request, geometry)),
        kept_(request.dropout ? drawn_weights(*request.dropout, geometry) : Tensor()),
        round_(step_dtype(request)),
        round_weights_(weights_dtype(request)),
        round_factors_(request.fused_rounding ? request.dtype : DType::float64),
        results_(request, geometry, static_cast<bool>(kept_)) {
    if (request.pool) pooled_.emplace(*request.pool, geometry, most_queries());
  }

  AttentionResult compute() {
    const std::size_t maps = geometry_.batch * geometry_.heads, blocks = block_count();
    parallel_for(maps * blocks, request_.threads,
                 [&](std::size_t task) { attend(block_of(task / blocks, task % blocks)); });
    visibility_.check_where();
    own_score_.check();
    own_weight_.check();
    AttentionResult result = results_.finish();
    result.empty_rows = empty_rows_;
    if (pooled_) {
      result.pooled = pooled_->weights(request_.dtype);
      if (masked_) result.pooled_allowed = pooled_->allowed();
    }
    return result;
  }

 private:
  void attend(const Block& block) {
    SeenCells seen(visibility_, block, geometry_.keys, masked_);
    Matrix s = scores(block, seen);
    add_bias_and_mask(s, block, seen);
    Matrix p = weights(s, block);
    if (value_of(request_.score)) put_output(p, s, block);
    if (progress_) progress_(block.count * geometry_.keys);
  }

  // 1. Scores: s[i,j] = scale · score(q[i], k[j]), or the number that the expression "score" gives
  // for it. [count,Lk]
  Matrix scores(const Block& block, const SeenCells& seen) {
    Matrix s = formula_(block.batch, block.head, block.first, block.count);
    round_(s);
    s *= scale_;
    round_(s);
    if (own_score_) {
      for (std::size_t i = 0; i < block.count; ++i) {
        own_score_.replace(
            first_cell_of(block, i), row(s, i), [&](std::size_t j) { return seen.at(i, j); }, true);
      }
      round_(s);
    }
    put(results_.scores, s, block);
    return s;
  }

  // 2. Bias and mask: c · tanh(s[i,j] / c) + bias[i,j], or c · tanh((s[i,j] + bias[i,j]) / c); the
  // fill, by default −∞, where query i does not see key j. The bias is that of the positions and
  // that of the mask.
  void add_bias_and_mask(Matrix& s, const Block& block, SeenCells& seen) {
    // Scores of −∞ by the expression hide their keys, whatever is added.
    std::vector<std::uint8_t> hidden(own_score_ ? s.size() : 0);
    for (std::size_t n = 0; n < hidden.size(); ++n) hidden[n] = s.data()[n] == -infinity;
    if (!request_.softcap_after_bias) cap(s, block, static_cast<bool>(own_score_));
    add_biases(s, block);
    if (request_.softcap_after_bias) cap(s, block, true);
    if (masked_) {
      fill_unseen(s, block, hidden, seen);
      note_seen(block, seen);
    }
    round_weights_(s);  // the fill
    put(results_.masked, s, block);
  }

  // c · tanh(s / c), each step rounded. With `hides` a score of −∞ stays −∞.
  void cap(Matrix& scores, const Block& block, bool hides) {
    if (const auto c = request_.softcap) {
      for (double& s : scores) {
        if (!hides || s != -infinity) s = round_(*c * round_(std::tanh(round_(s / *c))));
      }
    }
    put(results_.capped, scores, block);
  }

  // s[i,j] + bias(j − place of query i) of ALiBi and relative bias; and the mask's bias, if the
  // softcap follows it.
  void add_biases(Matrix& s, const Block& block) const {
    if (!position_bias_ && !request_.softcap_after_bias) return;
    for (std::size_t i = 0; i < block.count; ++i) {
      const std::size_t query = block.first + i;
      const auto place = static_cast<std::ptrdiff_t>(query) + visibility_.offset(block.batch);
      for (std::size_t j = 0; j < geometry_.keys; ++j) {
        const std::ptrdiff_t distance = static_cast<std::ptrdiff_t>(j) - place;
        if (position_bias_) s(i, j) += position_bias_.term(block.batch, block.head, distance);
        if (request_.softcap_after_bias) {
          s(i, j) += visibility_.bias(block.batch, block.head, query, j);
        }
      }
    }
  }

  // The mask's bias, unless it is there already, and the fill where a key is not seen; a score of
  // −∞ by its bias stays. The keys that scores hide are not seen either.
  void fill_unseen(Matrix& s, const Block& block, const std::vector<std::uint8_t>& hidden,
                   SeenCells& seen) const {
    const double fill = request_.mask.fill.value_or(-infinity);
    for (std::size_t i = 0; i < block.count; ++i) {
      const std::span<std::uint8_t> sees = seen.row(i);
      if (!request_.softcap_after_bias) {
        visibility_.mask(block.batch, block.head, block.first + i, sees, row(s, i));
      }
      for (std::size_t j = 0; j < geometry_.keys; ++j) {
        const bool by_score = !hidden.empty() && hidden[i * geometry_.keys + j] != 0;
        if (request_.softcap_after_bias && sees[j] == 0 && s(i, j) != -infinity) s(i, j) = fill;
        if (by_score) s(i, j) = -infinity;
        if (by_score) sees[j] = 0;
      }
    }
  }

  void note_seen(const Block& block, SeenCells& seen) {
    for (std::size_t i = 0; i < block.count; ++i) {
      if (pooled_) pooled_->see(block.map, block.index, i, seen.row(i));
      if (results_.allowed.empty()) continue;
      std::ranges::copy(seen.row(i),
                        results_.allowed.begin() +
                            static_cast<std::ptrdiff_t>(place_of(block) + i * geometry_.keys));
    }
  }

  // 3. Softmax: p[i,j] = exp(s[i,j]) / (Σ_j exp(s[i,j]) + exp(sink)), or the number that the
  // expression "weight" gives for it; those that dropout keeps are divided by 1 − its probability,
  // the others 0. [count,Lk]
  Matrix weights(const Matrix& s, const Block& block) {
    Softmax p = softmax(s, sinks_ ? sinks_.values<double>()[block.head] : -infinity,
                        own_weight_ ? Rounding(DType::float64) : round_factors_);
    if (own_weight_) {
      for (std::size_t i = 0; i < block.count; ++i) {
        own_weight_.replace(
            first_cell_of(block, i), row(p.weights, i),
            [&](std::size_t j) { return s(i, j) != -infinity; }, false);
      }
      round_factors_(p.weights);
    }
    round_weights_(p.weights);
    put(results_.weights, p.weights, block);
    if (pooled_) pooled_->add(block.map, block.index, p.weights.data());
    results_.lse.put(p.lse.data(), block.count, 1, block.map * geometry_.queries + block.first, 1);
    empty_rows_ += p.empty_rows;
    if (kept_) {
      drop(p.weights,
           kept_.values<std::uint8_t>().subspan(place_of(block), block.count * geometry_.keys),
           request_.dropout->p);
      put(results_.dropped, p.weights, block);
    }
    return std::move(p.weights);
  }

  // 4. Output: o[i] = Σ_j p[i,j] v[j], over the keys whose score s is not −∞. [count,Dv]
  void put_output(Matrix& p, const Matrix& s, const Block& block) {
    round_(p);
    const std::size_t group = geometry_.heads / geometry_.kv_heads, width = geometry_.value_width;
    const Matrix v = matrix(value_, block.batch, block.head / group);
    const Matrix o = weighted_sum(p, s, v, request_.dtype);
    // Joined heads stand side by side in the rows of their sample.
    const std::size_t first = geometry_.joined ? block.batch * geometry_.heads : block.map;
    const std::size_t step = geometry_.joined ? geometry_.heads * width : width;
    const std::size_t head = geometry_.joined ? block.head * width : 0;
    results_.output.put(o.data(), block.count, width,
                        first * geometry_.queries * width + block.first * step + head, step);
  }

  // Long sequences are computed some queries at a time.
  std::size_t most_queries() const {
    constexpr std::size_t most_scores = std::size_t{1} << 22U;
    return std::max<std::size_t>(1, most_scores / geometry_.keys);
  }
  std::size_t block_count() const {
    return pooled_ ? pooled_->blocks().size()
                   : (geometry_.queries + most_queries() - 1) / most_queries();
  }
  Block block_of(std::size_t map, std::size_t index) const {
    const std::size_t batch = map / geometry_.heads, head = map % geometry_.heads;
    if (pooled_) {
      const auto& own = pooled_->blocks()[index];
      return {batch, head, map, index, own.first, own.count};
    }
    const std::size_t first = index * most_queries();
    return {batch, head, map, index, first, std::min(most_queries(), geometry_.queries - first)};
  }
  // Place of a block's first cell among those of all maps.
  std::size_t place_of(const Block& block) const {
    return (block.map * geometry_.queries + block.first) * geometry_.keys;
  }
  void put(Collector& to, const Matrix& cells, const Block& block) const {
    to.put(cells.data(), block.count, geometry_.keys, place_of(block), geometry_.keys);
  }
  std::span<double> row(Matrix& cells, std::size_t i) const {
    return {cells.data() + i * geometry_.keys, geometry_.keys};
  }
  ExpressionCell first_cell_of(const Block& block, std::size_t i) const {
    return {.b = block.batch,
            .h = block.head,
            .i = block.first + i,
            .offset = visibility_.offset(block.batch)};
  }

  const AttentionRequest& request_;
  const Progress& progress_;
  const Geometry& geometry_;
  const Visibility& visibility_;
  bool masked_;  // whether there is a mask
  Formula formula_;
  double scale_;
  ComparedRows compared_;
  CellExpression own_score_, own_weight_;
  PositionBias position_bias_;
  Tensor sinks_;
  HeadRows<double> value_;
  Tensor kept_;  // the weights that dropout keeps; absent without it
  Rounding round_, round_weights_;
  Rounding round_factors_;  // of float32 weights that multiply the values
  std::optional<PooledMap> pooled_;
  Collected results_;
  std::atomic<std::size_t> empty_rows_ = 0;
};

}  // namespace

AttentionResult reference_attention(const AttentionRequest& request, const Geometry& geometry,
                                    const Visibility& visibility, const Progress& progress) {
  return Definition(request, geometry, visibility, progress).compute();
}

}  // namespace attn
