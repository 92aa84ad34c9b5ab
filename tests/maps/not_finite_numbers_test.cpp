#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "chinese.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "maps/computed_maps.hpp"

namespace {

using namespace attn;

// The warnings of a document, joined; `stages` and the weights are asked for.
std::string warnings_of(const std::string& document, bool stages = true) {
  const auto choose = [&](Plan& plan) {
    plan.choose({.dtype = plan.options().dtype, .weights = true, .stages = stages});
  };
  std::vector<Plan> plans = read_plans(Document::parse(document, "doc.json", {}), choose);
  REQUIRE(plans.size() == 1);
  choose(plans[0]);
  std::string all;
  for (const std::string& warning : compute(plans[0], {}).warnings) {
    all += (all.empty() ? "" : "\n") + warning;
  }
  return all;
}

// A document of two queries, three keys and these further members.
std::string sdpa(const std::string& key, const std::string& more = "") {
  return R"({"attention":"sdpa","query":[[1,0],[0,1]],"key":)" + key +
         R"(,"value":[[1,2],[3,4],[5,6]])" + more + "}";
}

const std::string whole = "[[1,0],[0,1],[1,1]]";

}  // namespace

TEST_CASE("a result without NaN and infinities has no warning, whatever hidden keys hold") {
  CHECK(warnings_of(sdpa(whole)) == "");
  CHECK(warnings_of(sdpa(R"([[1,0],[0,1],["nan",1]])", R"(,"valid_lens":[2])")) == "");
  CHECK(warnings_of(sdpa(R"([[1,0],[0,1],["inf",1]])", R"(,"mask":{"causal":true})")) == "");
  // A row without a key has weights and an output of zeros, and a log-sum-exp of -inf.
  CHECK(warnings_of(sdpa(whole, R"(,"mask":{"allow":[[0,0,0],[1,1,1]]})")) == "");
  CHECK(warnings_of(R"({"attention":"softmax","scores":[[1,"-inf"]],"value":[[1],["nan"]]})") ==
        "");
  CHECK(warnings_of(sdpa(whole, R"(,"score":"j == 1 ? -inf : s")")) == "");
}

TEST_CASE("NaN and infinities are counted with the first place and the first step") {
  CHECK(warnings_of(sdpa(R"([[1,0],["nan",1],[1,1]])"), false) ==
        "6 of 6 numbers of \"weights\" are NaN or infinite, the first, nan, at [0,0]; the first "
        "step with such a number is the input \"key\"; others are in \"output\"");
  CHECK(warnings_of(R"({"attention":"sdpa","query":[[1],[2]],"key":[[1],[2]],
    "value":[[1,2],[3,"inf"]],"mask":{"causal":true}})") ==
        "1 of 4 numbers of \"output\" is NaN or infinite: inf at [1,1]; the first step with such a "
        "number is the input \"value\"");
  // Too large for float32 alone, in which the softmax does not compute.
  CHECK(warnings_of(sdpa(R"([[1e30,0],[0,1],[1,1]])", R"(,"scale":1e20)")) ==
        "1 of 6 numbers of \"scores\" is NaN or infinite: inf at [0,0]; the first step with such a "
        "number is \"Scale\"; others are in \"capped\", \"masked\", \"lse\"");
  CHECK(warnings_of(sdpa(R"([[1e30,0],[0,1],[1,1]])", R"(,"scale":1e20)"), false) == "");
  CHECK(warnings_of(R"({"attention":"dot_product","dtype":"float16","query":[[300,0],[0,1]],
    "key":[[1,0],[300,1]],"value":[[1],[2]]})",
                    false) ==
        "2 of 4 numbers of \"weights\" are NaN or infinite, the first, nan, at [0,0]; the first "
        "step with such a number is \"Dot products of the query and the keys\"; others are in "
        "\"output\"");
  CHECK(warnings_of(R"({"attention":"sdpa","query":{"rand":[8,2]},"key":{"rand":[8,2]},
    "value":[[1],[1],[1],[1],[1],[1],[1],["nan"]],"pool":{"size":4},"seed":1})",
                    false) ==
        "8 of 8 numbers of \"output\" are NaN or infinite, the first, nan, at [0,0]; the first "
        "step with such a number is the input \"value\"");
}

TEST_CASE(
    "layers of a document tell the part of the layer in which the first number is not finite") {
  const auto layers = [](const std::string& x, const std::string& more) {
    return R"({"attention":"encoder_layer","heads":1,"feed_forward":4,"x":)" + x +
           R"(,"parameters":{"init":"torch"},"seed":1,"dtype":"float64")" + more + "}";
  };
  CHECK(warnings_of(layers(R"([[1,2],[3,"nan"]])", ""), false) ==
        "4 of 4 numbers of \"self.weights\" are NaN or infinite, the first, nan, at [0,0,0]; the "
        "first step with such a number is the input \"x\"; others are in \"output\"");
  CHECK(warnings_of(layers("[[1e200,2],[3,1e200]]", R"(,"layers":2)"), false) ==
        "2 of 4 numbers of \"layers.0.self.weights\" are NaN or infinite, the first, nan, at "
        "[0,0,1]; the first step with such a number is \"Layer 0: self-attention\"; others are in "
        "\"layers.1.self.weights\", \"output\"");
}

TEST_CASE("states that are projected are told from their projections") {
  const auto self = [](const std::string& x, const std::string& dtype) {
    return R"({"attention":"self","x":)" + x + R"(,"dtype":")" + dtype +
           R"(","parameters":{"W_q.weight":[[300,0]],"W_k.weight":[[1,0]],
              "W_v.weight":[[1,0]],"W_o.weight":[[400],[1]]}})";
  };
  const std::string found =
      "4 of 4 numbers of \"weights\" are NaN or infinite, the first, nan, at [0,0]; the first step "
      "with such a number is ";
  const std::string others = "; others are in \"output\"";
  CHECK(warnings_of(self(R"([[1,2],["nan",1]])", "float32"), false) ==
        found + "the input \"x\"" + others);
  CHECK(warnings_of(self("[[300,2],[300,1]]", "float16"), false) ==
        found + "\"Projections of queries, keys and values\"" + others);
  CHECK(warnings_of(self("[[200,2],[200,1]]", "float16"), false) ==
        found + "\"Dot products of the query and the keys\"" + others);
  CHECK(warnings_of(self("[[-200,2],[200,1]]", "float16"), false).find("output") !=
        std::string::npos);
}

TEST_CASE("the warning is there in Chinese") {
  const Chinese chinese;
  CHECK(warnings_of(sdpa(R"([[1,0],["nan",1],[1,1]])"), false) ==
        "\"weights\" 的 6 个数中有 6 个是 NaN 或无穷大，第一个是位于 [0,0] 的 "
        "nan；最先出现这种数的步骤是输入 \"key\"；\"output\" 中也有");
}
