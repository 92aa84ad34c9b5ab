#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "attention/attention_name.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

struct AttendedBlock;

/// What a model reads: token ids, one list a sample, of any lengths.
struct ModelTexts {
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<std::vector<std::int64_t>> types;        ///< as ids; empty = all 0
  std::vector<std::vector<std::int64_t>> decoder_ids;  ///< of an encoder-decoder
  std::string place = "/token_ids";                    ///< of the samples, for errors
  std::string decoder_place = "/decoder_token_ids";

  const std::vector<std::vector<std::int64_t>>& read_by(const ModelStack& stack) const noexcept {
    return stack.crosses ? decoder_ids : ids;
  }
};

/// The length of the longest sample.
std::size_t longest_of(const std::vector<std::vector<std::int64_t>>& samples) noexcept;

/// Heads by the layer that they are in.
using HeadsByLayer = std::map<std::size_t, std::vector<std::size_t>>;

/// Of the options of attention dtype, threads, progress, `weights` and `stages` have a meaning, the
/// latter for the states between layers.
struct ModelOptions : AttentionOptions {
  std::optional<std::vector<std::size_t>> layers;  ///< whose weights are wanted; absent = all
  bool logits = false;
  /// A sample: the positions of the last stack whose logits are wanted by themselves; empty = none.
  std::vector<std::vector<std::size_t>> predicted;
  /// Heads whose outputs are zeros before the output projection: of the first or only stack's
  /// self-attention, of a decoder's, and of its cross-attention.
  HeadsByLayer heads_off, decoder_heads_off, cross_heads_off;
  /// Told of every attention of a wanted layer, "layers.0.self.", before it is computed.
  std::function<void(const AttentionName& name, const AttentionRequest& request)> watch = {};
  /// Told of each self-attention of a wanted layer with what its output is the sum of.
  std::function<void(std::size_t sample, const AttentionName& name, const AttendedBlock& block)>
      block = {};
  /// Where given, the self-attentions of wanted layers are computed some queries at a time, and
  /// this is told of their rows [1,H,count,L] from `first` on, in place of whole maps; of samples
  /// one after the other. For models of one stack, without `watch` and `block`.
  std::function<void(std::size_t layer, std::size_t first, const Tensor& rows)> rows = {};
  /// Told of the logits [1,L,V] that the states which leave a layer of the last stack would give.
  std::function<void(std::size_t sample, std::size_t layer, const Tensor& logits)> lens = {};

  bool wants(std::size_t layer) const {
    return weights && (!layers || std::ranges::count(*layers, layer) > 0);
  }
};

/// Takes a result as soon as it is complete: "layers.0.self.weights" [B,H,L,L], "embedded" [B,L,D],
/// "layers.0.output", "output", "logits" [B,L,V]; in an encoder-decoder with "encoder." and
/// "decoder." before them, and "decoder.layers.0.cross.weights". Each sample is computed alone;
/// what lies beyond its length is zeros.
using TakeTensor = std::function<void(const std::string& name, Tensor tensor)>;

/// Names and shapes of what is taken, in order.
std::vector<std::pair<std::string, Shape>> foreseen_tensors(const Architecture& model,
                                                            const CheckpointWeights& weights,
                                                            const ModelTexts& texts,
                                                            const ModelOptions& options);

/// Takes the logits [1,1,V] of one position.
using TakeLogits =
    std::function<void(std::size_t sample, std::size_t position, const Tensor& logits)>;

/// What a layer's self-attention sees of a whole text: causality and window.
Mask stack_mask(const ModelStack& stack, std::size_t layer);

/// Throws Error(input) at the place of the texts for an id, a type or a length that the model has
/// not.
void check_texts(const Architecture& model, const CheckpointWeights& weights,
                 const ModelTexts& texts);

/// Whether the file holds the head that gives logits.
bool has_head(const Architecture& model, const CheckpointWeights& weights);

/// Reads the texts with the model. Throws Error(input) for an id, a type or a length that the model
/// has not, and naming the tensor for weights that do not fit the configuration.
void run_model(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               const ModelOptions& options, const TakeTensor& take,
               const TakeLogits& take_logits = {});

}  // namespace attn
