#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// y = x Wᵀ + b with the weight W [out,in] and the bias b [out], which may be absent.
struct Linear {
  Tensor weight, bias;
};

/// The Linear layers around one attention (Vaswani et al. 2017, section 3.2.2). With H query heads
/// and G key heads of width d: query [H·d, in], key [G·d, in], value [G·dv, in], output [out,
/// H·dv]; an absent output weight means no output projection.
struct Projections {
  Linear query, key, value, output;
};

/// (x − mean) / √(variance + ε) · weight + bias over the last axis, with the biased variance (Ba et
/// al. 2016), or the RMS norm. Absent weight and bias count as ones and zeros.
struct LayerNorm {
  Tensor weight, bias;
};

/// gelu: x·Φ(x), exact (Hendrycks and Gimpel 2016); gelu_tanh: its approximation by ½x(1 +
/// tanh(√(2/π)(x + 0.044715x³))); silu: x·σ(x). Gated ones (Shazeer 2020) multiply the activated
/// linear1 by linear3: swiglu by silu, geglu by gelu, geglu_tanh by gelu_tanh.
enum class Activation { relu, gelu, gelu_tanh, silu, swiglu, geglu, geglu_tanh };
bool gated(Activation activation) noexcept;
enum class NormPlace { post, pre };  ///< norm(x + f(x)), or x + f(norm(x)) (Xiong et al. 2020)

/// One layer of a transformer (Vaswani et al. 2017, section 3.1); the names are those of
/// torch.nn.TransformerEncoderLayer and TransformerDecoderLayer. An encoder layer leaves
/// `multihead_attn` and `norm3` empty; `linear3`, as wide as `linear1`, is there where the
/// activation is gated.
struct TransformerLayer {
  Projections self_attn, multihead_attn;
  Linear linear1, linear2;
  LayerNorm norm1, norm2, norm3;
  Linear linear3;
};

/// Scaled dot products of projected hidden states: `self`, `cross`, `multi_head`. Query, key and
/// value are the hidden states [L,D] or [B,L,D]; the past key and value are projected ones,
/// [B,G,P,d] or [B,P,G·d] (without the batch axis if the states have none). Without `heads` there
/// is one head and no head axis in the weights.
struct ProjectedAttentionRequest : AttentionOptions {
  Sequences states;
  Projections projections;
};

/// The output is [..,Lq,out]. Throws Error(input) as attend() does; a parameter is named as in a
/// document, "/parameters/W_q.weight".
AttentionResult attend_projected(const ProjectedAttentionRequest& request);

/// A stack of encoder or decoder layers. The options are those of every attention; mask, rotary,
/// norms of query and key, relative bias and sinks are those of the self-attention.
struct TransformerRequest : AttentionOptions {
  Tensor x;  ///< [L,D] or [B,L,D]
  std::optional<std::size_t> heads, kv_heads;
  bool decoder = false;
  Tensor memory;     ///< decoder: [Lm,D'] or [B,Lm,D'], what cross-attention reads
  Mask memory_mask;  ///< of the cross-attention
  std::vector<TransformerLayer> layers;
  Activation activation = Activation::relu;
  NormPlace norm = NormPlace::post;
  NormKind norm_kind = NormKind::layer;
};

/// The hidden states around one sub-layer f of a layer, [..,L,D] in float64.
struct SubLayer {
  Tensor before;  ///< x
  Tensor input;   ///< what f is applied to: x, or norm(x) where the norm comes first
  Tensor change;  ///< f of the input
  Tensor after;   ///< norm(x + change), or x + change where the norm comes first
};

struct TransformerResult {
  /// One layer's attentions; their outputs are those of the attention alone, after its output
  /// projection.
  struct Layer {
    AttentionResult self, cross;
    std::vector<SubLayer> sublayers;  ///< stages: self-attention, a decoder's cross-attention,
                                      ///< feed-forward
  };
  std::vector<Layer> layers;
  Tensor output;  ///< [..,L,D]
};

/// Throws Error(input) as attend_projected() does; a parameter's name begins with that of its part,
/// "/parameters/self_attn.W_q.weight", and in a stack of several with "layers.0.".
TransformerResult transform(const TransformerRequest& request);

}  // namespace attn
