#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "plot/axes/cell_ticks.hpp"
#include "plot/axes/colour_bar.hpp"
#include "plot/axes/legend.hpp"
#include "plot/colour/head_colours.hpp"
#include "plot/description.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/value_format.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr std::pair<double, double> default_size = {8, 4.5};
constexpr const char* default_title = to_translate("Values by Position");
constexpr const char *default_xlabel = to_translate("Position"),
                     *default_ylabel = to_translate("Value");
constexpr std::size_t most_curves = 6;              // told apart by their colours
constexpr double line_width = 1.6, point_size = 4;  // points
constexpr double title_pad = 15, legend_gap = 14;   // points
constexpr double margin = 0.06;                     // of the values' range, above and below
constexpr double least_width = 0.25;                // of the figure; beside the legend

// All of a few columns, else some from the first to the last.
std::vector<std::size_t> drawn_columns(std::size_t columns) {
  std::vector<std::size_t> drawn;
  const std::size_t count = std::min(columns, most_curves);
  for (std::size_t i = 0; i < count; ++i) {
    drawn.push_back(count == 1 ? 0 : i * (columns - 1) / (count - 1));
  }
  return drawn;
}

class CurvesFigure {
 public:
  CurvesFigure(const Heatmap& columns, const FigureOptions& options, PictureFormat format)
      : options_(options),
        matrix_(columns, "values"),
        drawn_(drawn_columns(matrix_.columns())),
        figure_(options, format, default_size),
        labels_(shown_labels(columns, options)),
        ticks_{labels_or(labels_.query, "", matrix_.rows(), columns.first_query), options.ticks,
               options.style, columns.first_query},
        title_(options.title.value_or(columns.title.empty() ? translated(default_title)
                                                            : columns.title)) {
    const auto names = labels_or(labels_.key, "", matrix_.columns(), columns.first_key);
    std::string shown;
    for (std::size_t i = 0; i < drawn_.size(); ++i) {
      LegendEntry entry{"dimension " + names[drawn_[i]], head_colour(i)};
      entry.line_width = line_width;
      shown += (shown.empty() ? "" : ", ") + names[drawn_[i]];
      entries_.push_back(std::move(entry));
    }
    view_ = nonsingular(value_range({&matrix_, 1}, true).value_or(Interval{0, 1}), 0.1, 1e-15);
    const double more = margin * (view_.high - view_.low);
    view_ = {view_.low - more, view_.high + more};
    if (drawn_.size() < matrix_.columns() && !title_.empty()) {
      title_ +=
          "\n" + translated("({1} of {2})", drawn_.size(),
                            translated_count(matrix_.columns(), "{1} dimension", "{1} dimensions"));
    }
    figure_.describe(
        title_,
        translated("Curves over {1} of the dimensions {2}.",
                   translated_count(matrix_.rows(), "{1} position", "{1} positions"), shown));
  }

  Picture draw() {
    std::optional<Layout> set;
    figure_.fit(tick_labels_give_way + 1, [&](int given_way) {
      given_way_ = given_way;
      const Box area = figure_.tight_area([this](Figure& figure, const Box& box) {
        return Layout(*this, figure, box).bounds(&Decorations::layout_bounds);
      });
      set.emplace(*this, figure_, area);
      return leaves_room(figure_, set->axes.box, set->axes.box, set->bounds(&Decorations::bounds));
    });
    const Layout& layout = *set;
    return figure_.picture(layout.bounds(&Decorations::bounds), [&](Canvas& canvas) {
      for (std::size_t i = 0; i < drawn_.size(); ++i) draw_curve(canvas, layout.axes.box, i);
      draw_axes(canvas, layout.axes, layout.decorations, figure_);
      layout.legend.draw(canvas, figure_);
    });
  }

 private:
  struct Layout {
    Layout(const CurvesFigure& curves, Figure& figure, const Box& area)
        : axes(curves.axes_in(beside_legend(curves, figure, area), figure)),
          decorations(decorate(axes, figure.typesetter())),
          legend(curves.entries_, {axes.box.right + gap(figure), axes.box.top}, figure) {}

    static double gap(const Figure& figure) {
      return figure.pixels(legend_gap) * std::min(1.0, figure.font_scale());
    }
    static Box beside_legend(const CurvesFigure& curves, Figure& figure, Box area) {
      const double right = area.right - Legend::width(curves.entries_, figure) - gap(figure);
      area.right = std::max(right, area.left + least_width * figure.width());
      return area;
    }
    Box bounds(Box Decorations::*of) const {
      return united(united(decorations.*of, axes.box), legend.bounds());
    }

    Axes axes;
    Decorations decorations;
    Legend legend;
  };

  Axes axes_in(const Box& box, Figure& figure) const {
    Axes axes;
    axes.box = box;
    axes.style = options_.style;
    if (given_way_ <= title_gives_way) {
      axes.title = figure.title(title_, title_size, figure.width());
    }
    axes.title_size = title_size;
    axes.title_pad = title_pad;
    if (options_.style == PlotStyle::standard) axes.title_within = {{0, figure.width()}};
    if (given_way_ <= axis_labels_give_way) {
      axes.x.label = figure.label(options_.xlabel.value_or(translated(default_xlabel)), label_size,
                                  box.width());
      axes.y.label = figure.label(options_.ylabel.value_or(translated(default_ylabel)), label_size,
                                  box.height());
    }
    axes.x.label_size = axes.y.label_size = label_size;
    set_cell_ticks(axes.x, ticks_, box.width(), true, figure);
    set_value_ticks(axes.y, view_, box.height(), false, figure);
    axes.x.labelled = axes.y.labelled = given_way_ <= tick_labels_give_way;
    return axes;
  }

  // A value that is no number breaks the curve; one alone is a point.
  void draw_curve(Canvas& canvas, const Box& box, std::size_t curve) const {
    const Colour colour = head_colour(curve);
    const Canvas::Stroke stroke{colour, 1, figure_.pixels(line_width)};
    std::vector<Point> run;
    const auto finish = [&] {
      if (run.size() == 1) {
        const double half = figure_.pixels(point_size) / 2;
        canvas.fill({run[0].x - half, run[0].y - half, run[0].x + half, run[0].y + half}, colour);
      }
      canvas.curve(run, stroke);
      run.clear();
    };
    for (std::size_t i = 0; i < matrix_.rows(); ++i) {
      const double value = matrix_.at(i, drawn_[curve]);
      if (!std::isfinite(value)) {
        finish();
        continue;
      }
      const double across = (static_cast<double>(i) + 0.5) / static_cast<double>(matrix_.rows());
      const double up = (value - view_.low) / (view_.high - view_.low);
      run.push_back({box.left + across * box.width(), box.bottom - up * box.height()});
    }
    finish();
  }

  const FigureOptions& options_;
  Matrix matrix_;
  std::vector<std::size_t> drawn_;  // columns
  Figure figure_;
  ShownLabels labels_;
  CellTicks ticks_;
  std::string title_;
  std::vector<LegendEntry> entries_;
  Interval view_;
  // How many of these give way to the curves.
  enum { axis_labels_give_way, title_gives_way, tick_labels_give_way };
  int given_way_ = 0;
};

}  // namespace
}  // namespace plot

Picture draw_curves(const Heatmap& columns, const FigureOptions& options, PictureFormat format) {
  return plot::CurvesFigure(columns, options, format).draw();
}

}  // namespace attn
