#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/explain.hpp"
#include "attn/io.hpp"
#include "attn/run.hpp"

#include "chinese.hpp"
#include "error_from.hpp"
#include "explain/explained_steps.hpp"
#include "temporary_folder.hpp"

namespace {

using namespace attn;

const std::filesystem::path explanations =
    std::filesystem::path(ATTN_TEST_DATA) / "explain" / "explanations";

const std::string three_keys =
    R"({"weights": [[1, 0, 0], [0.25, 0.75, 0], [0.2, 0.3, 0.5]], "labels": ["the", "cat", "sat"]})";

ExplainOptions options_for(const std::filesystem::path& path, std::size_t query = 0) {
  ExplainOptions options;
  options.document.input = path;
  options.query = query;
  return options;
}

std::string explained(const ExplainOptions& options) {
  return explain(options).text;
}

// Wherever lines end.
bool holds(std::string text, const std::string& part) {
  for (std::size_t end = text.find("\n   "); end != std::string::npos; end = text.find("\n   ")) {
    text.replace(end, 4, " ");
  }
  return text.find(part) != std::string::npos;
}

// A stack of layers [1,heads,2,2]; the first weight of layer l and head h is 0.1·l + 0.01·h.
std::string stack(std::size_t layers, std::size_t heads) {
  std::vector<NamedTensor> tensors;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    std::vector<double> numbers;
    for (std::size_t head = 0; head < heads; ++head) {
      const double share = 0.1 * static_cast<double>(layer) + 0.01 * static_cast<double>(head);
      numbers.insert(numbers.end(), {share, 1 - share, 1 - share, share});
    }
    tensors.push_back({"layer" + std::to_string(layer), Tensor({1, heads, 2, 2}, numbers)});
  }
  return npz_bytes(tensors);
}

}  // namespace

TEST_CASE("a row of a map is told with its sum, its order, its spread and what is hidden") {
  const TemporaryFolder folder;
  const auto file = folder.write("map.json", three_keys);
  std::string text = explained(options_for(file, 1));
  const std::size_t at = text.find(file.string());
  REQUIRE(at != std::string::npos);
  text.replace(at, file.string().size(), "map.json");
  CHECK(text == read_text(explanations / "map.txt"));
}

TEST_CASE("a row of a map is told in Chinese and in Markdown too") {
  const TemporaryFolder folder;
  ExplainOptions options = options_for(folder.write("map.json", three_keys), 1);
  {
    const Chinese chinese;
    const std::string text = explained(options);
    CHECK(holds(text, "头 0：权重的去向，\"cat\" (1)"));
    CHECK(holds(text, "权重之和为 1，与 softmax 的结果相符。"));
    CHECK(holds(text, "文件没有说明掩码遮挡了哪些键。有 1 个权重恰好是 0"));
  }
  options.format = ExplanationFormat::markdown;
  const std::string markdown = explained(options);
  CHECK(holds(markdown, "| rank | key | weight | so far |"));
  CHECK(holds(markdown, "H = -\\sum_j p_j \\ln p_j"));
}

TEST_CASE("layers and heads of a stack are chosen as for pictures, each explained by itself") {
  const TemporaryFolder folder;
  ExplainOptions options = options_for(folder.write("maps.npz", stack(3, 3)), 1);
  options.maps.name = "layer{n}";
  options.maps.selection.layers = {{{0, 1}, {2, 3}}};
  options.maps.selection.heads = MapSelection::Shown::all;
  options.maps.selection.chosen_heads = {{{0, 2}}};
  const std::string text = explained(options);
  for (const std::string title :
       {"Layer 0, Head 0: where query 1 looks", "Layer 0, Head 1: where query 1 looks",
        "Layer 2, Head 0: where query 1 looks", "Layer 2, Head 1: where query 1 looks"}) {
    CAPTURE(title);
    CHECK(holds(text, title));
  }
  CHECK_FALSE(holds(text, "Layer 1"));
  CHECK_FALSE(holds(text, "Head 2"));
  options.format = ExplanationFormat::json;
  const std::string json = explained(options);
  CHECK(json.starts_with("[\n"));
  CHECK(json.find("\"layer\": 2,\n    \"sample\": 0,\n    \"head\": 1,\n    \"query\": 1") !=
        std::string::npos);
}

TEST_CASE("of a stack of which nothing is chosen the first layer and head are explained") {
  const TemporaryFolder folder;
  const auto file = folder.write("maps.npz", stack(3, 2));
  const std::string text = explained(options_for(file));
  CHECK(text.starts_with("Layer 0, Head 0: where query 0 looks\n"));
  CHECK(holds(text, "- Layer 0, of 3 in all\n"));
  ExplainOptions by_number = options_for(file);
  by_number.layer = 2;
  CHECK(explained(by_number).starts_with("Layer 2, Head 0: where query 0 looks\n"));
  ExplainOptions mean = options_for(file);
  mean.maps.selection.heads = MapSelection::Shown::mean;
  CHECK(explained(mean).starts_with("Layer 0, Mean of 2 Heads: where query 0 looks\n"));
}

TEST_CASE("a result, its folder and several files are explained without their document") {
  const TemporaryFolder folder;
  RunOptions run_options;
  run_options.document.input = folder.write(
      "doc.json", R"({"attention":"sdpa","query":[[1,0],[0,1]],"mask":{"causal":true}})");
  run_options.out = folder / "made";
  run_options.plots.clear();
  run(run_options);
  const std::string of_folder = explained(options_for(folder / "made"));
  CHECK(of_folder == explained(options_for(folder / "made/result.json")));
  CHECK(holds(of_folder, "The mask hides 1 key of 2: key 1."));

  ExplainOptions several = options_for(folder.write("layer0.json", "[[1,0],[0,1]]"));
  several.maps.others = {folder.write("layer1.json", "[[0.5,0.5],[0,1]]")};
  const std::string both = explained(several);
  CHECK(holds(both, "Layer 0, Head 0: where query 0 looks"));
  CHECK(holds(both, "Layer 1, Head 0: where query 0 looks"));
  const auto named = folder.write("named.json", R"({"layers.foo.weights": [[1,0],[0,1]]})");
  CHECK(holds(explained(options_for(named)), "Head 0: where query 0 looks"));
}

TEST_CASE("what is unlike a softmax is told") {
  const TemporaryFolder folder;
  const auto told = [&](const std::string& row) {
    return explained(options_for(folder.write("row.json", R"({"weights": [)" + row + "]}")));
  };
  CHECK(holds(told("[0, 0]"),
              "All weights are 0: no key is left for this query, or it is padding itself."));
  CHECK(holds(told("[0.25, 0.5]"), "The rest, 0.25, may have gone"));
  CHECK(holds(told("[1, 1]"), "The weights sum to 2, more than those of a softmax"));
  CHECK(holds(told(R"(["nan", 1])"), "1 of the weights is not a number (nan)"));
  CHECK(!holds(told(R"(["nan", 1])"), "none is hidden"));
  CHECK(holds(told("[-0.5, 1.5]"), "The sum of the row is 1, and 1 number is negative"));
  CHECK(holds(told("[1]"), "Only one key can be seen, so it cannot be more."));
}

TEST_CASE("of a long row the largest are shown, the rest is counted, and --full shows all") {
  const TemporaryFolder folder;
  std::string row;
  for (int i = 0; i < 64; ++i) row += (i > 0 ? "," : "") + std::string("0.015625");
  ExplainOptions options = options_for(folder.write("row.json", R"({"weights": [[)" + row + "]]}"));
  const std::string text = explained(options);
  CHECK(holds(text, "… 54 more keys …"));
  CHECK(holds(text, "The 54 keys that are left out have 0.8438 of the sum 1."));
  CHECK(holds(text, "Half of the sum lies on 32 keys, nine tenths on 58 keys."));
  CHECK(holds(text, "exp(H) = 64 keys of equal weight"));
  options.full = true;
  CHECK_FALSE(holds(explained(options), "more keys"));
}

TEST_CASE("every query of a map is explained one after the other") {
  const TemporaryFolder folder;
  ExplainOptions options = options_for(folder.write("map.json", three_keys));
  options.every_query = true;
  const std::string text = explained(options);
  for (const std::string query : {"\"the\" (0)", "\"cat\" (1)", "\"sat\" (2)"}) {
    CHECK(holds(text, "Head 0: where " + query + " looks"));
  }
  CHECK(holds(text, "each of the 3 queries, all counted from 0"));
}

TEST_CASE("what cannot be explained of maps is refused with what to do") {
  const TemporaryFolder folder;
  const auto file = folder.write("map.json", three_keys);
  CHECK(error_from([&] { explained(options_for(file, 3)); }) ==
        "there is no query 3: the attention has 3 queries\n  where: ExplainOptions::query\n"
        "  help:  give 0 to 2");
  ExplainOptions causal = options_for(file);
  causal.document.causal = true;
  CHECK(error_from([&] { explained(causal); }, ErrorKind::usage) ==
        "existing maps are not computed, so DocumentOptions::causal has no meaning\n"
        "  where: DocumentOptions::causal\n"
        "  help:  leave it out, or give the document that the maps come from");
  ExplainOptions other =
      options_for(folder.write("scores.json", R"({"weights": [[1]], "scores": [[3]]})"));
  other.maps.name = "scores";
  CHECK(error_from([&] { explained(other); }) ==
        "\"scores\" holds no weights\n  where: MapRequest::name\n"
        "  help:  name a tensor of weights; if rows are queries and columns keys, say so with "
        "MapRequest::axes");
}
