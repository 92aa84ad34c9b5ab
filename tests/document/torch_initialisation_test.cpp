#include "document/torch_initialisation.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "document/document_problems.hpp"
#include "run/run_document.hpp"

namespace {

const std::string start = R"({"attention":"multi_head","heads":2,"x":[[1,2,3,4],[5,6,7,8]],)";
const std::string layer =
    R"({"attention":"encoder_layer","heads":2,"x":[[1,2,3,4],[5,6,7,8]],"seed":1,)";

TEST_CASE("a stack draws new parameters for each of its layers") {
  const DocumentResult one =
      run_document(layer + R"("feed_forward":6,"parameters":{"init":"torch"}})");
  const DocumentResult two =
      run_document(layer + R"("feed_forward":6,"layers":2,"parameters":{"init":"torch"}})");
  const auto first = one.tensor("self.weights"), again = two.tensor("layers.0.self.weights"),
             second = two.tensor("layers.1.self.weights");
  CHECK(std::vector<float>(first.values<float>().begin(), first.values<float>().end()) ==
        std::vector<float>(again.values<float>().begin(), again.values<float>().end()));
  CHECK(first.values<float>()[0] != second.values<float>()[0]);
}

TEST_CASE("an initialisation says what it lacks or does not know") {
  CHECK(problems_of(start + R"("parameters":{"init":"torch"}})") ==
        "the initialisation needs a seed\n"
        "  where: doc.json, /parameters/init\n"
        "  help:  add a \"seed\" to the document: the same seed gives the same numbers, those of "
        "torch.manual_seed");
  CHECK(problems_of(start + R"("seed":1,"parameters":{"init":"xavier"}})") ==
        "unknown initialisation \"xavier\"\n"
        "  where: doc.json, /parameters/init\n"
        "  help:  known: torch");
  CHECK(problems_of(start + R"("seed":1,"parameters":{"init":"torch","biass":false}})") ==
        "unknown key \"biass\"\n"
        "  where: doc.json, /parameters/biass\n"
        "  help:  did you mean \"bias\"?");
  CHECK(problems_of(
            R"({"attention":"additive","query":[[1]],"seed":1,"parameters":{"init":"torch"}})") ==
        "\"hidden\" is missing\n"
        "  where: doc.json, /parameters/hidden\n"
        "  help:  give the number of hidden units of additive attention, such as 8");
  CHECK(problems_of(
            R"({"attention":"general","query":[[1]],"seed":1,"parameters":{"init":"torch"}})") ==
        "the parameter of general attention cannot be drawn\n"
        "  where: doc.json, /parameters/init\n"
        "  help:  give W itself");
  CHECK(problems_of(R"({"attention":"multi_head","heads":3,"x":[[1,2,3,4]],"seed":1,)"
                    R"("parameters":{"init":"torch"}})") ==
        "the hidden states are 4 wide, which is not divisible by 3 heads\n"
        "  where: doc.json, /heads\n"
        "  help:  choose a number of heads that divides the width");
  CHECK(problems_of(layer + R"("parameters":{"init":"torch"}})") ==
        "\"feed_forward\" is missing\n"
        "  where: doc.json, /feed_forward\n"
        "  help:  give the hidden width of the layer's feed-forward part, such as 16");
}

TEST_CASE("parameters beyond the memory are refused before the first is drawn") {
  const std::string parameters = R"("parameters":{"init":"torch"}})";
  for (const char* size : {R"("feed_forward":6,"layers":1000000000000000,)",
                           R"("feed_forward":1000000000000000000,)"}) {
    CAPTURE(size);
    const std::string problem = problems_of(layer + size + parameters);
    CHECK(problem.starts_with("the set of parameters would take "));
    CHECK(problem.ends_with("\n  where: doc.json, /parameters\n  help:  make it smaller"));
  }
}

}  // namespace
