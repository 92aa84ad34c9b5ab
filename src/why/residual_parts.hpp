#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "why/frozen_pass.hpp"
#include "why/rows.hpp"

namespace attn {

/// Rows of the residual stream as sums of what was written into it: row i is the sum of row i of
/// all parts.
struct ResidualParts {
  std::vector<ModelPlace> places;  ///< where each was written
  std::vector<Rows> parts;         ///< [count,D] each; the last is the bias

  Rows& bias() { return parts.back(); }
};

/// The rows `first` … `first + count` − 1 of a pass's positions, where its attention reads them, or
/// after the last layer that it kept. Each norm on the way counts once.
ResidualParts parts_of(const FrozenPass& pass, std::size_t first, std::size_t count,
                       std::size_t threads);

/// Every part of those rows through a norm, whose shift goes to the bias.
void apply(const FrozenNorm& norm, std::size_t first, ResidualParts& parts, std::size_t threads);

/// Throws Error(internal) with the figures if terms of a split of `whole` do not add up. Tolerance:
/// 10⁻¹² · (Σ|terms| + size), size = Σ|products| of whole. `what` names the number in the error.
void check_sum(std::span<const double> terms, double whole, double size,
               const std::function<std::string()>& what);

}  // namespace attn
