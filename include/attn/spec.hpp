#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// How a query is compared with a key. What differs between kinds stands in kinds(), one row each.
enum class Kind {
  softmax,
  dot_product,
  scaled_dot_product,
  general,
  additive,
  self,
  cross,
  multi_head,
  encoder_layer,
  decoder_layer,
  model  ///< a whole model from its checkpoint, which stands apart from kinds()
};

/// What a kind computes from: given scores; queries and keys; hidden states that it projects;
/// hidden states that go through whole layers; or texts that a model reads.
enum class Family { given_scores, score, projected, transformer, model };

struct ParameterInfo {
  std::string_view name;
  std::string_view shape;  ///< in the terms of the formula: "[dq,dk]"
  bool optional = false;
};

/// Products that scores cost: what they make, and how many, in the terms of shapes:
/// "B·H·Lq·Lk·d_k", of which G is the number of key heads.
struct ProductInfo {
  std::string_view what, count;
};

/// One kind of attention, as users meet it.
struct KindInfo {
  Kind kind;
  Family family;
  std::string_view name;
  std::span<const std::string_view> aliases;
  std::string_view score;                     ///< the formula of one score
  std::span<const ParameterInfo> parameters;  ///< in order of construction
  std::span<const ProductInfo> products;      ///< of a score, the last of them for each pair
  bool scales_by_width;                       ///< whether the default scale is 1/√d_k, else 1
  std::string_view source;                    ///< paper and section
  std::string_view example;                   ///< the members of a small document, ready to run
};

/// The table of kinds that take tensors, in the order they are listed to users.
std::span<const KindInfo> kinds() noexcept;
/// Of Kind::model too.
const KindInfo& info(Kind kind) noexcept;
/// By name or alias; null if there is none.
const KindInfo* find_kind(std::string_view name) noexcept;

/// What is compared and weighed. Query, key and value are [L,D], [B,L,D] or [B,H,L,D], all of one
/// rank; a batch axis of 1 is repeated. With `heads` a tensor without a head axis is split:
/// [B,L,H·D]. Query heads are a multiple of key heads (grouped-query attention, Ainslie et al.
/// 2023): query head h reads key/value head h / (heads / kv_heads).
struct Sequences {
  Tensor query = {}, key = {}, value = {};  ///< key defaults to query, value to key
  Tensor past_key = {}, past_value = {};    ///< [.., P, D]: put before the keys and values
  std::optional<std::size_t> heads = {}, kv_heads = {};

  const Tensor& key_or_query() const noexcept { return key ? key : query; }
  const Tensor& value_or_key() const noexcept { return value ? value : key_or_query(); }
};

/// Scores as given: [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]. Without a value there is no output.
struct GivenScores {
  static constexpr Kind kind = Kind::softmax;
  Tensor scores, value = {};
};
/// q·k
struct DotProduct : Sequences {
  static constexpr Kind kind = Kind::dot_product;
};
/// q·k / √d_k, d_k being the width of a head
struct ScaledDotProduct : Sequences {
  static constexpr Kind kind = Kind::scaled_dot_product;
};
/// qᵀ W k
struct General : Sequences {
  static constexpr Kind kind = Kind::general;
  Tensor W = {};  ///< [dq,dk]
};
/// w_vᵀ tanh(W_q q + W_k k)
struct Additive : Sequences {
  static constexpr Kind kind = Kind::additive;
  Tensor W_k = {}, W_q = {}, w_v = {};  ///< [h,dk], [h,dq], [1,h]
};

/// What an attention computes its scores from.
using Score = std::variant<GivenScores, DotProduct, ScaledDotProduct, General, Additive>;

Kind kind_of(const Score& score) noexcept;
/// A score of that kind with nothing in it yet. A kind that projects computes scaled dot products.
Score score_of(Kind kind);
/// Null for given scores.
const Sequences* sequences_of(const Score& score) noexcept;
Sequences* sequences_of(Score& score) noexcept;
/// What is weighed; absent for given scores without a value.
const Tensor& value_of(const Score& score) noexcept;
/// The learned weights, in the order of the kind's row.
std::vector<Tensor*> parameters_of(Score& score);

/// Where position i of the queries stands among the keys. With `offset` o, query i stands at key i
/// + o.
enum class Alignment {
  upper_left,  ///< o = number of past keys
  lower_right,  ///< o = n − Lq; n = the sample's 1-D valid_lens, else its keys not padded, else all
                ///< keys
};

/// Keys seen around position p of a query: p − left ≤ j ≤ p + right; absent = unbounded.
struct Window {
  std::optional<std::size_t> left, right;
};

/// Linear biases (ALiBi: Press et al. 2022, section 3): −slope · (p − j) is added to the scores of
/// keys j up to the query's place p, and −slope · (j − p) to those of later ones if symmetric.
struct Alibi {
  std::vector<double> slopes;  ///< one a query head; default those of the paper for their number
  bool symmetric = false;
};

/// Which keys each query sees. All parts hold together: a key is seen only if each allows it. In
/// the shapes, Lk counts the past keys too, and an attention without a batch axis has none here
/// either.
struct Mask {
  bool causal = false;  ///< key j is seen by query i if j ≤ i + offset
  Alignment align = Alignment::upper_left;
  std::optional<Window> window = {};
  std::vector<std::size_t> global = {};  ///< with a window: positions that see all and are seen by
                                         ///< all (Longformer, Beltagy et al. 2020, §3.1)
  Tensor padding = {};                   ///< bool [B,Lk]; true = not seen
  Tensor allow = {}, block = {};  ///< bool, broadcast against the weights; true = seen / not seen
  Tensor bias = {};  ///< broadcast against the weights, added to the scores; −inf hides
  std::optional<Alibi> alibi = {};  ///< added where the bias is
  Tensor valid_lens = {};           ///< int64 [B] or [B,Lq]: how many leading keys are valid
  std::optional<double> fill =
      {};  ///< replaces unseen scores; absent = −inf: an unseen key weighs exactly 0

  /// Whether any part can hide a key or change a score.
  bool present() const noexcept;
  /// Whether any part but `bias` is there.
  bool hides() const noexcept;
};

/// Weights reduced to cells of a map of at most size × size: query i of L stands in row ⌊i·N/L⌋,
/// N = min(size, L), and keys likewise. A cell is the mean or the largest of its weights, those
/// that a mask hides counted as zeros.
struct Pooling {
  std::size_t size = 1024;
  enum class Reduction { mean, max } reduction = Reduction::mean;
};

}  // namespace attn
