#pragma once

#include <cstddef>
#include <span>

#include "attn/plot.hpp"

#include "maps/attention_map.hpp"

namespace attn {

/// The maps of some steps, [Lq,Lk] each with an Lk of its own, one below the other: cells beyond a
/// step's keys are missing. Throws Error(input) naming the file of a step that does not hold the
/// sample or the head.
Heatmap stacked_steps(std::span<const Drawable> steps, const Drawing& drawing, std::size_t head);

}  // namespace attn
