#include "models/classification.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "models/changed_checkpoint.hpp"
#include "models/pass.hpp"

namespace attn::classification_test {
namespace {

using Numbers = std::vector<double>;
using Shares = ModelClassifier::Shares;

Numbers numbers_in(const Tensor& tensor) {
  const Tensor wide = tensor.converted(DType::float64);
  return {wide.values<double>().begin(), wide.values<double>().end()};
}

/// One text through a model in double precision: the states that leave it, and its logits.
struct Classified {
  Tensor states, logits;
};
Classified classified_text(const ModelFolder& folder, const std::vector<std::int64_t>& ids) {
  ModelTexts texts;
  texts.ids = {ids};
  if (folder.architecture.encoder_decoder()) {
    texts.decoder_ids = {ids};
    texts.decoder_ids[0].pop_back();
    texts.decoder_ids[0].insert(texts.decoder_ids[0].begin(),
                                folder.architecture.decoder_start_id.value());
  }
  ModelOptions options;
  options.dtype = DType::float64;
  Classified found;
  run_model({folder.architecture, folder.weights, texts, options},
            {{.tensor = [&](const PassTensor& what, const Tensor& tensor) {
              if (what.name() == "output") found.states = tensor;
              if (what.name() == "classification.logits") found.logits = tensor;
            }}});
  return found;
}

Numbers row_of(const Tensor& states, std::size_t position) {
  const std::size_t width = states.shape()[2];
  const Numbers all = numbers_in(states);
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(position * width);
  return {first, first + static_cast<std::ptrdiff_t>(width)};
}

Numbers mean_of(const Tensor& states) {
  const std::size_t length = states.shape()[1], width = states.shape()[2];
  Numbers sums(width, 0);
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t d = 0; d < width; ++d) sums[d] += row_of(states, i)[d];
  }
  for (double& x : sums) x /= static_cast<double>(length);
  return sums;
}

Numbers linear(const ChangedCheckpoint& from, const std::string& name, const Numbers& x) {
  const Numbers weight = numbers_in(from.tensor(name + ".weight"));
  Numbers y(weight.size() / x.size(), 0);
  for (std::size_t i = 0; i < weight.size(); ++i) y[i / x.size()] += weight[i] * x[i % x.size()];
  if (!from.has(name + ".bias")) return y;
  const Numbers bias = numbers_in(from.tensor(name + ".bias"));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += bias[i];
  return y;
}

Numbers each(Numbers x, double (*of)(double)) {
  for (double& v : x) v = of(v);
  return x;
}
double gelu(double x) {
  return x / 2 * (1 + std::erf(x / std::sqrt(2.0)));
}
double relu(double x) {
  return std::max(x, 0.0);
}

/// A recorded checkpoint as one of a class that classifies, and the logits of a text by its
/// definition.
struct Case {
  std::string recorded, kind;
  std::vector<std::pair<std::string, Shape>> tensors;
  std::function<Numbers(const ChangedCheckpoint& from, const Tensor& states)> definition;
  std::map<std::string, std::string> settings = {};
};

const std::vector<std::int64_t> text{5, 11, 7, 2, 14, 8};

std::vector<Case> cases() {
  const auto head = [](const std::string& dense, double (*of)(double), const std::string& out) {
    return [=](const ChangedCheckpoint& from, const Tensor& states) {
      return linear(from, out, each(linear(from, dense, row_of(states, 0)), of));
    };
  };
  const auto hyperbolic = [](double x) { return std::tanh(x); };
  return {{"bert_pairs",
           "BertForSequenceClassification",
           {{"bert.pooler.dense.weight", {32, 32}},
            {"bert.pooler.dense.bias", {32}},
            {"classifier.weight", {3, 32}},
            {"classifier.bias", {3}}},
           head("bert.pooler.dense", hyperbolic, "classifier")},
          {"roberta_positions",
           "RobertaForSequenceClassification",
           {{"classifier.dense.weight", {32, 32}},
            {"classifier.dense.bias", {32}},
            {"classifier.out_proj.weight", {1, 32}}},
           head("classifier.dense", hyperbolic, "classifier.out_proj")},
          {"electra_generator",
           "ElectraForSequenceClassification",
           {{"classifier.dense.weight", {8, 8}}, {"classifier.out_proj.weight", {2, 8}}},
           head("classifier.dense", gelu, "classifier.out_proj")},
          {"distilbert_masked",
           "DistilBertForSequenceClassification",
           {{"pre_classifier.weight", {32, 32}}, {"classifier.weight", {2, 32}}},
           head("pre_classifier", relu, "classifier")},
          {"deberta_v3_shared",
           "DebertaV2ForSequenceClassification",
           {{"pooler.dense.weight", {16, 16}}, {"classifier.weight", {2, 16}}},
           head("pooler.dense", gelu, "classifier")},
          {"eurobert_both_sides",
           "EuroBertForSequenceClassification",
           {{"dense.weight", {16, 16}}, {"classifier.weight", {2, 16}}},
           [](const ChangedCheckpoint& from, const Tensor& states) {
             return linear(from, "classifier", each(linear(from, "dense", mean_of(states)), gelu));
           },
           {{"classifier_pooling", "\"mean\""}}},
          {"bart_start_token",
           "BartForSequenceClassification",
           {{"classification_head.dense.weight", {8, 8}},
            {"classification_head.out_proj.weight", {2, 8}}},
           [=](const ChangedCheckpoint& from, const Tensor& states) {
             return linear(
                 from, "classification_head.out_proj",
                 each(linear(from, "classification_head.dense", row_of(states, 3)), hyperbolic));
           }},
          {"llama_grouped",
           "LlamaForSequenceClassification",
           {{"score.weight", {2, 32}}},
           [](const ChangedCheckpoint& from, const Tensor& states) {
             return linear(from, "score", row_of(states, 4));
           },
           {{"pad_token_id", "8"}}},
          {"llama_grouped",
           "LlamaForTokenClassification",
           {{"score.weight", {2, 32}}, {"score.bias", {2}}},
           [](const ChangedCheckpoint& from, const Tensor& states) {
             Numbers all;
             for (std::size_t i = 0; i < states.shape()[1]; ++i) {
               for (const double x : linear(from, "score", row_of(states, i))) all.push_back(x);
             }
             return all;
           }},
          {"electra_generator",
           "ElectraForMultipleChoice",
           {{"sequence_summary.summary.weight", {8, 8}}, {"classifier.weight", {1, 8}}},
           head("sequence_summary.summary", gelu, "classifier"),
           {{"summary_type", "\"first\""}, {"summary_use_proj", "true"}}}};
}

/// The recorded checkpoint with what a case changes.
struct CaseCheckpoint : ChangedCheckpoint {
  explicit CaseCheckpoint(const Case& own) : ChangedCheckpoint(own.recorded) {
    set("architectures", "[\"" + own.kind + "\"]");
    for (const auto& [key, value] : own.settings) set(key, value);
    for (const auto& [name, shape] : own.tensors) put(name, drawn_tensor(shape));
  }
};

TEST_CASE("the logits of a classifier are those of its class's definition") {
  for (const Case& own : cases()) {
    CAPTURE(own.kind);
    const CaseCheckpoint checkpoint(own);
    const ModelFolder folder = checkpoint.open();
    CHECK(folder.warnings.empty());
    check_weights(folder.architecture, folder.weights);
    const Classified found = classified_text(folder, text);
    REQUIRE(found.logits);
    const Numbers want = own.definition(checkpoint, found.states), got = numbers_in(found.logits);
    REQUIRE(got.size() == want.size());
    const bool by_token = own.kind == "LlamaForTokenClassification";
    CHECK(found.logits.shape() == (by_token ? Shape{1, text.size(), 2} : Shape{1, want.size()}));
    for (std::size_t i = 0; i < got.size(); ++i) {
      CHECK(std::abs(got[i] - want[i]) <= 1e-12 * (1 + std::abs(want[i])));
    }
  }
}

TEST_CASE("a text without the end token whose state is read is refused") {
  const ModelFolder folder = CaseCheckpoint(cases()[6]).open();
  CHECK(
      error_from([&] {
        classified_text(folder, {5, 11, 7});
      }) ==
      "the text has no end token, whose state the classifier reads\n  where: /token_ids\n  help:  "
      "add the token 2");
}

TEST_CASE("a decoder reads the text behind its start token, or behind the last token of the text") {
  const auto read = [](const char* recorded) {
    const ModelFolder folder = ChangedCheckpoint(recorded).open();
    return read_by_decoder(folder.architecture, {5, 11, 7, 9});
  };
  CHECK(read("bart_start_token") == std::vector<std::int64_t>{2, 5, 11, 7});
  CHECK(read("mbart_norms_first") == std::vector<std::int64_t>{9, 5, 11, 7});
}

TEST_CASE("tokens that see all others follow from the class, those of pairs from separators") {
  const std::vector<std::int64_t> pair{0, 7, 12, 2, 2, 8, 13, 2};
  const auto global = [&](const std::string& name) {
    const ModelFolder folder =
        ChangedCheckpoint("../answers").set("architectures", "[\"Longformer" + name + "\"]").open();
    return global_positions(folder.architecture, pair, "/token_ids/0");
  };
  using Positions = std::vector<std::size_t>;
  CHECK(global("ForSequenceClassification") == Positions{0});
  CHECK(global("ForQuestionAnswering") == Positions{0, 1, 2});
  CHECK(global("ForMultipleChoice") == Positions{5, 6, 7});
  CHECK(global("ForTokenClassification").empty());
  CHECK(global("ForMaskedLM").empty());
  const ModelFolder folder = ChangedCheckpoint("../answers").open();
  CHECK(
      error_from([&] {
        global_positions(folder.architecture, {0, 7, 2}, "/token_ids/1");
      }) ==
      "the text has 1 separator, and a pair of texts has 3\n  where: /token_ids/1\n"
      "  help:  give a pair of texts: the tokens that see all others are found by its separators");
}

TEST_CASE("answers of pairs whose questions see all tokens are those of the library") {
  const ModelFolder folder = ChangedCheckpoint("../answers").open();
  const auto read = [](const char* name) {
    return parse_json_by_element(
        read_text(std::filesystem::path(ATTN_TEST_DATA) / "models" / "answers" / name), 100);
  };
  const JsonValue input = read("input.json"), expected = read("expected.json");
  const JsonValue& pairs = *input.find("token_ids");
  const JsonValue& logits = *expected.find("tensors")->find("classification.logits");
  REQUIRE(pairs.size() == 2);
  for (std::size_t b = 0; b < pairs.size(); ++b) {
    std::vector<std::int64_t> ids;
    for (std::size_t i = 0; i < pairs.element(b).size(); ++i) {
      ids.push_back(pairs.element(b).element(i).integer());
    }
    const Numbers found = numbers_in(classified_text(folder, ids).logits);
    REQUIRE(found.size() == 2 * ids.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      const double want = logits.element(b).element(i / 2).element(i % 2).number();
      CHECK(std::abs(found[i] - want) <= 1e-9 * (1 + std::abs(want)));
    }
  }
}

TEST_CASE("a token that sees all others has a whole row and a whole column in the map") {
  const ModelFolder folder = ChangedCheckpoint("../answers").open();
  ModelTexts texts;
  texts.ids = {{0, 7, 2, 2, 8, 13, 9, 10, 2}};
  ModelOptions options;
  options.dtype = DType::float64;
  std::vector<Tensor> maps;
  run_model({folder.architecture, folder.weights, texts, options},
            {{.tensor = [&](const PassTensor& what, const Tensor& tensor) {
              if (what.quantity == PassTensor::Quantity::weights) maps.push_back(tensor);
            }}});
  REQUIRE(maps.size() == 2);
  const std::size_t length = texts.ids[0].size(), reach = 2, global = 2;
  for (const Tensor& map : maps) {
    const Numbers weights = numbers_in(map);
    for (std::size_t cell = 0; cell < weights.size(); ++cell) {
      const std::size_t i = cell / length % length, j = cell % length;
      const bool near = std::max(i, j) - std::min(i, j) <= reach;
      CHECK((weights[cell] > 0) == (near || i < global || j < global));
    }
  }
}

TEST_CASE("tensors of a classifier that do not fit, and poolings that are not known, are refused") {
  Case own = cases()[0];
  own.tensors[2].second = {3, 16};
  CHECK(CaseCheckpoint(own).refusal() ==
        "classifier.weight [3,16] does not fit the configuration: expected [any,32]\n  where: "
        "FOLDER/model.safetensors\n  help:  the configuration and the weights do not belong "
        "together");
  own = cases()[5];
  own.settings["classifier_pooling"] = "\"attention\"";
  CHECK(CaseCheckpoint(own).refusal() ==
        "the pooling \"attention\" is not computed\n  where: FOLDER/config.json, "
        "/classifier_pooling\n"
        "  help:  known ones are cls, bos, mean and late");
  own = cases().back();
  own.settings["summary_type"] = "\"mean\"";
  CHECK(CaseCheckpoint(own).refusal() ==
        "the summary \"mean\" is not computed\n  where: FOLDER/config.json, /summary_type\n"
        "  help:  only first is computed");
  own = cases().back();
  own.settings["summary_use_proj"] = "false";
  CHECK(CaseCheckpoint(own).refusal() ==
        "such a summary of a text is not computed\n  where: FOLDER/config.json, "
        "/summary_use_proj\n  help:  leave out \"architectures\" to see its maps alone");
}

TEST_CASE("labels are those of the configuration, or numbered where it has another count") {
  Case own = cases()[0];
  own.settings["id2label"] = R"({"0": "bad", "2": "good", "1": "so so"})";
  std::vector<std::string> warnings;
  const auto labels = [&] {
    const ModelFolder folder = CaseCheckpoint(own).open();
    warnings = folder.warnings;
    return Classifier::read(folder.architecture, folder.weights).labels();
  };
  using Texts = std::vector<std::string>;
  CHECK(labels() == Texts{"bad", "so so", "good"});
  CHECK(warnings.empty());
  own.settings["id2label"] = R"({"0": "bad", "1": "good"})";
  CHECK(labels() == Texts{"LABEL_0", "LABEL_1", "LABEL_2"});
  CHECK(warnings == Texts{"\"id2label\" names 2 classes, and the weights have 3: they are called "
                          "LABEL_0, LABEL_1, …"});
  own.settings["id2label"] = R"({"0": "LABEL_0", "1": "LABEL_1"})";
  CHECK(labels() == Texts{"LABEL_0", "LABEL_1", "LABEL_2"});
  CHECK(warnings.empty());
  own.settings["id2label"] = R"({"1": "bad", "2": "so so", "3": "good"})";
  CHECK(labels() == Texts{"LABEL_0", "LABEL_1", "LABEL_2"});
  CHECK(warnings == Texts{"\"id2label\" has a name of the class \"3\", but 3 classes are numbered "
                          "from 0: they are called LABEL_0, LABEL_1, …"});
}

TEST_CASE("classes come by their logits, with probabilities as the class of the model gives them") {
  const Tensor logits({2, 2}, std::vector<double>{0, std::log(3.0), std::log(4.0), 0});
  const auto of = [&](Shares shares, const Tensor& numbers,
                      const std::vector<std::string>& labels) {
    ModelClassifier classifier;
    classifier.shares = shares;
    return classified(numbers, classifier, labels, {{1, 2}, {1, 2}});
  };
  const auto whole = of(Shares::by_count, logits, {"no", "yes"});
  REQUIRE(whole.size() == 2);
  CHECK(whole[0][0].classes[0].label == "yes");
  CHECK(whole[0][0].classes[0].probability.value() == doctest::Approx(0.75));
  CHECK(whole[1][0].classes[0].label == "no");
  CHECK(whole[1][0].classes[0].probability.value() == doctest::Approx(0.8));
  CHECK_FALSE(whole[0][0].position);
  CHECK(of(Shares::each, logits, {"no", "yes"})[0][0].classes[1].probability.value() ==
        doctest::Approx(0.5));
  CHECK_FALSE(of(Shares::none, logits, {"no", "yes"})[0][0].classes[0].probability);
  // One class, as of rerankers, has a sigmoid.
  const Tensor one({2, 1}, std::vector<double>{0, std::log(3.0)});
  CHECK(of(Shares::by_count, one, {"score"})[1][0].classes[0].probability.value() ==
        doctest::Approx(0.75));
  // Choices are weighed against each other.
  CHECK(of(Shares::of_texts, one, {"choice"})[1][0].classes[0].probability.value() ==
        doctest::Approx(0.75));
  // Both ends of an answer, each over the tokens.
  const Tensor ends({1, 2, 2}, std::vector<double>{0, std::log(4.0), std::log(3.0), 0});
  const auto answer = of(Shares::of_tokens, ends, {"start", "end"});
  REQUIRE(answer[0].size() == 2);
  CHECK(answer[0][0].position == 1);
  CHECK(answer[0][0].classes[0].label == "start");
  CHECK(answer[0][0].classes[0].probability.value() == doctest::Approx(0.75));
  CHECK(answer[0][1].position == 0);
  CHECK(answer[0][1].classes[0].probability.value() == doctest::Approx(0.8));
}

}  // namespace
}  // namespace attn::classification_test
