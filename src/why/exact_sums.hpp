#pragma once

#include <functional>
#include <span>
#include <string>

namespace attn {

/// Throws Error(internal) with the figures if terms of a split of `whole` do not add up. Tolerance:
/// 10⁻¹² · (Σ|terms| + size), size = Σ|products| of whole. `what` names the number in the error.
void check_sum(std::span<const double> terms, double whole, double size,
               const std::function<std::string()>& what);

}  // namespace attn
