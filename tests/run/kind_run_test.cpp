#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"
#include "attn/run.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "run_document.hpp"
#include "temporary_folder.hpp"

namespace {

TEST_CASE("a tensor that a model's result has not is refused before the model is computed") {
  const TemporaryFolder folder;
  attn::RunOptions options;
  options.document.model = std::filesystem::path(ATTN_DATA) / "speeches";
  options.document.texts = {{"The state of the Union", {}}};
  options.out = folder / "out";
  options.plots = {};
  std::size_t computed = 0;
  options.progress = [&](std::size_t, std::size_t) { ++computed; };
  options.document.threads = 1;
  options.only = {"self.weights", "layers.0.cross.weights"};
  CHECK(error_from([&] { attn::run(options); }) ==
        "the result has no tensor \"layers.0.cross.weights\"\n  where: RunOptions::only\n"
        "  help:  did you mean \"layers.0.self.weights\"?");
  const auto told = [&](const std::string& name, const std::string& help) {
    options.only = {name};
    CHECK(error_from([&] { attn::run(options); }) ==
          "the result has no tensor \"" + name + "\"\n  where: RunOptions::only\n  help:  " + help);
  };
  told("logits", "add DocumentOptions::logits, which writes them");
  told("blocks.2.attn.hook_q", "known: token_ids, embedded, output, weights");
  told("hidden_states", "add RunOptions::stages, which writes states");
  told("layers.2",
       "write DocumentOptions::layers 2, and RunOptions::only weights for its weights alone");
  CHECK(computed == 0);
  options.only = {"self.weights", "output"};
  CHECK(error_from([&] { attn::run(options); }) == "no error");
  CHECK(computed > 0);
}

TEST_CASE("reports call the masks of a model with windows of patches what they are") {
  const TemporaryFolder folder;
  attn::RunOptions options;
  options.document.input = std::filesystem::path(ATTN_TEST_DATA) / "models" / "pictures" /
                           "swin_shifted_windows" / "input.json";
  options.out = folder / "out";
  options.plots = {};
  attn::RunOutcome outcome;
  outcome.reports = attn::run(options).reports;
  const std::string text = attn::report_text(outcome, 100);
  CAPTURE(text);
  CHECK(text.find("Mask: windows of patches; 192 of 256 weights hidden (75.0 %)") !=
        std::string::npos);
  CHECK(text.find("documents") == std::string::npos);
}

TEST_CASE(
    "weights that a bias makes 0 are counted beside the hidden ones, once, with what to write") {
  const DocumentResult result = run_document(
      R"({"attention": "sdpa", "query": {"ones": [1, 3, 2]}, "mask": {"bias": [
          [0, -1e9, "-inf"], [0, 0, -3e38], [0, 0, 0]]}})");
  const attn::ReportedWeights& weights = result.reports[0].weights[0];
  CHECK(weights.hidden == 1);
  CHECK(weights.hidden_in_effect == 2);
  CHECK(weights.cells == 9);
  CHECK(result.reports[0].warnings ==
        std::vector<std::string>{
            "weights: 2 of 9 are 0 by large negative numbers of the bias alone: \"-inf\" hides "
            "these keys, also from a query that sees no others"});
  attn::RunOutcome outcome;
  outcome.reports = result.reports;
  CHECK(attn::report_text(outcome, 100)
            .find("Mask: bias; 1 of 9 weights hidden (11.1 %), 2 more are 0 by the bias\n") !=
        std::string::npos);
}

TEST_CASE("rows beyond the valid lengths of queries are zeros and no queries without a key") {
  const DocumentResult result = run_document(
      R"({"attention": "sdpa", "query": {"ones": [2, 3, 2]},
          "valid_lens": {"query": [1, 3], "key": [3, 0]}})");
  CHECK(result.tensor("output").at({0, 1, 0}) == 0);
  CHECK(result.tensor("lse").at({0, 1}) == -INFINITY);
  CHECK(result.tensor("weights").at({0, 0, 2}) > 0);
  CHECK(result.reports[0].warnings ==
        std::vector<std::string>{
            "3 queries have no key left to see: their weights and output are zero"});
}

attn::RunOptions speech(const TemporaryFolder& folder) {
  attn::RunOptions options;
  options.document.model = std::filesystem::path(ATTN_DATA) / "speeches";
  options.document.texts = {{"The state of the Union and the people of the United States", {}}};
  options.out = folder / "out";
  return options;
}

TEST_CASE("weights of a model are pooled as those of a document are") {
  const TemporaryFolder folder;
  attn::RunOptions options = speech(folder);
  options.plots = {};
  attn::run(options);
  const attn::Tensor whole = attn::TensorFile::open(folder / "out/result.json")
                                 .read("layers.1.self.weights")
                                 .converted(attn::DType::float64);
  for (const bool largest : {false, true}) {
    CAPTURE(largest);
    options.document.pool =
        attn::Pooling{4, largest ? attn::Pooling::Reduction::max : attn::Pooling::Reduction::mean};
    options.tensors = largest ? attn::TensorFormat::safetensors : attn::TensorFormat::json;
    attn::run(options);
    const auto file = attn::TensorFile::open(folder / "out/result.json");
    const attn::Tensor pooled =
        file.read("layers.1.self.pooled_weights").converted(attn::DType::float64);
    const std::size_t heads = whole.shape()[1], n = whole.shape()[2];
    REQUIRE(pooled.shape() == attn::Shape{1, heads, 4, 4});
    for (std::size_t h = 0; h < heads; ++h) {
      std::vector<double> sums(16), most(16), counts(16);
      for (std::size_t i = 0; i < n; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
          const std::size_t cell = i * 4 / n * 4 + j * 4 / n;
          const double weight = whole.at({0, h, i, j});
          sums[cell] += weight;
          most[cell] = std::max(most[cell], weight);
          ++counts[cell];
        }
      }
      for (std::size_t cell = 0; cell < 16; ++cell) {
        const double expected = largest ? most[cell] : sums[cell] / counts[cell];
        CHECK(pooled.at({0, h, cell / 4, cell % 4}) == doctest::Approx(expected).epsilon(1e-6));
      }
    }
    CHECK(error_from([&] { file.read("layers.1.self.weights"); }) != "no error");
  }
  options.document.pool->size = 0;
  CHECK(error_from([&] { attn::run(options); }) ==
        "expected a whole number of at least 1, found 0\n  where: DocumentOptions::pool\n"
        "  help:  give a whole number of at least 1");
}

TEST_CASE("a model's attentions show the head that tells most, and no chart of sizes unasked") {
  const TemporaryFolder folder;
  attn::RunOptions options = speech(folder);
  const attn::RunReport told = attn::run(options).reports[0];
  CHECK(told.chooses_heads);
  CHECK(std::filesystem::exists(folder / "out/heatmap.layers.0.self.png"));
  CHECK_FALSE(std::filesystem::exists(folder / "out/dimensions.png"));
  const auto file = attn::TensorFile::open(folder / "out/result.json");
  bool other_than_first = false;
  for (const attn::ReportedWeights& one : told.weights) {
    const attn::Tensor all = file.read(one.name);
    other_than_first = other_than_first || one.head != 0;
    CHECK(one.weights.at({3, 2}) == all.at({0, one.head, 3, 2}));
    CHECK(one.heatmap.title.find("Head " + std::to_string(one.head)) != std::string::npos);
  }
  CHECK(other_than_first);
  options.selection.chosen_heads = {{0, 1}};
  options.plots_chosen = true;
  const attn::RunReport first = attn::run(options).reports[0];
  CHECK_FALSE(first.chooses_heads);
  CHECK(first.weights[1].head == 0);
  CHECK(std::filesystem::exists(folder / "out/dimensions.png"));
}

TEST_CASE("a run tells each token that it generates, of how many") {
  const TemporaryFolder folder;
  attn::RunOptions options;
  options.document.model = std::filesystem::path(ATTN_DATA) / "speeches";
  options.document.texts = {{"The state of the Union", {}}, {"the people of", {}}};
  options.document.generate = 3;
  options.out = folder / "out";
  options.plots = {};
  std::vector<std::size_t> told, of;
  options.document.generated = [&](std::size_t done, std::size_t all) {
    told.push_back(done);
    of.push_back(all);
  };
  attn::run(options);
  CHECK(told == std::vector<std::size_t>{1, 2, 3, 4, 5, 6});
  CHECK(of == std::vector<std::size_t>(6, 6));
}

TEST_CASE("what queries see is a result by itself") {
  const TemporaryFolder folder;
  attn::RunOptions options;
  options.document.input = folder.write("doc.json", R"({"attention":"decoder_layer","heads":2,
    "feed_forward":8,"x":{"rand":[3,2,4]},"memory":{"rand":[3,5,4]},"seed":1,
    "parameters":{"init":"torch"},"mask":{"causal":true}})");
  options.plots = {};
  const auto names = [&](std::vector<std::string> only) {
    options.only = std::move(only);
    options.out = folder / "out";
    attn::run(options);
    return attn::TensorFile::open(folder / "out/result.json").names();
  };
  CHECK(names({"allowed"}) == std::vector<std::string>{"self.allowed"});
  const attn::Tensor alone = attn::TensorFile::open(folder / "out/result.json")
                                 .read("self.allowed")
                                 .converted(attn::DType::boolean);
  CHECK(names({"allowed", "weights"}) ==
        std::vector<std::string>{"self.weights", "self.allowed", "cross.weights"});
  const attn::Tensor beside = attn::TensorFile::open(folder / "out/result.json")
                                  .read("self.allowed")
                                  .converted(attn::DType::boolean);
  CHECK(alone.shape() == attn::Shape{3, 2, 2, 2});
  CHECK(std::ranges::equal(alone.values<std::uint8_t>(), beside.values<std::uint8_t>()));
  options.weights = false;
  CHECK(names({"allowed"}) == std::vector<std::string>{"self.allowed"});
}

TEST_CASE("all gradients are chosen by one name") {
  const TemporaryFolder folder;
  attn::RunOptions options;
  options.document.input = folder.write("doc.json", R"({"attention":"sdpa","query":[[1],[2]],
    "gradient":{"output":[[1],[1]]}})");
  options.plots = {};
  for (const char* const group : {"gradient", "gradient.*"}) {
    options.only = {group};
    options.out = folder / group;
    attn::run(options);
    const std::vector<std::string> names =
        attn::TensorFile::open(options.out / "result.json").names();
    CHECK_FALSE(names.empty());
    for (const std::string& name : names) CHECK(name.starts_with("gradient."));
  }
  options.document.input = folder.write("none.json", R"({"attention":"sdpa","query":[[1],[2]]})");
  CHECK_THROWS_AS(attn::run(options), attn::Error);
}

TEST_CASE("a result with numbers that are not finite says so in its report and in result.json") {
  const TemporaryFolder folder;
  attn::RunOptions options;
  options.document.input = folder.write("doc.json", R"({"attention":"sdpa","query":[[1],[2]],
    "key":[[1],[2]],"value":[[1],["nan"]],"mask":{"causal":true}})");
  options.out = folder / "out";
  options.plots = {};
  const std::vector<std::string> expected{
      "1 of 2 numbers of \"output\" is NaN or infinite: nan at [1,0]; the first step with such a "
      "number is the input \"value\""};
  CHECK(attn::run(options).reports[0].warnings == expected);
  const attn::JsonValue result = attn::parse_json(read_text(folder / "out/result.json"));
  CHECK(result.find("warnings")->size() == 1);
  CHECK(result.find("warnings")->element(0).string() == expected[0]);
}

}  // namespace
