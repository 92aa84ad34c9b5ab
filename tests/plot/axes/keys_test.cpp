#include "plot/axes/keys.hpp"

#include <doctest/doctest.h>

namespace {

using namespace attn;
using namespace attn::plot;

TEST_CASE("a legend is as wide and high as its entries, and begins at its corner") {
  Figure figure(FigureOptions{}, PictureFormat::svg, {8, 6});
  const std::vector<LegendEntry> one{{"seen", black}};
  const std::vector<LegendEntry> two{{"seen", black},
                                     {"causal + padding", white, {Canvas::Hatch::rising}, black}};
  const Legend legend(two, {100, 50}, figure);
  CHECK(legend.bounds().left == 100);
  CHECK(legend.bounds().width() == doctest::Approx(Legend::width(two, figure)));
  CHECK(legend.bounds().height() > 1.5 * Legend(one, {0, 0}, figure).bounds().height());
  CHECK(Legend::width(two, figure) > Legend::width(one, figure));
}

TEST_CASE("a legend's long names are shortened to leave room for the figure") {
  Figure figure(FigureOptions{}, PictureFormat::svg, {8, 6});
  CHECK(Legend::width({{std::string(500, 'x'), black}}, figure) < 0.5 * figure.width());
}

}  // namespace
