#include "view/chosen_maps.hpp"

#include <cstdint>
#include <cstring>

#include "attention/new_elements.hpp"
#include "maps/map_selection.hpp"

namespace attn {

Tensor as_maps(const Tensor& tensor, bool heads_only) {
  if (!tensor) return tensor;
  const Maps sizes(tensor, heads_only);
  return tensor.reshaped({sizes.samples(), sizes.heads(), sizes.queries(), sizes.keys()});
}

Tensor maps_of_heads(const Tensor& maps, const std::vector<std::size_t>& heads, std::size_t of) {
  if (!maps || maps.shape()[1] == 1 || heads.size() == of) return maps;
  const Shape& from = maps.shape();
  const std::size_t map_bytes = from[2] * from[3] * size_of(maps.dtype());
  const std::size_t samples = from[0];
  auto bytes = new_elements<std::byte>(samples * heads.size() * map_bytes);
  const auto* source = static_cast<const std::byte*>(maps.bytes());
  std::byte* to = bytes.get();
  for (std::size_t b = 0; b < samples; ++b) {
    for (const std::size_t h : heads) {
      std::memcpy(to, source + (b * of + h) * map_bytes, map_bytes);
      to += map_bytes;
    }
  }
  return Tensor::borrowed({samples, heads.size(), from[2], from[3]}, maps.dtype(), bytes.get(),
                          bytes);
}

}  // namespace attn
