#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/run.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
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
  CHECK(computed == 0);
  options.only = {"self.weights", "output"};
  CHECK(error_from([&] { attn::run(options); }) == "no error");
  CHECK(computed > 0);
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
