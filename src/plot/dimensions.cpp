#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "support/translated.hpp"

// Sizes of tensors, as bars and as boxes to scale.

namespace attn {
namespace plot::dimensions {
namespace {

constexpr Colour sky_blue = {135, 206, 235}, orange = {255, 165, 0}, light_green = {144, 238, 144};

std::string whole(double number) {
  return std::to_string(static_cast<long long>(number));
}

// Text behind what is listed before it.
void append(std::string& list, const std::string& text) {
  list += (list.empty() ? "" : ", ") + text;
}

// 1. Bars.

constexpr std::pair<double, double> size_of_bars = {10, 6};  // inches
constexpr const char* title_of_bars =
    to_translate("Dimension Comparison of Q/K/V and Attention Output");
constexpr const char* ylabel_of_bars = to_translate("Dimension Size");
constexpr double value_size = 10, value_gap = 2;  // points
constexpr double bar_width = 0.8;                 // of the distance between bars
constexpr double side_margin = 0.05;              // of the width that the bars take
constexpr double most_linear = 200;  // of the largest bar to the smallest; beyond, by logarithms
constexpr double value_rise = 0.05;  // in values, of a value above its bar in the matplotlib style
constexpr std::array order_of_bars = {Part::axis_labels, Part::tick_labels, Part::title};

struct Bar {
  std::string label;
  double value;
  Colour colour;
};

// Bars of sequence lengths, then of widths; absent tensors and widths have none.
std::vector<Bar> bars_of(const DimensionChart& chart) {
  struct Source {
    const char* name;
    const Shape& shape;
  };
  const std::array<Source, 4> sources = {
      {{"Q", chart.query}, {"K", chart.key}, {"V", chart.value}, {"Output", chart.output}}};
  std::vector<Bar> bars;
  for (const bool lengths : {true, false}) {
    for (const auto& [source_name, shape] : sources) {
      if (shape.empty()) continue;
      const bool has_width = shape.size() > 1;
      if (!lengths && !has_width) continue;
      const bool output = &shape == &chart.output;
      const std::size_t size = shape[shape.size() - (lengths && has_width ? 2 : 1)];
      const std::string name = output ? translated("Output") : source_name;
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

// Places of bars across, 0, 1, …, and sizes down.
View view_of(const std::vector<Bar>& bars, bool standard) {
  const double half = bar_width / 2, last = static_cast<double>(bars.size()) - 1;
  const double margin = side_margin * (last + bar_width);
  double largest = 0;
  for (const Bar& bar : bars) largest = std::max(largest, bar.value);
  return {{-half - margin, last + half + margin},
          {0, standard ? std::max(largest + 1, largest * 1.1) : largest + 1}};
}

// Whether the smallest bars would have no height beside the largest.
bool spans_decades(const std::vector<Bar>& bars) {
  const auto [least, most] = std::ranges::minmax_element(bars, {}, &Bar::value);
  return least->value > 0 && most->value > most_linear * least->value;
}

// The same with logarithms of sizes, from below the smallest to above the largest.
View log_view_of(const std::vector<Bar>& bars) {
  const auto [least, most] = std::ranges::minmax_element(bars, {}, &Bar::value);
  View view = view_of(bars, true);
  view.y = {std::min(0.0, std::log(least->value / 2)), std::log(most->value * 2)};
  return view;
}

// Sizes are whole numbers, and so are the ticks of their axis.
void keep_whole_ticks(Axis& axis, Interval view) {
  constexpr double rounding = 1e-6;
  const auto value_at = [&](const Tick& tick) {
    return view.low + tick.position * (view.high - view.low);
  };
  std::erase_if(axis.ticks, [&](const Tick& tick) {
    return std::abs(value_at(tick) - std::round(value_at(tick))) > rounding;
  });
  if (!axis.offset.empty()) return;
  for (Tick& tick : axis.ticks) tick.label = whole(std::round(value_at(tick)));
}

// The values above the bars.
std::vector<PlacedText> values_at(const Box& box, const std::vector<Bar>& bars, const View& view,
                                  bool log, Figure& figure) {
  std::vector<PlacedText> values;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const double rise = figure.standard() ? 0 : value_rise;
    const double value = log ? std::log(bars[i].value) : bars[i].value;
    Point anchor = {view.across(box, static_cast<double>(i)), view.down(box, value + rise)};
    if (figure.standard()) anchor.y -= figure.pixels(value_gap);
    values.push_back(place(figure.typesetter().text(whole(bars[i].value), value_size), anchor,
                           {Horizontal::centre, Vertical::bottom}));
  }
  return values;
}

bool apart(const std::vector<PlacedText>& texts) {
  return std::adjacent_find(texts.begin(), texts.end(),
                            [](const PlacedText& a, const PlacedText& b) {
                              return overlap(a.bounds, b.bounds);
                            }) == texts.end();
}

// 2. Boxes.

constexpr std::pair<double, double> size_of_boxes = {8, 4};  // inches
constexpr const char* title_of_boxes = to_translate("Tensors to Scale: Length down, Width across");
constexpr double name_size = 11, number_size = 10;  // points
constexpr double title_pad = 12, gap = 4;           // points
constexpr double between = 14;  // points from one tensor's texts to the next one's
constexpr double thinnest = 1;  // points; of boxes that the scale would make invisible
constexpr int halvings = 50;    // until the scale is found
constexpr std::array order_of_boxes = {Part::title};

struct Sized {
  std::string name;
  double length, width;
  std::string copies;  // how many matrices of this size there are; empty for one
  Colour colour;

  std::string size() const { return whole(length) + " × " + whole(width); }
};

// "2 samples, 4 heads" of [2,4,L,D].
std::string copies_of(const Shape& shape) {
  const std::size_t samples = shape.size() > 2 ? shape[0] : 1;
  const std::size_t heads = shape.size() > 3 ? shape[1] : 1;
  std::string text;
  if (samples > 1) text = translated_count(samples, "{1} sample", "{1} samples");
  if (heads > 1) {
    text +=
        (text.empty() ? "" : translated(", ")) + translated_count(heads, "{1} head", "{1} heads");
  }
  return text;
}

std::vector<Sized> tensors_of(const DimensionChart& chart) {
  struct Source {
    const char* name;
    const Shape& shape;
    Colour colour;
  };
  const std::array<Source, 5> sources = {{{to_translate("Query"), chart.query, sky_blue},
                                          {to_translate("Key"), chart.key, sky_blue},
                                          {to_translate("Value"), chart.value, sky_blue},
                                          {to_translate("Weights"), chart.weights, light_green},
                                          {to_translate("Output"), chart.output, orange}}};
  std::vector<Sized> tensors;
  for (const auto& [name, shape, colour] : sources) {
    if (shape.size() < 2 || shape.back() == 0 || shape[shape.size() - 2] == 0) continue;
    tensors.push_back({translated(name), static_cast<double>(shape[shape.size() - 2]),
                       static_cast<double>(shape.back()), copies_of(shape), colour});
  }
  if (tensors.empty()) {
    throw input_error(
        translated("there are no shapes to draw"), "",
        translated("give the shape, with a length and a width, of at least one tensor"));
  }
  return tensors;
}

// The pixels of a length of 1 with which all boxes fit `across` × `down` pixels. A column is at
// least as wide as its texts, so that the scale is found by halves.
double scale_for(const std::vector<Sized>& tensors, const std::vector<double>& text_widths,
                 double across, double down) {
  const auto taken = [&](double scale) {
    double sum = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      sum += std::max(text_widths[i], scale * tensors[i].width);
    }
    return sum;
  };
  double longest = 0;
  for (const Sized& tensor : tensors) longest = std::max(longest, tensor.length);
  double low = 0, high = std::max(down, 1.0) / longest;
  if (taken(high) <= across) return high;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (taken(middle) <= across ? low : high) = middle;
  }
  return low;
}

// Boxes on one line, each in the middle of a column, its name above and its size below.
struct Boxes {
  std::vector<Box> boxes;  // one a tensor
  std::vector<PlacedText> texts;
  bool fit = false;  // whether all stays on the figure and boxes have enough of its height

  Boxes(const std::vector<Sized>& tensors, const std::string& title, Figure& figure) {
    Typesetter& typesetter = figure.typesetter();
    const std::string lines = figure.title(title, title_size, figure.width());
    const double title_room =
        title.empty()
            ? 0
            : bounds_of(placed_lines(lines, title_size, {0, 0}, {}, typesetter)).height() +
                  figure.pixels(title_pad);
    const double line = typesetter.text("lp", name_size).height + figure.pixels(gap);
    const bool any_copies = std::any_of(tensors.begin(), tensors.end(),
                                        [](const Sized& tensor) { return !tensor.copies.empty(); });
    const double least = figure.pixels(thinnest);
    std::vector<double> widths;
    for (const Sized& tensor : tensors) {
      widths.push_back(std::max({typesetter.text(tensor.name, name_size).width,
                                 typesetter.text(tensor.size(), number_size).width,
                                 typesetter.text(tensor.copies, number_size).width, least}));
    }
    const double columns_between = static_cast<double>(tensors.size() - 1);
    const double gaps = figure.pixels_beside_text(between) * columns_between;
    const double down = figure.height() - title_room - (any_copies ? 3 : 2) * line;
    const double scale = scale_for(tensors, widths, figure.width() - gaps, down);
    double left = 0, longest = 0;
    for (const Sized& tensor : tensors) longest = std::max(longest, scale * tensor.length);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const double width = std::max(least, scale * tensors[i].width);
      const double height = std::max(least, scale * tensors[i].length);
      const double column = std::max(widths[i], width), middle = left + column / 2;
      Box box = {middle - width / 2, longest - height, middle + width / 2, longest};
      // Equal widths are equal numbers of pixels.
      if (figure.is_raster()) {
        box.left = std::round(box.left);
        box.right = box.left + std::round(width);
      }
      boxes.push_back(box);
      texts.push_back(place(typesetter.text(tensors[i].name, name_size),
                            {middle, box.top - figure.pixels(gap)},
                            {Horizontal::centre, Vertical::bottom}));
      texts.push_back(place(typesetter.text(tensors[i].size(), number_size),
                            {middle, longest + figure.pixels(gap)},
                            {Horizontal::centre, Vertical::top}));
      if (!tensors[i].copies.empty()) {
        texts.push_back(place(typesetter.text(tensors[i].copies, number_size),
                              {middle, longest + line + figure.pixels(gap)},
                              {Horizontal::centre, Vertical::top}));
      }
      left += column + gaps / std::max(1.0, columns_between);
    }
    if (title_room > 0) {
      const Box all = bounds();
      add_lines(texts, lines, title_size, {all.middle(), all.top - figure.pixels(title_pad)},
                {Horizontal::centre, Vertical::bottom}, typesetter);
    }
    constexpr double beyond = 1.005, least_down = 0.3;
    const Box all = bounds();
    fit = all.width() <= beyond * figure.width() && all.height() <= beyond * figure.height() &&
          down >= least_down * figure.height();
  }

  Box bounds() const {
    Box all = bounds_of(texts);
    for (const Box& box : boxes) all = united(all, box);
    return all;
  }
};

}  // namespace
}  // namespace plot::dimensions

Picture draw_dimensions(const DimensionChart& chart, const FigureOptions& options,
                        PictureFormat format) {
  using namespace plot;
  using namespace plot::dimensions;
  Figure figure(options, format, size_of_bars);
  const std::vector<Bar> bars = bars_of(chart);
  const bool log = figure.standard() && spans_decades(bars);
  const View view = log ? log_view_of(bars) : view_of(bars, figure.standard());
  const std::string ylabel = translated(ylabel_of_bars) + (log ? translated(" (logarithmic)") : "");
  const ChartTexts texts{title_of(options, "", title_of_bars), options.xlabel.value_or(""),
                         options.ylabel.value_or(ylabel)};
  std::string sizes;
  for (const Bar& bar : bars) append(sizes, bar.label + " " + whole(bar.value));
  figure.describe(texts.title, translated("Bars: {1}.", sizes));

  const auto lay_out = [&](Figure& on, const Box& area, const Shown& shown, bool) {
    Arrangement all;
    all.place = area;
    all.axes = chart_axes(area, texts, shown, on);
    all.axes.x.tick_label_degrees = 45;
    all.axes.x.labels_end_at_tick = on.standard();
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const double middle = (static_cast<double>(i) - view.x.low) / (view.x.high - view.x.low);
      all.axes.x.ticks.push_back({middle, bars[i].label});
    }
    if (log) {
      set_log_ticks(all.axes.y, {std::exp(view.y.low), std::exp(view.y.high)}, area.height(), false,
                    on);
    } else {
      set_value_ticks(all.axes.y, view.y, area.height(), false, on);
      if (on.standard()) keep_whole_ticks(all.axes.y, view.y);
    }
    all.decorations = decorate(all.axes, on.typesetter());
    for (PlacedText& value : values_at(area, bars, view, log, on))
      all.decorations.add(std::move(value));
    return all;
  };
  const Arrangement all =
      arranged(figure, order_of_bars, lay_out, [&](const Arrangement& laid_out) {
        return apart(values_at(laid_out.axes.box, bars, view, log, figure));
      });
  const Box& box = all.axes.box;
  return figure.picture(all.bounds(), [&](Canvas& canvas) {
    for (std::size_t i = 0; i < bars.size(); ++i) {
      const double middle = static_cast<double>(i);
      const double value = log ? std::log(bars[i].value) : bars[i].value;
      canvas.fill({view.across(box, middle - bar_width / 2), view.down(box, value),
                   view.across(box, middle + bar_width / 2), box.bottom},
                  bars[i].colour);
    }
    all.draw(canvas, figure);
  });
}

Picture draw_shapes(const DimensionChart& chart, const FigureOptions& options,
                    PictureFormat format) {
  using namespace plot;
  using namespace plot::dimensions;
  Figure figure(options, format, size_of_boxes);
  const std::vector<Sized> tensors = tensors_of(chart);
  const std::string title = title_of(options, "", title_of_boxes);
  std::string sizes;
  for (const Sized& tensor : tensors) {
    append(sizes, tensor.name + " " + tensor.size() +
                      (tensor.copies.empty() ? "" : " (" + tensor.copies + ")"));
  }
  figure.describe(title, translated("Boxes to scale, length × width: {1}.", sizes));

  std::optional<Boxes> all;
  figure.fit(order_of_boxes, [&](const Shown& shown) {
    all.emplace(tensors, shown(Part::title) ? title : "", figure);
    return all->fit;
  });
  return figure.picture(all->bounds(), [&](Canvas& canvas) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      canvas.fill(all->boxes[i], tensors[i].colour);
      canvas.frame(all->boxes[i], figure.paper().ink, figure.pixels(frame_width));
    }
    for (const PlacedText& text : all->texts) canvas.text(text, figure.paper().ink);
  });
}

}  // namespace attn
