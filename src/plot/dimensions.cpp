#include <algorithm>
#include <array>
#include <limits>

#include "attn/error.hpp"

#include "plot/axes/colour_bar.hpp"
#include "plot/axes/figure.hpp"
#include "plot/axes/subplots.hpp"
#include "support/in_english.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr Colour sky_blue = {135, 206, 235}, orange = {255, 165, 0}, light_green = {144, 238, 144};
constexpr std::pair<double, double> default_size = {10, 6};
constexpr const char* default_title =
    to_translate("Dimension Comparison of Q/K/V and Attention Output");
constexpr const char* default_ylabel = to_translate("Dimension Size");
constexpr double title_pad = 15, value_size = 10;  // points
constexpr double bar_width = 0.8;                  // of the distance between bars
constexpr double side_margin = 0.05;               // of the width that the bars take
constexpr double value_rise = 0.05;                // of a value above its bar, in values

struct Bar {
  std::string label;
  double value;
  Colour colour;
};

// Sequence lengths first, then widths; absent tensors and widths have no bars.
std::vector<Bar> bars_of(const DimensionChart& chart, const FigureOptions& options) {
  const InEnglish english(options.style == PlotStyle::matplotlib);
  struct Source {
    const char* name;
    const Shape& shape;
  };
  const std::array<Source, 4> sources = {
      {{"Q", chart.query}, {"K", chart.key}, {"V", chart.value}, {"Output", chart.output}}};
  std::vector<Bar> bars;
  for (const bool lengths : {true, false}) {
    for (const Source& source : sources) {
      if (source.shape.empty()) continue;
      const bool has_width = source.shape.size() > 1;
      if (!lengths && !has_width) continue;
      const bool output = source.name == std::string("Output");
      const std::size_t size = source.shape[source.shape.size() - (lengths && has_width ? 2 : 1)];
      const std::string name = output ? translated("Output") : source.name;
      bars.push_back({lengths ? translated("{1} Seq Len", name) : translated("{1} Dim", name),
                      static_cast<double>(size),
                      output    ? orange
                      : lengths ? sky_blue
                                : light_green});
    }
  }
  if (bars.empty()) {
    throw input_error(translated("there are no shapes to draw"), "",
                      translated("give the shape of at least one tensor"));
  }
  return bars;
}

class DimensionFigure {
 public:
  DimensionFigure(const DimensionChart& chart, const FigureOptions& options, PictureFormat format)
      : bars_(bars_of(chart, options)), options_(options), figure_(options, format, default_size) {
    const double half = bar_width / 2, count = static_cast<double>(bars_.size());
    const double margin = side_margin * (count - 1 + bar_width);
    x_view_ = {-half - margin, count - 1 + half + margin};
    double largest = 0;
    for (const Bar& bar : bars_) largest = std::max(largest, bar.value);
    std::string sizes;
    for (const Bar& bar : bars_) {
      sizes += (sizes.empty() ? "" : ", ") + bar.label + " " +
               std::to_string(static_cast<long long>(bar.value));
    }
    figure_.describe(options.title.value_or(translated(default_title)),
                     translated("Bars: {1}.", sizes));
    y_view_ = {0, matplotlib() ? largest + 1 : std::max(largest + 1, largest * 1.1)};
  }

  Picture draw() {
    Box area;
    Axes axes;
    Decorations decorations;
    const auto lay_out = [&](int given_way) {
      given_way_ = given_way;
      area = figure_.tight_area([this](Figure& figure, const Box& box) {
        return united(decorate(axes_in(box, figure), figure.typesetter()).layout_bounds,
                      values_bounds(box, figure));
      });
      axes = axes_in(area, figure_);
      decorations = decorate(axes, figure_.typesetter());
      const std::vector<PlacedText> values = values_at(area, figure_);
      const bool apart = std::adjacent_find(values.begin(), values.end(),
                                            [](const PlacedText& a, const PlacedText& b) {
                                              return overlap(a.bounds, b.bounds);
                                            }) == values.end();
      return apart && leaves_room(figure_, area, area,
                                  united(decorations.bounds, values_bounds(area, figure_)));
    };
    figure_.fit(3, lay_out);
    const std::vector<PlacedText> values = values_at(area, figure_);
    return figure_.picture(united(decorations.bounds, values_bounds(area, figure_)),
                           [&](Canvas& canvas) {
                             draw_bars(canvas, area);
                             draw_axes(canvas, axes, decorations, figure_);
                             for (const PlacedText& value : values)
                               canvas.text(value, figure_.paper().ink);
                           });
  }

 private:
  bool matplotlib() const { return options_.style == PlotStyle::matplotlib; }
  double x(double place) const { return (place - x_view_.low) / (x_view_.high - x_view_.low); }
  double y(double value) const { return (value - y_view_.low) / (y_view_.high - y_view_.low); }

  Axes axes_in(const Box& box, Figure& figure) const {
    Axes axes;
    axes.box = box;
    axes.style = options_.style;
    axes.title = figure.title(options_.title.value_or(translated(default_title)), title_size,
                              figure.width());
    axes.title_size = title_size;
    axes.title_pad = title_pad;
    if (!matplotlib()) axes.title_within = {{0, figure.width()}};
    if (given_way_ > title_gives_way) axes.title.clear();
    axes.x.label = figure.label(options_.xlabel.value_or(""), label_size, box.width());
    axes.y.label = figure.label(options_.ylabel.value_or(translated(default_ylabel)), label_size,
                                box.height());
    if (given_way_ > axis_labels_give_way) axes.x.label = axes.y.label = "";
    axes.x.labelled = axes.y.labelled = given_way_ <= tick_labels_give_way;
    axes.x.label_size = axes.y.label_size = label_size;
    axes.x.tick_label_degrees = 45;
    axes.x.labels_end_at_tick = !matplotlib();
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      axes.x.ticks.push_back({x(static_cast<double>(i)), bars_[i].label});
    }
    set_value_ticks(axes.y, y_view_, box.height(), false, figure);
    return axes;
  }

  std::vector<PlacedText> values_at(const Box& box, Figure& figure) const {
    std::vector<PlacedText> values;
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const double value = bars_[i].value;
      const Text& text =
          figure.typesetter().text(std::to_string(static_cast<long long>(value)), value_size);
      const double rise = matplotlib() ? value_rise : 0;
      Point anchor = {box.left + x(static_cast<double>(i)) * box.width(),
                      box.bottom - y(value + rise) * box.height()};
      if (!matplotlib()) anchor.y -= figure.pixels(2);
      values.push_back(place(text, anchor, {Horizontal::centre, Vertical::bottom}));
    }
    return values;
  }

  Box values_bounds(const Box& box, Figure& figure) const {
    Box bounds = box;
    for (const PlacedText& value : values_at(box, figure)) bounds = united(bounds, value.bounds);
    return bounds;
  }

  void draw_bars(Canvas& canvas, const Box& box) const {
    for (std::size_t i = 0; i < bars_.size(); ++i) {
      const double middle = static_cast<double>(i);
      canvas.fill({box.left + x(middle - bar_width / 2) * box.width(),
                   box.bottom - y(bars_[i].value) * box.height(),
                   box.left + x(middle + bar_width / 2) * box.width(), box.bottom},
                  bars_[i].colour);
    }
  }

  std::vector<Bar> bars_;
  const FigureOptions& options_;
  Figure figure_;
  Interval x_view_, y_view_;
  // How many of these give way to the bars.
  enum { axis_labels_give_way, tick_labels_give_way, title_gives_way };
  int given_way_ = 0;
};

}  // namespace
}  // namespace plot

Picture draw_dimensions(const DimensionChart& chart, const FigureOptions& options,
                        PictureFormat format) {
  return plot::DimensionFigure(chart, options, format).draw();
}

}  // namespace attn
