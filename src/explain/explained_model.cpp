#include "explain/explained_model.hpp"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "explain/explained_linear.hpp"
#include "explain/explained_projections.hpp"
#include "explain/shown_number.hpp"
#include "run/model_computation.hpp"
#include "support/count_text.hpp"

namespace attn {
namespace {

// One sample by itself, as the model computes it anyway.
void keep_sample(ModelTexts& texts, std::size_t sample) {
  const auto keep = [&](std::vector<std::vector<std::int64_t>>& lists) {
    if (!lists.empty()) lists = {lists[sample]};
  };
  keep(texts.ids);
  keep(texts.types);
  keep(texts.decoder_ids);
}

class ModelWalk {
 public:
  ModelWalk(const ModelRequest& given, const PlannedAttention& planned, QueryChoice choice,
            std::size_t layer, Explanation& to)
      : request_(given),
        choice_(choice),
        layer_(layer),
        to_(to),
        both_(given.folder->architecture.encoder_decoder()),
        crosses_(both_ && planned.prefix.ends_with(".cross.")),
        decoder_(both_ && planned.prefix.starts_with("decoder.")),
        before_(!both_     ? ""
                : decoder_ ? "decoder."
                           : "encoder.") {
    keep_sample(request_.texts, choice.sample);
    if (choice.query >= ids().size()) {
      throw input_error("there is no query " + std::to_string(choice.query) + ": the sample has " +
                            count_text(ids().size(), "token"),
                        "ExplainOptions::query", "give 0 to " + std::to_string(ids().size() - 1));
    }
    labels_ = Labels::of_sample(planned.labels.query, choice.sample);
    labels_.resize(ids().size());
    key_labels_ = Labels::of_sample(planned.labels.key, choice.sample);
    key_labels_.resize(crosses_ ? request_.texts.ids[0].size() : ids().size());
    compute(request_.folder->architecture);
  }

  void walk() {
    const std::string stack = !both_ ? "" : decoder_ ? "the decoder's " : "the encoder's ";
    const std::string layer = stack + "layer " + std::to_string(layer_ + 1);
    to_.part("Into " + layer);
    to_.step("The token's embedding");
    to_.paragraph("\"" + one_line(labels_[choice_.query]) + "\" is the token " +
                  std::to_string(ids()[choice_.query]) +
                  " of the vocabulary. Its row of the table, with what positions and norms add "
                  "before the first layer:");
    show("x", before_ + "embedded");
    if (layer_ > 0) {
      to_.step("What enters " + layer);
      show("x", output_of(layer_ - 1));
    }
    const std::string head = "Head " + std::to_string(choice_.head + 1) + " of " + layer;
    to_.part(crosses_ ? head + " over what the encoder gives" : head);
    if (crosses_) encoder_output();
    attention();
    to_.part("Out of " + layer);
    to_.step("What leaves " + layer);
    to_.paragraph(
        crosses_
            ? "What the layer's attention over itself adds to what entered, the heads above joined "
              "and projected, and what the feed-forward adds:"
        : decoder_
            ? "The heads joined and projected, added to what entered, what the attention over the "
              "encoder's output adds, and what the feed-forward adds:"
            : "The heads joined and projected, added to what entered, and what the feed-forward "
              "adds:");
    show("x", output_of(layer_));
    if (gives_output()) {
      to_.step("What leaves the model");
      show("x", "output");
    }
    if (logits_) answer();
  }

 private:
  void compute(const Architecture& model) {
    request_.dtype = DType::float64;
    request_.stages = request_.weights = true;
    request_.layers = std::vector<std::size_t>{layer_};
    request_.logits = false;
    request_.predicted.clear();
    // An encoder's states become logits only in the decoder.
    if (gives_output() && has_head(model, request_.folder->weights)) {
      request_.predicted = {{choice_.query}};
    }
    const std::string wanted =
        before_ + "layers." + std::to_string(layer_) + (crosses_ ? ".cross." : ".self.");
    request_.watch = [&](const std::string& name, const AttentionRequest& attention) {
      if (name == wanted) attention_ = attention;
    };
    run_model(
        model, request_.folder->weights, request_.texts, request_,
        [&](const std::string& name, const Tensor& tensor) {
          if (tensor.rank() == 3) states_[name] = tensor;
        },
        [&](std::size_t, std::size_t, const Tensor& logits) { logits_ = logits; });
  }

  const std::vector<std::int64_t>& ids() const {
    return decoder_ ? request_.texts.decoder_ids[0] : request_.texts.ids[0];
  }
  // Whether what leaves the last layer leaves the model.
  bool gives_output() const { return !both_ || decoder_; }

  // What keys and values are made of.
  void encoder_output() {
    const Tensor& states = states_.at("encoder.output");
    const std::size_t width = states.shape().back();
    to_.step("What the encoder gives");
    to_.paragraph("Keys and values are made of what leaves the encoder, one for each of its " +
                  count_text(key_labels_.size(), "token") + ". Of the first:");
    show_vectors({named_vector("m", states.values<double>().first(width))}, to_);
  }

  std::string output_of(std::size_t layer) const {
    return before_ + "layers." + std::to_string(layer) + ".output";
  }

  void show(const char* name, const std::string& states) {
    const Tensor& all = states_.at(states);
    const std::size_t width = all.shape().back();
    show_vectors({named_vector(name, all.values<double>().subspan(choice_.query * width, width))},
                 to_);
  }

  void attention() {
    AttentionRequest& request = *attention_;
    request.weights = request.stages = true;
    request.progress = {};
    const Geometry geometry = check_geometry(request);
    const PlannedAttention planned{"", request.mask, geometry, {{labels_}, {key_labels_}}};
    const AttentionResult result = attend(request);
    explain_attention(ExplainedQuery(request, result, planned, {0, choice_.head, choice_.query}),
                      to_);
  }

  void answer() {
    const bool next = request_.folder->architecture.stacks.back().causal;
    to_.step("The likeliest tokens");
    to_.paragraph(next ? "The state becomes one logit for each token of the vocabulary, and a "
                         "softmax over them says what comes next:"
                       : "The state becomes one logit for each token of the vocabulary, and a "
                         "softmax over them says what stands here:");
    const Prediction prediction = prediction_of(choice_.query, *logits_, *request_.folder);
    Explanation::Column tokens{"token", {}, false, ""}, ids{"id", {}, true, ""};
    std::vector<double> logits, probabilities;
    for (const Prediction::Token& token : prediction.likeliest) {
      tokens.cells.push_back(token.text.empty() ? "" : "\"" + one_line(token.text) + "\"");
      ids.cells.push_back(std::to_string(token.id));
      logits.push_back(logits_->values<double>()[static_cast<std::size_t>(token.id)]);
      probabilities.push_back(token.probability);
    }
    to_.put(Explanation::Table{
        {tokens, ids, number_column("logit", logits), number_column("probability", probabilities)},
        Excerpt::all(logits.size()),
        ""});
  }

  ModelRequest request_;
  QueryChoice choice_;
  std::size_t layer_;
  Explanation& to_;
  bool both_, crosses_, decoder_;
  std::string before_;
  std::vector<std::string> labels_, key_labels_;
  std::optional<AttentionRequest> attention_;
  std::optional<Tensor> logits_;
  std::map<std::string, Tensor> states_;
};

}  // namespace

void explain_model(const ModelRequest& request, const PlannedAttention& attention,
                   QueryChoice choice, std::size_t layer, Explanation& explanation) {
  ModelWalk(request, attention, choice, layer, explanation).walk();
}

}  // namespace attn
