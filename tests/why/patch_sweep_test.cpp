#include "why/patch_sweep.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "why/stored_circuits.hpp"

namespace attn {
namespace {

constexpr DifferenceTokens three_minus_five{3, 5};

// A text that differs in all tokens but the last one.
std::vector<std::int64_t> other_text(const StoredCircuits& own) {
  std::vector<std::int64_t> other = own.text.ids.front();
  for (std::size_t i = 0; i + 1 < other.size(); ++i) other[i] = (other[i] + 3) % 20;
  return other;
}

SweepEffects swept(StoredCircuits& own, const SweepChoice& choice) {
  own.options.patch = Patch{other_text(own), {}};
  const SweepEffects effects = sweep(own.pass(), choice, three_minus_five);
  own.options.patch.reset();
  return effects;
}

// The difference of a pass with one part patched.
double difference_of_pass(const StoredCircuits& own, const std::string& at) {
  StoredCircuits patched = own;
  patched.options.patch = Patch{other_text(own), {patch_place(at, own.model.architecture, "")}};
  patched.options.wanted.logits = true;
  double difference = 0;
  run_model({own.model.architecture, own.model.weights, own.text, patched.options},
            {{.tensor = [&](const PassTensor& what, const Tensor& logits) {
              if (what.quantity != PassTensor::Quantity::logits) return;
              const auto row = logits.values<double>().last(logits.shape().back());
              difference = row[3] - row[5];
            }}});
  return difference;
}

TEST_CASE("sweeps over layers, heads and positions are those of TransformerLens") {
  std::size_t count = 0;
  for (const char* name : stored_models) {
    CAPTURE(name);
    StoredCircuits own(name);
    // All but GPT-2 have norms, rotations or a softmax in single precision there.
    const double tolerance = std::string(name).starts_with("gpt2") ? 1e-10 : 1e-5;
    SweepChoice choice;
    choice.by_position = true;
    choice.parts.clear();
    for (const PatchedPartInfo& info : patched_parts()) choice.parts.push_back(info.part);
    const SweepEffects effects = swept(own, choice);
    CHECK(std::abs(effects.own - own.numbers.find("own")->number()) <= tolerance);
    CHECK(std::abs(effects.source - own.numbers.find("source")->number()) <= tolerance);
    for (std::size_t p = 0; p < effects.parts.size(); ++p) {
      const SweptPart& part = effects.parts[p];
      const std::string word(patched_parts()[p].name);
      CAPTURE(word);
      const JsonValue& rows = *own.numbers.find("sweeps")->find(word);
      REQUIRE(part.patched.size() == rows.size());
      for (std::size_t n = 0; n < rows.size(); ++n) {
        CAPTURE(n);
        check_stored(part.patched[n], rows.element(n), tolerance);
        count += part.patched[n].size();
      }
    }
  }
  CHECK(count > 1000);
}

TEST_CASE("a sweep of heads equals one pass for each, at all positions and at single ones") {
  for (const char* name : {"gpt2_bare_names", "llama_grouped", "gpt_neox_pythia_f16"}) {
    CAPTURE(name);
    StoredCircuits own(name);
    const SweepEffects all = swept(own, {}), single = swept(own, {{PatchedPart::heads}, true});
    const std::size_t heads = own.model.architecture.heads;
    REQUIRE(all.parts[0].patched.size() == own.model.architecture.stacks.back().layers.size());
    for (std::size_t n = 0; n < all.parts[0].patched.size(); ++n) {
      for (std::size_t h = 0; h < heads; ++h) {
        const std::string at = std::to_string(n) + "." + std::to_string(h);
        CAPTURE(at);
        CHECK(std::abs(all.parts[0].patched[n][h] - difference_of_pass(own, at)) < 1e-12);
        for (const std::size_t position : {std::size_t{0}, own.text.ids[0].size() - 2}) {
          const double one = difference_of_pass(own, at + ":" + std::to_string(position));
          CHECK(std::abs(single.parts[0].patched[n * heads + h][position] - one) < 1e-12);
        }
      }
    }
  }
}

TEST_CASE("above a patched head layers may keep the weights of the text") {
  for (const char* name : stored_models) {
    CAPTURE(name);
    StoredCircuits own(name);
    const JsonValue numbers = stored_numbers("gradients", name);
    const SweepEffects frozen = swept(own, {{PatchedPart::heads}, false, true});
    for (std::size_t n = 0; n < frozen.parts[0].patched.size(); ++n) {
      check_stored(frozen.parts[0].patched[n], numbers.find("frozen")->element(n), 1e-10);
    }
  }
}

TEST_CASE("models that see later tokens are swept as a whole") {
  StoredCircuits own("gpt2_bare_names");
  own.folder = own.folder.parent_path() / "bert_pairs";
  own.model = ModelFolder::open(own.folder / "checkpoint", std::nullopt, {});
  own.text.ids = {{5, 6, 7, 8, 9, 10}};
  const SweepEffects effects = swept(own, {{PatchedPart::residual, PatchedPart::heads}, true});
  for (const std::size_t position : {1, 4}) {
    const std::string at = ":" + std::to_string(position);
    CHECK(std::abs(effects.parts[0].patched[0][position] -
                   difference_of_pass(own, "0.residual" + at)) < 1e-12);
    CHECK(std::abs(effects.parts[1].patched[1][position] - difference_of_pass(own, "0.1" + at)) <
          1e-12);
  }
}

TEST_CASE("layers that read the tokens themselves keep those of the text") {
  StoredCircuits own("gpt2_bare_names");
  own.folder = own.folder.parent_path() / "gemma4_layer_inputs";
  own.model = ModelFolder::open(own.folder / "checkpoint", std::nullopt, {});
  own.text.ids = {{5, 6, 7, 8, 9, 10}};
  const SweepEffects effects =
      swept(own, {{PatchedPart::before, PatchedPart::attention, PatchedPart::feed_forward}});
  const std::size_t last = own.model.architecture.stacks.back().layers.size() - 1;
  for (const std::size_t layer : {std::size_t{0}, last}) {
    for (const std::size_t position : {std::size_t{1}, std::size_t{4}}) {
      const std::string at = std::to_string(layer), where = ":" + std::to_string(position);
      CAPTURE(at);
      CAPTURE(where);
      CHECK(std::abs(effects.parts[1].patched[layer][position] -
                     difference_of_pass(own, at + ".attention" + where)) < 1e-12);
      CHECK(std::abs(effects.parts[2].patched[layer][position] -
                     difference_of_pass(own, at + ".feed_forward" + where)) < 1e-12);
    }
  }
}

TEST_CASE("several parts are patched at once, whole attentions and the embedding too") {
  const StoredCircuits own("gpt2_bare_names");
  const auto differs = [&](const std::vector<std::string>& at) {
    StoredCircuits patched = own;
    patched.options.patch = Patch{other_text(own), {}};
    for (const std::string& place : at) {
      patched.options.patch->at.push_back(patch_place(place, own.model.architecture, ""));
    }
    patched.options.wanted.logits = true;
    double difference = 0;
    run_model({own.model.architecture, own.model.weights, own.text, patched.options},
              {{.tensor = [&](const PassTensor& what, const Tensor& logits) {
                if (what.quantity != PassTensor::Quantity::logits) return;
                const auto row = logits.values<double>().last(logits.shape().back());
                difference = row[3] - row[5];
              }}});
    return difference;
  };
  const double all_heads = differs({"1.0", "1.1", "1.2", "1.3"});
  CHECK(std::abs(all_heads - differs({"1.attention"})) < 1e-13);
  CHECK(std::abs(all_heads - differs({"1"})) < 1e-13);
  CHECK(std::abs(all_heads - differs({"1.0"})) > 1e-9);
  CHECK(std::abs(differs({"embedding"}) - own.numbers.find("source")->number()) < 1e-12);
  CHECK(std::abs(differs({"embedding:2"}) -
                 own.numbers.find("sweeps")->find("before")->element(0).element(2).number()) <
        1e-12);
}

TEST_CASE("tokens of a difference that are not named are the likeliest ones") {
  StoredCircuits own("llama_grouped");
  own.options.patch = Patch{other_text(own), {}};
  const SweepEffects both = sweep(own.pass(), {}, {});
  const SweepEffects first = sweep(own.pass(), {}, {std::nullopt, both.tokens[0]});
  CHECK(first.tokens[0] != both.tokens[0]);
  CHECK(first.tokens[1] == both.tokens[0]);
  own.options.patch->ids.pop_back();
  CHECK(error_from([&] { sweep(own.pass(), {}, {}); }) ==
        "the texts have 12 and 11 tokens\n  where: /patch\n  help:  give texts of one length");
}

}  // namespace
}  // namespace attn
