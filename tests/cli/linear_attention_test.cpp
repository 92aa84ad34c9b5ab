#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

// Layers 0 to 2 are linear attention; layer 3 has a map.
const std::string hybrid =
    (fs::path(ATTN_TEST_DATA) / "models" / "cases" / "qwen3_next_delta_rule" / "input.json")
        .string();

constexpr const char* warning =
    "attn-cli: warning: layers without a map, as they have no attention weights: 0, 1, 2\n";

}  // namespace

TEST_CASE("layers of linear attention are passed over, and a warning names them") {
  const TemporaryFolder folder;
  const Outcome run =
      attn_cli({"run", hybrid, "--out", "r", "--stages", "--plots", "grid"}, folder.path());
  REQUIRE(run.exit_code == 0);
  CHECK(run.errors == warning);
  const attn::TensorFile got = attn::TensorFile::open(folder / "r" / "result.json");
  CHECK(got.read("layers.3.self.weights").shape() == attn::Shape{2, 4, 9, 9});
  CHECK(got.read("layers.0.output").shape() == attn::Shape{2, 9, 16});
  CHECK(read_text(folder / "r" / "result.json").find("layers.0.self") == std::string::npos);
  CHECK(fs::exists(folder / "r" / "grid.png"));

  const Outcome heads = attn_cli({"heads", hybrid, "--analyses", "rollout,lens,induction"});
  CHECK(heads.exit_code == 0);
  CHECK(heads.errors ==
        std::string(warning) +
            "attn-cli: warning: the rollout leaves out what layers without a map mix\n"
            "attn-cli: warning: the analysis rollout only writes tensors: add --out DIR or --plots "
            "all\n");
  CHECK(heads.output.find("  3.0  ") != std::string::npos);
  CHECK(heads.output.find("  0.0  ") == std::string::npos);

  // Layer 1 alone of those that are chosen is named.
  CHECK(attn_cli({"run", hybrid, "--layers", "1,3", "--plots", "none"}).errors ==
        "attn-cli: warning: layers without a map, as they have no attention weights: 1\n");
  CHECK(attn_cli({"explain", hybrid}).output.find("Into layer 3") != std::string::npos);
  CHECK(attn_cli({"view", hybrid, "--out", "page.html"}, folder.path()).errors == warning);
  const Outcome model = attn_cli({"model", fs::path(hybrid).parent_path() / "checkpoint"});
  CHECK(model.output.find("causal, 3 of 4 layers without attention weights, and so a map\n") !=
        std::string::npos);
}

TEST_CASE("heads of a layer of linear attention are refused where they are named") {
  const TemporaryFolder folder;
  const auto errors = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{more[0], hybrid};
    words.insert(words.end(), more.begin() + 1, more.end());
    return attn_cli(words, folder.path()).errors;
  };
  const auto refused = [](const std::string& flag) {
    return "attn-cli: layer 1 has no attention weights, and so no map\n  where: " + flag +
           "\n  help:  layers with maps: 3\n";
  };
  CHECK(errors({"run", "--layers", "1"}) == refused("--layers"));
  CHECK(errors({"run", "--heads-off", "1.0"})
            .find("layer 1 has no attention weights, and so no map") != std::string::npos);
  CHECK(errors({"run", "--why", "1.0"}) == refused("--why"));
  CHECK(errors({"explain", "--layer", "1"}) == refused("--layer"));
  CHECK(errors({"heads", "--without-heads-of", "1"}) == refused("--without-heads-of"));
  CHECK(errors({"heads", "--analyses", "norms"}) ==
        std::string("attn-cli: the norms of terms are not computed where heads' outputs have a "
                    "gate\n  where: --analyses\n  help:  leave norms out: a token's term differs "
                    "from query to query there\n"));
}

TEST_CASE("what linear attention writes is a part of splits") {
  const TemporaryFolder folder;
  const Outcome run = attn_cli({"run", hybrid, "--why", "3.1", "--query", "5", "--logit", "4",
                                "--out", "r", "--plots", "contributions", "--quiet"},
                               folder.path());
  REQUIRE(run.exit_code == 0);
  const std::string result = read_text(folder / "r" / "result.json");
  CHECK(result.find("\"2.mixer\"") != std::string::npos);
  CHECK(fs::exists(folder / "r" / "contributions.png"));
}
