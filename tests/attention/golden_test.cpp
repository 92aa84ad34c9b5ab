#include <doctest/doctest.h>

#include "attn/attention.hpp"
#include "attn/spec.hpp"

#include "attention/recorded_case.hpp"

namespace {

using namespace attn::testing;

attn::AttentionResult computed(const RecordedCase& one, attn::DType dtype) {
  const attn::KindInfo* kind = attn::find_kind(one.word("kind"));
  REQUIRE(kind != nullptr);
  attn::AttentionRequest request = one.attention(kind->kind);
  request.dtype = dtype;
  return attn::attend(request);
}

TEST_CASE("every kind gives PyTorch's numbers to the precision of its inputs") {
  const std::vector<RecordedCase> cases = recorded_cases("cases.txt");
  CHECK(cases.size() == 42);
  check_recorded(cases, [](const RecordedCase& one, attn::DType dtype) {
    const attn::AttentionResult result = computed(one, dtype);
    return Results{{"weights", result.weights}, {"output", result.output}, {"lse", result.lse}};
  });
}

TEST_CASE("where PyTorch's weights are zero, so are these") {
  for (const RecordedCase& one : recorded_cases("cases.txt")) {
    CAPTURE(one.name);
    const attn::Tensor& expected = one.expected.at("weights");
    const attn::Tensor wide = computed(one, attn::DType::float64).weights;
    const attn::Tensor narrow = computed(one.in_float32(), attn::DType::float32).weights;
    REQUIRE(wide.shape() == expected.shape());
    REQUIRE(narrow.shape() == expected.shape());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (expected.values<double>()[i] != 0) continue;
      CHECK(wide.values<double>()[i] == 0);
      CHECK(narrow.values<float>()[i] == 0);
    }
  }
}

}  // namespace
