#pragma once

#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "kernels/row_functions.hpp"

namespace attn {

/// A function of a feed-forward and the constant it has, if any, as kernels::Curve tells.
struct ActivationCurve {
  kernels::Curve curve;
  double constant = 0;
};

/// f(x) in double precision.
double activated(double x, const ActivationCurve& by);

/// Makes of a product its activation; that of `gates` times it; its sum with `base`. Both tensors
/// have its shape and type.
Finish activating(const ActivationCurve& by);
Finish gating(const Tensor& gates, const ActivationCurve& by);
Finish adding(const Tensor& base);

}  // namespace attn
