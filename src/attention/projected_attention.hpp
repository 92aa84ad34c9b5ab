#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "attn/layers.hpp"

#include "attention/geometry.hpp"
#include "attention/linear.hpp"

namespace attn {

/// Converts all tensors of the result but `allowed` to that type.
void round_to(DType dtype, AttentionResult& result);

/// A past [B,P,G·d] as `shape` [B,G,P,d], or [P,G·d] as [G,P,d].
Tensor heads_apart(const Tensor& past, const Shape& shape);

/// Checks hidden states, parameters, options and mask. `prefix` goes before the names of parameters
/// (`layers.0.self_attn.`). Returns the sizes of the attention and, in `output`, the shape of the
/// result. Throws Error(input) as attend_projected() does.
Geometry check_projected(const ProjectedAttentionRequest& request, const std::string& prefix,
                         Shape& output);

/// Narrow vectors that queries, keys and values are made of in place of the states (DeepSeek-AI
/// 2024, "DeepSeek-V2", section 2.1.2). Keys end up as the numbers that all heads share, then their
/// own.
struct LatentStates {
  StoredLinear query;  ///< [r,in]; absent = queries are made of the states
  std::optional<Norm> query_norm;
  StoredLinear key_value;  ///< [c,in]
  std::optional<Norm> key_value_norm;
  StoredLinear shared_key;  ///< of the states, [s,in], the same for all heads
  double eps = 1e-6;        ///< of both norms
};

/// The learned products around one attention. With H query heads and G key heads of width d: query
/// [H·d,in], key [G·d,in], value [G·dv,in], output [out,H·dv].
struct AttentionWeights {
  StoredLinear query, key, value;
  StoredLinear output;  ///< absent = none
  StoredLinear gate;    ///< [H·dv,in], of the queries' states; absent = none
  /// Vectors that are projected to queries, keys and values in place of the states. The weights of
  /// the key are [H·(d − s),c] then.
  std::optional<LatentStates> latent;
  /// Largest size of the projected numbers, after these norms; absent = any (OLMo).
  std::optional<double> clip;
  std::optional<Norm> value_norm;  ///< of each head's values, without weights
  /// Norms of a row of queries or keys, all heads together (OLMo et al. 2024, section 3.3).
  std::optional<Norm> query_norm, key_norm;

  AttentionWeights() = default;
  AttentionWeights(const Projections& projections);  // NOLINT(google-explicit-constructor)
};

/// Key-value cache of one text that is read part by part, or of B texts of one length. Keys and
/// values are as wide as all heads together, and neither normed head by head nor rotated, so that
/// what depends on the length of the text is right for each length.
class KeyValueCache {
 public:
  std::size_t length() const noexcept { return length_; }
  Tensor key() const { return key_.all(length_); }      ///< [B,L,G·d]
  Tensor value() const { return value_.all(length_); }  ///< [B,L,G·dv]

  /// Adds the rows of further tokens, [B,n,G·d] and [B,n,G·dv], of one type for all.
  void append(const Tensor& key, const Tensor& value);

 private:
  // Memory that doubles when it is full. Tensors of fewer rows go on to refer to it.
  struct Room {
    Tensor several;  // of several texts, which are copied as they grow
    std::shared_ptr<std::byte> bytes;
    std::size_t rows = 0, width = 0;
    DType dtype = DType::float32;

    void append(const Tensor& rows, std::size_t at);
    Tensor all(std::size_t length) const;
  };
  std::size_t length_ = 0;
  Room key_, value_;
};

/// The attention over the queries, keys and values that the weights make of the hidden states, in
/// that precision. What is left to do is the output projection. States, weights and options must
/// fit each other. With a cache, states [1,n,D] are the next part of a text: their keys and values
/// are added, and the attention reads all of them, its last query standing at the last key. Keys
/// and values of other states than the queries' are projected only once.
AttentionRequest project(const AttentionOptions& options, const Sequences& states,
                         const AttentionWeights& weights, DType precision = DType::float64,
                         KeyValueCache* cache = nullptr);

/// Whether Linear layers of that many multiply-adds are computed in single precision: results are
/// wanted in float32, no stages are to be shown, and single precision saves noticeable time.
bool single_precision_pays(const AttentionOptions& attention, double multiply_adds);

}  // namespace attn
