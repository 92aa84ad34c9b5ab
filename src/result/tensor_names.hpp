#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Meaning of the rows, columns and numbers of a tensor.
enum class TensorMeaning {
  weights,    ///< queries and keys, and the weight of each key for a query
  other_map,  ///< queries and keys, and other numbers: scores, a mask
  positions,  ///< positions and dimensions
};

/// Meaning of a tensor by its name in a result: "weights", `layers.0.self.scores`…
TensorMeaning meaning_of(std::string_view name);

/// What rows and columns of such a map are where they are no queries and keys: "Picture", "Text";
/// else empty.
std::pair<std::string, std::string> axes_of(std::string_view name);

/// Whether rows of such a map are tokens of the first text, whatever its sample.
bool has_rows_of_first_text(std::string_view name);

/// Whether rows of a tensor of that name are queries and columns keys.
bool is_map(std::string_view name);

/// Whether a result has a tensor of that name: a map, or the output and its log-sum-exps.
bool is_result_name(std::string_view name);

/// Names of the `count` axes of a tensor before its last two: "sample", "head", of the shares of an
/// answer also "layer". `heads_only`: a single such axis is of heads.
std::vector<std::string_view> leading_axes(std::string_view tensor, std::size_t count,
                                           bool heads_only);

/// Whether maps of three axes have one of heads by the shapes of a result, as its queries have no
/// axis of samples.
bool maps_are_of_heads(std::span<const std::pair<std::string, Shape>> shapes);

/// Whether the tensor holds weights of attention, whatever its name: no number is negative, and
/// each row of the last two axes sums to one, or to zero where a mask hides all keys. Sums of
/// numbers that were rounded to bfloat16 are within a hundredth of one.
bool has_rows_of_weights(const Tensor& tensor);

/// Label of a colour bar for the numbers of a tensor of that name; nothing for weights, for which
/// colour bars have a label of their own.
std::optional<std::string> meaning_of_values(std::string_view name);

/// Name with the number of a layer in it.
struct NumberedName {
  std::string name;
  std::size_t number = 0;
};

/// Names that are `pattern` with digits in place of its "{n}", in the order of their numbers.
std::vector<NumberedName> names_of_pattern(const std::vector<std::string>& names,
                                           std::string_view pattern);

/// Name with "{n}" in place of its last digits; nothing if it has none.
std::optional<std::string> pattern_of(std::string_view name);

/// Makes numbers that begin with 1 begin with 0, but for names such as `layers.1.self`: programs
/// count these from 0 and may have left layer 0 out.
void count_from_zero(std::vector<NumberedName>& names);

}  // namespace attn
