#include <cmath>
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";
const std::string gpt2 = (cases / "gpt2_bare_names" / "checkpoint").string();

Outcome run(const TemporaryFolder& folder, const std::string& document) {
  return attn_cli({"run", "-", "--plots", "none", "--out", "r"}, folder.path(), document);
}

}  // namespace

TEST_CASE("documents with a model of every family give what its own library gives") {
  const TemporaryFolder folder;
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(cases)) {
    const std::string name = entry.path().filename();
    CAPTURE(name);
    const Outcome run = attn_cli({"run", (entry.path() / "input.json").string(), "--out", name,
                                  "--plots", "none", "--stages", "--quiet", "--tensors", "npz"},
                                 folder.path());
    REQUIRE(run.exit_code == 0);
    CHECK(run.output + run.errors == "");
    const attn::TensorFile got = attn::TensorFile::open(folder / name / "tensors.npz");
    const attn::TensorFile expected = attn::TensorFile::open(entry.path() / "expected.json");
    const bool doubles =
        read_text(entry.path() / "input.json").find("\"float64\"") != std::string::npos;
    const double tolerance = doubles ? 1e-9 : 2e-5;
    for (const std::string& tensor : expected.names()) {
      CAPTURE(tensor);
      const attn::Tensor want = expected.read(tensor).converted(attn::DType::float64);
      const attn::Tensor found = got.read(tensor).converted(attn::DType::float64);
      REQUIRE(found.shape() == want.shape());
      double worst = 0;
      for (std::size_t i = 0; i < want.size(); ++i) {
        const double w = want.values<double>()[i];
        const double error = std::abs(found.values<double>()[i] - w) / (1 + std::abs(w));
        worst = error <= worst ? worst : error;
      }
      CHECK(worst <= tolerance);
    }
    ++count;
  }
  CHECK(count == 17);
}

TEST_CASE("a model without a tokenizer shows ids, and predicts by them what comes next") {
  const TemporaryFolder folder;
  const Outcome outcome =
      run(folder, R"({"model": ")" + gpt2 + R"(", "token_ids": [[3, 1, 4], [5, 9]]})");
  CHECK(outcome.errors == "");
  REQUIRE(outcome.exit_code == 0);
  CHECK(outcome.output.starts_with("gpt2 model, float32, of standard input\n"));
  CHECK(outcome.output.find("\nNext token after sample 1\n") != std::string::npos);
  const std::string result = read_text(folder / "r" / "result.json");
  CHECK(result.starts_with("{\n  \"format\": 1,\n  \"attention\": \"model\",\n"));
  CHECK(result.find("\"tokens\"") == std::string::npos);
  const std::size_t predictions =
      result.find("\n  \"predictions\": [\n    [\n      {\n        \"id\": ");
  REQUIRE(predictions != std::string::npos);
  // Ten for each of the two samples.
  std::size_t count = 0;
  for (std::size_t at = predictions; (at = result.find("\"probability\"", at)) != result.npos; ++at)
    ++count;
  CHECK(count == 20);
}

TEST_CASE("all that can be wrong with what a model is to do is told at once, with its place") {
  const TemporaryFolder folder;
  folder.write("wrong.json", R"({"model": ")" + gpt2 + R"(", "token_ids": [[3, 1]],
    "mask": {"causal": true}, "valid_lens": [1], "scale": 2, "dtype": "int8",
    "layers": [0, 9], "heads_off": {"0": [7]}, "decoder_text": "a", "token_types": [[0, 0]]})");
  const Outcome outcome = attn_cli({"validate", "wrong.json"}, folder.path());
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.output == R"(wrong.json: 8 problems

  "mask" has no meaning for model attention
    where: wrong.json, /mask
    help:  leave it out: a model has its own mask, and shorter texts are padded by themselves

  "valid_lens" has no meaning for model attention
    where: wrong.json, /valid_lens
    help:  leave it out: a model has its own mask, and shorter texts are padded by themselves

  "scale" has no meaning for model attention
    where: wrong.json, /scale
    help:  leave it out: a model takes "text" or "token_ids", and its configuration says the rest

  unknown dtype "int8"
    where: wrong.json, /dtype
    help:  known: float32, float64

  the model has no token types
    where: wrong.json, /token_types
    help:  leave it out

  the model has no decoder beside an encoder
    where: wrong.json, /decoder_text
    help:  leave it out

  there is no layer 9: the model has 3 layers
    where: wrong.json, /layers/1
    help:  give 0 to 2

  there is no head 7: each layer has 4 heads
    where: wrong.json, /heads_off/0/0
    help:  give 0 to 3
)");
}

TEST_CASE("flags alone say what a model is to read, and errors name them") {
  const TemporaryFolder folder;
  const Outcome no_text = attn_cli({"run", "--model", gpt2}, folder.path());
  CHECK(no_text.exit_code == 3);
  CHECK(no_text.errors ==
        "attn-cli: the document has nothing for the model to read\n"
        "  where: " +
            gpt2 +
            ", /text\n"
            "  help:  give \"text\" or \"token_ids\"\n");
  const Outcome no_tokenizer =
      attn_cli({"run", "--model", gpt2, "--text", "a word"}, folder.path());
  CHECK(no_tokenizer.exit_code == 4);
  CHECK(no_tokenizer.errors ==
        "attn-cli: the folder \"" + gpt2 +
            "\" has no tokenizer\n"
            "  where: " +
            gpt2 +
            "\n"
            "  help:  add its tokenizer.json (or vocab.txt, or vocab.json and merges.txt), or give "
            "token ids\n");
  const Outcome no_head = attn_cli({"run", "-", "--model", gpt2, "--heads-off", "0.4"},
                                   folder.path(), R"({"token_ids": [1]})");
  CHECK(no_head.exit_code == 3);
  CHECK(no_head.errors ==
        "attn-cli: there is no head 4: each layer has 4 heads\n"
        "  where: --heads-off\n"
        "  help:  give 0 to 3\n");
  CHECK(!fs::exists(folder / "attention_results"));
}
