#include <optional>
#include <utility>

#include "attn/attention.hpp"

#include "attention/fast_path.hpp"
#include "attention/geometry.hpp"
#include "attention/head_preparation.hpp"
#include "attention/reference.hpp"
#include "attention/visibility.hpp"

namespace attn {

AttentionResult attend(const AttentionRequest& given) {
  AttentionRequest request = given;
  request.weights = request.weights && !request.pool;
  const Geometry geometry = check_geometry(request);
  check_options(request, geometry);
  const Visibility visibility(request.mask, geometry);
  const Shape from = request.pool ? Shape{geometry.queries, geometry.keys} : Shape();
  if (fast_path_pays(geometry)) {
    if (std::optional<AttentionResult> fast = fast_attention(request, geometry, visibility)) {
      fast->pooled_from = from;
      return *std::move(fast);
    }
  }
  if (const HeadPreparation preparation(request, geometry, visibility); preparation) {
    Sequences& sequences = *sequences_of(request.score);
    sequences = preparation.prepared(sequences, DType::float64);
  }
  AttentionResult result = reference_attention(request, geometry, visibility);
  result.pooled_from = from;
  return result;
}

}  // namespace attn
