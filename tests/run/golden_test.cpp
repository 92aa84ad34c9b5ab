#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"
#include "attn/run.hpp"

#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "temporary_folder.hpp"

namespace {

const std::filesystem::path golden = std::filesystem::path(ATTN_TEST_DATA) / "run" / "golden";

const std::filesystem::path pytorch = std::filesystem::path(ATTN_TEST_DATA) / "run" / "pytorch";

std::vector<std::string> cases() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(golden)) {
    if (entry.is_directory()) names.push_back(entry.path().filename());
  }
  return names;
}

// The worst |got − want| / (t + t·|want|); infinite if one is NaN or infinite and the other is not.
double worst_error(const attn::Tensor& got, const attn::Tensor& want, double tolerance) {
  const attn::Tensor doubles = got.converted(attn::DType::float64);
  const auto g = doubles.values<double>();
  const auto w = want.values<double>();
  double worst = 0;
  for (std::size_t i = 0; i < w.size(); ++i) {
    if (g[i] == w[i] || (std::isnan(g[i]) && std::isnan(w[i]))) continue;
    const double error = std::abs(g[i] - w[i]) / (tolerance + tolerance * std::abs(w[i]));
    worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

void check_case(const std::filesystem::path& document, const std::filesystem::path& expected_file) {
  const TemporaryFolder out;
  attn::RunOptions options;
  options.document.input = document;
  options.out = out.path();
  options.stages = true;
  options.plots = {};
  const attn::RunReport report = attn::run(options).reports[0];
  const attn::TensorFile result = attn::TensorFile::open(out / "result.json");

  const attn::JsonValue expected = attn::parse_json(read_text(expected_file));
  const double tolerance = expected.find("tolerance")->find("float32")->number();
  for (const attn::JsonMember& member : expected.find("tensors")->members()) {
    CAPTURE(member.key);
    const attn::Tensor want =
        attn::tensor_from_json(member.value, attn::DType::float64, "/tensors/" + member.key);
    const attn::Tensor got = result.read(member.key);
    REQUIRE(got.shape() == want.shape());
    CHECK(worst_error(got, want, tolerance) <= 1);
  }
  if (expected.find("warnings")) CHECK_FALSE(report.warnings.empty());
}

}  // namespace

TEST_CASE("every reference case agrees with PyTorch") {
  std::size_t count = 0;
  for (const std::string& name : cases()) {
    if (!std::filesystem::exists(golden / name / "input.json")) continue;
    CAPTURE(name);
    check_case(golden / name / "input.json", golden / name / "expected.json");
    ++count;
  }
  CHECK(count >= 40);
}

TEST_CASE("a trained model's attention is what the model itself computed") {
  for (const std::string name : {"animal_layer0", "animal_layer1"}) {
    CAPTURE(name);
    check_case(std::filesystem::path(ATTN_DATA) / (name + ".json"),
               golden / name / "expected.json");
  }
}

TEST_CASE("the modules of tutorials give the numbers that PyTorch printed") {
  for (const std::string name :
       {"self", "cross", "multi_head", "encoder_layer", "decoder_layer", "additive", "tokens"}) {
    CAPTURE(name);
    check_case(std::filesystem::path(ATTN_DATA) / (name + ".json"), pytorch / (name + ".json"));
  }
}

TEST_CASE("the guide to PyTorch shows the scripts and documents that are tested") {
  const std::string guide =
      read_text(std::filesystem::path(ATTN_DATA).parent_path() / "docs/inside/pytorch.md");
  const auto shows = [&](const std::string& language, const std::filesystem::path& file) {
    return guide.find("```" + language + "\n" + read_text(file) + "```\n") != std::string::npos;
  };
  for (const std::string name :
       {"self", "cross", "multi_head", "encoder_layer", "decoder_layer", "additive", "tokens"}) {
    CAPTURE(name);
    CHECK(shows("python", pytorch / (name + ".py")));
    CHECK(shows("json", std::filesystem::path(ATTN_DATA) / (name + ".json")));
  }
}

TEST_CASE("the example of a text is cut into the pieces BERT would take") {
  const TemporaryFolder out;
  attn::RunOptions options;
  options.document.input = std::filesystem::path(ATTN_DATA) / "text.json";
  options.out = out.path();
  options.plots = {};
  const attn::RunReport report = attn::run(options).reports[0];
  CHECK(report.weights[0].query_labels ==
        std::vector<std::string>{"[CLS]", "he", "was", "un", "##aff", "##able", ",", "but", "not",
                                 "un", "##kind", ".", "[SEP]"});
  CHECK(report.recovered[1] ==
        "[CLS] he was very kind . [SEP] [PAD] [PAD] [PAD] [PAD] [PAD] [PAD]");
  // As BertTokenizer.decode(ids, skip_special_tokens=True) prints them.
  CHECK(report.recovered_texts ==
        std::vector<std::string>{"he was unaffable, but not unkind.", "he was very kind."});
}

TEST_CASE("additive attention over equal keys averages the valid values, as its example says") {
  const TemporaryFolder out;
  attn::RunOptions options;
  options.document.input = std::filesystem::path(ATTN_DATA) / "additive.json";
  options.out = out.path();
  options.plots = {};
  attn::run(options);
  const attn::Tensor output =
      attn::TensorFile::open(out / "result.json").read("output").converted(attn::DType::float64);
  const auto numbers = output.values<double>();
  const std::vector<double> expected{2, 3, 4, 5, 10, 11, 12, 13};
  REQUIRE(numbers.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    CHECK(numbers[i] == doctest::Approx(expected[i]).epsilon(1e-6));
}

TEST_CASE("in layer 1, head 2, it, was and too look most at tired") {
  const TemporaryFolder out;
  attn::RunOptions options;
  options.document.input = std::filesystem::path(ATTN_DATA) / "animal_layer1.json";
  options.out = out.path();
  options.plots = {};
  options.head = 2;
  const attn::ReportedWeights report = attn::run(options).reports[0].weights[0];
  const auto weights = report.weights.values<float>();
  for (const std::size_t query : {8, 9, 10}) {
    const auto row = weights.subspan(query * 13, 13);
    const auto most =
        static_cast<std::size_t>(std::max_element(row.begin(), row.end()) - row.begin());
    CHECK(report.key_labels[most] == "tired");
  }
}
