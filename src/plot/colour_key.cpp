#include "plot/colour_key.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "support/translated.hpp"

namespace attn::plot {
namespace {

// How many cells stand under one pixel or rectangle, at most.
struct CellsShown {
  std::size_t down, across;
};

CellsShown cells_shown(const Matrix& matrix, const Box& box, bool raster,
                       const CellsInFile& in_file) {
  const auto cells = [&](std::size_t count, double pixels) {
    const double shown =
        raster ? std::max(1.0, std::floor(pixels)) : static_cast<double>(in_file.most_across);
    return static_cast<std::size_t>(std::ceil(static_cast<double>(count) / shown));
  };
  return {cells(matrix.rows(), box.height()), cells(matrix.columns(), box.width())};
}

}  // namespace

std::vector<LegendEntry> colour_key(std::span<const Matrix> matrices, const CellColours& colours) {
  std::vector<LegendEntry> entries;
  if (colours.style == PlotStyle::matplotlib) return entries;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const Oddities odd = oddities(matrices);
  const auto add = [&](bool there, const std::string& name, double value) {
    if (there) entries.push_back({name, colours.of_no_place(value)});
  };
  if (odd.hidden)
    entries.push_back({translated("hidden"),
                       colours.paper.hidden,
                       {Canvas::Hatch::rising},
                       colours.paper.hidden_hatch,
                       true});
  if (odd.missing)
    entries.push_back({translated("not there"),
                       colours.paper.missing,
                       {Canvas::Hatch::dotted},
                       colours.paper.missing_dots,
                       true});
  add(odd.not_a_number, "NaN", std::numeric_limits<double>::quiet_NaN());
  add(odd.minus_infinity, "\u2212\u221e", -infinity);
  add(odd.infinity, "\u221e", infinity);
  add(odd.not_positive && colours.norm.kind == ColorNorm::Kind::log, translated("0 or less"), 0);
  return entries;
}

bool shares_pixels(const Matrix& matrix, const Box& box, bool raster, const CellsInFile& in_file) {
  const CellsShown shown = cells_shown(matrix, box, raster, in_file);
  return shown.down > 1 || shown.across > 1;
}

std::string pixel_note(const Matrix& matrix, const Box& box, bool raster,
                       const CellColours& colours) {
  if (!shares_pixels(matrix, box, raster, colours.in_file)) return "";
  const CellsShown shown = cells_shown(matrix, box, raster, colours.in_file);
  return colours.pixels == PixelShows::max
             ? translated("largest of up to {1} × {2} cells a pixel", shown.down, shown.across)
             : translated("mean of up to {1} × {2} cells a pixel", shown.down, shown.across);
}

}  // namespace attn::plot
