#include "attention/kernel_attention.hpp"
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

// Each block reads all keys and values. Wide ones outgrow the second-level cache, so that blocks
// are as large as the kernel takes.
std::size_t block_queries(KernelKind kernel, const kernels::HeadSizes& sizes) {
  if (kernel == KernelKind::small_heads) return 128;
  if (kernel == KernelKind::rounded_pairs) return 96;
  if (kernel == KernelKind::tile_blocks) {
    return sizes.width + sizes.value_width >= 768 ? kernels::split_query_block : 96;
  }
  return sizes.width + sizes.value_width >= 768 ? kernels::query_block : 96;
}

template <class T>
std::size_t HeadPacking<T>::parts(KernelKind kernel) {
  switch (kernel) {
    case KernelKind::tile_blocks:
    case KernelKind::rounded_pairs:
      return 2;
    case KernelKind::whole_rows:
    case KernelKind::few_queries:
    case KernelKind::small_heads:
    case KernelKind::blocks:
    case KernelKind::rounded:
      break;
  }
  return 1;
}

template <class T>
void HeadPacking<T>::fill(const KeyHead<T>& rows, std::size_t part) {
  const T *const *keys = rows.keys.data(), *const *values = rows.values.data();
  switch (kernel_) {
    case KernelKind::small_heads:
      kernels::pack_small_head(sizes_, keys, values, head_);
      return;
    case KernelKind::tile_blocks:
    case KernelKind::rounded_pairs:
      if constexpr (std::is_same_v<T, float>) {
        const bool pairs = kernel_ == KernelKind::rounded_pairs;
        if (part == 0) {
          (pairs ? kernels::pack_key_pairs : kernels::pack_split_keys)(sizes_, keys, head_);
        } else {
          (pairs ? kernels::pack_value_pairs : kernels::pack_split_values)(sizes_, values, head_);
        }
      }
      return;
    case KernelKind::whole_rows:
    case KernelKind::few_queries:
    case KernelKind::blocks:
    case KernelKind::rounded:
      kernels::pack_head(sizes_, keys, values, head_);
      return;
  }
}

template <class T>
std::size_t HeadPacking<T>::key_count() const {
  switch (kernel_) {
    case KernelKind::small_heads:
      return kernels::small_key_count<T>(sizes_);
    case KernelKind::tile_blocks:
      return kernels::split_key_count(sizes_);
    case KernelKind::rounded_pairs:
      return kernels::pair_key_count(sizes_);
    case KernelKind::whole_rows:
    case KernelKind::few_queries:
    case KernelKind::blocks:
    case KernelKind::rounded:
      break;
  }
  return kernels::packed_key_count<T>(sizes_);
}

template <class T>
std::size_t HeadPacking<T>::value_count() const {
  switch (kernel_) {
    case KernelKind::small_heads:
      return kernels::small_value_count<T>(sizes_);
    case KernelKind::tile_blocks:
      return kernels::split_value_count(sizes_);
    case KernelKind::rounded_pairs:
      return kernels::pair_value_count(sizes_);
    case KernelKind::whole_rows:
    case KernelKind::few_queries:
    case KernelKind::blocks:
    case KernelKind::rounded:
      break;
  }
  return kernels::packed_value_count<T>(sizes_);
}

template class HeadPacking<float>;
template class HeadPacking<double>;

}  // namespace attn
