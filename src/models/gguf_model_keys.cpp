#include <algorithm>
#include <array>

#include "attn/error.hpp"

#include "models/gguf_model.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

/// A key that changes what llama.cpp computes for some architectures, and is read for no other.
struct OtherArchitecturesKey {
  std::string_view end;
  const char* wrong;   ///< what would be computed wrongly, marked for translated()
  double neutral = 0;  ///< a number besides 0 that changes nothing
};

constexpr const char* scaled_wrongly =
    to_translate("scores would be scaled by the width of a head");
constexpr const char* as_projected =
    to_translate("queries, keys and values would stay as they are");
constexpr const char* turned_as_trained = to_translate("positions would be rotated as in training");
constexpr const char* shares_as_they_are = to_translate("shares of experts would stay as they are");
constexpr const char* read_as_whole = to_translate("keys and values would be read as whole ones");

constexpr auto other_architectures_keys = std::to_array<OtherArchitecturesKey>(
    {{"logit_scale", to_translate("logits would stay as they are"), 1},
     {"residual_scale", to_translate("branches would be added as they are"), 1},
     {"embedding_scale", to_translate("embeddings would stay as they are"), 1},
     {"attn_logit_softcapping", to_translate("scores would stay as they are")},
     {"final_logit_softcapping", to_translate("logits would stay as they are")},
     {"attention.clamp_kqv", as_projected},
     {"attention.scale", scaled_wrongly},
     {"attention.output_scale", scaled_wrongly, 1},
     {"attention.temperature_scale", scaled_wrongly},
     {"attention.temperature_length", scaled_wrongly},
     {"attention.max_alibi_bias", to_translate("the bias of distances would be another"), 8},
     {"attention.shared_kv_layers", to_translate("layers would have keys of their own")},
     {"attention.kv_lora_rank", read_as_whole},
     {"attention.q_lora_rank", read_as_whole},
     {"rope.scaling.yarn_ext_factor", turned_as_trained, 1},
     {"rope.scaling.yarn_log_multiplier", turned_as_trained},
     {"rope.scaling.alpha", turned_as_trained, 1},
     {"expert_shared_count", shares_as_they_are},
     {"expert_group_count", shares_as_they_are, 1},
     {"expert_weights_scale", shares_as_they_are, 1}});

constexpr auto inert_keys = std::to_array<std::string_view>(
    {"rope.scaling.finetuned", "rope.dimension_sections", "attention.group_norm_epsilon",
     "attention.group_norm_groups"});

}  // namespace

bool GgufKeys::has(std::string_view end) {
  const bool there = file_.has(key(end));
  if (there) read_.insert(key(end));
  return there;
}

std::optional<double> GgufKeys::number(std::string_view end) {
  return has(end) ? file_.number(key(end)) : std::nullopt;
}

std::optional<bool> GgufKeys::boolean(std::string_view end) {
  return has(end) ? file_.boolean(key(end)) : std::nullopt;
}

std::optional<std::string> GgufKeys::text(std::string_view end) {
  if (!has(end)) return std::nullopt;
  return std::string(*file_.text(key(end)));
}

std::vector<double> GgufKeys::numbers(std::string_view end) {
  return has(end) ? file_.numbers(key(end)) : std::vector<double>();
}

double GgufKeys::needed(std::string_view end) {
  if (const auto value = number(end)) return *value;
  throw input_error(translated("the file has no number under this key"), key(end),
                    translated("the model cannot be described without it: convert it again"));
}

std::optional<double> GgufKeys::same_number(std::string_view end) {
  const std::vector<double> all = numbers(end);
  if (all.empty()) return std::nullopt;
  if (std::ranges::count(all, all.front()) != static_cast<std::ptrdiff_t>(all.size())) {
    throw input_error(translated("the layers have different sizes"), key(end),
                      translated("layers of one size are computed"));
  }
  return all.front();
}

std::vector<std::string> GgufKeys::check_unread() const {
  std::vector<std::string> unknown;
  for (const std::string& name : file_.keys()) {
    if (!name.starts_with(architecture_ + ".") || read_.contains(name)) continue;
    const std::string_view end = std::string_view(name).substr(architecture_.size() + 1);
    const auto refused =
        std::ranges::find(other_architectures_keys, end, &OtherArchitecturesKey::end);
    if (refused != other_architectures_keys.end()) {
      const double given = *file_.number(name);
      if (given == 0 || given == refused->neutral) continue;
      throw input_error(translated("this value is not supported: {1}", number_text(given)), name,
                        translated(refused->wrong));
    }
    const bool counts = end.starts_with("attention.") || end.starts_with("rope.");
    if (counts && std::ranges::count(inert_keys, end) == 0) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace attn
