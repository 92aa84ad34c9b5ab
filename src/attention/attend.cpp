#include <optional>
#include <utility>
#include <variant>

#include "attn/attention.hpp"

#include "attention/fast_path.hpp"
#include "attention/geometry.hpp"
#include "attention/head_preparation.hpp"
#include "attention/reference.hpp"
#include "attention/visibility.hpp"
#include "support/overloaded.hpp"
#include "tensor/narrow_number.hpp"

namespace attn {
namespace {

// What a narrow type leaves of all that is compared and weighed.
void round_inputs(Score& score, DType dtype) {
  std::visit(Overloaded{[&](GivenScores& given) {
                          given.scores = given.scores.converted(dtype);
                          given.value = given.value.converted(dtype);
                        },
                        [&](Sequences& sequences) {
                          for (Tensor* tensor : {&sequences.query, &sequences.key, &sequences.value,
                                                 &sequences.past_key, &sequences.past_value}) {
                            *tensor = tensor->converted(dtype);
                          }
                        }},
             score);
}

}  // namespace

AttentionResult attend(const AttentionRequest& given) {
  AttentionRequest request = given;
  request.weights = request.weights && !request.pool;
  const Geometry geometry = check_geometry(request);
  check_options(request, geometry);
  const Visibility visibility(request.mask, geometry);
  const Shape from = request.pool ? Shape{geometry.queries, geometry.keys} : Shape();
  if (is_narrow(request.dtype)) round_inputs(request.score, request.dtype);
  if (fast_path_pays(geometry) && !is_narrow(request.dtype)) {
    if (std::optional<AttentionResult> fast = fast_attention(request, geometry, visibility)) {
      fast->pooled_from = from;
      return *std::move(fast);
    }
  }
  if (const HeadPreparation preparation(request, geometry, visibility); preparation) {
    Sequences& sequences = *sequences_of(request.score);
    sequences = preparation.prepared(sequences, DType::float64);
    if (is_narrow(request.dtype)) round_inputs(request.score, request.dtype);
  }
  AttentionResult result = reference_attention(request, geometry, visibility);
  result.pooled_from = from;
  return result;
}

}  // namespace attn
