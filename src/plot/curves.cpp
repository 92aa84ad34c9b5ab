#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plot/axes/arrangement.hpp"
#include "plot/caption.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/printable.hpp"
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
constexpr double end_size = 10, end_gap = 14;       // points; of names at the ends, and before them
constexpr double end_line = 0.8;                    // points; from a curve to its name
constexpr double longest_end = 0.3;                 // of the figure's width
constexpr double early_end = 0.15;                  // of the frame's width, before its right side
constexpr double band_opacity = 0.22;

// A curve, and the column of the standard errors of its values, if the table has one.
struct DrawnColumn {
  std::size_t column = 0;
  std::optional<std::size_t> error;
};

// Whether a name says that a column holds standard errors: alone, those of the column before it.
bool names_error_of(const std::string& name, const std::string& before) {
  return name == "standard_error" || name == before + " standard_error" ||
         name == before + "_standard_error" || name == before + "_error";
}

// Columns of few are all drawn, of many some from the first to the last.
std::vector<DrawnColumn> drawn_columns(const std::vector<std::string>& names) {
  std::vector<DrawnColumn> curves, drawn;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!curves.empty() && i > 0 && names_error_of(names[i], names[curves.back().column]))
      curves.back().error = i;
    else
      curves.push_back({i, std::nullopt});
  }
  const std::size_t count = std::min(curves.size(), most_curves);
  for (std::size_t i = 0; i < count; ++i)
    drawn.push_back(curves[count == 1 ? 0 : i * (curves.size() - 1) / (count - 1)]);
  return drawn;
}

// Numbers along one axis of the frame, evenly or by their logarithms.
struct Scale {
  bool log = false;
  Interval view;  // of numbers; above zero where they stand by their logarithms

  // From 0 to 1; no number where it has no place.
  double place(double value) const {
    if (!log) return (value - view.low) / (view.high - view.low);
    if (!(value > 0)) return std::numeric_limits<double>::quiet_NaN();
    return std::log(value / view.low) / std::log(view.high / view.low);
  }
  void set_ticks(Axis& axis, double length, bool horizontal, Figure& figure) const {
    log ? set_log_ticks(axis, view, length, horizontal, figure)
        : set_value_ticks(axis, view, length, horizontal, figure);
  }
};

// The scale of values up to some room above and below.
Scale scale_of(const std::vector<double>& values, bool log) {
  Interval all{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const double value : values) {
    if (!std::isfinite(value) || (log && value < least_positive_value)) continue;
    all = {std::min(all.low, value), std::max(all.high, value)};
  }
  if (all.low > all.high) return {log, log ? Interval{0.1, 1} : Interval{0, 1}};
  if (log) {
    const double more = std::pow(all.low == all.high ? 10 : all.high / all.low, margin);
    return {log, {all.low / more, std::min(all.high, largest_value / more) * more}};
  }
  all = nonsingular({std::max(all.low, -largest_value), std::min(all.high, largest_value)}, 0.1,
                    1e-15);
  const double more = margin * (all.high - all.low);
  return {log, {all.low - more, all.high + more}};
}

// Values of curves, or the ends of their bands.
std::vector<double> values_of(const Matrix& matrix, const std::vector<DrawnColumn>& drawn) {
  std::vector<double> values;
  const bool all =
      std::ranges::none_of(drawn, [](const auto& one) { return one.error.has_value(); });
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    for (std::size_t j = 0; all && j < matrix.columns(); ++j) {
      if (matrix.shown(i, j)) values.push_back(matrix.at(i, j));
    }
    for (std::size_t k = 0; !all && k < drawn.size(); ++k) {
      const double value = matrix.at(i, drawn[k].column);
      const double error = drawn[k].error ? matrix.at(i, *drawn[k].error) : 0;
      values.insert(values.end(), {value, value - error, value + error});
    }
  }
  return values;
}

// The numbers that rows are named by, or else their positions.
std::vector<double> numbers_of_rows(const std::vector<std::string>& names, std::size_t first) {
  std::vector<double> numbers(names.size());
  bool all = true;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const char* const end = names[i].data() + names[i].size();
    const auto [stop, error] = std::from_chars(names[i].data(), end, numbers[i]);
    all = all && error == std::errc() && stop == end;
  }
  for (std::size_t i = 0; i < names.size() && !all; ++i)
    numbers[i] = static_cast<double>(first + i);
  return numbers;
}

// Names of the curves: the titles of all columns, if there are any, else their
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
    const bool number = name.find_first_not_of("0123456789") == std::string::npos;
    called.push_back(dimensions && number ? translated("dimension {1}", name) : name);
  }
  return called;
}

// Places of the curves' points in a frame.
struct Places {
  const Matrix& matrix;
  const std::vector<DrawnColumn>& drawn;
  std::vector<double> numbers;  // of the rows
  Scale up, across;

  Places(const Matrix& of, const std::vector<DrawnColumn>& columns, std::vector<double> rows,
         LogAxes log)
      : matrix(of),
        drawn(columns),
        numbers(std::move(rows)),
        up(scale_of(values_of(of, columns), log == LogAxes::y || log == LogAxes::both)),
        across(log == LogAxes::x || log == LogAxes::both ? scale_of(numbers, true) : Scale()) {}

  // Curves with `errors` added to their values.
  std::vector<std::vector<Point>> curves_in(const Box& box, double errors = 0) const {
    std::vector<std::vector<Point>> points(drawn.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (errors != 0 && !drawn[i].error) continue;
      for (std::size_t row = 0; row < matrix.rows(); ++row) {
        const double x =
            across.log ? across.place(numbers[row])
                       : (static_cast<double>(row) + 0.5) / static_cast<double>(matrix.rows());
        const double value = matrix.at(row, drawn[i].column) +
                             (errors != 0 ? errors * matrix.at(row, *drawn[i].error) : 0);
        const double y = std::isfinite(x) ? up.place(value) : x;
        points[i].push_back({box.left + x * box.width(), box.bottom - y * box.height()});
      }
    }
    return points;
  }
};

// A value that is no number breaks the curve; one alone is a point.
void draw_curve(Canvas& canvas, const std::vector<Point>& points, Colour colour,
                const Figure& figure) {
  std::vector<Point> run;
  const auto finish = [&] {
    if (run.size() == 1) {
      const double half = figure.pixels(point_size) / 2;
      canvas.fill({run[0].x - half, run[0].y - half, run[0].x + half, run[0].y + half}, colour);
    }
    canvas.curve(run, {colour, 1, figure.line(line_width)});
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

// Where the curves are highest and lowest.
CaptionTexts texts_of(const Matrix& matrix, const std::vector<DrawnColumn>& drawn,
                      const std::vector<std::string>& names, const std::vector<std::string>& places,
                      bool banded) {
  struct Place {
    double value = 0;
    std::size_t curve = 0, row = 0;
    bool any = false;
  } most, least;
  for (const DrawnColumn& one : drawn) {
    for (std::size_t row = 0; row < matrix.rows(); ++row) {
      const double value = matrix.at(row, one.column);
      if (!std::isfinite(value) || !matrix.shown(row, one.column)) continue;
      if (!most.any || value > most.value) most = {value, one.column, row, true};
      if (!least.any || value < least.value) least = {value, one.column, row, true};
    }
  }
  const std::string count = translated_count(drawn.size(), "{1} curve", "{1} curves");
  const std::string over = translated_count(matrix.rows(), "{1} position", "{1} positions");
  const std::string what = translated("{1} over {2}.", count, over);
  const std::string bands = banded ? translated("Bands: one standard error on both sides.") : "";
  if (!most.any) {
    const std::string nothing = translated("No cell has a finite value.");
    const std::string all = joined_sentences(joined_sentences(what, bands), nothing);
    return {all, all};
  }
  const auto at = [&](const Place& place) {
    return translated("{1} of {2} at {3}", short_number(place.value), in_quotes(names[place.curve]),
                      places[place.row]);
  };
  const std::string ends =
      translated("The highest value is {1}, the lowest {2}.", at(most), at(least));
  const std::string chart = translated("A chart of {1} over {2}.", count, over);
  return {joined_sentences(joined_sentences(what, bands), ends),
          joined_sentences(joined_sentences(chart, bands), ends)};
}

std::string described(const Matrix& matrix, bool of_positions, const std::string& names,
                      bool banded) {
  return joined_sentences(
      translated(of_positions ? to_translate("Curves over {1} of the dimensions {2}.")
                              : to_translate("Curves over {1}: {2}."),
                 translated_count(matrix.rows(), "{1} position", "{1} positions"), names),
      banded ? translated("Bands: one standard error on both sides.") : "");
}

// The area within one standard error of a curve, where both are numbers.
void draw_band(Canvas& canvas, const std::vector<Point>& low, const std::vector<Point>& high,
               Colour colour) {
  std::vector<Point> around;
  const auto finish = [&](std::size_t end) {
    const std::size_t count = around.size();
    for (std::size_t i = 0; i < count; ++i) around.push_back(low[end - 1 - i]);
    canvas.area(around, colour, band_opacity);
    around.clear();
  };
  for (std::size_t i = 0; i < low.size(); ++i) {
    if (std::isfinite(low[i].y) && std::isfinite(high[i].y)) {
      around.push_back(high[i]);
    } else if (!around.empty()) {
      finish(i);
    }
  }
  if (!around.empty()) finish(low.size());
}

// "(6 of 16 dimensions)", for curves of which not all are drawn.
std::string counted_text(std::size_t drawn, std::size_t all, bool dimensions) {
  return translated("({1} of {2})", drawn,
                    dimensions ? translated_count(all, "{1} dimension", "{1} dimensions")
                               : translated_count(all, "{1} curve", "{1} curves"));
}

// Warns of points that have no logarithm.
void warn_of_lost_points(const std::vector<std::vector<Point>>& curves, Picture& picture) {
  std::size_t lost = 0;
  for (const std::vector<Point>& curve : curves) {
    lost += static_cast<std::size_t>(std::ranges::count_if(curve, [](const Point& point) {
      return !std::isfinite(point.x) || !std::isfinite(point.y);
    }));
  }
  if (lost == 0) return;
  picture.warnings.push_back(
      translated("{1} of the curves have no place on a logarithmic axis: it shows what is above "
                 "zero",
                 translated_count(lost, "{1} point", "{1} points")));
}

// A curve's name right of the frame, and the line from the curve's end to it.
struct EndName {
  PlacedText text;
  Point from, to;
  Colour colour;
};

// Names as high as the last value of each curve, or as near as they stand without touching.
std::vector<EndName> names_at_ends(const std::vector<std::vector<Point>>& curves,
                                   const std::vector<std::string>& names, const Box& frame,
                                   Figure& figure) {
  const double line = figure.typesetter().text("lp", end_size).height;
  const double gap = figure.pixels_beside_text(end_gap), left = frame.right + gap;
  struct End {
    std::size_t curve;
    Point last;
    double y;
  };
  std::vector<End> ends;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto last = std::find_if(curves[i].rbegin(), curves[i].rend(),
                                   [](const Point& point) { return std::isfinite(point.y); });
    const Point at = last == curves[i].rend() ? Point{frame.right, frame.bottom} : *last;
    ends.push_back({i, at, at.y});
  }
  std::stable_sort(ends.begin(), ends.end(), [](const End& a, const End& b) { return a.y < b.y; });
  for (std::size_t i = 1; i < ends.size(); ++i)
    ends[i].y = std::max(ends[i].y, ends[i - 1].y + line);
  double most = frame.bottom;
  for (std::size_t i = ends.size(); i-- > 0; most = ends[i].y - line)
    ends[i].y = std::min(ends[i].y, most);
  std::vector<EndName> placed;
  for (const End& end : ends) {
    const std::string name =
        shortened(names[end.curve], end_size, longest_end * figure.width(), figure.typesetter());
    // A line from an early end would look as if the curve went on.
    const bool early = frame.right - end.last.x > early_end * frame.width();
    const double from = early ? frame.right : end.last.x;
    placed.push_back({place(figure.typesetter().text(name, end_size), {left, end.y},
                            {Horizontal::left, Vertical::centre_of_capitals}),
                      {std::min(from, frame.right), end.last.y},
                      {left - gap / 4, end.y},
                      head_colour(end.curve)});
  }
  return placed;
}

}  // namespace
}  // namespace plot::curves

Picture draw_curves(const Heatmap& columns, const CurvesOptions& given, PictureFormat format) {
  using namespace plot;
  using namespace plot::curves;
  const FigureOptions& options = given.figure;
  const Matrix matrix(columns, "values");
  Figure figure(options, format, default_size);
  const ShownLabels labels = shown_labels(columns, options);
  const CellTicks ticks{
      labels_or(labels.query, "", matrix.rows(), columns.first_query, columns.first_number),
      options.ticks, columns.first_query};
  const auto names =
      labels_or(labels.key, "", matrix.columns(), columns.first_key, columns.first_number);
  const std::vector<std::string> called = curve_names(given, names, columns.of_positions);
  const std::vector<DrawnColumn> drawn = drawn_columns(names);
  const bool banded =
      std::ranges::any_of(drawn, [](const auto& one) { return one.error.has_value(); });
  const bool titled = given.titles && !given.titles->empty();
  std::string title = title_of(options, columns.title, default_title), shown_names;
  std::vector<std::string> end_names;
  for (const auto& [column, error] : drawn) {
    shown_names += (shown_names.empty() ? "" : ", ") + (titled ? called : names)[column];
    end_names.push_back(called[column]);
  }
  if (!banded && drawn.size() < matrix.columns() && !title.empty())
    title += "\n" + counted_text(drawn.size(), matrix.columns(), columns.of_positions);
  figure.describe(title, described(matrix, columns.of_positions, shown_names, banded));
  if (options.caption) {
    const auto [caption, alternative] = texts_of(matrix, drawn, called, ticks.labels, banded);
    figure.describe(title, alternative);
    figure.add_caption(caption);
  }
  const ChartTexts texts{title, options.xlabel.value_or(translated(default_xlabel)),
                         options.ylabel.value_or(translated(default_ylabel))};
  const Places places(matrix, drawn, numbers_of_rows(ticks.labels, columns.first_query),
                      given.log_axes);
  std::vector<EndName> ends;
  constexpr std::array order = {Part::axis_labels, Part::title, Part::tick_labels};
  const Arrangement all =
      arranged(figure, order, [&](Figure& on, const Box& area, const Shown& shown, bool) {
        Arrangement one;
        one.place = area;
        const auto room = [&](const Box& box) {
          ends = names_at_ends(places.curves_in(box), end_names, box, on);
          double right = box.right;
          for (const EndName& end : ends) right = std::max(right, end.text.bounds.right);
          return right - box.right;
        };
        one.place.right = std::max(area.middle(), area.right - room(area));
        one.axes = chart_axes(one.place, texts, shown, on);
        if (places.across.log) {
          places.across.set_ticks(one.axes.x, one.place.width(), true, on);
        } else {
          set_cell_ticks(one.axes.x, ticks, one.place.width(), true, on);
        }
        places.up.set_ticks(one.axes.y, one.place.height(), false, on);
        one.decorations = decorate(one.axes, on.typesetter());
        room(one.place);
        for (const EndName& end : ends) one.decorations.grow(end.text.bounds);
        return one;
      });
  const std::vector<std::vector<Point>> curves = places.curves_in(all.axes.box);
  const auto low = places.curves_in(all.axes.box, -1), high = places.curves_in(all.axes.box, 1);
  Picture picture = figure.picture(all.bounds(), [&](Canvas& canvas) {
    for (std::size_t i = 0; i < curves.size(); ++i)
      draw_band(canvas, low[i], high[i], head_colour(i));
    for (std::size_t i = 0; i < curves.size(); ++i)
      draw_curve(canvas, curves[i], head_colour(i), figure);
    all.draw(canvas, figure);
    for (const EndName& end : ends) {
      canvas.line(end.from, end.to, {end.colour, 1, figure.pixels(end_line)});
      canvas.text(end.text, figure.paper().ink);
    }
  });
  if (given.log_axes != LogAxes::none) warn_of_lost_points(curves, picture);
  return picture;
}

}  // namespace attn
