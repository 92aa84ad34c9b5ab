#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "layers/layer.hpp"
#include "models/model_place.hpp"

namespace attn {

/// A result of a model's pass. Each sample is computed alone; what lies beyond its length is zeros.
struct PassTensor {
  enum class Quantity {
    embedded,  ///< [B,L,D], what enters the first layer of a stack
    // Of the attentions of wanted layers: the weights [B,H,Lq,Lk] and, with the option `stages`,
    // the steps of the scores, of which `lse` is [B,H,Lq].
    weights,
    scores,
    capped,
    masked,
    lse,
    states,      ///< [B,L,D], what leaves a layer, with the option `stages`
    contacts,    ///< [B,L−2,L−2], of a model with such a head, if the weights of all layers are
                 ///< wanted
    output,      ///< [B,L,D], what leaves a stack
    logits,      ///< [B,L,V]
    pooling,     ///< weights [B,H,1,L] by which pictures are pooled
    similarity,  ///< [B,texts] of pictures and their captions
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
  /// adds, or the states [1,L,D] that leave a layer.
  std::vector<ModelPlace> places = {};
  std::function<void(const SamplePlace& at, const Tensor& numbers)> written = {};
  Progress progress = {};

  /// Whether `written` takes the numbers of a place.
  bool takes(const ModelPlace& place) const {
    return written && std::ranges::count(places, place) > 0;
  }
};

}  // namespace attn
