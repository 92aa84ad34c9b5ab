#include "attn/attention.hpp"

#include "attention/geometry.hpp"
#include "attention/reference.hpp"
#include "attention/visibility.hpp"

namespace attn {

AttentionResult attend(const AttentionRequest& request) {
  const Geometry geometry = check_geometry(request);
  const Visibility visibility(request.mask, geometry);
  return reference_attention(request, geometry, visibility);
}

}  // namespace attn
