#include "why/reverse_pass.hpp"

#include <cmath>
#include <utility>

#include "attention/gradient_rows.hpp"
#include "support/work_budget.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

ModelOptions in_doubles(ModelOptions options) {
  options.dtype = DType::float64;
  return options;
}

}  // namespace

ReversePass::ReversePass(const ModelPass& pass, bool weights)
    : PartialPass({pass.model, pass.weights, pass.texts, in_doubles(pass.options)}, weights) {
  for (const Layer& layer : layers_) check_layer_gradients(layer);
}

void ReversePass::choose(const std::vector<std::size_t>& tokens) {
  head_.words = head_.words.picked(tokens);
}

LogitGradients ReversePass::reversed(const Tensor& entering, std::size_t row) {
  begin();
  std::vector<Tensor> states{entering};
  for (std::size_t n = 0; n < stack_.count; ++n) {
    check_time();
    states.push_back(stepped(n, states[n], 0, {}));
  }
  LogitGradients all;
  all.leaving = head_back(states.back(), row, all.value);
  all.layers.resize(stack_.count);
  std::vector<Tensor> by_read(stack_.count);
  Tensor above = all.leaving;
  for (std::size_t n = stack_.count; n-- > 0;) {
    check_time();
    all.layers[n] = layer_gradients(layers_[n], states[n], own_.memory,
                                    beside(n, 1, 0, entering.shape()[1]), {above, by_read[n]});
    above = all.layers[n].states;
    if (!all.layers[n].keys_from) continue;
    Tensor& read = by_read[*model_.stacks.back().layers[n].keys_of];
    read = read ? sum(read, all.layers[n].keys_from) : all.layers[n].keys_from;
  }
  return all;
}

// By the states that leave the last layer, through its norm and the head.
Tensor ReversePass::head_back(const Tensor& leaving, std::size_t row, double& value) const {
  const std::size_t threads = options_.threads;
  const Tensor state = rows_from(leaving, row, 1), finished = stack_.finish(state);
  const Tensor logits = head_.logits(finished, model_.eps, threads);
  Numbers gradient;
  value = 0;
  for (std::size_t n = 0; n < logits.size(); ++n) {
    const double sign = n == 0 ? 1 : -1, logit = logits.values<double>()[n];
    const double capped = head_.softcap ? logit / *head_.softcap : 0;
    value += sign * logit;
    gradient.push_back(sign * head_.scale * (1 - capped * capped));
  }
  Tensor y = product_back(head_.words, Tensor(logits.shape(), std::move(gradient)), threads);
  if (head_.norm) {
    const Tensor bent = head_.dense ? head_.bent(finished, threads) : finished;
    y = norm_back(*head_.norm, bent, model_.eps, y);
  }
  if (head_.dense) {
    const auto of_activation = [&](double dy, double x) {
      if (head_.activation) return dy * slope(x, curve_of(*head_.activation));
      return dy * (1 - std::tanh(x) * std::tanh(x));
    };
    y = product_back(head_.dense,
                     mapped(threads, of_activation, y, apply(head_.dense, finished, threads)),
                     threads);
  }
  if (stack_.output_projection) y = product_back(stack_.output_projection, y, threads);
  if (stack_.final_norm) y = norm_back(*stack_.final_norm, state, stack_.options.eps, y);
  const std::size_t width = leaving.shape().back();
  Numbers all(leaving.size(), 0.0);
  std::ranges::copy(y.values<double>(), all.begin() + static_cast<std::ptrdiff_t>(row * width));
  return {leaving.shape(), std::move(all)};
}

}  // namespace attn
