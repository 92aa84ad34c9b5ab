#include "compare/compared_part.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>
#include <vector>

#include "maps/map_selection.hpp"

namespace attn {
namespace {

// Of each axis the positions that are taken.
using Places = std::vector<std::vector<std::size_t>>;

std::vector<std::size_t> counted(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

Tensor gathered(const Tensor& tensor, const Places& places) {
  Shape shape;
  for (const auto& places_of_axis : places) shape.push_back(places_of_axis.size());
  if (shape == tensor.shape()) return tensor;  // each is taken once
  const std::size_t bytes = size_of(tensor.dtype()), rank = shape.size();
  std::vector<std::size_t> strides(rank, 1);
  for (std::size_t axis = rank; axis-- > 1;) {
    strides[axis - 1] = strides[axis] * tensor.shape()[axis];
  }
  const std::size_t count = element_count(shape);
  auto elements = std::make_shared<std::vector<std::byte>>(count * bytes);
  const auto* const from = static_cast<const std::byte*>(tensor.bytes());
  Shape at(rank, 0);
  for (std::size_t done = 0; done < count; ++done) {
    std::size_t offset = 0;
    for (std::size_t axis = 0; axis < rank; ++axis)
      offset += places[axis][at[axis]] * strides[axis];
    std::memcpy(elements->data() + done * bytes, from + offset * bytes, bytes);
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++at[axis] < shape[axis]) break;
      at[axis] = 0;
    }
  }
  const std::byte* const start = elements->data();
  return Tensor::borrowed(std::move(shape), tensor.dtype(), start, std::move(elements));
}

}  // namespace

Tensor compared_part(const Tensor& tensor, const CompareRequest& request) {
  std::vector<MapAxis> axes = request.axes;
  if (axes.empty()) axes = {MapAxis::batch, MapAxis::head};
  const auto has = [&](MapAxis axis) {
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  if (!has(MapAxis::query) && !has(MapAxis::key)) {
    axes.insert(axes.end(), {MapAxis::query, MapAxis::key});
  }
  if (!tensor || tensor.rank() != axes.size()) return tensor;
  Places places;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t count = tensor.shape()[i];
    if (axes[i] == MapAxis::layer && request.layers) {
      places.push_back(
          numbers_in(request.layers, count, "CompareRequest::layers", "layer", "layers"));
    } else if (axes[i] == MapAxis::head && request.heads) {
      places.push_back(numbers_in(request.heads, count, "CompareRequest::heads", "head", "heads"));
    } else {
      places.push_back(counted(count));
    }
  }
  return gathered(tensor, places);
}

Tensor leading_part(const Tensor& tensor, const Shape& shape) {
  Places places;
  for (const std::size_t size : shape) places.push_back(counted(size));
  return gathered(tensor, places);
}

}  // namespace attn
