#pragma once

#include <string>
#include <utility>
#include <vector>

#include "attn/plot.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The chart of an attention whose tensors have these shapes, by name. Where scores were given in
/// the place of a query and a key, the weights tell how many of either there are.
DimensionChart dimension_chart(const std::vector<std::pair<std::string, Shape>>& shapes);

}  // namespace attn
