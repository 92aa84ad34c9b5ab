#include <optional>
#include <utility>

#include "attn/attention.hpp"

#include "attention/fast_path.hpp"
#include "attention/geometry.hpp"
#include "attention/reference.hpp"
#include "attention/visibility.hpp"

namespace attn {

AttentionResult attend(const AttentionRequest& given) {
  AttentionRequest request = given;
  request.weights = request.weights && !request.pool;
  const Geometry geometry = check_geometry(request);
  const Visibility visibility(request.mask, geometry);
  const Shape from = request.pool ? Shape{geometry.queries, geometry.keys} : Shape();
  if (fast_path_pays(geometry)) {
    if (std::optional<AttentionResult> fast = fast_attention(request, geometry, visibility)) {
      fast->pooled_from = from;
      return *std::move(fast);
    }
  }
  AttentionResult result = reference_attention(request, geometry, visibility);
  result.pooled_from = from;
  return result;
}

}  // namespace attn
