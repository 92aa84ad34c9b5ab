#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "attention/kernel_attention.hpp"
#include "attention/linear.hpp"
#include "kernels/attention_kernels.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Σ |w_v|, or the length of w_v. Weights that are not finite are left out.
double sum_of_sizes(const Tensor& w_v) {
  const Tensor w = w_v.converted(DType::float64);
  double sum = 0;
  for (const double weight : w.values<double>())
    sum += std::isfinite(weight) ? std::abs(weight) : 0;
  return sum;
}
double length_of(const Tensor& w_v) {
  const Tensor w = w_v.converted(DType::float64);
  double squares = 0;
  for (const double weight : w.values<double>())
    squares += std::isfinite(weight) ? weight * weight : 0;
  return std::sqrt(squares);
}

}  // namespace

template <class T>
bool additive_scores_fit(const Additive& score, double scale) {
  const double sum = sum_of_sizes(score.w_v) * std::max(1.0, std::abs(scale));
  // Kernels count in units of ln 2.
  constexpr double largest = std::numeric_limits<T>::max() / 4;
  if (sum * std::numbers::log2e >= largest) return false;
  // Errors of scores stay below an eighth of their bound in practice.
  const double error = (44 + static_cast<double>(score.w_v.size()) / 2) * 0x1p-24 * sum;
  return sizeof(T) == sizeof(double) || error / 8 <= 5e-5;
}

template <class T>
AdditiveScores<T>::AdditiveScores(const Additive& score, const AttentionRequest& request,
                                  const Geometry& geometry)
    : units_(score.w_v.size()),
      row_count_(kernels::additive_row_count<T>(units_)),
      panel_keys_(kernels::additive_panel_keys<T>()),
      panels_((geometry.keys + panel_keys_ - 1) / panel_keys_),
      group_(geometry.heads / geometry.kv_heads),
      scale_(static_cast<T>(scale_of(request, geometry))),
      softcap_(static_cast<T>(request.softcap.value_or(0))),
      steepness_(std::abs(scale_of(request, geometry)) * length_of(score.w_v)),
      inverses_(row_count_) {
  const Tensor w = score.w_v.converted(dtype_of<T>());
  numbers_.assign(w.values<T>().begin(), w.values<T>().end());
  wide_weights_ = !kernels::additive_weights(numbers_.data(), units_, inverses_.data(), weights_);
  queries_ = project(score.query, {}, score.W_q, geometry.heads, request.threads);
  keys_ =
      project(score.key_or_query(), score.past_key, score.W_k, geometry.kv_heads, request.threads);
  if (!precise_) return;
  make_query_powers(request.threads);
  make_key_powers(request.threads);
}

template <class T>
typename AdditiveScores<T>::Projected AdditiveScores<T>::project(const Tensor& states,
                                                                 const Tensor& past,
                                                                 const Tensor& weight,
                                                                 std::size_t heads,
                                                                 std::size_t threads) {
  Projected result;
  result.heads = heads;
  const std::size_t rank = states.rank();
  result.batch = rank < 3 ? 1 : states.shape()[0];
  if (past && past.rank() >= 3) result.batch = std::max(result.batch, past.shape()[0]);
  result.repeated = result.batch == 1;
  const std::size_t past_length = past ? past.shape()[past.rank() - 2] : 0;
  result.length = past_length + states.shape()[rank - 2];
  const auto rows_of = [&](const Tensor& from) {
    return projected_rows(
        from, weight, [this] { return steepness_; }, dtype_of<T>(), threads, precise_);
  };
  if (!past && (rank == 4 || heads == 1)) {
    const auto projected = std::make_shared<Tensor>(rows_of(states));
    result.rows = {projected, projected->template values<T>().data()};
    return result;
  }
  const auto rows = new_elements<T>(result.batch * heads * result.length * units_);
  result.rows = rows;
  const auto put = [&](const Tensor& from, std::size_t start) {
    if (!from) return;
    const Tensor projected = rows_of(from);
    const T* numbers = projected.values<T>().data();
    const std::size_t length = from.shape()[from.rank() - 2];
    const std::size_t batch = from.rank() < 3 ? 1 : from.shape()[0];
    const bool apart = from.rank() == 4;
    parallel_for(result.batch * heads, threads, [&](std::size_t at) {
      const std::size_t b = batch == 1 ? 0 : at / heads, h = at % heads;
      for (std::size_t i = 0; i < length; ++i) {
        const std::size_t source =
            apart ? (b * heads + h) * length + i : (b * length + i) * heads + h;
        std::copy_n(numbers + source * units_, units_,
                    rows.get() + (at * result.length + start + i) * units_);
      }
    });
  };
  put(past, 0);
  put(states, past_length);
  return result;
}

template <class T>
const T* AdditiveScores<T>::row(const Projected& projected, std::size_t batch, std::size_t head,
                                std::size_t i) const {
  const std::size_t sample = projected.repeated ? 0 : batch;
  return projected.rows.get() + ((sample * projected.heads + head) * projected.length + i) * units_;
}

template <class T>
void AdditiveScores<T>::make_query_powers(std::size_t threads) {
  const std::size_t rows = queries_.batch * queries_.heads * queries_.length;
  query_powers_ = new_elements<T>(rows * row_count_);
  largest_query_.resize(rows);
  constexpr std::size_t share = 128;
  parallel_for((rows + share - 1) / share, threads, [&](std::size_t part) {
    const std::size_t end = std::min(rows, (part + 1) * share);
    for (std::size_t i = part * share; i < end; ++i) {
      largest_query_[i] =
          kernels::additive_query_powers(queries_.rows.get() + i * units_, units_, inverses_.data(),
                                         query_powers_.get() + i * row_count_);
    }
  });
}

template <class T>
void AdditiveScores<T>::make_key_powers(std::size_t threads) {
  const std::size_t heads = keys_.batch * keys_.heads;
  key_powers_ = new_elements<T>(heads * panels_ * panel_keys_ * row_count_);
  largest_key_.resize(heads * panels_);
  wide_panels_.resize(heads * panels_);
  wide_keys_.resize(heads * panels_ * panel_keys_);
  parallel_for(heads * panels_, threads, [&](std::size_t at) {
    const std::size_t head = at / panels_, first = at % panels_ * panel_keys_;
    const std::size_t count = std::min(panel_keys_, keys_.length - first);
    std::uint8_t* wide = wide_keys_.data() + at * panel_keys_;
    largest_key_[at] = kernels::additive_key_powers(
        keys_.rows.get() + (head * keys_.length + first) * units_, units_, count, units_,
        key_powers_.get() + at * panel_keys_ * row_count_, wide);
    wide_panels_[at] = std::any_of(wide, wide + count, [](std::uint8_t x) { return x != 0; });
  });
}

template <class T>
void AdditiveScores<T>::compute(std::size_t batch, std::size_t head, std::size_t first_query,
                                std::span<const std::uint32_t> starts,
                                std::span<const std::uint32_t> ends, T* rows) const {
  const std::size_t key_head = head / group_;
  const std::size_t first_row =
      ((queries_.repeated ? 0 : batch) * queries_.heads + head) * queries_.length + first_query;
  const std::size_t key_rows = (keys_.repeated ? 0 : batch) * keys_.heads + key_head;
  std::array<const T*, kernels::query_block> powers{};
  std::array<T*, kernels::query_block> scores{};
  for (std::size_t p = 0; p < panels_; ++p) {
    const std::size_t first = p * panel_keys_, panel = key_rows * panels_ + p;
    const std::size_t end = std::min(first + panel_keys_, keys_.length);
    // 1. Fractions, for the queries that see a key of the panel.
    std::size_t count = 0;
    T largest = 0;
    for (std::size_t i = 0; i < starts.size(); ++i) {
      if (starts[i] >= end || ends[i] <= first || wide_weights_) continue;
      if (std::isinf(largest_query_[first_row + i])) continue;
      largest = std::max(largest, largest_query_[first_row + i]);
      powers[count] = query_powers_.get() + (first_row + i) * row_count_;
      scores[count] = rows + i * stride() + first;
      ++count;
    }
    kernels::additive_scores({powers.data(), count, units_, &weights_,
                              key_powers_.get() + panel * panel_keys_ * row_count_,
                              largest * largest_key_[panel], scores.data()});
    // 2. Pairs with a wide row.
    for (std::size_t i = 0; i < starts.size(); ++i) {
      const bool wide = wide_weights_ || std::isinf(largest_query_[first_row + i]);
      if (!wide && wide_panels_[panel] == 0) continue;
      const std::size_t last = std::min<std::size_t>(end, ends[i]);
      for (std::size_t j = std::max<std::size_t>(first, starts[i]); j < last; ++j) {
        if (!wide && wide_keys_[panel * panel_keys_ + j - first] == 0) continue;
        rows[i * stride() + j] =
            kernels::additive_score(row(queries_, batch, head, first_query + i),
                                    row(keys_, batch, key_head, j), numbers_.data(), units_);
      }
    }
  }
  // 3. Scale and softcap.
  if (scale_ == 1 && softcap_ == 0) return;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    for (std::size_t j = starts[i]; j < ends[i]; ++j) {
      T& score = rows[i * stride() + j];
      score *= scale_;
      if (softcap_ != 0) score = softcap_ * std::tanh(score / softcap_);
    }
  }
}

template bool additive_scores_fit<float>(const Additive&, double);
template bool additive_scores_fit<double>(const Additive&, double);
template class AdditiveScores<float>;
template class AdditiveScores<double>;

}  // namespace attn
