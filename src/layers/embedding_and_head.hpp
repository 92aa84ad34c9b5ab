#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "attention/linear.hpp"
#include "layers/layer.hpp"

namespace attn {

/// Sinusoidal positions (Vaswani et al. 2017, section 3.5), all sines before all cosines, as Marian
/// orders them. Frequencies fall geometrically from 1 towards 1/10000, or, if `closed`, to it
/// (fairseq's tables, whose odd widths end in zeros).
struct Sinusoids {
  std::size_t first = 0;  ///< the position of the first token
  bool closed = false;
};
/// Positions of L tokens, float64 [1,L,D].
Tensor sines_then_cosines(std::size_t length, std::size_t width, const Sinusoids& rule = {});

/// Tokens that stand for hidden ones. Their rows are zeros, and the others are multiplied by
/// (1 − trained) / (1 − share of hidden tokens in the text), as in training (Rives et al. 2021).
struct HiddenTokens {
  std::int64_t id = 0;
  double trained = 0.12;  ///< share of rows that training left out
};

/// The tables that make states of token ids. D is the width of the states that enter the first
/// layer, E that of the tables.
struct Embedding {
  StoredMatrix tokens;                  ///< [V,E]
  double scale = 1;                     ///< of the tokens' rows
  std::optional<Norm> token_norm;       ///< of these rows, before positions are added
  StoredMatrix positions;               ///< [P,E] or [P,D]; absent = not learned
  std::size_t first_position = 0;       ///< the row of `positions` that the first token takes
  std::optional<std::int64_t> padding;  ///< a token that takes the row of its own id (RoBERTa)
  std::optional<Sinusoids> sinusoidal;  ///< positions are sines and cosines
  std::optional<HiddenTokens> hidden;
  StoredMatrix types;  ///< [types,E]; absent = none
  std::optional<Norm> norm;
  StoredLinear projection;      ///< [D,E]; absent = none
  bool projects_terms = false;  ///< the projection goes before the sum and its norm

  /// The embedding of tokens that follow these.
  Embedding behind(const std::vector<std::int64_t>& ids) const;

  /// D
  std::size_t width() const {
    return projection ? projection.weight.shape()[0] : tokens.shape()[1];
  }
};

/// The vectors that the states of one text are the sum of, before the embedding's norm and before
/// a projection that follows it: [1,L,E], or [1,L,D] where the projection comes first.
struct EmbeddedTerms {
  Tensor tokens;     ///< their rows, scaled
  Tensor positions;  ///< absent = none
  Tensor types;      ///< absent = none
  bool projected = false;
};
EmbeddedTerms embedded_terms(const Embedding& embedding, const std::vector<std::int64_t>& ids,
                             const std::vector<std::int64_t>& types,
                             const AttentionOptions& options);

/// One text as states [1,L,D] of the type of `options`. `types` has a token type for each id, or
/// nothing, which counts as 0. Ids, types and positions must be rows of their tables.
Tensor embed(const Embedding& embedding, const std::vector<std::int64_t>& ids,
             const std::vector<std::int64_t>& types, const AttentionOptions& options);

/// Inputs of N layers from the tokens, besides the states (the "per-layer embeddings" of Gemma 3n
/// and 4), [1,L,N·P].
struct LayerTokens {
  StoredMatrix tokens;      ///< [V',N·P]; tokens beyond it count as the first
  double scale = 1;         ///< of their rows
  StoredLinear projection;  ///< of the embedding, [N·P,D]
  Norm norm;                ///< of each layer's part of what it makes [P]
  std::size_t width = 0;    ///< P
};
/// (norm(projection · embedded / √D) + scaled rows) / √2, [1,L,N·P], for states that embed() made.
Tensor read_layer_tokens(const LayerTokens& layers, const std::vector<std::int64_t>& ids,
                         const Tensor& embedded, const AttentionOptions& options);
/// The part of layer n, [1,L,P]; absent without any.
Tensor layer_part(const std::optional<LayerTokens>& layers, const Tensor& all, std::size_t n);

/// The head that makes logits of the states that leave a model: (g(x) · scale) Wᵀ + b, capped. g is
/// a Linear layer with an activation and a norm (BERT), or g(x) = x.
struct LogitsHead {
  StoredLinear dense;                                       ///< absent = no g
  std::optional<Activation> activation = Activation::gelu;  ///< absent = the hyperbolic tangent
  std::optional<Norm> norm;
  double scale = 1;
  StoredLinear words;             ///< [V,D]
  std::optional<double> softcap;  ///< c·tanh(logit/c)

  /// V
  std::size_t size() const { return words.weight.shape()[0]; }

  /// g(x) without its norm.
  Tensor bent(const Tensor& x, std::size_t threads) const;
  /// Logits [..,V] of states [..,D].
  Tensor logits(Tensor x, double eps, std::size_t threads) const;
};

/// ln Σ exp(logit), less which a logit is the logarithm of its probability by a softmax.
double log_sum_exp(std::span<const double> logits);

/// A stack of layers between its embedding and its last norm.
struct Stack {
  Embedding embedding;
  std::optional<LayerTokens> layer_tokens = {};
  std::size_t count = 0;
  /// Layer n, made when the states reach it, so that no more than one is in memory.
  std::function<Layer(std::size_t n)> layer;
  /// What layer n makes of the states that leave the layer before it; empty = it reads them.
  std::function<Tensor(std::size_t n, const Tensor& states)> entering = {};
  /// What the last norm reads of the states that leave the last layer; empty = these.
  std::function<Tensor(const Tensor& states)> leaving = {};
  std::optional<Norm> final_norm;
  StoredLinear output_projection;  ///< absent = none
  AttentionOptions options;        ///< type of the states, threads, ε

  /// The width of the states that leave it.
  std::size_t width() const {
    return output_projection ? output_projection.weight.shape()[0] : embedding.width();
  }
  /// The states [..,L,D] behind the last layer through norm and projection.
  Tensor finish(const Tensor& states) const;
};

/// Patches of a picture as states of width D (Dosovitskiy et al. 2021, section 3.1). For a grid of
/// n patches of P × P pixels and c tokens before them with positions.
struct PatchEmbedding {
  std::size_t patch = 0;     ///< P
  StoredLinear pixels;       ///< [D,3·P·P]
  Tensor first;              ///< tokens before the patches [c,D]; absent = none
  Tensor registers;          ///< tokens behind `first`, without positions [r,D]; absent = none
  Tensor positions;          ///< [c + n,D]; absent = none
  std::optional<Norm> norm;  ///< of all states
};

/// The states [1,c + r + n,D] of a normalised picture [3,H,W], in the type of the options. Pixels
/// that fill no patch play no part.
Tensor embed_picture(const PatchEmbedding& embedding, const Tensor& picture,
                     const AttentionOptions& options);

}  // namespace attn
