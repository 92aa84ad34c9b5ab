#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "attn/heads.hpp"
#include "attn/tensor.hpp"

#include "document/plan.hpp"

namespace attn {

/// Tensors with their names, in the order in which a result has them.
using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// Takes the norms of terms of every layer of a model's pass; the tensors are put into `tensors`
/// while it runs: `layers.0.self.norms` [B,H,L,L], `layers.0.self.norms_of_all_heads` [B,L,L],
/// `layers.0.self.block_norms` [B,L,L], `layers.0.self.mixing` [B,L]. Throws Error(input) as
/// check_term_norms(), and Error(usage) for a patch and means of heads.
PassObserver norms_into(NamedTensors& tensors, const ModelRequest& request);

/// Predictions from the states of each layer: "lens.ids" and "lens.probabilities" [B,layers,L,k]
/// once the pass has run.
class Lens {
 public:
  /// `likeliest` tokens a position. Throws Error(input) if the model has no head. Keeps references
  /// to the request.
  Lens(const ModelRequest& request, std::size_t likeliest);

  /// Looks through a pass; must not outlive this object, which must not be moved.
  PassObserver observer();

  void finish(NamedTensors& tensors, std::vector<LensTokens>& lens) const;

 private:
  const ModelRequest& request_;
  std::size_t likeliest_, layers_, longest_;
  std::vector<std::int64_t> ids_;
  std::vector<double> probabilities_;
};

/// Throws Error(input) for a model without a head that predicts contacts, and for layers that are
/// chosen, as that head reads all of them.
void check_contacts(const ModelRequest& request);

/// Random tokens that are repeated once, after the model's first token: how much weight each head
/// gives, in the second half, to the previous token, to the same token in the first half and to the
/// one after that (Olsson et al. 2022, section "induction heads").
std::vector<InductionHeads> induction_test(const ModelRequest& request,
                                           const HeadsOptions& options);

/// Passes in which one part at a time is what it was in another text, as the options choose parts
/// and tokens. Throws Error(input) for texts of different lengths and for tokens that there are
/// not.
HeadPatches head_patches(const ModelRequest& request, const Patch& patch,
                         const HeadsOptions& options);

/// Gradients of a logit in each text, at the position whose prediction is wanted or the last one:
/// also tensors "gradients.heads" [B,layers,H], "gradients.tokens" and, of integrated ones,
/// "gradients.integrated" [B,L], NaN after the ends of texts. Throws Error(input) for tokens that
/// there are not and for what has no gradients.
std::vector<TextGradients> text_gradients(const ModelRequest& request, const HeadsOptions& options,
                                          NamedTensors& tensors);

/// Predictions without each head of some layers, compared with those of all heads.
std::vector<HeadDifference> head_differences(const ModelRequest& request,
                                             const std::vector<std::size_t>& layers);

}  // namespace attn
