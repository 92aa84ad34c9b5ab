#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "attention/geometry.hpp"
#include "explain/explained_layers.hpp"
#include "explain/explained_steps.hpp"
#include "explain/explanation.hpp"
#include "maps/computed_maps.hpp"
#include "support/errors.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

class ModelWalk {
 public:
  ModelWalk(const ModelRequest& given, const Labels& labels, QueryChoice choice,
            const ModelPlace& attention, Explanation& to)
      : request_(given), choice_(choice), place_(attention), to_(to) {
    request_.texts = request_.texts.of_sample(choice.sample);
    if (choice.query >= ids().size()) {
      throw input_error(
          translated_count(ids().size(), "there is no query {2}: the sample has {1} token",
                           "there is no query {2}: the sample has {1} tokens", choice.query),
          "ExplainOptions::query", give_below(ids().size()));
    }
    check_steps(stack_in(given.folder->architecture, attention.stack));
    labels_ = Labels::of_sample(labels.query, choice.sample);
    labels_.resize(ids().size());
    key_labels_ = Labels::of_sample(labels.key, choice.sample);
    key_labels_.resize(place_.crosses() ? request_.texts.ids[0].size() : ids().size());
    compute(request_.folder->architecture);
  }

  void walk() {
    using Stack = ModelPlace::Stack;
    const std::string layer = place_.stack == Stack::only ? translated("layer {1}", place_.layer)
                              : place_.stack == Stack::decoder
                                  ? translated("the decoder's layer {1}", place_.layer)
                                  : translated("the encoder's layer {1}", place_.layer);
    to_.part(translated("Into {1}", layer));
    to_.step(translated("The token's embedding"));
    const Architecture& model = request_.folder->architecture;
    const bool hears = model.sound && place_.stack == Stack::encoder;
    const std::string name = position_name(labels_, choice_.query, to_translate("query {1}"));
    to_.paragraph(
        hears ? translated("{1} of the sound: two convolutions of its spectrogram, with the "
                           "positions that are added before the first layer:",
                           name)
        : model.vision
            ? translated("{1} of the picture: the projection of a patch's pixels, or a "
                         "learned vector, with what positions and norms add before the first "
                         "layer:",
                         name)
            : translated("{1} is the token {2} of the vocabulary. Its row of the table, with "
                         "what positions and norms add before the first layer:",
                         name, ids()[choice_.query]));
    show("x", states_.front());
    if (place_.layer > 0) {
      to_.step(translated("What enters {1}", layer));
      if (place_.layer == 1) {
        to_.paragraph(translated("Layer 0 is left out here; a layer is chosen by its number."));
      } else {
        to_.paragraph(
            translated("Layers 0 to {1} are left out here; a layer is chosen by its number.",
                       place_.layer - 1));
      }
      show("x", states_[place_.layer]);
    }
    if (place_.crosses()) encoder_output();
    explain();
    to_.part(translated("Out of {1}", layer));
    to_.step(translated("What leaves {1}", layer));
    show("x", states_[place_.layer + 1]);
    if (gives_output() && output_) {
      to_.step(translated("What leaves the model"));
      show("x", output_);
    }
    if (logits_) answer();
  }

 private:
  // Patches that were merged have no embedding to begin with, and global tokens other projections.
  void check_steps(const ModelStack& stack) const {
    if (request_.folder->architecture.streams) {
      throw input_error(
          translated("models are not walked through whose states are several streams"),
          "ExplainOptions::layer", translated("name another model"));
    }
    if (request_.folder->architecture.global_tokens != GlobalTokens::none) {
      throw input_error(translated("models are not walked through where some tokens see all others "
                                   "by projections of their own"),
                        "ExplainOptions::layer", translated("name another model"));
    }
    if (stack.layers[place_.layer].mergings == 0) return;
    const auto last = std::ranges::find_if(
        stack.layers, [](const ModelLayer& layer) { return layer.mergings > 0; });
    throw input_error(
        translated("layer {1} reads merged patches, which are not walked through", place_.layer),
        "ExplainOptions::layer", give_below(static_cast<std::size_t>(last - stack.layers.begin())));
  }

  void compute(const Architecture& model) {
    ModelOptions options = request_.options;
    options.wanted = {.stages = true, .layers = std::vector<std::size_t>{place_.layer}};
    // An encoder's states become logits only in the decoder.
    if (gives_output() && has_head(model, request_.folder->weights)) {
      options.wanted.predicted = {{choice_.query}};
    }
    const PassObserver keeping{
        .tensor = [this](const PassTensor& what, const Tensor& tensor) { keep(what, tensor); },
        .predicted = [this](std::size_t, std::size_t,
                            const Tensor& logits) { logits_ = logits.converted(DType::float64); },
        .layer =
            [this](const SamplePlace& at, const Layer& layer, const LayerStep& step) {
              if (at.place != ModelPlace{place_.stack, place_.layer}) return;
              own_ = layer;
              step_ = step;
            }};
    run_model({model, request_.folder->weights, request_.texts, options}, {keeping});
  }

  void keep(const PassTensor& what, const Tensor& tensor) {
    using enum PassTensor::Quantity;
    if (what.quantity != embedded && what.quantity != states && what.quantity != output) return;
    const bool own = what.place.stack == place_.stack;
    const Tensor numbers = tensor.converted(DType::float64);
    const bool merged = own && !states_.empty() && tensor.shape()[1] != states_[0].shape()[1];
    if (merged) return;
    if (what.quantity == output) {
      (own ? output_ : memory_) = numbers;
    } else if (own) {
      states_.push_back(numbers);
    }
  }

  const std::vector<std::int64_t>& ids() const {
    return request_.texts.read_by(place_.stack).front();
  }
  // Whether this stack's last states leave the model.
  bool gives_output() const { return place_.stack != ModelPlace::Stack::encoder; }

  // The states that keys and values of a cross-attention are made of.
  void encoder_output() {
    const std::size_t width = memory_.shape().back();
    to_.step(translated("The encoder's output"));
    to_.paragraph(translated_count(key_labels_.size(),
                                   "Keys and values are made from the encoder's output, one for "
                                   "each of its {1} token. The first:",
                                   "Keys and values are made from the encoder's output, one for "
                                   "each of its {1} tokens. The first:"));
    show_vectors({named_vector("m", memory_.values<double>().first(width))}, to_);
  }

  void show(const char* name, const Tensor& states) {
    const std::size_t width = states.shape().back();
    show_vectors(
        {named_vector(name, states.values<double>().subspan(choice_.query * width, width))}, to_);
  }

  // The layer's own steps, and the state after each layer in a line.
  void explain() {
    std::vector<PlannedAttention> attentions{planned(step_.self_request, labels_)};
    if (own_.weights.cross.query) attentions.push_back(planned(step_.cross_request, key_labels_));
    using Stack = ModelPlace::Stack;
    const std::string name = place_.stack == Stack::only ? translated("Layer {1}", place_.layer)
                             : place_.stack == Stack::decoder
                                 ? translated("Decoder layer {1}", place_.layer)
                                 : translated("Encoder layer {1}", place_.layer);
    const QueryChoice own{0, choice_.head, choice_.query, choice_.full};
    const bool crosses = place_.crosses();
    explain_layer({own_, step_, attentions, name, false, !crosses, crosses}, own, to_);
    explain_all_layers(states_, own, place_.layer, to_);
  }

  PlannedAttention planned(const AttentionRequest& request,
                           const std::vector<std::string>& key_labels) const {
    return {{}, request.mask, check_geometry(request), {{labels_}, {key_labels}}};
  }

  void answer() {
    const bool next = request_.folder->architecture.stacks.back().causal;
    to_.step(translated("The likeliest tokens"));
    to_.paragraph(
        next ? translated("The state becomes one logit for each token of the vocabulary, and a "
                          "softmax over them gives the probabilities of the next token:")
             : translated("The state becomes one logit for each token of the vocabulary, and a "
                          "softmax over them gives the probabilities of the token here:"));
    const Prediction prediction = prediction_of(choice_.query, *logits_, *request_.folder);
    Explanation::Column tokens{translated("token"), {}, false, ""},
        ids{translated("id"), {}, true, ""};
    std::vector<double> logits, probabilities;
    for (const Prediction::Token& token : prediction.likeliest) {
      tokens.cells.push_back(token.text.empty() ? "" : "\"" + one_line(token.text) + "\"");
      ids.cells.push_back(std::to_string(token.id));
      logits.push_back(logits_->values<double>()[static_cast<std::size_t>(token.id)]);
      probabilities.push_back(token.probability);
    }
    to_.put(Explanation::Table{{tokens, ids, number_column(translated("logit"), logits),
                                number_column(translated("probability"), probabilities)},
                               Excerpt::all(logits.size()),
                               {}});
  }

  ModelRequest request_;
  QueryChoice choice_;
  ModelPlace place_;
  Explanation& to_;
  std::vector<std::string> labels_, key_labels_;
  Layer own_;
  LayerStep step_;
  std::optional<Tensor> logits_;
  std::vector<Tensor> states_;  // before the first layer and after each
  Tensor memory_, output_;      // what leaves the encoder, and the model
};

}  // namespace

std::optional<ModelPlace> named_attention(const ExplainOptions& options,
                                          const Architecture& model) {
  const bool first = options.stack.empty() && model.encoder_decoder();
  const std::string stack = first ? "encoder" : options.stack,
                    layer = std::to_string(options.layer.value_or(0));
  auto place = ModelPlace::parse(stack.empty() ? layer : stack + "." + layer);
  if (!place || place->head || !has_stack(model, place->stack)) return std::nullopt;
  if (!options.layer) place->layer = first_layer_with_map(stack_in(model, place->stack));
  return place;
}

void explain_model(const ModelRequest& request, const Labels& labels, QueryChoice choice,
                   const ModelPlace& attention, Explanation& explanation) {
  ModelWalk(request, labels, choice, attention, explanation).walk();
}

}  // namespace attn
