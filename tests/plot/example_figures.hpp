#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attn/plot.hpp"

namespace attn::test {

/// Weights that any language computes to the same bits: w(i,j) = ((7i + 3j + seed) mod 10 + 1),
/// each row divided by its sum.
Tensor example_weights(std::size_t rows, std::size_t columns, std::size_t seed = 0);

/// 1 where column ≤ row.
Tensor causal(std::size_t size);

/// A picture that tests compare with a stored one, tests/plot/golden/`name`.png.
struct ExampleFigure {
  std::string name;
  PlotStyle style;  ///< matplotlib: the stored picture is matplotlib's own
  Picture (*draw)(PictureFormat format);
};

const std::vector<ExampleFigure>& example_figures();

}  // namespace attn::test
