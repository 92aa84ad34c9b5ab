#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "attn/tensor.hpp"

namespace attn {

/// Random numbers of CPU PyTorch in float32 after torch.manual_seed. Uniform numbers are equal to
/// the bit; normal numbers differ by up to 2e-6, because logarithm and cosine come from another
/// library. Source: aten/src/ATen/native/cpu/DistributionTemplates.h and
/// ATen/core/DistributionsHelper.h of PyTorch 1.13.
class TorchRandom {
 public:
  /// Only the low 32 bits of the seed are used, as in PyTorch.
  explicit TorchRandom(std::uint64_t seed);
  ~TorchRandom();
  /// A copy draws the numbers that the original would draw next.
  TorchRandom(const TorchRandom& other);
  TorchRandom& operator=(const TorchRandom& other);

  /// torch.rand and Tensor.uniform_(low, high), from 24 random bits per number.
  void uniform(std::span<float> numbers, float low = 0, float high = 1);

  /// torch.randn. Sixteen numbers or more are drawn in groups of sixteen. Fewer are drawn one by
  /// one, and the second number of a pair is kept for the next such draw.
  void normal(std::span<float> numbers);

  /// torch.nn.functional.dropout without MKL: 1 with the probability `keep`, else 0, from 53 random
  /// bits per number.
  void bernoulli(std::span<std::uint8_t> kept, double keep);

 private:
  struct Engine;

  double uniform53();
  double normal_one_by_one();

  std::unique_ptr<Engine> engine_;
  std::optional<double> kept_;
};

/// float32 tensor of this shape from torch.randn or torch.rand.
Tensor torch_randn(TorchRandom& random, Shape shape);
Tensor torch_rand(TorchRandom& random, Shape shape);

/// Weight [outputs,inputs] of a new torch.nn.Linear: uniform in ±1/√inputs (kaiming_uniform_ with
/// a = √5).
Tensor torch_linear_weight(TorchRandom& random, std::size_t outputs, std::size_t inputs);

/// Bias [outputs] of a new torch.nn.Linear, drawn after its weight: uniform in ±1/√inputs.
Tensor torch_linear_bias(TorchRandom& random, std::size_t outputs, std::size_t inputs);

}  // namespace attn
