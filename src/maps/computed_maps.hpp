#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

#include "document/plan.hpp"

namespace attn {

/// What was computed of one attention, as pictures and reports need it.
struct ComputedAttention {
  Tensor weights, allowed;        ///< weights are absent if not asked for, allowed without a mask
  Tensor scores, capped, masked;  ///< if stages were asked for
  Labels labels;                  ///< of the plan, or of the bins of pooled weights
  std::string cells;              ///< of pooled weights: "Mean of 128×128 Weights a Cell"
};

/// All results of a plan, under the names of result.json.
struct Computed {
  std::vector<std::pair<std::string, Tensor>> tensors;  ///< weights and what is drawn of them first
  std::vector<ComputedAttention> attentions;            ///< as those of the plan
  std::vector<std::pair<std::string, Shape>> shapes;    ///< of weights and output
  std::vector<std::vector<Prediction>> predictions;     ///< of a model, one list a sample
  std::size_t empty_rows = 0;  ///< queries with no key left, in all attentions
};

/// Is told of each tensor as soon as it is the last of `computed.tensors`, and which attention's
/// weights it is, if it is any's; may leave of it but its shape (shape_only()).
using TakeComputed = std::function<void(Computed& computed, std::optional<std::size_t> attention)>;

/// Computes a plan. A model's tensors are taken one by one, in the order of foreseen_tensors();
/// other kinds give all at once, which are not.
Computed compute(const Plan& plan, const TakeComputed& take = {});

}  // namespace attn
