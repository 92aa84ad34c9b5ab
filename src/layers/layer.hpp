#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "layers/alternating_updates.hpp"
#include "layers/delta_rule.hpp"
#include "layers/recurrent_mixers.hpp"

namespace attn {

/// Constants of the activation xIELU (Huang and Schlag 2024, equation 12): f(x) = αp·x² + β·x for
/// x > 0, else αn·(exp(min(x, ε)) − 1 − x) + β·x.
struct Xielu {
  double positive = 0, negative = 0;  ///< αp, αn
  double beta = 0.5, eps = -1e-6;
};
double xielu(double x, const Xielu& constants) noexcept;

/// ln(1 + exp(x)).
double softplus(double x) noexcept;

/// A factor 1 + scale · ln(1 + ⌊(position + shift) / length⌋) of queries, by which attention stays
/// sharp far from the first token (Nakanishi 2025, "Scalable-Softmax").
struct QueryGrowth {
  double scale = 0, length = 1;
  std::size_t shift = 0;

  double at(std::size_t position) const noexcept;
};

/// The rules of a layer: everything about it but its learned matrices and the norms of its states.
struct LayerSpec {
  /// Options of the self-attention and of the cross-attention: mask, positions, scale, softcap,
  /// norms of heads, sinks. Threads and ε of `self` are those of the whole layer.
  AttentionOptions self = {}, cross = {};
  std::optional<std::size_t> heads = {}, kv_heads = {};
  Activation activation = Activation::relu;
  std::optional<Xielu> xielu = {};   ///< in place of the activation
  bool parallel = false;             ///< the feed-forward reads the layer's input too
  bool rounded_alibi = false;        ///< ALiBi's slope · key is rounded to bfloat16, as in Falcon
  bool residual_after_norm = false;  ///< a branch is added to its normed input, not to its input
  double branch_scale = 1;           ///< of what a sub-layer makes, before the norm of the branch
  std::optional<QueryGrowth> growth = {};  ///< of the self-attention's queries
  /// Queries and keys are made of length one, and queries are multiplied by these numbers [H] (Liu
  /// et al. 2022, "Swin V2", section 3.3); empty = they stay.
  std::vector<double> cosine_scales = {};
  bool takes_keys = false;  ///< keys and values are made of the states that another layer read
  double state_scale = 1;   ///< of the states that leave the layer
  /// Quantile of the gates of a token below which they are zeros, as largest_of_rows() takes it;
  /// absent = all count.
  std::optional<double> gate_quantile = {};
};

/// The rule by which the scores of the chosen experts become their shares in a result.
enum class ShareRule {
  of_chosen,  ///< a softmax over the scores of the chosen
  of_all,     ///< their parts of a softmax over all scores
  of_near,    ///< for each, its part of a softmax over the scores that are near it (Phi-3.5-MoE)
  sigmoid,    ///< the sigmoid of each score (DeepSeek-AI 2024, equation 15)
  sigmoid_of_chosen  ///< the same, over the sum of those of the chosen
};

/// Rules by which a token's experts are chosen and their results weighed.
struct ExpertRules {
  std::size_t count = 0, chosen = 0;
  ShareRule shares = ShareRule::of_chosen;
  double nearness = 0.02;  ///< of_near: largest distance from the score, in parts of it
  /// Bound of the gate from above and of what it multiplies on both sides, with the feed-forward of
  /// gpt-oss: down(g·σ(1.702 g)·(u + 1)). Absent = none.
  std::optional<double> limit;
  double scale = 1;               ///< of all shares
  double sum_plus = 0;            ///< what the sum that shares are parts of is more than it
  bool corrects_scores = false;   ///< corrections are added to scores, not to their sigmoids
  bool halved = false;            ///< experts and the shared one give the mean of both
  bool shares_of_inputs = false;  ///< shares multiply what experts read, not what they make
  /// The experts are that many groups of as many. Those of the best groups alone are chosen: of the
  /// groups with the largest sum of two experts, or with the best expert.
  std::size_t groups = 1, best_groups = 1;
  bool groups_by_best = false;
};

/// A feed-forward that every token takes in addition to its experts.
struct SharedExpert {
  StoredLinear gate, up, down;  ///< [F,D], [F,D] and [D,F]; the gate may be absent
  StoredLinear share;           ///< [1,D]; the sigmoid of its product is the share; absent = 1
  std::optional<Norm> before, after;  ///< of what it reads, and of what it makes
};

/// Several feed-forwards. Each token takes the best of them: Σ share · down(f(gate) ⊙ up), with the
/// layer's activation f.
struct Experts : ExpertRules {
  StoredLinear router;  ///< [count,D]
  /// Numbers [count] added to the sigmoids of the scores, or to their softmax, where experts are
  /// chosen, and not where their shares are computed; empty = zeros.
  std::vector<double> correction;
  std::vector<double> factors;  ///< [count], of each expert's share; empty = ones
  /// Norms of what the router and the experts read, and of the sum of what experts make (Gemma 4).
  std::optional<Norm> before_router, before, after;
  /// The products of one expert: into the wider space, gate and up in turns [2F,D] or without gates
  /// [F,D], and back [D,F].
  std::function<StoredLinear(std::size_t expert)> gate_up, down;
  bool gated = true;
  std::optional<SharedExpert> shared;
};

/// An expert that a token takes, and its weight in the token's result.
struct ExpertShare {
  std::size_t expert = 0;
  double share = 0;
};
/// The best experts by their scores [count], the best first. Among equal ones the lower number
/// wins.
std::vector<ExpertShare> best_experts(const Experts& experts, std::span<const double> scores);

/// What mixes tokens without attention weights, in place of an attention or beside it. What differs
/// between them has a case for every alternative.
using TokenMixer = std::variant<DeltaRule, ShortConvolution, StateSpace>;

/// A convolution over the tokens that enter a layer: what it makes is added to the layer's result.
struct InputConvolution {
  Tensor weight;                         ///< [D,D / groups,K], K odd
  Tensor bias;                           ///< [D]; may be absent
  std::optional<Activation> activation;  ///< absent = the hyperbolic tangent
  std::optional<Norm> norm;              ///< of the sum
};

/// A gate over what a layer reads of its tokens (LayerTokens): norm(projection(f(gate x) ⊙ input)).
struct LayerInput {
  StoredLinear gate, projection;  ///< [P,D], [D,P]
  std::optional<Norm> norm;
};

/// Projections of tokens that see all others (StepOptions::global): their queries, and the keys and
/// values of all tokens for these.
struct GlobalProjections {
  StoredLinear query, key, value;
};

/// The learned matrices and norms of a layer, by purpose. A layer may lack attention, mixer or
/// feed-forward. An absent norm leaves its states as they
/// are. D is the width of the states, F that of the feed-forward.
struct LayerWeights {
  AttentionWeights self, cross;  ///< a layer without a cross-attention has no `cross.query`
  std::optional<DisentangledTerms> distances = {};  ///< of the self-attention's scores
  std::optional<TokenMixer> mixer = {};             ///< what it makes is added to that of `self`
  StoredLinear gate;                    ///< [F,D]; absent in a feed-forward without a gate
  StoredLinear up, down;                ///< [F,D] and [D,F]
  std::optional<Experts> experts = {};  ///< in place of gate, up and down
  /// Norms of what a sub-layer reads, of what it adds, and of the sum.
  std::optional<Norm> before_attention = {}, after_attention = {}, after_attention_sum = {};
  std::optional<Norm> before_cross = {}, after_cross = {}, after_cross_sum = {};
  std::optional<Norm> before_feed_forward = {}, after_feed_forward = {},
                      after_feed_forward_sum = {};
  std::optional<InputConvolution> input_convolution = {};
  std::optional<LayerInput> layer_input = {};
  std::optional<GlobalProjections> global = {};
  /// The states are streams side by side, of which the layer computes one.
  std::optional<AlternatingUpdates> streams = {};
  std::optional<AugmentedResidual> augmented = {};

  bool mixes_tokens() const { return self.query || mixer; }
  bool feeds_forward() const { return up || experts; }
};

struct Layer {
  LayerSpec spec;
  LayerWeights weights;
};

/// Options of a step, which gives the states in any case.
struct StepOptions {
  bool inside = false;  ///< whether LayerStep keeps what is computed inside the layer
  /// Heads of the attentions whose outputs are zeros.
  std::vector<std::size_t> self_off = {}, cross_off = {};
  /// Reads the request of each attention, of projected queries, keys and values, before it is
  /// computed.
  std::function<void(bool self, const AttentionRequest& request)> requests = {};
  /// Read or change what the sub-layers write, before it goes on: the outputs [..,L,H·d] of the
  /// attentions' heads, and what [..,L,D] the feed-forward adds.
  std::function<void(Tensor&outputs)> self_heads = {}, cross_heads = {}, feed_forward = {};
  /// Key-value caches of the text before x, to which x is added, and of the memory; null = none.
  KeyValueCache *self_cache = nullptr, *cross_cache = nullptr;
  /// Takes the states that the self-attention reads, if another layer makes keys and values of
  /// them.
  Tensor* keeps_read = nullptr;
  Tensor keys_from = {};    ///< those states, for a layer that takes them
  Tensor layer_input = {};  ///< what the layer reads of the tokens [..,L,P]
  /// Positions of the tokens that see all others and are seen by all.
  std::vector<std::size_t> global = {};
  /// Types of the tokens [L], which DisentangledTerms::segments are for; empty = they have none.
  std::vector<std::int64_t> types = {};
  /// State of the mixer before x, which becomes that after x; null = x is the whole text.
  MixerState* mixer_state = nullptr;
  /// Takes the self-attention's weights some rows [1,H,count,L] at a time, in place of a whole map.
  std::function<void(std::size_t first, const Tensor& rows)> rows = {};
  Progress progress = {};
};

/// The result of one layer.
struct LayerStep {
  Tensor states;  ///< [..,L,D]
  /// The attentions with the results that their options ask for. Kept only with
  /// StepOptions::inside: the requests, of projected queries, keys and values, and the outputs
  /// [..,L,H·d], the heads joined but not projected.
  AttentionRequest self_request, cross_request;
  AttentionResult self, cross;
  std::vector<std::size_t> self_off;  ///< heads of the self-attention whose outputs are zeros
  Tensor keys_from;                   ///< as in StepOptions; with StepOptions::inside
  std::vector<std::int64_t> types;    ///< likewise
  Tensor mixed;                       ///< [..,L,D], what the mixer makes; with StepOptions::inside
  /// What mixes tokens, cross-attention, feed-forward, convolution and layer input, if they are
  /// there; with StepOptions::inside.
  std::vector<SubLayer> sublayers;
};

/// Computes a layer of the states x [L,D] or [B,L,D], float32 or float64, in that type; of streams,
/// [..,L,P·D], what is computed inside and watched is of the active one. A
/// cross-attention reads `memory` [Lm,D'] or [B,Lm,D']. Weights, options and states must fit each
/// other.
LayerStep step(const Layer& layer, const Tensor& x, const Tensor& memory,
               const StepOptions& options = {});

/// The function that the kernels know the activation by, with its constant.
ActivationCurve curve_of(Activation activation);

/// Lengths of the vectors that the output of an attention is the sum of. The term of head h and key
/// j is f_h(x_j) = W_O,h (W_V x_j + b_V), times the layer's scale of branches.
struct TermNorms {
  /// [H,L,L]: ‖A_h[i,j] f_h(x_j)‖ (Kobayashi et al. 2020, section 2.2).
  Tensor of_heads;
  /// [L,L]: ‖Σ_h A_h[i,j] f_h(x_j)‖ (ibid.).
  Tensor of_all_heads;
  /// [L,L]: the same in the block's output, with the residual x_i where j = i, and through the
  /// norms of branch and sum without their biases (Kobayashi et al. 2021, section 3).
  Tensor of_block;
  /// [L]: the mixing ratio of row i, ‖Σ_{j≠i}‖ / (‖Σ_{j≠i}‖ + ‖j = i‖) (ibid.).
  Tensor mixing;
};

/// The norms of the self-attention of a step of one sample, which was made with
/// StepOptions::inside and weights; the attention has no gate. Throws Error(input) if there is no
/// room for the terms. Sums of terms are computed from their products with one another,
/// G_j[h,h'] = f_h(x_j)·f_h'(x_j), so that no [H,L,L,D] is made.
TermNorms term_norms(const Layer& layer, const LayerStep& step);

}  // namespace attn
