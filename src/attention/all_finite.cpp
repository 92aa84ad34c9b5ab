#include "attention/all_finite.hpp"

#include <algorithm>
#include <cmath>

namespace attn {

bool all_finite(const Tensor& tensor) {
  const auto finite = [](const auto& numbers) {
    return std::all_of(numbers.begin(), numbers.end(), [](auto x) { return std::isfinite(x); });
  };
  return tensor.dtype() == DType::float32 ? finite(tensor.values<float>())
                                          : finite(tensor.values<double>());
}

}  // namespace attn
