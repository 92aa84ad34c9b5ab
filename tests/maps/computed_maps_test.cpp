#include "maps/computed_maps.hpp"

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "document/document.hpp"
#include "document/reader.hpp"

namespace {

using namespace attn;

using Texts = std::vector<std::string>;

Plan plan_of(const Document& document, bool weights) {
  const auto choose = [&](Plan& plan) {
    ComputingOptions computing = plan.options();
    computing.weights = weights;
    plan.choose(computing);
  };
  std::vector<Plan> plans = read_plans(document, choose);
  REQUIRE(plans.size() == 1);
  choose(plans[0]);
  return plans[0];
}

Document model_document() {
  const auto folder = std::filesystem::path(ATTN_TEST_DATA) / "models" / "cases" / "llama_grouped";
  DocumentOptions options;
  options.input = folder / "input.json";
  return open_document(options);
}

// Names of tensors and of maps, "map self", in the order in which they come.
Texts events_of(const Plan& plan) {
  Texts events;
  compute(plan, {.tensor = [&](const NamedTensor& tensor) { events.push_back(tensor.name); },
                 .map =
                     [&](const AttentionMap& map, std::size_t at) {
                       CHECK(map.planned == &plan.attentions[at]);
                       events.push_back("map " + map.name.text());
                     }});
  return events;
}

}  // namespace

TEST_CASE("tensors come in the order of the result, a map after the tensors of its attention") {
  const Document document = Document::parse(R"({"attention":"decoder_layer","heads":2,
    "feed_forward":8,"x":{"rand":[3,2,4]},"memory":{"rand":[3,5,4]},"seed":1,
    "parameters":{"init":"torch"},"mask":{"causal":true}})",
                                            "doc.json", {});
  CHECK(events_of(plan_of(document, true)) ==
        Texts{"self.weights", "self.allowed", "map self", "cross.weights", "map cross", "output"});
  CHECK(events_of(plan_of(document, false)) == Texts{"map self", "map cross", "output"});
}

TEST_CASE("a model's maps come as soon as each is computed, and those without weights last") {
  const Document document = model_document();
  const Plan plan = plan_of(document, true);
  Texts maps;
  for (const PlannedAttention& attention : plan.attentions) {
    maps.push_back("map " + attention.name.text());
  }
  const Texts events = events_of(plan);
  for (std::size_t at = 0; at < maps.size(); ++at) {
    const auto map = std::find(events.begin(), events.end(), maps[at]);
    REQUIRE(map != events.end());
    CHECK(*(map - 1) == plan.attentions[at].name.tensor("weights"));
  }
  const Texts without = events_of(plan_of(document, false));
  REQUIRE(without.size() > maps.size());
  CHECK(Texts(without.end() - static_cast<std::ptrdiff_t>(maps.size()), without.end()) == maps);
}

TEST_CASE("layers of a model that see the same keys share the tensor of these") {
  const Plan plan = plan_of(model_document(), true);
  std::vector<AttentionMap> maps;
  const ComputedFacts facts = compute(
      plan, {.tensor = {}, .map = [&](AttentionMap map, std::size_t) { maps.push_back(map); }});
  REQUIRE(maps.size() > 1);
  CHECK(maps[0].allowed);
  CHECK(maps[0].allowed.bytes() == maps[1].allowed.bytes());
  CHECK(maps[0].heads_per_group > 1);
  CHECK(facts.shapes.size() > maps.size());
}

TEST_CASE("layers of a model whose masks differ in any part have seen keys of their own") {
  Plan plan = plan_of(model_document(), true);
  REQUIRE(plan.attentions.size() > 1);
  const std::size_t keys = plan.attentions[1].geometry.keys;
  const Mask shared = plan.attentions[1].mask;
  std::vector<Mask> others(4, shared);
  others[0].padding = Tensor({1, keys}, std::vector<std::uint8_t>(keys, 1));
  others[1].block = Tensor({keys}, std::vector<std::uint8_t>(keys, 1));
  others[2].valid_lens = Tensor({1}, std::vector<std::int64_t>{1});
  others[3].window = Window{0, std::nullopt};
  for (const Mask& other : others) {
    plan.attentions[1].mask = other;
    std::vector<Tensor> seen;
    compute(plan, {.tensor = {}, .map = [&](const AttentionMap& map, std::size_t) {
                     seen.push_back(map.allowed);
                   }});
    CHECK(seen[0].bytes() != seen[1].bytes());
  }
}
