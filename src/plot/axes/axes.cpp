#include "plot/axes/axes.hpp"

namespace attn::plot {
namespace {

constexpr double label_pad = 4;   // points between tick labels and the axis label
constexpr double offset_pad = 3;  // points between the frame and the offset text above it

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

  // The same for a text of several lines; the box is around all of them.
  Box add_lines(const std::string& text, double size, Point anchor, const Alignment& alignment) {
    const auto placed = placed_lines(text, size, anchor, alignment, typesetter_);
    result_.texts.insert(result_.texts.end(), placed.begin(), placed.end());
    return bounds_of(placed);
  }

  void grow(const Box& box) { grow(box, box); }
  void grow(const Box& box, const Box& layout_box) {
    result_.bounds = united(result_.bounds, box);
    result_.layout_bounds = united(result_.layout_bounds, layout_box);
  }

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

std::vector<PlacedText> placed_lines(const std::string& text, double points, Point anchor,
                                     const Alignment& alignment, Typesetter& typesetter) {
  std::vector<const Text*> lines;
  for (const std::string& line : lines_of(text)) lines.push_back(&typesetter.text(line, points));
  return place_lines(lines, typesetter.text("lp", points), anchor, alignment);
}

Box bounds_of(const std::vector<PlacedText>& texts) {
  Box bounds = texts.front().bounds;
  for (const PlacedText& text : texts) bounds = united(bounds, text.bounds);
  return bounds;
}

Decorations decorate(const Axes& axes, Typesetter& typesetter) {
  return Decorator(axes, typesetter).run();
}

}  // namespace attn::plot
