#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/spec.hpp"

namespace attn {

/// The sizes of one attention whose tensors fit together.
struct Geometry {
  bool batch_axis = false;  ///< whether the results have one
  bool head_axis = false;   ///< whether the weights have one
  bool joined = false;      ///< whether the output's heads are side by side in its last axis
  std::size_t batch = 1, heads = 1, kv_heads = 1;
  std::size_t queries = 0;                     ///< Lq
  std::size_t past = 0;                        ///< past keys
  std::size_t keys = 0;                        ///< Lk, past keys included
  std::size_t query_width = 0, key_width = 0;  ///< of one head; 0 for given scores
  std::size_t value_width = 0;                 ///< of one head; 0 without a value
  std::size_t hidden = 0;                      ///< h of the parameters, where they have one

  /// Whether the scores are products of rows of queries and keys, which expressions may then
  /// compare too: dot(q, k), norm(q), norm(k), distance(q, k).
  bool compares_rows() const { return query_width > 0 && hidden == 0; }
  Shape weights_shape() const;
  Shape output_shape() const;
  Shape row_shape() const;  ///< [..,Lq]: one number per query
};

/// A size with its letter in formulas.
struct NamedSize {
  std::string letter;
  std::size_t value = 1;
};

/// The factors of a number of products, "B·H·Lq·Lk·d_k".
std::vector<NamedSize> sizes_of(const ProductInfo& product, const Geometry& geometry);

/// Draws a new dropout mask, bool, of the weights' shape. Throws Error(input) at "/dropout" if
/// something of another shape is drawn.
Tensor drawn_weights(const Dropout& dropout, const Geometry& geometry);

/// The default factor of the scores: 1/√d_k for kinds that scale by the width, else 1.
double default_scale(const Score& score, const Geometry& geometry);
/// The factor of the scores.
double scale_of(const AttentionRequest& request, const Geometry& geometry);

/// The shape of a kind's parameter, which its row gives as "[h,dk]" with the hidden width h.
Shape shape_of(const ParameterInfo& parameter, std::size_t query_width, std::size_t key_width,
               std::size_t hidden);

/// Throws Error(input) with the size and a way out if the weights of `attentions` attentions, at
/// `bytes_each` bytes per weight, exceed this machine's memory.
void check_weights_memory(const Geometry& geometry, std::size_t attentions, std::size_t bytes_each);

/// Throws Error(input) if `heads` or `kv_heads` is 0, or if kv_heads is given without heads, which
/// a query of 4 axes has.
void check_heads_options(const Sequences& sequences);

/// Throws Error(input) unless query, key and value have the same number of axes, 2 to 4 and none of
/// size 0, agree on the number of samples (a batch axis of 1 is repeated), and key and value on
/// their length.
void check_sequences_together(const Sequences& sequences);

/// Checks the options that stand by themselves: dtype, scale, softcap, pool and the probability of
/// dropout. Throws Error(input) naming the option.
void check_single_options(const AttentionOptions& options);

/// Checks every tensor and option of the request but the mask. Throws Error(input) as attend()
/// does.
Geometry check_geometry(const AttentionRequest& request);

}  // namespace attn
