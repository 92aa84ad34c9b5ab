#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/head_preparation.hpp"
#include "attention/recorded_case.hpp"

namespace {

using namespace attn::testing;

void check_attention(const std::string& file) {
  check_recorded(recorded_cases(file), [](const RecordedCase& one, attn::DType dtype) {
    attn::AttentionRequest request = one.attention(attn::Kind::scaled_dot_product);
    request.dtype = dtype;
    const attn::AttentionResult result = attn::attend(request);
    return Results{{"scores", result.scores},
                   {"capped", result.capped},
                   {"masked", result.masked},
                   {"weights", result.weights},
                   {"output", result.output}};
  });
}

TEST_CASE("scaled dot products follow the Attention operator of ONNX, stage by stage") {
  check_attention("onnx_attention.txt");
}

TEST_CASE("a past with an axis of heads goes before keys without one, as in ONNX's Attention") {
  check_attention("onnx_attention_3d_past.txt");
}

TEST_CASE("queries are turned as by the RotaryEmbedding operator of ONNX") {
  check_recorded(
      recorded_cases("onnx_rotary_embedding.txt"), [](const RecordedCase& one, attn::DType dtype) {
        attn::AttentionRequest request = one.attention(attn::Kind::scaled_dot_product);
        request.rotary.emplace();
        request.rotary->cos = one.tensor("cos");
        request.rotary->sin = one.tensor("sin");
        request.rotary->positions = one.tensor("positions").converted(attn::DType::int64);
        request.rotary->interleaved = one.options.contains("interleaved");
        const attn::Geometry geometry = attn::check_geometry(request);
        const attn::Visibility visibility(request.mask, geometry);
        const attn::HeadPreparation preparation(request, geometry, visibility);
        const attn::Sequences& sequences = *attn::sequences_of(request.score);
        return Results{{"output", preparation.prepared(sequences, dtype).query}};
      });
}

}  // namespace
