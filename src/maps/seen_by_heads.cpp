#include "maps/seen_by_heads.hpp"

#include <array>
#include <cstring>
#include <vector>

#include "tensor/operations.hpp"

namespace attn {

Tensor once_for_heads(const Tensor& allowed) {
  if (!allowed || allowed.rank() != 4 || allowed.shape()[1] == 1) return allowed;
  const std::size_t batch = allowed.shape()[0], heads = allowed.shape()[1];
  const std::size_t bytes = allowed.shape()[2] * allowed.shape()[3] * size_of(allowed.dtype());
  const auto* const all = static_cast<const std::byte*>(allowed.bytes());
  for (std::size_t b = 0; b < batch; ++b) {
    const std::byte* const first = all + b * heads * bytes;
    for (std::size_t h = 1; h < heads; ++h) {
      if (std::memcmp(first, first + h * bytes, bytes) != 0) return allowed;
    }
  }
  return picked(allowed, std::array{std::size_t{0}}, 1);
}

Tensor for_each_head(const Tensor& allowed, std::size_t heads) {
  if (!allowed || allowed.rank() != 4 || allowed.shape()[1] != 1 || heads == 1) return allowed;
  return picked(allowed, std::vector<std::size_t>(heads), 1);
}

}  // namespace attn
