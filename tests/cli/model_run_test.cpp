#include <cmath>
#include <cstring>
#include <filesystem>
#include <sstream>
#include <string>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sys/stat.h>

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

TEST_CASE("similarities of texts are a table whose rows and columns count the texts") {
  const TemporaryFolder folder;
  const Outcome outcome =
      attn_cli({"run", "--model", ATTN_TEST_DATA "/models/sentences/folder", "--text", "the film",
                "--text", "a song", "--plots", "none", "--out", "r"},
               folder.path());
  REQUIRE(outcome.exit_code == 0);
  const std::size_t table = outcome.output.find("Similarity of the texts\n");
  REQUIRE(table != std::string::npos);
  std::istringstream lines(outcome.output.substr(table));
  std::string heading, columns, first, second;
  std::getline(lines, heading);
  std::getline(lines, columns);
  std::getline(lines, first);
  std::getline(lines, second);
  CHECK(columns.find_first_not_of(' ') == columns.find('0'));
  CHECK(columns.back() == '1');
  CHECK(first.substr(0, first.find("  ", 2)) == "  0");
  CHECK(second.substr(0, second.find("  ", 2)) == "  1");
}

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
  CHECK(count == 114);
}

TEST_CASE(
    "maps that are written layer by layer are those that are kept to the end, and so are "
    "pictures") {
  const TemporaryFolder folder;
  for (const char* name : {"gpt2_bare_names", "t5_relu_tied"}) {
    CAPTURE(name);
    const std::string document = (cases / name / "input.json").string();
    for (const char* format : {"npz", "safetensors", "npy"}) {
      CAPTURE(format);
      const Outcome outcome =
          attn_cli({"run", document, "--tensors", format, "--plots", "heatmap", "--dpi", "40",
                    "--stages", "--logits", "--json", "--out", format},
                   folder.path());
      REQUIRE(outcome.exit_code == 0);
      const attn::TensorFile kept = attn::TensorFile::open(folder / "npz/tensors.npz");
      for (const std::string& tensor : kept.names()) {
        CAPTURE(tensor);
        const attn::Tensor want = kept.read(tensor);
        const attn::Tensor got =
            format == std::string("npy")
                ? attn::TensorFile::open(folder / "npy" / (tensor + ".npy")).read("")
                : attn::TensorFile::open(folder / format / ("tensors." + std::string(format)))
                      .read(tensor);
        REQUIRE(got.shape() == want.shape());
        REQUIRE(got.dtype() == want.dtype());
        CHECK(std::memcmp(got.bytes(), want.bytes(), want.size() * attn::size_of(want.dtype())) ==
              0);
      }
      std::size_t pictures = 0;
      for (const auto& entry : fs::directory_iterator(folder / "npz")) {
        if (entry.path().extension() != ".png") continue;
        CHECK(read_text(entry.path()) == read_text(folder / format / entry.path().filename()));
        ++pictures;
      }
      CHECK(pictures > 1);
    }
    const auto weights = [&](const char* format) {
      const std::string report = attn_cli({"run", document, "--tensors", format, "--plots", "none",
                                           "--json", "--out", format},
                                          folder.path())
                                     .output;
      return report.substr(0, report.find("\"files\""));
    };
    CHECK(weights("npz") == weights("safetensors"));
  }
}

TEST_CASE("a run of a model that fails while its maps are written leaves nothing") {
  const TemporaryFolder folder;
  const Outcome outcome =
      attn_cli({"run", (cases / "gpt2_bare_names" / "input.json").string(), "--tensors",
                "safetensors", "--plots", "none", "--head", "99", "--out", "r"},
               folder.path());
  CHECK(outcome.exit_code != 0);
  CHECK(outcome.errors.find("there is no head 99") != std::string::npos);
  CHECK_FALSE(fs::exists(folder / "r"));
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
    help:  leave it out: a model has its own mask, and shorter texts are padded automatically

  "valid_lens" has no meaning for model attention
    where: wrong.json, /valid_lens
    help:  leave it out: a model has its own mask, and shorter texts are padded automatically

  "scale" has no meaning for model attention
    where: wrong.json, /scale
    help:  leave it out: a model takes "text" or "token_ids", and its configuration says the rest

  unknown dtype "int8"
    where: wrong.json, /dtype
    help:  known: float32, float64

  the model has no token types
    where: wrong.json, /token_types
    help:  leave it out

  the model does not have both an encoder and a decoder
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
  CHECK(refused_with(2, {"run", "--model", gpt2}, folder.path()) ==
        "attn-cli: there is neither a text nor a document for the model\n"
        "  where: attn-cli run\n"
        "  help:  give a text with --text, or name a document\n");
  CHECK(refused_with(4, {"run", "--model", gpt2, "--text", "a word"}, folder.path()) ==
        "attn-cli: the folder \"" + gpt2 +
            "\" has no tokenizer\n"
            "  where: " +
            gpt2 +
            "\n"
            "  help:  add its tokenizer.json (or tokenizer.model, or vocab.txt, or vocab.json and "
            "merges.txt), or give token ids\n");
  CHECK(refused_with(3, {"run", "-", "--model", gpt2, "--heads-off", "0.4"}, folder.path(),
                     R"({"token_ids": [1]})") ==
        "attn-cli: there is no head 4: each layer has 4 heads\n"
        "  where: --heads-off\n"
        "  help:  give 0 to 3\n");
  CHECK(!fs::exists(folder / "attention_results"));
}

TEST_CASE("a report says what of the model is switched off or from another text") {
  const TemporaryFolder folder;
  const auto told = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words{"run", "-", "--model", gpt2, "--plots", "none"};
    words.insert(words.end(), flags.begin(), flags.end());
    const std::string report = attn_cli(words, folder.path(), R"({"token_ids": [1, 2]})").output;
    const std::size_t at = report.find("Changed");
    return at == std::string::npos ? "" : report.substr(at, report.find('\n', at) - at);
  };
  CHECK(told({}).empty());
  CHECK(told({"--heads-off", "0.1", "--heads-off", "1.2"}) ==
        "Changed: zeros instead of the output of 0.1, 1.2.");
  CHECK(told({"--heads-off", "0.1", "--ablate", "mean"}) ==
        "Changed: means instead of the output of 0.1.");
}

namespace {

/// A copy of a small checkpoint, to be spoilt.
struct SpoiltFolder : TemporaryFolder {
  explicit SpoiltFolder(const fs::path& whole = gpt2) {
    for (const char* name : {"config.json", "model.safetensors"}) {
      write(name, read_text(whole / name));
    }
  }

  void replace(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = read_text(*this / name);
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    write(name, text.replace(at, from.size(), to));
  }

  /// The error of a run of a document with this model, which must write nothing.
  std::string error() const {
    const TemporaryFolder elsewhere;
    const Outcome outcome = attn_cli({"run", "-", "--model", path().string()}, elsewhere.path(),
                                     R"({"token_ids":[1]})");
    CHECK(outcome.exit_code != 0);
    CHECK(outcome.output.empty());
    CHECK(!fs::exists(elsewhere / "attention_results"));
    std::string text = outcome.errors;
    for (std::size_t at; (at = text.find(path().string())) != std::string::npos;) {
      text.replace(at, path().string().size(), "FOLDER");
    }
    return text;
  }
};

}  // namespace

TEST_CASE("a folder without its configuration or its weights says what should be there") {
  const SpoiltFolder folder;
  fs::remove(folder / "model.safetensors");
  CHECK(folder.error() ==
        "attn-cli: there are no weights in the folder \"FOLDER\"\n"
        "  where: --model\n"
        "  help:  it should hold model.safetensors or pytorch_model.bin, or an index, "
        "model.safetensors.index.json or pytorch_model.bin.index.json, and its parts\n");
  fs::remove(folder / "config.json");
  CHECK(folder.error() ==
        "attn-cli: there is no config.json in the folder \"FOLDER\"\n"
        "  where: --model\n"
        "  help:  name the folder of a checkpoint\n");
  const auto told = [&](const std::string& file, const std::string& help) {
    const SpoiltFolder other;
    fs::remove(other / "config.json");
    fs::remove(other / "model.safetensors");
    write_text(other / file, "{}");
    CHECK(
        other.error() ==
        "attn-cli: there is no config.json in the folder \"FOLDER\"\n  where: --model\n  help:  " +
            help + "\n");
  };
  told("config.json.txt", "rename \"config.json.txt\" to config.json");
  told("config (1).json", "rename \"config (1).json\" to config.json");
  told("result.json", "it holds a result, which needs no model: attn-cli view FOLDER");
  told("model_index.json", "this is a pipeline of diffusers: name a folder within it that has one");
  told("ckpt.pt",
       "it has weights alone, \"ckpt.pt\": save the model as transformers does, with "
       "save_pretrained(), or write its config.json");
}

TEST_CASE("a tensor that the configuration needs and the file has not is named, with the nearest") {
  SpoiltFolder folder;
  folder.replace("model.safetensors", "\"h.1.ln_2.weight\"", "\"h.1.ln_3.weight\"");
  CHECK(folder.error() ==
        "attn-cli: the weights have no tensor \"h.1.ln_2.weight\"\n"
        "  where: standard input, FOLDER/model.safetensors\n"
        "  help:  did you mean \"h.0.ln_2.weight\"?\n");
}

TEST_CASE("a value of a configuration that is not supported is named with what would be wrong") {
  SpoiltFolder folder;
  folder.replace("config.json", "{", R"({"clip_qkv": 8.5,)");
  CHECK(folder.error() ==
        "attn-cli: \"clip_qkv\": 8.5 is not supported\n"
        "  where: standard input, FOLDER/config.json, /clip_qkv\n"
        "  help:  queries, keys and values would stay as they are\n");
}

TEST_CASE("an empty configuration and what is no file say what to do") {
  const SpoiltFolder folder;
  folder.write("config.json", "");
  CHECK(folder.error() ==
        "attn-cli: not valid JSON: the text is empty\n"
        "  where: standard input, FOLDER/config.json\n"
        "  help:  download the file again\n");
  fs::remove(folder / "config.json");
  REQUIRE(mkfifo((folder / "config.json").c_str(), 0600) == 0);
  CHECK(folder.error() ==
        "attn-cli: \"FOLDER/config.json\" is not a regular file\n"
        "  where: standard input\n"
        "  help:  name a regular file\n");
}

TEST_CASE("a head of other sizes is refused before anything is computed") {
  SpoiltFolder folder(cases / "bert_pairs" / "checkpoint");
  const std::string name = "\"cls.predictions.transform.dense.weight\":";
  const std::string header = read_text(folder / "model.safetensors");
  const std::size_t at = header.find(name), end = header.find('}', at);
  REQUIRE(at != std::string::npos);
  const std::string entry = header.substr(at, end - at);
  std::string other = entry;
  const std::size_t shape = other.find("[32,32]");
  REQUIRE(shape != std::string::npos);
  folder.replace("model.safetensors", entry, other.replace(shape, 7, "[16,64]"));
  CHECK(folder.error() ==
        "attn-cli: cls.predictions.transform.dense.weight [16,64] does not fit the configuration: "
        "expected [any,32]\n"
        "  where: standard input, FOLDER/model.safetensors\n"
        "  help:  the configuration and the weights do not belong together\n");
}

TEST_CASE("weights that are cut off are refused") {
  const SpoiltFolder folder;
  const std::string bytes = read_text(folder / "model.safetensors");
  folder.write("model.safetensors", bytes.substr(0, bytes.size() - 8));
  const std::string error = folder.error();
  CHECK(error.find(" of the data, of which there are ") != std::string::npos);
  CHECK(error.ends_with("\n  help:  the file is cut off: copy or download it again\n"));
}

TEST_CASE("a folder is described, for people, for programs and as a row that computes the same") {
  const TemporaryFolder folder;
  const Outcome text = attn_cli({"model", gpt2}, folder.path());
  CHECK(text.exit_code == 0);
  CHECK(text.output.starts_with(gpt2 + "\n  family      gpt2\n  layers      3 layers × 4 heads\n"));
  CHECK(text.output.find("\n  mask        causal\n") != std::string::npos);
  const Outcome json = attn_cli({"model", gpt2, "--json"}, folder.path());
  CHECK(json.output.find("\n  \"family\": \"gpt2\",\n") != std::string::npos);
  const Outcome row = attn_cli({"model", gpt2, "--row"}, folder.path());
  folder.write("row.json", row.output);
  folder.write("by-row.json", R"({"model": ")" + gpt2 +
                                  R"(", "architecture": "row.json", "token_ids": [3, 1, 4]})");
  folder.write("plain.json", R"({"model": ")" + gpt2 + R"(", "token_ids": [3, 1, 4]})");
  const Outcome by_row = attn_cli({"run", "by-row.json", "--out", "-"}, folder.path());
  REQUIRE(by_row.exit_code == 0);
  CHECK(by_row.output == attn_cli({"run", "plain.json", "--out", "-"}, folder.path()).output);
  CHECK(attn_cli({"validate", "--model", gpt2}, folder.path()).output == gpt2 + ": valid\n");
}

TEST_CASE("a classifier's report ends with its classes, and its result has them by their names") {
  const TemporaryFolder folder;
  const std::string model = (cases / "bert_classifies" / "checkpoint").string();
  const Outcome said = attn_cli({"run", "--model", model, "--text", "the film is not good",
                                 "--plots", "none", "--out", "r", "--logit", "negative"},
                                folder.path());
  CHECK(said.exit_code == 0);
  CHECK(said.errors == "");
  const std::size_t at = said.output.find("\nClasses of sample 0\n");
  REQUIRE(at != said.output.npos);
  CHECK(said.output.find(" %  positive\n", at) != said.output.npos);
  CHECK(said.output.find(" %  negative\n", at) != said.output.npos);
  const nlohmann::json result = nlohmann::json::parse(read_text(folder / "r" / "result.json"));
  CHECK(result["contribution"]["class"] == "negative");
  const nlohmann::json& classes = result["classification"][0];
  REQUIRE(classes.size() == 2);
  const double first = classes[0]["probability"], second = classes[1]["probability"];
  CHECK(first + second == doctest::Approx(1));
  CHECK(first > second);
  // Why, in words.
  const Outcome why = attn_cli(
      {"explain", "--model", model, "--text", "the film is not good", "--logit", "negative"},
      folder.path());
  CHECK(why.exit_code == 0);
  CHECK(why.output.find("Why \"negative\"\n") != why.output.npos);
  CHECK(why.output.find("The logit of the class \"negative\" is ") != why.output.npos);
  const Outcome described = attn_cli({"model", model}, folder.path());
  CHECK(described.output.find("  head        BertForSequenceClassification, 2 classes\n") !=
        described.output.npos);
}

TEST_CASE("a batch reads a text a line with one checkpoint, and resumes") {
  const TemporaryFolder folder;
  folder.write("texts.txt", "The state of the Union\n\nMy fellow citizens\n");
  folder.write("more.jsonl", "{\"text\": \"We the people\"}\n");
  const std::string model = (fs::path(ATTN_DATA) / "speeches").string();
  const std::vector<std::string> command{"batch",   "--model", model,   "texts.txt", "more.jsonl",
                                         "--plots", "none",    "--out", "all",       "--resume"};
  const Outcome batch = attn_cli(command, folder.path());
  CHECK(batch.exit_code == 0);
  CHECK(fs::exists(folder / "all/texts.txt.000001/result.json"));
  CHECK(fs::exists(folder / "all/texts.txt.000003/result.json"));
  CHECK(fs::exists(folder / "all/more.000001/result.json"));
  CHECK(read_text(folder / "all/summary.jsonl").find("model.safetensors") != std::string::npos);
  const Outcome again = attn_cli(command, folder.path());
  CHECK(again.output.find("skipped  3, finished before") != std::string::npos);
}

TEST_CASE("a model is explained from a token to what comes next") {
  const std::string model = (fs::path(ATTN_DATA) / "speeches").string();
  const Outcome outcome = attn_cli({"explain", "--model", model, "--text", "The state of the Union",
                                    "--layer", "1", "--head", "1", "--query", "3"});
  CHECK(outcome.errors == "");
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("llama model, step by step") != std::string::npos);
  CHECK(outcome.output.find("The token's embedding") != std::string::npos);
  CHECK(outcome.output.find("The likeliest tokens") != std::string::npos);
}

TEST_CASE("all pictures of a model are drawn but stages, and a grid tells its layers") {
  const TemporaryFolder folder;
  const std::string model = (fs::path(ATTN_DATA) / "speeches").string();
  const Outcome outcome = attn_cli({"run", "--model", model, "--text", "My fellow", "--layers",
                                    "1,3", "--plots", "all", "--dpi", "40", "--out", "r"},
                                   folder.path());
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.errors ==
        "attn-cli: warning: the stages of a model's scores are not drawn: attn-cli explain shows "
        "those of a query\n");
  for (const char* name : {"heatmap.layers.1.self.png", "heatmap.layers.3.self.png", "grid.png",
                           "mask.png", "lines.layers.1.self.png", "dimensions.png"}) {
    CAPTURE(name);
    CHECK(png_header(read_text(folder / "r" / name)).width > 0);
  }
}

TEST_CASE("layers with a window and layers without have a picture of their mask each") {
  const TemporaryFolder folder;
  const Outcome outcome = attn_cli({"run", (cases / "gemma3_text_bf16" / "input.json").string(),
                                    "--plots", "mask", "--dpi", "40", "--out", "r", "--quiet"},
                                   folder.path());
  CHECK(outcome.errors == "");
  CHECK(png_header(read_text(folder / "r/mask.png")).width > 0);
  CHECK(png_header(read_text(folder / "r/mask.self.png")).width > 0);
  CHECK(!fs::exists(folder / "r/mask.self.window.png"));
}
