#include "models/generation.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "io/json_value.hpp"
#include "models/recorded_document.hpp"
#include "temporary_folder.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

const fs::path cases = fs::path(ATTN_TEST_DATA) / "models" / "cases";

/// A recorded model that predicts the next token, and a text for it.
struct GenerationCase {
  Architecture model;
  CheckpointWeights weights;
  ModelTexts texts;
  ModelOptions options;

  std::vector<std::int64_t>& prompt() {
    return model.encoder_decoder() ? texts.decoder_ids[0] : texts.ids[0];
  }
};

GenerationCase open_generation_case(const std::string& name) {
  const fs::path folder = cases / name / "checkpoint";
  const JsonValue document = parse_json_by_element(read_text(cases / name / "input.json"), 100);
  GenerationCase own{read_architecture(parse_json(read_text(folder / "config.json"))),
                     CheckpointWeights::open(folder, {}),
                     {{id_lists(document.find("token_ids"))[0]}, {}, {}},
                     {}};
  read_heads_off(document, own.options);
  if (own.model.encoder_decoder()) own.texts.decoder_ids = {{own.model.decoder_start_id.value()}};
  constexpr std::size_t most = 5;
  if (own.prompt().size() > most) own.prompt().resize(most);
  // Results of 32 bits may have two logits that are equal but for rounding.
  own.options.dtype = DType::float64;
  return own;
}

// The logits behind each of the last tokens of the texts, from a pass over all of them.
std::vector<std::vector<double>> whole_logits(GenerationCase& own, std::size_t count) {
  ModelOptions options = own.options;
  options.wanted.weights = false;
  std::vector<std::size_t>& predicted = options.wanted.predicted.emplace_back();
  const std::size_t length = own.prompt().size();
  for (std::size_t i = length - count; i < length; ++i) predicted.push_back(i);
  std::vector<std::vector<double>> all;
  const auto take = [&](std::size_t, std::size_t, const Tensor& logits) {
    const Tensor doubles = logits.converted(DType::float64);
    all.emplace_back(doubles.values<double>().begin(), doubles.values<double>().end());
  };
  run_model({own.model, own.weights, own.texts, options}, {{.predicted = take}});
  return all;
}

double probability(const std::vector<double>& logits, std::int64_t id) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  return std::exp(logits[static_cast<std::size_t>(id)] - largest) / sum;
}

// The likeliest tokens, each from a pass over all before it, as far as the model's positions go.
Answer by_whole_passes(GenerationCase own, std::size_t count) {
  const auto longest = longest_text(own.model, own.weights, own.model.stacks.back());
  Answer answer;
  while (answer.ids.size() < count && own.prompt().size() <= longest.value_or(SIZE_MAX)) {
    const std::vector<std::vector<double>> logits = whole_logits(own, 1);
    const auto best = std::ranges::max_element(logits[0]) - logits[0].begin();
    answer.ids.push_back(best);
    answer.probabilities.push_back(probability(logits[0], best));
    own.prompt().push_back(best);
  }
  return answer;
}

TEST_CASE("every family generates with its cache what passes over the whole text give") {
  std::set<std::string> families;
  for (const auto& entry : fs::directory_iterator(cases)) {
    const std::string name = entry.path().filename();
    CAPTURE(name);
    GenerationCase own = open_generation_case(name);
    if (!own.model.stacks.back().causal || !has_head(own.model, own.weights)) continue;
    const Answer want = by_whole_passes(own, 12);
    REQUIRE(want.ids.size() >= 4);
    const Answer got = answer_to({own.model, own.weights, own.texts, own.options}, 0,
                                 {.most_tokens = want.ids.size()});
    CHECK(got.ids == want.ids);
    for (std::size_t i = 0; i < want.ids.size(); ++i) {
      CHECK(got.probabilities[i] == doctest::Approx(want.probabilities[i]).epsilon(1e-9));
    }
    families.insert(own.model.family);
  }
  CHECK(families.size() == 77);
}

TEST_CASE("a text that turns its positions anew as it grows is read anew") {
  for (const double factor : {2.0, 4.0}) {
    CAPTURE(factor);
    GenerationCase own = open_generation_case("llama_grouped");
    for (ModelLayer& layer : own.model.stacks[0].layers) {
      layer.rotary->scaling = DynamicScaling{.factor = factor, .original = 8};
    }
    const Answer want = by_whole_passes(own, 12);
    const Answer got =
        answer_to({own.model, own.weights, own.texts, own.options}, 0, {.most_tokens = 12});
    CHECK(got.ids == want.ids);
    for (std::size_t i = 0; i < want.ids.size(); ++i) {
      CHECK(got.probabilities[i] == doctest::Approx(want.probabilities[i]).epsilon(1e-9));
    }
  }
}

TEST_CASE("an answer ends with an end token") {
  GenerationCase own = open_generation_case("gpt2_bare_names");
  const Answer whole =
      answer_to({own.model, own.weights, own.texts, own.options}, 0, {.most_tokens = 6});
  REQUIRE(whole.ids.size() == 6);
  const auto first = std::ranges::find(whole.ids, whole.ids[2]) - whole.ids.begin();
  const Answer cut = answer_to({own.model, own.weights, own.texts, own.options}, 0,
                               {.most_tokens = 6, .end_ids = {whole.ids[2]}});
  CHECK(cut.ids == std::vector(whole.ids.begin(), whole.ids.begin() + first + 1));
}

TEST_CASE("a given answer has the probabilities of a pass over the whole text") {
  for (const char* name : {"gpt2_bare_names", "t5_relu_tied", "bloom_alibi_f16"}) {
    CAPTURE(name);
    GenerationCase own = open_generation_case(name);
    const std::vector<std::int64_t> given{7, 3, 11};
    const Answer answer =
        answer_to({own.model, own.weights, own.texts, own.options}, 0, {.given = {given}});
    CHECK(answer.ids == given);
    own.prompt().insert(own.prompt().end(), given.begin(), given.end() - 1);
    const auto logits = whole_logits(own, given.size());
    for (std::size_t i = 0; i < given.size(); ++i) {
      CHECK(answer.probabilities[i] ==
            doctest::Approx(probability(logits[i], given[i])).epsilon(1e-9));
    }
  }
}

TEST_CASE("a head that is off is off during generation") {
  GenerationCase own = open_generation_case("gpt2_bare_names");
  for (const char* head : {"0.0", "0.1", "0.2", "0.3", "1.0"}) {
    own.options.heads_off.push_back(ModelPlace::parse(head).value());
  }
  const Answer want = by_whole_passes(own, 6);
  const Answer got =
      answer_to({own.model, own.weights, own.texts, own.options}, 0, {.most_tokens = 6});
  CHECK(got.ids == want.ids);
  CHECK(got.probabilities[5] == doctest::Approx(want.probabilities[5]).epsilon(1e-9));
}

}  // namespace
}  // namespace attn
