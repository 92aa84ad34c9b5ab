#include "attention/score_stages.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "attention/geometry.hpp"
#include "attention/positions.hpp"
#include "attention/score_products.hpp"
#include "attention/visibility.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
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
