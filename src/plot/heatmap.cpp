#include "attn/error.hpp"

#include "plot/axes/cell_ticks.hpp"
#include "plot/axes/colour_bar.hpp"
#include "plot/axes/subplots.hpp"
#include "plot/cells/cell_values.hpp"

namespace attn {
namespace plot {
namespace {

constexpr std::pair<double, double> default_size = {8, 6};
constexpr const char* default_title = "Attention Weight Heatmap";
constexpr const char* default_xlabel = "Key Sequence Position";
constexpr const char* default_ylabel = "Query Sequence Position";
constexpr const char* colour_label = "Attention Weight (0=No Focus, 1=Full Focus)";
constexpr double title_pad = 15;  // points

class HeatmapFigure {
 public:
  HeatmapFigure(const Heatmap& heatmap, const PlotOptions& options, PictureFormat format)
      : heatmap_(heatmap),
        options_(options),
        matrix_(heatmap, "weights"),
        map_(options.cmap),
        figure_(options, format, default_size),
        colours_{&map_,         range_of_colours({&matrix_, 1}, options),
                 options.style, options.norm,
                 options.pool,  options.threads},
        labels_(shown_labels(heatmap, options)),
        query_{labels_or(labels_.query, "Q_", matrix_.rows(), heatmap.first_query), options.ticks,
               options.style, heatmap.first_query},
        key_{labels_or(labels_.key, "K_", matrix_.columns(), heatmap.first_key), options.ticks,
             options.style, heatmap.first_key} {
    value_options_.annotate = options.annotate;
    if (options.annotate_color) value_options_.colour = parse_colour(*options.annotate_color);
  }

  Picture draw() {
    const Box area = figure_.tight_area([this](Figure& figure, const Box& box) {
      return Layout(*this, figure, box).bounds(&Decorations::layout_bounds);
    });
    const Layout layout(*this, figure_, area);
    return figure_.picture(layout.bounds(&Decorations::bounds), [&](Canvas& canvas) {
      draw_cells(canvas, layout.axes.box, matrix_, colours_, figure_.pixels(1));
      draw_axes(canvas, layout.axes, layout.decorations, figure_);
      for (const CellValue& value : layout.values) canvas.text(value.text, value.colour);
      draw_colour_ramp(canvas, layout.bar.box, map_);
      draw_axes(canvas, layout.bar, layout.bar_decorations, figure_);
    });
  }

 private:
  // Everything at its place, for one area that axes and colour bar share.
  struct Layout {
    Layout(const HeatmapFigure& heatmap, Figure& figure, const Box& area)
        : split(split_for_colour_bar(area)),
          axes(heatmap.axes_in(split.axes, figure)),
          bar(heatmap.bar_in(split.colour_bar, figure)),
          decorations(decorate(axes, figure.typesetter())),
          bar_decorations(decorate(bar, figure.typesetter())),
          values(cell_values(axes.box, heatmap.matrix_, heatmap.colours_, heatmap.value_options_,
                             figure.typesetter())) {}

    Box bounds(Box Decorations::*of) const {
      Box all = united(decorations.*of, bar_decorations.*of);
      for (const CellValue& value : values) all = united(all, value.text.bounds);
      return all;
    }

    ColourBarSplit split;
    Axes axes, bar;
    Decorations decorations, bar_decorations;
    std::vector<CellValue> values;
  };

  Axes axes_in(const Box& box, Figure& figure) const {
    Axes axes;
    axes.box = box;
    axes.style = options_.style;
    const std::string title = heatmap_.title.empty() ? default_title : heatmap_.title;
    axes.title = figure.title(options_.title.value_or(title), title_size, figure.width());
    axes.title_size = title_size;
    axes.title_pad = title_pad;
    axes.x.label = figure.bounded(options_.xlabel.value_or(default_xlabel), label_size);
    axes.y.label = figure.bounded(options_.ylabel.value_or(default_ylabel), label_size);
    axes.x.label_size = axes.y.label_size = label_size;
    set_cell_ticks(axes.x, key_, box.width(), true, figure);
    set_cell_ticks(axes.y, query_, box.height(), false, figure);
    return axes;
  }

  Axes bar_in(const Box& place, const Figure& figure) const {
    Axes bar =
        colour_bar_axes(place, colours_.range, options_.colorbar_label.value_or(colour_label),
                        figure, options_.norm);
    bar.style = options_.style;
    return bar;
  }

  const Heatmap& heatmap_;
  const PlotOptions& options_;
  Matrix matrix_;
  ColourMap map_;
  Figure figure_;
  CellColours colours_;
  ShownLabels labels_;
  CellTicks query_, key_;
  CellValueOptions value_options_;
};

}  // namespace
}  // namespace plot

Picture draw_heatmap(const Heatmap& heatmap, const PlotOptions& options, PictureFormat format) {
  return plot::HeatmapFigure(heatmap, options, format).draw();
}

}  // namespace attn
