#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "plot/axes/cell_ticks.hpp"
#include "plot/axes/colour_bar.hpp"
#include "plot/axes/subplots.hpp"
#include "plot/cells/cell_pixels.hpp"
#include "plot/cells/cell_values.hpp"
#include "plot/colour_key.hpp"

namespace attn {
namespace plot {
namespace {

constexpr std::pair<double, double> default_size = {8, 6};
constexpr const char* default_title = "Attention Weight Heatmap";
constexpr const char* default_xlabel = "Key Sequence Position";
constexpr const char* default_ylabel = "Query Sequence Position";
constexpr const char* colour_label = "Attention Weight (0=No Focus, 1=Full Focus)";
constexpr double title_pad = 15;              // points
constexpr double key_gap = 12, key_lift = 4;  // points; above and below the key of the colours

class HeatmapFigure {
 public:
  HeatmapFigure(const Heatmap& heatmap, const PlotOptions& options, PictureFormat format)
      : heatmap_(heatmap),
        options_(options),
        matrix_(heatmap, "weights"),
        scale_(colour_scale({&matrix_, 1}, !heatmap.any_numbers, options)),
        raster_(format == PictureFormat::png),
        figure_(options, format, default_size),
        colours_{&scale_.map,  scale_.range,   options.style,
                 options.norm, options.pixels, options.threads},
        key_of_colours_(colour_key({&matrix_, 1}, colours_)),
        labels_(shown_labels(heatmap, options)),
        query_{labels_or(labels_.query, "Q_", matrix_.rows(), heatmap.first_query), options.ticks,
               options.style, heatmap.first_query},
        key_{labels_or(labels_.key, "K_", matrix_.columns(), heatmap.first_key), options.ticks,
             options.style, heatmap.first_key} {
    value_options_.annotate = options.annotate;
    if (options.annotate_color) value_options_.colour = parse_colour(*options.annotate_color);
  }

  Picture draw() {
    const auto bounds = [this](Figure& figure, const Box& box) {
      return Layout(*this, figure, box).bounds(&Decorations::layout_bounds);
    };
    Box area = figure_.tight_area(bounds);
    std::optional<Layout> first(std::in_place, *this, figure_, area);
    if (show_range_of(first->axes.box)) {
      area = figure_.tight_area(bounds);
      first.emplace(*this, figure_, area);
    }
    const Layout& layout = *first;
    const Legend key(key_of_colours_, layout.key_corner(figure_), figure_);
    return figure_.picture(layout.bounds(&Decorations::bounds), [&](Canvas& canvas) {
      draw_cells(canvas, layout.axes.box, matrix_, colours_, figure_.pixels(1));
      draw_axes(canvas, layout.axes, layout.decorations, figure_);
      for (const CellValue& value : layout.values) canvas.text(value.text, value.colour);
      draw_colour_ramp(canvas, layout.bar.box, scale_);
      draw_axes(canvas, layout.bar, layout.bar_decorations, figure_);
      key.draw(canvas, figure_);
    });
  }

 private:
  // Everything at its place, for one area that axes and colour bar share.
  struct Layout {
    Layout(const HeatmapFigure& heatmap, Figure& figure, const Box& area)
        : split(split_for_colour_bar(area)),
          axes(heatmap.axes_in(split.axes, figure)),
          bar(heatmap.bar_in(split.colour_bar, axes.box, figure)),
          decorations(decorate(axes, figure.typesetter())),
          bar_decorations(decorate(bar, figure.typesetter())),
          values(cell_values(axes.box, heatmap.matrix_, heatmap.colours_, heatmap.value_options_,
                             figure.typesetter())) {
      const double arrow = arrow_height(bar.box);
      around_bar = bar.box;
      if (heatmap.scale_.beyond_high) around_bar.top -= arrow;
      if (heatmap.scale_.beyond_low) around_bar.bottom += arrow;
      if (!heatmap.key_of_colours_.empty()) {
        around_bar = united(around_bar,
                            Legend(heatmap.key_of_colours_, key_corner(figure), figure).bounds());
      }
    }

    Point key_corner(const Figure& figure) const {
      return {bar.box.left, bar.box.bottom + figure.pixels(key_gap)};
    }

    Box bounds(Box Decorations::*of) const {
      Box all = united(united(decorations.*of, bar_decorations.*of), around_bar);
      for (const CellValue& value : values) all = united(all, value.text.bounds);
      return all;
    }

    ColourBarSplit split;
    Axes axes, bar;
    Decorations decorations, bar_decorations;
    std::vector<CellValue> values;
    Box around_bar;  // with its arrows and its key
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

  Axes bar_in(Box place, const Box& cells, const Figure& figure) const {
    if (!key_of_colours_.empty()) {
      place.bottom -=
          Legend::height(key_of_colours_.size(), figure) + figure.pixels(key_gap + key_lift);
    }
    // Weights have one sign.
    const bool about_zero = options_.style == PlotStyle::standard && scale_.range.low < 0;
    std::string label = options_.colorbar_label.value_or(about_zero ? "Value" : colour_label);
    const std::string note = options_.style == PlotStyle::standard
                                 ? pixel_note(matrix_, cells, raster_, options_.pixels)
                                 : "";
    if (!note.empty()) label += "\n(" + note + ")";
    Axes bar = colour_bar_axes(place, colours_.range, label, figure, options_);
    return bar;
  }

  // Where a pixel shows the mean of many cells, the colours are spread over what is shown. Returns
  // whether that changed them.
  bool show_range_of(const Box& cells) {
    const bool chosen = options_.color_range.scope == ColorRange::Scope::given;
    if (chosen || options_.style == PlotStyle::matplotlib || options_.pixels != PixelShows::mean ||
        heatmap_.any_numbers || !shares_pixels(matrix_, cells, raster_) ||
        options_.norm.kind == ColorNorm::Kind::log) {
      return false;
    }
    const auto places = [&](double length) {
      return raster_ ? static_cast<std::size_t>(std::max(1.0, length)) : most_rectangles;
    };
    const std::optional<Interval> shown =
        shown_range(matrix_, colours_, places(cells.width()), places(cells.height()));
    if (!shown || shown->high <= colours_.range.low) return false;
    scale_.range.high = colours_.range.high = shown->high;
    return true;
  }

  const Heatmap& heatmap_;
  const PlotOptions& options_;
  Matrix matrix_;
  ColourScale scale_;
  bool raster_;
  Figure figure_;
  CellColours colours_;
  std::vector<LegendEntry> key_of_colours_;
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
