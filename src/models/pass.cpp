#include "models/pass.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "attention/score_stages.hpp"
#include "io/json_value.hpp"
#include "models/contact_head.hpp"
#include "models/pass_changes.hpp"
#include "models/vision.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {

ModelTexts ModelTexts::of_sample(std::size_t sample) const {
  ModelTexts one = *this;
  for (auto* lists : {&one.ids, &one.types, &one.decoder_ids}) {
    if (!lists->empty()) *lists = {(*lists)[sample]};
  }
  if (!one.pictures.empty()) one.pictures = {one.pictures[sample]};
  one.captions.clear();
  return one;
}

std::size_t longest_of(const std::vector<std::vector<std::int64_t>>& samples) noexcept {
  std::size_t longest = 0;
  for (const auto& ids : samples) longest = std::max(longest, ids.size());
  return longest;
}

Tensor padded_ids(const std::vector<std::vector<std::int64_t>>& samples) {
  const std::size_t longest = longest_of(samples);
  std::vector<std::int64_t> all;
  for (const auto& ids : samples) {
    all.insert(all.end(), ids.begin(), ids.end());
    all.insert(all.end(), longest - ids.size(), -1);
  }
  return {{samples.size(), longest}, std::move(all)};
}

std::optional<Sinusoids> sinusoids_of(const Architecture& model) {
  const bool closed = model.positions == ModelPositions::sinusoidal_closed;
  if (!closed && model.positions != ModelPositions::sinusoidal) return std::nullopt;
  return Sinusoids{model.first_position, closed};
}

Mask stack_mask(const ModelStack& stack, std::size_t layer) {
  Mask mask;
  mask.causal = stack.causal;
  if (const auto window = stack.layers[layer].window) {
    // With causality the window counts the query's own key.
    mask.window = stack.causal ? Window{*window - std::min<std::size_t>(*window, 1), std::nullopt}
                               : Window{*window, *window};
  }
  return mask;
}

void check_term_norms(const Architecture& model, const std::string& place) {
  if (!model.gated_queries) return;
  throw input_error(
      translated("the norms of terms are not computed where heads' outputs have a gate"), place,
      translated("leave norms out: a token's term differs from query to query there"));
}

std::optional<std::size_t> longest_text(const Architecture& model, const CheckpointWeights& weights,
                                        const ModelStack& stack) {
  const StackWeights names(weights, model, stack, find_prefix(weights, model));
  const auto shape = names.shape(WeightPurpose::positions, std::nullopt, "weight");
  if (!shape || shape->empty()) return std::nullopt;
  return shape->front() - std::min(shape->front(), model.first_position);
}

void check_texts(const Architecture& model, const CheckpointWeights& weights,
                 const ModelTexts& texts) {
  const std::string prefix = find_prefix(weights, model);
  const auto check = [&](const ModelStack& stack, const auto& lists, const auto& types,
                         const std::string& place) {
    const StackWeights names(weights, model, stack, prefix);
    const auto rows = [&](WeightPurpose purpose) -> std::optional<std::size_t> {
      const auto shape = names.shape(purpose, std::nullopt, "weight");
      return shape && !shape->empty() ? std::optional(shape->front()) : std::nullopt;
    };
    const auto bound = [&](const std::vector<std::int64_t>& ids, std::size_t end,
                           const std::string& noun, const std::string& where) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && static_cast<std::size_t>(ids[i]) < end) continue;
        throw input_error(translated("the {1} {2} is not between 0 and {3}", noun, ids[i], end - 1),
                          pointer_to(where, i), translated("the model's table has no such row"));
      }
    };
    const auto tokens = rows(WeightPurpose::tokens), kinds = rows(WeightPurpose::types);
    const auto longest = longest_text(model, weights, stack);
    for (std::size_t b = 0; b < lists.size(); ++b) {
      const std::string where = pointer_to(place, b);
      if (tokens) bound(lists[b], *tokens, translated("token id"), where);
      if (kinds && b < types.size())
        bound(types[b], *kinds, translated("token type"), "/token_types/" + std::to_string(b));
      if (!longest || lists[b].size() <= *longest) continue;
      throw input_error(
          translated("the text has {1} tokens, and the model's positions end after {2}",
                     lists[b].size(), *longest),
          where, translated("shorten the text, or cut it into several"));
    }
  };
  if (model.vision) {
    if (texts.captions.empty()) return;
    if (!model.text) {
      throw input_error(translated("the model has no part that reads texts"), texts.place,
                        translated("leave the texts out"));
    }
    ModelTexts own;
    own.ids = texts.captions;
    own.place = texts.place;
    check_texts(*model.text, weights, own);
    return;
  }
  check(model.stacks[0], texts.ids, texts.types, texts.place);
  if (model.encoder_decoder()) {
    check(model.stacks[1], texts.decoder_ids, decltype(texts.types){}, texts.decoder_place);
  }
}

namespace {

// Request to the stack of texts.
ModelTexts texts_of(const ModelTexts& pictures) {
  ModelTexts texts;
  texts.ids = pictures.captions;
  texts.place = pictures.place;
  return texts;
}
ModelOptions options_of_texts(const ModelOptions& pictures) {
  ModelOptions options = pictures;
  options.inside = {};
  options.rows = {};
  options.requests = {};
  options.lens = {};
  options.predicted.clear();
  options.heads_off.clear();
  options.watches.clear();
  options.logits = false;
  return options;
}

// Hands what a layer writes to the watches of the layer, `sample` being the one that is computed.
// Returns the function for the states that leave it; empty = none is wanted.
std::function<void(Tensor&)> watch(const ModelOptions& options, const ModelPlace& layer,
                                   const std::size_t& sample, StepOptions& step) {
  std::function<void(Tensor&)> states;
  for (const LayerWatch& one : options.watches) {
    if (one.place.stack != layer.stack || one.place.layer != layer.layer) continue;
    using Part = ModelPlace::Part;
    auto& to = one.place.part == Part::self           ? step.self_heads
               : one.place.part == Part::cross        ? step.cross_heads
               : one.place.part == Part::feed_forward ? step.feed_forward
                                                      : states;
    to = [&one, &sample, before = std::move(to)](Tensor& numbers) {
      if (before) before(numbers);
      one.take(sample, numbers);
    };
  }
  return states;
}

using NamedShapes = std::vector<std::pair<std::string, Shape>>;

/// A tensor of an attention's stages under its name.
struct StageRow {
  const char* name;
  Tensor ScoreStages::*tensor;
  bool by_row;  ///< whether it has a number for each query, not for each pair
};
constexpr std::array<StageRow, 4> stage_rows{{{"scores", &ScoreStages::scores, false},
                                              {"capped", &ScoreStages::capped, false},
                                              {"masked", &ScoreStages::masked, false},
                                              {"lse", &ScoreStages::lse, true}}};

void foresee_stages(const std::string& name, const Shape& map, NamedShapes& all) {
  for (const StageRow& row : stage_rows) {
    all.emplace_back(name + row.name, Shape(map.begin(), map.end() - (row.by_row ? 1 : 0)));
  }
}

/// Steps of the scores of one attention, sample after sample.
class GatheredStages {
 public:
  void add(const AttentionRequest& request, const Tensor& weights) {
    const ScoreStages stages = score_stages(request, weights);
    for (std::size_t i = 0; i < samples_.size(); ++i) {
      samples_[i].push_back(stages.*stage_rows[i].tensor);
    }
  }
  void give(const std::string& name, const TakeTensor& take) const {
    for (std::size_t i = 0; i < samples_.size() && !samples_[i].empty(); ++i) {
      take(name + stage_rows[i].name, batched(samples_[i]));
    }
  }

 private:
  std::array<std::vector<Tensor>, stage_rows.size()> samples_;
};

bool pools_by_attention(const Architecture& model, const CheckpointWeights& weights,
                        const std::string& prefix) {
  return model.vision && StackWeights(weights, model, model.stacks.front(), prefix)
                             .has(WeightPurpose::probe, std::nullopt);
}

// Whether the model has a head that reads contacts from the weights of all layers, and these are
// wanted.
bool predicts_contacts(const Architecture& model, const CheckpointWeights& weights,
                       const ModelOptions& options) {
  return options.weights && options.chooses_all(model.stacks.front()) && !options.rows &&
         has_contact_head(model, weights);
}

// The pooling of pictures, and their captions.
void run_captions(const Architecture& model, const CheckpointWeights& weights,
                  const ModelTexts& texts, const ModelOptions& options, const std::string& prefix,
                  const std::vector<Tensor>& states, const TakeTensor& take) {
  std::vector<Tensor> maps;
  std::vector<std::vector<double>> pictures;
  for (const Tensor& x : states) {
    auto pooled = pooled_picture(model, weights, prefix, x, options);
    if (!pooled) break;
    if (pooled->weights) maps.push_back(std::move(pooled->weights));
    pictures.push_back(std::move(pooled->vector));
  }
  if (!maps.empty() && options.weights) take("pooling.weights", batched(maps));
  if (texts.captions.empty()) return;
  if (pictures.empty()) {
    throw input_error(translated("the weights have nothing that pools pictures"), weights.place(),
                      translated("leave the texts out"));
  }
  std::vector<Tensor> outputs;
  const ModelTexts captions = texts_of(texts);
  ModelOptions own = options_of_texts(options);
  own.finished = [&](const Tensor& x) { outputs.push_back(x); };
  run_model(*model.text, weights, captions, own, [&](const std::string& name, Tensor tensor) {
    take("text." + name, std::move(tensor));
  });
  take("similarity",
       similarity_of(model, weights, pictures, outputs, captions.ids).converted(options.dtype));
}

// States [1,L,D] of each sample before the first layer of a stack.
std::vector<Tensor> embedded_samples(const Architecture& model, const CheckpointWeights& weights,
                                     const std::string& prefix, const ModelStack& stack,
                                     const Stack& own, const ModelTexts& texts) {
  std::vector<Tensor> states;
  if (model.vision) {
    const Shape& size = texts.pictures.front().shape();
    const PatchEmbedding patches =
        read_patch_embedding(model, weights, prefix, grid_of(*model.vision, size[1], size[2]));
    for (const Tensor& picture : texts.pictures) {
      states.push_back(embed_picture(patches, picture, own.options));
    }
  }
  const auto& ids = texts.read_by(stack);
  for (std::size_t b = states.size(); b < ids.size(); ++b) {
    static const std::vector<std::int64_t> none;
    const bool typed = !stack.crosses && !texts.types.empty();
    states.push_back(embed(own.embedding, ids[b], typed ? texts.types[b] : none, own.options));
  }
  return states;
}

/// The way of all samples through the layers of one stack, layer by layer. Keeps references to all
/// arguments except the contact head.
class StackPass {
 public:
  /// `memory`: for each sample the states of the encoder; empty without one.
  StackPass(const Architecture& model, const ModelStack& stack, const Stack& own,
            const ModelTexts& texts, const ModelOptions& options, const std::vector<Tensor>& memory,
            std::optional<ContactHead> contacts, const TakeTensor& take)
      : stack_(stack),
        own_(own),
        ids_(texts.read_by(stack)),
        options_(options),
        memory_(memory),
        take_(take),
        name_(model.result_stack(stack)),
        in_(stack_of(model, stack)),
        contacts_(std::move(contacts)),
        contact_logits_(ids_.size()) {}

  /// Computes layer `n` of the states [1,L,D] of all samples, in place, and hands over its results.
  void step_all(std::size_t n, std::vector<Tensor>& states) {
    const Layer layer = own_.layer(n);
    const ModelPlace self_place{in_, n}, cross_place{in_, n, ModelPlace::Part::cross};
    const std::string name = layer_prefix(name_, n);
    const bool wanted = options_.wants(stack_, n);
    const bool staged = options_.stages && options_.chooses_map(stack_, n) && !options_.rows;
    const bool seen_inside = options_.inside && options_.weights && options_.chooses(n);
    StepOptions step_options;
    step_options.inside = seen_inside;
    step_options.self_off = heads_in(self_place, options_.heads_off);
    step_options.cross_off = heads_in(cross_place, options_.heads_off);
    std::size_t sample = 0;
    const auto watch_states = watch(options_, self_place, sample, step_options);
    if (options_.rows) {
      step_options.rows = [&](std::size_t first, const Tensor& rows) {
        options_.rows(n, first, rows);
      };
    }
    AttentionRequest self_request, cross_request;  // of the sample, where stages are wanted
    if (staged || (options_.requests && options_.chooses(n))) {
      step_options.requests = [&](bool is_self, const AttentionRequest& request) {
        if (options_.requests)
          options_.requests(sample, name + (is_self ? "self" : "cross"), request);
        if (staged) (is_self ? self_request : cross_request) = request;
      };
    }
    std::vector<Tensor> self, cross;
    GatheredStages self_stages, cross_stages;
    for (std::size_t b = 0; b < ids_.size(); ++b) {
      sample = b;
      LayerStep done =
          step(layer, states[b], memory_.empty() ? Tensor() : memory_[b], step_options);
      if (seen_inside) options_.inside(b, name, layer, done);
      if (staged) self_stages.add(self_request, done.self.weights);
      if (staged && stack_.crosses) cross_stages.add(cross_request, done.cross.weights);
      states[b] = std::move(done.states);
      if (watch_states) watch_states(states[b]);
      if (!wanted || options_.rows) continue;
      if (contacts_) {
        contacts_->add(n, done.self.weights, ids_[b], options_.threads, contact_logits_[b]);
      }
      self.push_back(std::move(done.self.weights));
      if (stack_.crosses) cross.push_back(std::move(done.cross.weights));
    }
    if (!self.empty()) take_(name + "self.weights", batched(self));
    if (!cross.empty()) take_(name + "cross.weights", batched(cross));
    self_stages.give(name + "self.", take_);
    cross_stages.give(name + "cross.", take_);
    if (options_.stages) take_(name + "output", batched(states));
  }

  /// Whether the pass ends after that layer.
  bool ends_after(std::size_t n) const {
    return options_.last && options_.last->stack == in_ && options_.last->layer == n;
  }

  /// Hands over the contacts of all layers, if they are predicted.
  void give_contacts() const {
    if (!contacts_ || longest_of(ids_) <= 2) return;
    std::vector<Tensor> samples;
    samples.reserve(contact_logits_.size());
    for (const auto& logits : contact_logits_) samples.push_back(contacts_->probabilities(logits));
    take_("contacts", batched(samples).converted(options_.dtype));
  }

 private:
  const ModelStack& stack_;
  const Stack& own_;
  const std::vector<std::vector<std::int64_t>>& ids_;
  const ModelOptions& options_;
  const std::vector<Tensor>& memory_;
  const TakeTensor& take_;
  std::string name_;  // of the stack, in names of results
  ModelPlace::Stack in_;
  std::optional<ContactHead> contacts_;
  std::vector<std::vector<double>> contact_logits_;  // of each sample
};

}  // namespace

std::vector<std::pair<std::string, Shape>> foreseen_tensors(const Architecture& model,
                                                            const CheckpointWeights& weights,
                                                            const ModelTexts& texts,
                                                            const ModelOptions& options) {
  const std::string prefix = find_prefix(weights, model);
  std::vector<std::pair<std::string, Shape>> all;
  std::size_t memory = 0;
  for (const ModelStack& stack : model.stacks) {
    const bool encoder = model.encoder_decoder() && !stack.crosses;
    const std::string_view name_of_stack = model.result_stack(stack);
    const Stack own = read_stack(model, weights, stack, prefix, options);
    const auto& ids = texts.read_by(stack);
    const std::size_t batch = ids.size(), length = longest_of(ids);
    const std::size_t width = model.vision ? model.width : own.embedding.width();
    const std::size_t heads = model.of(stack).heads;
    all.emplace_back(AttentionName(name_of_stack).tensor("embedded"), Shape{batch, length, width});
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      const std::string name = layer_prefix(name_of_stack, n);
      if (options.wants(stack, n)) {
        all.emplace_back(name + "self.weights", Shape{batch, heads, length, length});
        if (stack.crosses) {
          all.emplace_back(name + "cross.weights", Shape{batch, heads, length, memory});
        }
      }
      if (!options.stages) continue;
      if (options.chooses_map(stack, n)) {
        foresee_stages(name + "self.", {batch, heads, length, length}, all);
        if (stack.crosses) foresee_stages(name + "cross.", {batch, heads, length, memory}, all);
      }
      all.emplace_back(name + "output", Shape{batch, length, width});
    }
    if (length > 2 && predicts_contacts(model, weights, options)) {
      all.emplace_back("contacts", Shape{batch, length - 2, length - 2});
    }
    all.emplace_back(encoder ? "encoder.output" : "output",
                     Shape{batch, length, model.vision ? width : own.width()});
    memory = length;
    if (encoder || !options.logits) continue;
    all.emplace_back("logits", Shape{batch, length, read_head(model, weights, prefix).size()});
  }
  if (pools_by_attention(model, weights, prefix) && options.weights) {
    all.emplace_back("pooling.weights", Shape{texts.ids.size(), model.heads, 1, memory});
  }
  if (!texts.captions.empty()) {
    for (auto& [name, shape] :
         foreseen_tensors(*model.text, weights, texts_of(texts), options_of_texts(options))) {
      all.emplace_back("text." + name, std::move(shape));
    }
    all.emplace_back("similarity", Shape{texts.ids.size(), texts.captions.size()});
  }
  return all;
}

void run_model(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               const ModelOptions& options, const TakeTensor& take, const TakeLogits& take_logits) {
  check_texts(model, weights, texts);
  if (is_changed(options)) {
    return run_model(model, weights, texts, with_changes(model, weights, texts, options), take,
                     take_logits);
  }
  const std::string prefix = find_prefix(weights, model);
  std::vector<Tensor> memory;
  for (const ModelStack& stack : model.stacks) {
    const bool encoder = model.encoder_decoder() && !stack.crosses;
    const Stack own = read_stack(model, weights, stack, prefix, options);
    std::vector<Tensor> states = embedded_samples(model, weights, prefix, stack, own, texts);
    take(AttentionName(model.result_stack(stack)).tensor("embedded"), batched(states));
    std::optional<LogitsHead> head;
    if (!encoder && (options.lens || options.logits || !options.predicted.empty())) {
      head = read_head(model, weights, prefix);
    }
    const auto logits_of = [&](const Tensor& x) {
      return head->logits(x, model.eps, options.threads);
    };
    std::optional<ContactHead> contacts;
    if (predicts_contacts(model, weights, options)) {
      contacts = ContactHead::read(model, weights, prefix);
    }
    StackPass pass(model, stack, own, texts, options, memory, std::move(contacts), take);
    for (std::size_t n = 0; n < own.count; ++n) {
      pass.step_all(n, states);
      if (pass.ends_after(n)) return;
      for (std::size_t b = 0; options.lens && !encoder && b < states.size(); ++b) {
        options.lens(b, n, logits_of(own.finish(states[b])));
      }
    }
    pass.give_contacts();
    for (Tensor& x : states) x = own.finish(x);
    if (encoder) {
      take("encoder.output", batched(states));
      memory = states;
      continue;
    }
    take("output", batched(states));
    if (options.finished) {
      for (const Tensor& x : states) options.finished(x);
    }
    if (model.vision) run_captions(model, weights, texts, options, prefix, states, take);
    for (std::size_t b = 0; b < options.predicted.size(); ++b) {
      for (const std::size_t position : options.predicted[b]) {
        const Tensor rows = states[b].reshaped({states[b].shape()[1], states[b].shape()[2]});
        const Tensor row = rows_of(rows, position, 1);
        take_logits(b, position, logits_of(row.reshaped({1, 1, row.size()})));
      }
    }
    if (!options.logits) continue;
    std::vector<Tensor> logits;
    logits.reserve(states.size());
    for (const Tensor& x : states) logits.push_back(logits_of(x));
    take("logits", batched(logits));
  }
}

}  // namespace attn
