#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "attention/attention_name.hpp"
#include "layers/embedding_and_head.hpp"
#include "layers/layer.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "models/model_place.hpp"

namespace attn {

/// Texts for a model: token ids, one list a sample, of any lengths.
struct ModelTexts {
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<std::vector<std::int64_t>> types;        ///< as ids; empty = all 0
  std::vector<std::vector<std::int64_t>> decoder_ids;  ///< of an encoder-decoder
  /// Normalised pictures [3,H,W] of one size, for models that read pictures. `ids` are the numbers
  /// of their tokens then.
  std::vector<Tensor> pictures = {};
  std::vector<std::vector<std::int64_t>> captions = {};  ///< texts that go with the pictures
  std::string place = "/token_ids";                      ///< of the samples, for errors
  std::string decoder_place = "/decoder_token_ids";

  /// One of the samples, without captions.
  ModelTexts of_sample(std::size_t sample) const;

  const std::vector<std::vector<std::int64_t>>& read_by(const ModelStack& stack) const noexcept {
    return stack.crosses ? decoder_ids : ids;
  }
  const std::vector<std::vector<std::int64_t>>& read_by(ModelPlace::Stack stack) const noexcept {
    return stack == ModelPlace::Stack::decoder ? decoder_ids : ids;
  }
};

/// The length of the longest sample.
std::size_t longest_of(const std::vector<std::vector<std::int64_t>>& samples) noexcept;

/// The samples as int64 [B,L], with −1 behind the ends of shorter ones.
Tensor padded_ids(const std::vector<std::vector<std::int64_t>>& samples);

/// Reads or changes numbers of one place in every sample, before they go on: the outputs [1,L,H·d]
/// of an attention's heads, before they are projected, what [1,L,D] the feed-forward adds, or the
/// states [1,L,D] that leave the layer.
struct LayerWatch {
  ModelPlace place;
  std::function<void(std::size_t sample, Tensor& numbers)> take;
};

/// What comes from another text. An encoder-decoder's decoder reads the same text.
struct Patch {
  std::vector<std::int64_t> ids;  ///< of that text
  /// The head, feed-forward or states that leave a layer. Heads are query heads; keys and values
  /// that several of them share stay. Absent = each head in its turn.
  std::optional<ModelPlace> at;
};

/// Numbers in the place of the outputs of heads that are off: zeros, or the mean of the head over
/// all tokens of the texts.
enum class Ablation { zero, mean };

/// Options of a pass. Of those of an attention it uses dtype, threads, progress, `weights`, and
/// `stages`, which asks for the states between layers and for the steps of the scores of those
/// layers whose weights may be wanted.
struct ModelOptions : AttentionOptions {
  std::optional<std::vector<std::size_t>> layers;  ///< those whose weights are wanted; absent = all
  /// A layer after which the pass ends. Absent = it goes to the end.
  std::optional<ModelPlace> last = {};
  bool logits = false;
  /// For each sample the positions of the last stack whose logits are wanted; empty = none.
  std::vector<std::vector<std::size_t>> predicted;
  std::vector<ModelPlace> heads_off;  ///< heads that are off before the output projection
  Ablation ablation = Ablation::zero;
  std::optional<Patch> patch = {};  ///< of each sample
  std::vector<LayerWatch> watches = {};
  /// Called for each sample after each wanted layer, `layers.0.`, with all that was computed inside
  /// the layer; also after layers without a map, if weights are wanted.
  std::function<void(std::size_t sample, const std::string& name, const Layer& layer,
                     const LayerStep& step)>
      inside = {};
  /// Called for each sample before each attention of the chosen layers, `layers.0.self`, is
  /// computed.
  std::function<void(std::size_t sample, const std::string& attention,
                     const AttentionRequest& request)>
      requests = {};
  /// Receives the weights of wanted layers' self-attentions as rows [1,H,count,L] from `first` on,
  /// sample after sample, in place of whole maps, which are not made then. For models of one stack,
  /// without `inside`.
  std::function<void(std::size_t layer, std::size_t first, const Tensor& rows)> rows = {};
  /// Gets the states [1,L,D] of each sample that leave the last stack.
  std::function<void(const Tensor& states)> finished = {};
  /// Gets the logits [1,L,V] that the states which leave a layer of the last stack would give.
  std::function<void(std::size_t sample, std::size_t layer, const Tensor& logits)> lens = {};

  bool chooses(std::size_t layer) const {
    return !layers || std::ranges::count(*layers, layer) > 0;
  }
  bool chooses_all(const ModelStack& stack) const {
    for (std::size_t layer = 0; layer < stack.layers.size(); ++layer) {
      if (!chooses(layer)) return false;
    }
    return true;
  }
  /// Whether the steps of the layer's scores may be wanted, and its weights.
  bool chooses_map(const ModelStack& stack, std::size_t layer) const {
    return chooses(layer) && stack.layers[layer].has_map();
  }
  bool wants(const ModelStack& stack, std::size_t layer) const {
    return weights && chooses_map(stack, layer);
  }
};

/// Called with each result as soon as it is complete: `layers.0.self.weights` [B,H,L,L], "embedded"
/// [B,L,D], "contacts" [B,L−2,L−2] of a model that has such a head, if all weights are wanted,
/// `layers.0.self.scores`, `capped`, `masked` and `lse`, `layers.0.output`, "output",
/// "logits" [B,L,V]; in an encoder-decoder with "encoder." and "decoder." before them; of pictures
/// also "pooling.weights", and with captions "text.embedded" and the others of texts, "similarity";
/// and "decoder.layers.0.cross.weights". Each sample is computed alone; what lies beyond its length
/// is zeros.
using TakeTensor = std::function<void(const std::string& name, Tensor tensor)>;

/// Names and shapes of the results of run_model(), in order.
std::vector<std::pair<std::string, Shape>> foreseen_tensors(const Architecture& model,
                                                            const CheckpointWeights& weights,
                                                            const ModelTexts& texts,
                                                            const ModelOptions& options);

/// Called with the logits [1,1,V] of one position.
using TakeLogits =
    std::function<void(std::size_t sample, std::size_t position, const Tensor& logits)>;

/// The positions that a model adds to its embeddings as sines and cosines; absent = none.
std::optional<Sinusoids> sinusoids_of(const Architecture& model);

/// Throws Error(input) at `place` for a model whose heads' outputs have a gate, so that a token's
/// term in an attention's output differs from query to query (term_norms()).
void check_term_norms(const Architecture& model, const std::string& place);

/// The mask of a layer's self-attention over a whole text: causality and window.
Mask stack_mask(const ModelStack& stack, std::size_t layer);

/// Tokens of the longest text that a stack reads: its table of positions ends there. Absent = any.
std::optional<std::size_t> longest_text(const Architecture& model, const CheckpointWeights& weights,
                                        const ModelStack& stack);

/// Throws Error(input) at the place of the texts for an id, a type or a length beyond the model's.
void check_texts(const Architecture& model, const CheckpointWeights& weights,
                 const ModelTexts& texts);

/// A stack of a model as layers read it. Matrices stay in the checkpoint's file; a layer's norms
/// and biases are read when the layer is made. `prefix` is the model's. The result refers to all
/// arguments but the prefix. The weights must have passed check_weights().
Stack read_stack(const Architecture& model, const CheckpointWeights& weights,
                 const ModelStack& stack, const std::string& prefix, const ModelOptions& options);

/// The head that makes logits of what leaves the last stack. Throws Error(input) if the file has
/// none.
LogitsHead read_head(const Architecture& model, const CheckpointWeights& weights,
                     const std::string& prefix);

/// Reads the texts with the model. Throws Error(input) as check_texts() does. The weights must
/// have passed check_weights().
void run_model(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               const ModelOptions& options, const TakeTensor& take,
               const TakeLogits& take_logits = {});

}  // namespace attn
