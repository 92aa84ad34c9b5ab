#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "models/checkpoint.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "models/recorded_document.hpp"
#include "temporary_folder.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// A model with a text and another one of the same length.
struct PatchCase {
  ModelFolder folder;
  ModelTexts text;
  ModelOptions options;
  std::vector<std::int64_t> other;

  explicit PatchCase(const std::string& name)
      : PatchCase(fs::path(ATTN_TEST_DATA) / "models" / "cases" / name / "input.json", 0) {}

  const Architecture& model() const { return folder.architecture; }

  // The logits at the last position, of the last stack, and another observer of their pass.
  std::vector<double> logits(const ModelOptions& with, const PassObserver& further = {}) const {
    ModelOptions own = with;
    own.wanted.logits = true;
    Tensor all;
    const auto take = [&](const PassTensor& what, const Tensor& numbers) {
      if (what.quantity == PassTensor::Quantity::logits) all = numbers;
    };
    run_model({model(), folder.weights, text, own}, {further, {.tensor = take}});
    const auto row = all.values<double>().last(all.shape().back());
    return {row.begin(), row.end()};
  }
  ModelOptions patched(const std::string& at) const {
    ModelOptions own = options;
    own.patch = Patch{other, {patch_place(at, model(), "")}};
    return own;
  }

 private:
  PatchCase(const fs::path& input, int)
      : folder(ModelFolder::open(
            input.parent_path() /
                parse_json_by_element(read_text(input), 100).find("model")->string(),
            std::nullopt, {})) {
    const JsonValue document = parse_json_by_element(read_text(input), 100);
    text.ids = {id_lists(document.find("token_ids")).front()};
    if (model().encoder_decoder()) {
      text.decoder_ids = {{model().decoder_start_id.value(), 5, 6}};
    }
    other = text.ids.front();
    for (std::size_t i = 0; i + 1 < other.size(); ++i) other[i] = (other[i] + 3) % 20;
    options.dtype = DType::float64;
  }
};

double farthest(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) worst = std::max(worst, std::abs(a[i] - b[i]));
  return worst;
}

TEST_CASE("states of a layer that come from another text make its logits") {
  const PatchCase own("gpt2_bare_names");
  PatchCase other = own;
  other.text.ids = {own.other};
  CHECK(farthest(own.logits(own.options), other.logits(own.options)) > 1e-3);
  for (const char* at : {"0.residual", "1.residual", "2.residual"}) {
    CAPTURE(at);
    CHECK(farthest(own.logits(own.patched(at)), other.logits(own.options)) == 0);
  }
}

TEST_CASE("a part that comes from the same text changes nothing, one of another text does") {
  for (const char* name : {"gpt2_bare_names", "llama_grouped", "gemma2_soft_caps_bf16"}) {
    CAPTURE(name);
    PatchCase own(name);
    const std::vector<double> before = own.logits(own.options);
    for (const char* at : {"1.1", "0.feed_forward", "0.residual", "0.0:1,2"}) {
      CAPTURE(at);
      CHECK(farthest(own.logits(own.patched(at)), before) > 1e-9);
      PatchCase same = own;
      same.other = own.text.ids.front();
      CHECK(farthest(same.logits(same.patched(at)), before) < 1e-12);
    }
  }
}

TEST_CASE("a patched text keeps the types that a model compares") {
  PatchCase typed("xlnet_types_and_distances");
  typed.text.types = {{0, 0, 0, 1, 1, 1, 2, 2, 2}};
  typed.other = typed.text.ids.front();
  const std::vector<double> own = typed.logits(typed.options);
  CHECK(farthest(typed.logits(typed.patched("1.residual")), own) == 0);
  typed.text.types.clear();
  CHECK(farthest(typed.logits(typed.options), own) > 1e-3);
}

TEST_CASE("only the positions that are named are patched") {
  PatchCase own("gpt2_bare_names");
  Tensor states, patched;
  const auto into = [](Tensor& to) {
    return PassObserver{.tensor = [&to](const PassTensor& what, const Tensor& all) {
      if (what.quantity == PassTensor::Quantity::output) to = all;
    }};
  };
  own.logits(own.options, into(states));
  own.logits(own.patched("1.1:2"), into(patched));
  const std::size_t width = states.shape().back();
  const auto differs = [&](std::size_t position) {
    const auto a = states.values<double>().subspan(position * width, width),
               b = patched.values<double>().subspan(position * width, width);
    return !std::equal(a.begin(), a.end(), b.begin());
  };
  CHECK(!differs(0));
  CHECK(!differs(1));
  CHECK(differs(2));
}

TEST_CASE("heads that are off by their means write the mean of all tokens at each of them") {
  PatchCase own("llama_grouped");
  const auto outputs_of = [&](const ModelOptions& options) {
    Tensor outputs;
    own.logits(options,
               {.places = {{.layer = 1}},
                .written = [&](const SamplePlace&, const Tensor& numbers) { outputs = numbers; }});
    return outputs;
  };
  const Tensor before = outputs_of(own.options);
  ModelOptions options = own.options;
  options.heads_off = {{.layer = 1, .head = 2}};
  options.ablation = Ablation::mean;
  const Tensor after = outputs_of(options);
  const std::size_t row = before.shape().back(), width = row / own.model().heads,
                    length = before.shape()[1];
  for (std::size_t k = 0; k < row; ++k) {
    double mean = 0;
    for (std::size_t i = 0; i < length; ++i) {
      mean += before.values<double>()[i * row + k] / static_cast<double>(length);
    }
    for (std::size_t i = 0; i < length; ++i) {
      const bool off = k / width == 2;
      CHECK(std::abs(after.values<double>()[i * row + k] -
                     (off ? mean : before.values<double>()[i * row + k])) < 1e-14);
    }
  }
  // Other than zeros.
  const std::vector<double> by_means = own.logits(options);
  options.ablation = Ablation::zero;
  CHECK(farthest(own.logits(options), by_means) > 1e-9);
}

TEST_CASE("a feed-forward that is off adds zeros, or its mean over all tokens") {
  PatchCase own("gpt2_bare_names");
  const auto added_by = [&](const ModelOptions& options) {
    Tensor added;
    own.logits(options,
               {.places = {{.layer = 1, .part = ModelPlace::Part::feed_forward}},
                .written = [&](const SamplePlace&, const Tensor& numbers) { added = numbers; }});
    return added;
  };
  const Tensor before = added_by(own.options);
  ModelOptions options = own.options;
  options.heads_off = {{.layer = 1, .part = ModelPlace::Part::feed_forward},
                       {.layer = 1, .head = 0}};
  const Tensor zeros = added_by(options);
  for (const double x : zeros.values<double>()) CHECK(x == 0);
  options.heads_off.pop_back();
  options.ablation = Ablation::mean;
  const Tensor means = added_by(options);
  const std::size_t row = before.shape().back(), length = before.shape()[1];
  for (std::size_t k = 0; k < row; ++k) {
    double mean = 0;
    for (std::size_t i = 0; i < length; ++i) {
      mean += before.values<double>()[i * row + k] / static_cast<double>(length);
    }
    for (std::size_t i = 0; i < length; ++i) {
      CHECK(std::abs(means.values<double>()[i * row + k] - mean) < 1e-13);
    }
  }
}

TEST_CASE("places of patches are read, and what they cannot be is named") {
  const PatchCase own("gpt2_bare_names");
  const auto place = [&](const std::string& text) { return patch_place(text, own.model(), "at"); };
  CHECK(place("2.3").head == 3);
  CHECK(place("2.feed_forward").part == ModelPlace::Part::feed_forward);
  CHECK(place("1.residual:0,4").positions == std::vector<std::size_t>{0, 4});
  CHECK(place("1.attention:2") == ModelPlace{.layer = 1, .positions = {2}});
  CHECK(place("embedding").part == ModelPlace::Part::embedding);
  CHECK(error_from([&] { place("bias"); }) ==
        "\"bias\" names no part of the model\n  where: at\n  help:  name a head, an attention, a "
        "feed-forward or states, such as 2.1, 2.attention, 2.feed_forward, 2.residual or "
        "embedding, and the positions after a colon: 2.1:3,4");
  const auto refused = [&](const std::string& text, const std::string& help) {
    CHECK(error_from([&] { place(text); }) ==
          "\"" + text + "\" names no part of the model\n  where: at\n  help:  " + help);
  };
  refused("blocks.2.hook_resid_pre", "write 1.residual");
  refused("blocks.0.hook_resid_pre:3", "write embedding:3");
  refused("blocks.2.hook_resid_post:3,4", "write 2.residual:3,4");
  refused("blocks.1.hook_attn_out", "write 1.attention");
  refused("blocks.1.hook_mlp_out", "write 1.feed_forward");
  refused("transformer.h.1.attn", "write 1.attention");
  refused("model.layers.1.mlp:3", "write 1.feed_forward:3");
  refused("1.mlp", "write 1.feed_forward");
  refused("1.attn", "write 1.attention");
  refused("encoder.layer.1.intermediate.dense", "write 1.feed_forward");
  refused("transformer.h.1", "write 1.residual");
  refused("transformer.wte", "write embedding");
  refused("all",
          "parts are patched one after the other by HeadsOptions::sweep of attn-cli heads, without "
          "DocumentOptions::patch_at");
  refused("2.1:x", "give positions after the colon, from 0: 2.1:3,4");
  refused("2.1:3-5", "write 2.1:3,4,5");
  refused("2.residual:3:5", "write 2.residual:3,4,5");
  refused("2.0,1.3",
          "give each place with a flag of its own: DocumentOptions::patch_at 2.0 "
          "DocumentOptions::patch_at 1.3");
  refused("2.0.q",
          "queries, keys, values and patterns of heads are patched one after the other: "
          "HeadsOptions::sweep of attn-cli heads, without DocumentOptions::patch_at");
  CHECK(error_from([&] { place("3.1"); }) ==
        "there is no layer 3: the model has 3 layers\n  where: at\n  help:  give 0 to 2");
  CHECK(error_from([&] { place("2.4"); }) ==
        "there is no head 4: each layer has 4 heads\n  where: at\n  help:  give 0 to 3");
  const PatchCase both("t5_relu_tied");
  CHECK(patch_place("cross.0.2", both.model(), "at").crosses());
  CHECK(error_from([&] { patch_place("decoder.block.0.EncDecAttention", both.model(), "at"); }) ==
        "\"decoder.block.0.EncDecAttention\" names no part of the model\n  where: at\n"
        "  help:  write cross.0.attention");
  CHECK(patch_place("encoder.0.residual", both.model(), "at").stack == ModelPlace::Stack::encoder);
  PatchCase longer("gpt2_bare_names");
  longer.other.push_back(1);
  const std::string lengths =
      std::to_string(longer.text.ids[0].size()) + " and " + std::to_string(longer.other.size());
  CHECK(error_from([&] { longer.logits(longer.patched("1.1")); }) ==
        "the texts have " + lengths +
            " tokens\n  where: /patch\n  help:  give texts of one "
            "length, or the positions that are patched");
  longer.logits(longer.patched("1.1:0"));
}

TEST_CASE("means are taken over other texts, and at each position") {
  const PatchCase own("gpt2_bare_names");
  const ModelPlace head = ModelPlace::parse("1.2").value();
  const std::vector<std::int64_t> shorter(own.other.begin(), own.other.end() - 2);
  // Heads' outputs [L,d] of both texts.
  std::vector<std::vector<double>> rows;
  ModelTexts both = own.text;
  both.ids = {own.other, shorter};
  const std::size_t heads = own.model().heads;
  run_model({own.model(), own.folder.weights, both, own.options},
            {{.places = {head.whole()}, .written = [&](const SamplePlace&, const Tensor& outputs) {
                const Tensor numbers = outputs.converted(DType::float64);
                const std::size_t width = numbers.shape().back(), each = width / heads;
                for (std::size_t at = 2 * each; at < numbers.size(); at += width) {
                  const double* from = numbers.values<double>().data() + at;
                  rows.emplace_back(from, from + each);
                }
              }}});
  const std::size_t length = own.other.size();
  REQUIRE(rows.size() == 2 * length - 2);
  for (const bool by_position : {false, true}) {
    CAPTURE(by_position);
    ModelOptions off = own.options;
    off.heads_off = {head};
    off.ablation = by_position ? Ablation::mean_by_position : Ablation::mean;
    off.reference = both.ids;
    std::vector<double> written;
    own.logits(
        off, {.places = {head.whole()}, .written = [&](const SamplePlace&, const Tensor& outputs) {
                const Tensor numbers = outputs.converted(DType::float64);
                const auto all = numbers.values<double>();
                written.assign(all.begin(), all.end());
              }});
    const std::size_t each = rows[0].size(), width = each * heads;
    for (std::size_t i = 0; i < length; ++i) {
      for (std::size_t k = 0; k < each; ++k) {
        double sum = 0, count = 0;
        for (std::size_t n = 0; n < rows.size(); ++n) {
          if (by_position && n % length != i) continue;
          sum += rows[n][k];
          ++count;
        }
        CHECK(std::abs(written[i * width + 2 * each + k] - sum / count) < 1e-14);
      }
    }
  }
  ModelOptions off = own.options;
  off.heads_off = {head};
  off.ablation = Ablation::mean_by_position;
  off.reference = {shorter};
  CHECK(error_from([&] { own.logits(off); }) ==
        "the texts of the means have " + std::to_string(length - 2) + " tokens, and a text has " +
            std::to_string(length) +
            "\n  where: /ablate_over\n  help:  give one that is as long, or take means over all "
            "tokens");
}

}  // namespace
}  // namespace attn
