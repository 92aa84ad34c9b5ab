#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "attn/explain.hpp"
#include "attn/heads.hpp"

#include "error_from.hpp"
#include "explain/explanation.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";

ExplainOptions options_of(const std::string& name, std::vector<HeadAnalysis> analyses) {
  ExplainOptions options;
  options.document.input = cases / name / "input.json";
  options.analyses = std::move(analyses);
  return options;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("an explanation tells the rollout, the norms and the lens that heads computes") {
  HeadsOptions heads;
  heads.document.input = cases / "llama_grouped" / "input.json";
  heads.document.dtype = DType::float64;
  heads.analyses = {HeadAnalysis::rollout, HeadAnalysis::norms, HeadAnalysis::lens};
  const TemporaryFolder out;
  heads.out = out.path();
  const HeadsOutcome outcome = read_heads(heads);
  const JsonValue result = parse_json(read_text(out.path() / "result.json"));
  const auto number = [&](const std::string& name, std::size_t at) {
    const Tensor tensor = tensor_from_json(*result.find("tensors")->find(name), DType::float64, "");
    return shown_number(tensor.values<double>()[at]);
  };
  ExplainOptions options = options_of("llama_grouped", heads.analyses);
  options.query = 2;
  options.full = true;
  options.format = ExplanationFormat::markdown;
  const std::string text = explain(options).text;
  CHECK(contains(text, "Through all layers"));
  // First key of the first sample, and the share of others that is mixed in, both in layer 2.
  const std::size_t length = 14;
  CHECK(contains(text, number("layers.1.rollout", 2 * length)));
  CHECK(contains(text, number("layers.1.self.mixing", 2)));
  for (const LensTokens& tokens : outcome.lens) {
    if (tokens.sample != 0 || tokens.position != 2) continue;
    CHECK(contains(text, shown_number(tokens.likeliest[0].probability)));
  }
}

TEST_CASE(
    "analyses of heads, of gates, of documents and of two stacks are refused in an explanation") {
  CHECK(error_from([] { explain(options_of("llama_grouped", {HeadAnalysis::induction})); },
                   ErrorKind::usage) ==
        "the analysis induction is of heads, not of one position\n"
        "  where: ExplainOptions::analyses\n"
        "  help:  give rollout, norms or lens; attn-cli heads has tables of all others");
  CHECK(error_from([] { explain(options_of("t5_relu_tied", {HeadAnalysis::rollout})); },
                   ErrorKind::usage) ==
        "analyses of one position go through one stack of layers, and an encoder-decoder has two\n"
        "  where: ExplainOptions::analyses\n"
        "  help:  leave them out");
  CHECK(error_from([] { explain(options_of("qwen3_next_delta_rule", {HeadAnalysis::norms})); }) ==
        "the norms of terms are not computed where heads' outputs have a gate\n"
        "  where: ExplainOptions::analyses\n"
        "  help:  leave norms out: a token's term differs from query to query there");
  ExplainOptions document;
  document.document.input = fs::path(ATTN_DATA) / "self.json";
  document.analyses = {HeadAnalysis::rollout};
  CHECK(error_from([&] { explain(document); }, ErrorKind::usage) ==
        "analyses are explained for models only\n"
        "  where: ExplainOptions::analyses\n"
        "  help:  leave them out, or name a model");
}

}  // namespace attn
