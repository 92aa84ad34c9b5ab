#include "attention/fast_path.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <type_traits>
#include <vector>

#include "attention/additive_scores.hpp"
#include "attention/linear.hpp"
#include "attention/pooled_map.hpp"
#include "kernels/attention_weights.hpp"
#include "kernels/fused_attention.hpp"
#include "support/large_block.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

// Numbers that are not set to zero first: on large pages, and touched by the threads that fill
// them.
template <class T>
std::shared_ptr<T> uninitialised(std::size_t count) {
  void* block = allocate_block(std::max<std::size_t>(count, 1) * sizeof(T));
  if (block == nullptr) throw std::bad_alloc();
  return {static_cast<T*>(block), FreeBlock()};
}

template <class T>
Tensor tensor_of(Shape shape, const std::shared_ptr<T>& elements) {
  return Tensor::borrowed(std::move(shape), dtype_of<T>(), elements.get(), elements);
}

// A tensor seen as [batch, heads, length, width] of rows of T.
template <class T>
class Rows {
 public:
  Rows() = default;

  // A tensor of rank 4, or one of rank 2 or 3 whose last axis holds `heads` heads side by side.
  Rows(const Tensor& tensor, std::size_t heads) : numbers_(tensor.converted(dtype_of<T>())) {
    const Shape& shape = tensor.shape();
    const std::size_t rank = shape.size();
    length_ = shape[rank - 2];
    stride_ = shape[rank - 1];
    if (rank == 4) {
      head_stride_ = length_ * stride_;
      batch_stride_ = shape[1] * head_stride_;
    } else {
      head_stride_ = stride_ / heads;
      batch_stride_ = length_ * stride_;
    }
    if (rank < 3 || shape[0] == 1) batch_stride_ = 0;
  }

  std::size_t length() const { return length_; }
  std::size_t stride() const { return stride_; }

  const T* row(std::size_t batch, std::size_t head, std::size_t i) const {
    return numbers_.template values<T>().data() + batch * batch_stride_ + head * head_stride_ +
           i * stride_;
  }

  bool finite() const {
    const auto all = numbers_ ? numbers_.template values<T>() : std::span<const T>();
    return std::all_of(all.begin(), all.end(), [](T x) { return std::isfinite(x); });
  }

 private:
  Tensor numbers_;
  std::size_t length_ = 0, stride_ = 0, head_stride_ = 0, batch_stride_ = 0;
};

double scale_of(const AttentionRequest& request, const Geometry& geometry) {
  if (request.scale) return *request.scale;
  return info(request.kind).scales_by_width
             ? 1 / std::sqrt(static_cast<double>(geometry.query_width))
             : 1.0;
}

bool single_precision_holds(double x) {
  return x == 0 || (std::abs(x) < std::numeric_limits<float>::max() &&
                    std::abs(x) > std::numeric_limits<float>::min());
}

// A key head before it is packed: past rows first, then the present ones.
template <class T>
struct HeadRows {
  std::vector<const T*> keys, values;
};

// Where one worker computes: buffers that it keeps from task to task.
template <class T>
struct Packing {
  std::shared_ptr<T> keys, values;
  std::vector<std::uint32_t> odd_keys;
  kernels::PackedHead<T> head{};

  Packing() = default;
  explicit Packing(const kernels::HeadSizes& sizes)
      : keys(uninitialised<T>(kernels::packed_key_count<T>(sizes))),
        values(uninitialised<T>(kernels::packed_value_count<T>(sizes))),
        odd_keys(sizes.keys),
        head{keys.get(), values.get(), odd_keys.data(), 0} {}
};

template <class T>
class FastAttention {
 public:
  // With `scores`, these are added to the products before the mask.
  FastAttention(const AttentionRequest& request, const Geometry& geometry,
                const Visibility& visibility, const AdditiveScores* scores = nullptr)
      : request_(request),
        geometry_(geometry),
        visibility_(visibility),
        scores_(scores),
        query_(request.query, geometry.heads),
        sizes_{geometry.keys, geometry.query_width, geometry.value_width},
        group_(geometry.heads / geometry.kv_heads),
        blocks_((geometry.queries + kernels::query_block - 1) / kernels::query_block),
        intervals_only_(visibility.only_intervals()) {
    if (request.pool) {
      pooled_.emplace(*request.pool, geometry, kernels::query_block);
      blocks_ = pooled_->blocks().size();
    }
    const Tensor& key = request.key ? request.key : request.query;
    key_ = Rows<T>(key, geometry.kv_heads);
    value_ = Rows<T>(request.value ? request.value : key, geometry.kv_heads);
    if (geometry.past > 0) {
      past_key_ = Rows<T>(request.past_key, geometry.kv_heads);
      past_value_ = Rows<T>(request.past_value, geometry.kv_heads);
    }
  }

  std::optional<AttentionResult> compute() {
    const Shape output_shape = geometry_.output_shape(), map_shape = geometry_.weights_shape();
    output_ = uninitialised<T>(element_count(output_shape));
    if (request_.weights) {
      weights_ = uninitialised<T>(element_count(map_shape));
      if (request_.mask.present()) {
        allowed_ = uninitialised<std::uint8_t>(element_count(map_shape));
      }
    }
    const std::size_t heads = geometry_.batch * geometry_.kv_heads;
    const std::size_t threads = thread_count(request_.threads);
    if (heads >= 4 * threads || threads == 1) {
      by_heads(heads, threads);
    } else {
      by_blocks(heads, threads);
    }
    if (overflow_ && (request_.weights || pooled_ || inputs_finite())) return std::nullopt;

    AttentionResult result;
    result.empty_rows = empty_rows_;
    result.output = tensor_of(output_shape, output_);
    if (weights_) result.weights = tensor_of(map_shape, weights_);
    if (allowed_) result.allowed = tensor_of(map_shape, allowed_);
    if (pooled_) {
      result.pooled = pooled_->weights(request_.dtype);
      if (request_.mask.present()) result.pooled_allowed = pooled_->allowed();
    }
    return result;
  }

 private:
  // Calls task(i, scratch) for i in 0…count−1, each thread with buffers of its own.
  template <class MakeState, class Task>
  static void share(std::size_t count, std::size_t threads, const MakeState& make_state,
                    const Task& task) {
    std::atomic<std::size_t> next{0};
    const std::size_t workers = std::min(threads, count);
    parallel_for(workers, workers, [&](std::size_t) {
      auto state = make_state();
      for (std::size_t i = next++; i < count; i = next++) task(i, state);
    });
  }

  HeadRows<T> rows_of(std::size_t batch, std::size_t kv_head) const {
    HeadRows<T> rows;
    rows.keys.reserve(geometry_.keys);
    rows.values.reserve(geometry_.keys);
    const auto append = [&](const Rows<T>& keys, const Rows<T>& values) {
      for (std::size_t i = 0; i < keys.length(); ++i) {
        rows.keys.push_back(keys.row(batch, kv_head, i));
        rows.values.push_back(values.row(batch, kv_head, i));
      }
    };
    append(past_key_, past_value_);
    append(key_, value_);
    return rows;
  }

  // A thread's scratch holds what the kernels need, then the scores of a block of queries, then its
  // weights that are to be pooled; each part begins at a cache line.
  static std::size_t whole_lines(std::size_t count) {
    constexpr std::size_t line = 64 / sizeof(T);
    return (count + line - 1) / line * line;
  }
  std::size_t kernel_count() const {
    return whole_lines(request_.weights || pooled_ ? kernels::weights_scratch_count<T>(sizes_)
                                                   : kernels::attention_scratch_count<T>(sizes_));
  }
  std::size_t score_count() const {
    return scores_ == nullptr ? 0 : whole_lines(kernels::query_block * scores_->stride());
  }
  std::shared_ptr<T> scratch() const {
    const std::size_t pooled = pooled_ ? kernels::query_block * geometry_.keys : 0;
    return uninitialised<T>(kernel_count() + score_count() + pooled);
  }

  // Many heads: a thread packs a head, computes it and goes on to the next, so that what is packed
  // stays in its cache.
  void by_heads(std::size_t heads, std::size_t threads) {
    struct State {
      Packing<T> packing;
      std::shared_ptr<T> scratch;
    };
    share(
        heads, threads,
        [&] {
          return State{Packing<T>(sizes_), scratch()};
        },
        [&](std::size_t at, State& state) {
          const std::size_t batch = at / geometry_.kv_heads, kv_head = at % geometry_.kv_heads;
          const HeadRows<T> rows = rows_of(batch, kv_head);
          kernels::pack_head(sizes_, rows.keys.data(), rows.values.data(), state.packing.head);
          for (std::size_t i = 0; i < group_ * blocks_; ++i) {
            attend(batch, kv_head * group_ + i / blocks_, i % blocks_, rows, state.packing.head,
                   state.scratch.get());
          }
        });
  }

  // Few heads: all are packed, then the threads share the blocks of queries, the last ones first:
  // with a causal mask these take longest.
  void by_blocks(std::size_t heads, std::size_t threads) {
    std::vector<Packing<T>> packings(heads);
    std::vector<HeadRows<T>> rows(heads);
    parallel_for(heads, threads, [&](std::size_t at) {
      packings[at] = Packing<T>(sizes_);
      rows[at] = rows_of(at / geometry_.kv_heads, at % geometry_.kv_heads);
      kernels::pack_head(sizes_, rows[at].keys.data(), rows[at].values.data(), packings[at].head);
    });
    const std::size_t query_heads = heads * group_;
    share(
        query_heads * blocks_, threads, [&] { return scratch(); },
        [&](std::size_t at, const std::shared_ptr<T>& own) {
          const std::size_t head = at % query_heads, block = blocks_ - 1 - at / query_heads;
          attend(head / geometry_.heads, head % geometry_.heads, block, rows[head / group_],
                 packings[head / group_].head, own.get());
        });
  }

  // What the kernel asks for the terms of a mask that are not intervals, and for scores that are no
  // products.
  struct MaskedHead {
    const FastAttention* attention;
    std::size_t batch, head, first_query;
    const std::uint32_t *starts, *ends;
    const T* scores;
    static void add(const void* context, std::size_t query, std::size_t first_key,
                    std::size_t count, T* row) noexcept {
      const auto& self = *static_cast<const MaskedHead*>(context);
      self.attention->visibility_.add(self.batch, self.head, self.first_query + query, first_key,
                                      std::span(row, count));
    }
    static void add_scores(const void* context, std::size_t query, std::size_t first_key,
                           std::size_t count, T* row) noexcept {
      const auto& self = *static_cast<const MaskedHead*>(context);
      constexpr T hidden = -std::numeric_limits<T>::infinity();
      const T* scores = self.scores + query * self.attention->scores_->stride() + first_key;
      if (!self.attention->intervals_only_) {
        add(context, query, first_key, count, row);
        for (std::size_t j = 0; j < count; ++j) {
          row[j] = row[j] == hidden ? hidden : row[j] + scores[j];
        }
        return;
      }
      const auto place = [&](std::size_t key) {
        return std::clamp(key, first_key, first_key + count) - first_key;
      };
      const std::size_t start = place(self.starts[query]);
      const std::size_t end = std::max(start, place(self.ends[query]));
      std::fill(row, row + start, hidden);
      std::copy(scores + start, scores + end, row + start);
      std::fill(row + end, row + count, hidden);
    }
  };

  void attend(std::size_t batch, std::size_t head, std::size_t block, const HeadRows<T>& rows,
              const kernels::PackedHead<T>& packed, T* scratch) {
    std::size_t first = block * kernels::query_block;
    std::size_t queries = std::min(kernels::query_block, geometry_.queries - first);
    if (pooled_) {
      first = pooled_->blocks()[block].first;
      queries = pooled_->blocks()[block].count;
    }
    std::array<std::uint32_t, kernels::query_block> starts{}, ends{};
    for (std::size_t i = 0; i < queries; ++i) {
      const Visibility::Interval seen = visibility_.interval(batch, first + i);
      starts[i] = static_cast<std::uint32_t>(seen.first);
      ends[i] = static_cast<std::uint32_t>(seen.end);
    }
    T* scores = scratch + kernel_count();
    if constexpr (std::is_same_v<T, float>) {
      if (scores_ != nullptr) {
        scores_->compute(batch, head, first, {starts.data(), queries}, {ends.data(), queries},
                         scores);
      }
    }
    const MaskedHead masked{this, batch, head, first, starts.data(), ends.data(), scores};
    const std::size_t row = (batch * geometry_.heads + head) * geometry_.queries + first;
    const std::size_t width = geometry_.value_width;
    kernels::QueryBlock<T> task{};
    task.sizes = sizes_;
    task.query = query_.row(batch, head, first);
    task.query_stride = query_.stride();
    task.queries = queries;
    task.scale = scale_of(request_, geometry_);
    task.softcap = request_.softcap.value_or(0);
    task.mask = {starts.data(), ends.data(), intervals_only_ ? nullptr : &MaskedHead::add, &masked};
    if (scores_ != nullptr) task.mask.added = &MaskedHead::add_scores;
    if (geometry_.joined) {
      task.output_stride = geometry_.heads * width;
      task.output =
          output_.get() + (batch * geometry_.queries + first) * task.output_stride + head * width;
    } else {
      task.output_stride = width;
      task.output = output_.get() + row * width;
    }
    T* weights = weights_ ? weights_.get() + row * geometry_.keys : nullptr;
    if (pooled_) weights = scores + score_count();
    const kernels::BlockOutcome outcome =
        weights != nullptr ? kernels::weigh_block(task, packed, weights, scratch)
                           : kernels::attend_block(task, packed, rows.values.data(), scratch);
    empty_rows_ += outcome.empty_rows;
    if (outcome.overflow) overflow_ = true;
    if (pooled_) pool(batch, head, block, queries, task, weights);
    if (!allowed_) return;
    for (std::size_t i = 0; i < queries; ++i) {
      visibility_.see(batch, head, first + i,
                      {allowed_.get() + (row + i) * geometry_.keys, geometry_.keys});
    }
  }

  void pool(std::size_t batch, std::size_t head, std::size_t block, std::size_t queries,
            const kernels::QueryBlock<T>& task, const T* weights) {
    const std::size_t map = batch * geometry_.heads + head;
    pooled_->add(map, block, weights);
    if (!request_.mask.present()) return;
    std::vector<std::uint8_t> seen(intervals_only_ ? 0 : geometry_.keys);
    for (std::size_t i = 0; i < queries; ++i) {
      if (intervals_only_) {
        pooled_->see(map, block, i, task.mask.first[i], task.mask.end[i]);
      } else {
        visibility_.see(batch, head, pooled_->blocks()[block].first + i, seen);
        pooled_->see(map, block, i, seen);
      }
    }
  }

  bool inputs_finite() const {
    return query_.finite() && key_.finite() && value_.finite() && past_key_.finite() &&
           past_value_.finite();
  }

  const AttentionRequest& request_;
  const Geometry& geometry_;
  const Visibility& visibility_;
  const AdditiveScores* scores_;
  Rows<T> query_, key_, value_, past_key_, past_value_;
  kernels::HeadSizes sizes_;
  std::size_t group_, blocks_;
  bool intervals_only_;
  std::shared_ptr<T> output_, weights_;
  std::shared_ptr<std::uint8_t> allowed_;
  std::optional<PooledMap> pooled_;
  std::atomic<std::size_t> empty_rows_ = 0;
  std::atomic<bool> overflow_ = false;
};

// k Wᵀ, so that qᵀ W k is a product of queries and these. The rows of all heads are as wide as W,
// whether they stand apart or side by side.
Tensor projected_keys(const Tensor& key, const Tensor& W, std::size_t threads) {
  const std::size_t width = W.shape()[1];
  Shape shape = key.shape();
  shape.back() = shape.back() / width * W.shape()[0];
  const Tensor rows = key.converted(DType::float32).reshaped({key.size() / width, width});
  return apply(Linear{W, {}}, rows, threads).reshaped(std::move(shape));
}

// The same attention with nothing to compare: queries and keys of one zero each, for scores that
// come from elsewhere.
AttentionRequest without_products(const AttentionRequest& request, const Geometry& geometry) {
  const Tensor& key = request.key ? request.key : request.query;
  const auto zeros = [](const Tensor& like, std::size_t heads) {
    Shape shape = like.shape();
    shape.back() = like.rank() == 4 ? 1 : heads;
    std::vector<float> numbers(element_count(shape));
    return Tensor(std::move(shape), std::move(numbers));
  };
  AttentionRequest result = request;
  result.kind = Kind::dot_product;
  result.scale = 1;
  result.softcap.reset();
  result.value = request.value ? request.value : key;
  result.query = zeros(request.query, geometry.heads);
  result.key = zeros(key, geometry.kv_heads);
  if (request.past_key) result.past_key = zeros(request.past_key, geometry.kv_heads);
  return result;
}

// The same attention by products of queries with other keys.
AttentionRequest as_products(const AttentionRequest& request) {
  AttentionRequest result = request;
  const Tensor& key = request.key ? request.key : request.query;
  if (!result.value) result.value = key;
  result.key = projected_keys(key, request.W, request.threads);
  if (request.past_key) {
    result.past_key = projected_keys(request.past_key, request.W, request.threads);
  }
  return result;
}

}  // namespace

bool fast_path_supports(const AttentionRequest& request, const Visibility& visibility) {
  return request.kind != Kind::softmax && request.dtype == DType::float32 && !request.stages &&
         !request.dropout && !request.mask.fill &&
         single_precision_holds(request.scale.value_or(1)) &&
         single_precision_holds(request.softcap.value_or(0)) && visibility.single_precision();
}

bool fast_path_pays(const Geometry& geometry) {
  constexpr double multiply_adds = 1 << 22U;
  const double pairs = static_cast<double>(geometry.batch * geometry.heads) *
                       static_cast<double>(geometry.queries) * static_cast<double>(geometry.keys);
  return pairs * static_cast<double>(geometry.query_width + geometry.value_width) >= multiply_adds;
}

std::optional<AttentionResult> fast_attention(const AttentionRequest& request,
                                              const Geometry& geometry,
                                              const Visibility& visibility) {
  if (geometry.keys > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  if (request.kind == Kind::additive) {
    const AdditiveScores scores(request, geometry);
    Geometry products = geometry;
    products.query_width = products.key_width = 1;
    return FastAttention<float>(without_products(request, geometry), products, visibility, &scores)
        .compute();
  }
  if (request.kind != Kind::general) {
    return FastAttention<float>(request, geometry, visibility).compute();
  }
  const AttentionRequest products = as_products(request);
  return FastAttention<float>(products, geometry, visibility).compute();
}

}  // namespace attn
