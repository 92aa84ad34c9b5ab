#pragma once

#include <string>

#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "models/pass.hpp"

namespace attn {

/// The name of the matrix of a head of its own; in models of several parts that of the language
/// part.
std::string head_weight(const ModelHead& head, const CheckpointWeights& weights);

/// The head that turns states into logits.
class LogitsHead {
 public:
  /// `table` is the name of the token embeddings. Throws Error(input) if the file has no head.
  /// Keeps references to all but the name.
  LogitsHead(const Architecture& model, const CheckpointWeights& weights, const std::string& table,
             const ModelOptions& options);

  /// V
  std::size_t words() const { return weights_.shape(table_)[0]; }

  /// Of states [..,D], [..,V].
  Tensor logits(Tensor x) const;

 private:
  const Architecture& model_;
  const CheckpointWeights& weights_;
  const ModelOptions& options_;
  std::string table_;
  Tensor bias_;
};

}  // namespace attn
