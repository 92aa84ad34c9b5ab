#include "plot/axes/map_axes.hpp"

#include "plot/axes/subplots.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr const char* default_xlabel = to_translate("Key Sequence Position");
constexpr const char* default_ylabel = to_translate("Query Sequence Position");
constexpr double title_pad = 15;  // points

}  // namespace

Axes map_axes(const Box& box, const MapTexts& texts, const FigureOptions& options, Figure& figure) {
  Axes axes;
  axes.box = box;
  axes.style = options.style;
  if (texts.titled) axes.title = figure.title(texts.title, title_size, figure.width());
  axes.title_size = title_size;
  axes.title_pad = title_pad;
  if (options.style == PlotStyle::standard) axes.title_within = {{0, figure.width()}};
  if (texts.labelled) {
    axes.x.label =
        figure.label(options.xlabel.value_or(translated(default_xlabel)), label_size, box.width());
    axes.y.label =
        figure.label(options.ylabel.value_or(translated(default_ylabel)), label_size, box.height());
  }
  axes.x.label_size = axes.y.label_size = label_size;
  set_cell_ticks(axes, texts.key, texts.query, figure);
  axes.x.labelled = axes.y.labelled = texts.ticked;
  return axes;
}

Box map_box(const Box& place, std::size_t rows, std::size_t columns, PlotStyle style) {
  return style == PlotStyle::matplotlib ? place : with_square_cells(place, rows, columns);
}

}  // namespace attn::plot
