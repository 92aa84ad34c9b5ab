#pragma once

#include <functional>
#include <span>
#include <string>

namespace attn {

/// Throws Error(internal) with the figures if terms of a split of `whole` do not add up: if the sum
/// differs from it by more than 10⁻¹² of the sum of the terms' absolute values, and of `size`: that
/// of the products which `whole` is the sum of, whose rounding stays where they cancel each other.
/// `what` names the number in the error.
void check_sum(std::span<const double> terms, double whole, double size,
               const std::function<std::string()>& what);

}  // namespace attn
