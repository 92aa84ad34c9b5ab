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
         !request.mask.fill && !request.softcap_after_bias &&
         (request.dtype == DType::float32 || request.dtype == DType::float64);
}

/// Steps of products in T, one head of one sample at a time.
template <class T>
class ProductStages {
 public:
  ProductStages(const AttentionRequest& request, const Geometry& geometry)
      : request_(request),
        geometry_(geometry),
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
    for (std::size_t i = 0; i < rows; ++i) {
      lse_[(b * geometry_.heads + h) * rows + i] =
          static_cast<T>(log_sum_exp(last.subspan(i * keys, keys), h));
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

  // Adds what positions and the mask add, and hides.
  void mask(std::size_t b, std::size_t h, std::span<const T> scores, T* to) const {
    const std::size_t keys = geometry_.keys;
    std::vector<std::uint8_t> seen(keys);
    std::vector<double> row(keys);
    for (std::size_t i = 0; i < geometry_.queries; ++i) {
      const std::span<const T> own = scores.subspan(i * keys, keys);
      std::copy(own.begin(), own.end(), row.begin());
      const auto place = static_cast<std::ptrdiff_t>(i) + visibility_.offset(b);
      for (std::size_t j = 0; position_bias_ && j < keys; ++j) {
        row[j] += position_bias_.term(h, static_cast<std::ptrdiff_t>(j) - place);
      }
      if (request_.mask.present()) {
        visibility_.see(b, h, i, seen);
        visibility_.mask(b, h, i, seen, row);
      }
      std::transform(row.begin(), row.end(), to + i * keys,
                     [](double x) { return static_cast<T>(x); });
    }
  }

  double log_sum_exp(std::span<const T> row, std::size_t h) const {
    const double sink =
        sinks_ ? sinks_.template values<double>()[h] : -std::numeric_limits<double>::infinity();
    const T most = *std::ranges::max_element(row);
    const double largest = std::max(static_cast<double>(most), sink);
    if (largest == -std::numeric_limits<double>::infinity()) return largest;
    double sum = sinks_ ? std::exp(sink - largest) : 0;
    for (const T x : row) sum += std::exp(x - static_cast<T>(largest));
    return largest + std::log(sum);
  }

  const AttentionRequest& request_;
  const Geometry& geometry_;
  Visibility visibility_;
  PositionBias position_bias_;
  T scale_;
  HeadRows<T> query_, key_;
  Tensor sinks_;
  std::vector<T> scores_, capped_, masked_, lse_;
};

}  // namespace

ScoreStages score_stages(const AttentionRequest& request) {
  if (is_plain(request)) {
    const Geometry geometry = check_geometry(request);
    return request.dtype == DType::float32 ? ProductStages<float>(request, geometry).compute()
                                           : ProductStages<double>(request, geometry).compute();
  }
  AttentionRequest whole = request;
  whole.stages = true;
  whole.weights = false;
  AttentionResult result = attend(whole);
  return {std::move(result.scores), std::move(result.capped), std::move(result.masked),
          std::move(result.lse)};
}

}  // namespace attn
