#include "models/pass.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <optional>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/attention_steps.hpp"
#include "models/classification.hpp"
#include "models/contact_head.hpp"
#include "models/sentence_embedding.hpp"
#include "models/sound.hpp"
#include "models/vision.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {

std::optional<Sinusoids> sinusoids_of(const Architecture& model) {
  const bool closed = model.positions == ModelPositions::sinusoidal_closed;
  if (!closed && model.positions != ModelPositions::sinusoidal) return std::nullopt;
  return Sinusoids{model.first_position, closed};
}

std::optional<PatchGrid> grid_of_pictures(const Architecture& model, const ModelTexts& texts) {
  if (!model.vision || texts.pictures.empty()) return std::nullopt;
  const Shape& size = texts.pictures.front().shape();
  const std::size_t patch = model.vision->patch;
  if (model.stacks.front().staged && (size[1] % patch != 0 || size[2] % patch != 0)) {
    throw input_error(
        translated("the prepared picture has {1} × {2} pixels, and not whole patches of {3} × {3}",
                   size[1], size[2], patch),
        "", translated("let it be resized to the size of the configuration"));
  }
  return grid_of(*model.vision, size[1], size[2]);
}

std::size_t longest_at(const Architecture& model, const ModelTexts& texts, const ModelStack& stack,
                       std::size_t layer) {
  const auto grid =
      stack.layers[layer].mergings > 0 ? grid_of_pictures(model, texts) : std::nullopt;
  if (!grid) return longest_of(texts.read_by(stack));
  const PatchGrid own = grid_at(*grid, stack.layers[layer]);
  return own.rows * own.columns;
}

Mask stack_mask(const ModelStack& stack, std::size_t layer, const std::optional<PatchGrid>& grid) {
  Mask mask;
  if (const auto& window = stack.layers[layer].patches; window && grid) {
    mask.documents = patch_windows(*window, *grid);
    mask.documents_are_windows = true;
  }
  mask.causal = stack.causal;
  mask.chunk = stack.layers[layer].chunk;
  if (const auto window = stack.layers[layer].window) {
    // With causality the window counts the query's own key.
    mask.window = stack.causal ? Window{*window - std::min<std::size_t>(*window, 1), std::nullopt}
                               : Window{*window, *window};
  }
  return mask;
}

void check_term_norms(const Architecture& model, const std::string& place) {
  if (model.global_tokens != GlobalTokens::none) {
    throw input_error(
        translated("the norms of terms are not computed where some tokens see all others by "
                   "projections of their own"),
        place, translated("leave norms out: a token's term differs from query to query there"));
  }
  if (model.streams) {
    throw input_error(
        translated("the norms of terms are not computed where the states are several streams"),
        place, translated("leave norms out"));
  }
  if (!model.gated_queries) return;
  throw input_error(
      translated("the norms of terms are not computed where heads' outputs have a gate"), place,
      translated("leave norms out: a token's term differs from query to query there"));
}

using Part = ModelPlace::Part;
using Quantity = PassTensor::Quantity;

std::string PassTensor::name() const {
  // In the order of the quantities.
  constexpr std::array names{"embedded",
                             "weights",
                             "scores",
                             "capped",
                             "masked",
                             "lse",
                             "output",
                             "contacts",
                             "output",
                             "logits",
                             "pooling.weights",
                             "classification.logits",
                             "sentence_embedding",
                             "sentence_similarity",
                             "token_similarity",
                             "similarity"};
  static_assert(names.size() == static_cast<std::size_t>(Quantity::similarity) + 1);
  const std::string own = names[static_cast<std::size_t>(quantity)];
  if (quantity >= Quantity::weights && quantity <= Quantity::lse) {
    return place.attention().tensor(own);
  }
  if (quantity == Quantity::states) return layer_prefix(name_of(place.stack), place.layer) + own;
  // What leaves the decoder leaves the model.
  const bool of_model = place.stack == ModelPlace::Stack::decoder && quantity != Quantity::embedded;
  return AttentionName(of_model ? "" : name_of(place.stack)).tensor(own);
}

namespace {

/// The observers of a pass as one.
class Observers {
 public:
  explicit Observers(const std::vector<PassObserver>& all) : all_(all) {}

  /// Whether one of them has the function.
  template <class Take>
  bool any(Take PassObserver::*take) const {
    return std::ranges::any_of(all_, [&](const PassObserver& one) { return bool(one.*take); });
  }
  /// Calls the function of each that has it.
  template <class Take, class... Given>
  void tell(Take PassObserver::*take, const Given&... given) const {
    for (const PassObserver& one : all_) {
      if (one.*take) (one.*take)(given...);
    }
  }
  /// Gives the samples of a result as one tensor, which the last observer alone holds then.
  void give(const PassTensor& what, const std::vector<Tensor>& samples) const {
    if (any(&PassObserver::tensor)) give(what, batched(samples));
  }
  void give(const PassTensor& what, Tensor tensor) const {
    const PassObserver* last = nullptr;
    for (const PassObserver& one : all_) {
      if (!one.tensor) continue;
      if (last != nullptr) last->tensor(what, tensor);
      last = &one;
    }
    if (last != nullptr) last->tensor(what, std::move(tensor));
  }
  /// Whether one of them takes what is written at the place.
  bool take(const ModelPlace& place) const {
    return std::ranges::any_of(all_, [&](const PassObserver& one) { return one.takes(place); });
  }
  void tell_written(const SamplePlace& at, const Tensor& numbers) const {
    for (const PassObserver& one : all_) {
      if (one.takes(at.place)) one.written(at, numbers);
    }
  }
  Progress progress() const {
    if (!any(&PassObserver::progress)) return {};
    return [this](std::size_t scores) { tell(&PassObserver::progress, scores); };
  }

 private:
  const std::vector<PassObserver>& all_;
};

using Foreseen = std::vector<std::pair<PassTensor, Shape>>;

/// A tensor of an attention's stages.
struct StageRow {
  Quantity quantity;
  Tensor ScoreStages::*tensor;
  bool by_row;  ///< whether it has a number for each query, not for each pair
};
constexpr std::array<StageRow, 4> stage_rows{{{Quantity::scores, &ScoreStages::scores, false},
                                              {Quantity::capped, &ScoreStages::capped, false},
                                              {Quantity::masked, &ScoreStages::masked, false},
                                              {Quantity::lse, &ScoreStages::lse, true}}};

void foresee_stages(const ModelPlace& attention, const Shape& map, Foreseen& all) {
  for (const StageRow& row : stage_rows) {
    all.push_back(
        {{row.quantity, attention}, Shape(map.begin(), map.end() - (row.by_row ? 1 : 0))});
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
  void give(const ModelPlace& attention, const Observers& observers) const {
    for (std::size_t i = 0; i < samples_.size() && !samples_[i].empty(); ++i) {
      observers.give({stage_rows[i].quantity, attention}, samples_[i]);
    }
  }

 private:
  std::array<std::vector<Tensor>, stage_rows.size()> samples_;
};

// Whether the model has a head that reads contacts from the weights of all layers, and these are
// wanted.
bool predicts_contacts(const ModelPass& pass) {
  const WantedResults& wanted = pass.options.wanted;
  return wanted.weights && wanted.chooses_all(pass.model.stacks.front()) && !wanted.by_rows &&
         has_contact_head(pass.model, pass.weights);
}

/// The pass of a model of pictures over their captions.
struct CaptionsPass {
  ModelTexts texts;
  ModelOptions options;
  ModelPass pass;

  explicit CaptionsPass(const ModelPass& pictures)
      : options(pictures.options), pass{*pictures.model.text, pictures.weights, texts, options} {
    texts.ids = pictures.texts.captions;
    texts.place = pictures.texts.place;
    options.heads_off.clear();
    options.wanted.logits = options.wanted.by_rows = false;
  }
};

// The pooling of pictures, and their captions.
void run_captions(const ModelPass& pass, const std::vector<Tensor>& states,
                  const Observers& observers) {
  const auto& [model, weights, texts, options] = pass;
  std::vector<Tensor> maps;
  std::vector<std::vector<double>> pictures;
  for (const Tensor& x : states) {
    auto pooled = pooled_picture(model, weights, x, options.dtype, options.threads);
    if (!pooled) break;
    if (pooled->weights) maps.push_back(std::move(pooled->weights));
    pictures.push_back(std::move(pooled->vector));
  }
  if (!maps.empty() && options.wanted.weights) observers.give({Quantity::pooling}, maps);
  if (texts.captions.empty()) return;
  if (pictures.empty()) {
    throw input_error(translated("the weights have nothing that pools pictures"), weights.place(),
                      translated("leave the texts out"));
  }
  const auto give = [&](PassTensor what, Tensor tensor) {
    what.place.stack = ModelPlace::Stack::captions;
    observers.give(what, std::move(tensor));
  };
  const CaptionsPass captions(pass);
  const std::vector<Tensor> outputs =
      run_changed(captions.pass, {}, {{.tensor = give, .progress = observers.progress()}});
  observers.give({Quantity::similarity},
                 similarity_of(model, weights, pictures, outputs, captions.texts.ids)
                     .converted(options.dtype));
}

// Hands over what is made of the states that leave the model: vectors of texts, and what its
// classifier says.
void classify(const ModelPass& pass, const std::vector<Tensor>& states,
              const Observers& observers) {
  const auto& [model, weights, texts, options] = pass;
  if (!observers.any(&PassObserver::tensor)) return;
  if (model.sentence) {
    std::vector<Tensor> vectors;
    for (const Tensor& x : states) vectors.push_back(model.sentence->embedding(x));
    const Tensor all = concatenated(vectors);
    observers.give({Quantity::sentence_embedding}, all.converted(options.dtype));
    if (states.size() > 1) {
      observers.give({Quantity::sentence_similarity},
                     model.sentence->similarities(all).converted(options.dtype));
      if (model.sentence->sums_over_tokens()) {
        observers.give({Quantity::token_similarity},
                       model.sentence->token_similarity(states).converted(options.dtype));
      }
    }
  }
  if (!has_classifier(model, weights)) return;
  const Classifier classifier = Classifier::read(model, weights);
  std::vector<Tensor> logits;
  for (std::size_t b = 0; b < states.size(); ++b) {
    logits.push_back(classifier.logits(states[b], texts.ids[b], texts.place, options.threads));
  }
  observers.give({Quantity::classification}, logits);
}

// States [1,L,D] of each sample before the first layer of a stack.
std::vector<Tensor> embedded_samples(const ModelPass& pass, const ModelStack& stack,
                                     const Stack& own) {
  const auto& [model, weights, texts, options] = pass;
  std::vector<Tensor> states;
  if (model.vision) {
    const Shape& size = texts.pictures.front().shape();
    const PatchEmbedding patches =
        read_patch_embedding(model, weights, grid_of(*model.vision, size[1], size[2]));
    AttentionOptions embedding = own.options;
    if (stack.staged) embedding.eps = PatchMerging().eps;
    for (const Tensor& picture : texts.pictures) {
      states.push_back(embed_picture(patches, picture, embedding));
    }
  }
  if (model.senses(stack)) {
    for (const Tensor& sound : texts.sounds) {
      states.push_back(embed_sound(model, weights, sound, own.options));
    }
  }
  const auto& ids = texts.read_by(stack);
  for (std::size_t b = states.size(); b < ids.size(); ++b) {
    states.push_back(embed(own.embedding, ids[b], texts.types_read_by(stack, b), own.options));
  }
  return states;
}

/// The way of all samples through the layers of one stack, layer by layer. Keeps references to all
/// arguments.
class StackPass {
 public:
  /// `memory`: for each sample the states of the encoder; empty without one. `inputs`: what its
  /// layers read of the tokens; empty if they read nothing.
  StackPass(const ModelPass& pass, const ModelStack& stack, const Stack& own,
            const std::vector<PassChange>& changes, const std::vector<Tensor>& memory,
            const std::vector<Tensor>& inputs, const Observers& observers)
      : pass_(pass),
        wanted_(pass.options.wanted),
        stack_(stack),
        own_(own),
        changes_(changes),
        memory_(memory),
        inputs_(inputs),
        observers_(observers),
        name_(stack_of(pass.model, stack)),
        contact_logits_(pass.texts.read_by(stack).size()) {
    if (predicts_contacts(pass)) contacts_ = ContactHead::read(pass.model, pass.weights);
  }

  /// Computes layer `n` of the states [1,L,D] of all samples, in place, and hands over its results.
  void step_all(std::size_t n, std::vector<Tensor>& states) {
    const Layer layer = own_.layer(n);
    for (Tensor& x : states) {
      if (own_.entering) x = own_.entering(n, x);
    }
    const ModelPlace at{name_, n}, cross_at{name_, n, Part::cross};
    const bool mapped = wanted_.chooses_weights(stack_, n) && !wanted_.by_rows;
    const bool staged = wanted_.stages && wanted_.chooses_map(stack_, n) && !wanted_.by_rows;
    std::size_t sample = 0;
    StepOptions options = options_of(at, sample);
    AttentionRequest self_request, cross_request;  // of the sample, where stages are wanted
    if (staged || (wanted_.chooses(n) && observers_.any(&PassObserver::request))) {
      options.requests = [&](bool self, const AttentionRequest& request) {
        observers_.tell(&PassObserver::request, SamplePlace{self ? at : cross_at, sample}, request);
        if (staged) (self ? self_request : cross_request) = request;
      };
    }
    const std::optional<std::size_t>& of = stack_.layers[n].keys_of;
    const bool kept = std::ranges::count(stack_.layers, std::optional(n), &ModelLayer::keys_of) > 0;
    if (kept) kept_[n].resize(states.size());
    const auto leaving = written_at({name_, n, Part::residual}, sample);
    std::vector<Tensor> self, cross;
    GatheredStages self_stages, cross_stages;
    for (; sample < states.size(); ++sample) {
      Tensor& x = states[sample];
      if (kept) options.keeps_read = &kept_[n][sample];
      options.global =
          global_positions(pass_.model, pass_.texts.read_by(stack_)[sample], pass_.texts.place);
      options.types = pass_.texts.types_read_by(stack_, sample);
      if (of) options.keys_from = kept_.at(*of)[sample];
      if (!inputs_.empty()) options.layer_input = layer_part(own_.layer_tokens, inputs_[sample], n);
      LayerStep done = step(layer, x, memory_.empty() ? Tensor() : memory_[sample], options);
      if (options.inside) {
        observers_.tell(&PassObserver::layer, SamplePlace{at, sample}, layer, done);
      }
      if (staged) self_stages.add(self_request, done.self.weights);
      if (staged && stack_.crosses) cross_stages.add(cross_request, done.cross.weights);
      x = std::move(done.states);
      if (leaving) leaving(x);
      if (!mapped) continue;
      if (contacts_) {
        contacts_->add(n, done.self.weights, pass_.texts.read_by(stack_)[sample],
                       pass_.options.threads, contact_logits_[sample]);
      }
      self.push_back(std::move(done.self.weights));
      if (stack_.crosses) cross.push_back(std::move(done.cross.weights));
    }
    if (!self.empty()) observers_.give({Quantity::weights, at}, self);
    if (!cross.empty()) observers_.give({Quantity::weights, cross_at}, cross);
    self_stages.give(at, observers_);
    cross_stages.give(cross_at, observers_);
    if (wanted_.stages) observers_.give({Quantity::states, at}, states);
  }

  /// Whether the pass ends after that layer.
  bool ends_after(std::size_t n) const {
    return wanted_.last && wanted_.last->stack == name_ && wanted_.last->layer == n;
  }

  /// Hands over the contacts of all layers, if they are predicted.
  void give_contacts() const {
    if (!contacts_ || longest_of(pass_.texts.read_by(stack_)) <= 2) return;
    std::vector<Tensor> samples;
    samples.reserve(contact_logits_.size());
    for (const auto& logits : contact_logits_) samples.push_back(contacts_->probabilities(logits));
    observers_.give({Quantity::contacts, {name_}}, batched(samples).converted(pass_.options.dtype));
  }

 private:
  // Options of a layer's step of each sample, without its requests.
  StepOptions options_of(const ModelPlace& layer, const std::size_t& sample) const {
    const ModelPlace cross{layer.stack, layer.layer, Part::cross};
    StepOptions options;
    options.inside =
        observers_.any(&PassObserver::layer) && wanted_.weights && wanted_.chooses(layer.layer);
    if (pass_.options.ablation == Ablation::zero) {
      options.self_off = heads_in(layer, pass_.options.heads_off);
      options.cross_off = heads_in(cross, pass_.options.heads_off);
    }
    options.self_heads = written_at(layer, sample);
    options.cross_heads = written_at(cross, sample);
    options.feed_forward = written_at({layer.stack, layer.layer, Part::feed_forward}, sample);
    if (wanted_.by_rows) {
      options.rows = [this, layer, &sample](std::size_t first, const Tensor& rows) {
        observers_.tell(&PassObserver::rows, SamplePlace{layer, sample}, first, rows);
      };
    }
    options.progress = observers_.progress();
    return options;
  }

  // Changes what is written at a place and hands it over; empty = it stays, and nobody takes it.
  std::function<void(Tensor&)> written_at(const ModelPlace& place,
                                          const std::size_t& sample) const {
    if (std::ranges::count(changes_, place, &PassChange::place) == 0 && !observers_.take(place)) {
      return {};
    }
    return [this, place, &sample](Tensor& numbers) {
      for (const PassChange& change : changes_) {
        if (change.place == place) change.make(sample, numbers);
      }
      observers_.tell_written({place, sample}, numbers);
    };
  }

  const ModelPass& pass_;
  const WantedResults& wanted_;
  const ModelStack& stack_;
  const Stack& own_;
  const std::vector<PassChange>& changes_;
  const std::vector<Tensor>& memory_;
  const std::vector<Tensor>& inputs_;
  /// States of each sample that layers read, of which others take keys and values.
  std::map<std::size_t, std::vector<Tensor>> kept_;
  const Observers& observers_;
  ModelPlace::Stack name_;
  std::optional<ContactHead> contacts_;
  std::vector<std::vector<double>> contact_logits_;  // of each sample
};

}  // namespace

std::vector<std::pair<PassTensor, Shape>> foreseen_tensors(const ModelPass& pass) {
  const auto& [model, weights, texts, options] = pass;
  const WantedResults& wanted = options.wanted;
  Foreseen all;
  const auto add = [&](Quantity quantity, const ModelPlace& place, const Shape& shape) {
    all.push_back({{quantity, place}, shape});
  };
  std::size_t memory = 0;
  for (const ModelStack& stack : model.stacks) {
    const ModelPlace::Stack name = stack_of(model, stack);
    const Stack own = read_stack(pass, stack);
    const std::size_t batch = texts.read_by(stack).size();
    const bool senses = model.senses(stack);
    const std::size_t width = senses ? stack.layers.front().width : own.embedding.width();
    add(Quantity::embedded, {name}, {batch, longest_of(texts.read_by(stack)), width});
    std::size_t length = longest_of(texts.read_by(stack));
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      const ModelPlace at{name, n}, cross_at{name, n, Part::cross};
      const ModelLayer& layer = stack.layers[n];
      length = longest_at(model, texts, stack, n);
      const Shape map{batch, layer.heads, length, length},
          cross_map{batch, layer.heads, length, memory};
      if (wanted.chooses_weights(stack, n)) {
        add(Quantity::weights, at, map);
        if (stack.crosses) add(Quantity::weights, cross_at, cross_map);
      }
      if (!wanted.stages) continue;
      if (wanted.chooses_map(stack, n)) {
        foresee_stages(at, map, all);
        if (stack.crosses) foresee_stages(cross_at, cross_map, all);
      }
      const std::size_t streams = model.streams ? model.streams->count : 1;
      add(Quantity::states, at, {batch, length, streams * (senses ? layer.width : width)});
    }
    if (length > 2 && predicts_contacts(pass)) {
      add(Quantity::contacts, {name}, {batch, length - 2, length - 2});
    }
    add(Quantity::output, {name}, {batch, length, senses ? model.width : own.width()});
    memory = length;
    if (name == ModelPlace::Stack::encoder) continue;
    if (model.sentence) {
      add(Quantity::sentence_embedding, {}, {batch, model.sentence->width(own.width())});
      if (batch > 1) add(Quantity::sentence_similarity, {}, {batch, batch});
      if (batch > 1 && model.sentence->sums_over_tokens()) {
        add(Quantity::token_similarity, {}, {batch, texts.ids.front().size(), length});
      }
    }
    if (has_classifier(model, weights)) {
      add(Quantity::classification, {}, Classifier::read(model, weights).shape(batch, length));
    }
    if (!wanted.logits) continue;
    add(Quantity::logits, {name}, {batch, length, read_head(model, weights).size()});
  }
  const bool pools =
      model.vision &&
      StackWeights(weights, model, model.stacks.front()).has(WeightPurpose::probe, std::nullopt);
  if (pools && wanted.weights) {
    add(Quantity::pooling, {}, {texts.ids.size(), model.heads, 1, memory});
  }
  if (texts.captions.empty()) return all;
  for (auto& [what, shape] : foreseen_tensors(CaptionsPass(pass).pass)) {
    add(what.quantity, {ModelPlace::Stack::captions, what.place.layer, what.place.part}, shape);
  }
  add(Quantity::similarity, {}, {texts.ids.size(), texts.captions.size()});
  return all;
}

std::vector<Tensor> run_changed(const ModelPass& pass, const std::vector<PassChange>& changes,
                                const std::vector<PassObserver>& all_observers) {
  const auto& [model, weights, texts, options] = pass;
  const WantedResults& wanted = options.wanted;
  const Observers observers(all_observers);
  const bool looks_through = observers.any(&PassObserver::lens);
  std::vector<Tensor> states, memory;
  // Tells the logits behind the positions that are wanted, of states that leave the model there.
  const auto tell_predicted = [&wanted, &states](const auto& tell) {
    for (std::size_t b = 0; b < wanted.predicted.size(); ++b) {
      for (const std::size_t position : wanted.predicted[b]) {
        tell(b, position, picked(states[b], {&position, 1}, 1));
      }
    }
  };
  for (const ModelStack& stack : model.stacks) {
    const ModelPlace::Stack name = stack_of(model, stack);
    const bool last = name != ModelPlace::Stack::encoder;
    const Stack own = read_stack(pass, stack);
    states = embedded_samples(pass, stack, own);
    const ModelPlace embedded{name, 0, Part::embedding};
    for (std::size_t b = 0; b < states.size(); ++b) {
      for (const PassChange& change : changes) {
        if (change.place == embedded) change.make(b, states[b]);
      }
      observers.tell_written({embedded, b}, states[b]);
    }
    observers.give({Quantity::embedded, {name}}, states);
    std::optional<LogitsHead> head;
    if (last && (wanted.logits || !wanted.predicted.empty() || looks_through)) {
      head = read_head(model, weights);
    }
    const auto logits_of = [&head, &eps = model.eps, &threads = options.threads](const Tensor& x) {
      return head->logits(x, eps, threads);
    };
    std::vector<Tensor> inputs;
    for (std::size_t b = 0; own.layer_tokens && b < states.size(); ++b) {
      inputs.push_back(
          read_layer_tokens(*own.layer_tokens, texts.read_by(stack)[b], states[b], own.options));
    }
    StackPass layers(pass, stack, own, changes, memory, inputs, observers);
    for (std::size_t n = 0; n < own.count; ++n) {
      layers.step_all(n, states);
      if (layers.ends_after(n)) return states;
      const ModelPlace at{name, n};
      for (std::size_t b = 0; last && looks_through && b < states.size(); ++b) {
        observers.tell(&PassObserver::lens, SamplePlace{at, b}, logits_of(own.finish(states[b])));
      }
      if (!last || !observers.any(&PassObserver::lens_at) || !wanted.chooses(n)) continue;
      tell_predicted([&](std::size_t b, std::size_t position, const Tensor& x) {
        observers.tell(&PassObserver::lens_at, SamplePlace{at, b}, position,
                       logits_of(own.finish(x)));
      });
    }
    layers.give_contacts();
    for (Tensor& x : states) x = own.finish(x);
    observers.give({Quantity::output, {name}}, states);
    if (!last) {
      memory = states;
      continue;
    }
    classify(pass, states, observers);
    if (model.vision) run_captions(pass, states, observers);
    if (observers.any(&PassObserver::predicted)) {
      tell_predicted([&](std::size_t b, std::size_t position, const Tensor& x) {
        observers.tell(&PassObserver::predicted, b, position, logits_of(x));
      });
    }
    if (!wanted.logits) continue;
    std::vector<Tensor> logits;
    logits.reserve(states.size());
    for (const Tensor& x : states) logits.push_back(logits_of(x));
    observers.give({Quantity::logits, {name}}, logits);
  }
  return states;
}

void run_model(const ModelPass& pass, const std::vector<PassObserver>& observers) {
  check_texts(pass.model, pass.weights, pass.texts);
  run_changed(pass, changes_of(pass), observers);
}

}  // namespace attn
