#pragma once

#include <cstddef>
#include <vector>

#include "attn/tensor.hpp"

#include "layers/layer_gradient.hpp"
#include "why/partial_pass.hpp"

namespace attn {

/// Derivatives of a logit, or of the difference of two, by all that a text's pass through the last
/// stack reads and computes; each is held where another one is taken.
struct LogitGradients {
  double value = 0;  ///< the logit or the difference
  std::vector<LayerGradients> layers;
  Tensor leaving;  ///< [1,L,D], by the states that leave the last layer
};

/// Passes forward and back through the layers of a model's last stack. What layers read of the
/// tokens themselves, and what an encoder makes, stays as it is.
class ReversePass : protected PartialPass {
 protected:
  /// As PartialPass, in double precision. `weights`: whether those of layers are kept. Throws
  /// Error(input) for layers without a reverse pass.
  ReversePass(const ModelPass& pass, bool weights);

  /// Takes the logits of those tokens, of which the second one counts negatively.
  void choose(const std::vector<std::size_t>& tokens);

  /// Derivatives of the logits at a row for states [1,L,D] that enter the first layer.
  LogitGradients reversed(const Tensor& entering, std::size_t row);

 private:
  Tensor head_back(const Tensor& leaving, std::size_t row, double& value) const;
};

}  // namespace attn
