#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// A logistic regression over the weights of all heads that says which residues of a protein touch
/// each other (Rao et al. 2021, "Transformer protein language models are unsupervised structure
/// learners", section 3.3), as ESM's checkpoints have it.
class ContactHead {
 public:
  /// Absent if the file has none.
  static std::optional<ContactHead> read(const Architecture& model,
                                         const CheckpointWeights& weights,
                                         const std::string& prefix);

  /// Adds what the heads of a layer say of one text. `weights` [1,H,L,L] lose their first and last
  /// token and what looks from or at an end token, and become A + Aᵀ less the product of its sums
  /// by row and by column over the sum of all. `logits` [(L−2)²] may be empty before the first
  /// layer.
  void add(std::size_t layer, const Tensor& weights, const std::vector<std::int64_t>& ids,
           std::vector<double>& logits) const;

  /// The probabilities [1,L−2,L−2]; [1,1,1] of 0 for a text of fewer than three tokens.
  Tensor probabilities(const std::vector<double>& logits) const;

 private:
  std::vector<double> factors_;  // of the heads, layer after layer
  double bias_ = 0;
};

}  // namespace attn
