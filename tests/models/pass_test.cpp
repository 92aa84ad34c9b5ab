#include "models/pass.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "attention/packed_product.hpp"
#include "error_from.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "models/recorded_document.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";

struct Case {
  Architecture model;
  CheckpointWeights weights;
  ModelTexts texts;
  ModelOptions options;
};

Case open_case(const std::string& name) {
  const JsonValue document = parse_json_by_element(read_text(cases / name / "input.json"), 100);
  const fs::path folder = cases / name / "checkpoint";
  Case own{read_architecture(parse_json(read_text(folder / "config.json"))),
           CheckpointWeights::open(folder, {}),
           {id_lists(document.find("token_ids")), id_lists(document.find("token_types")),
            id_lists(document.find("decoder_token_ids"))},
           {}};
  own.options.wanted.stages = own.options.wanted.logits = true;
  if (const JsonValue* dtype = document.find("dtype")) {
    if (dtype->string() == "float64") own.options.dtype = DType::float64;
  }
  read_heads_off(document, own.options);
  if (own.model.encoder_decoder() && own.texts.decoder_ids.empty()) {
    own.texts.decoder_ids.assign(own.texts.ids.size(), {own.model.decoder_start_id.value()});
  }
  return own;
}

std::map<std::string, Tensor> results_of(const Case& own) {
  std::map<std::string, Tensor> results;
  run_model({own.model, own.weights, own.texts, own.options},
            {{.tensor = [&](const PassTensor& what, Tensor tensor) {
              results[what.name()] = std::move(tensor);
            }}});
  return results;
}

// The worst |got − want| / (t + t·|want|).
double worst_error(const Tensor& got, const Tensor& want, double tolerance) {
  const Tensor doubles = got.converted(DType::float64);
  double worst = 0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double g = doubles.values<double>()[i], w = want.values<double>()[i];
    const double error = std::abs(g - w) / (tolerance + tolerance * std::abs(w));
    worst = std::isfinite(error) ? std::max(worst, error) : INFINITY;
  }
  return worst;
}

TEST_CASE("every family gives the weights, states and logits that its own library gives") {
  std::size_t count = 0;
  for (const auto& entry : fs::directory_iterator(cases)) {
    const std::string name = entry.path().filename();
    CAPTURE(name);
    const auto results = results_of(open_case(name));
    const JsonValue expected = parse_json(read_text(entry.path() / "expected.json"));
    const double tolerance = expected.find("tolerance")->find("float32")->number();
    for (const JsonMember& member : expected.find("tensors")->members()) {
      CAPTURE(member.key);
      if (member.key == "token_ids") continue;
      const Tensor want = tensor_from_json(member.value, DType::float64, member.key);
      REQUIRE(results.contains(member.key));
      const Tensor& got = results.at(member.key);
      REQUIRE(got.shape() == want.shape());
      CHECK(worst_error(got, want, tolerance) <= 1);
    }
    ++count;
  }
  CHECK(count == 114);
}

TEST_CASE("samples together give what each gives alone, with zeros where they end") {
  Case together = open_case("gpt2_bare_names");
  const auto all = results_of(together);
  for (std::size_t b = 0; b < together.texts.ids.size(); ++b) {
    CAPTURE(b);
    Case alone = open_case("gpt2_bare_names");
    alone.texts.ids = {together.texts.ids[b]};
    const auto own = results_of(alone);
    const std::size_t length = alone.texts.ids[0].size();
    for (const std::string name : {"layers.1.self.weights", "output"}) {
      CAPTURE(name);
      const Shape& shape = all.at(name).shape();
      const std::size_t rows = shape.size() == 4 ? shape[1] : 1, width = shape.back();
      const std::size_t longest = shape[shape.size() - 2];
      const std::size_t own_width = own.at(name).shape().back();
      const auto whole = all.at(name).values<float>();
      const auto part = own.at(name).values<float>();
      for (std::size_t at = 0; at < rows * longest * width; ++at) {
        const std::size_t h = at / (longest * width), i = at / width % longest, k = at % width;
        const bool inside = i < length && k < own_width;
        const float want = inside ? part[(h * length + i) * own_width + k] : 0.0F;
        REQUIRE(whole[b * rows * longest * width + at] == want);
      }
    }
  }
}

TEST_CASE("models that keep their packed weights in one place give the bits of each alone") {
  const auto kept = std::make_shared<KeptPacking>(std::size_t{1} << 30U);
  for (const auto& entry : fs::directory_iterator(cases)) {
    const std::string name = entry.path().filename();
    CAPTURE(name);
    Case own = open_case(name);
    const auto alone = results_of(own);
    own.weights.keep_packed(kept, name + "/");
    for (int text = 0; text < 2; ++text) {
      const auto again = results_of(own);
      REQUIRE(again.size() == alone.size());
      for (const auto& [key, tensor] : alone) {
        const std::string of = key;  // clang captures no structured binding
        CAPTURE(of);
        const Tensor& other = again.at(key);
        REQUIRE(other.shape() == tensor.shape());
        REQUIRE(other.dtype() == tensor.dtype());
        CHECK(std::memcmp(other.bytes(), tensor.bytes(), tensor.size() * size_of(tensor.dtype())) ==
              0);
      }
    }
  }
}

TEST_CASE("the same bits come on any number of threads") {
  Case one = open_case("llama_grouped");
  one.options.threads = 1;
  const auto alone = results_of(one);
  one.options.threads = 3;
  const auto shared = results_of(one);
  for (const auto& [key, tensor] : alone) {
    const std::string name = key;  // clang captures no structured binding
    CAPTURE(name);
    const auto a = tensor.values<float>(), b = shared.at(name).values<float>();
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

TEST_CASE("several observers of a pass take what each would take alone, in their order") {
  Case own = open_case("llama_grouped");
  own.options.wanted.predicted = {{1}};
  own.options.wanted.predicted.resize(own.texts.ids.size());
  std::vector<std::string> events;
  const auto observer = [&](const std::string& name) {
    const auto note = [&events, name](const std::string& what, const ModelPlace& place) {
      events.push_back(name + what + " " + place.text());
    };
    PassObserver one;
    one.tensor = [=](const PassTensor& what, const Tensor&) { note("tensor", what.place); };
    one.layer = [=](const SamplePlace& at, const Layer&, const LayerStep&) {
      note("layer", at.place);
    };
    one.request = [=](const SamplePlace& at, const AttentionRequest&) {
      note("request", at.place);
    };
    one.lens = [=](const SamplePlace& at, const Tensor&) { note("lens", at.place); };
    one.lens_at = [=](const SamplePlace& at, std::size_t, const Tensor&) {
      note("lens_at", at.place);
    };
    one.predicted = [=](std::size_t, std::size_t, const Tensor&) { note("predicted", {}); };
    one.places = {{ModelPlace::Stack::only, 1},
                  {ModelPlace::Stack::only, 0, ModelPlace::Part::residual}};
    one.written = [=](const SamplePlace& at, const Tensor&) { note("written", at.place); };
    return one;
  };
  const auto events_of = [&](const std::vector<PassObserver>& observers) {
    events.clear();
    run_model({own.model, own.weights, own.texts, own.options}, observers);
    return events;
  };
  const std::vector<std::string> alone = events_of({observer("")});
  for (const char* kind : {"tensor", "layer 0", "request 1", "lens 0", "lens_at 1", "predicted",
                           "written 1", "written 0.residual"}) {
    CAPTURE(kind);
    CHECK(std::ranges::any_of(alone, [&](const auto& event) { return event.starts_with(kind); }));
  }
  std::vector<std::string> both;
  for (const std::string& event : alone) both.insert(both.end(), {"a " + event, "b " + event});
  CHECK(events_of({observer("a "), observer("b ")}) == both);
  // An observer that takes nothing changes nothing, and a pass needs none.
  CHECK(events_of({{}, observer("")}) == alone);
  CHECK(events_of({}).empty());
}

TEST_CASE("only the layers that are wanted give their weights") {
  Case own = open_case("qwen2_bias_bf16");
  own.options.wanted.layers = std::vector<std::size_t>{1};
  own.options.wanted.stages = own.options.wanted.logits = false;
  std::vector<std::string> names;
  for (const auto& [name, tensor] : results_of(own)) names.push_back(name);
  CHECK(names == std::vector<std::string>{"embedded", "layers.1.self.weights", "output"});
}

TEST_CASE("steps of the scores come for the chosen layers, and their softmax is the weights") {
  for (const std::string name : {"gemma2_soft_caps_bf16", "bart_start_token", "gpt_oss_sinks_bf16",
                                 "bloom_alibi_f16", "t5_relu_tied"}) {
    CAPTURE(name);
    Case own = open_case(name);
    own.options.wanted.layers = std::vector<std::size_t>{1};
    const auto results = results_of(own);
    const std::string stack = own.model.encoder_decoder() ? "decoder." : "";
    const std::string place = stack + "layers.1.self.";
    CHECK_FALSE(results.contains(stack + "layers.0.self.scores"));
    const Tensor weights = results.at(place + "weights").converted(DType::float64);
    const Shape& shape = weights.shape();
    CHECK(results.at(place + "scores").shape() == shape);
    CHECK(results.at(place + "capped").shape() == shape);
    CHECK(results.at(place + "lse").shape() == Shape(shape.begin(), shape.end() - 1));
    const Tensor masked = results.at(place + "masked").converted(DType::float64);
    const Tensor lse = results.at(place + "lse").converted(DType::float64);
    double furthest = 0;
    // Rows after the end of a shorter sample are zeros, as all keys are there.
    for (std::size_t at = 0; at < weights.size(); ++at) {
      const double weight = weights.values<double>()[at];
      if (weight == 0) continue;
      const double own_weight =
          std::exp(masked.values<double>()[at] - lse.values<double>()[at / shape[3]]);
      furthest = std::max(furthest, std::abs(own_weight - weight));
    }
    CHECK(furthest <= 2e-6);
    CHECK(results.contains("decoder.layers.1.cross.masked") == own.model.encoder_decoder());
  }
}

TEST_CASE("stages have the same bytes without weights, and weights the same without stages") {
  for (const std::string name : {"gpt2_bare_names", "gpt_oss_sinks_bf16", "t5_relu_tied"}) {
    CAPTURE(name);
    Case own = open_case(name);
    const auto both = results_of(own);
    own.options.wanted.weights = false;
    const auto stages = results_of(own);
    own.options.wanted.weights = true;
    own.options.wanted.stages = false;
    const auto weights = results_of(own);
    const auto check_same = [&](const auto& some) {
      for (const auto& [key, numbers] : some) {
        const std::string tensor = key;  // clang captures no structured binding
        CAPTURE(tensor);
        const Tensor& other = both.at(tensor);
        REQUIRE(numbers.shape() == other.shape());
        CHECK(std::memcmp(numbers.bytes(), other.bytes(),
                          numbers.size() * size_of(numbers.dtype())) == 0);
      }
    };
    CHECK(stages.contains(own.model.encoder_decoder() ? "decoder.layers.0.self.lse"
                                                      : "layers.0.self.lse"));
    CHECK_FALSE(stages.contains("layers.0.self.weights"));
    check_same(stages);
    check_same(weights);
  }
}

TEST_CASE("ids, types and lengths that the model has not are errors that name the place") {
  Case own = open_case("bert_pairs");
  own.texts = {{{1, 2}, {3, 60}}, {}, {}};
  CHECK(error_from([&] { results_of(own); }) ==
        "the token id 60 is not between 0 and 59\n"
        "  where: /token_ids/1/1\n"
        "  help:  give 0 to 59");
  own.texts = {{{1, 2}}, {{0, 2}}, {}};
  CHECK(error_from([&] { results_of(own); }) ==
        "the token type 2 is not between 0 and 1\n"
        "  where: /token_types/0/1\n"
        "  help:  give 0 to 1");
  own.texts = {{std::vector<std::int64_t>(25, 1)}, {}, {}};
  CHECK(error_from([&] { results_of(own); }) ==
        "the text has 25 tokens, and the model's positions end after 24\n"
        "  where: /token_ids/0\n"
        "  help:  shorten the text, or cut it into several");
}

}  // namespace
}  // namespace attn
