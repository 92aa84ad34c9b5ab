#include "attention/product_requests.hpp"

#include <cstddef>
#include <utility>
#include <vector>

#include "attention/linear.hpp"

namespace attn {
namespace {

// k Wᵀ, so that qᵀ W k is a product of queries and these. The rows of all heads are as wide as W,
// whether they stand apart or side by side.
Tensor projected_keys(const Tensor& key, const Tensor& W, DType dtype, std::size_t threads) {
  const std::size_t width = W.shape()[1];
  Shape shape = key.shape();
  shape.back() = shape.back() / width * W.shape()[0];
  const Tensor rows = key.converted(dtype).reshaped({key.size() / width, width});
  return apply(Linear{W, {}}, rows, threads).reshaped(std::move(shape));
}

}  // namespace

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

AttentionRequest as_products(const AttentionRequest& request) {
  AttentionRequest result = request;
  const Tensor& key = request.key ? request.key : request.query;
  if (!result.value) result.value = key;
  result.key = projected_keys(key, request.W, request.dtype, request.threads);
  if (request.past_key) {
    result.past_key = projected_keys(request.past_key, request.W, request.dtype, request.threads);
  }
  return result;
}

}  // namespace attn
