#pragma once

#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "kernels/row_functions.hpp"

namespace attn {

/// A function of a feed-forward and its constant, if kernels::Curve has one.
struct ActivationCurve {
  kernels::Curve curve;
  double constant = 0;
};

/// f(x) in double precision.
double activated(double x, const ActivationCurve& by);

/// Replace a product by its activation, by the activation of `gates` times the product, by its sum
/// with `base`. Both tensors have the product's shape and type.
Finish activating(const ActivationCurve& by);
Finish gating(const Tensor& gates, const ActivationCurve& by);
Finish adding(const Tensor& base);

}  // namespace attn
