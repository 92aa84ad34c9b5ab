#include "attention/kernel_choice.hpp"

#include <type_traits>

#include "tensor/half_number.hpp"

namespace attn {

kernels::StepRounding::Type rounded_type(DType half) {
  using Type = kernels::StepRounding::Type;
  return half == DType::bfloat16 ? Type::bfloat16 : Type::float16;
}

KernelKind kernel_for(const AttentionOptions& options, const Geometry& geometry, bool products,
                      bool single) {
  if (is_half(options.dtype)) {
    return kernels::multiplies_pairs(rounded_type(options.dtype)) ? KernelKind::rounded_pairs
                                                                  : KernelKind::rounded;
  }
  const kernels::HeadSizes sizes{geometry.keys, geometry.query_width, geometry.value_width};
  const bool tiles =
      single && products && !options.pool && geometry.queries >= 32 && kernels::splits(sizes);
  if (options.weights || options.weight_expression) {
    return tiles ? KernelKind::tile_blocks : KernelKind::whole_rows;
  }
  if (options.pool || !products) return KernelKind::blocks;
  if (geometry.queries <= kernels::few_queries) return KernelKind::few_queries;
  const bool small = !options.score_expression &&
                     geometry.query_width <= kernels::small_head_width &&
                     geometry.value_width <= kernels::small_head_width;
  if (small) return KernelKind::small_heads;
  return tiles ? KernelKind::tile_blocks : KernelKind::blocks;
}

namespace {

// Layouts.

template <class T>
HeadLayout<T> packed_rows() {
  return {
      &kernels::packed_key_count<T>, &kernels::packed_value_count<T>, 1,
      [](const kernels::HeadSizes& sizes, const T* const* keys, const T* const* values, std::size_t,
         kernels::PackedHead<T>& head) { kernels::pack_head(sizes, keys, values, head); },
      false};
}

template <class T>
HeadLayout<T> packed_small_rows() {
  return {
      &kernels::small_key_count<T>, &kernels::small_value_count<T>, 1,
      [](const kernels::HeadSizes& sizes, const T* const* keys, const T* const* values, std::size_t,
         kernels::PackedHead<T>& head) { kernels::pack_small_head(sizes, keys, values, head); },
      false};
}

template <class T>
HeadLayout<T> split_tiles() {
  return {&kernels::split_key_count, &kernels::split_value_count, 2,
          []([[maybe_unused]] const kernels::HeadSizes& sizes,
             [[maybe_unused]] const T* const* keys, [[maybe_unused]] const T* const* values,
             [[maybe_unused]] std::size_t part, [[maybe_unused]] kernels::PackedHead<T>& head) {
            if constexpr (std::is_same_v<T, float>) {
              if (part == 0) {
                kernels::pack_split_keys(sizes, keys, head);
              } else {
                kernels::pack_split_values(sizes, values, head);
              }
            }
          },
          true};
}

template <class T>
HeadLayout<T> pairs() {
  return {&kernels::pair_key_count, &kernels::pair_value_count, 2,
          []([[maybe_unused]] const kernels::HeadSizes& sizes,
             [[maybe_unused]] const T* const* keys, [[maybe_unused]] const T* const* values,
             [[maybe_unused]] std::size_t part, [[maybe_unused]] kernels::PackedHead<T>& head) {
            if constexpr (std::is_same_v<T, float>) {
              if (part == 0) {
                kernels::pack_key_pairs(sizes, keys, head);
              } else {
                kernels::pack_value_pairs(sizes, values, head);
              }
            }
          },
          false};
}

// Blocks.

template <class T, class R>
constexpr bool floats = std::is_same_v<T, float>&& std::is_same_v<R, float>;

template <class T, class R>
kernels::BlockOutcome weigh(const KernelBlock<T, R>& block) {
  return kernels::weigh_block(block.queries, block.head, block.weights, block.scratch);
}

template <class T, class R>
kernels::BlockOutcome attend_small(const KernelBlock<T, R>& block) {
  return kernels::attend_small_block(block.queries, block.head, block.scratch);
}

template <class T, class R>
kernels::BlockOutcome attend_tiles([[maybe_unused]] const KernelBlock<T, R>& block) {
  if constexpr (floats<T, R>) {
    return kernels::attend_split_block(block.queries, block.head, block.weights, block.scratch);
  }
  return {};
}

template <class T, class R>
kernels::BlockOutcome attend_keys_in_blocks(const KernelBlock<T, R>& block) {
  return kernels::attend_block(block.queries, block.head, block.bins, block.scratch);
}

template <class T, class R>
kernels::BlockOutcome attend_rounded([[maybe_unused]] const KernelBlock<T, R>& block) {
  if constexpr (floats<T, R>) {
    return kernels::attend_rounded_block(block.queries, block.head, block.rounding, block.weights,
                                         block.scratch);
  }
  return {};
}

}  // namespace

// A kind without its row does not compile.
template <class T, class R>
Kernel<T, R> kernel_of(KernelKind kind) {
  using Sizes = const kernels::HeadSizes&;
  constexpr std::size_t wide = kernels::query_block;
  const auto scratch_of_rounded = [](Sizes sizes, bool, std::size_t) {
    return kernels::rounded_scratch_count(sizes);
  };
  switch (kind) {
    case KernelKind::whole_rows:
      return {packed_rows<T>(),
              96,
              wide,
              0,
              true,
              [](Sizes sizes, bool, std::size_t) {
                return kernels::weights_scratch_count<T, R>(sizes);
              },
              &weigh<T, R>};
    case KernelKind::few_queries:
      return {packed_rows<T>(),
              96,
              wide,
              0,
              false,
              [](Sizes, bool, std::size_t) -> std::size_t { return 0; },
              nullptr};
    case KernelKind::small_heads:
      return {packed_small_rows<T>(),
              128,
              128,
              0,
              false,
              [](Sizes sizes, bool, std::size_t) { return kernels::small_scratch_count<T>(sizes); },
              &attend_small<T, R>};
    case KernelKind::tile_blocks:
      return {split_tiles<T>(),
              96,
              128,
              kernels::split_query_block,
              false,
              [](Sizes sizes, bool weights, std::size_t) {
                return kernels::split_scratch_count(sizes, weights);
              },
              &attend_tiles<T, R>};
    case KernelKind::rounded:
      return {packed_rows<T>(), 96, wide, 0, false, scratch_of_rounded, &attend_rounded<T, R>};
    case KernelKind::rounded_pairs:
      return {pairs<T>(), 96, 96, 0, false, scratch_of_rounded, &attend_rounded<T, R>};
    case KernelKind::blocks:
      break;
  }
  return {packed_rows<T>(),
          96,
          wide,
          0,
          false,
          [](Sizes sizes, bool, std::size_t bins) {
            return kernels::attention_scratch_count<T>(sizes, bins);
          },
          &attend_keys_in_blocks<T, R>};
}

template Kernel<float, float> kernel_of(KernelKind);
template Kernel<double, double> kernel_of(KernelKind);
template Kernel<double, float> kernel_of(KernelKind);

}  // namespace attn
