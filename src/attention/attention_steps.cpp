#include "attention/attention_steps.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include "support/overloaded.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr double minus_infinity = -std::numeric_limits<double>::infinity();

/// Rows of the heads of an attention.
struct RowsOfHeads {
  HeadRows<double> query, key, value;

  RowsOfHeads(const Sequences& of, const Geometry& geometry)
      : query(of.query, geometry.heads),
        key(of.key_or_query(), geometry.kv_heads, of.past_key),
        value(of.value_or_key(), geometry.kv_heads, of.past_value) {}
};

// Rows of one head as a tensor [count,D].
Tensor tensor_of(const HeadRows<double>& rows, std::size_t batch, std::size_t head,
                 std::size_t first, std::size_t count) {
  std::vector<double> numbers;
  for (std::size_t i = first; i < first + count; ++i) {
    const auto row = rows(batch, head, i);
    numbers.insert(numbers.end(), row.begin(), row.end());
  }
  return {{count, rows.width()}, std::move(numbers)};
}

Sequences rounded(Sequences of, DType dtype) {
  for (Tensor* tensor : {&of.query, &of.key, &of.value, &of.past_key, &of.past_value}) {
    if (is_half(dtype)) *tensor = tensor->converted(dtype);
  }
  return of;
}

/// An attention of one query and one head that has the row of a larger one, with all its steps.
class SingleRow {
 public:
  SingleRow(const AttentionRequest& request, RowPlace place)
      : given_(request),
        geometry_(check_geometry(request)),
        place_(place),
        key_head_(place.head / (geometry_.heads / geometry_.kv_heads)),
        one_(request) {
    // Expressions read where a cell stands, so that only the whole attention has its row.
    whole_ = request.score_expression || request.weight_expression;
    one_.dtype = is_half(request.dtype) ? request.dtype : DType::float64;
    one_.weights = one_.stages = true;
    one_.pool.reset();
    one_.dropout.reset();
    prepare();
    if (!whole_) cut_out();
    result_ = attend(one_);
    find_keys();
  }

  std::optional<NotFiniteStep> first() const {
    if (const auto found = given()) return found;
    const auto in = [](RowStep step) { return NotFiniteStep{step}; };
    if (prepared_ && !is_finite(prepared_->query(place_.batch, place_.head, place_.query))) {
      return in(RowStep::preparation);
    }
    for (std::size_t j = 0; prepared_ && j < geometry_.keys; ++j) {
      if (compared_[j] && !is_finite(prepared_->key(place_.batch, key_head_, j)))
        return in(RowStep::preparation);
    }
    const bool own = static_cast<bool>(given_.score_expression);
    if (!own && is_faulty(products())) return in(RowStep::product);
    if (is_faulty(row(result_.scores))) return in(own ? RowStep::own_score : RowStep::scale);
    if (is_faulty(row(result_.capped))) return in(RowStep::softcap);
    if (is_faulty(row(result_.masked))) return in(RowStep::bias);
    if (!is_finite(row(result_.weights)))
      return in(given_.weight_expression ? RowStep::own_weight : RowStep::softmax);
    if (!result_.output || is_finite(output(result_))) return std::nullopt;
    if (!one_.gate) return in(RowStep::output);
    AttentionRequest ungated = one_;
    ungated.gate = {};
    return in(is_finite(output(attend(ungated))) ? RowStep::gate : RowStep::output);
  }

 private:
  static bool is_finite(std::span<const double> numbers) { return all_finite(numbers); }
  static bool is_finite(const Tensor& numbers) { return not_finite(numbers).count == 0; }

  // Norms and rotation, for the row and for what the mask compares.
  void prepare() {
    const Sequences* const sequences = sequences_of(given_.score);
    if (sequences == nullptr) {
      visibility_.emplace(given_.mask, geometry_, Sequences());
      return;
    }
    Sequences compared = rounded(*sequences, one_.dtype);
    rows_.emplace(compared, geometry_);
    if (const HeadPreparation preparation(given_, geometry_, QueryPlaces(given_.mask, geometry_));
        preparation) {
      compared = rounded(preparation.prepared(compared, DType::float64), one_.dtype);
      prepared_.emplace(compared, geometry_);
    }
    visibility_.emplace(given_.mask, geometry_, compared);
  }

  // Leaves one query, one head, and a mask of the same keys and biases.
  void cut_out() {
    const std::size_t batch = place_.batch, head = place_.head, query = place_.query;
    const std::size_t keys = geometry_.keys;
    std::visit(Overloaded{[&](GivenScores& of) {
                            const HeadRows<double> scores(of.scores, 1);
                            of.scores = tensor_of(scores, batch, head, query, 1);
                            if (!of.value) return;
                            const HeadRows<double> value(of.value, geometry_.kv_heads);
                            of.value = tensor_of(value, batch, key_head_, 0, keys);
                          },
                          [&](Sequences& of) {
                            const RowsOfHeads& compared = prepared_ ? *prepared_ : *rows_;
                            of = Sequences{
                                .query = tensor_of(compared.query, batch, head, query, 1),
                                .key = tensor_of(compared.key, batch, key_head_, 0, keys),
                                .value = tensor_of(rows_->value, batch, key_head_, 0, keys)};
                          }},
               one_.score);
    one_.scale = scale_of(given_, geometry_);
    one_.rotary.reset();
    one_.query_norm.reset();
    one_.key_norm.reset();
    if (given_.sinks) one_.sinks = part_of(given_.sinks, head, {1});
    if (given_.gate) {
      const std::size_t at = geometry_.joined
                                 ? (batch * geometry_.queries + query) * geometry_.heads + head
                                 : (batch * geometry_.heads + head) * geometry_.queries + query;
      one_.gate = part_of(given_.gate, at * geometry_.value_width, {1, geometry_.value_width});
    }
    one_.mask = Mask{.fill = given_.mask.fill};
    if (given_.mask.present()) {
      std::vector<std::uint8_t> seen(keys);
      visibility_->see(batch, head, query, seen);
      one_.mask.allow = Tensor({1, keys}, std::move(seen));
    }
    one_.relative_bias.reset();
    const PositionBias positions(given_, geometry_);
    if (!positions && !given_.mask.bias) return;
    std::vector<double> bias(keys);
    const std::ptrdiff_t stands = static_cast<std::ptrdiff_t>(query) + visibility_->offset(batch);
    for (std::size_t j = 0; j < keys; ++j) {
      bias[j] = visibility_->bias(batch, head, query, j);
      if (positions)
        bias[j] += positions.term(batch, head, static_cast<std::ptrdiff_t>(j) - stands);
    }
    one_.mask.bias = Tensor({1, keys}, std::move(bias));
  }

  // The row's part of a tensor over keys, or over the width of the values.
  Tensor row_of_width(const Tensor& tensor, std::size_t width, bool joined) const {
    const auto [batch, head, query] = place_;
    const std::size_t at = !whole_  ? 0
                           : joined ? (batch * geometry_.queries + query) * geometry_.heads + head
                                    : (batch * geometry_.heads + head) * geometry_.queries + query;
    if (!tensor) return {};
    return part_of(tensor, at * width, {width}).converted(DType::float64);
  }
  Tensor row(const Tensor& tensor) const { return row_of_width(tensor, geometry_.keys, false); }
  Tensor output(const AttentionResult& of) const {
    return row_of_width(of.output, geometry_.value_width, geometry_.joined);
  }

  // Scores before the scale.
  Tensor products() const {
    AttentionRequest unscaled = one_;
    unscaled.scale = 1;
    return row(attend(unscaled).scores);
  }

  // Which values take part, and which keys the query is compared with.
  void find_keys() {
    const Tensor masked = row(result_.masked), allowed = row(result_.allowed);
    for (std::size_t j = 0; j < geometry_.keys; ++j) {
      weighted_.push_back(masked.values<double>()[j] != minus_infinity);
      compared_.push_back(weighted_[j] && (!allowed || allowed.values<double>()[j] != 0));
    }
  }

  // Whether a score is NaN or infinite, other than by the −inf of scores that hide.
  bool is_faulty(const Tensor& scores) const {
    for (std::size_t j = 0; j < geometry_.keys; ++j) {
      if (compared_[j] && !std::isfinite(scores.values<double>()[j])) return true;
    }
    return false;
  }

  std::optional<NotFiniteStep> given() const {
    const auto [batch, head, query] = place_;
    const auto in = [](std::string_view tensor, std::size_t key = 0) {
      return NotFiniteStep{RowStep::given, tensor, key};
    };
    AttentionRequest request = given_;
    const auto& known = info(kind_of(request.score)).parameters;
    const std::vector<Tensor*> parameters = parameters_of(request.score);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!is_finite(*parameters[i])) return in(known[i].name);
    }
    if (rows_ && !is_finite(rows_->query(batch, head, query))) return in("query");
    const auto* const scores = std::get_if<GivenScores>(&given_.score);
    if (scores != nullptr &&
        is_faulty(tensor_of(HeadRows<double>(scores->scores, 1), batch, head, query, 1)))
      return in("scores");
    const HeadRows<double> value =
        rows_ ? rows_->value : HeadRows<double>(scores->value, geometry_.kv_heads);
    for (std::size_t j = 0; j < geometry_.keys; ++j) {
      if (rows_ && compared_[j] && !is_finite(rows_->key(batch, key_head_, j))) return in("key", j);
      if (compared_[j] && given_.mask.bias &&
          !std::isfinite(visibility_->bias(batch, head, query, j)))
        return in("bias", j);
      if (value.width() > 0 && weighted_[j] && !is_finite(value(batch, key_head_, j)))
        return in("value", j);
    }
    return std::nullopt;
  }

  const AttentionRequest& given_;
  Geometry geometry_;
  RowPlace place_;
  std::size_t key_head_;
  std::optional<Visibility> visibility_;
  std::optional<RowsOfHeads> rows_, prepared_;  // before norms and rotation, and after them
  bool whole_ = false;
  AttentionRequest one_;
  AttentionResult result_;
  std::vector<bool> weighted_, compared_;  // of each key
};

}  // namespace

std::optional<NotFiniteStep> first_not_finite(const AttentionRequest& request, RowPlace place) {
  return SingleRow(request, place).first();
}

namespace {

// Whether the steps are a scaled product, a softcap, and what mask and positions add.
bool is_plain(const AttentionRequest& request) {
  const Sequences* const sequences = sequences_of(request.score);
  const bool product = std::holds_alternative<ScaledDotProduct>(request.score) ||
                       std::holds_alternative<DotProduct>(request.score);
  return product && !sequences->past_key && !request.score_expression && !request.mask.where &&
         !request.mask.fill && !request.softcap_after_bias && !request.weight_expression &&
         !request.dropout && (request.dtype == DType::float32 || request.dtype == DType::float64);
}

/// Steps of products in T, one head of one sample at a time.
template <class T>
class ProductStages {
 public:
  ProductStages(const AttentionRequest& request, const Geometry& geometry, const Tensor& weights)
      : request_(request),
        geometry_(geometry),
        weights_(weights.converted(dtype_of<T>())),
        visibility_(request.mask, geometry, {}),
        products_(request, geometry, visibility_.places()) {
    if (const PositionBias bias(request, geometry); bias) {
      terms_.emplace(bias, geometry, visibility_.places(), request.threads);
    }
    if (request.sinks) sinks_ = request.sinks.converted(DType::float64);
    const std::size_t cells = element_count(geometry.weights_shape());
    scores_ = new_elements<T>(cells);
    if (request.softcap) capped_ = new_elements<T>(cells);
    if (changes_scores()) masked_ = new_elements<T>(cells);
    lse_ = new_elements<T>(element_count(geometry.row_shape()));
  }

  ScoreStages compute() {
    parallel_for(geometry_.batch * geometry_.heads, request_.threads,
                 [&](std::size_t at) { compute_head(at / geometry_.heads, at % geometry_.heads); });
    ScoreStages stages;
    const Shape shape = geometry_.weights_shape();
    stages.scores = filled(shape, scores_);
    stages.capped = request_.softcap ? filled(shape, capped_) : stages.scores;
    stages.masked = changes_scores() ? filled(shape, masked_) : stages.capped;
    stages.lse = filled(geometry_.row_shape(), lse_);
    return stages;
  }

 private:
  bool changes_scores() const { return request_.mask.present() || terms_; }

  void compute_head(std::size_t b, std::size_t h) {
    const std::size_t rows = geometry_.queries, keys = geometry_.keys;
    const std::size_t at = (b * geometry_.heads + h) * rows * keys;
    products_.multiply(products_.packed(b, h), 0, rows, scores_.get() + at);
    const std::span<const T> scores(scores_.get() + at, rows * keys);
    std::span<const T> last = scores;
    if (request_.softcap) {
      const T cap = static_cast<T>(*request_.softcap);
      for (std::size_t n = 0; n < scores.size(); ++n)
        capped_.get()[at + n] = cap * std::tanh(scores[n] / cap);
      last = {capped_.get() + at, rows * keys};
    }
    if (changes_scores()) {
      mask(b, h, last, masked_.get() + at);
      last = {masked_.get() + at, rows * keys};
    }
    const auto weights =
        weights_ ? weights_.template values<T>().subspan(at, rows * keys) : std::span<const T>();
    for (std::size_t i = 0; i < rows; ++i) {
      const std::span<const T> row = last.subspan(i * keys, keys);
      const auto most = std::ranges::max_element(row) - row.begin();
      const double weight = weights.empty() ? 0 : weights[i * keys + most];
      // The softmax says w = exp(s − lse).
      const double lse = weight > 0 ? row[most] - std::log(weight) : log_sum_exp(row, row[most], h);
      lse_.get()[(b * geometry_.heads + h) * rows + i] = static_cast<T>(lse);
    }
  }

  // Adds what positions and the mask add, and hides.
  void mask(std::size_t b, std::size_t h, std::span<const T> scores, T* to) const {
    const std::size_t keys = geometry_.keys;
    std::vector<std::uint8_t> seen(keys);
    std::vector<double> row(keys);
    for (std::size_t i = 0; i < geometry_.queries; ++i, to += keys) {
      const std::span<const T> own = scores.subspan(i * keys, keys);
      const double* const term =
          terms_ ? terms_->of(b, h, static_cast<std::ptrdiff_t>(i) + visibility_.offset(b))
                 : nullptr;
      if (request_.mask.present() && visibility_.only_intervals()) {
        const auto [first, end] = visibility_.interval(b, i);
        std::fill(to, to + first, -std::numeric_limits<T>::infinity());
        for (std::size_t j = first; j < end; ++j) {
          to[j] = term == nullptr ? own[j] : static_cast<T>(own[j] + term[j]);
        }
        std::fill(to + end, to + keys, -std::numeric_limits<T>::infinity());
        continue;
      }
      for (std::size_t j = 0; j < keys; ++j) row[j] = own[j] + (term == nullptr ? 0 : term[j]);
      if (request_.mask.present()) {
        visibility_.see(b, h, i, seen);
        visibility_.mask(b, h, i, seen, row);
      }
      std::transform(row.begin(), row.end(), to, [](double x) { return static_cast<T>(x); });
    }
  }

  double log_sum_exp(std::span<const T> row, T most, std::size_t h) const {
    const double sink =
        sinks_ ? sinks_.template values<double>()[h] : -std::numeric_limits<double>::infinity();
    const double largest = std::max(static_cast<double>(most), sink);
    if (largest == -std::numeric_limits<double>::infinity()) return largest;
    double sum = sinks_ ? std::exp(sink - largest) : 0;
    for (const T x : row) {
      if (x != -std::numeric_limits<T>::infinity()) sum += std::exp(x - static_cast<T>(largest));
    }
    return largest + std::log(sum);
  }

  const AttentionRequest& request_;
  const Geometry& geometry_;
  Tensor weights_;
  Visibility visibility_;
  ScoreProducts<T> products_;
  std::optional<DistanceTerms<double>> terms_;  // that positions add
  Tensor sinks_;
  std::shared_ptr<T> scores_, capped_, masked_, lse_;
};

}  // namespace

ScoreStages score_stages(const AttentionRequest& request, const Tensor& weights) {
  if (is_plain(request)) {
    const Geometry geometry = check_geometry(request);
    return request.dtype == DType::float32
               ? ProductStages<float>(request, geometry, weights).compute()
               : ProductStages<double>(request, geometry, weights).compute();
  }
  AttentionRequest whole = request;
  whole.stages = true;
  whole.weights = false;
  AttentionResult result = attend(whole);
  return {std::move(result.scores), std::move(result.capped), std::move(result.masked),
          std::move(result.lse)};
}

}  // namespace attn
