#include "document/plan.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "document/document.hpp"
#include "document/reader.hpp"

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
