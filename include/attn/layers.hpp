#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// y = x Wᵀ + b with the weight W [out,in] and the bias b [out], which may be absent.
struct Linear {
  Tensor weight, bias;
};

/// The Linear layers around one attention (Vaswani et al. 2017, section 3.2.2). With H query heads
/// and G key heads of width d: query [H·d,in], key [G·d,in], value [G·dv,in], output [out,H·dv]. An
/// absent output weight means no output projection. The sigmoid of the gate [H·dv,in] of the
/// queries' states multiplies the joined heads before it.
struct Projections {
  Linear query, key, value, output;
  Linear gate = {};
};

/// The function between the two products of a feed-forward. relu_squared: max(0, x)² (So et al.
/// 2021). gelu: x·Φ(x), exact (Hendrycks and
/// Gimpel 2016); gelu_tanh: its approximation ½x(1 + tanh(√(2/π)(x + 0.044715x³))); gelu_bloom: the
/// approximation with BLOOM's rounded constant 0.79788456 for √(2/π); quick_gelu: x·σ(1.702x);
/// silu: x·σ(x).
enum class Activation { relu, relu_squared, gelu, gelu_tanh, gelu_bloom, quick_gelu, silu };

/// Where a layer's norms stand: norm(x + f(x)), or x + f(norm(x)) (Xiong et al. 2020).
enum class NormPlace { post, pre };

/// The learned weights of one layer of a transformer (Vaswani et al. 2017, section 3.1), by the
/// names of torch.nn.TransformerEncoderLayer and TransformerDecoderLayer. With states of width D
/// and a feed-forward of width F: linear1 and linear3 [F,D], linear2 [D,F], norms [D]. An encoder
/// layer leaves `multihead_attn` and `norm3` empty, a layer without a gate `linear3`.
struct TransformerLayer {
  Projections self_attn, multihead_attn;
  Linear linear1, linear2;
  Norm norm1, norm2, norm3;
  Linear linear3;
};

/// Scaled dot products of projected hidden states, the kinds `self`, `cross` and `multi_head`.
/// Query, key and value are the hidden states [L,D] or [B,L,D]. The past key and value are
/// projected already: [B,G,P,d] or [B,P,G·d], without the batch axis if the states have none.
/// Without `heads` there is one head, and the weights have no head axis.
struct ProjectedAttentionRequest : AttentionOptions {
  Sequences states;
  Projections projections;
};

/// Computes it; the output is [..,Lq,out]. Throws Error(input) as attend() does; a parameter is
/// named as in a document, "/parameters/W_q.weight".
AttentionResult attend_projected(const ProjectedAttentionRequest& request,
                                 const Progress& progress = {});

/// The encoder of a whole transformer.
struct EncoderStack {
  std::vector<TransformerLayer> layers;
  std::optional<Norm> last_norm;  ///< of what leaves the last layer
  Mask mask;
};

/// A stack of encoder or decoder layers, or with an `encoder` a whole transformer. The options hold
/// for both attentions of a layer, but mask, rotary, norms of query and key, relative bias, sinks,
/// expressions and gate for the self-attention alone, and not for an encoder's.
struct TransformerRequest : AttentionOptions {
  Tensor x;  ///< hidden states [L,D] or [B,L,D]
  std::optional<std::size_t> heads, kv_heads;
  bool decoder = false;
  /// Hidden states that a decoder's cross-attention reads, [Lm,D'] or [B,Lm,D']; with an encoder
  /// those that it makes them of.
  Tensor memory;
  Mask memory_mask;  ///< of the cross-attention
  /// The layers that `memory` passes before it is read, as in torch.nn.Transformer.
  std::optional<EncoderStack> encoder = {};
  /// "encoder" or "decoder" of a whole transformer, before the names of its layers; else empty.
  std::string stack = {};
  std::vector<TransformerLayer> layers;
  Activation activation = Activation::relu;
  /// Whether the activated linear1 is multiplied by linear3 (Shazeer 2020: SwiGLU with silu, GEGLU
  /// with gelu).
  bool gated = false;
  NormPlace norm = NormPlace::post;
  std::optional<Norm> last_norm = {};  ///< of what leaves the last layer
};

/// The hidden states [..,L,D] around one sub-layer f of a layer.
struct SubLayer {
  Tensor before;    ///< x
  Tensor input;     ///< x, or norm(x) where the norm comes first
  Tensor change;    ///< f(input)
  Tensor scaled;    ///< the change, or a multiple of it (Granite)
  Tensor branch;    ///< `scaled`, or its norm (Gemma 2, OLMo 2)
  Tensor residual;  ///< x; in some models the input, or the result of another sub-layer
  Tensor after;     ///< residual + branch, or its norm where that comes last
};

struct TransformerResult {
  /// The attentions of one layer.
  struct Layer {
    /// Their outputs [..,L,D], after the output projection, are there with `stages` alone.
    AttentionResult self, cross;
    /// With `stages`, in float64: self-attention, a decoder's cross-attention, feed-forward.
    std::vector<SubLayer> sublayers;
  };
  std::vector<Layer> layers;
  Tensor output;  ///< [..,L,D]
  /// Layers of the encoder and the memory that leaves it, of a request with one.
  std::vector<Layer> encoder_layers = {};
  Tensor memory = {};
};

/// Computes all layers. Float32 results of large stacks are computed in single precision. Throws
/// Error(input) as attend_projected() does; a parameter's name begins with that of its part,
/// "/parameters/self_attn.W_q.weight", in a stack of several with "layers.0.", and of a whole
/// transformer with "encoder.layers.0.".
TransformerResult transform(const TransformerRequest& request, const Progress& progress = {});

}  // namespace attn
