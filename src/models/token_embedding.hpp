#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"
#include "models/pass.hpp"
#include "models/stack_norms.hpp"

namespace attn {

/// What enters the first layer of a stack: rows of the token table, with what positions, token
/// types, a norm and a projection make of them.
class TokenEmbedding {
 public:
  /// Keeps references to all.
  TokenEmbedding(const Architecture& model, const CheckpointWeights& checkpoint,
                 const StackWeights& weights, const StackNorms& norms, const ModelOptions& options)
      : model_(model),
        checkpoint_(checkpoint),
        weights_(weights),
        norms_(norms),
        options_(options) {}

  /// The name of the token table in the file; empty if there is none.
  std::string table() const;

  /// D
  std::size_t width() const;

  /// One text as [1,L,D]; no types count as 0.
  Tensor embed(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& types) const;

 private:
  Tensor looked_up(const char* purpose, const std::vector<std::int64_t>& ids) const;
  std::vector<std::int64_t> learned_places(const std::vector<std::int64_t>& ids) const;

  const Architecture& model_;
  const CheckpointWeights& checkpoint_;
  const StackWeights& weights_;
  const StackNorms& norms_;
  const ModelOptions& options_;
};

/// Sinusoidal positions (Vaswani et al. 2017, section 3.5), all sines before all cosines as Marian
/// has them: float64 [1,L,D].
Tensor sines_then_cosines(std::size_t length, std::size_t width);

}  // namespace attn
