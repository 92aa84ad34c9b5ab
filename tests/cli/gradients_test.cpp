#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string gradient_model = std::string(ATTN_DATA) + "/speeches";

std::vector<std::string> gradient_words(const std::vector<std::string>& more) {
  std::vector<std::string> words{"heads", "--model", gradient_model, "--text",
                                 "The peace of the world"};
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

double total_of(const nlohmann::json& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

TEST_CASE("gradients say what heads and tokens give a logit, in a table, pictures and JSON") {
  const TemporaryFolder folder;
  const Outcome outcome =
      attn_cli(gradient_words({"--analyses", "gradients", "--logit", " of", "--against-logit",
                               " the", "--steps", "40", "--baseline", " nation", "--top", "3",
                               "--plots", "heads", "--dpi", "60", "--out", "g"}),
               folder.path());
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find(
            "Gradients of the logit of \" of\" minus that of \" the\" at position ") !=
        std::string::npos);
  CHECK(outcome.output.find("Integrated gradients begin with \" nation\" instead of all "
                            "tokens, where the value is ") != std::string::npos);
  for (const char* name : {"gradients.heads.png", "gradients.tokens.png"}) {
    CHECK(std::filesystem::exists(folder / "g" / name));
  }
  const auto json = nlohmann::json::parse(read_text(folder / "g" / "heads.json"))["gradients"][0];
  CHECK(json["token"] == " of");
  CHECK(json["attentions"].size() == 4);
  CHECK(json["attentions"][0]["heads"].size() == 4);
  const double value = json["value"], before = json["baseline_value"], error = json["error"];
  CHECK(std::abs(total_of(json["integrated"]) - (value - before) - error) < 1e-9);
  CHECK(std::abs(error) < 0.01 * std::abs(value - before));
  CHECK(read_text(folder / "g" / "result.json").find("gradients.integrated") != std::string::npos);
}

TEST_CASE("attribution stands beside the effects of a sweep, and says where they part") {
  const TemporaryFolder folder;
  const std::vector<std::string> patched = gradient_words(
      {"--patch", "The peace of the nation", "--sweep", "heads,residual", "--attribution", "--top",
       "3", "--plots", "heads", "--dpi", "60", "--out", "a"});
  const Outcome outcome = attn_cli(patched, folder.path());
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("by gradients") != std::string::npos);
  CHECK(outcome.output.find("Effects by gradients miss the computed ones by ") !=
        std::string::npos);
  const auto patches = nlohmann::json::parse(read_text(folder / "a" / "heads.json"))["patches"];
  CHECK(patches["heads"][0].contains("effect_by_gradients"));
  const std::string table = read_text(folder / "a" / "patches.csv");
  CHECK(table.starts_with(
      "part,place,position,own,source,difference,effect,share,by_gradients\nheads,0.0,,"));
  CHECK(table.find("\nresidual,3,4,") != std::string::npos);
  CHECK(!std::filesystem::exists(folder / "a" / "paths.csv"));
  const auto& sweep = patches["sweeps"][0];
  // What changes the embedding of one token changes all that stands above it there.
  CHECK(sweep["differences_by_gradients"].size() == sweep["differences"].size());
}

TEST_CASE("what gradients cannot be of is refused with what to do") {
  CHECK(attn_cli(gradient_words({"--attribution"})).errors ==
        "attn-cli: there is no text to patch parts from\n  where: --attribution\n  help:  add "
        "--patch without --at\n");
  CHECK(attn_cli(gradient_words({"--frozen-patterns"})).errors ==
        "attn-cli: there is no text to patch parts from\n  where: --frozen-patterns\n  help:  add "
        "--patch without --at\n");
  CHECK(attn_cli(gradient_words(
                     {"--patch", "The peace of the nation", "--attribution", "--frozen-patterns"}))
            .errors ==
        "attn-cli: gradients go through the weights of all layers\n  where: --attribution\n  help: "
        " leave it out, or --frozen-patterns\n");
  CHECK(attn_cli(gradient_words({"--analyses", "gradients", "--heads-off", "1.1"})).errors ==
        "attn-cli: gradients are those of the model as it is\n  where: --analyses\n  help:  leave "
        "out gradients, or the patch and the heads that are off\n");
  CHECK(
      attn_cli(gradient_words({"--analyses", "gradients", "--logit", "5", "--against-logit", "5"}))
          .errors ==
      "attn-cli: both logits are of one token\n  where: --against-logit\n  help:  give two "
      "tokens\n");
}

TEST_CASE("of pairs of texts lens, losses and left-out heads have means, which shards join") {
  const TemporaryFolder folder;
  const std::vector<std::string> texts{"The peace of the world", "The war of the people",
                                       "The laws of the country"};
  std::string lines;
  for (const std::string& text : texts) {
    lines += R"({"text": ")" + text + R"(", "logit": " of", "against_logit": " the"})" + "\n";
  }
  std::ofstream(folder / "texts.jsonl") << lines;
  const std::string command = "\"$ATTN\" heads --model '" + gradient_model +
                              "' --corpus texts.jsonl --analyses lens,loss --without-heads-of 3 "
                              "--quiet --out ";
  REQUIRE(shell(command + "whole", folder.path()).exit_code == 0);
  for (const char* shard : {"0/2", "1/2"}) {
    REQUIRE(shell(command + "parts --shard " + shard, folder.path()).exit_code == 0);
  }
  const Outcome joined = attn_cli({"heads", "--merge", "parts"}, folder.path());
  CAPTURE(joined.errors);
  CHECK(joined.output.find("Means of the analyses; analyses.csv has all of them.") !=
        std::string::npos);
  const std::string csv = read_text(folder / "whole" / "analyses.csv");
  CHECK(csv == read_text(folder / "parts" / "analyses.csv"));

  double loss = 0, logit = 0, divergence = 0;
  for (const std::string& text : texts) {
    const Outcome one = attn_cli({"heads", "--model", gradient_model, "--text", text, "--analyses",
                                  "lens,loss", "--logit", " of", "--against-logit", " the",
                                  "--without-heads-of", "3", "--json"});
    REQUIRE(one.exit_code == 0);
    const auto json = nlohmann::json::parse(one.output);
    loss += total_of(json["losses"][0]) / static_cast<double>(json["losses"][0].size()) / 3;
    logit += static_cast<double>(json["trace"]["states"][3]["logit"]) / 3;
    divergence += static_cast<double>(json["differences"][2]["divergence"]) / 3;
  }
  const auto mean_of = [&](const std::string& name) {
    const std::size_t at = csv.find("\n" + name + ",");
    REQUIRE(at != std::string::npos);
    return std::stod(csv.substr(at + name.size() + 2));
  };
  // Numbers of texts that are read alone are printed in float32's digits.
  CHECK(std::abs(mean_of("loss") - loss) < 1e-5);
  CHECK(std::abs(mean_of("lens.1.attention.logit") - logit) < 1e-5);
  CHECK(std::abs(mean_of("without.3.2.divergence") - divergence) < 1e-5);
}

}  // namespace

TEST_CASE("gradients that are wanted and were not asked for are told with what writes them") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","query":[[1,0]]})");
  folder.write("r.json", R"({"format":1,"tensors":{"weights":[[1]],"output":[[1,0]]}})");
  for (const std::string name : {"gradient", "gradient.query"}) {
    CHECK(attn_cli({"run", "d.json", "--only", name}, folder.path()).errors ==
          "attn-cli: the result has no tensor \"" + name +
              "\"\n  where: --only\n  help:  add --gradient FILE, the gradient of the output, or "
              "write \"gradient\": {\"output\": …} into the document\n");
    CHECK(attn_cli({"compare", "r.json", "r.json", "--only", name}, folder.path()).errors ==
          "attn-cli: neither file has a tensor \"" + name +
              "\"\n  where: --only\n  help:  known: output, weights; a run with --gradient FILE "
              "writes it\n");
  }
  CHECK(attn_cli({"compare", "r.json", "r.json", "--only", "lse"}, folder.path()).errors ==
        "attn-cli: neither file has a tensor \"lse\"\n  where: --only\n  help:  known: output, "
        "weights; a run with --stages writes it\n");
}
