#include "models/sentence_embedding.hpp"

#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/run.hpp"

#include "error_from.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "models/model_folder.hpp"
#include "temporary_folder.hpp"
#include "tensor/operations.hpp"

namespace attn::sentence_embedding_test {
namespace {

namespace fs = std::filesystem;

const fs::path recorded = fs::path(ATTN_TEST_DATA) / "models" / "sentences";

JsonValue expected() {
  return parse_json(read_text(recorded / "expected.json"));
}

Tensor expected_tensor(const char* name) {
  return tensor_from_json(*expected().find(name), DType::float64, name);
}

/// What a run writes of texts, JSON; of the recorded ones without any.
JsonValue result_of(const fs::path& folder, const std::string& settings, std::string texts = "") {
  const JsonValue all = expected();
  const bool recorded_ones = texts.empty();
  for (std::size_t i = 0; recorded_ones && i < all.find("texts")->size(); ++i) {
    texts += (i == 0 ? "[\"" : "\", \"") + all.find("texts")->element(i).string();
    if (i + 1 == all.find("texts")->size()) texts += "\"]";
  }
  const TemporaryFolder place;
  RunOptions options;
  options.document.input = place.write(
      "input.json", "{\"model\": \"" + folder.string() +
                        "\", \"dtype\": \"float64\", \"text\": " + texts + settings + "}");
  options.plots.clear();
  std::string text;
  options.answer = [&](std::string_view piece) { text += piece; };
  run(options);
  return parse_json(text);
}

double worst(const JsonValue& result, const char* name, const Tensor& want) {
  const Tensor got = tensor_from_json(*result.find("tensors")->find(name), DType::float64, name);
  REQUIRE(got.shape() == want.shape());
  double most = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    most = std::max(most, std::abs(got.values<double>()[i] - want.values<double>()[i]));
  }
  return most;
}

TEST_CASE("vectors of texts are those of the library, cut and after a prompt as it does") {
  const fs::path folder = recorded / "folder";
  const JsonValue plain = result_of(folder, ", \"truncate\": true");
  CHECK(worst(plain, "sentence_embedding", expected_tensor("plain")) <= 1e-12);
  CHECK(worst(plain, "sentence_similarity", expected_tensor("similarity")) <= 1e-12);
  CHECK(plain.find("similarities")->size() == 3);
  const JsonValue query = result_of(folder, ", \"truncate\": true, \"prompt\": \"query\"");
  CHECK(worst(query, "sentence_embedding", expected_tensor("query")) <= 1e-12);
}

TEST_CASE("a text that the library would cut is told of") {
  const JsonValue result =
      result_of(recorded / "folder", "", R"("a very long song and the film .")");
  CHECK(
      result.find("warnings")->element(0).string() ==
      "a text has 10 tokens, of which the library would read 8: DocumentOptions::truncate cuts it "
      "likewise");
}

TEST_CASE("a prompt that the folder does not have is refused with those that it has") {
  const std::string said =
      error_from([] { result_of(recorded / "folder", R"(, "prompt": "quary")", R"("a film")"); });
  CHECK(said.substr(0, said.find('\n')) == "the folder has no prompt \"quary\"");
  CHECK(said.substr(said.find(", /prompt")) == ", /prompt\n  help:  did you mean \"query\"?");
}

/// The recorded folder with another modules.json.
struct ChangedFolder {
  TemporaryFolder folder;
  explicit ChangedFolder(const std::string& modules) {
    fs::copy(recorded / "folder", folder.path(), fs::copy_options::recursive);
    folder.write("modules.json", modules);
  }
  ModelFolder open() const { return ModelFolder::open(folder.path(), std::nullopt, {}); }
};

TEST_CASE("modules that are not known leave the vectors out, by name") {
  const ModelFolder model =
      ChangedFolder(R"([{"path": "", "type": "sentence_transformers.models.Transformer"},
                        {"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
                        {"path": "2_LSTM", "type": "sentence_transformers.models.LSTM"}])")
          .open();
  CHECK(model.architecture.sentence == nullptr);
  CHECK(model.warnings ==
        std::vector<std::string>{"sentence embeddings are not computed: the module "
                                 "\"sentence_transformers.models.LSTM\", or a rule of its, is not "
                                 "known"});
}

TEST_CASE("a module outside the folder is refused") {
  const ChangedFolder folder(
      R"([{"path": "../other", "type": "sentence_transformers.models.Pooling"}])");
  std::string said = error_from([&] { folder.open(); });
  said.erase(said.find(folder.folder.path().string()), folder.folder.path().string().size());
  CHECK(said ==
        "the path \"../other\" leaves the folder\n  where: /modules.json, /path\n  help:  give a "
        "folder within it");
}

TEST_CASE("poolings are those of the library") {
  using Pooling = SentenceModules::Pooling;
  const Tensor states({1, 3, 2}, std::vector<double>{1, -2, 3, 4, -7, 1});
  const auto pooled = [&](Pooling pooling) {
    SentenceModules modules;
    modules.pooling = {pooling};
    const Tensor made = modules.embedding(states);
    return std::vector<double>(made.values<double>().begin(), made.values<double>().end());
  };
  CHECK(pooled(Pooling::first) == std::vector<double>{1, -2});
  CHECK(pooled(Pooling::last) == std::vector<double>{-7, 1});
  CHECK(pooled(Pooling::largest) == std::vector<double>{3, 4});
  CHECK(pooled(Pooling::mean) == std::vector<double>{-1, 1});
  CHECK(pooled(Pooling::mean_by_root) ==
        std::vector<double>{-3 / std::sqrt(3.0), 3 / std::sqrt(3.0)});
  CHECK(pooled(Pooling::weighted_mean) == std::vector<double>{-14.0 / 6, 9.0 / 6});
}

TEST_CASE("parts of tokens add up to the similarity of their texts, whatever the pooling") {
  using Pooling = SentenceModules::Pooling;
  const std::vector<Tensor> states{
      Tensor({1, 3, 2}, std::vector<double>{1, -2, 3, 4, -7, 1}),
      Tensor({1, 4, 2}, std::vector<double>{0.5, 2, -1, 3, 2, 2, -0.25, 1})};
  for (const std::vector<Pooling>& poolings : {std::vector{Pooling::first},
                                               {Pooling::last},
                                               {Pooling::largest},
                                               {Pooling::mean},
                                               {Pooling::mean_by_root},
                                               {Pooling::weighted_mean},
                                               {Pooling::mean, Pooling::largest}}) {
    for (const auto similarity :
         {SentenceModules::Similarity::cosine, SentenceModules::Similarity::dot}) {
      CAPTURE(static_cast<int>(poolings.front()));
      SentenceModules modules;
      modules.pooling = poolings;
      modules.similarity = similarity;
      if (poolings.size() > 1) {
        const Tensor weight({3, 4}, std::vector<double>{1, 2, -1, 0, 3, 1, 1, -2, 0, 1, 2, 1});
        modules.steps = {{Linear{weight, {}}, {}}, {}};
      }
      REQUIRE(modules.sums_over_tokens());
      const std::vector vectors{modules.embedding(states[0]), modules.embedding(states[1])};
      const Tensor whole = modules.similarities(concatenated(vectors));
      const Tensor parts = modules.token_similarity(states);
      REQUIRE(parts.shape() == Shape{2, 3, 4});
      for (std::size_t b = 0; b < 2; ++b) {
        double sum = 0;
        for (const double part : parts.values<double>().subspan(b * 12, 12)) sum += part;
        CHECK(sum == doctest::Approx(whole.values<double>()[b]).epsilon(1e-14));
      }
      CHECK(parts.values<double>()[3] == 0);  // the first text has no fourth token
    }
  }
}

TEST_CASE("a similarity with a bias, a function or a distance is no sum over tokens") {
  SentenceModules modules;
  modules.pooling = {SentenceModules::Pooling::mean};
  const Tensor weight({1, 1}, std::vector<double>{2}), bias({1}, std::vector<double>{1});
  modules.steps = {{Linear{weight, bias}, {}}};
  CHECK_FALSE(modules.sums_over_tokens());
  modules.steps = {{Linear{weight, {}}, [](double x) { return x * x; }}};
  CHECK_FALSE(modules.sums_over_tokens());
  modules.steps = {{Linear{weight, {}}, {}}};
  CHECK(modules.sums_over_tokens());
  modules.similarity = SentenceModules::Similarity::euclidean;
  CHECK_FALSE(modules.sums_over_tokens());
}

TEST_CASE(
    "a folder whose model is in 0_Transformer gives the same vectors, "
    "and makes texts small where it says so") {
  const TemporaryFolder folder;
  const fs::path from = fs::path(ATTN_TEST_DATA) / "models" / "sentences" / "folder";
  fs::create_directories(folder / "0_Transformer");
  for (const auto& entry : fs::directory_iterator(from)) {
    const std::string name = entry.path().filename();
    const bool of_all = entry.is_directory() || name == "modules.json" ||
                        name == "config_sentence_transformers.json";
    fs::copy(entry.path(), of_all ? folder / name : folder / "0_Transformer" / name,
             fs::copy_options::recursive);
  }
  std::string modules = read_text(folder / "modules.json");
  const std::size_t at = modules.find("\"path\": \"\"");
  REQUIRE(at != std::string::npos);
  write_text(folder / "modules.json", modules.replace(at, 10, "\"path\": \"0_Transformer\""));
  write_text(folder / "0_Transformer/sentence_bert_config.json",
             R"({"max_seq_length": 8, "do_lower_case": true})");
  std::string tokenizer = read_text(folder / "0_Transformer/tokenizer.json");
  const std::string lowercases = "\"lowercase\": true";
  const std::size_t own = tokenizer.find(lowercases);
  REQUIRE(own != std::string::npos);
  write_text(folder / "0_Transformer/tokenizer.json",
             tokenizer.replace(own, lowercases.size(), "\"lowercase\": false"));
  const JsonValue result = result_of(
      folder.path(), ", \"truncate\": true",
      R"(["THE film is Good", "A very long song and the UNUSUAL films and songs", "Bad ."])");
  CHECK(worst(result, "sentence_embedding", expected_tensor("plain")) < 1e-12);
}

}  // namespace
}  // namespace attn::sentence_embedding_test
