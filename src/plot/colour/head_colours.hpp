#pragma once

#include <cstddef>
#include <vector>

#include "plot/colour/colour.hpp"

namespace attn::plot {

/// So many heads have lines that are told apart, by readers who see no red, green or blue too: by
/// their colours or by their dashes.
inline constexpr std::size_t most_heads_apart = 24;

Colour head_colour(std::size_t head);
/// Points drawn and left out by turns; none = a whole line.
std::vector<double> head_dashes(std::size_t head);

}  // namespace attn::plot
