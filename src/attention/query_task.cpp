#include "attention/query_task.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <type_traits>

#include "tensor/half_number.hpp"

namespace attn {
namespace {

template <class T>
constexpr auto largest_number = static_cast<double>(std::numeric_limits<T>::max());

// Calls compute(r, key, piece) for pieces of so many rows and keys, which begin there.
template <class Compute>
void by_pieces(std::size_t rows, std::size_t first_key, std::size_t keys, const Compute& compute) {
  for (std::size_t key = 0; key < keys; key += kernels::row_piece) {
    const std::size_t count = std::min(kernels::row_piece, keys - key);
    const std::size_t most = kernels::RowPiece::most_rows(count);
    for (std::size_t r = 0; r < rows; r += most) {
      compute(r, key, kernels::RowPiece{first_key + key, count, std::min(most, rows - r)});
    }
  }
}

bool sees_larger(std::span<const double> numbers, double most) {
  double largest = 0;
  for (const double number : numbers) {
    largest = std::abs(number) > largest ? std::abs(number) : largest;
  }
  return largest > most;
}

}  // namespace

template <class T>
KernelInputs<T>::KernelInputs(const AttentionOptions& options, const Sequences& sequences,
                              double score_scale, const Geometry& sizes, const KeyIntervals& seen,
                              const ScoreParts<T>& parts)
    : request(options),
      scale(score_scale),
      geometry(sizes),
      intervals(seen),
      visibility(seen.visibility()),
      scores(parts.scores),
      own(parts.own),
      compared(parts.compared),
      query(sequences.query, sizes.heads),
      sinks(options.sinks.converted(DType::float64)) {
  const PositionBias bias(request, geometry);
  if (!bias) return;
  if (request.mask.bias) {
    exact_terms.emplace(bias, geometry, visibility.places(), request.threads);
  } else {
    terms.emplace(bias, geometry, visibility.places(), request.threads);
  }
}

template <class T>
bool KernelInputs<T>::plain_products() const {
  return rewrites() && scores == nullptr && !is_half(request.dtype);
}

template <class T>
double KernelInputs<T>::largest_part(double unit) const {
  constexpr double largest = 160;
  const bool single = std::is_same_v<T, float> && !is_half(request.dtype);
  const bool added = request.mask.bias || terms || exact_terms;
  return single && added ? largest * unit : largest_number<T>;
}

template <class T>
QueryTask<T>::QueryTask(const KernelInputs<T>& of, std::size_t batch_index, std::size_t head_index,
                        const QuerySpan& queries, T* room)
    : inputs(of), batch(batch_index), head(head_index), first_query(queries.first), scores_(room) {
  const Geometry& geometry = inputs.geometry;
  block.queries = queries.count;
  std::fill_n(ends.begin(), block.queries, static_cast<std::uint32_t>(geometry.keys));
  if (inputs.request.mask.present()) {
    for (std::size_t i = 0; i < block.queries; ++i) {
      const Visibility::Interval seen = inputs.intervals.of(batch, head, first_query + i);
      starts[i] = static_cast<std::uint32_t>(seen.first);
      ends[i] = static_cast<std::uint32_t>(seen.end);
    }
  }
  block.sizes = {geometry.keys, geometry.query_width, geometry.value_width};
  block.query = inputs.query(batch, head, first_query).data();
  block.query_stride = inputs.query.stride();
  block.scale = inputs.scale;
  block.softcap = inputs.request.softcap.value_or(0);
  block.mask = {starts.data(), ends.data(), inputs.intervals.whole() ? nullptr : &add, this,
                nullptr};
  groups_ = inputs.intervals.seen_groups(batch, head, first_query, block.queries);
  if (!groups_.empty()) block.mask.seen_groups = groups_.data();
  if (inputs.terms) block.mask.terms = inputs.terms->of(batch, head, place(0));
  block.mask.last_keys_first = inputs.terms || inputs.exact_terms;
  if (inputs.sinks) block.sink = inputs.sinks.template values<double>()[head];
  block.vanishing = inputs.vanishing;
  if (inputs.scores != nullptr) {
    inputs.scores->compute(batch, head, first_query, {starts.data(), block.queries},
                           {ends.data(), block.queries}, room);
    if (!inputs.rewrites()) block.mask.added = &add_scores;
  }
  if (inputs.rewrites()) {
    of_score_ = std::make_unique<ExpressionRows::Registers>(inputs.own->score->rows);
    block.mask.rewritten = &rewrite;
    block.mask.steepness = std::max(1.0, inputs.own->score->rows.steepness());
    if (inputs.plain_products()) {
      block.scale = std::numbers::ln2;  // to which kernels give a factor of 1
      block.mask.steepness *= std::max(1e-300, std::abs(inputs.scale) * std::numbers::log2e);
    }
  }
  if (inputs.reweighs()) {
    of_weight_ = std::make_unique<ExpressionRows::Registers>(inputs.own->weight->rows);
    block.reweighted = &reweigh;
  }
  const std::size_t width = geometry.value_width;
  if (geometry.joined) {
    block.output_stride = geometry.heads * width;
    block.output = inputs.output + (batch * geometry.queries + first_query) * block.output_stride +
                   head * width;
  } else {
    block.output_stride = width;
    block.output =
        inputs.output + ((batch * geometry.heads + head) * geometry.queries + first_query) * width;
  }
}

// The place of a query of the block among the keys.
template <class T>
std::ptrdiff_t QueryTask<T>::place(std::size_t query) const {
  return static_cast<std::ptrdiff_t>(first_query + query) + inputs.visibility.offset(batch);
}

template <class T>
ExpressionCell QueryTask<T>::row_of(std::size_t query) const {
  return {
      .b = batch, .h = head, .i = first_query + query, .offset = inputs.visibility.offset(batch)};
}

template <class T>
void QueryTask<T>::hide_from(std::size_t query, std::span<std::uint8_t> seen) const {
  if (hidden.empty()) return;
  for (std::size_t j = 0; j < seen.size(); ++j) {
    if (hidden[query * seen.size() + j] != 0) seen[j] = 0;
  }
}

// Terms of a mask that is not made of intervals.
template <class T>
void QueryTask<T>::add(void* context, std::size_t query, std::size_t first_key, std::size_t count,
                       T* row) noexcept {
  const auto& self = *static_cast<const QueryTask*>(context);
  const auto& exact_terms = self.inputs.exact_terms;
  const double* const terms =
      exact_terms ? exact_terms->of(self.batch, self.head, self.place(query)) + first_key : nullptr;
  self.inputs.intervals.add(self.batch, self.head, self.first_query + query, first_key,
                            std::span(row, count), terms);
}

// add() plus the scores that are not products.
template <class T>
void QueryTask<T>::add_scores(void* context, std::size_t query, std::size_t first_key,
                              std::size_t count, T* row) noexcept {
  const auto& self = *static_cast<const QueryTask*>(context);
  constexpr T hidden = -std::numeric_limits<T>::infinity();
  const T* scores = self.scores_ + query * self.inputs.scores->stride() + first_key;
  if (!self.inputs.intervals.whole()) {
    add(context, query, first_key, count, row);
    for (std::size_t j = 0; j < count; ++j) {
      row[j] = row[j] == hidden ? hidden : row[j] + scores[j];
    }
    return;
  }
  const auto index = [&](std::size_t key) {
    return std::clamp(key, first_key, first_key + count) - first_key;
  };
  const std::size_t start = index(self.starts[query]);
  const std::size_t end = std::max(start, index(self.ends[query]));
  std::fill(row, row + start, hidden);
  std::copy(scores + start, scores + end, row + start);
  std::fill(row + end, row + count, hidden);
}

// Scores by expression.
template <class T>
void QueryTask<T>::rewrite(void* context, const kernels::ScoreRows<T>& rows, double unit) noexcept {
  auto& self = *static_cast<QueryTask*>(context);
  const KernelInputs<T>& inputs = self.inputs;
  const ExpressionRows& expression = inputs.own->score->rows;
  const auto* const added = inputs.scores;
  const double most = inputs.largest_part(unit);
  const kernels::RowFactors factors{inputs.plain_products() ? inputs.scale : 1 / unit, unit, most};
  by_pieces(
      rows.queries, rows.first_key, rows.keys,
      [&](std::size_t r, std::size_t key, const kernels::RowPiece& piece) {
        const std::size_t query = rows.query + r;
        T* const to = rows.scores + r * rows.stride + key;
        if (added == nullptr && expression.replace(*self.of_score_, self.row_of(query), piece,
                                                   inputs.compared, factors, to, rows.stride)) {
          return;
        }
        if (added != nullptr) {
          kernels::widen_rows(self.scores_ + query * added->stride() + piece.first_key,
                              added->stride(), 1, piece, self.of_score_->given());
          self.forget_unseen(query, piece, self.of_score_->given());
        } else {
          kernels::widen_rows(to, rows.stride, factors.widen, piece, self.of_score_->given());
        }
        const double* const values =
            expression.values(*self.of_score_, self.row_of(query), piece, inputs.compared).data();
        const kernels::RowOutcome outcome =
            kernels::narrow_rows(values, unit, piece, to, rows.stride);
        for (std::size_t n = 0; n < piece.rows; ++n) {
          const T* const row = to + n * rows.stride;
          const double* const exact = values + n * piece.stride();
          const bool large =
              most < largest_number<T> && sees_larger({exact, piece.keys}, most / unit);
          if ((outcome.nan || outcome.too_large || large) &&
              self.sees_invalid(query + n, piece, exact, unit, most)) {
            *inputs.out_of_range = true;
          }
          if (outcome.negative_infinity && inputs.notes_hidden) {
            self.hide(query + n, piece.first_key, {row, piece.keys});
          }
        }
      });
}

// Weights by expression.
template <class T>
void QueryTask<T>::reweigh(void* context, std::size_t query, std::size_t first_key,
                           std::size_t count, const std::uint8_t* seen, T* weights) noexcept {
  const auto& self = *static_cast<const QueryTask*>(context);
  const KernelInputs<T>& inputs = self.inputs;
  const ExpressionCell row = self.row_of(query);
  by_pieces(1, first_key, count,
            [&](std::size_t, std::size_t first, const kernels::RowPiece& piece) {
              T* const to = weights + first;
              const ExpressionRows& expression = inputs.own->weight->rows;
              const ComparedRows* const compared = inputs.compared;
              kernels::RowOutcome outcome;
              if (!expression.replace(*self.of_weight_, row, piece, compared, {}, to, 0)) {
                kernels::widen_rows(to, 0, 1, piece, self.of_weight_->given());
                const auto values = expression.values(*self.of_weight_, row, piece, compared);
                outcome = kernels::narrow_rows(values.data(), 1, piece, to, 0);
              }
              if (seen != nullptr) {
                for (std::size_t j = 0; j < piece.keys; ++j) {
                  to[j] = seen[first + j] != 0 ? to[j] : T(0);
                }
              }
              const auto is_nan = [](T weight) { return std::isnan(weight); };
              if (outcome.too_large || (outcome.nan && std::any_of(to, to + piece.keys, is_nan))) {
                *inputs.out_of_range = true;
              }
            });
}

// Puts 0 for scores that were not computed, because a query does not see their keys.
template <class T>
void QueryTask<T>::forget_unseen(std::size_t query, const kernels::RowPiece& piece,
                                 double* cells) const {
  for (std::size_t r = 0; r < piece.rows; ++r, cells += piece.stride()) {
    const auto place = [&](std::size_t key) {
      return cells + std::clamp(key, piece.first_key, piece.first_key + piece.keys) -
             piece.first_key;
    };
    const std::size_t start = starts[query + r],
                      end = std::max<std::size_t>(start, ends[query + r]);
    std::fill(cells, place(start), 0.0);
    std::fill(place(end), cells + piece.keys, 0.0);
  }
}

// Whether a query sees a score that is NaN, or finite and larger than `most`.
template <class T>
bool QueryTask<T>::sees_invalid(std::size_t query, const kernels::RowPiece& piece,
                                const double* row, double unit, double most) const {
  std::array<T, kernels::row_piece> terms{};
  if (!inputs.intervals.whole()) {
    inputs.intervals.add(batch, head, first_query + query, piece.first_key,
                         {terms.data(), piece.keys});
  }
  const std::size_t first = std::max<std::size_t>(starts[query], piece.first_key);
  const std::size_t end = std::min<std::size_t>(ends[query], piece.first_key + piece.keys);
  for (std::size_t key = first; key < end; ++key) {
    const std::size_t j = key - piece.first_key;
    const double score = row[j] * unit;
    const bool valid = std::abs(score) <= most || std::isinf(score);
    if (!valid && terms[j] != -std::numeric_limits<T>::infinity()) return true;
  }
  return false;
}

template <class T>
void QueryTask<T>::hide(std::size_t query, std::size_t first_key, std::span<const T> row) {
  const std::size_t keys = inputs.geometry.keys;
  hidden.resize(block.queries * keys);
  for (std::size_t j = 0; j < row.size(); ++j) {
    if (row[j] == -std::numeric_limits<T>::infinity()) hidden[query * keys + first_key + j] = 1;
  }
}

template struct KernelInputs<float>;
template struct KernelInputs<double>;
template struct QueryTask<float>;
template struct QueryTask<double>;

}  // namespace attn
