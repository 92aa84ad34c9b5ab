#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/recorded_case.hpp"

namespace {

using namespace attn::testing;

TEST_CASE("scaled dot products follow the Attention operator of ONNX, stage by stage") {
  check_recorded(recorded_cases("onnx_attention.txt"),
                 [](const RecordedCase& one, attn::DType dtype) {
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

}  // namespace
