#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// What a model reads: token ids, one list a sample, of any lengths.
struct ModelTexts {
  std::vector<std::vector<std::int64_t>> ids;
  std::vector<std::vector<std::int64_t>> types;        ///< as ids; empty = all 0
  std::vector<std::vector<std::int64_t>> decoder_ids;  ///< of an encoder-decoder
};

/// Heads by the layer that they are in.
using HeadsByLayer = std::map<std::size_t, std::vector<std::size_t>>;

struct ModelOptions {
  DType dtype = DType::float32;                    ///< of the computation
  std::size_t threads = 0;                         ///< 0 = as many as the machine has
  std::optional<std::vector<std::size_t>> layers;  ///< whose weights are wanted; absent = all
  bool stages = false;                             ///< whether states between layers are wanted
  bool logits = false;
  /// Heads whose outputs are zeros before the output projection: of the first or only stack's
  /// self-attention, of a decoder's, and of its cross-attention.
  HeadsByLayer heads_off, decoder_heads_off, cross_heads_off;
};

/// Takes a result as soon as it is complete: "layers.0.self.weights" [B,H,L,L], "embedded" [B,L,D],
/// "layers.0.output", "output", "logits" [B,L,V]; in an encoder-decoder with "encoder." and
/// "decoder." before them, and "decoder.layers.0.cross.weights". Each sample is computed alone;
/// what lies beyond its length is zeros.
using TakeTensor = std::function<void(const std::string& name, Tensor tensor)>;

/// Reads the texts with the model. Throws Error(input) for an id, a type or a length that the model
/// has not, and naming the tensor for weights that do not fit the configuration.
void run_model(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               const ModelOptions& options, const TakeTensor& take);

}  // namespace attn
