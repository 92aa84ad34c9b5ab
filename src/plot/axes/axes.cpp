#include "plot/axes/axes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "plot/text/token_labels.hpp"
#include "plot/text/token_spans.hpp"
#include "support/translated.hpp"
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
constexpr double least_bracket = 10, least_sentence = 24;             // points, on average
constexpr double least_bracketed = 60;                                // points; of a whole axis
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

// The room from one label to the next, in widths of a level label and in heights of a line.
constexpr double room_across = 1.1, room_along = 1.15;
// The longest label, in widths or heights of the figure; the matplotlib style shortens only absurd
// ones.
constexpr double longest_label = 0.25, longest_label_in_matplotlib = 3;
// Heights of a line; where labels thin out, those no wider than this stay level.
constexpr double short_label = 5;
// Labels of the matplotlib style that are closer than this share of a line's height give way to
// indices.
constexpr double crowded = 0.5;
// Of so many names each has at most so many letters.
constexpr std::size_t many_names = 20, longest_of_many = 14;

double middle_of(std::size_t cell, std::size_t cells, bool horizontal) {
  const double place = (static_cast<double>(cell) + 0.5) / static_cast<double>(cells);
  return horizontal ? place : 1 - place;
}

// Round numbers of cells from one label to the next: 1, 2, 5, 10, …
std::size_t round_step(double least) {
  std::size_t decade = 1;
  for (;; decade *= 10) {
    for (const std::size_t step : {decade, 2 * decade, 5 * decade}) {
      if (static_cast<double>(step) >= least) return step;
    }
  }
}

// Round numbers of cells from one index to the next, fewer where only one index would be left and
// there is room for two.
std::size_t index_step(const Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                       Figure& figure) {
  const std::size_t cells = ticks.labels.size(), last = ticks.first + cells - 1;
  const auto shown = [&](std::size_t step) {
    return last / step + 1 - (ticks.first + step - 1) / step;
  };
  const Text& widest = figure.typesetter().text(std::to_string(last), axis.tick_label_size);
  const double room = horizontal ? 2 * widest.width : room_along * widest.height;
  const std::size_t least = round_step(room / length * static_cast<double>(cells));
  const int intervals =
      tick_intervals(figure.points(length), axis.tick_label_size * figure.font_scale(), horizontal);
  std::size_t step = round_step(static_cast<double>(cells) / intervals);
  constexpr double to_next = 2.5;  // no two neighbours of 1, 2, 5, 10, … are farther apart
  while (shown(step) < 2 && step > least) {
    step = round_step(static_cast<double>(step) / to_next);
  }
  return step;
}

// Leaves out every second tick as long as level labels overlap.
void thin_out(Axis& axis, double length, Figure& figure) {
  const auto overlap = [&](const Tick& tick, const Tick& next) {
    const Text& a = figure.typesetter().text(tick.label, axis.tick_label_size);
    const Text& b = figure.typesetter().text(next.label, axis.tick_label_size);
    return (a.ink.width() + b.ink.width()) / 2 > (next.position - tick.position) * length;
  };
  while (std::adjacent_find(axis.ticks.begin(), axis.ticks.end(), overlap) != axis.ticks.end()) {
    std::vector<Tick> kept;
    for (std::size_t i = 0; i < axis.ticks.size(); i += 2) kept.push_back(axis.ticks[i]);
    axis.ticks = std::move(kept);
  }
}

// matplotlib's own ticks for an axis of numbers; the standard style leaves out those between
// cells.
std::size_t set_index_ticks(Axis& axis, const CellTicks& cell_ticks, double length, bool horizontal,
                            Figure& figure) {
  const std::size_t cells = cell_ticks.labels.size();
  const bool standard = figure.standard();
  const auto first = static_cast<double>(cell_ticks.first);
  const Interval view = {first - 0.5, first + static_cast<double>(cells) - 0.5};
  if (!standard) {
    Axis numbers = axis;
    set_value_ticks(numbers, view, length, horizontal, figure);
    if (horizontal) thin_out(numbers, length, figure);
    for (Tick& tick : numbers.ticks) {
      axis.ticks.push_back({horizontal ? tick.position : 1 - tick.position, tick.label});
    }
    axis.offset = numbers.offset;
    return 1;
  }
  const std::size_t step = index_step(axis, cell_ticks, length, horizontal, figure);
  const std::size_t last = cell_ticks.first + cells - 1;
  for (std::size_t i = (cell_ticks.first + step - 1) / step * step; i <= last; i += step) {
    const std::size_t cell = cell_ticks.upwards ? last - i : i - cell_ticks.first;
    axis.ticks.push_back({middle_of(cell, cells, horizontal), std::to_string(i)});
  }
  return step;
}

// The first cell to be named where each `step`th one is: that of a multiple of the step, where
// cells are numbered one by one and there is such a cell.
std::size_t round_start(const CellTicks& ticks, std::size_t step) {
  if (step >= ticks.labels.size()) return 0;
  if (!are_positions({ticks.labels[0], ticks.labels[step]})) return 0;
  const auto number = [&](std::size_t i) { return std::stoull(ticks.labels[i].substr(2)); };
  if (number(step) != number(0) + step) return 0;
  return (step - number(0) % step) % step;
}

// Whether a name is that of a token: neither several words nor a number.
bool is_token(const std::string& name) {
  if (name.find(' ') != std::string::npos || are_positions({name})) return false;
  const std::size_t digits = name.starts_with("\u2212") ? std::string_view("\u2212").size() : 0;
  return name.find_first_not_of("-.0123456789", digits) != std::string::npos;
}

struct Extent {
  double width = 0, height = 0;
};

// Turns the labels of a horizontal axis until they fit, and says how many cells there must be from
// one to the next.
std::size_t turned_step(Axis& axis, const Extent& largest, double cell, bool all) {
  axis.labels_end_at_tick = true;
  if (largest.width * room_across <= cell) return 1;
  const double line = largest.height * room_along;
  if (line * std::sqrt(2.0) <= cell) {
    axis.tick_label_degrees = 45;
    return 1;
  }
  if (line > cell && !all && largest.width <= short_label * line) {
    return round_step(largest.width * room_across / cell);  // short ones stay level and thin out
  }
  axis.tick_label_degrees = 90;
  return line <= cell || all ? 1 : round_step(line / cell);
}

// The fewest cells from one level label to the next without any two overlapping, but for names of
// all cells that run together by less than `touching` pixels, as in matplotlib.
std::size_t step_without_overlaps(const std::vector<const Text*>& texts, double cell,
                                  bool horizontal, double touching) {
  const auto overlap = [&](const Text& text, const Text& next, double distance) {
    // Labels stand with their middles at the ticks, and those of a vertical axis with their
    // capitals' middles, whose height is the same for all.
    if (!horizontal) return text.ink.bottom - next.ink.top > distance;
    return text.ink.right - text.width / 2 + next.width / 2 - next.ink.left > distance;
  };
  for (std::size_t step = 1;; step = round_step(static_cast<double>(step + 1))) {
    bool apart = true;
    const double more = horizontal && step == 1 ? touching : 0;
    for (std::size_t i = 0; apart && i + step < texts.size(); i += step) {
      apart = !overlap(*texts[i], *texts[i + step], cell * static_cast<double>(step) + more);
    }
    if (apart) return step;
  }
}

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

void set_value_ticks(Axis& axis, Interval view, double length, bool horizontal,
                     const Figure& figure) {
  const auto values =
      tick_values(view, tick_intervals(figure.points(length),
                                       axis.tick_label_size * figure.font_scale(), horizontal));
  const TickTexts texts = tick_texts(values, view);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!in_view(view, values[i])) continue;
    axis.ticks.push_back({(values[i] - view.low) / (view.high - view.low), texts.labels[i]});
  }
  axis.offset = texts.offset;
}

void set_log_ticks(Axis& axis, Interval view, double length, bool horizontal, Figure& figure) {
  const LogTicks ticks =
      log_ticks(view, tick_intervals(figure.points(length),
                                     axis.tick_label_size * figure.font_scale(), horizontal));
  const double low = std::log(view.low), extent = std::log(view.high) - low;
  const auto place = [&](double value) { return (std::log(value) - low) / extent; };
  for (std::size_t i = 0; i < ticks.values.size(); ++i)
    axis.ticks.push_back({place(ticks.values[i]), ticks.labels[i]});
  for (const double value : ticks.minor_values) axis.minor_ticks.push_back(place(value));
  constexpr double room = 0.8;  // of the distance of two ticks, for their labels
  if (horizontal) thin_out(axis, room * length, figure);
}

ShownLabels shown_labels(const Heatmap& heatmap, const FigureOptions& options) {
  if (options.style == PlotStyle::matplotlib && !options.show_spaces) {
    return {heatmap.query_labels, heatmap.key_labels};
  }
  const auto spelling = token_spelling({&heatmap.query_labels, &heatmap.key_labels});
  return {readable_tokens(heatmap.query_labels, spelling, options.show_spaces),
          readable_tokens(heatmap.key_labels, spelling, options.show_spaces)};
}

std::vector<std::string> labels_or(const std::vector<std::string>& given, const char* prefix,
                                   std::size_t count, std::size_t first, std::size_t first_number) {
  if (!given.empty()) return given;
  std::vector<std::string> labels;
  labels.reserve(count);
  for (std::size_t i = first; i < first + count; ++i) {
    labels.push_back((first_number == 0 ? "" : prefix) + std::to_string(i + first_number));
  }
  return labels;
}

namespace {

// The brackets of parts of so many cells; none where they are too narrow to be told apart or, of
// sentences, to be named.
std::vector<Bracket> brackets_of(const CellTicks& ticks, bool counted, double length,
                                 bool horizontal, const Figure& figure) {
  const bool given = !ticks.spans.empty();
  if (!figure.standard() || (!given && !counted)) return {};
  const std::vector<AxisSpan>& spans = given ? ticks.spans : ticks.sentences;
  const auto cells = static_cast<double>(ticks.labels.size());
  const double each = given ? least_bracket : least_sentence;
  const double least = std::max(least_bracketed, each * static_cast<double>(spans.size()));
  if (figure.points(length) < least) return {};
  std::vector<Bracket> brackets;
  for (const AxisSpan& span : spans) {
    const double from = static_cast<double>(span.first) / cells;
    const double to = std::min(static_cast<double>(span.end) / cells, 1.0);
    if (from >= to) continue;
    brackets.push_back(
        {shown_part(span.name), horizontal ? from : 1 - to, horizontal ? to : 1 - from});
  }
  return brackets;
}

// Names the few special tokens of an axis that counts, such as a sink, in the place of numbers that
// are too near to them.
void name_special_tokens(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                         Figure& figure) {
  constexpr std::size_t most = 4;
  const std::size_t cells = ticks.labels.size();
  std::vector<Tick> named;
  for (std::size_t i = 0; i < cells; ++i) {
    if (!is_special_token(ticks.labels[i])) continue;
    if (named.size() == most) return;
    named.push_back({middle_of(i, cells, horizontal), ticks.labels[i]});
  }
  const auto touch = [&](const Tick& a, const Tick& b) {
    const Text& one = figure.typesetter().text(a.label, axis.tick_label_size);
    const Text& other = figure.typesetter().text(b.label, axis.tick_label_size);
    const double room = horizontal ? room_across * (one.width + other.width) / 2
                                   : room_along * std::max(one.height, other.height);
    return std::abs(a.position - b.position) * length < room;
  };
  std::vector<Tick> kept;
  for (const Tick& tick : named) {
    if (std::ranges::none_of(kept, [&](const Tick& own) { return touch(own, tick); }))
      kept.push_back(tick);
  }
  for (const Tick& tick : axis.ticks) {
    if (std::ranges::none_of(kept, [&](const Tick& own) { return touch(own, tick); }))
      kept.push_back(tick);
  }
  std::ranges::sort(kept, {}, &Tick::position);
  axis.ticks = std::move(kept);
}

// Sets the ticks, and returns the number of cells from one to the next.
std::size_t set_named_ticks(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                            Figure& figure) {
  const std::size_t cells = ticks.labels.size();
  const bool standard = figure.standard();
  const bool all = ticks.ticks == Ticks::all || (!standard && ticks.ticks == Ticks::labels);
  const double cell = length / static_cast<double>(cells);
  Typesetter& typesetter = figure.typesetter();
  const double line = typesetter.text("lp", axis.tick_label_size).height;
  if (ticks.ticks == Ticks::index || (!standard && !all && cell < crowded * line)) {
    return set_index_ticks(axis, ticks, length, horizontal, figure);
  }

  // Both axes shorten a name alike.
  const double side = standard     ? std::min(figure.height(), figure.width())
                      : horizontal ? figure.height()
                                   : figure.width();
  const double longest = side * (standard ? longest_label : longest_label_in_matplotlib);
  const bool many = standard && cells >= many_names;
  const auto label = [&](std::size_t i) {
    const std::string& name = ticks.labels[i];
    return shortened(many && is_token(name) ? attn::shortened(name, longest_of_many) : name,
                     axis.tick_label_size, longest, typesetter);
  };
  std::size_t step = 1;
  if (standard) {
    // Where not all can be shown, not all are measured.
    const std::size_t stride = all ? 1 : round_step(line / cell);
    Extent largest;
    for (std::size_t i = 0; i < cells; i += stride) {
      const Text& text = typesetter.text(label(i), axis.tick_label_size);
      largest.width = std::max(largest.width, text.width);
      largest.height = std::max(largest.height, text.height);
    }
    if (horizontal) {
      step = turned_step(axis, largest, cell, all);
    } else if (!all) {
      step = round_step(largest.height * room_along / cell);
    }
  } else if (!all) {
    std::vector<const Text*> texts;
    for (std::size_t i = 0; i < cells; ++i) {
      texts.push_back(&typesetter.text(label(i), axis.tick_label_size));
    }
    constexpr double touching = 0.5;  // of a line's height
    step = step_without_overlaps(texts, cell, horizontal, touching * line);
  }
  // Some tokens without those between them say less than their numbers.
  const bool counted = standard && ticks.ticks == Ticks::automatic && step > 1;
  if (counted && std::any_of(ticks.labels.begin(), ticks.labels.end(), is_token)) {
    axis.labels_end_at_tick = false;
    axis.tick_label_degrees = 0;
    const std::size_t counted_step = set_index_ticks(axis, ticks, length, horizontal, figure);
    name_special_tokens(axis, ticks, length, horizontal, figure);
    return std::max<std::size_t>(2, counted_step);
  }
  const std::size_t start = standard && step > 1 ? round_start(ticks, step) : 0;
  for (std::size_t i = start; i < cells; i += step) {
    axis.ticks.push_back({middle_of(i, cells, horizontal), label(i)});
  }
  return step;
}

}  // namespace

std::size_t set_cell_ticks(Axis& axis, const CellTicks& ticks, double length, bool horizontal,
                           Figure& figure) {
  const std::size_t step = set_named_ticks(axis, ticks, length, horizontal, figure);
  axis.brackets = brackets_of(ticks, step > 1, length, horizontal, figure);
  return step;
}

std::string shown_part(const std::string& name) {
  constexpr std::array known = {to_translate("prompt"), to_translate("answer"),
                                to_translate("system"), to_translate("user"),
                                to_translate("assistant")};
  for (const char* const word : known) {
    if (name == word) return translated(word);
  }
  return name;
}

void set_spans(MapTicks& ticks, const Heatmap& map, const FigureOptions& options) {
  if (!options.brackets || options.style != PlotStyle::standard || map.of_positions) return;
  const auto set = [&](CellTicks& axis, const std::vector<AxisSpan>& spans,
                       const std::vector<std::string>& labels) {
    axis.spans = spans;
    // The labels of a turned map are no longer in the order of the text.
    if (!spans.empty() || options.keys_upwards) return;
    axis.spans = turns_of(labels);
    if (!axis.spans.empty()) return;
    axis.sentences = segments_of(labels);
    if (axis.sentences.empty()) axis.sentences = sentences_of(labels);
    if (axis.sentences.size() < 2) axis.sentences.clear();
  };
  set(ticks.query, map.query_spans, map.query_labels);
  set(ticks.key, map.key_spans, map.key_labels);
}

MapTicks map_ticks(const Heatmap& names, std::size_t rows, std::size_t columns,
                   const FigureOptions& options) {
  const ShownLabels labels = shown_labels(names, options);
  const auto ticks = [&](const std::vector<std::string>& given, const char* prefix,
                         std::size_t count, std::size_t first, bool upwards) -> CellTicks {
    const bool by_index =
        given.empty() && names.first_number == 0 && options.ticks == Ticks::automatic;
    return {labels_or(given, prefix, count, first, names.first_number),
            by_index ? Ticks::index : options.ticks, first, upwards};
  };
  MapTicks all{ticks(labels.query, "Q_", rows, names.first_query, options.keys_upwards),
               ticks(labels.key, "K_", columns, names.first_key, false)};
  set_spans(all, names, options);
  return all;
}

std::size_t set_cell_ticks(Axes& axes, const MapTicks& ticks, Figure& figure) {
  const double usual = axes.x.tick_label_size;
  const auto set = [&](bool horizontal, double size) {
    Axis& axis = horizontal ? axes.x : axes.y;
    axis.ticks.clear();
    axis.tick_label_degrees = 0;
    axis.tick_label_size = size;
    const double length = horizontal ? axes.box.width() : axes.box.height();
    return set_cell_ticks(axis, horizontal ? ticks.key : ticks.query, length, horizontal, figure);
  };
  // The largest size at which every name of an axis has room; the usual one if there is none.
  const auto fitting_size = [&](bool horizontal) {
    const CellTicks& names = horizontal ? ticks.key : ticks.query;
    if (!figure.standard() || names.ticks == Ticks::index || are_positions(names.labels)) {
      return usual;
    }
    for (double size = usual; size * figure.font_scale() >= figure.least_letters();
         --size) {  // NOLINT: points
      if (set(horizontal, size) == 1) return size;
    }
    return usual;
  };
  const double size = std::min(fitting_size(true), fitting_size(false));
  const std::size_t across = set(true, size), down = set(false, size);
  return std::max(across, down);
}

Heatmap with_keys_upwards(const Heatmap& map, const FigureOptions& options) {
  const Shape& shape = map.weights.shape();
  if (shape.size() != 2) return map;
  const std::size_t queries = shape[0], keys = shape[1];
  Heatmap turned = map;
  for (Tensor* tensor :
       {&turned.weights, &turned.allowed, &turned.missing, &turned.hidden_in_effect}) {
    if (!*tensor || tensor->shape() != shape) continue;
    const Tensor numbers = tensor->converted(DType::float64);
    std::vector<double> cells;
    cells.reserve(numbers.size());
    for (std::size_t key = keys; key-- > 0;) {
      for (std::size_t query = 0; query < queries; ++query)
        cells.push_back(numbers.values<double>()[query * keys + key]);
    }
    *tensor = Tensor({keys, queries}, std::move(cells));
  }
  // Marks of pieces that continue a word tell by the order of the text.
  const ShownLabels shown = shown_labels(map, options);
  turned.key_labels = labels_or(shown.query, "Q_", queries, map.first_query, map.first_number);
  turned.query_labels = labels_or(shown.key, "K_", keys, map.first_key, map.first_number);
  std::reverse(turned.query_labels.begin(), turned.query_labels.end());
  turned.key_spans = map.query_spans.empty() ? turns_of(map.query_labels) : map.query_spans;
  turned.query_spans.clear();
  for (const AxisSpan& span : map.key_spans.empty() ? turns_of(map.key_labels) : map.key_spans) {
    if (span.end <= keys)
      turned.query_spans.push_back({span.name, keys - span.end, keys - span.first});
  }
  std::swap(turned.first_query, turned.first_key);
  return turned;
}

bool are_positions(const std::vector<std::string>& names) {
  return !names.empty() && std::all_of(names.begin(), names.end(), [](const std::string& name) {
    constexpr std::size_t prefix = 2, most_digits = 18;
    return (name.starts_with("Q_") || name.starts_with("K_")) && name.size() > prefix &&
           name.size() <= prefix + most_digits &&
           name.find_first_not_of("0123456789", prefix) == std::string::npos;
  });
}

}  // namespace attn::plot
