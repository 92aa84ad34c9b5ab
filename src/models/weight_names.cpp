#include <algorithm>
#include <array>
#include <utility>

#include "attn/error.hpp"

#include "models/checkpoint.hpp"
#include "support/printable.hpp"
#include "support/reader_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string numbered(std::string text, std::string_view place, std::size_t number) {
  const std::size_t at = text.find(place);
  return at == std::string::npos ? text : text.replace(at, place.size(), std::to_string(number));
}
// {n} is the layer's number; {g} that of the group whose weights it has, or of its stage, {i} its
// own within a layer of several, or a stage.
std::string of_layer(std::string text, const ModelStack& stack, std::size_t layer) {
  if (stack.staged) {
    const std::size_t stage = stack.layers[layer].mergings;
    const auto first = std::ranges::find(stack.layers, stage, &ModelLayer::mergings);
    text = numbered(std::move(text), "{g}", stage);
    return numbered(std::move(text), "{i}",
                    layer - static_cast<std::size_t>(first - stack.layers.begin()));
  }
  if (text.find("{g}") != std::string::npos) {
    const double outer = static_cast<double>(stack.layers.size() / stack.inner);
    const double group =
        static_cast<double>(layer / stack.inner) / (outer / static_cast<double>(stack.groups));
    text = numbered(std::move(text), "{g}", static_cast<std::size_t>(group));
    text = numbered(std::move(text), "{i}", layer % stack.inner);
  }
  return numbered(std::move(text), "{n}", layer);
}

// The names of a part of a tensor in files: norms of the first BERTs have gamma and beta, and some
// tensors have no parts.
std::vector<std::string> spellings(const std::string& name, std::string_view part) {
  if (part == "weight") return {name + ".weight", name + ".gamma", name};
  if (part == "bias") return {name + ".bias", name + ".beta"};
  return {name + std::string(part)};
}

// Parts that the classes of whole models have beside the head that gives logits.
bool is_side_part(std::string_view name) {
  constexpr std::array<std::string_view, 5> parts{"pooler.", "seq_relationship.", "sop_classifier.",
                                                  "mask_token", "mask_emb"};
  return std::ranges::any_of(parts,
                             [&](std::string_view part) { return name.find(part) != name.npos; });
}

}  // namespace

std::optional<std::string> StackWeights::found(WeightPurpose purpose,
                                               std::optional<std::size_t> layer, const char* part,
                                               std::optional<std::size_t> expert) const {
  const auto names = stack_.names.find(purpose);
  if (names == stack_.names.end()) return std::nullopt;
  const auto layer_name = stack_.names.find(WeightPurpose::layer);
  for (std::string own : names->second) {
    if ((own.find("{e}") != std::string::npos) != expert.has_value()) continue;
    if (expert) own = numbered(std::move(own), "{e}", *expert);
    if (layer) own = of_layer(std::move(own), stack_, *layer);
    std::vector<std::string> bases{prefix_ + stack_.prefix, prefix_};
    for (std::string& base : bases) {
      if (layer && layer_name != stack_.names.end()) {
        base += of_layer(layer_name->second.front(), stack_, *layer);
      }
      for (const std::string& name : spellings(base + own, part)) {
        if (weights_.has(name)) return name;
      }
    }
  }
  return std::nullopt;
}

Tensor StackWeights::find(WeightPurpose purpose, std::optional<std::size_t> layer,
                          const char* part) const {
  const auto name = found(purpose, layer, part);
  return name ? weights_.read(*name) : Tensor();
}

std::optional<Shape> StackWeights::shape(WeightPurpose purpose, std::optional<std::size_t> layer,
                                         const char* part) const {
  const auto name = found(purpose, layer, part);
  return name ? std::optional(weights_.shape(*name)) : std::nullopt;
}

StackWeights::StackWeights(const CheckpointWeights& weights, const Architecture& model,
                           const ModelStack& stack)
    : StackWeights(weights, model, stack, find_prefix(weights, model)) {}

bool StackWeights::has(WeightPurpose purpose, std::optional<std::size_t> layer) const {
  return found(purpose, layer, "weight").has_value();
}

bool StackWeights::has(WeightPurpose purpose, std::optional<std::size_t> layer,
                       std::size_t part_of_layer) const {
  return found(purpose, layer, "weight", part_of_layer).has_value();
}

std::string StackWeights::layer_prefix(std::size_t layer) const {
  const auto names = stack_.names.find(WeightPurpose::layer);
  return prefix_ + stack_.prefix +
         (names == stack_.names.end() ? "" : of_layer(names->second.front(), stack_, layer));
}

std::string StackWeights::name(WeightPurpose purpose, std::optional<std::size_t> layer) const {
  const auto names = stack_.names.find(purpose);
  const std::string base = layer ? layer_prefix(*layer) : prefix_ + stack_.prefix;
  std::string own = names == stack_.names.end()
                        ? std::string(weight_purposes[static_cast<std::size_t>(purpose)])
                        : names->second.front();
  return base + (layer ? of_layer(std::move(own), stack_, *layer) : own);
}

StoredLinear StackWeights::linear(WeightPurpose purpose, std::size_t layer) const {
  const auto weight = found(purpose, layer, "weight");
  if (!weight) {
    const std::string wanted = name(purpose, layer) + ".weight";
    const std::vector<std::string_view> known(weights_.names().begin(), weights_.names().end());
    throw input_error(translated("the weights have no tensor {1}", in_quotes(wanted)),
                      weights_.place(), suggestion(wanted, known));
  }
  const Shape& shape = weights_.shape(*weight);
  if (shape.size() != (model_.has_heads_apart(purpose) ? 3 : 2)) {
    throw input_error(translated("{1} {2} is not a matrix", *weight, text(shape)), weights_.place(),
                      translated("the weights do not fit the configuration"));
  }
  const StoredLinear own(weights_.matrix(*weight, model_.stores_transposed(purpose)),
                         find(purpose, layer, "bias"));
  const auto factor = model_.factors.find(purpose);
  return factor == model_.factors.end() ? own
                                        : own.times(factor->second.input, factor->second.output);
}

void refuse_shape(const CheckpointWeights& weights, const std::string& name, const Shape& shape,
                  const Shape& expected, const std::string& help) {
  std::string sizes;
  for (const std::size_t size : expected) {
    sizes += (sizes.empty() ? "" : ",") + (size == 0 ? "any" : std::to_string(size));
  }
  throw input_error(
      translated("{1} {2} does not fit the configuration: expected [{3}]", name, text(shape),
                 sizes),
      weights.place(),
      help.empty() ? translated("the configuration and the weights do not belong together") : help);
}

std::optional<std::size_t> layers_in_file(const CheckpointWeights& weights,
                                          const Architecture& model, const ModelStack& stack,
                                          const std::string& prefix) {
  if (stack.staged || stack.groups > 1 || stack.inner > 1) return std::nullopt;
  const StackWeights names(weights, model, stack, prefix);
  if (names.layer_prefix(0) == names.layer_prefix(1)) return std::nullopt;
  const auto has = [&](std::size_t layer) {
    const std::string own = names.layer_prefix(layer);
    return std::ranges::any_of(weights.names(),
                               [&](const std::string& name) { return name.starts_with(own); });
  };
  std::size_t count = 0;
  while (has(count)) ++count;
  return count;
}

std::string other_number(const std::string& key, std::size_t number, std::size_t in_weights) {
  return translated("\"{1}\" of config.json is {2}, and the weights have {3}", key, number,
                    in_weights);
}

namespace {

// The family whose tensors have names such as these; empty if none is known by its.
std::string family_of_names(const CheckpointWeights& weights) {
  constexpr std::pair<std::string_view, std::string_view> known[]{
      {"gpt_neox.embed_in.weight", "gpt_neox"},
      {"transformer.wte.weight", "gpt2"},
      {"wte.weight", "gpt2"},
      {"roberta.embeddings.word_embeddings.weight", "roberta"},
      {"distilbert.embeddings.word_embeddings.weight", "distilbert"},
      {"bert.embeddings.word_embeddings.weight", "bert"},
      {"model.decoder.embed_tokens.weight", "opt"},
      {"model.embed_tokens.weight", "llama"},
      {"shared.weight", "t5"}};
  for (const auto& [name, family] : known) {
    if (weights.has(std::string(name))) return std::string(family);
  }
  return "";
}

}  // namespace

std::string head_weight(const ModelHead& head, const CheckpointWeights& weights) {
  const std::string name = head.weight + ".weight", part = "language_model." + name;
  return !weights.has(name) && weights.has(part) ? part : name;
}

std::string head_part(const std::vector<std::string>& names, const CheckpointWeights& weights) {
  for (const std::string& name : names) {
    if (weights.has(name + ".weight") || weights.has(name + ".gamma")) return name;
  }
  return names.empty() ? "" : names.front();
}

bool has_head(const Architecture& model, const CheckpointWeights& weights) {
  const ModelHead& head = model.head;
  if (!head.dense.empty()) return weights.has(head_part(head.dense, weights) + ".weight");
  return !head.weight.empty() && (model.tied || weights.has(head_weight(head, weights)));
}

std::string no_head_text(const Architecture& model) {
  if (model.headless_class.empty()) return translated("the file has no head that gives logits");
  return translated("models of the class {1} have no head that gives logits",
                    in_quotes(model.headless_class));
}

namespace {

std::optional<std::string> known_prefix(const CheckpointWeights& weights,
                                        const Architecture& model) {
  for (const std::string& prefix : model.prefixes) {
    if (StackWeights(weights, model, model.stacks.front(), prefix)
            .has(WeightPurpose::tokens, std::nullopt)) {
      return prefix;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> head_apart(const Architecture& model, const CheckpointWeights& weights) {
  if (!model.tied || model.head.weight.empty()) return std::nullopt;
  const std::string own = head_weight(model.head, weights);
  const auto prefix = weights.has(own) ? known_prefix(weights, model) : std::nullopt;
  if (!prefix) return std::nullopt;
  const auto tokens = StackWeights(weights, model, model.stacks.back(), *prefix)
                          .found(WeightPurpose::tokens, std::nullopt, "weight");
  if (!tokens || weights.same_numbers(own, *tokens)) return std::nullopt;
  return own;
}

void CheckpointWeights::find_within(const Architecture& model) {
  if (known_prefix(*this, model)) return;
  const ModelStack& stack = model.stacks.front();
  const auto fits = [&](const std::string& name) {
    const Shape& shape = this->shape(name);
    const Architecture& own = model.of(stack);
    return shape.size() == 2 && (own.vocabulary == 0 || shape[0] == own.vocabulary) &&
           (shape[1] == own.width || stack.names.contains(WeightPurpose::embedding_projection));
  };
  const auto tokens = stack.names.find(WeightPurpose::tokens);
  if (tokens == stack.names.end()) return;
  for (const std::string& prefix : model.prefixes) {
    for (const std::string& own : tokens->second) {
      for (const std::string& base : {prefix + stack.prefix, prefix}) {
        const std::string end = "." + base + own + ".weight";
        const auto found = std::ranges::find_if(
            names_, [&](const std::string& name) { return name.ends_with(end) && fits(name); });
        if (found == names_.end()) continue;
        within_ = found->substr(0, found->size() - end.size());
        leave_out(within_ + ".");
        return;
      }
    }
  }
}

// Names without the beginning that the weights share; others stay as they are.
void CheckpointWeights::leave_out(const std::string& beginning) {
  const std::map<std::string, Place> before = std::exchange(places_, {});
  for (std::string& name : names_) {
    const Place place = before.at(name);
    if (name.starts_with(beginning)) name.erase(0, beginning.size());
    places_.emplace(name, place);
  }
  for (const auto& [name, reason] : std::exchange(unread_, {})) {
    unread_.emplace(name.starts_with(beginning) ? name.substr(beginning.size()) : name, reason);
  }
}

std::string find_prefix(const CheckpointWeights& weights, const Architecture& model) {
  const ModelStack& stack = model.stacks.front();
  if (const auto prefix = known_prefix(weights, model)) return *prefix;
  const std::string wanted = StackWeights(weights, model, stack, model.prefixes.front())
                                 .name(WeightPurpose::tokens, std::nullopt) +
                             ".weight";
  const std::vector<std::string_view> known(weights.names().begin(), weights.names().end());
  const std::string other = family_of_names(weights);
  throw input_error(
      translated("the weights have no token embeddings: no tensor {1}", in_quotes(wanted)),
      weights.place(),
      other.empty() || other == model.family
          ? suggestion(wanted, known)
          : translated("their names are as in models of the type {1}, and \"model_type\" of "
                       "config.json is {2}",
                       other, model.family));
}

std::vector<bool> layers_with_sinks(const Architecture& model, const CheckpointWeights& weights,
                                    const ModelStack& stack) {
  const StackWeights names(weights, model, stack);
  std::vector<bool> found;
  for (std::size_t n = 0; n < stack.layers.size(); ++n) {
    found.push_back(names.has(WeightPurpose::sinks, n));
  }
  return found;
}

bool is_buffer(std::string_view name) {
  constexpr std::array<std::string_view, 14> ends{".attn_rot_embd.weight",
                                                  ".attn.causal_mask",
                                                  ".attn.bias",
                                                  ".attention.bias",
                                                  ".masked_bias",
                                                  ".position_ids",
                                                  ".inv_freq",
                                                  ".relative_attention_bias.weight",
                                                  ".relative_position_index",
                                                  ".relative_coords_table",
                                                  ".token_type_ids",
                                                  ".embed_positions.weight",
                                                  ".embed_positions.weights",
                                                  "coder.version"};
  return name.find(".rotary_emb.") != name.npos ||
         std::any_of(ends.begin(), ends.end(),
                     [&](std::string_view end) { return name.ends_with(end); });
}

std::optional<std::string> unread_warning(const Architecture& model,
                                          const CheckpointWeights& weights,
                                          std::vector<std::string> unread) {
  const std::string prefix = find_prefix(weights, model);
  std::erase_if(unread, [&](const std::string& name) {
    const bool of_other_part = model.is_part && !name.starts_with(prefix);
    return is_buffer(name) || is_side_part(name) || of_other_part;
  });
  if (unread.empty()) return std::nullopt;
  constexpr std::size_t most = 3;
  std::string names;
  for (std::size_t i = 0; i < std::min(most, unread.size()); ++i) {
    names += (names.empty() ? "" : name_separator()) + unread[i];
  }
  if (unread.size() > most) names += translated(" and {1} more", unread.size() - most);
  const std::string text =
      translated("nothing reads {1} of the file: {2}",
                 translated_count(unread.size(), "{1} tensor", "{1} tensors"), names);
  const auto head = std::ranges::find_if(unread, [](const std::string& name) {
    return name == "classifier.weight" || name == "score.weight" || name == "qa_outputs.weight" ||
           name == "classifier.dense.weight" || name == "classifier.out_proj.weight";
  });
  if (head != unread.end()) {
    return translated(
        "{1}; {2} is the head of a model that classifies, and \"architectures\" of "
        "config.json must name its class, such as BertForSequenceClassification",
        text, *head);
  }
  const ModelStack& stack = model.stacks.front();
  const auto layers = layers_in_file(weights, model, stack, prefix);
  const std::string& key = model.size_keys.layers;
  if (!layers || *layers <= stack.layers.size() || key.empty() || weights.gguf() != nullptr) {
    return text;
  }
  return translated("{1}; {2}", text, other_number(key, stack.layers.size(), *layers));
}

}  // namespace attn
