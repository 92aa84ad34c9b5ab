#include <algorithm>
#include <optional>
#include <utility>

#include "attn/error.hpp"

#include "plot/axes/colour_bar.hpp"
#include "plot/axes/legend.hpp"
#include "plot/axes/map_axes.hpp"
#include "plot/axes/subplots.hpp"
#include "plot/cells/cell_pixels.hpp"
#include "plot/cells/cell_values.hpp"
#include "plot/colour_key.hpp"
#include "plot/description.hpp"
#include "plot/marginals.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr std::pair<double, double> usual_size = {8, 6};  // of the matplotlib style
// Inches of the default size: all but the map, and the side of a square map.
constexpr double around_map = 1.6, map_side = 4.4;
constexpr double lowest = 2.6, highest = 11;
constexpr const char* default_title = to_translate("Attention Weight Heatmap");
constexpr const char* colour_label = to_translate("Attention Weight (0=No Focus, 1=Full Focus)");
constexpr double bar_gap = 14;                // points between the map and its bar
constexpr double key_gap = 12, key_lift = 4;  // points; above and below the key of the colours

// The height follows the number of rows.
std::pair<double, double> default_size(const Matrix& matrix, const HeatmapOptions& options) {
  if (options.figure.style == PlotStyle::matplotlib) return usual_size;
  return {usual_size.first,
          std::clamp(around_map + map_side * aspect_of(matrix.rows(), matrix.columns()), lowest,
                     highest)};
}

class HeatmapFigure {
 public:
  HeatmapFigure(const Heatmap& heatmap, const HeatmapOptions& options, PictureFormat format)
      : heatmap_(heatmap),
        options_(options),
        matrix_(heatmap, "weights"),
        scale_(colour_scale({&matrix_, 1}, !heatmap.any_numbers, options.colors, options.figure)),
        raster_(format == PictureFormat::png),
        figure_(options.figure, format, default_size(matrix_, options)),
        colours_{&scale_.map,
                 scale_.range,
                 options.figure.style,
                 options.colors.norm,
                 options.colors.pixels,
                 options.figure.threads,
                 beside(figure_.paper(), scale_.map),
                 cells_in_file(1, matrix_.rows(), matrix_.columns())},
        key_of_colours_(colour_key({&matrix_, 1}, colours_)),
        labels_(shown_labels(heatmap, options.figure)),
        query_{labels_or(labels_.query, "Q_", matrix_.rows(), heatmap.first_query),
               options.figure.ticks, options.figure.style, heatmap.first_query},
        key_{labels_or(labels_.key, "K_", matrix_.columns(), heatmap.first_key),
             options.figure.ticks, options.figure.style, heatmap.first_key},
        value_options_(value_options(options.annotation)) {
    if (heatmap.cell_texts.size() == matrix_.rows() * matrix_.columns()) {
      value_options_.texts = &heatmap.cell_texts;
    }
    if (options.marginals) sums_ = marginal_sums(matrix_);
    figure_.describe(title(), described());
  }

  Picture draw() {
    std::optional<Layout> set;
    const auto lay_out = [&](int given_way) {
      given_way_ = given_way;
      const Box area = figure_.tight_area([this](Figure& figure, const Box& box) {
        return Layout(*this, figure, box).bounds(&Decorations::layout_bounds);
      });
      set.emplace(*this, figure_, area);
      const Box& place = set->split.axes;
      return leaves_room(figure_, sums_ ? Marginals::map_place(place, figure_) : place,
                         set->axes.box, set->bounds(&Decorations::bounds));
    };
    figure_.fit(4, lay_out);
    if (show_range_of(set->axes.box)) lay_out(given_way_);
    const Layout& layout = *set;
    return figure_.picture(layout.bounds(&Decorations::bounds), [&](Canvas& canvas) {
      draw_cells(canvas, layout.axes.box, matrix_, colours_, figure_.pixels(1));
      draw_axes(canvas, layout.axes, layout.decorations, figure_);
      for (const CellValue& value : layout.values) canvas.text(value.text, value.colour);
      if (options_.colors.bar) {
        draw_colour_ramp(canvas, layout.bar.box, scale_);
        draw_axes(canvas, layout.bar, layout.bar_decorations, figure_);
      }
      if (layout.key) layout.key->draw(canvas, figure_);
      if (layout.marginals) layout.marginals->draw(canvas, figure_);
    });
  }

 private:
  // Everything at its place, for one area that axes and colour bar share.
  struct Layout {
    Layout(const HeatmapFigure& heatmap, Figure& figure, const Box& area)
        : split(heatmap.options_.colors.bar ? split_for_colour_bar(area)
                                            : ColourBarSplit{area, area}),
          axes(heatmap.axes_in(split.axes, figure)),
          decorations(decorate(axes, figure.typesetter())),
          marginals(heatmap.marginals_at(axes.box, decorations, figure)),
          bar(heatmap.bar_in(heatmap.bar_place(split, map_and_sums(), figure), axes.box, figure)),
          bar_decorations(decorate(bar, figure.typesetter())),
          values(cell_values(axes.box, heatmap.matrix_, heatmap.colours_, heatmap.value_options_,
                             figure.typesetter())) {
      const double arrow = arrow_height(bar.box);
      around_bar = bar.box;
      if (!heatmap.options_.colors.bar) {
        bar_decorations = {};
        const Box map = map_and_sums();
        around_bar = bar_decorations.bounds = bar_decorations.layout_bounds = map;
        bar.box = {map.right, map.top, map.right, map.top};
      }
      if (heatmap.options_.colors.bar && heatmap.scale_.beyond_high) around_bar.top -= arrow;
      if (heatmap.options_.colors.bar && heatmap.scale_.beyond_low) around_bar.bottom += arrow;
      if (!heatmap.key_of_colours_.empty()) {
        key.emplace(heatmap.key_of_colours_, key_corner(figure), figure);
        around_bar = united(around_bar, key->bounds());
      }
    }

    // Without a bar the key stands where it would.
    Point key_corner(const Figure& figure) const {
      if (bar.box.empty()) return {bar.box.right + figure.pixels(key_gap), bar.box.top};
      return {bar.box.left, bar.box.bottom + figure.pixels(key_gap)};
    }

    Box bounds(Box Decorations::*of) const {
      Box all = united(united(decorations.*of, bar_decorations.*of), around_bar);
      for (const CellValue& value : values) all = united(all, value.text.bounds);
      return marginals ? united(all, marginals->bounds(of)) : all;
    }

    Box map_and_sums() const {
      Box all = axes.box;
      if (marginals) all.right = marginals->right();
      return all;
    }

    ColourBarSplit split;
    Axes axes;
    Decorations decorations;
    std::optional<Marginals> marginals;
    Axes bar;
    Decorations bar_decorations;
    std::vector<CellValue> values;
    std::optional<Legend> key;
    Box around_bar;  // with its arrows and its key
  };

  std::string title() const {
    return options_.figure.title.value_or(heatmap_.title.empty() ? translated(default_title)
                                                                 : heatmap_.title);
  }

  std::string described() const {
    return translated("Heatmap of {1}. ", described_cells(matrix_, heatmap_.of_positions)) +
           described_colours({&matrix_, 1}, scale_, key_of_colours_);
  }

  Axes axes_in(const Box& place, Figure& figure) const {
    const MapTexts texts{title(),
                         query_,
                         key_,
                         !sums_ && given_way_ <= title_gives_way,
                         given_way_ <= axis_labels_give_way,
                         given_way_ <= tick_labels_give_way};
    const Box own = sums_ ? Marginals::map_place(place, figure) : place;
    return map_axes(map_box(own, matrix_.rows(), matrix_.columns(), options_.figure.style), texts,
                    options_.figure, figure);
  }

  std::optional<Marginals> marginals_at(const Box& map, const Decorations& texts,
                                        Figure& figure) const {
    if (!sums_) return std::nullopt;
    const bool titled = given_way_ <= title_gives_way;
    return Marginals(*sums_, map, texts,
                     titled ? figure.title(title(), title_size, figure.width()) : "",
                     given_way_ <= tick_labels_give_way, options_.figure, figure);
  }

  // As high as the map.
  Box bar_place(const ColourBarSplit& split, const Box& map, const Figure& figure) const {
    Box place = split.colour_bar;
    if (options_.figure.style == PlotStyle::matplotlib) return place;
    const double gap = std::min(figure.pixels(bar_gap), split.colour_bar.left - split.axes.right);
    place = place.moved(map.right + gap - place.left, 0);
    place.top = map.top;
    place.bottom = map.bottom;
    return place;
  }

  Axes bar_in(Box place, const Box& cells, Figure& figure) const {
    if (!key_of_colours_.empty()) {
      place.bottom -=
          Legend::height(key_of_colours_.size(), figure) + figure.pixels(key_gap + key_lift);
    }
    // Weights have one sign.
    const bool about_zero = options_.figure.style == PlotStyle::standard && scale_.range.low < 0;
    std::string label = options_.colors.bar_label.value_or(about_zero ? translated("Value")
                                                                      : translated(colour_label));
    const std::string note = options_.figure.style == PlotStyle::standard
                                 ? pixel_note(matrix_, cells, raster_, colours_)
                                 : "";
    if (!note.empty()) label += "\n(" + note + ")";
    if (options_.figure.style == PlotStyle::standard)
      label = figure.label(label, 10, place.height());
    if (given_way_ > bar_label_gives_way) label.clear();
    place.bottom = std::max(place.bottom, place.top + 1);
    return colour_bar_axes(place, colours_.range, label, figure, options_.colors.norm);
  }

  // Where a pixel shows the mean of many cells, the colours are spread over what is shown. Returns
  // whether that changed them.
  bool show_range_of(const Box& cells) {
    const bool chosen = options_.colors.range.scope == ColorRange::Scope::given;
    if (chosen || options_.figure.style == PlotStyle::matplotlib ||
        options_.colors.pixels != PixelShows::mean ||
        !shares_pixels(matrix_, cells, raster_, colours_.in_file) ||
        options_.colors.norm.kind == ColorNorm::Kind::log) {
      return false;
    }
    const auto places = [&](double length) {
      return raster_ ? static_cast<std::size_t>(std::max(1.0, length))
                     : colours_.in_file.most_across;
    };
    const std::optional<Interval> shown =
        shown_range(matrix_, colours_, places(cells.width()), places(cells.height()));
    if (!shown || !narrow_to_shown(scale_.range, *shown)) return false;
    colours_.range = scale_.range;
    return true;
  }

  const Heatmap& heatmap_;
  const HeatmapOptions& options_;
  Matrix matrix_;
  ColourScale scale_;
  bool raster_;
  Figure figure_;
  CellColours colours_;
  std::vector<LegendEntry> key_of_colours_;
  ShownLabels labels_;
  CellTicks query_, key_;
  CellValueOptions value_options_;
  std::optional<MarginalSums> sums_;  // if they are wanted
  // How many of these give way to the map.
  enum { axis_labels_give_way, bar_label_gives_way, tick_labels_give_way, title_gives_way };
  int given_way_ = 0;
};

}  // namespace
}  // namespace plot

Picture draw_heatmap(const Heatmap& heatmap, const HeatmapOptions& options, PictureFormat format) {
  return plot::HeatmapFigure(heatmap, options, format).draw();
}

}  // namespace attn
