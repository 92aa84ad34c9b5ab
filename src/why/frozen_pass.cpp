#include "why/frozen_pass.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "attention/attention_name.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The layers up to that of the attention; all without one.
std::optional<std::vector<std::size_t>> layers_up_to(const FrozenChoice& choice) {
  if (!choice.attention) return std::nullopt;
  std::vector<std::size_t> layers(choice.attention->layer + 1);
  std::iota(layers.begin(), layers.end(), std::size_t{0});
  return layers;
}

class Freezer {
 public:
  Freezer(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& text,
          const ModelOptions& options, const FrozenChoice& choice)
      : model_(model), weights_(weights), text_(text), options_(options), choice_(choice) {
    options_.dtype = DType::float64;
    options_.weights = true;
    options_.stages = options_.logits = false;
    options_.predicted.clear();
    options_.rows = {};
    options_.lens = {};
    options_.layers = layers_up_to(choice);
  }

  FrozenPass pass() {
    const ModelStack& own = model_.stacks[choice_.decoder ? 1 : 0];
    frozen_.stack = model_.result_stack(own);
    frozen_.positions = choice_.positions;
    const std::string prefix = find_prefix(weights_, model_);
    const Stack stack = read_stack(model_, weights_, own, prefix, options_);
    embed(stack, own);
    options_.inside = [&](std::size_t, const std::string& name, const Layer& layer,
                          const LayerStep& step) {
      const std::size_t n = frozen_.layers.size();
      if (name == layer_prefix(frozen_.stack, n)) keep(n, layer, step);
    };
    options_.finished = [&](const Tensor& states) { frozen_.output = states; };
    run_model(model_, weights_, text_, options_, [&](const std::string& name, Tensor tensor) {
      if (name == "encoder.output") frozen_.memory = std::move(tensor);
    });
    if (!choice_.attention) {
      frozen_.final_norm = norm(stack.final_norm, last_);
      frozen_.output_projection = stack.output_projection;
    }
    return std::move(frozen_);
  }

 private:
  FrozenNorm norm(const std::optional<Norm>& of, const Tensor& x) const {
    return of ? FrozenNorm(of, rows_at(x, choice_.positions), model_.eps) : FrozenNorm();
  }
  FrozenNorm norm_of_sum(const std::optional<Norm>& of, const SubLayer& in) const {
    return of ? norm(of, sum(in.residual, in.branch)) : FrozenNorm();
  }

  void embed(const Stack& stack, const ModelStack& own) {
    static const std::vector<std::int64_t> none;
    const bool typed = !own.crosses && !text_.types.empty();
    const EmbeddedTerms terms = embedded_terms(stack.embedding, text_.read_by(own).front(),
                                               typed ? text_.types.front() : none, stack.options);
    Tensor x;
    const auto add = [&](const char* name, const Tensor& term) {
      if (!term) return;
      frozen_.embedded_names.emplace_back(name);
      frozen_.embedded.push_back(rows_at(term, choice_.positions));
      x = x ? sum(x, term) : term;
    };
    add("embedding", terms.tokens);
    add("position", terms.positions);
    add("token_type", terms.types);
    frozen_.embedding_norm = norm(stack.embedding.norm, x);
    if (!terms.projected) frozen_.embedding_projection = stack.embedding.projection;
  }

  void keep(std::size_t n, const Layer& layer, const LayerStep& step) {
    const LayerSpec& spec = layer.spec;
    const LayerWeights& weights = layer.weights;
    const bool at_layer = choice_.attention && choice_.attention->layer == n;
    auto in = step.sublayers.begin();
    std::vector<FrozenSubLayer> all;

    const FrozenNorm read = norm(weights.before_attention, in->before);
    if (at_layer && !choice_.attention->crosses) {
      frozen_.attention = {spec, weights.self, read, step.self_request, step.self.weights};
      return;
    }
    FrozenSubLayer self = attention(Branch::self, layer, step);
    if (spec.residual_after_norm) self.on_stream = read;
    self.on_branch = norm(weights.after_attention, in->change);
    if (!spec.parallel) self.on_sum = norm_of_sum(weights.after_attention_sum, *in);
    all.push_back(std::move(self));
    ++in;
    if (weights.cross.query) {
      if (at_layer) {
        frozen_.attention = {spec, weights.cross, norm(weights.before_cross, in->before),
                             step.cross_request, step.cross.weights};
        frozen_.layers.push_back(std::move(all));
        return;
      }
      FrozenSubLayer cross = attention(Branch::cross, layer, step);
      cross.on_sum = norm_of_sum(weights.after_cross_sum, *in);
      all.push_back(std::move(cross));
      ++in;
    }
    FrozenSubLayer feed;
    feed.branch = Branch::feed_forward;
    feed.change = rows_at(in->branch, choice_.positions);
    if (!spec.parallel) {
      if (spec.residual_after_norm) {
        feed.on_stream = norm(weights.before_feed_forward, in->before);
      }
      feed.on_sum = norm_of_sum(weights.after_feed_forward_sum, *in);
    }
    all.push_back(std::move(feed));
    frozen_.layers.push_back(std::move(all));
    last_ = step.states;
  }

  FrozenSubLayer attention(Branch branch, const Layer& layer, const LayerStep& step) const {
    const bool crosses = branch == Branch::cross;
    const AttentionResult& result = crosses ? step.cross : step.self;
    FrozenSubLayer own;
    own.branch = branch;
    own.heads = layer.spec.heads.value_or(1);
    own.outputs = rows_at(result.output, choice_.positions);
    own.projection = (crosses ? layer.weights.cross : layer.weights.self).output;
    Rows weights_read = weights_of(result.weights, own.heads);
    for (std::size_t i = 0; i < weights_read.count(); ++i) {
      const double* row = weights_read.row(i);
      own.strongest.push_back(
          static_cast<std::size_t>(std::max_element(row, row + weights_read.width) - row));
    }
    if (choice_.attention) return own;
    const AttentionRequest& request = crosses ? step.cross_request : step.self_request;
    own.values = all_rows(value_of(request.score));
    own.weights = std::move(weights_read);
    return own;
  }

  static Rows all_rows(const Tensor& tensor) {
    std::vector<std::size_t> all(tensor.size() / tensor.shape().back());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return rows_at(tensor, all);
  }

  // Rows of the weights [1,H,Lq,Lk], the heads of a position one after the other.
  Rows weights_of(const Tensor& weights, std::size_t heads) const {
    const std::size_t queries = weights.shape()[2];
    std::vector<std::size_t> rows;
    for (const std::size_t position : choice_.positions) {
      for (std::size_t h = 0; h < heads; ++h) rows.push_back(h * queries + position);
    }
    return rows_at(weights, rows);
  }

  const Architecture& model_;
  const CheckpointWeights& weights_;
  const ModelTexts& text_;
  ModelOptions options_;
  const FrozenChoice& choice_;
  FrozenPass frozen_;
  Tensor last_;  // states after the last layer
};

}  // namespace

FrozenPass freeze(const Architecture& model, const CheckpointWeights& weights,
                  const ModelTexts& text, const ModelOptions& options, const FrozenChoice& choice) {
  return Freezer(model, weights, text, options, choice).pass();
}

}  // namespace attn
