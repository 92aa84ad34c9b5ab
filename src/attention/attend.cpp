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
  const bool narrow = is_narrow(request.dtype);
  if (narrow) round_inputs(request.score, request.dtype);
  const auto fast = [&]() -> std::optional<AttentionResult> {
    const bool large = fast_path_pays(geometry);
    if (!large && !exact_path_pays(request, geometry)) return std::nullopt;
    std::optional<AttentionResult> result =
        large ? fast_attention(request, geometry, visibility)
              : exact_fast_attention(request, geometry, visibility);
    if (result) result->pooled_from = from;
    return result;
  };
  // Kernels of single precision prepare heads as fast as they compare them; a narrow type's take
  // what the definition makes of them, rounded.
  if (!narrow) {
    if (auto result = fast()) return *std::move(result);
  }
  if (const HeadPreparation preparation(request, geometry, visibility); preparation) {
    Sequences& sequences = *sequences_of(request.score);
    sequences = preparation.prepared(sequences, DType::float64);
    request.rotary.reset();
    request.query_norm.reset();
    request.key_norm.reset();
    if (narrow) round_inputs(request.score, request.dtype);
  }
  if (narrow) {
    if (auto result = fast()) return *std::move(result);
  }
  AttentionResult result = reference_attention(request, geometry, visibility);
  result.pooled_from = from;
  return result;
}

AttentionResult attend(const Score& score, const AttentionOptions& options) {
  return attend(AttentionRequest{options, score});
}

AttentionResult attend(const Sequences& sequences, const AttentionOptions& options) {
  return attend(AttentionRequest{options, ScaledDotProduct{sequences}});
}

}  // namespace attn
