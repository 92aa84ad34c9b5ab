#include <optional>
#include <string>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/fast_path.hpp"
#include "attention/geometry.hpp"
#include "attention/reference.hpp"
#include "attention/visibility.hpp"

namespace attn {

AttentionResult attend(const AttentionRequest& given) {
  AttentionRequest request = given;
  request.weights = request.weights && !request.pool;
  const KindInfo& kind = info(request.kind);
  if (kind.family != Family::given_scores && kind.family != Family::score) {
    const bool projected = kind.family == Family::projected;
    throw Error(ErrorKind::usage,
                std::string(kind.name) + " attention has parameters that attend() does not take",
                "", std::string("call ") + (projected ? "attend_projected()" : "transform()"));
  }
  const Geometry geometry = check_geometry(request);
  const Visibility visibility(request.mask, geometry);
  const Shape from = request.pool ? Shape{geometry.queries, geometry.keys} : Shape();
  if (fast_path_pays(geometry) && fast_path_supports(request, visibility)) {
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
