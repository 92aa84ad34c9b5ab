#include "layers/causal_convolution.hpp"

#include <utility>

#include "support/parallel_for.hpp"

namespace attn {

std::vector<double> doubles_of(const Tensor& tensor) {
  const Tensor numbers = tensor.converted(DType::float64);
  return {numbers.values<double>().begin(), numbers.values<double>().end()};
}

std::vector<double> convolved(const CausalConvolution& convolution, const Tensor& channels,
                              std::size_t length, std::size_t threads, MixerState& state) {
  const std::size_t width = convolution.weight.shape()[0], kernel = convolution.weight.shape()[1];
  const std::size_t tokens = channels.size() / width, texts = tokens / length, before = kernel - 1;
  const std::vector<double> weights = doubles_of(convolution.weight);
  const std::vector<double> biases =
      convolution.bias ? doubles_of(convolution.bias) : std::vector<double>(width, 0);
  state.channels.resize(texts * before * width, 0);
  // The channels of a text's token; those of negative numbers were read before.
  const auto row = [&](std::size_t text, std::ptrdiff_t token) {
    return token >= 0
               ? channels.values<double>().data() +
                     (text * length + static_cast<std::size_t>(token)) * width
               : state.channels.data() +
                     (text * before +
                      static_cast<std::size_t>(static_cast<std::ptrdiff_t>(before) + token)) *
                         width;
  };
  std::vector<double> result(tokens * width);
  parallel_for(tokens, threads, [&](std::size_t at) {
    const auto token = static_cast<std::ptrdiff_t>(at % length);
    const std::span<double> to = part_of(result, at, width);
    for (std::size_t k = 0; k < kernel; ++k) {
      const double* from = row(at / length, token - static_cast<std::ptrdiff_t>(before - k));
      const double* weight = weights.data() + k;
      for (std::size_t c = 0; c < width; ++c) to[c] += weight[c * kernel] * from[c];
    }
    for (std::size_t c = 0; c < width; ++c) to[c] += biases[c];
  });
  std::vector<double> kept;
  kept.reserve(texts * before * width);
  for (std::size_t text = 0; text < texts; ++text) {
    for (std::size_t k = 0; k < before; ++k) {
      const double* from =
          row(text, static_cast<std::ptrdiff_t>(length + k) - static_cast<std::ptrdiff_t>(before));
      kept.insert(kept.end(), from, from + width);
    }
  }
  state.channels = std::move(kept);
  return result;
}

RecurrentPass::RecurrentPass(const Tensor& x, double eps, std::size_t threads, MixerState& state)
    : eps_(eps),
      threads_(threads),
      state_(state),
      length_(x.shape()[x.rank() - 2]),
      tokens_(x.size() / x.shape().back()),
      shape_(x.shape()),
      type_(x.dtype()) {}

void RecurrentPass::read_heads(
    std::size_t heads, std::size_t size,
    const std::function<void(std::size_t text, std::size_t head, std::span<double> memory)>& read) {
  const std::size_t all = tokens_ / length_ * heads;
  state_.memory.resize(all * size, 0);
  parallel_for(all, threads_, [&](std::size_t task) {
    read(task / heads, task % heads, part_of(state_.memory, task, size));
  });
}

Tensor RecurrentPass::result(std::size_t width) {
  shape_.back() = width;
  return Tensor(shape_, std::move(outputs_)).converted(type_);
}

}  // namespace attn
