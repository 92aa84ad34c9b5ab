#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::filesystem::path explanations =
    std::filesystem::path(ATTN_TEST_DATA) / "explain" / "explanations";

}  // namespace

TEST_CASE("explain prints every step of each kind") {
  for (const std::string name :
       {"additive", "general", "heads", "layers", "no_key_left", "words"}) {
    CAPTURE(name);
    const Outcome explain = attn_cli({"explain", name + ".json"}, explanations);
    CHECK(explain.exit_code == 0);
    CHECK(explain.errors ==
          (name == "no_key_left"
               ? "attn-cli: warning: valid_lens hides every key from every query: "
                 "give the number of leading keys that are seen\n"
               : ""));
    CHECK(explain.output == read_text(explanations / (name + ".txt")));
  }
}

TEST_CASE("explain prints every step of a layer of a model") {
  struct Walk {
    std::string name, model;
    std::vector<std::string> choice;
  };
  for (const Walk& walk : std::vector<Walk>{
           {"model", "llama_grouped", {"--layer", "1", "--head", "3", "--query", "2"}},
           {"cross", "mbart_norms_first", {"--layer", "cross.0", "--query", "1"}},
           {"experts", "gpt_oss_sinks_bf16", {"--layer", "1", "--head", "1", "--query", "3"}}}) {
    CAPTURE(walk.name);
    std::vector<std::string> command{"explain", "../../models/cases/" + walk.model + "/input.json"};
    command.insert(command.end(), walk.choice.begin(), walk.choice.end());
    const Outcome explain = attn_cli(command, explanations);
    CHECK(explain.errors == "");
    CHECK(explain.output == read_text(explanations / (walk.name + ".txt")));
  }
}

TEST_CASE("explain --markdown prints tables and formulas") {
  const Outcome explain = attn_cli({"explain", "words.json", "--markdown"}, explanations);
  CHECK(explain.output == read_text(explanations / "words.md"));
}

TEST_CASE("explain --json prints one object with a text for each step") {
  const Outcome explain =
      attn_cli({"explain", "-", "--json"}, ".", R"({"attention":"softmax","scores":[[0,0]]})");
  CHECK(explain.exit_code == 0);
  CHECK(
      explain.output.starts_with("{\n"
                                 "  \"document\": \"standard input\",\n"
                                 "  \"attention\": \"softmax\",\n"
                                 "  \"sample\": 0,\n"
                                 "  \"head\": 0,\n"
                                 "  \"query\": 0,\n"
                                 "  \"steps\": [\n"
                                 "    {\n"
                                 "      \"title\": \"The given scores\",\n"
                                 "      \"text\": \"The document gives the score of query 0 "));
}

TEST_CASE("explain takes the flags that go before the document") {
  const Outcome explain =
      attn_cli({"explain", "-", "--attention", "dot_product", "--causal", "--valid-lens", "1",
                "--scale", "2", "--dtype", "float64", "--query", "1"},
               ".", R"({"attention":"sdpa","query":[[1,0],[0,1]]})");
  CHECK(explain.exit_code == 0);
  CHECK(explain.output.starts_with("dot_product attention, step by step\n"));
  CHECK(explain.output.find("- query [2,2], float64\n") != std::string::npos);
  CHECK(explain.output.find("The scale is given: 2. Without it, it would be 1.") !=
        std::string::npos);
  CHECK(explain.output.find("   key 1      2    -inf  valid_lens\n") != std::string::npos);
}

TEST_CASE("explain says the document's warnings on standard error, --quiet does not") {
  const std::string document = R"({"attention":"sdpa","query":[[1]],"mask":{"global":[0]}})";
  const Outcome loud = attn_cli({"explain", "-"}, ".", document);
  CHECK(loud.errors ==
        "attn-cli: warning: mask.global has no effect without a window: it acts on what "
        "a window hides\n");
  const Outcome quiet = attn_cli({"explain", "-", "--quiet"}, ".", document);
  CHECK(quiet.exit_code == 0);
  CHECK(quiet.output == loud.output);
  CHECK(quiet.errors.empty());
}

TEST_CASE("explain refuses a query that is not there with exit 3, a wrong flag with exit 2") {
  CHECK(refused_with(3, {"explain", "words.json", "--query", "1"}, explanations) ==
        "attn-cli: there is no query 1: the attention has only one query\n"
        "  where: --query\n"
        "  help:  leave it out, or give 0\n");
  CHECK(refused_with(3, {"explain", "words.json", "--query", "last"}, explanations) ==
        "attn-cli: no query is called \"last\"\n"
        "  where: --query\n"
        "  help:  known: 喜欢\n");
  CHECK(refused_with(2, {"explain", "words.json", "--sample", "last"}, explanations) ==
        "attn-cli: invalid value \"last\" for --sample\n"
        "  where: --sample\n"
        "  help:  give a whole number of at least 0\n");
  CHECK(refused_with(2, {"explain", "words.json", "--json", "--markdown"}, explanations) ==
        "attn-cli: --markdown and --json are given together\n"
        "  where: attn-cli explain\n"
        "  help:  choose one of them\n");
  CHECK(refused_with(2, {"explain"}, explanations) ==
        "attn-cli: no input document given\n"
        "  where: attn-cli explain\n"
        "  help:  name a document, or - for standard input; attn-cli example KIND prints one\n");
}

TEST_CASE("explain takes maps of files as plot does") {
  const TemporaryFolder folder;
  std::vector<double> numbers;
  for (int map = 0; map < 12; ++map) numbers.insert(numbers.end(), {0.25, 0.75, 0.5, 0.5});
  folder.write("maps.npy", attn::npy_bytes(attn::Tensor({2, 2, 3, 2, 2}, std::move(numbers))));
  folder.write("words.txt", "the\ncat\n");
  const Outcome explain =
      attn_cli({"explain", "maps.npy", "--axes", "layer,batch,head", "--layers", "0,1", "--heads",
                "0:2", "--sample", "1", "--query", "1", "--labels", "words.txt"},
               folder.path());
  CHECK(explain.exit_code == 0);
  CHECK(explain.errors.empty());
  CHECK(explain.output.starts_with("Layer 0, Head 0: where \"cat\" (1) looks\n"));
  CHECK(explain.output.find("\nLayer 1, Head 1: where \"cat\" (1) looks\n") != std::string::npos);
  const Outcome all = attn_cli({"explain", "maps.npy", "--axes", "layer,batch,head", "--layers",
                                "all", "--heads", "2", "--quiet"},
                               folder.path());
  CHECK(all.exit_code == 0);
  CHECK(all.errors.empty());
}

TEST_CASE("explain refuses what maps cannot answer, with flags in the place of fields") {
  const TemporaryFolder folder;
  folder.write("map.json", R"({"weights": [[0.5, 0.5]]})");
  CHECK(refused_with(2, {"explain", "map.json", "--scale", "2"}, folder.path()) ==
        "attn-cli: existing maps are not computed, so --scale has no meaning\n"
        "  where: --scale\n"
        "  help:  leave it out, or give the document that the maps come from\n");
  CHECK(refused_with(3, {"explain", "map.json", "--heads", "1"}, folder.path()) ==
        "attn-cli: there is no head 1: the weights have only one head\n"
        "  where: --head\n"
        "  help:  leave it out, or give 0\n");
  const Outcome document = attn_cli({"explain", "-", "--layers", "1"}, folder.path(),
                                    R"({"attention":"sdpa","query":[[1]]})");
  CHECK(document.exit_code == 3);
  CHECK(document.errors ==
        "attn-cli: there is no layer 1: the attention has only one layer\n"
        "  where: --layers\n"
        "  help:  leave it out, or give 0\n");
  CHECK(refused_with(2, {"explain", "-", "--layers", "0:2"}, folder.path(),
                     R"({"attention":"sdpa","query":[[1]]})") ==
        "attn-cli: a document is explained for one layer at a time\n"
        "  where: --layers\n"
        "  help:  give one number, or run the document and give its result\n");
}

TEST_CASE("a router's experts stand with the numbers that are added when they are chosen") {
  const std::string folder =
      std::string(ATTN_TEST_DATA) + "/models/cases/deepseek_v3_latent/checkpoint";
  const std::string text =
      attn_cli({"explain", "--model", folder, "--ids", "1,2,3", "--layers", "1"}).output;
  // 0.8143 and 0.2534 are in the file: model.layers.1.mlp.gate.e_score_correction_bias.
  CHECK(text.find("\n   expert    score   added  weight\n"
                  "   4       -0.1985  0.8143  1.1263\n"
                  "   5        1.6371  0.2534  2.0928\n") != std::string::npos);
}
