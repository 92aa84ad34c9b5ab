#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attn/why.hpp"

#include "attention/projected_attention.hpp"
#include "layers/embedding_and_head.hpp"
#include "layers/layer.hpp"
#include "models/pass.hpp"

namespace attn {

/// Tokens of a difference; absent = the likeliest after the text, and after the other one or else
/// the second after the text.
using DifferenceTokens = std::array<std::optional<std::size_t>, 2>;

/// Numbers of one layer of a text's pass.
struct KeptLayer {
  Tensor entering;           // [1,L,D]
  Tensor outputs;            // [1,L,H·dv] of its heads; absent without heads
  Tensor feed_forward;       // [1,L,D]
  AttentionRequest request;  // of projected queries, keys and values
  Tensor weights;            // [1,H,L,L], where patterns are patched

  const Sequences& sequences() const { return std::get<ScaledDotProduct>(request.score); }
};

struct KeptPass {
  std::vector<KeptLayer> layers;
  Tensor memory, leaving;  // the encoder's output; the states that leave the last layer
};

/// Rows `first` … `first + count` − 1 of each sample of [B,L,W].
Tensor rows_from(const Tensor& all, std::size_t first, std::size_t count);

/// Passes of a text through the layers of a model's last stack from one of them on, many at a time:
/// samples of a batch, in each of which something else comes from another text.
class PartialPass {
 protected:
  using Positions = std::vector<std::size_t>;  // empty = all

  /// Keeps references to the pass. `weights`: whether those of layers are kept. Throws Error(input)
  /// for a model without a head for logits.
  PartialPass(const ModelPass& pass, bool weights);

  /// Runs the text, and keeps what its layers read.
  void keep_own();
  /// Runs both texts, and chooses the tokens of the difference. Throws Error(input) for texts of
  /// different lengths.
  std::vector<std::size_t> keep_both(const std::vector<std::int64_t>& source,
                                     const DifferenceTokens& tokens);
  /// Begins a pass, whose layers read the states of the text's own unless they are computed again.
  void begin();

  /// The states [1,L,D] that enter a layer, or leave the last one.
  const Tensor& entering(const KeptPass& pass, std::size_t n) const {
    return n < stack_.count ? pass.layers[n].entering : pass.leaving;
  }

  /// `units` times the rows [1,L,W], in each of which another part of the columns comes from
  /// `source`.
  static Tensor one_by_one(const Tensor& own, const Tensor& source, std::size_t units,
                           const Positions& at);

  /// The outputs [units,L,H·dv] of a layer's heads over queries, keys or values, of which one
  /// head's come from `other` [1,L,W].
  Tensor attended(PatchedPart part, std::size_t n, std::size_t units, const Positions& at,
                  const Tensor& other) const;
  /// The member of a request's score that a part names.
  static Tensor Sequences::*sequence_of(PatchedPart part);
  /// Heads of a layer that have such rows of their own.
  std::size_t units_of(PatchedPart part, std::size_t n) const;
  /// Whether a layer has the part.
  bool has(PatchedPart part, std::size_t n) const;

  /// Types of the text's tokens; empty if they have none.
  const std::vector<std::int64_t>& types() const {
    return text_.types_read_by(model_.stacks.back(), 0);
  }
  /// What layer n reads beside its `batch` samples of `count` states, which begin at row `first`.
  StepOptions beside(std::size_t n, std::size_t batch, std::size_t first, std::size_t count) const;
  /// A layer of states [B,count,D] that begin at row `first` of the text. `changed`: keys and
  /// values of the last rows before them, where these are not the text's own.
  Tensor stepped(std::size_t n, const Tensor& states, std::size_t first, StepOptions options,
                 const Sequences* changed = nullptr);
  /// Sums [B,rows,H·dv] of a request's values by weights [1,H,L,L], whose rows are those from
  /// `first` on, through its gate.
  Tensor summed(const Tensor& weights, std::size_t first, const AttentionRequest& request) const;
  /// The states that leave the last layer, or one that many layers below it, of those [B,rows,D]
  /// that enter a layer.
  Tensor leaving_from(std::size_t n, Tensor states, std::size_t first, std::size_t but = 0);
  std::vector<double> from_layer(std::size_t n, Tensor states, std::size_t first);

  /// All logits [B,R,V] at R rows of the states that leave the last layer, in float64.
  Tensor logits_at(const Tensor& leaving, std::span<const std::size_t> rows) const;
  /// The difference of the logits after the last of those states, of each sample.
  std::vector<double> differences(const Tensor& leaving) const;

  const Architecture& model_;
  const CheckpointWeights& weights_;
  const ModelTexts& text_;
  ModelPlace::Stack stack_name_;
  ModelOptions options_;
  Stack stack_;
  LogitsHead head_;  // of the two tokens, once they are known
  std::vector<Layer> layers_;
  bool cuts_ = false;           // whether rows before a patch stay as they are
  bool keeps_weights_ = false;  // whether leaving_from() sums values by the text's own weights
  bool shares_keys_ = false;    // whether layers make keys and values of what others read
  Tensor inputs_;               // [1,L,N·P], what layers read of the tokens; absent without
  // What each layer read, in the text's own pass and in the pass at hand; of shared keys.
  std::vector<Tensor> own_read_, read_;
  std::size_t length_ = 0;
  KeptPass own_, source_;

 private:
  /// The last row that leaves the last layer, whose other rows give keys and values alone.
  Tensor last_leaving(const Tensor& states, std::size_t first);
  KeptPass kept(const ModelTexts& text) const;
  void keep_beside();
  std::vector<std::size_t> choose_tokens(const DifferenceTokens& given);
};

}  // namespace attn
