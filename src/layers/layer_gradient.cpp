#include "layers/layer_gradient.hpp"

#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "attention/gradient_rows.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The layer with the sub-layers that it passed on the way, from the last one to the first.
class LayerBack {
 public:
  LayerBack(const Layer& layer, const Tensor& memory, const StepOptions& options, LayerStep step)
      : spec_(layer.spec),
        weights_(layer.weights),
        layer_(layer),
        memory_(memory),
        options_(options),
        step_(std::move(step)) {}

  LayerGradients back(const GradientsAbove& above) {
    Tensor y = above.states.converted(DType::float64);
    std::size_t at = step_.sublayers.size();
    if (spec_.parallel) return parallel(above, y);
    if (spec_.state_scale != 1) y = scaled(y, spec_.state_scale);
    if (weights_.layer_input) {
      const SubLayer& own = step_.sublayers[--at];
      const Around around = through(own, weights_.layer_input->norm, {}, y);
      y = sum(around.residual, layer_input_back(own.before, around.change));
    }
    if (weights_.feeds_forward()) {
      const SubLayer& own = step_.sublayers[--at];
      const Around around =
          through(own, weights_.after_feed_forward, weights_.after_feed_forward_sum, y);
      all_.feed_forward = around.added;
      y = into(own, around.residual, feed_forward_back(layer_, own.input, around.change),
               weights_.before_feed_forward);
    }
    if (weights_.cross.query) {
      const SubLayer& own = step_.sublayers[--at];
      const Around around = through(own, weights_.after_cross, weights_.after_cross_sum, y);
      y = sum(around.residual, normed_back(weights_.before_cross, own.before,
                                           attention(false, own.input, around.change)));
    }
    if (weights_.mixes_tokens()) {
      const SubLayer& own = step_.sublayers[--at];
      const Around around = through(own, weights_.after_attention, weights_.after_attention_sum, y);
      const Tensor input = with_read(attention(true, own.input, around.change), above);
      y = into(own, around.residual, input, weights_.before_attention);
    }
    all_.states = std::move(y);
    return std::move(all_);
  }

 private:
  // Derivatives around a sub-layer: by its residual, by what it adds, and by what it made.
  struct Around {
    Tensor residual, added, change;
  };

  static Tensor scaled(const Tensor& x, double factor) {
    return mapped(
        1, [=](double v) { return v * factor; }, x);
  }

  Tensor normed_back(const std::optional<Norm>& norm, const Tensor& x, const Tensor& y) const {
    return norm ? norm_back(*norm, x, spec_.self.eps, y) : y;
  }

  Around through(const SubLayer& own, const std::optional<Norm>& branch_norm,
                 const std::optional<Norm>& sum_norm, const Tensor& y) const {
    Around around;
    around.residual = sum_norm ? normed_back(sum_norm, sum(own.residual, own.branch), y) : y;
    around.added = around.residual;
    around.change = normed_back(branch_norm, own.scaled, around.added);
    if (spec_.branch_scale != 1) around.change = scaled(around.change, spec_.branch_scale);
    return around;
  }

  // By the states before a sub-layer, which the residual and its input are made of.
  Tensor into(const SubLayer& own, const Tensor& residual, const Tensor& input,
              const std::optional<Norm>& norm) const {
    if (spec_.residual_after_norm) return normed_back(norm, own.before, sum(residual, input));
    return sum(residual, normed_back(norm, own.before, input));
  }

  static Tensor with_read(Tensor input, const GradientsAbove& above) {
    return above.read ? sum(input, above.read) : input;
  }

  // Both sub-layers read what enters the layer, and their sum leaves it.
  LayerGradients parallel(const GradientsAbove& above, const Tensor& y) {
    const SubLayer &mixing = step_.sublayers[0], &feeding = step_.sublayers[1];
    const Around ahead = through(feeding, weights_.after_feed_forward, {}, y);
    all_.feed_forward = ahead.added;
    const Tensor fed = normed_back(weights_.before_feed_forward, feeding.before,
                                   feed_forward_back(layer_, feeding.input, ahead.change));
    const Around around = through(mixing, weights_.after_attention, {}, ahead.residual);
    const Tensor input = with_read(attention(true, mixing.input, around.change), above);
    all_.states = sum(fed, into(mixing, around.residual, input, weights_.before_attention));
    return std::move(all_);
  }

  // By the states that an attention reads, given the derivative of what it makes.
  Tensor attention(bool self, const Tensor& states, const Tensor& change) {
    const AttentionWeights& weights = self ? weights_.self : weights_.cross;
    const AttentionRequest& made = self ? step_.self_request : step_.cross_request;
    const Tensor heads =
        weights.output ? product_back(weights.output, change, spec_.self.threads) : change;
    AttentionRequest request = made;
    request.stages = request.weights = false;
    request.pool.reset();
    request.dtype = DType::float64;
    ProjectedGradients rows;
    for (auto& [name, gradient] : gradients_of(request, heads)) {
      if (name == "query") rows.query = std::move(gradient);
      if (name == "key") rows.key = std::move(gradient);
      if (name == "value") rows.value = std::move(gradient);
      if (name == "gate") rows.gate = std::move(gradient);
      if (name == "bias" && self && weights_.distances) rows.bias = std::move(gradient);
    }
    if (rows.bias) add_disentangled_back(*weights_.distances, request, options_.types, rows);
    if (self) {
      all_.heads = heads;
      all_.query = rows.query;
      all_.key = rows.key;
      all_.value = rows.value;
      all_.weights = weight_gradients(request, heads);
      if (spec_.growth) rows.query = grown_back(rows.query);
    }
    Sequences read{states, self ? options_.keys_from : memory_};
    read.heads = spec_.heads;
    read.kv_heads = spec_.kv_heads;
    StatesGradients back = project_back(self ? spec_.self : spec_.cross, read, weights, rows);
    if (self) all_.keys_from = std::move(back.key);
    return back.query;
  }

  // Through the factors of queries, of which the last one stands at the last key.
  Tensor grown_back(const Tensor& gradient) const {
    Numbers numbers = elements_of(gradient);
    const std::size_t width = gradient.shape().back(),
                      length = gradient.shape()[gradient.rank() - 2];
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      numbers[n] *= spec_.growth->at(n / width % length);
    }
    return {gradient.shape(), std::move(numbers)};
  }

  Tensor layer_input_back(const Tensor& states, const Tensor& change) const {
    const LayerInput& own = *weights_.layer_input;
    const std::size_t threads = spec_.self.threads;
    const ActivationCurve curve = curve_of(spec_.activation);
    const Tensor gated = product_back(own.projection, change, threads);
    return product_back(
        own.gate,
        mapped(
            threads,
            [&](double dy, double gate, double input) { return dy * input * slope(gate, curve); },
            gated, apply(own.gate, states, threads),
            options_.layer_input.converted(DType::float64)),
        threads);
  }

  const LayerSpec& spec_;
  const LayerWeights& weights_;
  const Layer& layer_;
  const Tensor& memory_;
  const StepOptions& options_;
  LayerStep step_;
  LayerGradients all_;
};

}  // namespace

void check_layer_gradients(const Layer& layer) {
  const LayerWeights& of = layer.weights;
  if (of.streams) {
    throw input_error(translated("there are no gradients through streams of states"), "/model",
                      translated("leave gradients out"));
  }
  if (!of.mixer && !of.input_convolution) return;
  throw input_error(
      translated("there are no gradients through layers that mix tokens without attention weights"),
      "/model", translated("leave gradients out, or patch parts one at a time"));
}

LayerGradients layer_gradients(const Layer& layer, const Tensor& x, const Tensor& memory,
                               const StepOptions& options, const GradientsAbove& above) {
  check_layer_gradients(layer);
  StepOptions inside = options;
  inside.inside = true;
  return LayerBack(layer, memory, options, step(layer, x, memory, inside)).back(above);
}

}  // namespace attn
