#include "view/chosen_maps.hpp"

#include "maps/attention_map.hpp"
#include "tensor/operations.hpp"

namespace attn {

Tensor as_maps(const Tensor& tensor, bool heads_only) {
  if (!tensor) return tensor;
  const Maps sizes(tensor, heads_only);
  return tensor.reshaped({sizes.samples(), sizes.heads(), sizes.queries(), sizes.keys()});
}

Tensor maps_of_heads(const Tensor& maps, const std::vector<std::size_t>& heads, std::size_t of) {
  if (!maps || maps.shape()[1] == 1 || heads.size() == of) return maps;
  return picked(maps, heads, 1);
}

}  // namespace attn
