#include "attention/kernel_choice.hpp"

#include "kernels/attention_kernels.hpp"
#include "tensor/narrow_number.hpp"

namespace attn {

kernels::StepRounding::Type rounded_type(DType narrow) {
  using Type = kernels::StepRounding::Type;
  return narrow == DType::bfloat16 ? Type::bfloat16 : Type::float16;
}

KernelKind kernel_for(const AttentionOptions& options, const Geometry& geometry, bool products,
                      bool single) {
  if (is_narrow(options.dtype)) {
    return kernels::multiplies_pairs(rounded_type(options.dtype)) ? KernelKind::rounded_pairs
                                                                  : KernelKind::rounded;
  }
  if (options.weights) return KernelKind::whole_rows;
  if (options.pool || !products) return KernelKind::blocks;
  if (geometry.queries <= kernels::few_queries) return KernelKind::few_queries;
  const bool small = geometry.query_width <= kernels::small_head_width &&
                      geometry.value_width <= kernels::small_head_width;
  if (small) return KernelKind::small_heads;
  const kernels::HeadSizes sizes{geometry.keys, geometry.query_width, geometry.value_width};
  const bool tiles = single && geometry.queries >= 32 && kernels::splits(sizes);
  return tiles ? KernelKind::tile_blocks : KernelKind::blocks;
}

// A block passes over all keys and values: where these outgrow the second-level cache, as wide ones
// do, in blocks as large as the kernel takes.
std::size_t block_queries(KernelKind kernel, const kernels::HeadSizes& sizes) {
  if (kernel == KernelKind::small_heads) return 128;
  if (kernel == KernelKind::rounded_pairs) return 96;
  if (kernel == KernelKind::tile_blocks) {
    return sizes.width + sizes.value_width >= 768 ? kernels::split_query_block : 96;
  }
  return sizes.width + sizes.value_width >= 768 ? kernels::query_block : 96;
}

}  // namespace attn
