#include "layers/delta_rule.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "layers/layer.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

double silu(double x) {
  return activated(x, curve_of(Activation::silu));
}

// Divides a query or a key by its length.
void divide_by_length(std::span<double> row, double scale) {
  constexpr double eps = 1e-6;
  double squares = eps;
  for (const double x : row) squares += x * x;
  for (double& x : row) x *= scale / std::sqrt(squares);
}

class DeltaPass : RecurrentPass {
 public:
  DeltaPass(const DeltaRule& rule, const Tensor& x, double eps, std::size_t threads,
            MixerState& state)
      : RecurrentPass(x, eps, threads, state),
        sizes_(rule.sizes),
        convolution_(rule.convolution),
        rates_(doubles_of(rule.decay_log)),
        biases_(doubles_of(rule.decay_bias)),
        norm_(doubles_of(rule.norm)) {
    for (double& rate : rates_) rate = -std::exp(rate);
    // Computes in double precision also where x is not: short queries, keys and outputs are divided
    // by their lengths, which leaves little of what single precision knows of them.
    const Tensor states = x.converted(DType::float64);
    const auto products = [&](const StoredLinear& linear) {
      return apply(linear, states, threads);
    };
    channels_ = products(rule.query_key_value);
    gates_ = products(rule.gate);
    strengths_ = products(rule.strength);
    decays_ = products(rule.decay);
  }

  Tensor pass() {
    const std::size_t heads = sizes_.value_heads, width = heads * sizes_.value_width;
    convolve();
    outputs_.resize(tokens_ * width);
    read_heads(heads, sizes_.key_width * sizes_.value_width,
               [&](std::size_t text, std::size_t head, std::span<double> memory) {
                 read_head(text, head, memory);
               });
    return result(width);
  }

 private:
  // Queries, keys and values of all tokens [tokens,C].
  void convolve() {
    convolved_ = convolved({convolution_, {}}, channels_, length_, threads_, state_);
    parallel_for(tokens_, threads_, [&](std::size_t at) {
      const std::span<double> to = part_of(convolved_, at, sizes_.channels());
      for (double& x : to) x = silu(x);
      const double scale = 1 / std::sqrt(static_cast<double>(sizes_.key_width));
      for (std::size_t head = 0; head < 2 * sizes_.key_heads; ++head) {
        divide_by_length(to.subspan(head * sizes_.key_width, sizes_.key_width),
                         head < sizes_.key_heads ? scale : 1);
      }
    });
  }

  // The tokens of a text through the memory [dk,dv] of a head.
  void read_head(std::size_t text, std::size_t head, std::span<double> memory) {
    const std::size_t heads = sizes_.value_heads, wide = sizes_.value_width, dk = sizes_.key_width;
    const std::size_t group = head / (heads / sizes_.key_heads);
    const std::size_t keys = sizes_.key_heads * dk;
    std::vector<double> change(wide);
    for (std::size_t at = text * length_; at < (text + 1) * length_; ++at) {
      const double* row = convolved_.data() + at * sizes_.channels();
      const double *query = row + group * dk, *key = query + keys,
                   *value = row + 2 * keys + head * wide;
      const double decay = decays_.values<double>()[at * heads + head];
      const double kept = std::exp(rates_[head] * softplus(decay + biases_[head]));
      const double strength = sigmoid(strengths_.values<double>()[at * heads + head]);
      std::copy_n(value, wide, change.begin());
      for (std::size_t i = 0; i < dk; ++i) {
        double* line = memory.data() + i * wide;
        for (std::size_t j = 0; j < wide; ++j) {
          line[j] *= kept;
          change[j] -= line[j] * key[i];
        }
      }
      for (double& x : change) x *= strength;
      const std::span<double> output = part_of(outputs_, at * heads + head, wide);
      for (std::size_t i = 0; i < dk; ++i) {
        double* line = memory.data() + i * wide;
        for (std::size_t j = 0; j < wide; ++j) {
          line[j] += key[i] * change[j];
          output[j] += query[i] * line[j];
        }
      }
      finish(output, gates_.values<double>().subspan((at * heads + head) * wide, wide));
    }
  }

  // The RMS norm of a head's output, and its gate.
  void finish(std::span<double> output, std::span<const double> gate) const {
    double squares = 0;
    for (const double x : output) squares += x * x;
    const double size = std::sqrt(squares / static_cast<double>(output.size()) + eps_);
    for (std::size_t j = 0; j < output.size(); ++j) {
      output[j] *= norm_[j] / size * silu(gate[j]);
    }
  }

  const DeltaSizes& sizes_;
  const Tensor& convolution_;
  std::vector<double> rates_, biases_;  // of the decays [H]
  std::vector<double> norm_;            // [dv]
  Tensor channels_, gates_, strengths_, decays_;
};

}  // namespace

Tensor delta_rule(const DeltaRule& rule, const Tensor& x, double eps, std::size_t threads,
                  MixerState& state) {
  return DeltaPass(rule, x, eps, threads, state).pass();
}

}  // namespace attn
