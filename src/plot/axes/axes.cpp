#include "plot/axes/axes.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "support/utf8.hpp"

namespace attn::plot {
namespace {

constexpr double tick_length = 3.5, tick_pad = 3.5;              // points
constexpr double minor_tick_length = 2, minor_tick_width = 0.6;  // points
constexpr double label_pad = 4;   // points between tick labels and the axis label
constexpr double offset_pad = 3;  // points between the frame and the offset text above it
constexpr double bracket_pad = 4, bracket_foot = 3, bracket_gap = 1;  // points
constexpr double bracket_text_pad = 2.5, bracket_width = 0.8;         // points
constexpr std::array bracket_sizes = {9.0, 8.0, 7.0};                 // points
constexpr double rule_width = 0.6;                                    // points
constexpr double rule_opacity = 0.6;

// Collects the placed texts and the room they take.
class Decorator {
 public:
  Decorator(const Axes& axes, Typesetter& typesetter)
      : axes_(axes), typesetter_(typesetter), frame_(axes.box) {
    result_.bounds = result_.layout_bounds = frame_;
  }

  Decorations run() {
    if (axes_.x.drawn) add_x_axis();
    if (axes_.y.drawn) add_y_axis();
    add_title();
    return std::move(result_);
  }

 private:
  double pixels(double points) const { return typesetter_.pixels(points); }

  PlacedText add(const std::string& text, double size, Point anchor, const Alignment& alignment) {
    const auto placed = place(typesetter_.text(text, size), anchor, alignment);
    result_.texts.push_back(placed);
    return placed;
  }

  // Adds a text of several lines and returns the box around all of them.
  Box add_lines(const std::string& text, double size, Point anchor, const Alignment& alignment) {
    return plot::add_lines(result_.texts, text, size, anchor, alignment, typesetter_);
  }

  void grow(const Box& box) { result_.grow(box); }
  void grow(const Box& box, const Box& layout_box) { result_.grow(box, layout_box); }

  void grow_by_label(const Box& box, const Box& layout_box) {
    grow(axes_.style == PlotStyle::matplotlib ? layout_box : box, layout_box);
  }

  void add_x_axis() {
    const Axis& axis = axes_.x;
    Box taken = frame_;
    taken.bottom += pixels(tick_length);
    if (axis.labelled) {
      Alignment alignment{Horizontal::centre, Vertical::top, axis.tick_label_degrees};
      if (axis.labels_end_at_tick && axis.tick_label_degrees != 0) {
        alignment.horizontal = Horizontal::right;
        alignment.vertical = axis.tick_label_degrees < 90 ? Vertical::top : Vertical::centre;
        alignment.turned_about_anchor = true;
      }
      const double y = frame_.bottom + pixels(tick_length + tick_pad);
      for (const Tick& tick : axis.ticks) {
        const double x = frame_.left + tick.position * frame_.width();
        taken = united(taken, add(tick.label, axis.tick_label_size, {x, y}, alignment).bounds);
      }
    }
    taken.bottom =
        add_brackets(result_, axis.brackets, frame_, FrameSide::below, taken.bottom, typesetter_);
    grow(taken);
    if (!axis.label.empty()) {
      const Point anchor = {frame_.middle(), taken.bottom + pixels(label_pad)};
      const Box box =
          add_lines(axis.label, axis.label_size, anchor, {Horizontal::centre, Vertical::top});
      grow_by_label(box, {box.middle(), box.top, box.middle(), box.bottom});
    }
  }

  void add_y_axis() {
    const Axis& axis = axes_.y;
    const bool right = axes_.y_on_right;
    Box taken = frame_;
    (right ? taken.right : taken.left) += (right ? 1 : -1) * pixels(tick_length);
    if (axis.labelled) {
      const double pad = pixels(tick_length + tick_pad);
      const double x = right ? frame_.right + pad : frame_.left - pad;
      const Alignment alignment{right ? Horizontal::left : Horizontal::right,
                                Vertical::centre_of_capitals};
      for (const Tick& tick : axis.ticks) {
        const double y = frame_.bottom - tick.position * frame_.height();
        taken = united(taken, add(tick.label, axis.tick_label_size, {x, y}, alignment).bounds);
      }
    }
    double& edge = right ? taken.right : taken.left;
    edge = add_brackets(result_, axis.brackets, frame_, right ? FrameSide::right : FrameSide::left,
                        edge, typesetter_);
    grow(taken);
    if (!axis.label.empty()) {
      const double pad = pixels(label_pad);
      const Point anchor = {right ? taken.right + pad : taken.left - pad, frame_.centre()};
      const Box box =
          add_lines(axis.label, axis.label_size, anchor,
                    {Horizontal::centre, right ? Vertical::top : Vertical::bottom, 90, true});
      grow_by_label(box, {box.left, box.centre(), box.right, box.centre()});
    }
    if (!axis.offset.empty()) {
      const Point anchor = {right ? frame_.right : frame_.left, frame_.top - pixels(offset_pad)};
      offset_ = add(axis.offset, axis.tick_label_size, anchor,
                    {right ? Horizontal::right : Horizontal::left, Vertical::baseline})
                    .bounds;
      grow(offset_);
    }
  }

  void add_title() {
    if (axes_.title.empty()) return;
    const double pad = pixels(axes_.title_pad);
    const auto title_above = [&](double y) {
      return placed_lines(axes_.title, axes_.title_size, {frame_.middle(), y - pad},
                          {Horizontal::centre, Vertical::baseline}, typesetter_);
    };
    auto title = title_above(frame_.top);
    if (!offset_.empty() && overlap(bounds_of(title), offset_)) title = title_above(offset_.top);
    if (axes_.title_within) {
      const auto [left, right] = *axes_.title_within;
      const Box around = bounds_of(title);
      const double beyond_right = std::max(0.0, around.right - right);
      const double aside = -beyond_right + std::max(0.0, left - (around.left - beyond_right));
      for (PlacedText& line : title) {
        line.origin.x += aside;
        line.bounds = line.bounds.moved(aside, 0);
      }
    }
    result_.texts.insert(result_.texts.end(), title.begin(), title.end());
    const Box box = bounds_of(title);
    grow(box, {box.middle(), box.top, box.middle(), box.bottom});
  }

  const Axes& axes_;
  Typesetter& typesetter_;
  const Box frame_;
  Box offset_;
  Decorations result_;
};

}  // namespace

void Decorations::grow(const Box& box, const Box& layout_box) {
  bounds = united(bounds, box);
  layout_bounds = united(layout_bounds, layout_box);
}

std::vector<PlacedText> placed_lines(const std::string& text, double points, Point anchor,
                                     const Alignment& alignment, Typesetter& typesetter) {
  std::vector<const Text*> lines;
  for (const std::string& line : lines_of(text)) lines.push_back(&typesetter.text(line, points));
  return place_lines(lines, typesetter.text("lp", points), anchor, alignment);
}

Box add_lines(std::vector<PlacedText>& texts, const std::string& text, double points, Point anchor,
              const Alignment& alignment, Typesetter& typesetter) {
  const auto lines = placed_lines(text, points, anchor, alignment, typesetter);
  texts.insert(texts.end(), lines.begin(), lines.end());
  return bounds_of(lines);
}

Box bounds_of(const std::vector<PlacedText>& texts) {
  Box bounds = texts.front().bounds;
  for (const PlacedText& text : texts) bounds = united(bounds, text.bounds);
  return bounds;
}

namespace {

// A name cut at its end to be no longer than so many pixels, in the largest letters that have room
// for it; null where hardly a letter has.
const Text* bracket_name(const std::string& name, double length, Typesetter& typesetter) {
  const auto at = [&](const std::string& text, double size) -> const Text* {
    const Text& line = typesetter.text(text, size);
    return line.width <= length ? &line : nullptr;
  };
  if (name.empty()) return nullptr;
  for (const double size : bracket_sizes) {
    if (const Text* whole = at(name, size)) return whole;
  }
  constexpr std::size_t least_letters = 3, most_bytes = 80;
  for (std::size_t bytes = whole_characters(name, most_bytes); bytes >= least_letters;
       bytes = whole_characters(name, bytes - 1)) {
    std::string start = name.substr(0, bytes);
    while (start.ends_with(' ')) start.pop_back();
    if (const Text* cut = at(start + "\u2026", bracket_sizes.back())) return cut;
  }
  return nullptr;
}

}  // namespace

double add_brackets(Decorations& decorations, const std::vector<Bracket>& brackets,
                    const Box& frame, FrameSide side, double edge, Typesetter& typesetter) {
  if (brackets.empty()) return edge;
  const bool level = side == FrameSide::below;
  const double out = side == FrameSide::left ? -1 : 1;
  const double foot = typesetter.pixels(bracket_foot), gap = typesetter.pixels(bracket_gap);
  const double line = edge + out * (typesetter.pixels(bracket_pad) + foot);
  const double text_at = line + out * typesetter.pixels(bracket_text_pad);
  double reach = line;
  for (const Bracket& bracket : brackets) {
    const double from = level ? frame.left + bracket.from * frame.width() + gap
                              : frame.bottom - bracket.to * frame.height() + gap;
    const double length =
        (bracket.to - bracket.from) * (level ? frame.width() : frame.height()) - 2 * gap;
    if (!(length > 0)) continue;
    const auto point = [&](double along, double across) {
      return level ? Point{along, across} : Point{across, along};
    };
    auto& lines = decorations.bracket_lines;
    lines.push_back({point(from, line), level ? length : 0, level ? 0 : length});
    for (const double end : {from, from + length})
      lines.push_back({point(end, line), level ? 0 : -out * foot, level ? -foot : 0});
    decorations.grow(level ? Box{from, line, from + length, line}
                           : Box{line, from, line, from + length});
    const Text* const name = bracket_name(bracket.name, length, typesetter);
    if (name == nullptr) continue;
    const Alignment alignment =
        level ? Alignment{Horizontal::centre, Vertical::top}
              : Alignment{Horizontal::centre, out < 0 ? Vertical::bottom : Vertical::top, 90, true};
    const PlacedText placed = place(*name, point(from + length / 2, text_at), alignment);
    decorations.add(placed);
    reach = level     ? std::max(reach, placed.bounds.bottom)
            : out < 0 ? std::min(reach, placed.bounds.left)
                      : std::max(reach, placed.bounds.right);
  }
  return reach;
}

void draw_rules(Canvas& canvas, const std::vector<Bracket>& brackets, const Box& frame,
                bool horizontal, const Figure& figure) {
  std::set<double> places;
  for (const Bracket& bracket : brackets) places.insert({bracket.from, bracket.to});
  const Canvas::Stroke stroke{figure.paper().ink, rule_opacity, figure.line(rule_width)};
  for (const double place : places) {
    if (place <= 0 || place >= 1) continue;
    const double x = frame.left + place * frame.width(), y = frame.bottom - place * frame.height();
    if (horizontal) {
      canvas.line({x, frame.top}, {x, frame.bottom}, stroke);
    } else {
      canvas.line({frame.left, y}, {frame.right, y}, stroke);
    }
  }
}

Decorations decorate(const Axes& axes, Typesetter& typesetter) {
  return Decorator(axes, typesetter).run();
}

void draw_axes(Canvas& canvas, const Axes& axes, const Decorations& decorations,
               const Figure& figure) {
  const Colour ink = figure.paper().ink;
  const double line_width =
      std::min(figure.line(axes.line_width), figure.pixels(figure.frame_width()));
  const double length = figure.pixels(tick_length);
  const double minor_length = figure.pixels(minor_tick_length);
  const Box& box = axes.box;
  std::vector<Canvas::Tick> ticks, minor_ticks;
  if (axes.x.drawn) {
    const auto at = [&](double position, double down) {
      return Canvas::Tick{{box.left + position * box.width(), box.bottom}, 0, down};
    };
    for (const Tick& tick : axes.x.ticks) ticks.push_back(at(tick.position, length));
    for (const double position : axes.x.minor_ticks) {
      minor_ticks.push_back(at(position, minor_length));
    }
  }
  if (axes.y.drawn) {
    const double side = axes.y_on_right ? 1 : -1;
    const auto at = [&](double position, double out) {
      return Canvas::Tick{
          {axes.y_on_right ? box.right : box.left, box.bottom - position * box.height()},
          side * out,
          0};
    };
    for (const Tick& tick : axes.y.ticks) ticks.push_back(at(tick.position, length));
    for (const double position : axes.y.minor_ticks) {
      minor_ticks.push_back(at(position, minor_length));
    }
  }
  canvas.ticks(ticks, ink, line_width);
  canvas.ticks(minor_ticks, ink,
               std::min(figure.line(minor_tick_width), figure.pixels(figure.frame_width())));
  draw_rules(canvas, axes.x.brackets, box, true, figure);
  draw_rules(canvas, axes.y.brackets, box, false, figure);
  canvas.frame(box, ink, line_width);
  canvas.ticks(decorations.bracket_lines, ink, figure.line(bracket_width));
  for (const PlacedText& text : decorations.texts) canvas.text(text, ink);
}

}  // namespace attn::plot
