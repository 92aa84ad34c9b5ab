#include "attention/product_keys.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "attention/head_rows.hpp"
#include "kernels/matrix_product.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

// k Wᵀ, so that qᵀ W k is a product of queries and these.
Tensor projected_keys(const Tensor& key, const Tensor& W, std::size_t heads, std::size_t threads) {
  const Rows<float> rows(key, heads);
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

}  // namespace

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

}  // namespace attn
