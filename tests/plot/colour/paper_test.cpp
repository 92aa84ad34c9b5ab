#include "plot/colour/paper.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>

#include <doctest/doctest.h>

#include "attn/plot.hpp"

#include "plot/colour/colour_map.hpp"

using namespace attn::plot;

TEST_CASE("hidden cells look like no value of any colour map, on white and on dark paper") {
  for (const attn::Background background : {attn::Background::white, attn::Background::dark}) {
    attn::FigureOptions options;
    options.background = background;
    for (const std::string_view name : attn::colour_maps()) {
      CAPTURE(name);
      const ColourMap map{std::string(name)};
      const Colour hidden = beside(paper_of(options), map).hidden;
      int nearest = 255;
      for (std::size_t i = 0; i < ColourMap::size(); ++i) {
        nearest = std::min(nearest, std::max({std::abs(map[i].red - hidden.red),
                                              std::abs(map[i].green - hidden.green),
                                              std::abs(map[i].blue - hidden.blue)}));
      }
      CHECK(nearest >= 24);
    }
  }
}

TEST_CASE("hidden cells keep their light grey beside the usual map") {
  const Paper paper = paper_of({});
  CHECK(beside(paper, ColourMap("YlOrRd")).hidden == paper.hidden);
  CHECK_FALSE(beside(paper, ColourMap("RdBu_r")).hidden == paper.hidden);
}
