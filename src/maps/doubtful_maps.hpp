#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attn/maps.hpp"

#include "maps/attention_map.hpp"

namespace attn {

/// Warnings of what is doubtful about a map of another program's file: axes before queries and keys
/// that may be others than those that they are taken for, and numbers that no softmax gives. None
/// of a result. `any_numbers`: whether maps of scores and other numbers are meant, too, so that
/// only an axis of keys in another place is doubtful.
std::vector<std::string> doubts_of(const AttentionMap& map, const MapRequest& request,
                                   bool any_numbers);

/// Why the numbers of a tensor are no weights: the axis along which they sum to 1, numbers that are
/// negative or NaN, or the sums of its rows; absent if they are weights. `any_numbers` as above.
std::optional<std::string> unlike_weights(const Tensor& numbers, bool any_numbers);

}  // namespace attn
