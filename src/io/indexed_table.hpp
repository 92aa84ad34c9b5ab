#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/file_access.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The maps of a table whose columns are indices and weights, as data frames and lists of edges
/// have them: `layer`, `sample`, `head`, `query` and `key` (or `target` and `source`), then one
/// weight, or one for each key where there is no column of keys. Axes in this order, [query,key]
/// last; 0 where the table has no row. Absent for a header without such names. Throws Error(input)
/// for indices that are no whole numbers or stand twice, and for more elements than the limit.
std::optional<Tensor> indexed_table(const std::vector<std::string>& header,
                                    const std::vector<std::vector<std::string>>& rows,
                                    const Limits& limits);

}  // namespace attn
