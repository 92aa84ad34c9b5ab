#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Kinds of attention, by the comparison of a query with a key. kinds() has a row with the
/// properties of each.
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
  transformer,  ///< an encoder's stack and a decoder's that reads it
  model         ///< a whole model from its checkpoint; not in kinds()
};

/// Inputs of a kind: given scores; queries and keys; hidden states to project; hidden states that
/// pass whole layers; or texts that a model reads.
enum class Family { given_scores, score, projected, transformer, model };

/// A learned parameter of a kind.
struct ParameterInfo {
  std::string_view name;
  std::string_view shape;  ///< in the symbols of the formula: "[dq,dk]"
  bool optional = false;
};

/// Products to compute for scores: `what` names their result, `count` their number in the symbols
/// of shapes, such as "B·H·Lq·Lk·d_k"; G is the number of key heads.
struct ProductInfo {
  std::string_view what, count;
};

/// One kind of attention as it is listed to users.
struct KindInfo {
  Kind kind;
  Family family;
  std::string_view name;
  std::span<const std::string_view> aliases;
  std::string_view score;                     ///< the formula of one score
  std::span<const ParameterInfo> parameters;  ///< in order of construction
  std::span<const ProductInfo> products;      ///< of a score; the last ones are those of each pair
  bool scales_by_width;                       ///< whether the default scale is 1/√d_k; else 1
  std::string_view source;                    ///< paper and section
  std::string_view example;                   ///< the members of a small document that runs
};

/// All kinds that take tensors, in the order in which they are listed to users.
std::span<const KindInfo> kinds() noexcept;
/// The row of a kind; Kind::model has one too.
const KindInfo& info(Kind kind) noexcept;
/// The row of kinds() with that name or alias; null if there is none.
const KindInfo* find_kind(std::string_view name) noexcept;

/// Queries, keys and values: [L,D], [B,L,D] or [B,H,L,D], all of one rank; a batch axis of 1 is
/// repeated. With `heads`, tensors without a head axis hold the heads side by side, [B,L,H·D]. The
/// number of query heads is a multiple of that of key heads (grouped-query attention, Ainslie et
/// al. 2023): query head h reads key/value head h / (heads / kv_heads).
struct Sequences {
  Tensor query = {}, key = {}, value = {};  ///< key defaults to query, value to key
  Tensor past_key = {}, past_value = {};    ///< [..,P,D]: put before the keys and values
  std::optional<std::size_t> heads = {}, kv_heads = {};

  const Tensor& key_or_query() const noexcept { return key ? key : query; }
  const Tensor& value_or_key() const noexcept { return value ? value : key_or_query(); }
};

/// Given scores, [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]. Without a value there is no output.
struct GivenScores {
  static constexpr Kind kind = Kind::softmax;
  Tensor scores, value = {};
};
/// q·k
struct DotProduct : Sequences {
  static constexpr Kind kind = Kind::dot_product;
};
/// q·k / √d_k with the width d_k of a head
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

/// Inputs of the scores of an attention. Every visitor has a case for each alternative.
using Score = std::variant<GivenScores, DotProduct, ScaledDotProduct, General, Additive>;

Kind kind_of(const Score& score) noexcept;
/// An empty score of that kind; of ScaledDotProduct for kinds that project.
Score score_of(Kind kind);
/// The sequences of a score; null for given scores.
const Sequences* sequences_of(const Score& score) noexcept;
Sequences* sequences_of(Score& score) noexcept;
/// The value that is weighted, with Sequences' defaults; absent for given scores without one.
const Tensor& value_of(const Score& score) noexcept;
/// The learned parameters of a score, in the order of the kind's row.
std::vector<Tensor*> parameters_of(Score& score);

/// Alignment of queries with keys. Query i stands at key i + o, o being the offset.
enum class Alignment {
  upper_left,   ///< o = number of past keys
  lower_right,  ///< o = n − Lq; n = the sample's 1-D valid_lens, else one more than the place of
                ///< its last key that is not padding, else all keys
};

/// A window of keys around the position p of a query: p − left ≤ j ≤ p + right; absent = unbounded.
struct Window {
  std::optional<std::size_t> left, right;
};

/// Linear biases (ALiBi: Press et al. 2022, section 3): −slope · (p − j) is added to the scores of
/// keys j up to the query's place p, and −slope · (j − p) to those of later ones if symmetric.
struct Alibi {
  std::vector<double> slopes;  ///< one per query head; empty = those of the paper for their number
  bool symmetric = false;
  std::size_t samples =
      1;  ///< with more than one, slopes of each sample, one sample's after another
};

/// An expression over one cell of an attention, such as "s - slope[h] * abs(i - j)", and the
/// tensors of one to four axes that it reads by name.
struct Expression {
  std::string text = {};
  std::vector<std::pair<std::string, Tensor>> tables = {};

  explicit operator bool() const noexcept { return !text.empty(); }
};

/// A mask: keys that each query sees, and biases of its scores. A key is seen only if all parts
/// allow it. In the shapes Lk includes the past keys, and attentions without a batch axis have none
/// here either.
struct Mask {
  bool causal = false;  ///< key j is seen by query i if j ≤ i + offset
  Alignment align = Alignment::upper_left;
  std::optional<Window> window = {};
  std::vector<std::size_t> global = {};  ///< with a window: positions that see all keys and are
                                         ///< seen by all (Longformer, Beltagy et al. 2020, §3.1)
  Tensor padding = {};                   ///< bool [B,Lk]; true = not seen
  Tensor allow = {}, block = {};  ///< bool, broadcast against the weights; true = seen / not seen
  std::string allow_is = {};      ///< words for what made `allow`, for reports; empty = "allow"
  Tensor bias = {};  ///< broadcast against the weights, added to the scores; −inf hides
  std::optional<Alibi> alibi = {};  ///< added with the bias
  Tensor valid_lens = {};           ///< int64 [B] or [B,Lq]: number of leading keys that are valid
  Tensor documents = {};  ///< int64 [B,Lk]: ids of packed sequences; a query sees the keys of the
                          ///< id at its position, and none if there is no key
  bool documents_are_windows = false;  ///< of patches of a picture (Swin), for reports
  Tensor prefix = {};     ///< int64 [] or [B]: number of leading keys that causality, window and
                          ///< chunk do not hide
  std::optional<std::size_t> chunk = {};  ///< block size: a query sees only keys of its own block
  std::optional<std::size_t> dilation =
      {};  ///< with a window: only every n-th key from the query's position, global ones apart
  Expression where = {};  ///< a truth; a key is seen only where it holds
  std::optional<double> fill =
      {};  ///< replaces the scores of unseen keys; absent = −inf, a weight of exactly 0

  /// Whether any part hides keys or is a bias.
  bool present() const noexcept;
  /// Whether any part other than `bias` hides keys.
  bool hides() const noexcept;
};

/// A reduction of weights to a map of at most size × size cells: query i of L belongs to row
/// ⌊i·N/L⌋, N = min(size, L), keys likewise. A cell holds the mean or the largest of its weights;
/// hidden ones count as zeros.
struct Pooling {
  std::size_t size = 1024;  ///< at least 1
  enum class Reduction { mean, max } reduction = Reduction::mean;
};

}  // namespace attn
