#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "plot/axes/arrangement.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/matrix.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::curves {
namespace {

constexpr std::pair<double, double> default_size = {8, 4.5};  // inches
constexpr const char* default_title = to_translate("Values by Position");
constexpr const char *default_xlabel = to_translate("Position"),
                     *default_ylabel = to_translate("Value");
constexpr std::size_t most_curves = 6;              // that colours tell apart
constexpr double line_width = 1.6, point_size = 4;  // points
constexpr double margin = 0.06;                     // of the values' range, above and below
constexpr double least_width = 0.25;                // of the figure, beside the legend

// Columns of few are all drawn, of many some from the first to the last.
std::vector<std::size_t> drawn_columns(std::size_t columns) {
  std::vector<std::size_t> drawn;
  const std::size_t count = std::min(columns, most_curves);
  for (std::size_t i = 0; i < count; ++i) {
    drawn.push_back(count == 1 ? 0 : i * (columns - 1) / (count - 1));
  }
  return drawn;
}

Interval view_of(const Matrix& matrix) {
  const Interval values =
      nonsingular(value_range({&matrix, 1}, true).value_or(Interval{0, 1}), 0.1, 1e-15);
  const double more = margin * (values.high - values.low);
  return {values.low - more, values.high + more};
}

// Names of the curves in the legend: the titles of all columns, if there are any, else their
// names, which are numbers where the columns are dimensions.
std::vector<std::string> curve_names(const CurvesOptions& options,
                                     const std::vector<std::string>& names, bool dimensions) {
  if (options.titles && !options.titles->empty()) {
    if (options.titles->size() == names.size()) return *options.titles;
    throw unlike_columns(options.titles->size(), names.size());
  }
  std::vector<std::string> called;
  called.reserve(names.size());
  for (const std::string& name : names) {
    called.push_back(dimensions ? translated("dimension {1}", name) : name);
  }
  return called;
}

// A value that is no number breaks the curve; one alone is a point.
void draw_curve(Canvas& canvas, const std::vector<Point>& points, Colour colour,
                const Figure& figure) {
  std::vector<Point> run;
  const auto finish = [&] {
    if (run.size() == 1) {
      const double half = figure.pixels(point_size) / 2;
      canvas.fill({run[0].x - half, run[0].y - half, run[0].x + half, run[0].y + half}, colour);
    }
    canvas.curve(run, {colour, 1, figure.pixels(line_width)});
    run.clear();
  };
  for (const Point& point : points) {
    if (std::isfinite(point.y)) {
      run.push_back(point);
    } else {
      finish();
    }
  }
  finish();
}

}  // namespace
}  // namespace plot::curves

Picture draw_curves(const Heatmap& columns, const CurvesOptions& given, PictureFormat format) {
  using namespace plot;
  using namespace plot::curves;
  const FigureOptions& options = given.figure;
  const Matrix matrix(columns, "values");
  const std::vector<std::size_t> drawn = drawn_columns(matrix.columns());
  Figure figure(options, format, default_size);
  const ShownLabels labels = shown_labels(columns, options);
  const CellTicks ticks{labels_or(labels.query, "", matrix.rows(), columns.first_query),
                        options.ticks, columns.first_query};
  const auto names = labels_or(labels.key, "", matrix.columns(), columns.first_key);
  const std::vector<std::string> called = curve_names(given, names, columns.of_positions);
  const bool titled = given.titles && !given.titles->empty();
  std::string title = title_of(options, columns.title, default_title), shown_names;
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < drawn.size(); ++i) {
    LegendEntry entry{called[drawn[i]], head_colour(i)};
    entry.line_width = line_width;
    shown_names += (shown_names.empty() ? "" : ", ") + (titled ? called : names)[drawn[i]];
    entries.push_back(std::move(entry));
  }
  if (drawn.size() < matrix.columns() && !title.empty()) {
    title += "\n" +
             translated("({1} of {2})", drawn.size(),
                        columns.of_positions
                            ? translated_count(matrix.columns(), "{1} dimension", "{1} dimensions")
                            : translated_count(matrix.columns(), "{1} curve", "{1} curves"));
  }
  figure.describe(
      title,
      translated(columns.of_positions ? to_translate("Curves over {1} of the dimensions {2}.")
                                      : to_translate("Curves over {1}: {2}."),
                 translated_count(matrix.rows(), "{1} position", "{1} positions"), shown_names));

  const ChartTexts texts{title, options.xlabel.value_or(translated(default_xlabel)),
                         options.ylabel.value_or(translated(default_ylabel))};
  const Interval view = view_of(matrix);
  const Arrangement all =
      arranged_beside_legend(figure, texts, entries, least_width, [&](Axes& axes, Figure& on) {
        set_cell_ticks(axes.x, ticks, axes.box.width(), true, on);
        set_value_ticks(axes.y, view, axes.box.height(), false, on);
      });
  const Box& box = all.axes.box;
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      std::vector<Point> points;
      for (std::size_t row = 0; row < matrix.rows(); ++row) {
        const double across = (static_cast<double>(row) + 0.5) / static_cast<double>(matrix.rows());
        const double up = (matrix.at(row, drawn[i]) - view.low) / (view.high - view.low);
        points.push_back({box.left + across * box.width(), box.bottom - up * box.height()});
      }
      draw_curve(canvas, points, head_colour(i), figure);
    }
    all.draw(canvas, figure);
  });
}

}  // namespace attn
