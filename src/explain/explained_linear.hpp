#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "attn/attention.hpp"

#include "attention/linear.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// Shows rows `first` to `first + y.size()` of y = x Wᵀ + b, a few of them term by term, as
/// "name[0]  x[0]·W[first,0] + … + b = y[0]".
void explain_linear(const StoredLinear& linear, std::span<const double> x, std::size_t first,
                    std::span<const double> y, const std::string& name, Explanation& explanation);

/// Shows the steps of y = norm(x) for one row.
void explain_norm(const Norm& norm, double eps, std::span<const double> x,
                  std::span<const double> y, Explanation& explanation);

/// Shows named vectors of one width.
void show_vectors(std::vector<Explanation::Vectors::Row> rows, Explanation& explanation);
Explanation::Vectors::Row named_vector(std::string name, std::span<const double> values);

}  // namespace attn
