#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "attn/attention.hpp"
#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// The norms of one stack; one that the file has no weights for leaves all as it is.
class StackNorms {
 public:
  /// Keeps references to all but the number.
  StackNorms(const Architecture& model, const CheckpointWeights& checkpoint,
             const StackWeights& weights, std::size_t threads)
      : model_(model), checkpoint_(checkpoint), weights_(weights), threads_(threads) {}

  bool has(const char* purpose, std::optional<std::size_t> layer) const {
    return weights_.has(purpose, layer);
  }

  /// x [..,D]. Throws Error(input) naming the weights that do not fit it.
  Tensor apply(const Tensor& x, const char* purpose, std::optional<std::size_t> layer) const;

  /// The norm of each head's queries or keys; absent if there is none, or one over all heads.
  std::optional<HeadNorm> of_heads(const char* purpose, std::size_t layer) const;

  /// The norm of states [..,width]; absent if there is none.
  std::optional<HeadNorm> of_states(const char* purpose, std::size_t layer,
                                    std::size_t width) const;

 private:
  HeadNorm read(const char* purpose, std::optional<std::size_t> layer, std::size_t width) const;

  const Architecture& model_;
  const CheckpointWeights& checkpoint_;
  const StackWeights& weights_;
  std::size_t threads_;
};

/// Throws Error(input): the tensor `name` has a shape that does not fit the configuration. An
/// expected size of 0 is any.
[[noreturn]] void refuse_shape(const CheckpointWeights& weights, const std::string& name,
                               const Shape& shape, const Shape& expected);

}  // namespace attn
