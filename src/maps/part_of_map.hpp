#pragma once

#include <cstddef>
#include <vector>

#include "attn/maps.hpp"

#include "maps/attention_map.hpp"

namespace attn {

/// The tensor as a request takes it: its slice, then its sizes. Throws Error(input) naming the
/// field.
Tensor taken_tensor(const Tensor& tensor, const MapRequest& request);
/// Axes with those of queries and keys, which may be left out; none stay none. Throws Error(input)
/// for axes that are not those of maps.
std::vector<MapAxis> whole_axes(std::vector<MapAxis> axes);
/// The tensor, which has these axes, with its axes in the order of map_axes().
Tensor in_usual_order(const Tensor& tensor, const std::vector<MapAxis>& axes);

/// Whether the selection leaves out or joins samples, heads or positions of maps.
bool takes_part(const MapSelection& selection);
/// Whether it does so with queries or keys, or takes samples or heads together.
bool takes_positions(const MapSelection& selection);

/// The chosen part of a map as a map of its own, for whoever shows all of it: the chosen samples
/// and heads, or one in the place of those that are taken together, and the chosen queries and
/// keys. Labels, tokens, the mask and the stages follow. Maps that are no queries × keys stay
/// whole. Throws Error(input) naming the field for what is not there, and where samples have words
/// of their own.
AttentionMap chosen_part(AttentionMap map, const MapSelection& selection);

}  // namespace attn
