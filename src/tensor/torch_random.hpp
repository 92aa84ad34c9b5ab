#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <span>

#include "attn/tensor.hpp"

namespace attn {

/// The numbers CPU PyTorch draws in float32 after torch.manual_seed: the uniform ones are the same,
/// the normal ones differ by up to 2e-6, because their logarithm and cosine come from another
/// mathematical library. Source:
/// aten/src/ATen/native/cpu/DistributionTemplates.h and ATen/core/DistributionsHelper.h of
/// PyTorch 1.13.
class TorchRandom {
 public:
  /// Only the low 32 bits of the seed count, as in PyTorch.
  explicit TorchRandom(std::uint64_t seed);

  /// torch.rand, Tensor.uniform_(low, high): 24 random bits a number.
  void uniform(std::span<float> numbers, float low = 0, float high = 1);

  /// torch.randn. Sixteen numbers and more are made sixteen at a time, fewer one after the other
  /// with the second number of a pair kept for the next such draw.
  void normal(std::span<float> numbers);

  /// torch.nn.functional.dropout without MKL: which numbers are kept, each with the probability
  /// `keep`, from 53 random bits.
  void bernoulli(std::span<std::uint8_t> kept, double keep);

 private:
  double uniform53();
  double normal_one_by_one();

  std::mt19937 engine_;
  std::optional<double> kept_;
};

/// A tensor of the shape filled by torch.randn or torch.rand.
Tensor torch_randn(TorchRandom& random, Shape shape);
Tensor torch_rand(TorchRandom& random, Shape shape);

/// The weight [outputs, inputs] of a new torch.nn.Linear: uniform in ±1/√inputs (kaiming_uniform_
/// with a = √5).
Tensor torch_linear_weight(TorchRandom& random, std::size_t outputs, std::size_t inputs);

/// The bias [outputs] of a new torch.nn.Linear, drawn after its weight: uniform in ±1/√inputs.
Tensor torch_linear_bias(TorchRandom& random, std::size_t outputs, std::size_t inputs);

}  // namespace attn
