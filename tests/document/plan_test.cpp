#include "document/plan.hpp"

#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "document/document.hpp"
#include "document/reader.hpp"
#include "error_from.hpp"

using namespace attn;

namespace {

using Names = std::vector<std::string>;

Plan plan_of(const std::string& document) {
  std::vector<Plan> plans = read_plans(Document::parse(document, "doc.json", {}));
  REQUIRE(plans.size() == 1);
  return plans[0];
}

Names prefixes_of(const Plan& plan) {
  Names prefixes;
  for (const PlannedAttention& attention : plan.attentions)
    prefixes.push_back(attention.name.prefix());
  return prefixes;
}

const std::string decoder = R"({"attention":"decoder_layer","heads":2,"feed_forward":8,"layers":2,
  "x":{"rand":[3,2,4]},"memory":{"rand":[3,5,4]},"seed":1,"parameters":{"init":"torch"},
  "mask":{"causal":true},"memory_valid_lens":[5,4,3],
  "labels":{"query":["a","b"],"key":["v","w","x","y","z"]}})";

}  // namespace

TEST_CASE("the attentions of a plan stand in the order of computation") {
  CHECK(prefixes_of(plan_of(R"({"attention":"sdpa","query":[[1,2]]})")) == Names{""});
  CHECK(prefixes_of(plan_of(R"({"attention":"self","x":[[1,2]],"seed":1,
                                "parameters":{"init":"torch"}})")) == Names{""});
  CHECK(prefixes_of(plan_of(R"({"attention":"encoder_layer","feed_forward":3,"x":[[1,2]],"seed":1,
                                "parameters":{"init":"torch"}})")) == Names{"self."});
  CHECK(prefixes_of(plan_of(decoder)) ==
        Names{"layers.0.self.", "layers.0.cross.", "layers.1.self.", "layers.1.cross."});
}

TEST_CASE("each attention of a decoder has its own mask, sizes and labels") {
  const Plan plan = plan_of(decoder);
  const PlannedAttention &self = plan.attentions[2], &cross = plan.attentions[3];
  CHECK(self.mask.causal);
  CHECK(!cross.mask.causal);
  CHECK(cross.mask.valid_lens);
  CHECK(self.geometry.weights_shape() == Shape{3, 2, 2, 2});
  CHECK(cross.geometry.weights_shape() == Shape{3, 2, 2, 5});
  CHECK(self.labels.query == std::vector<Names>{{"a", "b"}});
  CHECK(self.labels.key == std::vector<Names>{{"a", "b"}});
  CHECK(cross.labels.query == std::vector<Names>{{"a", "b"}});
  CHECK(cross.labels.key == std::vector<Names>{{"v", "w", "x", "y", "z"}});
  CHECK(plan.scores_count() == 2 * (3 * 2 * 2 * 2 + 3 * 2 * 2 * 5));
}

TEST_CASE("layers of different widths have sizes of their own") {
  const auto layer = [](int number, int width) {
    const std::string name = "\"layers." + std::to_string(number) + ".";
    const std::string in = "{\"ones\":[" + std::to_string(width) + ",2]}";
    const std::string out = "{\"ones\":[2," + std::to_string(width) + "]}";
    return name + "self_attn.W_q.weight\":" + in + "," + name + "self_attn.W_k.weight\":" + in +
           "," + name + "self_attn.W_v.weight\":" + in + "," + name +
           "self_attn.W_o.weight\":" + out + "," + name + "linear1.weight\":" + in + "," + name +
           "linear2.weight\":" + out;
  };
  const Plan plan =
      plan_of(R"({"attention":"encoder_layer","layers":2,"x":[[1,2]],"parameters":{)" +
              layer(0, 3) + "," + layer(1, 6) + "}}");
  CHECK(plan.attentions[0].geometry.query_width == 3);
  CHECK(plan.attentions[1].geometry.query_width == 6);
}

TEST_CASE("maps of rank 3 count heads only where there are heads but no samples") {
  const auto heads_only = [](const std::string& query, const std::string& more) {
    return plan_of(R"({"attention":"sdpa","seed":1,"query":{"rand":)" + query + "}" + more + "}")
        .attentions[0]
        .heads_only();
  };
  CHECK(heads_only("[3,4]", R"(,"heads":2)"));
  CHECK(!heads_only("[3,4]", ""));
  CHECK(!heads_only("[2,3,4]", R"(,"heads":2)"));
  CHECK(!heads_only("[2,3,4]", ""));
}

namespace {

// The error of read_plans() for a document under a limit of elements; "read" if there is none.
std::string verdict(const std::string& document, std::uint64_t elements) {
  FileAccess access;
  access.limits.elements = elements;
  try {
    read_plans(Document::parse(document, "doc.json", {}, access));
  } catch (const Error& error) {
    return error.what();
  }
  return "read";
}

Demand demand(const std::string& document) {
  return demand_of(read_plans(Document::parse(document, "doc.json", {}))[0]);
}

std::string refused(const std::string& all, const std::string& read, const std::string& computed,
                    const std::string& limit) {
  return "the document asks for " + all + " elements in all, " + read + " to read and " + computed +
         " to compute, and the limit is " + limit +
         "\n  where: doc.json\n  help:  make it smaller, leave the weights out, or raise the limit "
         "with Limits::elements";
}

TEST_CASE("a demand counts inputs, weights and output of an attention") {
  const Demand counted = demand(R"({"attention":"sdpa","query":{"ones":[2,3,4]},)"
                                R"("key":{"ones":[2,5,4]},"value":{"ones":[2,5,6]}})");
  CHECK(counted.read == 2 * (3 * 4 + 5 * 4 + 5 * 6));
  CHECK(counted.computed == 2 * (3 * 5 + 3 * 6));
  CHECK(counted.bytes == 4 * (counted.read + counted.computed));
}

TEST_CASE("the work of a plan is the multiplications that an explanation lists") {
  CHECK(demand(R"({"attention":"sdpa","query":{"ones":[2,3,4]},"key":{"ones":[2,5,4]},)"
               R"("value":{"ones":[2,5,6]}})")
            .work == 2 * 3 * 5 * (4 + 6));
  // Two heads of width 2; projections of width 4, and the output's.
  CHECK(demand(R"({"attention":"multi_head","heads":2,"seed":1,"x":{"ones":[3,4]},)"
               R"("parameters":{"init":"torch"}})")
            .work == 2 * 3 * 3 * (2 + 2) + 4 * 3 * 4 * 4);
  CHECK(demand(R"({"attention":"additive","seed":1,"query":{"ones":[1,2,4]},)"
               R"("key":{"ones":[1,5,3]},"value":{"ones":[1,5,2]},)"
               R"("parameters":{"init":"torch","hidden":7}})")
            .work == 2 * 4 * 7 + 5 * 3 * 7 + 2 * 5 * (7 + 2));
  CHECK(demand(R"({"attention":"encoder_layer","layers":3,"seed":1,"feed_forward":64,)"
               R"("x":{"ones":[5,4]},"parameters":{"init":"torch"}})")
            .work == 3 * (5 * 5 * (4 + 4) + 4 * 5 * 4 * 4 + 2 * 5 * 4 * 64));
}

TEST_CASE("a document that asks for more work than is allowed is refused before it is computed") {
  FileAccess access;
  access.limits.work = 1e6;
  const auto error = [&](const std::string& size) {
    return error_from([&] {
      read_plans(Document::parse(
          R"({"attention":"sdpa","weights":false,"query":{"ones":[)" + size + R"(,5]}})",
          "doc.json", {}, access));
    });
  };
  CHECK(error("300") == "no error");
  CHECK(error("400") ==
        "the document asks for 1.6M multiply-adds, and the limit is 1M\n"
        "  where: doc.json\n  help:  make it smaller, or raise the limit with Limits::work");
}

TEST_CASE("a demand counts drawn parameters, projections and the states of the feed-forward part") {
  const Demand counted = demand(
      R"({"attention":"encoder_layer","layers":3,"seed":1,"feed_forward":64,"x":{"ones":[5,4]},)"
      R"("parameters":{"init":"torch"}})");
  const double layer = 4 * (4 * 4 + 4) + (64 * 4 + 64) + (4 * 64 + 4);
  CHECK(counted.read == 5 * 4 + 3 * layer);
  CHECK(counted.computed == 3 * (5 * 5 + 5 * 4) + 2 * 5 * 64);
}

TEST_CASE("a demand counts the elements of masks, stages, softcaps and dropout once") {
  const std::string document =
      R"({"attention":"sdpa","seed":1,"query":{"ones":[3,4]},"softcap":2,"mask":{"causal":true},)"
      R"("dropout":{"p":0.1,"training":true}})";
  std::vector<Plan> plans = read_plans(Document::parse(document, "doc.json", {}));
  ComputingOptions computing = plans[0].options();
  computing.stages = true;
  plans[0].choose(computing);
  const Demand counted = demand_of(plans[0]);
  CHECK(counted.read == 12);
  // weights, allowed, dropped and what is kept, scores, capped, masked; log-sum-exp; output
  CHECK(counted.computed == 7 * 9 + 3 + 12);
  // One byte for what is seen and what is kept.
  CHECK(counted.bytes == 4 * (12 + 5 * 9 + 3 + 12) + 2 * 9);
}

TEST_CASE("the demand of a whole document is checked before anything is drawn") {
  CHECK(verdict(R"({"attention":"sdpa","weights":false,"query":{"zeros":[100000,1]},)"
                R"("key":{"zeros":[1,1]},"value":{"zeros":[1,1000000]}})",
                1'000'000'000) == refused("100G", "1.1M", "100G", "1G"));
  // Each layer's weights are below the limit.
  const std::string layers =
      R"({"attention":"encoder_layer","layers":80,"seed":1,"feed_forward":1,"x":{"ones":[4000,1]},)"
      R"("parameters":{"init":"torch","bias":false}})";
  CHECK(verdict(layers, 1'000'000'000)
            .starts_with("the document asks for 1.28G elements in all, 4480 to read and "));
  // A row of many tokens and many rows of one.
  std::string ids = "[" + std::string("[0") + [] {
    std::string zeros;
    for (int i = 1; i < 4000; ++i) zeros += ",0";
    return zeros + "]";
  }();
  for (int i = 0; i < 4000; ++i) ids += ",[0]";
  CHECK(verdict(R"({"attention":"sdpa","seed":1,"weights":false,"token_ids":)" + ids +
                    R"(],"embedding":{"vocabulary":["a"],"dimension":64,"init":"torch","pad":0}})",
                1'000'000'000)
            .starts_with("what the tokens become has 1.17G elements, and the limit is "));
}

TEST_CASE("the kinds of a list are counted together") {
  const std::string document = R"({"attention":["sdpa","dot_product"],"query":{"ones":[10,1]}})";
  CHECK(verdict(document, 240) == "read");
  CHECK(verdict(document, 239) == refused("240", "20", "220", "239"));
}

TEST_CASE("numbers of heads and layers that no memory could hold do not overflow") {
  for (const std::string kv_heads : {"10000000", "4611686018427387905", "9223372036854775807"}) {
    CAPTURE(kv_heads);
    const std::string problem =
        verdict(R"({"attention":"multi_head","heads":2,"kv_heads":)" + kv_heads +
                    R"(,"seed":1,"x":{"randn":[4,8]},"parameters":{"init":"torch"}})",
                1'000'000'000'000'000'000);
    CHECK(problem != "read");
    CHECK(problem.find("\n  where: doc.json, /") != std::string::npos);
  }
  CHECK(verdict(R"({"attention":"encoder_layer","layers":1001,"seed":1,"feed_forward":1,)"
                R"("x":[[1]],"parameters":{"init":"torch"}})",
                1'000'000) ==
        "layers is 1001, but the maximum is 1000\n"
        "  where: doc.json, /layers\n"
        "  help:  give fewer layers");
}

TEST_CASE("a document is validated without a tensor of it being made") {
  // Far more than the memory that this test would get.
  FileAccess access;
  access.limits.elements = 4'000'000'000'000;
  const Document document = Document::parse(
      R"({"attention":"sdpa","weights":false,"seed":1,"query":{"randn":[1000000000,1]},)"
      R"("key":{"ones":[1,1]},"mask":{"allow":{"ones":[1000000000,1]},"align":"lower_right"},)"
      R"("valid_lens":{"ones":[1000000000]}})",
      "doc.json", {}, access);
  Problems problems;
  constexpr Kind kinds[] = {Kind::scaled_dot_product};
  check_plans(document, kinds, problems);
  CHECK(problems.errors().empty());
}

}  // namespace
