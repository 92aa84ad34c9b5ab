#include "layers/recurrent_mixers.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "layers/layer.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

// Divides numbers by the root of their mean square and multiplies them by the weights.
void norm_by_size(std::span<double> row, const double* weights, double eps) {
  double squares = 0;
  for (const double x : row) squares += x * x;
  const double size = std::sqrt(squares / static_cast<double>(row.size()) + eps);
  for (std::size_t i = 0; i < row.size(); ++i) row[i] *= weights[i] / size;
}

class StateSpacePass : RecurrentPass {
 public:
  StateSpacePass(const StateSpace& rule, const Tensor& x, double eps, std::size_t threads,
                 MixerState& state)
      : RecurrentPass(x, eps, threads, state),
        rule_(rule),
        sizes_(rule.sizes),
        rates_(doubles_of(rule.decay_log)),
        skips_(doubles_of(rule.skip)),
        biases_(doubles_of(rule.step_bias)) {
    for (double& rate : rates_) rate = -std::exp(rate);
    // In double precision also where x is not: memories are sums over the whole text.
    const Tensor states = x.converted(DType::float64);
    gates_ = apply(rule.gate, states, threads);
    convolve(states);
  }

  Tensor pass() {
    outputs_.resize(tokens_ * sizes_.inner());
    read_heads(sizes_.heads, sizes_.width * sizes_.states,
               [&](std::size_t text, std::size_t head, std::span<double> memory) {
                 read_head(text, head, memory);
               });
    const std::vector<double> norm = rule_.norm ? doubles_of(rule_.norm) : std::vector<double>();
    parallel_for(tokens_, threads_, [&](std::size_t at) { finish(at, norm); });
    return result(sizes_.inner());
  }

 private:
  // x, B, C and the steps of all tokens.
  void convolve(const Tensor& states) {
    convolved_ = convolved(rule_.convolution, apply(rule_.channels, states, threads_), length_,
                           threads_, state_);
    const ActivationCurve curve = curve_of(rule_.activation);
    for (double& x : convolved_) x = activated(x, curve);
    if (sizes_.rank == 0) {
      steps_ = apply(rule_.step, states, threads_);
      selected_ = convolved_.data() + sizes_.inner();
      selected_stride_ = sizes_.channels();
      return;
    }
    const Tensor channels = Tensor({tokens_, sizes_.inner()}, std::vector<double>(convolved_));
    selection_ = doubles_of(apply(rule_.selection, channels, threads_));
    const std::size_t rank = sizes_.rank, n = sizes_.states, all = rank + 2 * n;
    std::vector<double> narrow;
    for (std::size_t at = 0; at < tokens_; ++at) {
      const std::span<double> row = part_of(selection_, at, all);
      std::size_t first = 0;
      for (const auto& [norm, size] :
           {std::pair(&rule_.step_norm, rank), std::pair(&rule_.input_norm, n),
            std::pair(&rule_.output_norm, n)}) {
        if (*norm) norm_by_size(row.subspan(first, size), doubles_of(*norm).data(), eps_);
        first += size;
      }
      narrow.insert(narrow.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(rank));
    }
    steps_ = apply(rule_.step, Tensor({tokens_, rank}, std::move(narrow)), threads_);
    selected_ = selection_.data() + rank;
    selected_stride_ = all;
  }

  // The tokens of a text through the memory [p,n] of a head.
  void read_head(std::size_t text, std::size_t head, std::span<double> memory) {
    const std::size_t heads = sizes_.heads, n = sizes_.states, wide = sizes_.width;
    const std::size_t group = head / (heads / sizes_.groups);
    const bool one_rate = rates_.size() == heads;
    std::vector<double> kept(n);
    for (std::size_t at = text * length_; at < (text + 1) * length_; ++at) {
      const double* input = selected_ + at * selected_stride_ + group * n;
      const double* output = input + sizes_.groups * n;
      const double* x = convolved_.data() + at * sizes_.channels() + head * wide;
      const double step =
          std::clamp(softplus(steps_.values<double>()[at * heads + head] + biases_[head]),
                     sizes_.least_step, sizes_.most_step);
      for (std::size_t k = 0; k < n; ++k) {
        kept[k] =
            k > 0 && one_rate ? kept[0] : std::exp(step * rates_[one_rate ? head : head * n + k]);
      }
      const std::span<double> y = part_of(outputs_, at * heads + head, wide);
      for (std::size_t j = 0; j < wide; ++j) {
        double* line = memory.data() + j * n;
        double sum = 0;
        for (std::size_t k = 0; k < n; ++k) {
          line[k] = line[k] * kept[k] + step * x[j] * input[k];
          sum += line[k] * output[k];
        }
        y[j] = sum + skips_[head] * x[j];
      }
    }
  }

  // The gate of a token's outputs, and their norm.
  void finish(std::size_t at, const std::vector<double>& norm) {
    const std::span<double> y = part_of(outputs_, at, sizes_.inner());
    const std::span<const double> gates =
        gates_.values<double>().subspan(at * sizes_.inner(), sizes_.inner());
    const ActivationCurve silu = curve_of(Activation::silu);
    const auto gate = [&] {
      for (std::size_t i = 0; i < y.size(); ++i) y[i] *= activated(gates[i], silu);
    };
    if (norm.empty() || !sizes_.norm_before_gate) gate();
    if (norm.empty()) return;
    const std::size_t size = y.size() / sizes_.groups;
    for (std::size_t g = 0; g < sizes_.groups; ++g) {
      norm_by_size(y.subspan(g * size, size), norm.data() + g * size, eps_);
    }
    if (sizes_.norm_before_gate) gate();
  }

  const StateSpace& rule_;
  const StateSpaceSizes& sizes_;
  std::vector<double> rates_, skips_, biases_;
  Tensor gates_, steps_;
  std::vector<double> selection_;
  // B of the first token, with C behind that of all groups; numbers from one token to the next.
  const double* selected_ = nullptr;
  std::size_t selected_stride_ = 0;
};

}  // namespace

Tensor short_convolution(const ShortConvolution& rule, const Tensor& x, std::size_t threads,
                         MixerState& state) {
  const std::size_t width = rule.convolution.weight.shape()[0], length = x.shape()[x.rank() - 2],
                    tokens = x.size() / x.shape().back();
  const Tensor parts = apply(rule.parts, x.converted(DType::float64), threads);
  const auto part = [&](std::size_t at, std::size_t number) {
    return parts.values<double>().subspan((3 * at + number) * width, width);
  };
  std::vector<double> gated;
  for (std::size_t at = 0; at < tokens; ++at) {
    for (std::size_t c = 0; c < width; ++c) gated.push_back(part(at, 0)[c] * part(at, 2)[c]);
  }
  std::vector<double> result = convolved(
      rule.convolution, Tensor({tokens, width}, std::move(gated)), length, threads, state);
  for (std::size_t at = 0; at < tokens; ++at) {
    for (std::size_t c = 0; c < width; ++c) result[at * width + c] *= part(at, 1)[c];
  }
  Shape shape = x.shape();
  shape.back() = width;
  return Tensor(std::move(shape), std::move(result)).converted(x.dtype());
}

Tensor state_space(const StateSpace& rule, const Tensor& x, double eps, std::size_t threads,
                   MixerState& state) {
  return StateSpacePass(rule, x, eps, threads, state).pass();
}

}  // namespace attn
