#include "attention/kernel_attention.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>

#include "attention/head_rows.hpp"
#include "attention/kernel_choice.hpp"
#include "attention/pooled_map.hpp"
#include "attention/query_task.hpp"
#include "support/parallel_for.hpp"
#include "support/work_budget.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// One attention computed in T for results in R.
template <class T, class R>
class KernelAttention {
  using Task = QueryTask<T>;

 public:
  KernelAttention(const AttentionOptions& request, const Sequences& sequences, double scale,
                  const Geometry& geometry, const KeyIntervals& intervals,
                  const ScoreParts<T>& parts, const Progress& progress)
      : request_(request),
        progress_(progress),
        geometry_(geometry),
        inputs_(request, sequences, scale, geometry, intervals, parts),
        kernel_(kernel_of<T, R>(
            kernel_for(request, geometry, parts.scores == nullptr, std::is_same_v<T, float>))),
        key_(sequences.key_or_query(), geometry.kv_heads, sequences.past_key),
        value_(sequences.value_or_key(), geometry.kv_heads, sequences.past_value),
        sizes_{geometry.keys, geometry.query_width, geometry.value_width},
        group_(geometry.heads / geometry.kv_heads),
        weights_type_(weights_dtype(request)) {
    inputs_.out_of_range = &out_of_range_;
    inputs_.vanishing = std::is_same_v<R, float> ? 0x1p-150 : 0;  // half the least float
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
    if ((rounded || inputs_.own != nullptr) && !inputs_finite()) return std::nullopt;
    if (request_.weights) {
      weights_ = new_elements<R>(element_count(map_shape));
      if (request_.mask.present()) {
        allowed_ = new_elements<std::uint8_t>(element_count(map_shape));
      }
    }
    inputs_.output = output_.get();
    inputs_.notes_hidden = allowed_ || pooled_;
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
    block_queries_ =
        kernel_.block_queries(sizes_, geometry_.batch * geometry_.heads * geometry_.queries);
    if (!pooled_) blocks_ = (geometry_.queries + block_queries_ - 1) / block_queries_;
    const std::size_t heads = geometry_.batch * geometry_.kv_heads;
    const std::size_t threads = thread_count(request_.threads);
    if (kernel_.attend == nullptr) {
      by_keys(heads, threads);
    } else if (heads >= 4 * threads || threads == 1) {
      by_heads(heads, threads);
    } else {
      by_blocks(heads, threads);
    }
  }

  // Calls work(i, state) for i in 0…count−1. Each thread makes one state, and takes from one of
  // `ranges` equal ranges after the other, beginning with a range of its own if there are as many.
  template <class MakeState, class Work>
  void share(std::size_t count, std::size_t threads, std::size_t ranges,
             const MakeState& make_state, const Work& work) {
    std::vector<std::atomic<std::size_t>> next(ranges);
    const std::size_t workers = std::min(threads, count);
    for (std::size_t range = 0; range < ranges; ++range) next[range] = range * count / ranges;
    parallel_for(workers, workers, [&](std::size_t worker) {
      auto state = make_state();
      for (std::size_t i = 0; i < ranges; ++i) {
        const std::size_t range = (worker + i) % ranges, end = (range + 1) * count / ranges;
        for (std::size_t at = next[range]++; at < end && !out_of_range_; at = next[range]++) {
          check_time();
          work(at, state);
        }
      }
    });
  }

  KeyHead<T> rows_of(std::size_t batch, std::size_t kv_head) const {
    KeyHead<T> rows;
    rows.keys.resize(geometry_.keys);
    rows.values.resize(geometry_.keys);
    key_.starts(batch, kv_head, 0, geometry_.keys, rows.keys.data());
    value_.starts(batch, kv_head, 0, geometry_.keys, rows.values.data());
    return rows;
  }

  // The scratch of a thread: that of the kernel, then the scores of a block of queries, both of
  // whole cache lines.
  static std::size_t whole_lines(std::size_t count) {
    constexpr std::size_t line = 64 / sizeof(T);
    return (count + line - 1) / line * line;
  }
  // The most queries that a block may have: blocks of a pooled map end where bins end.
  std::size_t most_queries() const { return pooled_ ? kernels::query_block : block_queries_; }
  std::size_t scratch_count() const {
    return whole_lines(
        kernel_.scratch(sizes_, request_.weights || inputs_.reweighs(), bin_columns_.size()));
  }
  std::size_t kernel_count() const {
    const bool room = kernel_.makes_weights && !weights_;
    return scratch_count() + (room ? whole_lines(most_queries() * sizes_.keys) : 0);
  }
  std::size_t score_count() const {
    return inputs_.scores == nullptr ? 0
                                     : whole_lines(kernels::query_block * inputs_.scores->stride());
  }
  std::shared_ptr<T> scratch() const { return new_elements<T>(kernel_count() + score_count()); }

  // Many heads: a thread packs a head and computes it before the next, so that the packed head
  // stays in its cache. A thread has the same heads of all samples, whose columns it computed in
  // the projections before, as far as it could (ColumnGroup::worker of packed_product.cpp).
  void by_heads(std::size_t heads, std::size_t threads) {
    struct State {
      HeadPacking<T> packing;
      std::shared_ptr<T> scratch;
    };
    share(
        heads, threads, std::min(threads, heads),
        [&] {
          return State{HeadPacking<T>(kernel_.layout, sizes_), scratch()};
        },
        [&](std::size_t at, State& state) {
          const std::size_t batch = at % geometry_.batch, kv_head = at / geometry_.batch;
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
    const std::size_t parts = kernel_.layout.parts;
    parallel_for(heads, threads, [&](std::size_t at) {
      packings[at] = HeadPacking<T>(kernel_.layout, sizes_);
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
        query_heads * blocks_, threads, 1, [&] { return scratch(); },
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
    std::atomic<bool> any_not_finite = false;
    parallel_for(heads * parts, threads, [&](std::size_t at) {
      const std::size_t kv_head = at / parts, part = at % parts;
      std::deque<Task> tasks;
      std::vector<const kernels::QueryBlock<T>*> query_blocks;
      for (std::size_t head = kv_head * group_; head < (kv_head + 1) * group_; ++head) {
        tasks.emplace_back(inputs_, head / geometry_.heads, head % geometry_.heads, queries_of(0),
                           nullptr);
        query_blocks.push_back(&tasks.back().block);
      }
      StoredKeys stored;
      if (kernels::attend_keys(query_blocks, part_of(kv_head, part, stored),
                               partials.get() + (kv_head * group_ * parts + part) * count,
                               parts * count)) {
        any_not_finite = true;
      }
    });
    KeyHead<T> rows;
    std::vector<std::uint32_t> non_finite_keys;
    kernels::PackedHead<T> whole;
    for (std::size_t head = 0; head < heads * group_; ++head) {
      if (any_not_finite && head % group_ == 0) {
        const std::size_t kv_head = head / group_;
        rows = rows_of(kv_head / geometry_.kv_heads, kv_head % geometry_.kv_heads);
        non_finite_keys = non_finite_keys_of(rows);
        whole.key_rows = rows.keys.data();
        whole.value_rows = rows.values.data();
        whole.non_finite_keys = non_finite_keys.data();
        whole.non_finite_count = non_finite_keys.size();
      }
      Task task(inputs_, head / geometry_.heads, head % geometry_.heads, queries_of(0), nullptr);
      note(
          kernels::merge_partials(task.block, whole, partials.get() + head * parts * count, parts));
      if (progress_) progress_(task.block.queries * geometry_.keys);
    }
  }

  // Starts of the rows of a part of the keys, which are few enough to stay near.
  struct StoredKeys {
    std::array<const T*, kernels::key_part + kernels::rows_beyond> keys, values;
  };

  kernels::KeyPart<T> part_of(std::size_t kv_head, std::size_t part, StoredKeys& stored) const {
    const std::size_t first = part * kernels::key_part;
    const std::size_t count = std::min(kernels::key_part, geometry_.keys - first);
    const std::size_t batch = kv_head / geometry_.kv_heads, own = kv_head % geometry_.kv_heads;
    key_.starts(batch, own, first, count, stored.keys.data());
    value_.starts(batch, own, first, count, stored.values.data());
    for (auto* const all : {&stored.keys, &stored.values}) {
      std::fill_n(all->begin() + static_cast<std::ptrdiff_t>(count), kernels::rows_beyond,
                  (*all)[count - 1]);
    }
    return {first, count, stored.keys.data(), stored.values.data()};
  }

  // The keys whose values are not finite.
  std::vector<std::uint32_t> non_finite_keys_of(const KeyHead<T>& rows) const {
    std::vector<std::uint32_t> keys;
    for (std::size_t key = 0; key < geometry_.keys; ++key) {
      if (!all_finite(std::span(rows.values[key], geometry_.value_width))) {
        keys.push_back(static_cast<std::uint32_t>(key));
      }
    }
    return keys;
  }

  QuerySpan queries_of(std::size_t block) const {
    if (pooled_) return {pooled_->blocks()[block].first, pooled_->blocks()[block].count};
    const std::size_t first = block * block_queries_;
    return {first, std::min(block_queries_, geometry_.queries - first)};
  }

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
    Task task(inputs_, batch, head, queries_of(block), scratch + kernel_count());
    R* weights = nullptr;
    if (weights_) {
      weights = weights_.get() + row(batch, head, task.first_query) * geometry_.keys;
    } else if (kernel_.makes_weights) {
      weights = reinterpret_cast<R*>(scratch + scratch_count());
    }
    const std::size_t map = batch * geometry_.heads + head;
    std::array<std::uint32_t, kernels::query_block> query_bins{};
    const std::optional<kernels::WeightBins> bins = bins_of(task, map, block, query_bins);
    const kernels::StepRounding rounding{rounded_type(request_.dtype), request_.fused_rounding,
                                         !is_half(weights_type_)};
    note(kernel_.attend({task.block, packed, bins ? &*bins : nullptr, rounding, weights, scratch}));
    if (pooled_ && !bins) pooled_->add(map, block, weights);
    if (progress_) progress_(task.block.queries * geometry_.keys);
    if (pooled_ && request_.mask.present()) see_pooled(task, block);
    if (!allowed_) return;
    for (std::size_t i = 0; i < task.block.queries; ++i) {
      const std::size_t query = task.first_query + i;
      const std::span<std::uint8_t> seen(allowed_.get() + row(batch, head, query) * geometry_.keys,
                                         geometry_.keys);
      inputs_.visibility.see(batch, head, query, seen);
      task.hide_from(i, seen);
    }
  }

  // The bins of a pooled map, unless whole rows of weights are made. `query_bins` takes those of
  // the block's queries.
  std::optional<kernels::WeightBins> bins_of(
      const Task& task, std::size_t map, std::size_t block,
      std::array<std::uint32_t, kernels::query_block>& query_bins) {
    if (!pooled_ || kernel_.makes_weights) return std::nullopt;
    const std::size_t first_bin = pooled_->blocks()[block].first_bin;
    for (std::size_t i = 0; i < task.block.queries; ++i) {
      query_bins[i] =
          static_cast<std::uint32_t>(pooled_->query_bin(task.first_query + i) - first_bin);
    }
    return kernels::WeightBins{
        first_keys_.data(),         bin_columns_.size(),
        query_bins.data(),          request_.pool->reduction == Pooling::Reduction::max,
        pooled_->cells(map, block), bin_columns_.data(),
        pooled_->key_bins()};
  }

  void see_pooled(const Task& task, std::size_t block) {
    const std::size_t map = task.batch * geometry_.heads + task.head;
    const bool intervals = inputs_.intervals.whole() && task.hidden.empty();
    std::vector<std::uint8_t> seen(intervals ? 0 : geometry_.keys);
    for (std::size_t i = 0; i < task.block.queries; ++i) {
      if (intervals) {
        pooled_->see(map, block, i, task.starts[i], task.ends[i]);
      } else {
        inputs_.visibility.see(task.batch, task.head, task.first_query + i, seen);
        task.hide_from(i, seen);
        pooled_->see(map, block, i, seen);
      }
    }
  }

  bool inputs_finite() const { return inputs_.query.finite() && key_.finite() && value_.finite(); }

  const AttentionOptions& request_;
  const Progress& progress_;
  const Geometry& geometry_;
  KernelInputs<T> inputs_;
  Kernel<T, R> kernel_;
  HeadRows<T> key_, value_;
  kernels::HeadSizes sizes_;
  std::size_t group_, block_queries_ = 0, blocks_ = 0;
  DType weights_type_;
  std::shared_ptr<T> output_;
  std::shared_ptr<R> weights_;
  std::shared_ptr<std::uint8_t> allowed_;
  std::optional<PooledMap> pooled_;
  // Bins of keys of the pooled map, wide ones cut: first keys and the end; the column of each.
  std::vector<std::uint32_t> first_keys_, bin_columns_;
  std::atomic<std::size_t> empty_rows_ = 0;
  std::atomic<bool> overflow_ = false;
  std::atomic<bool> out_of_range_ = false;
};

}  // namespace

template <class T, class R>
std::optional<AttentionResult> kernel_attention(const AttentionOptions& options,
                                                const Sequences& sequences, double scale,
                                                const Geometry& geometry,
                                                const KeyIntervals& intervals,
                                                const ScoreParts<T>& parts,
                                                const Progress& progress) {
  return KernelAttention<T, R>(options, sequences, scale, geometry, intervals, parts, progress)
      .compute();
}

template std::optional<AttentionResult> kernel_attention<float, float>(
    const AttentionOptions&, const Sequences&, double, const Geometry&, const KeyIntervals&,
    const ScoreParts<float>&, const Progress&);
template std::optional<AttentionResult> kernel_attention<double, double>(
    const AttentionOptions&, const Sequences&, double, const Geometry&, const KeyIntervals&,
    const ScoreParts<double>&, const Progress&);
template std::optional<AttentionResult> kernel_attention<double, float>(
    const AttentionOptions&, const Sequences&, double, const Geometry&, const KeyIntervals&,
    const ScoreParts<double>&, const Progress&);

}  // namespace attn
