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
  ModelWalk(const ModelRequest& given, const Plan& plan, QueryChoice choice, std::size_t layer,
            Explanation& to)
      : request_(given), choice_(choice), layer_(layer), to_(to) {
    keep_sample(request_.texts, choice.sample);
    const Architecture& model = request_.folder->architecture;
    before_ = model.encoder_decoder() ? "encoder." : "";
    length_ = request_.texts.ids[0].size();
    if (choice.query >= length_) {
      throw input_error("there is no query " + std::to_string(choice.query) + ": the sample has " +
                            count_text(length_, "token"),
                        "ExplainOptions::query", "give 0 to " + std::to_string(length_ - 1));
    }
    for (const PlannedAttention& attention : plan.attentions) {
      if (!attention.prefix.starts_with(before_)) continue;
      labels_ = Labels::of_sample(attention.labels.query, choice.sample);
      labels_.resize(length_);
      break;
    }
    compute(model);
  }

  void walk() {
    const std::string layer = "layer " + std::to_string(layer_);
    to_.part("Into " + layer);
    to_.step("The token's embedding");
    to_.paragraph("\"" + one_line(labels_[choice_.query]) + "\" is the token " +
                  std::to_string(request_.texts.ids[0][choice_.query]) +
                  " of the vocabulary. Its row of the table, with what positions and norms add "
                  "before the first layer:");
    show("x", before_ + "embedded");
    if (layer_ > 0) {
      to_.step("What enters " + layer);
      show("x", output_of(layer_ - 1));
    }
    to_.part("Head " + std::to_string(choice_.head) + " of " + layer);
    attention();
    to_.part("Out of " + layer);
    to_.step("What leaves " + layer);
    to_.paragraph(
        "The heads joined and projected, added to what entered, and what the feed-forward adds:");
    show("x", output_of(layer_));
    if (before_.empty()) {
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
    if (before_.empty() && has_head(model, request_.folder->weights)) {
      request_.predicted = {{choice_.query}};
    }
    const std::string wanted = before_ + "layers." + std::to_string(layer_) + ".self.";
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
    Labels labels{{labels_}, {labels_}};
    // A sink stands before all keys.
    if (geometry.past > 0) labels.key[0].insert(labels.key[0].begin(), "(sink)");
    const PlannedAttention planned{"", request.mask, geometry, std::move(labels)};
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
  std::size_t layer_, length_ = 0;
  Explanation& to_;
  std::string before_;
  std::vector<std::string> labels_;
  std::optional<AttentionRequest> attention_;
  std::optional<Tensor> logits_;
  std::map<std::string, Tensor> states_;
};

}  // namespace

void explain_model(const ModelRequest& request, const Plan& plan, QueryChoice choice,
                   std::size_t layer, Explanation& explanation) {
  ModelWalk(request, plan, choice, layer, explanation).walk();
}

}  // namespace attn
