#include <algorithm>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/figure.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr std::pair<double, double> default_size = {8, 4};
constexpr const char* default_title = to_translate("Tensors to Scale: Length down, Width across");
constexpr double name_size = 11, number_size = 10;  // points
constexpr double title_pad = 12, gap = 4;           // points
constexpr double between = 14;  // points from one tensor's texts to the next one's
constexpr double thinnest = 1;  // points; of boxes that the scale would make invisible
constexpr int halvings = 50;    // until the scale is found

constexpr Colour input_colour = {135, 206, 235}, output_colour = {255, 165, 0},
                 weights_colour = {144, 238, 144};

struct Sized {
  std::string name;
  double length, width;
  Colour colour;
};

std::vector<Sized> tensors_of(const DimensionChart& chart) {
  struct Source {
    const char* name;
    const Shape& shape;
    Colour colour;
  };
  const std::vector<Source> sources = {{to_translate("Query"), chart.query, input_colour},
                                       {to_translate("Key"), chart.key, input_colour},
                                       {to_translate("Value"), chart.value, input_colour},
                                       {to_translate("Weights"), chart.weights, weights_colour},
                                       {to_translate("Output"), chart.output, output_colour}};
  std::vector<Sized> tensors;
  for (const Source& source : sources) {
    const Shape& shape = source.shape;
    if (shape.size() < 2 || shape.back() == 0 || shape[shape.size() - 2] == 0) continue;
    tensors.push_back({translated(source.name), static_cast<double>(shape[shape.size() - 2]),
                       static_cast<double>(shape.back()), source.colour});
  }
  if (tensors.empty()) {
    throw input_error(
        translated("there are no shapes to draw"), "",
        translated("give the shape, with a length and a width, of at least one tensor"));
  }
  return tensors;
}

std::string whole(double number) {
  return std::to_string(static_cast<long long>(number));
}

std::string size_of(const Sized& tensor) {
  return whole(tensor.length) + " × " + whole(tensor.width);
}

class ShapesFigure {
 public:
  ShapesFigure(const DimensionChart& chart, const FigureOptions& options, PictureFormat format)
      : tensors_(tensors_of(chart)),
        title_(options.title.value_or(translated(default_title))),
        figure_(options, format, default_size) {
    std::string sizes;
    for (const Sized& tensor : tensors_) {
      sizes += (sizes.empty() ? "" : ", ") + tensor.name + " " + size_of(tensor);
    }
    figure_.describe(title_, translated("Boxes to scale, length × width: {1}.", sizes));
  }

  Picture draw() {
    figure_.fit(title_gives_way + 1, [&](int given_way) { return lay_out(given_way); });
    return figure_.picture(bounds(), [&](Canvas& canvas) {
      for (std::size_t i = 0; i < boxes_.size(); ++i) {
        canvas.fill(boxes_[i], tensors_[i].colour);
        canvas.frame(boxes_[i], figure_.paper().ink, figure_.pixels(frame_width));
      }
      for (const PlacedText& text : texts_) canvas.text(text, figure_.paper().ink);
    });
  }

 private:
  Box bounds() const {
    Box all = boxes_[0];
    for (const Box& box : boxes_) all = united(all, box);
    return texts_.empty() ? all : united(all, bounds_of(texts_));
  }

  // The pixels of a length of 1 with which all boxes fit so many pixels across and down. A column
  // is at least as wide as its texts, so that the scale is found by halves.
  double scale_for(const std::vector<double>& text_widths, double across, double down) const {
    const auto taken = [&](double scale) {
      double sum = 0;
      for (std::size_t i = 0; i < tensors_.size(); ++i) {
        sum += std::max(text_widths[i], scale * tensors_[i].width);
      }
      return sum;
    };
    double longest = 0;
    for (const Sized& tensor : tensors_) longest = std::max(longest, tensor.length);
    double low = 0, high = std::max(down, 1.0) / longest;
    if (taken(high) <= across) return high;
    for (int i = 0; i < halvings; ++i) {
      const double middle = (low + high) / 2;
      (taken(middle) <= across ? low : high) = middle;
    }
    return low;
  }

  // Boxes on one line, each in the middle of a column, its name above and its size below.
  bool lay_out(int given_way) {
    Typesetter& typesetter = figure_.typesetter();
    texts_.clear();
    boxes_.clear();
    const double title_room = given_way <= title_gives_way && !title_.empty() ? title_height() : 0;
    const double line = typesetter.text("lp", name_size).height + figure_.pixels(gap);
    std::vector<double> widths;
    for (const Sized& tensor : tensors_) {
      widths.push_back(std::max({typesetter.text(tensor.name, name_size).width,
                                 typesetter.text(size_of(tensor), number_size).width,
                                 figure_.pixels(thinnest)}));
    }
    const double gaps = figure_.pixels(between) * std::min(1.0, figure_.font_scale()) *
                        static_cast<double>(tensors_.size() - 1);
    const double down = figure_.height() - title_room - 2 * line;
    const double scale = scale_for(widths, figure_.width() - gaps, down);
    double left = 0, longest = 0;
    for (const Sized& tensor : tensors_) longest = std::max(longest, scale * tensor.length);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      const double width = std::max(figure_.pixels(thinnest), scale * tensors_[i].width);
      const double height = std::max(figure_.pixels(thinnest), scale * tensors_[i].length);
      const double column = std::max(widths[i], width), middle = left + column / 2;
      const Box box = {middle - width / 2, longest - height, middle + width / 2, longest};
      boxes_.push_back(box);
      texts_.push_back(place(typesetter.text(tensors_[i].name, name_size),
                             {middle, box.top - figure_.pixels(gap)},
                             {Horizontal::centre, Vertical::bottom}));
      texts_.push_back(place(typesetter.text(size_of(tensors_[i]), number_size),
                             {middle, longest + figure_.pixels(gap)},
                             {Horizontal::centre, Vertical::top}));
      left += column + gaps / static_cast<double>(std::max<std::size_t>(1, tensors_.size() - 1));
    }
    if (title_room > 0) {
      const Box all = bounds();
      const auto lines =
          placed_lines(title(), title_size, {all.middle(), all.top - figure_.pixels(title_pad)},
                       {Horizontal::centre, Vertical::bottom}, typesetter);
      texts_.insert(texts_.end(), lines.begin(), lines.end());
    }
    constexpr double beyond = 1.005, least_down = 0.3;
    const Box all = bounds();
    return all.width() <= beyond * figure_.width() && all.height() <= beyond * figure_.height() &&
           down >= least_down * figure_.height();
  }

  std::string title() { return figure_.title(title_, title_size, figure_.width()); }

  double title_height() {
    return bounds_of(placed_lines(title(), title_size, {0, 0}, {}, figure_.typesetter())).height() +
           figure_.pixels(title_pad);
  }

  std::vector<Sized> tensors_;
  std::string title_;
  Figure figure_;
  std::vector<PlacedText> texts_;
  std::vector<Box> boxes_;  // one a tensor
  enum { title_gives_way };
};

}  // namespace
}  // namespace plot

Picture draw_shapes(const DimensionChart& chart, const FigureOptions& options,
                    PictureFormat format) {
  return plot::ShapesFigure(chart, options, format).draw();
}

}  // namespace attn
