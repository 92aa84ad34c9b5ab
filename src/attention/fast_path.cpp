#include "attention/fast_path.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <memory>
#include <new>
#include <vector>

#include "attention/pooled_map.hpp"
#include "kernels/fused_attention.hpp"
#include "kernels/matrix_product.hpp"
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

// A tensor seen as [batch, heads, length, width] of single-precision rows.
class Rows {
 public:
  Rows() = default;

  // A tensor of rank 4, or one of rank 2 or 3 whose last axis holds `heads` heads side by side.
  Rows(const Tensor& tensor, std::size_t heads) : numbers_(tensor.converted(DType::float32)) {
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

  const float* row(std::size_t batch, std::size_t head, std::size_t i) const {
    return numbers_.values<float>().data() + batch * batch_stride_ + head * head_stride_ +
           i * stride_;
  }

  bool finite() const {
    const auto all = numbers_ ? numbers_.values<float>() : std::span<const float>();
    return std::all_of(all.begin(), all.end(), [](float x) { return std::isfinite(x); });
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
struct HeadRows {
  std::vector<const float*> keys, values;
};

// Where one worker computes: buffers that it keeps from task to task.
struct Packing {
  std::shared_ptr<float> keys, values;
  std::vector<std::uint32_t> odd_keys;
  kernels::PackedHead head{};

  Packing() = default;
  explicit Packing(const kernels::HeadSizes& sizes)
      : keys(uninitialised<float>(kernels::packed_key_floats(sizes))),
        values(uninitialised<float>(kernels::packed_value_floats(sizes))),
        odd_keys(sizes.keys),
        head{keys.get(), values.get(), odd_keys.data(), 0} {}
};

class FastAttention {
 public:
  FastAttention(const AttentionRequest& request, const Geometry& geometry,
                const Visibility& visibility)
      : request_(request),
        geometry_(geometry),
        visibility_(visibility),
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
    key_ = Rows(key, geometry.kv_heads);
    value_ = Rows(request.value ? request.value : key, geometry.kv_heads);
    if (geometry.past > 0) {
      past_key_ = Rows(request.past_key, geometry.kv_heads);
      past_value_ = Rows(request.past_value, geometry.kv_heads);
    }
  }

  std::optional<AttentionResult> compute() {
    const Shape output_shape = geometry_.output_shape(), map_shape = geometry_.weights_shape();
    output_ = uninitialised<float>(element_count(output_shape));
    if (request_.weights) {
      weights_ = uninitialised<float>(element_count(map_shape));
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

  HeadRows rows_of(std::size_t batch, std::size_t kv_head) const {
    HeadRows rows;
    rows.keys.reserve(geometry_.keys);
    rows.values.reserve(geometry_.keys);
    const auto append = [&](const Rows& keys, const Rows& values) {
      for (std::size_t i = 0; i < keys.length(); ++i) {
        rows.keys.push_back(keys.row(batch, kv_head, i));
        rows.values.push_back(values.row(batch, kv_head, i));
      }
    };
    append(past_key_, past_value_);
    append(key_, value_);
    return rows;
  }

  // Of the kernel; behind it stand the weights of a block that are to be pooled.
  std::size_t own_scratch() const {
    constexpr std::size_t line = 16;
    return (kernels::attention_scratch_floats(sizes_) + line - 1) / line * line;
  }

  std::shared_ptr<float> scratch() const {
    const std::size_t weights = pooled_ ? kernels::query_block * geometry_.keys : 0;
    return uninitialised<float>(own_scratch() + weights);
  }

  // Many heads: a thread packs a head, computes it and goes on to the next, so that what is packed
  // stays in its cache.
  void by_heads(std::size_t heads, std::size_t threads) {
    struct State {
      Packing packing;
      std::shared_ptr<float> scratch;
    };
    share(
        heads, threads,
        [&] {
          return State{Packing(sizes_), scratch()};
        },
        [&](std::size_t at, State& state) {
          const std::size_t batch = at / geometry_.kv_heads, kv_head = at % geometry_.kv_heads;
          const HeadRows rows = rows_of(batch, kv_head);
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
    std::vector<Packing> packings(heads);
    std::vector<HeadRows> rows(heads);
    parallel_for(heads, threads, [&](std::size_t at) {
      packings[at] = Packing(sizes_);
      rows[at] = rows_of(at / geometry_.kv_heads, at % geometry_.kv_heads);
      kernels::pack_head(sizes_, rows[at].keys.data(), rows[at].values.data(), packings[at].head);
    });
    const std::size_t query_heads = heads * group_;
    share(
        query_heads * blocks_, threads, [&] { return scratch(); },
        [&](std::size_t at, const std::shared_ptr<float>& own) {
          const std::size_t head = at % query_heads, block = blocks_ - 1 - at / query_heads;
          attend(head / geometry_.heads, head % geometry_.heads, block, rows[head / group_],
                 packings[head / group_].head, own.get());
        });
  }

  // What the kernel asks for the terms of a mask that are not intervals.
  struct MaskedHead {
    const Visibility* visibility;
    std::size_t batch, head, first_query;
    static void add(const void* context, std::size_t query, std::size_t first_key,
                    std::size_t count, float* row) noexcept {
      const auto& self = *static_cast<const MaskedHead*>(context);
      self.visibility->add(self.batch, self.head, self.first_query + query, first_key,
                           {row, count});
    }
  };

  void attend(std::size_t batch, std::size_t head, std::size_t block, const HeadRows& rows,
              const kernels::PackedHead& packed, float* scratch) {
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
    const MaskedHead masked{&visibility_, batch, head, first};
    const std::size_t row = (batch * geometry_.heads + head) * geometry_.queries + first;
    const std::size_t width = geometry_.value_width;
    kernels::AttentionBlock task{};
    task.sizes = sizes_;
    task.query = query_.row(batch, head, first);
    task.query_stride = query_.stride();
    task.queries = queries;
    task.scale = static_cast<float>(scale_of(request_, geometry_));
    task.softcap = static_cast<float>(request_.softcap.value_or(0));
    task.mask = {starts.data(), ends.data(), intervals_only_ ? nullptr : &MaskedHead::add, &masked};
    task.head = &packed;
    task.value_rows = rows.values.data();
    if (geometry_.joined) {
      task.output_stride = geometry_.heads * width;
      task.output =
          output_.get() + (batch * geometry_.queries + first) * task.output_stride + head * width;
    } else {
      task.output_stride = width;
      task.output = output_.get() + row * width;
    }
    task.weights = weights_ ? weights_.get() + row * geometry_.keys : nullptr;
    if (pooled_) task.weights = scratch + own_scratch();
    const kernels::BlockOutcome outcome = kernels::attend_block(task, scratch);
    empty_rows_ += outcome.empty_rows;
    if (outcome.overflow) overflow_ = true;
    if (request_.progress) request_.progress(queries * geometry_.keys);
    if (pooled_) pool(batch, head, block, queries, task);
    if (!allowed_) return;
    for (std::size_t i = 0; i < queries; ++i) {
      visibility_.see(batch, head, first + i,
                      {allowed_.get() + (row + i) * geometry_.keys, geometry_.keys});
    }
  }

  void pool(std::size_t batch, std::size_t head, std::size_t block, std::size_t queries,
            const kernels::AttentionBlock& task) {
    const std::size_t map = batch * geometry_.heads + head;
    pooled_->add(map, block, task.weights);
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
  Rows query_, key_, value_, past_key_, past_value_;
  kernels::HeadSizes sizes_;
  std::size_t group_, blocks_;
  bool intervals_only_;
  std::shared_ptr<float> output_, weights_;
  std::shared_ptr<std::uint8_t> allowed_;
  std::optional<PooledMap> pooled_;
  std::atomic<std::size_t> empty_rows_ = 0;
  std::atomic<bool> overflow_ = false;
};

// k Wᵀ, so that qᵀ W k is a product of queries and these.
Tensor projected_keys(const Tensor& key, const Tensor& W, std::size_t heads, std::size_t threads) {
  const Rows rows(key, heads);
  const Tensor weight = W.converted(DType::float32);
  const std::size_t outputs = W.shape()[0], inputs = W.shape()[1];
  std::vector<const float*> weight_rows(outputs);
  for (std::size_t i = 0; i < outputs; ++i) {
    weight_rows[i] = weight.values<float>().data() + i * inputs;
  }
  const auto packed = uninitialised<float>(kernels::packed_matrix_floats(outputs, inputs));
  kernels::pack_matrix(weight_rows.data(), outputs, inputs, packed.get());

  const std::size_t batch = key.rank() >= 3 ? key.shape()[0] : 1;
  const std::size_t key_heads = key.rank() == 4 ? key.shape()[1] : heads;
  const std::size_t length = rows.length();
  Shape shape = key.shape();
  shape.back() = key.rank() == 4 ? outputs : key_heads * outputs;
  const std::size_t stride = shape.back();
  const auto result = uninitialised<float>(element_count(shape));
  parallel_for(batch * key_heads, threads, [&](std::size_t at) {
    const std::size_t b = at / key_heads, h = at % key_heads;
    const auto scratch = uninitialised<float>(kernels::product_scratch_floats(inputs));
    float* to = result.get() +
                (key.rank() == 4 ? at * length * outputs : b * length * stride + h * outputs);
    for (std::size_t i = 0; i < length; i += kernels::product_row_block) {
      const std::size_t count = std::min(kernels::product_row_block, length - i);
      kernels::multiply_rows({rows.row(b, h, i), rows.stride(), count, inputs, packed.get(),
                              outputs, nullptr, to + i * stride, stride},
                             scratch.get());
    }
  });
  return tensor_of(shape, result);
}

// The same attention by products of queries with other keys.
AttentionRequest as_products(const AttentionRequest& request, const Geometry& geometry) {
  AttentionRequest result = request;
  const Tensor& key = request.key ? request.key : request.query;
  if (!result.value) result.value = key;
  result.key = projected_keys(key, request.W, geometry.kv_heads, request.threads);
  if (request.past_key) {
    result.past_key =
        projected_keys(request.past_key, request.W, geometry.kv_heads, request.threads);
  }
  return result;
}

}  // namespace

bool fast_path_supports(const AttentionRequest& request, const Visibility& visibility) {
  const bool products = request.kind == Kind::dot_product ||
                        request.kind == Kind::scaled_dot_product || request.kind == Kind::general;
  return products && request.dtype == DType::float32 && !request.stages && !request.dropout &&
         !request.mask.fill && single_precision_holds(request.scale.value_or(1)) &&
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
  if (request.kind != Kind::general) return FastAttention(request, geometry, visibility).compute();
  const AttentionRequest products = as_products(request, geometry);
  return FastAttention(products, geometry, visibility).compute();
}

}  // namespace attn
