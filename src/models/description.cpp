#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <map>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/model.hpp"

#include "io/json_writer.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "models/weights_check.hpp"
#include "support/count_text.hpp"
#include "support/display_width.hpp"
#include "support/mapped_file.hpp"

namespace attn {
namespace {

ModelFolder open(const CheckpointFolder& folder, const FileAccess& access) {
  return ModelFolder::open(folder.path, folder.architecture, access);
}

/// A fact about a model, for people and for programs.
struct Fact {
  const char* name;
  std::string text;
};

std::string number_text(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%g", number);
  return text.data();
}

// 124 439 808
std::string grouped(std::size_t number) {
  std::string text = std::to_string(number);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, " ");
  return text;
}

std::string positions_text(const Architecture& model, const CheckpointWeights& weights) {
  const auto longest = [&]() -> std::string {
    const StackWeights names(weights, model, model.stacks.front(), find_prefix(weights, model));
    const auto table = names.shape("positions", std::nullopt, "weight");
    if (!table || table->empty() || (*table)[0] <= model.first_position) return "";
    return ", at most " + std::to_string((*table)[0] - model.first_position);
  };
  switch (model.positions) {
    case ModelPositions::none:
      return "none";
    case ModelPositions::learned:
      return "learned" + longest();
    case ModelPositions::sinusoidal:
      return "sinusoidal" + longest();
    case ModelPositions::alibi:
      return "ALiBi";
    case ModelPositions::buckets:
      return "relative, in " + std::to_string(model.buckets.count) + " buckets up to " +
             std::to_string(model.buckets.max_distance);
    case ModelPositions::rotary:
      break;
  }
  std::string text = "rotary";
  for (const ModelLayer& layer : model.stacks.front().layers) {
    if (!layer.rotary) continue;
    const Rotary& rotary = *layer.rotary;
    text += std::string(rotary.interleaved ? " in pairs" : " by halves") + ", " +
            std::to_string(*rotary.width) + " of " + std::to_string(model.head_width) +
            " columns, θ " + number_text(rotary.theta);
    break;
  }
  if (model.made_for) text += ", made for " + std::to_string(*model.made_for);
  return text;
}

const char* norm_text(ModelNorm norm) {
  switch (norm) {
    case ModelNorm::layer:
      return "layer norm";
    case ModelNorm::rms:
      return "RMS norm";
    case ModelNorm::rms_plus_one:
      return "RMS norm, weights counted from 1";
  }
  return "";
}

const char* activation_text(ModelActivation activation) {
  switch (activation) {
    case ModelActivation::relu:
      return "relu";
    case ModelActivation::gelu:
      return "gelu (exact)";
    case ModelActivation::gelu_tanh:
    case ModelActivation::gelu_bloom:
      return "gelu (by tanh)";
    case ModelActivation::quick_gelu:
      return "quick_gelu";
    case ModelActivation::silu:
      return "silu";
  }
  return "";
}

// "causal, 4 of 6 layers see 512 keys"
std::string mask_text_of(const ModelStack& stack) {
  std::map<std::size_t, std::size_t> windows;
  for (const ModelLayer& layer : stack.layers) {
    if (layer.window) ++windows[*layer.window];
  }
  std::string text = stack.causal ? "causal" : "full";
  for (const auto& [size, count] : windows) {
    text += ", " + std::to_string(count) + " of " + count_text(stack.layers.size(), "layer") +
            " with a window of " + count_text(size, "key") +
            (stack.causal ? "" : " on either side");
  }
  return text;
}

// "h.0.attn.bias and 3 more"
std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += (text.empty() ? "" : ", ") + names[i];
  }
  if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

std::size_t parameter_count(const CheckpointWeights& weights,
                            const std::vector<std::string>& ignored) {
  std::size_t count = 0;
  for (const std::string& name : weights.names()) {
    if (std::ranges::count(ignored, name) == 0) count += element_count(weights.shape(name));
  }
  return count;
}

// "float32", or "bfloat16 and float32"
std::string types_text(const CheckpointWeights& weights, const std::vector<std::string>& ignored) {
  std::vector<std::string> types;
  for (const std::string& name : weights.names()) {
    const std::string type = attn::name(weights.type(name));
    if (std::ranges::count(ignored, name) == 0 && std::ranges::count(types, type) == 0) {
      types.push_back(type);
    }
  }
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? "" : " and ") + type;
  return text;
}

std::string head_text(const ModelFolder& folder) {
  if (!has_head(folder.architecture, folder.weights)) return "none: no logits";
  return folder.architecture.tied ? "tied to the token embeddings" : "of its own";
}

std::string tokenizer_text(const ModelFolder& folder) {
  if (!folder.tokenizer) return folder.no_tokenizer->problem();
  return std::string(folder.tokenizer->model()) + ", " + grouped(folder.tokenizer->size()) +
         " tokens";
}

std::vector<Fact> facts_of(const ModelFolder& folder) {
  const Architecture& model = folder.architecture;
  const std::vector<std::string> ignored = check_weights(model, folder.weights);
  std::string layers;
  for (const ModelStack& stack : model.stacks) {
    layers += (layers.empty() ? "" : " + ") + std::to_string(stack.layers.size());
  }
  std::string heads =
      layers + (layers == "1" ? " layer" : " layers") + " × " + count_text(model.heads, "head");
  if (model.kv_heads != model.heads) {
    heads += ", " + count_text(model.kv_heads, "key head");
  }
  std::string mask;
  for (const ModelStack& stack : model.stacks) {
    mask += (mask.empty() ? "" : "; ") + mask_text_of(stack);
  }
  std::vector<Fact> facts{
      {"family", model.family},
      {"layers", heads},
      {"width", std::to_string(model.width) + ", heads " + std::to_string(model.head_width)},
      {"vocabulary", grouped(model.vocabulary) + " tokens"},
      {"positions", positions_text(model, folder.weights)},
      {"norm", std::string(norm_text(model.norm)) + ", ε " + number_text(model.eps)},
      {"activation", activation_text(model.activation)},
      {"mask", mask},
      {"head", head_text(folder)},
      {"tokenizer", tokenizer_text(folder)},
      {"parameters", grouped(parameter_count(folder.weights, ignored)) + ", stored as " +
                         types_text(folder.weights, ignored)}};
  if (!ignored.empty()) facts.push_back({"ignored", names_text(ignored)});
  return facts;
}

template <class Make>
auto described(const CheckpointFolder& folder, const Make& make) {
  return with_whole_files(folder.files,
                          [&](const FileAccess& access) { return make(open(folder, access)); });
}

}  // namespace

std::string model_text(const CheckpointFolder& folder) {
  return described(folder, [&](const ModelFolder& found) {
    std::string text = found.path.string() + "\n";
    for (const Fact& fact : facts_of(found)) {
      text += "  " + padded_right(fact.name, 10) + "  " + fact.text + "\n";
    }
    return text;
  });
}

std::string model_json(const CheckpointFolder& folder) {
  return described(folder, [&](const ModelFolder& found) {
    const Architecture& model = found.architecture;
    const std::vector<std::string> ignored = check_weights(model, found.weights);
    std::string text;
    JsonWriter json([&](std::string_view piece) { text += piece; });
    const auto put = [&](const char* key, const auto& value) {
      json.key(key);
      json.value(value);
    };
    json.begin_object();
    put("folder", std::string_view(found.path.native()));
    put("family", std::string_view(model.family));
    json.key("stacks");
    json.begin_array();
    for (const ModelStack& stack : model.stacks) {
      json.begin_object();
      put("layers", stack.layers.size());
      put("causal", stack.causal);
      put("crosses", stack.crosses);
      json.key("windows");
      json.begin_array();
      for (const ModelLayer& layer : stack.layers) {
        if (layer.window) {
          json.value(*layer.window);
        } else {
          json.null();
        }
      }
      json.end_array();
      json.end_object();
    }
    json.end_array();
    put("heads", model.heads);
    put("key_heads", model.kv_heads);
    put("width", model.width);
    put("head_width", model.head_width);
    put("vocabulary", model.vocabulary);
    put("positions", positions_text(model, found.weights));
    put("norm", norm_text(model.norm));
    put("eps", model.eps);
    put("activation", activation_text(model.activation));
    put("logits", has_head(model, found.weights));
    put("tied", model.tied);
    json.key("tokenizer");
    if (found.tokenizer) {
      json.begin_object();
      put("model", found.tokenizer->model());
      put("tokens", found.tokenizer->size());
      json.end_object();
    } else {
      json.null();
    }
    put("parameters", parameter_count(found.weights, ignored));
    put("stored_as", types_text(found.weights, ignored));
    json.key("ignored");
    json.begin_array();
    for (const std::string& name : ignored) json.value(name);
    json.end_array();
    json.end_object();
    json.finish();
    return text;
  });
}

std::string model_row(const CheckpointFolder& folder) {
  return described(folder, [&](const ModelFolder& found) { return found.row; });
}

Validation validate_model(const CheckpointFolder& folder) {
  Validation validation{folder.path.string(), {}};
  try {
    described(folder, [](const ModelFolder& found) {
      check_weights(found.architecture, found.weights);
      if (found.no_tokenizer && found.no_tokenizer->kind() == ErrorKind::input) {
        throw *found.no_tokenizer;
      }
      return true;
    });
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    validation.problems.push_back(error);
  }
  return validation;
}

}  // namespace attn
