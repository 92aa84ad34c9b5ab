#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "models/pass.hpp"
#include "why/patch_sweep.hpp"
#include "why/splits.hpp"

namespace attn {

/// What sweep() computes, to first order (Nanda 2023, "Attribution Patching"): the difference in
/// the text and, of each part, (other − own) · its derivative. Two passes forward and one back for
/// all parts. In double precision. Throws Error(input) as sweep() does, and for layers without a
/// reverse pass.
SweepEffects attributed_sweep(const ModelPass& pass, const SweepChoice& choice,
                              const DifferenceTokens& tokens);

/// Options of a logit's gradients.
struct GradientChoice {
  LogitTerms terms;                     ///< the token, absent = the likeliest one
  std::optional<std::size_t> position;  ///< absent = the last one
  std::size_t steps = 0;                ///< of integrated gradients; 0 = none
  /// Token in the place of all tokens of the baseline, whose positions stay; absent = the baseline
  /// is states of zeros.
  std::optional<std::int64_t> baseline;
};

/// Gradients of a logit, or of the difference of two, by what heads and tokens give it.
struct LogitAttribution {
  std::size_t position = 0, token = 0;
  std::optional<std::size_t> against;
  double value = 0;  ///< the logit or the difference
  std::vector<std::size_t> layers;
  std::vector<std::vector<double>>
      heads;  ///< of each layer Σ weight · derivative by the weight [H]
  /// Of each token Σ state · derivative, of the states that enter the first layer.
  std::vector<double> inputs;
  /// Σ (state − baseline) · mean derivative on the way (Sundararajan et al. 2017, equation 3, by
  /// the midpoints of the steps), the value at the baseline, and how much the sum of all tokens
  /// differs from value − baseline_value.
  std::vector<double> integrated;
  double baseline_value = 0, error = 0;
};

/// The gradients in a text of one sample. Throws as attributed_sweep() does.
LogitAttribution attribute(const ModelPass& pass, const GradientChoice& choice);

}  // namespace attn
