#include "plot/colour/head_colours.hpp"

#include <array>

namespace attn::plot {
namespace {

// Okabe and Ito's colours.
constexpr std::array<Colour, 6> colours = {
    {{0, 114, 178}, {230, 159, 0}, {0, 158, 115}, {213, 94, 0}, {204, 121, 167}, {86, 180, 233}}};
constexpr std::size_t dash_sorts = most_heads_apart / colours.size();

}  // namespace

Colour head_colour(std::size_t head) {
  return colours[head % colours.size()];
}

std::vector<double> head_dashes(std::size_t head) {
  switch (head / colours.size() % dash_sorts) {
    case 0:
      return {};
    case 1:
      return {6, 3};
    case 2:
      return {1.5, 2.5};
    default:
      return {8, 2.5, 1.5, 2.5};
  }
}

}  // namespace attn::plot
