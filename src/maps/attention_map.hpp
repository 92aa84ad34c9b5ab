#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/maps.hpp"
#include "attn/tensor.hpp"

#include "attention/attention_name.hpp"
#include "document/labels.hpp"
#include "document/plan.hpp"
#include "maps/seen_picture.hpp"
#include "result/tensor_names.hpp"
#include "statistics/head_values.hpp"

namespace attn {

/// The map of one attention, or another tensor that is shown like one: just computed, or read from
/// a file. What is not known of it is absent.
struct AttentionMap {
  AttentionName name;              ///< of the attention, empty of a single one
  std::string tensor = "weights";  ///< name of the numbers in their result or file
  TensorMeaning meaning = TensorMeaning::weights;
  Tensor numbers;  ///< [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk]; absent if they were not computed
  /// 1 where a query sees a key, 0 where not: of the shape of the numbers, or [B,1,Lq,Lk] for all
  /// heads.
  Tensor allowed;
  /// 1 where the mask shows a key but a large negative number of its bias makes the weight 0, of
  /// the shape of the numbers; absent if there is no such key, or it is not known. See
  /// hidden_in_effect().
  Tensor hidden_in_effect;
  bool of_result = true;            ///< whether a result says what the numbers are
  bool allowed_known = false;       ///< whether every key is seen if `allowed` is absent
  Tensor scores, capped, masked;    ///< stages of the scores, of the shape of the numbers
  bool heads_only = false;          ///< whether numbers of three axes are [H,Lq,Lk]
  std::size_t heads_per_group = 1;  ///< query heads that share a key and value head

  Labels labels;      ///< of queries and keys
  std::string title;  ///< of the document
  std::string cells;  ///< meaning of a cell of pooled weights: "Mean of 128 × 128 Weights a Cell"

  std::string file;                  ///< that it was read from, for errors
  std::optional<std::size_t> layer;  ///< in a stack, from 0
  bool layers_of_axis = false;       ///< whether an axis is taken for layers without being named
  std::string place;  ///< in a stack, "Layer 2"; empty = the tensor's name says all there is
  /// Mask and sizes of a computed attention, which its plan holds; null for files.
  const PlannedAttention* planned = nullptr;
  /// Queries and keys that the mask of a computed attention compares; absent if it compares none.
  Sequences compared;

  /// Pictures whose patches are the keys. Absent where these are others, or no figure needs them.
  std::optional<SeenPicture> picture;

  // For statistics and the page, which put them there.
  bool same_positions = false;                      ///< whether queries and keys are the same
  std::vector<MapTokens> query_tokens, key_tokens;  ///< one per sample; empty = not known
  std::vector<ScoreValues> score_values;            ///< [B,H]; empty = not known
  bool sinks = false;                               ///< whether heads have sink logits
  std::vector<std::size_t> heads;  ///< numbers of the heads, from 0, where some are left out
  bool positions_apart = false;    ///< whether other queries than keys were chosen

  /// Whether rows are queries and columns keys.
  bool is_map() const { return meaning != TensorMeaning::positions; }
  bool holds_weights() const { return meaning == TensorMeaning::weights; }
  /// Whether it is a rollout over layers, which belongs to no head.
  bool is_rollout() const { return tensor == "rollout" || tensor.ends_with(".rollout"); }
  /// Number that readers see of the first head and sample: 0 where layers are counted, as models'
  /// heads are called everywhere, and 1 of a single attention.
  std::size_t first_number() const;
};

/// Numbers [Lq,Lk], [B,Lq,Lk] or [B,H,Lq,Lk], or with `heads_only` [H,Lq,Lk], as samples × heads of
/// matrices.
class Maps {
 public:
  /// Throws Error(input) for another number of axes, or for an axis of size 0.
  explicit Maps(const Tensor& numbers, bool heads_only = false);

  std::size_t samples() const noexcept { return samples_; }
  std::size_t heads() const noexcept { return heads_; }
  std::size_t queries() const noexcept { return queries_; }
  std::size_t keys() const noexcept { return keys_; }

  /// One matrix [Lq,Lk], sharing the elements. One head stands for all where there is but one.
  Tensor matrix(std::size_t sample, std::size_t head) const;
  /// All of them [B,H,Lq,Lk], sharing the elements.
  Tensor all() const;

 private:
  Tensor numbers_;
  std::size_t samples_ = 1, heads_ = 1, queries_ = 0, keys_ = 0;
};

/// Place of the map among several: "Layer 2, Self-Attention"; empty of a single one.
std::string place_of(const AttentionMap& map);

/// Throws Error(input) naming the field if there is no such sample or head.
void check_place(std::size_t sample, std::size_t samples, std::size_t head, std::size_t heads);

/// Throws Error(input) if rows and columns are no queries and keys.
void check_is_map(const AttentionMap& map);

/// Throws Error(input) if the seen keys have neither the shape of the numbers nor [B,1,Lq,Lk].
void check_allowed(const AttentionMap& map);

/// The error with the name of the map's file, unless it is one of the request.
Error placed(const Error& error, const AttentionMap& map);

/// Seen cells [B,1,Lq,Lk] if all heads of [B,H,Lq,Lk] see the same; any other tensor unchanged.
Tensor once_for_heads(const Tensor& allowed);

/// Seen cells [B,H,Lq,Lk] of [B,1,Lq,Lk] for that number of heads; any other tensor unchanged.
Tensor for_each_head(const Tensor& allowed, std::size_t heads);

/// Warnings of what is doubtful about a map of another program's file: axes before queries and keys
/// that may be others than those that they are taken for, and numbers that no softmax gives. None
/// of a result. `any_numbers`: whether maps of scores and other numbers are meant, too, so that
/// only an axis of keys in another place is doubtful.
std::vector<std::string> doubts_of(const AttentionMap& map, const MapRequest& request,
                                   bool any_numbers);

/// Why the numbers of a tensor are no weights: the axis along which they sum to 1, numbers that are
/// negative or NaN, or the sums of its rows; absent if they are weights. `any_numbers` as above.
std::optional<std::string> unlike_weights(const Tensor& numbers, bool any_numbers);

}  // namespace attn
