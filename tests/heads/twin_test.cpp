#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>

#include <doctest/doctest.h>

#include "attn/heads.hpp"
#include "attn/run.hpp"

#include "error_from.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "temporary_folder.hpp"

// Models' heads against a program of its own in double precision, which builds every term that the
// norms are of, [H,L,L,D], and knows maps and states from PyTorch to some nine digits.

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path data = ATTN_TEST_DATA;

/// Statistics that the program does not compute.
const std::set<std::string, std::less<>> left_to_others{"separators", "score_largest",
                                                        "score_median", "score_p99", "sink_share"};

HeadsOptions options_of(const std::string& name) {
  HeadsOptions options;
  options.document.input = data / "models" / "cases" / name / "input.json";
  options.document.dtype = DType::float64;
  options.analyses = {HeadAnalysis::rollout, HeadAnalysis::norms, HeadAnalysis::distances};
  return options;
}

}  // namespace

TEST_CASE("statistics, rollouts, norms and maps of heads agree with an independent computation") {
  for (const std::string name :
       {"bert_pairs", "gpt2_bare_names", "llama_grouped", "gemma3_text_bf16"}) {
    CAPTURE(name);
    const TemporaryFolder out;
    HeadsOptions options = options_of(name);
    options.out = out.path();
    const HeadsOutcome outcome = read_heads(options);
    const JsonValue twin = parse_json(read_text(data / "heads" / "cases" / (name + ".json")));
    const JsonValue own = parse_json(read_text(out.path() / "result.json"));

    // States and maps are given to 9 digits, which the norms' sums of 32 terms keep to 1e-7.
    const double tolerance = 2e-6;
    for (const JsonMember& expected : twin.find("tensors")->members()) {
      CAPTURE(expected.key);
      const JsonValue* found = own.find("tensors")->find(expected.key);
      REQUIRE(found != nullptr);
      const Tensor a = tensor_from_json(*found, DType::float64, "");
      const Tensor b = tensor_from_json(expected.value, DType::float64, "");
      REQUIRE(a.shape() == b.shape());
      double largest = 0, difference = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        largest = std::max(largest, std::abs(b.values<double>()[i]));
        difference = std::max(difference, std::abs(a.values<double>()[i] - b.values<double>()[i]));
      }
      // Roots of differences: a distance of 1e-9 in a map is one of 3e-5 in a coordinate near 0.
      CHECK(difference <= (expected.key == "head_map" ? 1e-4 : tolerance) * largest);
    }
    for (const AttentionHeads& attention : outcome.attentions) {
      const JsonValue* heads = twin.find("statistics")->find(attention.name);
      REQUIRE(heads != nullptr);
      REQUIRE(heads->size() == attention.heads.size());
      for (std::size_t h = 0; h < attention.heads.size(); ++h) {
        for (const JsonMember& expected : heads->element(h).members()) {
          CAPTURE(expected.key);
          const auto info =
              std::ranges::find(head_statistics(), expected.key, &HeadStatisticInfo::name);
          REQUIRE(info != head_statistics().end());
          const double value = attention.heads[h][static_cast<std::size_t>(info->statistic)];
          CHECK(std::abs(value - expected.value.number()) <= 2e-6 * (1 + std::abs(value)));
        }
        for (const HeadStatisticInfo& info : head_statistics()) {
          CAPTURE(std::string(info.name));
          CHECK((heads->element(h).find(info.name) != nullptr) !=
                left_to_others.contains(info.name));
        }
      }
    }
  }
}

TEST_CASE("in single precision norms and rollouts are those of double precision") {
  std::map<DType, JsonValue> results;
  for (const DType dtype : {DType::float32, DType::float64}) {
    const TemporaryFolder out;
    HeadsOptions options = options_of("bert_pairs");
    options.document.dtype = dtype;
    options.out = out.path();
    read_heads(options);
    results[dtype] = parse_json(read_text(out.path() / "result.json"));
  }
  for (const JsonMember& member : results[DType::float64].find("tensors")->members()) {
    CAPTURE(member.key);
    if (member.key == "head_map") continue;
    const Tensor wide = tensor_from_json(member.value, DType::float64, "");
    const Tensor narrow = tensor_from_json(
        *results[DType::float32].find("tensors")->find(member.key), DType::float64, "");
    for (std::size_t i = 0; i < wide.size(); ++i) {
      CHECK(std::abs(wide.values<double>()[i] - narrow.values<double>()[i]) <= 2e-5);
    }
  }
}

TEST_CASE("a lens of the last layer says what the model predicts") {
  HeadsOptions options = options_of("llama_grouped");
  options.analyses = {HeadAnalysis::lens};
  const HeadsOutcome outcome = read_heads(options);
  RunOptions run_options;
  run_options.document = options.document;
  const TemporaryFolder out;
  run_options.out = out.path();
  run_options.plots.clear();
  const RunOutcome run_outcome = run(run_options);
  const auto& predictions = run_outcome.reports[0].model->predictions;
  std::size_t checked = 0;
  for (const LensTokens& tokens : outcome.lens) {
    const Prediction& last = predictions[tokens.sample].back();
    if (tokens.layer != 1 || tokens.position != last.position) continue;
    ++checked;
    for (std::size_t k = 0; k < tokens.likeliest.size(); ++k) {
      CHECK(tokens.likeliest[k].id == last.likeliest[k].id);
      CHECK(tokens.likeliest[k].probability ==
            doctest::Approx(last.likeliest[k].probability).epsilon(1e-12));
    }
  }
  CHECK(checked == predictions.size());
}

TEST_CASE("predictions without a head are those of a run without it") {
  HeadsOptions options = options_of("llama_grouped");
  options.analyses.clear();
  options.without_heads_of = {1};
  const HeadsOutcome outcome = read_heads(options);
  REQUIRE(outcome.differences.size() == 4);
  RunOptions run_options;
  run_options.document = options.document;
  run_options.document.heads_off = {"1.2"};
  const TemporaryFolder out;
  run_options.out = out.path();
  run_options.plots.clear();
  const Prediction without = run(run_options).reports[0].model->predictions[0].back();
  CHECK(outcome.differences[2].head == 2);
  for (const Prediction::Token& token : without.likeliest) {
    if (std::to_string(token.id) != outcome.differences[2].likeliest) continue;
    CHECK(outcome.differences[2].probability_without ==
          doctest::Approx(token.probability).epsilon(1e-12));
  }
  for (const HeadDifference& difference : outcome.differences) CHECK(difference.divergence > 0);
}

TEST_CASE("what takes a model is refused where there are maps alone") {
  const TemporaryFolder folder;
  write_text(folder.path() / "maps.json", R"({"weights":[[1,0],[0.5,0.5]]})");
  HeadsOptions options;
  options.document.input = folder.path() / "maps.json";
  options.analyses = {HeadAnalysis::norms};
  CHECK(error_from([&] { read_heads(options); }, ErrorKind::usage) ==
        "the analysis norms takes a model, not maps alone\n  where: HeadsOptions::analyses\n"
        "  help:  leave it out, or name a model and a text");
  options.analyses.clear();
  options.without_heads_of = {0};
  CHECK(error_from([&] { read_heads(options); }, ErrorKind::usage) ==
        "only a model can be computed without one of its heads\n"
        "  where: HeadsOptions::without_heads_of\n"
        "  help:  leave it out, or name a model and a text");
}

TEST_CASE("layers are chosen among the maps of files, and of a document they are refused") {
  const TemporaryFolder folder;
  write_text(folder.path() / "doc.json", R"({"attention":"sdpa","query":[[1,2]]})");
  write_text(folder.path() / "maps.json",
             R"({"layers.0.self.weights":[[1,0],[1,0]],"layers.1.self.weights":[[0,1],[0,1]]})");
  HeadsOptions options;
  options.maps.selection.layers = {{PositionRange{1, 2}}};
  options.document.input = folder.path() / "doc.json";
  CHECK(error_from([&] { read_heads(options); }, ErrorKind::usage) ==
        "a document is computed, and MapSelection::layers chooses among existing maps\n"
        "  where: MapSelection::layers\n"
        "  help:  leave it out, or give a result or a file of maps");
  options.document.input = folder.path() / "maps.json";
  const HeadsOutcome one = read_heads(options);
  REQUIRE(one.attentions.size() == 1);
  CHECK(one.attentions[0].name == "layers.1.self");
}

}  // namespace attn
