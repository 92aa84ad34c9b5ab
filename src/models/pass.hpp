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

#include "layers/embedding_and_head.hpp"
#include "layers/layer.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "models/model_place.hpp"

namespace attn {

/// A result of a model's pass. Each sample is computed alone; what lies beyond its length is zeros.
struct PassTensor {
  enum class Quantity {
    embedded,  ///< [B,L,D], what enters the first layer of a stack
    // Tensors of the attentions of wanted layers: the weights [B,H,Lq,Lk] and, with the option
    // `stages`, the steps of the scores, of which `lse` is [B,H,Lq].
    weights,
    scores,
    capped,
    masked,
    lse,
    states,    ///< [B,L,D], what leaves a layer, with the option `stages`
    contacts,  ///< [B,L−2,L−2], of a model with such a head, if the weights of all layers are
               ///< wanted
    output,    ///< [B,L,D], what leaves a stack
    logits,    ///< [B,L,V]
    pooling,   ///< weights [B,H,1,L] by which pictures are pooled
    classification,       ///< logits [B,C] or [B,L,C] of a model that classifies
    sentence_embedding,   ///< [B,E]
    sentence_similarity,  ///< [B,B] of the texts' vectors
    token_similarity,     ///< [B,L0,L], see SentenceModules
    similarity,           ///< [B,texts] of pictures and their captions
  };
  Quantity quantity = Quantity::embedded;
  ModelPlace place = {};  ///< the attention, the layer or the stack

  /// Its name in a result: `layers.0.self.weights`, "encoder.embedded", "decoder.layers.2.output",
  /// "output".
  std::string name() const;
};

/// A place in one sample of a pass.
struct SamplePlace {
  const ModelPlace& place;
  std::size_t sample = 0;
};

/// A consumer of a pass. A pass may have several, and computes for each of its functions that is
/// not empty what the function takes.
struct PassObserver {
  /// Takes each result as soon as it is complete.
  std::function<void(const PassTensor& what, Tensor tensor)> tensor = {};
  /// Takes the logits [1,1,V] of a position that the options name.
  std::function<void(std::size_t sample, std::size_t position, const Tensor& logits)> predicted =
      {};
  /// Takes all that was computed inside a wanted layer, if weights are wanted; also of layers
  /// without a map.
  std::function<void(const SamplePlace& at, const Layer& layer, const LayerStep& step)> layer = {};
  /// Takes the request of each attention of a wanted layer before it is computed.
  std::function<void(const SamplePlace& at, const AttentionRequest& request)> request = {};
  /// Takes the weights of the self-attentions of wanted layers as rows [1,H,count,L] from `first`
  /// on, if the options ask for rows: layer by layer, of each sample by sample.
  std::function<void(const SamplePlace& at, std::size_t first, const Tensor& rows)> rows = {};
  /// Takes the logits [1,L,V] that the states which leave a layer of the last stack would give.
  std::function<void(const SamplePlace& at, const Tensor& logits)> lens = {};
  /// Takes those [1,1,V] of a wanted layer at a position that the options name.
  std::function<void(const SamplePlace& at, std::size_t position, const Tensor& logits)> lens_at =
      {};
  /// Places, without heads and positions, and what takes their numbers as they go on: the outputs
  /// [1,L,H·d] of an attention's heads, before they are projected, what [1,L,D] a feed-forward
  /// adds, or the states [1,L,D] that leave a layer, or, of the embedding, enter the first one.
  std::vector<ModelPlace> places = {};
  std::function<void(const SamplePlace& at, const Tensor& numbers)> written = {};
  Progress progress = {};

  /// Whether `written` takes the numbers of a place.
  bool takes(const ModelPlace& place) const {
    return written && std::ranges::count(places, place) > 0;
  }
};

/// Texts for a model: token ids, one list a sample, of any lengths.
struct ModelTexts {
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<std::vector<std::int64_t>> types;        ///< as ids; empty = all 0
  std::vector<std::vector<std::int64_t>> decoder_ids;  ///< of an encoder-decoder
  /// Normalised pictures [3,H,W] of one size, for models that read pictures. `ids` are the numbers
  /// of their tokens then.
  std::vector<Tensor> pictures = {};
  std::vector<Tensor> sounds = {};  ///< spectrograms [bands,frames], for models that read sound
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
  /// Types of the tokens of a sample that the stack reads; empty if they have none.
  const std::vector<std::int64_t>& types_read_by(const ModelStack& stack,
                                                 std::size_t sample) const noexcept {
    static const std::vector<std::int64_t> none;
    return stack.crosses || types.empty() ? none : types[sample];
  }
};

/// Takes the types of tokens away from texts that are read in the place of others, whose types they
/// had. They stay where the model compares types and the texts have the others' lengths.
void take_types_away(const Architecture& model, ModelTexts& texts);

/// The length of the longest sample.
std::size_t longest_of(const std::vector<std::vector<std::int64_t>>& samples) noexcept;

/// The samples as int64 [B,L], with −1 behind the ends of shorter ones.
Tensor padded_ids(const std::vector<std::vector<std::int64_t>>& samples);

/// Parts that come from another text. An encoder-decoder's decoder reads the same text.
struct Patch {
  std::vector<std::int64_t> ids;  ///< of that text
  /// Heads, attentions, feed-forwards, states that leave a layer, or the embedding. Heads are query
  /// heads; keys and values that several of them share stay. Empty = each part in its turn.
  std::vector<ModelPlace> at;
};

/// Numbers in the place of the outputs of heads that are off: zeros, or the mean of the head over
/// all tokens of some texts, or at each position over those that have it.
enum class Ablation { zero, mean, mean_by_position };

/// The results of a pass that are wanted.
struct WantedResults {
  bool weights = true;
  /// The states between layers, and the steps of the scores of those layers whose weights may be
  /// wanted.
  bool stages = false;
  bool logits = false;
  /// Whether weights come as rows in place of whole maps, which are not made then. For models of
  /// one stack.
  bool by_rows = false;
  std::optional<std::vector<std::size_t>> layers = {};  ///< those of weights; absent = all
  /// For each sample the positions of the last stack whose logits are wanted; empty = none.
  std::vector<std::vector<std::size_t>> predicted = {};
  /// A layer after which the pass ends. Absent = it goes to the end.
  std::optional<ModelPlace> last = {};

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
  bool chooses_weights(const ModelStack& stack, std::size_t layer) const {
    return weights && chooses_map(stack, layer);
  }
};

/// Options of a pass.
struct ModelOptions {
  DType dtype = DType::float32;  ///< of the results
  std::size_t threads = 0;       ///< 0 = as many as the machine has; no result depends on it
  std::vector<ModelPlace> heads_off = {};  ///< heads that are off before the output projection
  Ablation ablation = Ablation::zero;
  /// Texts over which means are taken; empty = those that are read.
  std::vector<std::vector<std::int64_t>> reference = {};
  std::optional<Patch> patch = {};  ///< of each sample
  WantedResults wanted = {};
};

/// A model, what it reads, and the options of its pass; refers to all of them. The weights must
/// have passed check_weights().
struct ModelPass {
  const Architecture& model;
  const CheckpointWeights& weights;
  const ModelTexts& texts;
  const ModelOptions& options;
};

/// The tensors of run_model() with their shapes, in order.
std::vector<std::pair<PassTensor, Shape>> foreseen_tensors(const ModelPass& pass);

/// The positions that a model adds to its embeddings as sines and cosines; absent = none.
std::optional<Sinusoids> sinusoids_of(const Architecture& model);

/// Throws Error(input) at `place` for a model whose heads' outputs have a gate, so that a token's
/// term in an attention's output differs from query to query (term_norms()).
void check_term_norms(const Architecture& model, const std::string& place);

/// The mask of a layer's self-attention over a whole text or a picture of that grid: causality and
/// windows.
Mask stack_mask(const ModelStack& stack, std::size_t layer,
                const std::optional<PatchGrid>& grid = {});

/// The grid of the pictures that a model reads; absent without pictures.
std::optional<PatchGrid> grid_of_pictures(const Architecture& model, const ModelTexts& texts);

/// Tokens that a layer reads of the longest sample: fewer where patches are merged.
std::size_t longest_at(const Architecture& model, const ModelTexts& texts, const ModelStack& stack,
                       std::size_t layer);

/// Positions of the tokens that all others of a text see; none in most models. Throws Error(input)
/// at `place` for a text without the separators that say where they are.
std::vector<std::size_t> global_positions(const Architecture& model,
                                          const std::vector<std::int64_t>& ids,
                                          const std::string& place);

/// Tokens of the longest text that a stack reads: its table of positions ends there. Absent = any.
std::optional<std::size_t> longest_text(const Architecture& model, const CheckpointWeights& weights,
                                        const ModelStack& stack);

/// Throws Error(input) at the place of the texts for an id, a type or a length beyond the model's.
void check_texts(const Architecture& model, const CheckpointWeights& weights,
                 const ModelTexts& texts);

/// A stack of the pass's model as layers read it. Matrices stay in the checkpoint's file; a layer's
/// norms and biases are read when the layer is made. The result refers to what the pass refers to.
Stack read_stack(const ModelPass& pass, const ModelStack& stack);

/// The head that makes logits of what leaves the last stack. Throws Error(input) if the file has
/// none.
LogitsHead read_head(const Architecture& model, const CheckpointWeights& weights);

/// Reads the texts with the model and hands what the observers take to each of them, in their
/// order. Throws Error(input) as check_texts() does.
void run_model(const ModelPass& pass, const std::vector<PassObserver>& observers);

/// Whether other numbers than zeros take the place of what a model computes.
inline bool is_changed(const ModelOptions& options) {
  return options.patch || (!options.heads_off.empty() && options.ablation != Ablation::zero);
}

/// A change of what is written at a place, without head and positions, before it goes on.
struct PassChange {
  ModelPlace place;
  std::function<void(std::size_t sample, Tensor& numbers)> make;
};

/// The changes that options ask for: the means of heads that are off, and what a patch takes from
/// the other text. Runs the model for either. Throws Error(input) as run_model() does, and for a
/// patch that does not fit the texts.
std::vector<PassChange> changes_of(const ModelPass& pass);

/// run_model() without its checks and with given changes, in place of those of the options. Returns
/// the states [1,L,D] of each sample that leave the last layer of the pass, or the last stack.
std::vector<Tensor> run_changed(const ModelPass& pass, const std::vector<PassChange>& changes,
                                const std::vector<PassObserver>& observers);

/// Copies columns `first` … `first + count` − 1 of some rows of `from` [..,L,W] into those of `to`;
/// no positions = all. One row of `from` is for all of `to`.
void put_columns(const Tensor& from, std::size_t first, std::size_t count,
                 const std::vector<std::size_t>& positions, Tensor& to);

/// The head, attention, feed-forward or states of a layer, or the embedding, that a text names, and
/// the positions that may follow. Throws Error(input) at `field`.
ModelPlace patch_place(const std::string& text, const Architecture& model,
                       const std::string& field);

}  // namespace attn
