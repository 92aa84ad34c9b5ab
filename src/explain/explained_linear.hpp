#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "attn/layers.hpp"

#include "explain/explanation.hpp"

namespace attn {

/// Rows `first` to `first + y.size()` of y = x Wᵀ + b, a few of them term by term, as
/// "name[0]  x[0]·W[first,0] + … + b = y[0]".
void explain_linear(const Linear& linear, std::span<const double> x, std::size_t first,
                    std::span<const double> y, const std::string& name, Explanation& explanation);

/// Named vectors of one width.
void show_vectors(std::vector<Explanation::Vectors::Row> rows, Explanation& explanation);
Explanation::Vectors::Row named_vector(std::string name, std::span<const double> values);

}  // namespace attn
