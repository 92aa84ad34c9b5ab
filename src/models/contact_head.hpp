#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// Whether the file holds the head that predicts contacts.
bool has_contact_head(const Architecture& model, const CheckpointWeights& weights);

/// A logistic regression over the weights of all heads that predicts which residues of a protein
/// touch each other (Rao et al. 2021, "Transformer protein language models are unsupervised
/// structure learners", section 3.3), as ESM's checkpoints have it.
class ContactHead {
 public:
  /// The weights must have a contact head.
  static ContactHead read(const Architecture& model, const CheckpointWeights& weights);

  /// Adds a layer's terms to the logits [(L−2)²] of one text, which may be empty before the first
  /// layer. `weights` [1,H,L,L], float32 or float64, lose their first and last token and what looks
  /// from or at an end token, and become A + Aᵀ less the product of its sums by row and by column
  /// over the sum of all.
  void add(std::size_t layer, const Tensor& weights, const std::vector<std::int64_t>& ids,
           std::size_t threads, std::vector<double>& logits) const;

  /// The probabilities [1,L−2,L−2]; [1,1,1] of 0 for a text of fewer than three tokens.
  Tensor probabilities(const std::vector<double>& logits) const;

 private:
  std::vector<double> factors_;  // of the heads, layer after layer
  double bias_ = 0;
};

}  // namespace attn
