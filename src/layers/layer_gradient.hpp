#pragma once

#include "attn/tensor.hpp"

#include "layers/layer.hpp"

namespace attn {

/// Derivatives of a number by what a layer reads, computes and writes, float64, of the shapes of
/// these. Those of parts that the layer does not have are absent.
struct LayerGradients {
  Tensor states;             ///< [B,L,D] that enter
  Tensor keys_from;          ///< of the states that another layer read (StepOptions::keys_from)
  Tensor query, key, value;  ///< of the self-attention's request
  Tensor weights;            ///< [B,H,L,Lk], hidden ones too, as if each were free
  Tensor heads;              ///< [B,L,H·dv] of the self-attention before it is projected
  Tensor feed_forward;       ///< [B,L,D] that it adds
};

/// Derivatives by the states that leave a layer, and, absent = none, by those that its
/// self-attention read, of which other layers make keys and values.
struct GradientsAbove {
  Tensor states, read;
};

/// Throws Error(input) at "/model" for a layer that has no reverse pass: one that mixes tokens
/// without attention weights.
void check_layer_gradients(const Layer& layer);

/// The reverse pass through step(), whose options may have `keys_from` and `layer_input` and change
/// nothing. States that enter are float64. The memory gets no gradient, nor do parameters; the
/// choice of experts is held.
LayerGradients layer_gradients(const Layer& layer, const Tensor& x, const Tensor& memory,
                               const StepOptions& options, const GradientsAbove& above);

/// Derivative of x [..,L,D], which a layer's feed-forward reads, given that of what it makes.
Tensor feed_forward_back(const Layer& layer, const Tensor& x, const Tensor& gradient);

}  // namespace attn
