#include "attention/score_stages.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "attention/positions.hpp"
#include "attention/visibility.hpp"
#include "kernels/matrix_product.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

std::size_t panel_rows(float) {
  return kernels::product_panel_floats();
}
std::size_t panel_rows(double) {
  return kernels::product_panel_doubles();
}

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
        visibility_(request.mask, geometry),
        position_bias_(request, geometry),
        scale_(static_cast<T>(scale_of(request, geometry))) {
    const Sequences* const given = sequences_of(request.score);
    const HeadPreparation preparation(request, geometry, visibility_);
    const Sequences own = preparation ? preparation.prepared(*given, dtype_of<T>()) : *given;
    query_ = HeadRows<T>(own.query, geometry.heads);
    key_ = HeadRows<T>(own.key_or_query(), geometry.kv_heads);
    if (request.sinks) sinks_ = request.sinks.converted(DType::float64);
    const std::size_t cells = element_count(geometry.weights_shape());
    scores_.resize(cells);
    if (request.softcap) capped_.resize(cells);
    if (changes_scores()) masked_.resize(cells);
    lse_.resize(element_count(geometry.row_shape()));
  }

  ScoreStages compute() {
    parallel_for(geometry_.batch * geometry_.heads, request_.threads,
                 [&](std::size_t at) { compute_head(at / geometry_.heads, at % geometry_.heads); });
    ScoreStages stages;
    const Shape shape = geometry_.weights_shape();
    stages.scores = Tensor(shape, std::move(scores_));
    stages.capped = request_.softcap ? Tensor(shape, std::move(capped_)) : stages.scores;
    stages.masked = changes_scores() ? Tensor(shape, std::move(masked_)) : stages.capped;
    stages.lse = Tensor(geometry_.row_shape(), std::move(lse_));
    return stages;
  }

 private:
  bool changes_scores() const { return request_.mask.present() || position_bias_; }

  void compute_head(std::size_t b, std::size_t h) {
    const std::size_t rows = geometry_.queries, keys = geometry_.keys;
    const std::size_t at = (b * geometry_.heads + h) * rows * keys;
    multiply(b, h, scores_.data() + at);
    const std::span<const T> scores(scores_.data() + at, rows * keys);
    std::span<const T> last = scores;
    if (request_.softcap) {
      const T cap = static_cast<T>(*request_.softcap);
      for (std::size_t n = 0; n < scores.size(); ++n)
        capped_[at + n] = cap * std::tanh(scores[n] / cap);
      last = {capped_.data() + at, rows * keys};
    }
    if (changes_scores()) {
      mask(b, h, last, masked_.data() + at);
      last = {masked_.data() + at, rows * keys};
    }
    const auto weights =
        weights_ ? weights_.template values<T>().subspan(at, rows * keys) : std::span<const T>();
    for (std::size_t i = 0; i < rows; ++i) {
      const std::span<const T> row = last.subspan(i * keys, keys);
      const auto most = std::ranges::max_element(row) - row.begin();
      const double weight = weights.empty() ? 0 : weights[i * keys + most];
      // The softmax says w = exp(s − lse).
      const double lse = weight > 0 ? row[most] - std::log(weight) : log_sum_exp(row, row[most], h);
      lse_[(b * geometry_.heads + h) * rows + i] = static_cast<T>(lse);
    }
  }

  // Scaled products of all queries and keys of a head.
  void multiply(std::size_t b, std::size_t h, T* to) const {
    const std::size_t rows = geometry_.queries, keys = geometry_.keys;
    const std::size_t width = geometry_.query_width, panel = panel_rows(T());
    std::vector<T> panels((keys + panel - 1) / panel * panel * width);
    const T* const first = key_(b, h / (geometry_.heads / geometry_.kv_heads), 0).data();
    for (std::size_t j = 0; j < keys; j += panel) {
      kernels::pack_panel(kernels::PanelRows<T>{first + j * key_.stride(), key_.stride(),
                                                std::min(panel, keys - j), width},
                          panels.data() + j * width);
    }
    kernels::multiply_rows(kernels::RowProduct<T>{query_(b, h, 0).data(), query_.stride(), rows,
                                                  width, panels.data(), keys, nullptr, to, keys});
    for (std::size_t n = 0; n < rows * keys; ++n) to[n] *= scale_;
  }

  // Terms that positions add to scores by distance, [Lq + Lk − 1], from that of the
  // last query to its first key on; empty = nothing.
  std::vector<double> position_terms(std::size_t b, std::size_t h) const {
    std::vector<double> terms;
    if (!position_bias_) return terms;
    const auto last = static_cast<std::ptrdiff_t>(geometry_.queries) - 1 + visibility_.offset(b);
    for (std::size_t n = 0; n + 1 < geometry_.queries + geometry_.keys; ++n) {
      terms.push_back(position_bias_.term(h, static_cast<std::ptrdiff_t>(n) - last));
    }
    return terms;
  }

  // Adds what positions and the mask add, and hides.
  void mask(std::size_t b, std::size_t h, std::span<const T> scores, T* to) const {
    const std::size_t keys = geometry_.keys;
    const std::vector<double> terms = position_terms(b, h);
    std::vector<std::uint8_t> seen(keys);
    std::vector<double> row(keys);
    for (std::size_t i = 0; i < geometry_.queries; ++i, to += keys) {
      const std::span<const T> own = scores.subspan(i * keys, keys);
      const double* const term = terms.empty() ? nullptr : terms.data() + geometry_.queries - 1 - i;
      if (request_.mask.present() && visibility_.only_intervals()) {
        const auto [first, end] = visibility_.interval(b, h, i);
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
  PositionBias position_bias_;
  T scale_;
  HeadRows<T> query_, key_;
  Tensor sinks_;
  std::vector<T> scores_, capped_, masked_, lse_;
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
