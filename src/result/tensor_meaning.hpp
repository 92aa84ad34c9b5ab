#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "attn/tensor.hpp"

namespace attn {

/// What the rows and columns of a tensor are.
enum class TensorMeaning {
  weights,    ///< queries and keys, and how much of each key a query takes
  other_map,  ///< queries and keys, and other numbers: scores, a mask
  positions,  ///< positions and dimensions
};

/// What a tensor of that name in a result is: "weights", "layers.0.self.scores"…
TensorMeaning meaning_of(std::string_view name);

/// Whether its rows are queries and its columns keys.
bool is_map(std::string_view name);

/// Whether each row of the last two axes sums to one, or to zero where a mask hides all, and no
/// number is negative: what weights of attention are, whatever they are called. The sums of numbers
/// that were rounded to bfloat16 are within a hundredth of one.
bool has_rows_of_weights(const Tensor& tensor);

/// What the numbers of a tensor of that name are, for a colour bar; nothing for weights, which
/// colour bars name by themselves.
std::optional<std::string> meaning_of_values(std::string_view name);

}  // namespace attn
