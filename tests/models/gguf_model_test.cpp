#include "models/gguf_model.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "models/architecture.hpp"

namespace attn {
namespace {

/// The bytes of a GGUF file of keys, and of vectors of float32.
class GgufText {
 public:
  explicit GgufText(std::string architecture, std::uint32_t layers = 2)
      : architecture_(std::move(architecture)) {
    add("general.architecture", 8, text(architecture_));
    own("embedding_length", 32U).own("attention.head_count", 4U).own("block_count", layers);
    own("context_length", 64U);
  }

  GgufText& own(const std::string& end, std::uint32_t value) { return add_own(end, 4, raw(value)); }
  GgufText& own(const std::string& end, float value) { return add_own(end, 6, raw(value)); }
  GgufText& own(const std::string& end, bool value) {
    return add_own(end, 7, raw(static_cast<std::uint8_t>(value)));
  }
  GgufText& own(const std::string& end, const char* value) { return add_own(end, 8, text(value)); }
  GgufText& own(const std::string& end, const std::vector<bool>& values) {
    std::string items;
    for (const bool value : values) items += raw(static_cast<std::uint8_t>(value));
    return add_own(end, 9, raw(std::uint32_t{7}) + raw(std::uint64_t{values.size()}) + items);
  }
  GgufText& vector(const std::string& name, const std::vector<float>& values) {
    tensors_ += text(name) + raw(std::uint32_t{1}) + raw(std::uint64_t{values.size()}) +
                raw(std::uint32_t{0}) + raw(std::uint64_t{data_.size()});
    for (const float value : values) data_ += raw(value);
    ++tensor_count_;
    return *this;
  }

  GgufModel model() const {
    auto bytes = std::make_shared<std::string>("GGUF" + raw(std::uint32_t{3}) + raw(tensor_count_) +
                                               raw(key_count_) + keys_ + tensors_);
    bytes->resize((bytes->size() + 31) / 32 * 32);
    *bytes += data_;
    const Gguf file({reinterpret_cast<const std::byte*>(bytes->data()), bytes->size()}, bytes);
    return read_gguf_model(file);
  }
  Architecture architecture() const {
    const GgufModel own = model();
    return read_architecture(own.config, &own.row);
  }
  Rotary rotary(std::size_t layer = 0) const {
    return *architecture().stacks[0].layers[layer].rotary;
  }
  std::string refusal() const {
    return error_from([&] { architecture(); });
  }

 private:
  template <class T>
  static std::string raw(T value) {
    std::string bytes(sizeof value, '\0');
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
  }
  static std::string text(const std::string& characters) {
    return raw(std::uint64_t{characters.size()}) + characters;
  }
  GgufText& add_own(const std::string& end, std::uint32_t type, const std::string& value) {
    return add(architecture_ + "." + end, type, value);
  }
  GgufText& add(const std::string& key, std::uint32_t type, const std::string& value) {
    keys_ += text(key) + raw(type) + value;
    ++key_count_;
    return *this;
  }

  std::string architecture_, keys_, tensors_, data_;
  std::uint64_t key_count_ = 0, tensor_count_ = 0;
};

double linear_factor(const Rotary& rotary) {
  const auto* linear = std::get_if<LinearScaling>(&rotary.scaling);
  return linear == nullptr ? 1 : linear->factor;
}

TEST_CASE("positions of a GGUF file are scaled as llama.cpp scales them") {
  CHECK(GgufText("llama").rotary().scaling.index() == 0);
  // The type is linear where none is named, and an old key has the factor.
  CHECK(linear_factor(GgufText("llama").own("rope.scaling.factor", 4.0F).rotary()) == 4);
  CHECK(linear_factor(GgufText("llama").own("rope.scale_linear", 4.0F).rotary()) == 4);
  CHECK(linear_factor(GgufText("qwen2")
                          .own("rope.scale_linear", 4.0F)
                          .own("rope.scaling.factor", 2.0F)
                          .rotary()) == 2);
  CHECK(GgufText("llama").own("rope.scaling.factor", 0.0F).rotary().scaling.index() == 0);
  CHECK(GgufText("llama")
            .own("rope.scaling.type", "none")
            .own("rope.scaling.factor", 4.0F)
            .rotary()
            .scaling.index() == 0);
}

TEST_CASE("the amplitude of rotations counts in a GGUF file whatever the type is") {
  const auto long_scaling = [](const GgufText& file) {
    const Rotary rotary = file.rotary();
    REQUIRE(std::holds_alternative<LongScaling>(rotary.scaling));
    return std::get<LongScaling>(rotary.scaling);
  };
  const LongScaling alone = long_scaling(GgufText("llama").own("rope.scaling.attn_factor", 1.5F));
  CHECK(alone.amplitude == 1.5);
  CHECK(alone.short_factors == std::vector<double>(4, 1));
  const LongScaling both = long_scaling(
      GgufText("llama").own("rope.scaling.attn_factor", 1.5F).own("rope.scaling.factor", 4.0F));
  CHECK(both.short_factors == std::vector<double>(4, 4));
  // Factors of the frequencies, which the scaling multiplies.
  const GgufText with_factors =
      GgufText("llama").vector("rope_freqs.weight", {1, 2, 3, 4}).own("rope.scaling.factor", 2.0F);
  CHECK(long_scaling(with_factors).long_factors == std::vector<double>{2, 4, 6, 8});
  CHECK(long_scaling(with_factors).amplitude == 1);
  CHECK(with_factors.model().tensors == std::vector<std::string>{"rope_freqs.weight"});
}

TEST_CASE("YaRN of a GGUF file has the bounds and the amplitude that the file says") {
  const auto yarn = [](const GgufText& file) {
    return std::get<YarnScaling>(file.rotary().scaling);
  };
  const auto plain = [] {
    return GgufText("qwen3").own("rope.scaling.type", "yarn").own("rope.scaling.factor", 4.0F);
  };
  CHECK(yarn(plain()).factor == 4);
  CHECK(yarn(plain()).original == 64);
  CHECK(yarn(plain()).beta_fast == 32);
  CHECK_FALSE(yarn(plain()).amplitude);
  CHECK(yarn(plain().own("rope.scaling.original_context_length", 16U)).original == 16);
  CHECK(yarn(plain().own("rope.scaling.yarn_beta_fast", 16.0F)).beta_fast == 16);
  CHECK(yarn(plain().own("rope.scaling.yarn_beta_slow", 2.0F)).beta_slow == 2);
  CHECK(yarn(plain().own("rope.scaling.attn_factor", 2.0F)).amplitude ==
        2 * (1 + 0.1 * std::log(4.0)));
  CHECK(yarn(plain().own("rope.scaling.yarn_attn_factor", 1.5F)).amplitude == 1.5);
}

TEST_CASE("the base of rotations is 10000 where a GGUF file has none, whatever the family's is") {
  CHECK(GgufText("smollm3").rotary().theta == 10000);
  CHECK(GgufText("smollm3").own("rope.freq_base", 500.0F).rotary().theta == 500);
}

TEST_CASE("a GGUF file says whether its model is causal") {
  CHECK(GgufText("qwen3").architecture().stacks[0].causal);
  CHECK_FALSE(GgufText("qwen3").own("attention.causal", false).architecture().stacks[0].causal);
  CHECK_FALSE(GgufText("bert").own("attention.causal", false).architecture().stacks[0].causal);
  CHECK(GgufText("bert").own("attention.causal", true).architecture().stacks[0].causal);
}

TEST_CASE("windows of a GGUF file are in the layers that its pattern names") {
  const auto windows = [](const GgufText& file) {
    std::string shown;
    const Architecture model = file.architecture();
    for (const ModelLayer& layer : model.stacks[0].layers) shown += layer.window ? 'w' : '.';
    return shown;
  };
  const auto gemma = [] { return GgufText("gemma3").own("attention.sliding_window", 8U); };
  CHECK(windows(gemma()) == "ww");
  CHECK(windows(gemma().own("attention.sliding_window_pattern", 2U)) == "w.");
  CHECK(windows(gemma().own("attention.sliding_window_pattern", std::vector{false, true})) == ".w");
  CHECK(windows(GgufText("gemma3").own("attention.sliding_window", 0U)) == "..");
  // OLMo 3 has the name of OLMo 2.
  CHECK(GgufText("olmo2").architecture().family == "olmo2");
  CHECK(GgufText("olmo2").own("attention.sliding_window", 8U).architecture().family == "olmo3");
  CHECK(windows(GgufText("olmo2")
                    .own("attention.sliding_window", 8U)
                    .own("attention.sliding_window_pattern", std::vector{true, false})) == "w.");
}

TEST_CASE("scores of the largest Gemmas are scaled by width over heads, as llama.cpp knows them") {
  const auto scale_of = [](const std::string& architecture, std::uint32_t layers) {
    return GgufText(architecture, layers)
        .own("attention.key_length", 4U)
        .architecture()
        .stacks[0]
        .layers[0]
        .scale;
  };
  CHECK(scale_of("gemma2", 2) == 1 / std::sqrt(4.0));
  CHECK(scale_of("gemma2", 46) == 1 / std::sqrt(8.0));
  CHECK(scale_of("gemma3", 46) == 1 / std::sqrt(4.0));
  CHECK(scale_of("gemma3", 62) == 1 / std::sqrt(8.0));
}

TEST_CASE("keys of a GGUF file that other architectures obey are refused with values that count") {
  struct Refused {
    const char* end;
    const char* help;
  };
  for (const Refused& wanted : std::vector<Refused>{
           {"logit_scale", "logits would stay as they are"},
           {"residual_scale", "branches would be added as they are"},
           {"embedding_scale", "embeddings would stay as they are"},
           {"attn_logit_softcapping", "scores would stay as they are"},
           {"final_logit_softcapping", "logits would stay as they are"},
           {"attention.clamp_kqv", "queries, keys and values would stay as they are"},
           {"attention.scale", "scores would be scaled by the width of a head"},
           {"attention.temperature_scale", "scores would be scaled by the width of a head"},
           {"attention.max_alibi_bias", "the bias of distances would be another"},
           {"attention.shared_kv_layers", "layers would have keys of their own"},
           {"attention.kv_lora_rank", "keys and values would be read as whole ones"},
           {"rope.scaling.yarn_log_multiplier", "positions would be rotated as in training"},
           {"expert_weights_scale", "shares of experts would stay as they are"}}) {
    CAPTURE(wanted.end);
    CHECK(GgufText("llama").own(wanted.end, 0.0F).refusal() == "no error");
    CHECK(GgufText("llama").own(wanted.end, 3.0F).refusal() ==
          std::string("this value is not supported: 3\n  where: llama.") + wanted.end +
              "\n  help:  " + wanted.help);
  }
  CHECK(GgufText("llama").own("attention.value_length", 4U).refusal() ==
        "this value is not supported: 4\n  where: llama.attention.value_length\n"
        "  help:  values as wide as keys are computed");
  CHECK(GgufText("llama").own("rope.scaling.type", "sideways").refusal() ==
        "the scaling of positions \"sideways\" is not known\n  where: llama.rope.scaling.type\n"
        "  help:  known: none, linear, yarn, longrope");
}

TEST_CASE("keys about attention and rotation that nothing reads are a warning, others are not") {
  const GgufModel model = GgufText("llama")
                              .own("attention.speed", 3U)
                              .own("rope.colour", "red")
                              .own("rope.scaling.finetuned", true)
                              .own("feed_forward_length", 64U)
                              .own("pooling_type", 1U)
                              .model();
  CHECK(model.warnings == std::vector<std::string>{"keys of the file are not known and change "
                                                   "nothing: \"llama.attention.speed\", "
                                                   "\"llama.rope.colour\""});
}

TEST_CASE("keys of a GGUF file with values of another type are refused at their place") {
  const auto refused = [](const std::string& key, const std::string& types) {
    return "this key holds " + types + "\n  where: " + key +
           "\n  help:  convert the model again with llama.cpp";
  };
  CHECK(GgufText("llama").own("rope.freq_base", "10000").refusal() ==
        refused("llama.rope.freq_base", "a text, not a number"));
  CHECK(GgufText("llama").own("rope.scaling.factor", true).refusal() ==
        refused("llama.rope.scaling.factor", "true or false, not a number"));
  CHECK(GgufText("llama").own("rope.scaling.type", 1U).refusal() ==
        refused("llama.rope.scaling.type", "a number, not a text"));
  CHECK(GgufText("llama").own("attention.causal", 1U).refusal() ==
        refused("llama.attention.causal", "a number, not true or false"));
  CHECK(GgufText("llama").own("attention.head_count_kv", "two").refusal() ==
        refused("llama.attention.head_count_kv", "a text, not an array of numbers"));
  CHECK(GgufText("llama").own("attention.scale", "much").refusal() ==
        refused("llama.attention.scale", "a text, not a number"));
}

}  // namespace
}  // namespace attn
