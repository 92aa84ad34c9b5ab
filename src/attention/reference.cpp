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
#include "support/translated.hpp"
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

// The softmax of each row and its log-sum-exp, both with the sink as one more term. A score of −inf
// weighs exactly 0; a row of nothing else is empty and has zeros.
struct Softmax {
  Matrix weights;
  Vector lse;
  std::size_t empty_rows = 0;
};

Softmax softmax(const Matrix& masked, std::optional<double> sink) {
  Softmax result{xt::empty<double>(masked.shape()), xt::empty<double>({masked.shape(0)}), 0};
  for (std::size_t i = 0; i < masked.shape(0); ++i) {
    const auto scores = row_of(masked, i);
    const auto hidden = xt::equal(scores, -infinity);
    // 1. The largest score, so that no exponential overflows. NaN enters through the sum.
    const double largest = std::max(xt::amax(scores)(), sink.value_or(-infinity));
    // 2. Exponentials and their sum, which is 0 only in empty rows without a sink.
    const Vector exponentials = xt::where(hidden, 0.0, xt::exp(scores - largest));
    const double sum = xt::sum(exponentials)() + (sink ? std::exp(*sink - largest) : 0);
    // 3. Weights. The zeros stay zeros even if NaN makes the others NaN.
    row_of(result.weights, i) = xt::where(hidden, 0.0, exponentials / sum);
    result.lse(i) = largest + std::log(sum);
    if (xt::all(hidden)) ++result.empty_rows;
  }
  return result;
}

// Applies dropout: kept weights are divided by 1 − p, which preserves expected values. With p = 1
// all are 0.
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

// c·tanh(s/c), each step rounded. With `hides` a score of −inf stays −inf.
void cap(Matrix& scores, double c, const Rounding& round, bool hides) {
  for (double& s : scores) {
    if (!hides || s != -infinity) s = round(c * round(std::tanh(round(s / c))));
  }
}

// An expression for the cells of an attention.
class OwnExpression {
 public:
  OwnExpression(const Expression& expression, ExpressionUse use, const char* pointer,
                const Geometry& geometry, const ComparedRows& rows)
      : rows_(rows), score_(use == ExpressionUse::score) {
    const bool has_rows = geometry.query_width > 0 && geometry.hidden == 0;
    if (expression) tree_.emplace(expression, use, pointer, geometry, has_rows);
  }

  explicit operator bool() const { return tree_.has_value(); }

  // Replaces the numbers of a row; of cells that are not seen only if `all`. Their faults do not
  // count.
  void replace(ExpressionCell cell, std::span<double> row,
               const std::function<bool(std::size_t)>& seen, bool all) {
    for (std::size_t j = 0; j < row.size(); ++j) {
      const bool counts = seen(j);
      if (!counts && !all) continue;
      cell.given = row[j];
      cell.j = j;
      if (tree_->reads_rows()) rows_.put(cell);
      ExpressionTree::Fault fault;
      row[j] = tree_->value(cell, fault);
      if (!counts || !std::isnan(row[j])) continue;
      if (fault.problem.empty()) {
        fault.problem = score_ ? translated("the score is nan") : translated("the weight is nan");
      }
      faults_.note(cell, fault);
    }
  }

  void check() const {
    if (tree_) faults_.check(*tree_);
  }

 private:
  std::optional<ExpressionTree> tree_;
  const ComparedRows& rows_;
  ExpressionFaults faults_;
  bool score_;
};

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

  bool wanted() const { return wanted_; }

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

}  // namespace

AttentionResult reference_attention(const AttentionRequest& request, const Geometry& geometry,
                                    const Visibility& visibility) {
  const std::size_t keys = geometry.keys, map = geometry.queries * keys;
  // Long sequences are computed some queries at a time.
  constexpr std::size_t most_scores = std::size_t{1} << 22U;
  const std::size_t most_queries = std::max<std::size_t>(1, most_scores / keys);
  std::optional<PooledMap> pooled;
  if (request.pool) pooled.emplace(*request.pool, geometry, most_queries);
  const std::size_t blocks =
      pooled ? pooled->blocks().size() : (geometry.queries + most_queries - 1) / most_queries;
  const std::size_t maps = geometry.batch * geometry.heads;

  const Formula score = std::visit(
      [&](const auto& alternative) { return formula(alternative, geometry); }, request.score);
  const Sequences* const sequences = sequences_of(request.score);
  const Tensor& value_tensor = value_of(request.score);
  const HeadRows<double> value(value_tensor, geometry.kv_heads,
                               sequences ? sequences->past_value : Tensor());
  const double scale = scale_of(request, geometry);
  const PositionBias position_bias(request, geometry);
  const Tensor sinks = request.sinks.converted(DType::float64);

  const bool compares = request.score_expression || request.weight_expression;
  const ComparedRows compared =
      sequences && compares ? ComparedRows(*sequences, geometry) : ComparedRows();
  OwnExpression own_score(request.score_expression, ExpressionUse::score, "/score", geometry,
                          compared);
  OwnExpression own_weight(request.weight_expression, ExpressionUse::weight, "/weight", geometry,
                           compared);

  const DType weights_type = weights_dtype(request);
  const Rounding round(request.dtype), round_weights(weights_type);

  const Shape weights_shape = geometry.weights_shape();
  Collector weights(request.weights, weights_shape, weights_type);
  Collector output(static_cast<bool>(value_tensor), geometry.output_shape(), request.dtype);
  const Tensor kept = request.dropout ? drawn_weights(*request.dropout, geometry) : Tensor();
  Collector dropped(static_cast<bool>(kept), weights_shape, weights_type);
  Collector scores(request.stages, weights_shape, request.dtype);
  Collector capped(request.stages, weights_shape, request.dtype);
  Collector masked(request.stages, weights_shape, weights_type);
  Collector lse(request.stages, geometry.row_shape(), widened(request.dtype));
  std::vector<std::uint8_t> allowed(
      request.weights && request.mask.present() ? element_count(weights_shape) : 0);
  std::atomic<std::size_t> empty_rows = 0;

  parallel_for(maps * blocks, request.threads, [&](std::size_t task) {
    const std::size_t at = task / blocks, block = task % blocks;
    const std::size_t b = at / geometry.heads, h = at % geometry.heads;
    const std::size_t first = pooled ? pooled->blocks()[block].first : block * most_queries;
    const std::size_t queries =
        pooled ? pooled->blocks()[block].count : std::min(most_queries, geometry.queries - first);
    const std::size_t place = at * map + first * keys;
    // 1. Scores, scaled.
    Matrix s = score(b, h, first, queries);
    round(s);
    s *= scale;
    round(s);
    std::vector<std::uint8_t> seen_by_all(request.mask.present() ? queries * keys : 0);
    const auto seen_by = [&](std::size_t i) {
      return seen_by_all.empty() ? std::span<std::uint8_t>()
                                 : std::span(seen_by_all).subspan(i * keys, keys);
    };
    for (std::size_t i = 0; i < queries && !seen_by_all.empty(); ++i)
      visibility.see(b, h, first + i, seen_by(i));
    const auto first_cell_of = [&](std::size_t i) {
      return ExpressionCell{.b = b, .h = h, .i = first + i, .offset = visibility.offset(b)};
    };
    if (own_score) {
      for (std::size_t i = 0; i < queries; ++i) {
        const std::span<const std::uint8_t> seen = seen_by(i);
        own_score.replace(
            first_cell_of(i), {s.data() + i * keys, keys},
            [&](std::size_t j) { return seen.empty() || seen[j] != 0; }, true);
      }
      round(s);
    }
    scores.put(s.data(), queries, keys, place, keys);
    // Scores of −inf by the expression hide their keys, whatever is added.
    std::vector<std::uint8_t> hides(own_score ? s.size() : 0);
    for (std::size_t n = 0; n < hides.size(); ++n) hides[n] = s.data()[n] == -infinity;
    // 2. Softcap.
    if (request.softcap && !request.softcap_after_bias)
      cap(s, *request.softcap, round, static_cast<bool>(own_score));
    if (!request.softcap_after_bias) capped.put(s.data(), queries, keys, place, keys);
    // 3. Biases and mask.
    for (std::size_t i = 0; position_bias && i < queries; ++i) {
      const std::ptrdiff_t stands = static_cast<std::ptrdiff_t>(first + i) + visibility.offset(b);
      for (std::size_t j = 0; j < keys; ++j) {
        s(i, j) += position_bias.term(h, static_cast<std::ptrdiff_t>(j) - stands);
      }
    }
    if (request.softcap_after_bias) {
      for (std::size_t i = 0; i < queries; ++i) {
        for (std::size_t j = 0; j < keys; ++j) s(i, j) += visibility.bias(b, h, first + i, j);
      }
      if (request.softcap) cap(s, *request.softcap, round, true);
      capped.put(s.data(), queries, keys, place, keys);
    }
    if (request.mask.present()) {
      for (std::size_t i = 0; i < queries; ++i) {
        const std::span<std::uint8_t> seen = seen_by(i);
        const std::span<double> row(s.data() + i * keys, keys);
        if (request.softcap_after_bias) {
          const double fill = request.mask.fill.value_or(-infinity);
          for (std::size_t j = 0; j < keys; ++j) {
            if (seen[j] == 0 && row[j] != -infinity) row[j] = fill;
          }
        } else {
          visibility.mask(b, h, first + i, seen, row);
        }
        for (std::size_t j = 0; j < keys && !hides.empty(); ++j) {
          if (hides[i * keys + j] != 0) row[j] = -infinity, seen[j] = 0;
        }
        if (pooled) pooled->see(at, block, i, seen);
        if (!request.weights) continue;
        std::copy(seen.begin(), seen.end(),
                  allowed.begin() + static_cast<std::ptrdiff_t>(place + i * keys));
      }
    }
    round_weights(s);  // the fill
    masked.put(s.data(), queries, keys, place, keys);
    // 4. Softmax.
    Softmax p = softmax(s, sinks ? std::optional(sinks.values<double>()[h]) : std::nullopt);
    if (own_weight) {
      for (std::size_t i = 0; i < queries; ++i) {
        own_weight.replace(
            first_cell_of(i), {p.weights.data() + i * keys, keys},
            [&](std::size_t j) { return s(i, j) != -infinity; }, false);
      }
    }
    round_weights(p.weights);
    weights.put(p.weights.data(), queries, keys, place, keys);
    if (pooled) pooled->add(at, block, p.weights.data());
    lse.put(p.lse.data(), queries, 1, at * geometry.queries + first, 1);
    empty_rows += p.empty_rows;
    if (request.progress) request.progress(queries * keys);
    if (kept) {
      drop(p.weights, kept.values<std::uint8_t>().subspan(place, queries * keys),
           request.dropout->p);
      dropped.put(p.weights.data(), queries, keys, place, keys);
    }
    // 5. The weighted sum of the values.
    round(p.weights);
    if (value_tensor) {
      const Matrix v = matrix(value, b, h / (geometry.heads / geometry.kv_heads));
      const Matrix o = weighted_sum(p.weights, s, v, request.dtype);
      const std::size_t width = geometry.value_width;
      if (geometry.joined) {
        const std::size_t row = geometry.heads * width;
        output.put(o.data(), queries, width, (b * geometry.queries + first) * row + h * width, row);
      } else {
        output.put(o.data(), queries, width, (at * geometry.queries + first) * width, width);
      }
    }
  });
  visibility.check_where();
  own_score.check();
  own_weight.check();
  AttentionResult result;
  result.empty_rows = empty_rows;
  result.weights = weights.finish();
  result.dropped = dropped.finish();
  result.output = output.finish();
  result.scores = scores.finish();
  result.capped = capped.finish();
  result.masked = masked.finish();
  if (pooled) {
    result.pooled = pooled->weights(request.dtype);
    if (request.mask.present()) result.pooled_allowed = pooled->allowed();
  }
  result.lse = lse.finish();
  if (request.weights && request.mask.present())
    result.allowed = Tensor(weights_shape, std::move(allowed));
  return result;
}

}  // namespace attn
