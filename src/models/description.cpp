#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/model.hpp"

#include "io/json_writer.hpp"
#include "models/checkpoint.hpp"
#include "models/classification.hpp"
#include "models/model_folder.hpp"
#include "models/pass.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

ModelFolder open(const CheckpointFolder& folder, const FileAccess& access) {
  return ModelFolder::open(model_path(folder.path.string(), {}, access), folder.architecture,
                           access);
}

/// A fact about a model, for people and for programs.
struct Fact {
  const char* name;
  std::string text;
};

// "terms with contents, distances up to 512 in 256 buckets on either side"
std::string terms_text(const ModelDisentangled& terms) {
  const DistanceRows& distances = terms.distances;
  if (terms.sinusoidal) {
    return terms.clamp == 0
               ? translated("terms with contents, sinusoidal distances")
               : translated("terms with contents, sinusoidal distances up to {1}", terms.clamp);
  }
  return distances.buckets == 0
             ? translated("terms with contents, distances up to {1}", distances.max_distance)
             : translated("terms with contents, distances up to {1} in {2} buckets on either side",
                          distances.max_distance, distances.buckets);
}

std::string positions_text(const Architecture& model, const CheckpointWeights& weights) {
  const auto longest = [&]() -> std::string {
    const StackWeights names(weights, model, model.stacks.front());
    const auto table = names.shape(WeightPurpose::positions, std::nullopt, "weight");
    if (!table || table->empty() || (*table)[0] <= model.first_position) return "";
    return translated(", at most {1}", (*table)[0] - model.first_position);
  };
  const auto in_buckets = [&] {
    return translated("relative, in {1} buckets up to {2}", model.buckets.count,
                      model.buckets.max_distance);
  };
  switch (model.positions) {
    case ModelPositions::none:
      if (model.stacks.front().names.contains(WeightPurpose::patch_bias)) {
        return translated("relative, by distances of patches in rows and columns");
      }
      return model.disentangled ? terms_text(*model.disentangled) : translated("none");
    case ModelPositions::learned:
      // MPNet has both.
      return translated("learned") + longest() +
             (model.stacks.front().names.contains(WeightPurpose::buckets) ? "; " + in_buckets()
                                                                          : "") +
             (model.disentangled ? "; " + terms_text(*model.disentangled) : "");
    case ModelPositions::sinusoidal:
    case ModelPositions::sinusoidal_closed:
      return translated("sinusoidal") + longest();
    case ModelPositions::alibi:
      return "ALiBi";
    case ModelPositions::buckets:
      return in_buckets();
    case ModelPositions::patch_rotary:
      return translated("rotary, by rows and columns of patches, θ {1}",
                        with_digits(model.stacks.front().layers.front().rotary->theta, 6));
    case ModelPositions::rotary:
      break;
  }
  std::string text = translated("rotary");
  for (const ModelLayer& layer : model.stacks.front().layers) {
    if (!layer.rotary) continue;
    const Rotary& rotary = *layer.rotary;
    text += translated(rotary.interleaved ? to_translate(" in pairs, {1} of {2} columns, θ {3}")
                                          : to_translate(" by halves, {1} of {2} columns, θ {3}"),
                       *rotary.width, model.head_width, with_digits(rotary.theta, 6));
    break;
  }
  if (model.made_for) text += translated(", made for {1}", *model.made_for);
  return text;
}

const char* norm_text(const Architecture& model) {
  if (model.norm == NormKind::layer) {
    if (model.norms_bare) return to_translate("layer norm without weights");
    return model.norm_weights_from_one ? to_translate("layer norm, weights counted from 1")
                                       : to_translate("layer norm");
  }
  return model.norm_weights_from_one ? to_translate("RMS norm, weights counted from 1")
                                     : to_translate("RMS norm");
}

const char* activation_text(const Architecture& model) {
  if (model.stacks.front().names.contains(WeightPurpose::xielu_positive)) return "xielu";
  switch (model.activation) {
    case Activation::relu:
      return "relu";
    case Activation::relu_squared:
      return "relu2";
    case Activation::gelu:
      return to_translate("gelu (exact)");
    case Activation::gelu_tanh:
    case Activation::gelu_bloom:
      return to_translate("gelu (by tanh)");
    case Activation::quick_gelu:
      return "quick_gelu";
    case Activation::silu:
      return "silu";
  }
  return "";
}

std::string layers_text(std::size_t count) {
  return translated_count(count, "{1} layer", "{1} layers");
}

// "causal, 4 of 6 layers see 512 keys"
std::string mask_text_of(const ModelStack& stack) {
  std::map<std::size_t, std::size_t> windows, chunks;
  for (const ModelLayer& layer : stack.layers) {
    if (layer.window) ++windows[*layer.window];
    if (layer.chunk) ++chunks[*layer.chunk];
  }
  std::string text = stack.causal ? translated("causal") : translated("full");
  if (const auto& patches = stack.layers.front().patches) {
    text = translated("windows of {1} × {1} patches, every second layer's shifted", patches->side);
  }
  for (const auto& [size, count] : windows) {
    text += translated(
        stack.causal ? to_translate(", {1} of {2} with a window of {3}")
                     : to_translate(", {1} of {2} with a window of {3} on either side"),
        count, layers_text(stack.layers.size()), translated_count(size, "{1} key", "{1} keys"));
  }
  for (const auto& [size, count] : chunks) {
    text += translated(", {1} of {2} in chunks of {3}", count, layers_text(stack.layers.size()),
                       translated_count(size, "{1} key", "{1} keys"));
  }
  const auto mapped = std::ranges::count_if(stack.layers, &ModelLayer::has_map);
  if (const std::size_t without = stack.layers.size() - static_cast<std::size_t>(mapped)) {
    text += translated(", {1} of {2} without attention weights, and so a map", without,
                       layers_text(stack.layers.size()));
  }
  return text;
}

// A name as what stands before and behind its first part that is a number.
struct NumberedName {
  std::string before, after;
  std::optional<std::size_t> number = {};
};

NumberedName numbered_name(const std::string& name) {
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find('.', at), name.size());
    std::size_t number = 0;
    const auto read = std::from_chars(name.data() + at, name.data() + end, number);
    if (end > at && read.ec == std::errc() && read.ptr == name.data() + end) {
      return {name.substr(0, at), name.substr(end), number};
    }
    at = end + 1;
  }
  return {name, ""};
}

// "0–3/7"
std::string numbers_text(std::vector<std::size_t> numbers) {
  std::ranges::sort(numbers);
  std::string text;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const std::size_t first = i;
    while (i + 1 < numbers.size() && numbers[i + 1] == numbers[i] + 1) ++i;
    text += (first == 0 ? "" : "/") + std::to_string(numbers[first]);
    if (i > first) text += "–" + std::to_string(numbers[i]);
  }
  return text;
}

// All names in order, those that differ in that number as one: "h.0–11.attn.bias, score.weight".
std::string names_text(const std::vector<std::string>& names) {
  std::vector<std::pair<std::string, std::string>> all;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> numbers;
  for (const std::string& name : names) {
    const NumberedName own = numbered_name(name);
    const auto [alike, is_first] = numbers.try_emplace({own.before, own.after});
    if (is_first) all.push_back(alike->first);
    if (own.number) alike->second.push_back(*own.number);
  }
  std::string text;
  for (const auto& own : all) {
    text += (text.empty() ? "" : name_separator()) + own.first + numbers_text(numbers.at(own)) +
            own.second;
  }
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
    const std::string type = weights.stored_type(name);
    if (std::ranges::count(ignored, name) == 0 && std::ranges::count(types, type) == 0) {
      types.push_back(type);
    }
  }
  std::string text;
  for (const std::string& type : types) text += (text.empty() ? "" : translated(" and ")) + type;
  return text;
}

std::string head_text(const ModelFolder& folder) {
  if (has_classifier(folder.architecture, folder.weights)) {
    const std::size_t classes = Classifier::read(folder.architecture, folder.weights).classes();
    return translated_count(classes, "{2}, {1} class", "{2}, {1} classes",
                            folder.architecture.classifier->name);
  }
  if (!has_head(folder.architecture, folder.weights)) return translated("none: no logits");
  return folder.architecture.tied ? translated("tied to the token embeddings")
                                  : translated("of its own");
}

std::string tokenizer_text(const ModelFolder& folder) {
  if (!folder.tokenizer) return folder.no_tokenizer->problem();
  return translated("{1}, {2} tokens", folder.tokenizer->model(),
                    grouped(folder.tokenizer->size()));
}

// What `text` makes of the first layer of each stage, "96, 192, 384".
std::string by_stages(const ModelStack& stack,
                      const std::function<std::string(const ModelLayer&)>& text) {
  std::string all;
  std::optional<std::size_t> last;
  for (const ModelLayer& layer : stack.layers) {
    if (layer.mergings == last) continue;
    last = layer.mergings;
    all += (all.empty() ? "" : name_separator()) + text(layer);
  }
  return all;
}

// "26 layers × 8 heads, 4 key heads"
std::string heads_text(const Architecture& model, const std::string& layers) {
  const bool one_layer = layers == "1";
  std::string heads =
      translated(one_layer ? to_translate("{1} layer × {2}") : to_translate("{1} layers × {2}"),
                 layers, translated_count(model.heads, "{1} head", "{1} heads"));
  if (model.kv_heads != model.heads) {
    heads += translated(", {1}", translated_count(model.kv_heads, "{1} key head", "{1} key heads"));
  }
  return heads;
}

std::string width_text(const Architecture& model) {
  return translated("{1}, {2} per head", model.width, model.head_width);
}

std::vector<Fact> facts_of(const ModelFolder& folder) {
  const Architecture& model = folder.architecture;
  const std::vector<std::string> ignored = check_weights(model, folder.weights);
  std::string layers, heads, width, mask;
  for (const ModelStack& stack : model.stacks) {
    layers += (layers.empty() ? "" : " + ") + std::to_string(stack.layers.size());
    // The encoder, if it has sizes of its own.
    if (&model.of(stack) == &model) continue;
    heads = heads_text(model.of(stack), std::exchange(layers, "")) + translated("; ");
    width = width_text(model.of(stack)) + translated("; ");
  }
  if (const ModelStack& first = model.stacks.front(); first.staged) {
    heads = translated(
        "{1} layers in stages of {2}, heads {3}", layers,
        by_stages(first,
                  [&](const ModelLayer& layer) {
                    return std::to_string(
                        std::ranges::count(first.layers, layer.mergings, &ModelLayer::mergings));
                  }),
        by_stages(first, [](const ModelLayer& layer) { return std::to_string(layer.heads); }));
    width = translated(
        "{1}, {2} per head",
        by_stages(first, [](const ModelLayer& layer) { return std::to_string(layer.width); }),
        by_stages(first, [](const ModelLayer& layer) { return std::to_string(layer.head_width); }));
  } else {
    heads += heads_text(model, layers);
    width += width_text(model);
  }
  for (const ModelStack& stack : model.stacks) {
    mask += (mask.empty() ? "" : translated("; ")) + mask_text_of(stack);
  }
  std::vector<Fact> facts{
      {to_translate("family"), model.family},
      {to_translate("layers"), heads},
      {to_translate("width"), width},
      model.sound
          ? Fact{to_translate("sound"),
                 translated("{1} bands, {2} tokens; {3} tokens of texts", model.sound->bands,
                            model.sound->positions, grouped(model.vocabulary))}
      : model.vision
          ? Fact{to_translate("pictures"),
                 translated("{1} × {1} pixels, patches of {2} × {2}",
                            model.vision->side * model.vision->patch, model.vision->patch)}
          : Fact{to_translate("vocabulary"), translated("{1} tokens", grouped(model.vocabulary))},
      {to_translate("positions"), positions_text(model, folder.weights)},
      {to_translate("norm"),
       translated("{1}, ε {2}", translated(norm_text(model)), with_digits(model.eps, 6))},
      {to_translate("activation"), translated(activation_text(model))},
      {to_translate("mask"), mask},
      {to_translate("head"), head_text(folder)},
      {to_translate("tokenizer"), tokenizer_text(folder)},
      {to_translate("parameters"),
       translated("{1}, stored as {2}", grouped(parameter_count(folder.weights, ignored)),
                  types_text(folder.weights, ignored))}};
  if (!folder.weights.within().empty()) {
    facts.push_back({to_translate("within"), folder.weights.within()});
  }
  if (!ignored.empty()) facts.push_back({to_translate("ignored"), names_text(ignored)});
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
      text += "  " + padded_right(translated(fact.name), 10) + "  " + fact.text + "\n";
    }
    return text;
  });
}

std::string model_json(const CheckpointFolder& folder) {
  return described(folder, [&](const ModelFolder& found) {
    const Architecture& model = found.architecture;
    const std::vector<std::string> ignored = check_weights(model, found.weights);
    return json_text([&](JsonWriter& json) {
      const InEnglish english(true);  // programs read it
      json.begin_object();
      json.member("folder", std::string_view(found.path.native()));
      json.member("family", std::string_view(model.family));
      json.objects("stacks", model.stacks, [&](const ModelStack& stack) {
        json.member("layers", stack.layers.size());
        json.member("causal", stack.causal);
        json.member("crosses", stack.crosses);
        json.member("heads", model.of(stack).heads);
        json.member("key_heads", model.of(stack).kv_heads);
        json.member("width", model.of(stack).width);
        json.array("windows", stack.layers,
                   [&](const ModelLayer& layer) { json.value(layer.window); });
        json.array("maps", stack.layers,
                   [&](const ModelLayer& layer) { json.value(layer.has_map()); });
        if (!stack.staged) return;
        json.array("layer_heads", stack.layers,
                   [&](const ModelLayer& layer) { json.value(layer.heads); });
        json.array("layer_widths", stack.layers,
                   [&](const ModelLayer& layer) { json.value(layer.width); });
      });
      json.member("heads", model.heads);
      json.member("key_heads", model.kv_heads);
      json.member("width", model.width);
      json.member("head_width", model.head_width);
      json.member("vocabulary", model.vocabulary);
      json.member("positions", positions_text(model, found.weights));
      json.member("norm", norm_text(model));
      json.member("eps", model.eps);
      json.member("activation", activation_text(model));
      json.member("logits", has_head(model, found.weights));
      json.member("tied", model.tied);
      if (found.tokenizer) {
        json.object("tokenizer", [&] {
          json.member("model", found.tokenizer->model());
          json.member("tokens", found.tokenizer->size());
        });
      } else {
        json.member("tokenizer", std::optional<bool>());
      }
      json.member("parameters", parameter_count(found.weights, ignored));
      json.member("stored_as", types_text(found.weights, ignored));
      if (!found.weights.within().empty()) {
        json.member("within", std::string_view(found.weights.within()));
      }
      json.member("ignored", ignored);
      json.end_object();
    });
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
