#include "attention/kernel_attention.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <deque>
#include <limits>
#include <memory>
#include <numbers>
#include <span>
#include <type_traits>
#include <vector>

#include "attention/head_rows.hpp"
#include "attention/pooled_map.hpp"
#include "attention/positions.hpp"
#include "support/parallel_for.hpp"
#include "support/work_budget.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

// One attention computed in T for results in R.
template <class T, class R>
class KernelAttention {
 public:
  KernelAttention(const AttentionOptions& request, const Sequences& sequences, double scale,
                  const Geometry& geometry, const Visibility& visibility,
                  const ScoreParts<T>& parts)
      : request_(request),
        scale_(scale),
        geometry_(geometry),
        visibility_(visibility),
        scores_(parts.scores),
        own_(parts.own),
        kernel_(kernel_for(request, geometry, scores_ == nullptr, std::is_same_v<T, float>)),
        query_(sequences.query, geometry.heads),
        key_(sequences.key_or_query(), geometry.kv_heads, sequences.past_key),
        value_(sequences.value_or_key(), geometry.kv_heads, sequences.past_value),
        sizes_{geometry.keys, geometry.query_width, geometry.value_width},
        group_(geometry.heads / geometry.kv_heads),
        intervals_only_(visibility.only_intervals()),
        sinks_(request.sinks.converted(DType::float64)),
        weights_type_(weights_dtype(request)) {
    if (const PositionBias bias(request, geometry); bias) {
      if (request.mask.bias) {
        exact_terms_.emplace(bias, geometry, visibility, request.threads);
      } else {
        terms_.emplace(bias, geometry, visibility, request.threads);
      }
    }
    if (request.pool) {
      pooled_.emplace(*request.pool, geometry, kernels::query_block);
      blocks_ = pooled_->blocks().size();
      for (std::size_t bin = 0; bin < pooled_->key_bins(); ++bin) {
        const std::size_t end = pooled_->first_key(bin + 1);
        for (std::size_t key = pooled_->first_key(bin); key < end; key += kernels::most_bin_keys) {
          first_keys_.push_back(static_cast<std::uint32_t>(key));
          bin_columns_.push_back(static_cast<std::uint32_t>(bin));
        }
      }
      first_keys_.push_back(static_cast<std::uint32_t>(geometry.keys));
    }
  }

  std::optional<AttentionResult> compute() {
    const Shape output_shape = geometry_.output_shape(), map_shape = geometry_.weights_shape();
    output_ = new_elements<T>(element_count(output_shape));
    const bool rounded = is_half(request_.dtype);
    if ((rounded || own_ != nullptr) && !inputs_finite()) return std::nullopt;
    if (request_.weights) {
      weights_ = new_elements<R>(element_count(map_shape));
      if (request_.mask.present()) {
        allowed_ = new_elements<std::uint8_t>(element_count(map_shape));
      }
    }
    compute_heads();
    if (out_of_range_) return std::nullopt;
    if (overflow_ && (request_.weights || pooled_ || inputs_finite())) return std::nullopt;

    AttentionResult result;
    result.empty_rows = empty_rows_;
    result.output = filled(output_shape, output_).converted(request_.dtype);
    if (weights_) {
      result.weights = filled(map_shape, weights_);
      if (rounded) result.weights = result.weights.converted(weights_type_);
    }
    if (allowed_) result.allowed = filled(map_shape, allowed_);
    if (pooled_) {
      result.pooled = pooled_->weights(request_.dtype);
      if (request_.mask.present()) result.pooled_allowed = pooled_->allowed();
    }
    return result;
  }

 private:
  void compute_heads() {
    block_queries_ = block_queries(kernel_, sizes_);
    if (!pooled_) blocks_ = (geometry_.queries + block_queries_ - 1) / block_queries_;
    const std::size_t heads = geometry_.batch * geometry_.kv_heads;
    const std::size_t threads = thread_count(request_.threads);
    if (kernel_ == KernelKind::few_queries) {
      by_keys(heads, threads);
    } else if (heads >= 4 * threads || threads == 1) {
      by_heads(heads, threads);
    } else {
      by_blocks(heads, threads);
    }
  }

  // Calls task(i, state) for i in 0…count−1. Each thread makes one state.
  template <class MakeState, class Task>
  void share(std::size_t count, std::size_t threads, const MakeState& make_state,
             const Task& task) {
    std::atomic<std::size_t> next{0};
    const std::size_t workers = std::min(threads, count);
    parallel_for(workers, workers, [&](std::size_t) {
      auto state = make_state();
      for (std::size_t i = next++; i < count && !out_of_range_; i = next++) {
        check_time();
        task(i, state);
      }
    });
  }

  KeyHead<T> rows_of(std::size_t batch, std::size_t kv_head) const {
    KeyHead<T> rows;
    rows.keys.resize(geometry_.keys);
    rows.values.resize(geometry_.keys);
    key_.starts(batch, kv_head, rows.keys.data());
    value_.starts(batch, kv_head, rows.values.data());
    return rows;
  }

  // The scratch of a thread: that of the kernel, then the scores of a block of queries, both of
  // whole cache lines.
  static std::size_t whole_lines(std::size_t count) {
    constexpr std::size_t line = 64 / sizeof(T);
    return (count + line - 1) / line * line;
  }
  std::size_t kernel_count() const {
    switch (kernel_) {
      case KernelKind::rounded:
      case KernelKind::rounded_pairs:
        return whole_lines(kernels::rounded_scratch_count(sizes_));
      case KernelKind::whole_rows:
        return whole_lines(kernels::weights_scratch_count<T, R>(sizes_)) +
               (weights_ ? 0 : whole_lines(block_queries_ * sizes_.keys));
      case KernelKind::small_heads:
        return whole_lines(kernels::small_scratch_count<T>(sizes_));
      case KernelKind::tile_blocks:
        return whole_lines(kernels::split_scratch_count(sizes_, reweighs()));
      case KernelKind::few_queries:
        return 0;
      case KernelKind::blocks:
        break;
    }
    return whole_lines(kernels::attention_scratch_count<T>(sizes_, bin_columns_.size()));
  }
  std::size_t score_count() const {
    return scores_ == nullptr ? 0 : whole_lines(kernels::query_block * scores_->stride());
  }
  std::shared_ptr<T> scratch() const { return new_elements<T>(kernel_count() + score_count()); }

  // Many heads: a thread packs a head and computes it before the next, so that the packed head
  // stays in its cache.
  void by_heads(std::size_t heads, std::size_t threads) {
    struct State {
      HeadPacking<T> packing;
      std::shared_ptr<T> scratch;
    };
    share(
        heads, threads,
        [&] {
          return State{HeadPacking<T>(kernel_, sizes_), scratch()};
        },
        [&](std::size_t at, State& state) {
          const std::size_t batch = at / geometry_.kv_heads, kv_head = at % geometry_.kv_heads;
          const KeyHead<T> rows = rows_of(batch, kv_head);
          state.packing.fill(rows);
          for (std::size_t i = 0; i < group_ * blocks_; ++i) {
            check_time();
            attend(batch, kv_head * group_ + i / blocks_, i % blocks_, state.packing.head(),
                   state.scratch.get());
          }
        });
  }

  // Few heads: all are packed, then the threads share the blocks of queries, the last ones first:
  // with a causal mask these take longest.
  void by_blocks(std::size_t heads, std::size_t threads) {
    std::vector<HeadPacking<T>> packings(heads);
    std::vector<KeyHead<T>> rows(heads);
    const std::size_t parts = HeadPacking<T>::parts(kernel_);
    parallel_for(heads, threads, [&](std::size_t at) {
      packings[at] = HeadPacking<T>(kernel_, sizes_);
      rows[at] = rows_of(at / geometry_.kv_heads, at % geometry_.kv_heads);
      if (parts == 1) packings[at].fill(rows[at]);
    });
    if (parts > 1) {
      // With fewer heads than threads several threads pack one head.
      parallel_for(parts * heads, threads, [&](std::size_t at) {
        packings[at / parts].fill(rows[at / parts], at % parts);
      });
    }
    const std::size_t query_heads = heads * group_;
    share(
        query_heads * blocks_, threads, [&] { return scratch(); },
        [&](std::size_t at, const std::shared_ptr<T>& own) {
          const std::size_t head = at % query_heads, block = blocks_ - 1 - at / query_heads;
          attend(head / geometry_.heads, head % geometry_.heads, block,
                 packings[head / group_].head(), own.get());
        });
  }

  // Few queries: threads share parts of the keys, which are read unpacked.
  void by_keys(std::size_t heads, std::size_t threads) {
    const std::size_t parts = (geometry_.keys + kernels::key_part - 1) / kernels::key_part;
    const std::size_t count = kernels::partial_count(geometry_.queries, sizes_);
    const auto partials = new_elements<T>(heads * group_ * parts * count);
    std::vector<KeyHead<T>> rows(heads);
    std::vector<kernels::PackedHead<T>> packed(heads);
    parallel_for(heads, threads, [&](std::size_t at) {
      rows[at] = rows_of(at / geometry_.kv_heads, at % geometry_.kv_heads);
      packed[at].key_rows = rows[at].keys.data();
      packed[at].value_rows = rows[at].values.data();
    });
    std::atomic<bool> any_not_finite = false;
    parallel_for(heads * parts, threads, [&](std::size_t at) {
      const std::size_t kv_head = at / parts, part = at % parts;
      const std::size_t first = part * kernels::key_part;
      std::deque<Task> tasks;
      std::vector<const kernels::QueryBlock<T>*> query_blocks;
      for (std::size_t head = kv_head * group_; head < (kv_head + 1) * group_; ++head) {
        tasks.emplace_back(*this, head / geometry_.heads, head % geometry_.heads, 0, nullptr);
        query_blocks.push_back(&tasks.back().block);
      }
      const bool not_finite = kernels::attend_keys(
          query_blocks, packed[kv_head], first, std::min(kernels::key_part, geometry_.keys - first),
          partials.get() + (kv_head * group_ * parts + part) * count, parts * count);
      if (not_finite) any_not_finite = true;
    });
    std::vector<std::uint32_t> non_finite_keys;
    for (std::size_t head = 0; head < heads * group_; ++head) {
      const std::size_t kv_head = head / group_;
      if (any_not_finite && head % group_ == 0) {
        non_finite_keys = non_finite_keys_of(rows[kv_head]);
      }
      packed[kv_head].non_finite_keys = non_finite_keys.data();
      packed[kv_head].non_finite_count = non_finite_keys.size();
      const Task task(*this, head / geometry_.heads, head % geometry_.heads, 0, nullptr);
      note(kernels::merge_partials(task.block, packed[kv_head],
                                   partials.get() + head * parts * count, parts));
      if (request_.progress) request_.progress(task.block.queries * geometry_.keys);
    }
  }

  // The keys whose values are not finite.
  std::vector<std::uint32_t> non_finite_keys_of(const KeyHead<T>& rows) const {
    std::vector<std::uint32_t> keys;
    for (std::size_t key = 0; key < rows.values.size(); ++key) {
      const T* const row = rows.values[key];
      if (!std::all_of(row, row + geometry_.value_width, [](T x) { return std::isfinite(x); })) {
        keys.push_back(static_cast<std::uint32_t>(key));
      }
    }
    return keys;
  }

  // A block of queries in the form that kernels take.
  struct Task {
    std::array<std::uint32_t, kernels::query_block> starts{}, ends{};
    const KernelAttention* attention;
    std::size_t batch, head, first_query;
    const T* scores;
    std::vector<std::uint8_t> groups;  ///< of keys that are seen, or empty
    kernels::QueryBlock<T> block{};
    std::unique_ptr<ExpressionRows::Registers> of_score, of_weight;
    mutable std::vector<std::uint8_t> hidden;  ///< [queries, keys] with a score of −∞, or empty

    // `room`: takes scores that are not products.
    Task(const KernelAttention& self, std::size_t batch_index, std::size_t head_index,
         std::size_t index, T* room)
        : attention(&self),
          batch(batch_index),
          head(head_index),
          first_query(index * self.block_queries_),
          scores(room) {
      const Geometry& geometry = self.geometry_;
      block.queries = std::min(self.block_queries_, geometry.queries - first_query);
      if (self.pooled_) {
        first_query = self.pooled_->blocks()[index].first;
        block.queries = self.pooled_->blocks()[index].count;
      }
      std::fill_n(ends.begin(), block.queries, static_cast<std::uint32_t>(geometry.keys));
      for (std::size_t i = 0; i < block.queries && self.request_.mask.present(); ++i) {
        const Visibility::Interval seen = self.visibility_.interval(batch, head, first_query + i);
        starts[i] = static_cast<std::uint32_t>(seen.first);
        ends[i] = static_cast<std::uint32_t>(seen.end);
      }
      block.sizes = self.sizes_;
      block.query = self.query_(batch, head, first_query).data();
      block.query_stride = self.query_.stride();
      block.scale = self.scale_;
      block.softcap = self.request_.softcap.value_or(0);
      block.mask = {starts.data(), ends.data(), self.intervals_only_ ? nullptr : &add, this,
                    nullptr};
      groups = self.visibility_.seen_groups(batch, head, first_query, block.queries);
      if (!groups.empty()) block.mask.seen_groups = groups.data();
      if (self.terms_) block.mask.terms = self.terms_->of(head, place(0));
      block.mask.last_keys_first = self.terms_ || self.exact_terms_;
      if (self.sinks_) block.sink = self.sinks_.template values<double>()[head];
      block.vanishing = std::is_same_v<R, float> ? 0x1p-150 : 0;  // half the least float
      if (self.scores_ != nullptr) {
        self.scores_->compute(batch, head, first_query, {starts.data(), block.queries},
                              {ends.data(), block.queries}, room);
        if (!self.rewrites()) block.mask.added = &add_scores;
      }
      if (self.rewrites()) {
        of_score = std::make_unique<ExpressionRows::Registers>(self.own_->score->rows);
        block.mask.rewritten = &rewrite;
        block.mask.steepness = std::max(1.0, self.own_->score->rows.steepness());
        if (self.plain_products()) {
          block.scale = std::numbers::ln2;  // to which kernels give a factor of 1
          block.mask.steepness *= std::max(1e-300, std::abs(self.scale_) * std::numbers::log2e);
        }
      }
      if (self.reweighs()) {
        of_weight = std::make_unique<ExpressionRows::Registers>(self.own_->weight->rows);
        block.reweighted = &reweigh;
      }
      const std::size_t width = geometry.value_width;
      if (geometry.joined) {
        block.output_stride = geometry.heads * width;
        block.output = self.output_.get() +
                       (batch * geometry.queries + first_query) * block.output_stride +
                       head * width;
      } else {
        block.output_stride = width;
        block.output = self.output_.get() + self.row(batch, head, first_query) * width;
      }
    }
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    // The place of a query of the block among the keys.
    std::ptrdiff_t place(std::size_t query) const {
      return static_cast<std::ptrdiff_t>(first_query + query) +
             attention->visibility_.offset(batch);
    }

    // Terms of a mask that is not made of intervals.
    static void add(const void* context, std::size_t query, std::size_t first_key,
                    std::size_t count, T* row) noexcept {
      const auto& self = *static_cast<const Task*>(context);
      const auto& exact_terms = self.attention->exact_terms_;
      const double* const terms =
          exact_terms ? exact_terms->of(self.head, self.place(query)) + first_key : nullptr;
      self.attention->visibility_.add(self.batch, self.head, self.first_query + query, first_key,
                                      std::span(row, count), terms);
    }

    ExpressionCell row_of(std::size_t query) const {
      return {.b = batch,
              .h = head,
              .i = first_query + query,
              .offset = attention->visibility_.offset(batch)};
    }

    // Calls compute(r, key, piece) for pieces of so many rows and keys, which begin there.
    template <class Compute>
    static void by_pieces(std::size_t rows, std::size_t first_key, std::size_t keys,
                          const Compute& compute) {
      for (std::size_t key = 0; key < keys; key += kernels::row_piece) {
        const std::size_t count = std::min(kernels::row_piece, keys - key);
        const std::size_t most = kernels::RowPiece::most_rows(count);
        for (std::size_t r = 0; r < rows; r += most) {
          compute(r, key, kernels::RowPiece{first_key + key, count, std::min(most, rows - r)});
        }
      }
    }

    // Scores by expression.
    static void rewrite(const void* context, const kernels::ScoreRows<T>& rows,
                        double unit) noexcept {
      const auto& self = *static_cast<const Task*>(context);
      const KernelAttention& attention = *self.attention;
      const ExpressionRows& expression = attention.own_->score->rows;
      const auto* const added = attention.scores_;
      const double most = attention.largest_part(unit);
      const kernels::RowFactors factors{attention.plain_products() ? attention.scale_ : 1 / unit,
                                        unit, most};
      by_pieces(
          rows.queries, rows.first_key, rows.keys,
          [&](std::size_t r, std::size_t key, const kernels::RowPiece& piece) {
            const std::size_t query = rows.query + r;
            T* const to = rows.scores + r * rows.stride + key;
            if (added == nullptr &&
                expression.replace(*self.of_score, self.row_of(query), piece,
                                   &attention.own_->compared, factors, to, rows.stride)) {
              return;
            }
            if (added != nullptr) {
              kernels::widen_rows(self.scores + query * added->stride() + piece.first_key,
                                  added->stride(), 1, piece, self.of_score->given());
              self.forget_unseen(query, piece, self.of_score->given());
            } else {
              kernels::widen_rows(to, rows.stride, factors.widen, piece, self.of_score->given());
            }
            const double* const values =
                expression
                    .values(*self.of_score, self.row_of(query), piece, &attention.own_->compared)
                    .data();
            const kernels::RowOutcome outcome =
                kernels::narrow_rows(values, unit, piece, to, rows.stride);
            for (std::size_t n = 0; n < piece.rows; ++n) {
              const T* const row = to + n * rows.stride;
              const double* const exact = values + n * piece.stride();
              const bool large =
                  most < largest_number && sees_larger({exact, piece.keys}, most / unit);
              if ((outcome.nan || outcome.too_large || large) &&
                  self.sees_invalid(query + n, piece, exact, unit, most)) {
                attention.out_of_range_ = true;
              }
              if (outcome.negative_infinity && (attention.allowed_ || attention.pooled_)) {
                self.hide(query + n, piece.first_key, {row, piece.keys});
              }
            }
          });
    }

    // Puts 0 for scores that were not computed, because a query does not see their keys.
    void forget_unseen(std::size_t query, const kernels::RowPiece& piece, double* cells) const {
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

    static bool sees_larger(std::span<const double> numbers, double most) {
      double largest = 0;
      for (const double number : numbers) {
        largest = std::abs(number) > largest ? std::abs(number) : largest;
      }
      return largest > most;
    }

    // Whether a query sees a score that is NaN, or finite and larger than `most`.
    bool sees_invalid(std::size_t query, const kernels::RowPiece& piece, const double* row,
                      double unit, double most) const {
      std::array<T, kernels::row_piece> terms{};
      if (!attention->intervals_only_) {
        attention->visibility_.add(batch, head, first_query + query, piece.first_key,
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

    void hide(std::size_t query, std::size_t first_key, std::span<const T> row) const {
      const std::size_t keys = attention->geometry_.keys;
      hidden.resize(block.queries * keys);
      for (std::size_t j = 0; j < row.size(); ++j) {
        if (row[j] == -std::numeric_limits<T>::infinity()) hidden[query * keys + first_key + j] = 1;
      }
    }

    // Unsees the keys whose scores are −∞.
    void hide_from(std::size_t query, std::span<std::uint8_t> seen) const {
      for (std::size_t j = 0; j < seen.size() && !hidden.empty(); ++j) {
        if (hidden[query * seen.size() + j] != 0) seen[j] = 0;
      }
    }

    // Weights by expression.
    static void reweigh(const void* context, std::size_t query, std::size_t first_key,
                        std::size_t count, const std::uint8_t* seen, T* weights) noexcept {
      const auto& self = *static_cast<const Task*>(context);
      const KernelAttention& attention = *self.attention;
      const ExpressionCell row = self.row_of(query);
      by_pieces(
          1, first_key, count, [&](std::size_t, std::size_t first, const kernels::RowPiece& piece) {
            T* const to = weights + first;
            const ExpressionRows& expression = attention.own_->weight->rows;
            const ComparedRows* const compared = &attention.own_->compared;
            kernels::RowOutcome outcome;
            if (!expression.replace(*self.of_weight, row, piece, compared, {}, to, 0)) {
              kernels::widen_rows(to, 0, 1, piece, self.of_weight->given());
              const auto values = expression.values(*self.of_weight, row, piece, compared);
              outcome = kernels::narrow_rows(values.data(), 1, piece, to, 0);
            }
            for (std::size_t j = 0; seen != nullptr && j < piece.keys; ++j) {
              to[j] = seen[first + j] != 0 ? to[j] : T(0);
            }
            const auto is_nan = [](T weight) { return std::isnan(weight); };
            if (outcome.too_large || (outcome.nan && std::any_of(to, to + piece.keys, is_nan))) {
              attention.out_of_range_ = true;
            }
          });
    }

    // add() plus the scores that are not products.
    static void add_scores(const void* context, std::size_t query, std::size_t first_key,
                           std::size_t count, T* row) noexcept {
      const auto& self = *static_cast<const Task*>(context);
      constexpr T hidden = -std::numeric_limits<T>::infinity();
      const T* scores = self.scores + query * self.attention->scores_->stride() + first_key;
      if (!self.attention->intervals_only_) {
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
  };

  std::size_t row(std::size_t batch, std::size_t head, std::size_t query) const {
    return (batch * geometry_.heads + head) * geometry_.queries + query;
  }

  void note(const kernels::BlockOutcome& outcome) {
    empty_rows_ += outcome.empty_rows;
    if (outcome.overflow) overflow_ = true;
    if (outcome.out_of_range) out_of_range_ = true;
  }

  void attend(std::size_t batch, std::size_t head, std::size_t block,
              const kernels::PackedHead<T>& packed, T* scratch) {
    const Task task(*this, batch, head, block, scratch + kernel_count());
    const std::size_t weights_at = row(batch, head, task.first_query) * geometry_.keys;
    switch (kernel_) {
      case KernelKind::whole_rows:
        weigh(task, block, packed, scratch);
        break;
      case KernelKind::small_heads:
        note(kernels::attend_small_block(task.block, packed, scratch));
        break;
      case KernelKind::tile_blocks:
        if constexpr (std::is_same_v<T, float>) {
          note(kernels::attend_split_block(task.block, packed, scratch));
        }
        break;
      case KernelKind::blocks:
        if (pooled_) {
          attend_pooled(task, block, packed, scratch);
        } else {
          note(kernels::attend_block(task.block, packed, nullptr, scratch));
        }
        break;
      case KernelKind::rounded:
      case KernelKind::rounded_pairs:
        if constexpr (std::is_same_v<T, float> && std::is_same_v<R, float>) {
          const kernels::StepRounding rounding{rounded_type(request_.dtype),
                                               !is_half(weights_type_)};
          note(kernels::attend_rounded_block(task.block, packed, rounding,
                                             weights_ ? weights_.get() + weights_at : nullptr,
                                             scratch));
        }
        break;
      case KernelKind::few_queries:  // by_keys() computes it
        break;
    }
    if (request_.progress) request_.progress(task.block.queries * geometry_.keys);
    if (pooled_ && request_.mask.present()) see_pooled(task, block);
    if (!allowed_) return;
    for (std::size_t i = 0; i < task.block.queries; ++i) {
      const std::size_t query = task.first_query + i;
      const std::span<std::uint8_t> seen(allowed_.get() + row(batch, head, query) * geometry_.keys,
                                         geometry_.keys);
      visibility_.see(batch, head, query, seen);
      task.hide_from(i, seen);
    }
  }

  // Whole rows of weights, in memory of the thread unless they are wanted.
  void weigh(const Task& task, std::size_t block, const kernels::PackedHead<T>& packed,
             T* scratch) {
    const std::size_t keys = geometry_.keys;
    R* weights = nullptr;
    if (weights_) {
      weights = weights_.get() + row(task.batch, task.head, task.first_query) * keys;
    } else {
      weights =
          reinterpret_cast<R*>(scratch + whole_lines(kernels::weights_scratch_count<T, R>(sizes_)));
    }
    note(kernels::weigh_block(task.block, packed, weights, scratch));
    if (pooled_) pooled_->add(task.batch * geometry_.heads + task.head, block, weights);
  }

  void attend_pooled(const Task& task, std::size_t block, const kernels::PackedHead<T>& packed,
                     T* scratch) {
    const std::size_t first_bin = pooled_->blocks()[block].first_bin;
    std::array<std::uint32_t, kernels::query_block> query_bins{};
    for (std::size_t i = 0; i < task.block.queries; ++i) {
      query_bins[i] =
          static_cast<std::uint32_t>(pooled_->query_bin(task.first_query + i) - first_bin);
    }
    const std::size_t map = task.batch * geometry_.heads + task.head;
    const kernels::WeightBins bins{
        first_keys_.data(),         bin_columns_.size(),
        query_bins.data(),          request_.pool->reduction == Pooling::Reduction::max,
        pooled_->cells(map, block), bin_columns_.data(),
        pooled_->key_bins()};
    note(kernels::attend_block(task.block, packed, &bins, scratch));
  }

  void see_pooled(const Task& task, std::size_t block) {
    const std::size_t map = task.batch * geometry_.heads + task.head;
    const bool intervals = intervals_only_ && task.hidden.empty();
    std::vector<std::uint8_t> seen(intervals ? 0 : geometry_.keys);
    for (std::size_t i = 0; i < task.block.queries; ++i) {
      if (intervals) {
        pooled_->see(map, block, i, task.starts[i], task.ends[i]);
      } else {
        visibility_.see(task.batch, task.head, task.first_query + i, seen);
        task.hide_from(i, seen);
        pooled_->see(map, block, i, seen);
      }
    }
  }

  // Whether expressions of scores get products of queries and keys before they are scaled. Scaled
  // ones would miss the numbers at which comparisons and roundings cut.
  bool plain_products() const {
    return rewrites() && scores_ == nullptr && !is_half(request_.dtype);
  }
  bool rewrites() const { return own_ != nullptr && own_->score; }
  bool reweighs() const { return own_ != nullptr && own_->weight; }

  // The largest score by expression, times `unit`, that is rounded before terms are added to it:
  // the rounding of a larger one shows where they cancel it (docs/numerics.md).
  double largest_part(double unit) const {
    constexpr double largest = 160;
    const bool single = std::is_same_v<T, float> && !is_half(request_.dtype);
    const bool added = request_.mask.bias || terms_ || exact_terms_;
    return single && added ? largest * unit : largest_number;
  }

  bool inputs_finite() const { return query_.finite() && key_.finite() && value_.finite(); }

  static constexpr auto largest_number = static_cast<double>(std::numeric_limits<T>::max());

  const AttentionOptions& request_;
  double scale_;
  const Geometry& geometry_;
  const Visibility& visibility_;
  const AdditiveScores<T>* scores_;
  const OwnExpressions* own_;
  KernelKind kernel_;
  HeadRows<T> query_, key_, value_;
  kernels::HeadSizes sizes_;
  std::size_t group_, block_queries_ = 0, blocks_ = 0;
  bool intervals_only_;
  Tensor sinks_;
  DType weights_type_;
  std::optional<DistanceTerms<T>> terms_;
  std::optional<DistanceTerms<double>> exact_terms_;  // in place of terms_ if there is a bias
  std::shared_ptr<T> output_;
  std::shared_ptr<R> weights_;
  std::shared_ptr<std::uint8_t> allowed_;
  std::optional<PooledMap> pooled_;
  // Bins of keys of the pooled map, wide ones cut: first keys and the end; the column of each.
  std::vector<std::uint32_t> first_keys_, bin_columns_;
  std::atomic<std::size_t> empty_rows_ = 0;
  std::atomic<bool> overflow_ = false;
  mutable std::atomic<bool> out_of_range_ = false;
};

}  // namespace

template <class T, class R>
std::optional<AttentionResult> kernel_attention(const AttentionOptions& options,
                                                const Sequences& sequences, double scale,
                                                const Geometry& geometry,
                                                const Visibility& visibility,
                                                const ScoreParts<T>& parts) {
  return KernelAttention<T, R>(options, sequences, scale, geometry, visibility, parts).compute();
}

template std::optional<AttentionResult> kernel_attention<float, float>(const AttentionOptions&,
                                                                       const Sequences&, double,
                                                                       const Geometry&,
                                                                       const Visibility&,
                                                                       const ScoreParts<float>&);
template std::optional<AttentionResult> kernel_attention<double, double>(const AttentionOptions&,
                                                                         const Sequences&, double,
                                                                         const Geometry&,
                                                                         const Visibility&,
                                                                         const ScoreParts<double>&);
template std::optional<AttentionResult> kernel_attention<double, float>(const AttentionOptions&,
                                                                        const Sequences&, double,
                                                                        const Geometry&,
                                                                        const Visibility&,
                                                                        const ScoreParts<double>&);

}  // namespace attn
