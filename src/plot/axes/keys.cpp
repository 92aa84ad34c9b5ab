#include "plot/axes/keys.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string_view>
#include <utility>

#include "plot/cells/cells.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr double name_size = 10;                             // points, of the names
constexpr double square_side = 12, name_gap = 6, lead = 18;  // points
constexpr double line_length = 24;                         // points, of a line in a square's place
constexpr double stroke_width = 0.9, stroke_distance = 5;  // points
constexpr double thin_width = 0.5, thin_distance = 5;      // points
constexpr double border_width = 0.5;                       // points
constexpr double longest_name = 0.4;                       // of the figure's width
constexpr double apart_from_name = 3;                      // points; of an even weight

// Points in pixels, in proportion to the letters.
double scaled(double points, const Figure& figure) {
  return figure.pixels(points) * figure.font_scale();
}

std::string name_of(const LegendEntry& entry, Figure& figure) {
  return shortened(entry.name, name_size, longest_name * figure.width(), figure.typesetter());
}

constexpr const char* tutorial_bar_label = "Attention Weight (0=No Focus, 1=Full Focus)";
constexpr double bar_height_to_width = 20;
constexpr double arrow_height_to_width = 0.9;

// Leaves out ticks that are nearer than `least` to the one before.
void thin_out(Axis& axis, double least) {
  std::vector<Tick> kept;
  for (const Tick& tick : axis.ticks) {
    if (kept.empty() || tick.position - kept.back().position >= least) kept.push_back(tick);
  }
  axis.ticks = std::move(kept);
}

// Value of a tick label that is a plain decimal number; nothing for others.
std::optional<double> value_of(const std::string& label) {
  constexpr std::string_view minus = "\u2212";
  const bool negative = label.starts_with(minus);
  const std::string digits = negative ? label.substr(minus.size()) : label;
  double value = 0;
  const char* const end = digits.data() + digits.size();
  if (digits.find_first_not_of("0123456789.") != std::string::npos) return std::nullopt;
  if (std::from_chars(digits.data(), end, value).ptr != end) return std::nullopt;
  return negative ? -value : value;
}

// Gives all labels as many decimals as the ends of the range need to be told within 0.4 % of
// it. Labels of other forms stay.
void align_decimals(Axis& axis, Interval range) {
  constexpr double told = 0.004;
  constexpr int most_decimals = 5, most_more = 3;
  std::vector<double> values;
  int decimals = 0;
  for (const Tick& tick : axis.ticks) {
    const auto value = tick.position == 0   ? range.low
                       : tick.position == 1 ? range.high
                                            : value_of(tick.label);
    if (!value) return;
    values.push_back(*value);
    const std::size_t point = tick.label.find('.');
    if (tick.position == 0 || tick.position == 1 || point == std::string::npos) continue;
    decimals = std::max(decimals, static_cast<int>(tick.label.size() - point) - 1);
  }
  const auto tells = [&](double end, int digits) {
    const double unit = std::pow(10, digits);
    return std::abs(std::round(end * unit) / unit - end) <= told * (range.high - range.low);
  };
  const int most = std::min(most_decimals, decimals + most_more);
  while (decimals < most && !(tells(range.low, decimals) && tells(range.high, decimals))) {
    ++decimals;
  }
  if (!(tells(range.low, decimals) && tells(range.high, decimals))) return;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string text = value_text(values[i], {ValueFormat::Kind::fixed, decimals});
    axis.ticks[i].label = with_minus_signs(text);
  }
}

// A tick at either end, in the place of ticks too near to it.
void label_ends(Axis& axis, Interval range, double least) {
  if (!axis.offset.empty()) return;
  constexpr double same = 1e-6;
  for (const auto& [position, value] : {std::pair{0.0, range.low}, std::pair{1.0, range.high}}) {
    const auto near = [&, at = position](const Tick& tick) {
      return std::abs(tick.position - at) < least;
    };
    const auto there = [&, at = position](const Tick& tick) {
      return std::abs(tick.position - at) < same;
    };
    if (std::any_of(axis.ticks.begin(), axis.ticks.end(), there)) continue;
    std::erase_if(axis.ticks, near);
    axis.ticks.push_back({position, short_number(value)});
  }
  std::sort(axis.ticks.begin(), axis.ticks.end(),
            [](const Tick& a, const Tick& b) { return a.position < b.position; });
  align_decimals(axis, range);
}

void draw_ramp(Canvas& canvas, const Box& box, const ColourScale& scale,
               const std::vector<Colour>& shown) {
  const auto map = [&](std::size_t i) { return shown.empty() ? scale.map[i] : shown[i]; };
  const double arrow = arrow_height_to_width * box.width();
  if (scale.beyond_low) {
    canvas.triangle({box.left, box.bottom}, {box.right, box.bottom},
                    {box.middle(), box.bottom + arrow}, map(0));
  }
  if (scale.beyond_high) {
    canvas.triangle({box.left, box.top}, {box.right, box.top}, {box.middle(), box.top - arrow},
                    map(ColourMap::size() - 1));
  }
  if (!canvas.is_raster()) {
    Pixels pixels;
    for (std::size_t i = ColourMap::size(); i-- > 0;) pixels.push_back(packed(map(i)));
    canvas.image(std::move(pixels), 1, ColourMap::size(), box);
    return;
  }
  const double step = box.height() / static_cast<double>(ColourMap::size());
  // Both edges of a colour are the same whole pixels as its neighbours', so that no seams show.
  const auto edge = [&](std::size_t i) { return box.bottom - static_cast<double>(i) * step; };
  for (std::size_t i = 0; i < ColourMap::size(); ++i) {
    const double top = i + 1 == ColourMap::size() ? box.top : edge(i + 1);
    canvas.fill({box.left, top, box.right, edge(i)}, map(i));
  }
}

// The most cells under one pixel or rectangle, along both axes.
struct CellsShown {
  std::size_t down, across;
};

CellsShown cells_shown(const Matrix& matrix, const Box& box, const CellColours& colours,
                       const Figure& figure) {
  const auto cells = [&](std::size_t count, double pixels) {
    const double shown = figure.is_raster() ? std::max(1.0, std::floor(pixels))
                                            : static_cast<double>(colours.in_file.most_across);
    return static_cast<std::size_t>(std::ceil(static_cast<double>(count) / shown));
  };
  return {cells(matrix.rows(), box.height()), cells(matrix.columns(), box.width())};
}

}  // namespace

Legend::Legend(const std::vector<LegendEntry>& entries, Point corner, Figure& figure) {
  const double square = scaled(square_side, figure);
  bounds_ = {corner.x, corner.y, corner.x, corner.y};
  for (const LegendEntry& entry : entries) {
    Row row;
    const double width = entry.bare             ? 0
                         : entry.line_width > 0 ? scaled(line_length, figure)
                                                : square;
    const double gap = entry.bare ? 0 : scaled(name_gap, figure);
    row.square = {corner.x, corner.y, corner.x + width, corner.y + square};
    row.name = place(figure.typesetter().text(name_of(entry, figure), name_size),
                     {row.square.right + gap, row.square.centre()},
                     {Horizontal::left, Vertical::centre_of_capitals});
    row.entry = entry;
    bounds_ = united(bounds_, united(row.square, row.name.bounds));
    rows_.push_back(row);
    corner.y += scaled(lead, figure);
  }
}

double Legend::width(const std::vector<LegendEntry>& entries, Figure& figure) {
  return Legend(entries, {0, 0}, figure).bounds().width();
}

double Legend::height(std::size_t entries, const Figure& figure) {
  return static_cast<double>(entries) * scaled(lead, figure);
}

void Legend::draw(Canvas& canvas, const Figure& figure) const {
  for (const Row& row : rows_) {
    const LegendEntry& entry = row.entry;
    if (entry.bare) {
      // Words alone.
    } else if (entry.line_width > 0) {
      std::vector<double> dashes;
      for (const double dash : entry.dashes) dashes.push_back(figure.pixels(dash));
      canvas.line({row.square.left, row.square.centre()}, {row.square.right, row.square.centre()},
                  {entry.colour, entry.opacity, figure.line(entry.line_width), dashes});
    } else {
      canvas.fill(row.square, entry.colour);
      if (entry.thin) {
        for (const Canvas::Hatch hatch : entry.hatches) {
          canvas.hatch({row.square}, entry.strokes, figure.pixels(thin_width),
                       figure.pixels(thin_distance), hatch);
        }
      } else {
        draw_hatches(canvas, {row.square}, entry.hatches, entry.strokes, figure);
      }
      canvas.stroke(row.square, figure.paper().swatch_frame, figure.pixels(border_width));
    }
    canvas.text(row.name, figure.paper().ink);
  }
}

void draw_hatches(Canvas& canvas, const std::vector<Box>& boxes,
                  const std::vector<Canvas::Hatch>& hatches, Colour colour, const Figure& figure) {
  for (const Canvas::Hatch hatch : hatches) {
    canvas.hatch(boxes, colour, figure.pixels(stroke_width), figure.pixels(stroke_distance), hatch);
  }
}

void set_bar_ticks(Axes& bar, Interval range, Figure& figure, const ColorNorm& norm) {
  const double line = figure.pixels(bar.y.tick_label_size * figure.font_scale()) / bar.box.height();
  if (norm.kind == ColorNorm::Kind::log) {
    set_log_ticks(bar.y, range, bar.box.height(), false, figure);
    return;
  }
  set_value_ticks(bar.y, range, bar.box.height(), false, figure);
  if (norm.kind == ColorNorm::Kind::power) {
    // Rounding may have put the first tick a little below the bar's end.
    for (Tick& tick : bar.y.ticks) {
      tick.position = std::pow(std::max(0.0, tick.position), norm.gamma);
    }
    thin_out(bar.y, line);
  }
  constexpr double apart = 2;  // lines
  if (figure.standard()) label_ends(bar.y, range, apart * line);
}

bool are_percent(const AnnotationOptions& options) {
  return options.when != Annotate::off && options.format && options.format->ends_with('%');
}

Box bar_within(const Box& place) {
  return with_aspect(place, bar_height_to_width, 0);
}

ColourBar::ColourBar(const Box& box, const std::string& label, const ColourScale& scale,
                     PlotStyle style, Figure& figure)
    : scale_(&scale) {
  figure.note_colours(scale.range);
  axes.box = box;
  axes.style = style;
  axes.x.drawn = false;
  axes.y_on_right = true;
  axes.y.label = label;
  const bool percent = scale.percent && scale.norm.kind != ColorNorm::Kind::log;
  const double unit = percent ? 100 : 1;  // NOLINT: hundredths
  set_bar_ticks(axes, {unit * scale.range.low, unit * scale.range.high}, figure, scale.norm);
  for (Tick& tick : axes.y.ticks) tick.label += percent ? "%" : "";
  if (figure.standard() && scale.keys_of_rows > 1) add_even_weight(figure);
  decorations = decorate(axes, figure.typesetter());
  if (scale.keys_of_frames > 0) keep_column(figure);
  if (even_) name_even_weight(figure);
}

// A line at one over the number of keys, whose number takes the place of ticks too near to it but
// for those of the ends.
void ColourBar::add_even_weight(const Figure& figure) {
  constexpr double least = 0.005;  // of the bar, from either end
  constexpr double apart = 1.4;    // lines
  const std::size_t keys = scale_->keys_of_rows;
  const double place = position_of(1.0 / static_cast<double>(keys), scale_->range, scale_->norm);
  if (!(place >= least && place <= 1 - least)) return;
  even_ = place;
  const double line =
      figure.pixels(axes.y.tick_label_size * figure.font_scale()) / axes.box.height();
  even_named_ = scale_->keys_of_frames == 0 && std::min(place, 1 - place) >= apart * line;
  if (!even_named_) return;
  // The name below the number needs some room, too, or that above it.
  constexpr double apart_with_name = 2.2;  // lines
  const bool name_below = place >= apart_with_name * line;
  std::erase_if(axes.y.ticks, [&](const Tick& tick) {
    const bool end = tick.position < least || tick.position > 1 - least;
    const bool of_name = (tick.position < place) == name_below;
    return !end && std::abs(tick.position - place) < (of_name ? apart_with_name : apart) * line;
  });
  axes.y.ticks.push_back({place, "1/" + std::to_string(keys)});
}

// The name of an even weight, with its number where that has no tick, in small letters.
const Text& ColourBar::even_name(std::size_t keys, Figure& figure) const {
  constexpr double usual_size = 7, least_size = 5;  // points
  const double size =
      std::clamp(least_size / figure.font_scale(), usual_size, axes.y.tick_label_size);
  std::string name = translated("uniform");
  if (!even_named_) name = "1/" + std::to_string(keys) + " " + name;
  return figure.typesetter().text(name, size);
}

// Where a name is right of all ticks.
double ColourBar::right_of_ticks(const Figure& figure) const {
  double right = axes.box.right;
  for (const PlacedText& tick : decorations.texts) {
    if (tick.degrees == 0) right = std::max(right, tick.bounds.right);
  }
  return right + figure.pixels(apart_from_name) * figure.font_scale();
}

// Keeps the room of the longest name of a line free between the ticks and the label.
void ColourBar::keep_column(Figure& figure) {
  const double left = right_of_ticks(figure);
  const double width = even_name(scale_->keys_of_frames, figure).width;
  const Box column = {left, axes.box.top, left + width, axes.box.bottom};
  Box with_room = column;
  with_room.right += figure.pixels(apart_from_name) * figure.font_scale();
  move_label_from(with_room);
  decorations.grow(column);
}

// Small letters that name the line, where they have room: below its number or above it, and with
// the number where that has no tick.
void ColourBar::name_even_weight(Figure& figure) {
  constexpr double away = 3.5, gap = 2;  // points; from the bar, and between texts
  const Text& text = even_name(scale_->keys_of_rows, figure);
  const double x = axes.box.right + figure.pixels(away) * (1 + figure.font_scale());
  const double y = axes.box.bottom - *even_ * axes.box.height();
  if (scale_->keys_of_frames > 0) {
    decorations.add(place(text, {right_of_ticks(figure), y}, {Horizontal::left, Vertical::centre}));
    return;
  }
  const double line = figure.pixels(axes.y.tick_label_size * figure.font_scale());
  const double near = line / 2 + figure.pixels(gap);
  // With the room that a text beside it leaves it, which is wide where letters are large.
  const auto with_room = [&](Box box) {
    box.right += figure.pixels(apart_from_name) * figure.font_scale();
    return box;
  };
  const auto free = [&](const Box& box, bool beside_label) {
    return box.top >= axes.box.top && box.bottom <= axes.box.bottom + line &&
           std::ranges::none_of(decorations.texts, [&](const PlacedText& other) {
             return (beside_label || other.degrees == 0) && overlap(other.bounds, box);
           });
  };
  // The label gives way only where nothing else helps.
  const auto add_where_free = [&](double left, double down, bool beside_label) {
    const Vertical side = down == 0  ? Vertical::centre
                          : down > 0 ? Vertical::top
                                     : Vertical::bottom;
    const PlacedText placed = place(text, {left, y + down}, {Horizontal::left, side});
    const Box box = with_room(placed.bounds);
    if (!free(box, beside_label)) return false;
    move_label_from(box);
    decorations.add(placed);
    return true;
  };
  if (even_named_) {
    for (const bool beside_label : {true, false}) {
      for (const double down : {near, -near, -1.5 * near, 1.5 * near}) {
        if (add_where_free(x, down, beside_label)) return;
      }
    }
    return;
  }
  // A name that has the number too stands at the line, right of ticks that are as near.
  double right = x;
  for (const PlacedText& tick : decorations.texts) {
    if (tick.degrees == 0 && std::abs(tick.bounds.centre() - y) < line)
      right =
          std::max(right, tick.bounds.right + figure.pixels(apart_from_name) * figure.font_scale());
  }
  for (const double left : {x, right}) {
    if (add_where_free(left, 0, false)) return;
  }
}

// Moves the label away from the bar where it would touch a text beside that.
void ColourBar::move_label_from(const Box& text) {
  double aside = 0;
  for (const PlacedText& line : decorations.texts) {
    if (line.degrees != 0 && overlap(line.bounds, text))
      aside = std::max(aside, text.right - line.bounds.left);
  }
  if (aside == 0) return;
  for (PlacedText& line : decorations.texts) {
    if (line.degrees == 0) continue;
    line.origin.x += aside;
    line.bounds = line.bounds.moved(aside, 0);
    decorations.grow(line.bounds);
  }
}

Box ColourBar::bounds(Box Decorations::*of) const {
  Box all = united(decorations.*of, axes.box);
  const double arrow = arrow_height_to_width * axes.box.width();
  if (scale_->beyond_high) all.top = std::min(all.top, axes.box.top - arrow);
  if (scale_->beyond_low) all.bottom = std::max(all.bottom, axes.box.bottom + arrow);
  return all;
}

void ColourBar::draw(Canvas& canvas, const Figure& figure) const {
  draw_ramp(canvas, axes.box, *scale_, colours);
  if (even_) {
    const Box& box = axes.box;
    const double y = box.bottom - *even_ * box.height();
    canvas.line({box.left, y}, {box.right, y},
                {readable_on(scale_->map.at(*even_)), 1, figure.pixels(frame_width), {}});
  }
  draw_axes(canvas, axes, decorations, figure);
}

std::string usual_bar_label(const ColourScale& scale, bool any_numbers, const Figure& figure) {
  if (!figure.standard()) return tutorial_bar_label;
  if (any_numbers || scale.range.low < 0) return translated("Value");
  const bool whole = scale.range.low == 0 && scale.range.high == 1 && !figure.narrow();
  return whole ? translated("Attention weight (0=No Focus, 1=Full Focus)")
               : translated("Attention weight");
}

std::string fitted_bar_label(const std::string& label, bool usual, double length, Figure& figure) {
  if (!figure.standard()) return label;
  const auto fitted = [&](const std::string& text) {
    return figure.label(text, Axis().label_size, length);
  };
  const std::string whole = fitted(label);
  // Beside a bar that is shorter than one of the words they would be taken for another axis' name.
  constexpr double most_beyond = 1.25;
  if (usual && label.find('\n') == std::string::npos) {
    for (const std::string& line : lines_of(whole)) {
      if (figure.typesetter().text(line, Axis().label_size).width > most_beyond * length) return "";
    }
  }
  const std::string weights = translated("Attention weight");
  const std::size_t end = label.find('\n');
  const std::string first = label.substr(0, end);
  if (!usual || first == weights || !first.starts_with(weights)) return whole;
  if (whole.starts_with(first)) return whole;
  return fitted(weights + (end == std::string::npos ? "" : label.substr(end)));
}

std::vector<LegendEntry> colour_key(std::span<const Matrix> matrices, const CellColours& colours,
                                    const CellChoice& cells) {
  std::vector<LegendEntry> entries;
  if (colours.style == PlotStyle::matplotlib) return entries;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const SpecialCells special = special_cells(matrices);
  const auto add = [&](bool there, const std::string& name, double value) {
    if (there) entries.push_back({name, colours.of_no_place(value)});
  };
  const auto add_hidden = [&](const std::string& name, Canvas::Hatch hatch) {
    entries.push_back({name, colours.paper.hidden, {hatch}, colours.paper.hidden_hatch, true});
  };
  if (special.by_mask) add_hidden(translated("hidden"), Canvas::Hatch::rising);
  if (special.in_effect)
    add_hidden(translated("hidden in effect by the bias"), Canvas::Hatch::falling);
  if (special.missing)
    entries.push_back({translated("does not exist"),
                       colours.paper.missing,
                       {Canvas::Hatch::dotted},
                       colours.paper.missing_dots,
                       true});
  if (special.left_out) {
    const std::string few = !cells.top        ? std::string()
                            : *cells.top == 1 ? translated("not the largest")
                                              : translated("not among the {1} largest", *cells.top);
    const std::string small =
        cells.threshold > 0 ? translated("below {1}", short_number(cells.threshold)) : "";
    entries.push_back({few.empty()     ? small
                       : small.empty() ? few
                                       : few + translated(", ") + small,
                       colours.paper.ground});
  }
  add(special.not_a_number, "NaN", std::numeric_limits<double>::quiet_NaN());
  add(special.minus_infinity, "\u2212\u221e", -infinity);
  add(special.infinity, "\u221e", infinity);
  add(special.not_positive && colours.norm.kind == ColorNorm::Kind::log, translated("0 or less"),
      0);
  return entries;
}

std::vector<LegendEntry> as_drawn(std::vector<LegendEntry> key, const Box& box,
                                  const Matrix& matrix, const Figure& figure) {
  if (are_hatched(box, matrix, figure.pixels(1))) return key;
  for (LegendEntry& entry : key) entry.hatches.clear();
  // Without hatches both kinds of hidden cells look alike.
  if (key.size() > 1 && key[0].colour == key[1].colour) {
    key[0].name += translated(", ") + key[1].name;
    key.erase(key.begin() + 1);
  }
  return key;
}

std::string norm_note(const ColorNorm& norm, bool chosen) {
  if (!chosen) return "";
  return norm.gamma == 0.5 ? translated("colours by the square root")
                           : translated("colours by the cube root");
}

std::string colour_note(const Matrix& matrix, const Box& box, const CellColours& colours,
                        const Figure& figure) {
  if (!figure.standard()) return "";
  std::string note = norm_note(colours.norm, colours.norm_chosen);
  const CellsShown shown = cells_shown(matrix, box, colours, figure);
  if (shown.down <= 1 && shown.across <= 1) return note;
  if (!note.empty()) note = translated(", ") + note;
  if (colours.pixels == PixelShows::max) {
    return translated("largest of up to {1} × {2} cells per pixel", shown.down, shown.across) +
           note;
  }
  const std::string mean =
      translated("mean of up to {1} × {2} cells per pixel", shown.down, shown.across);
  const auto values = value_range({&matrix, 1}, true, false, colours.threads);
  return (values ? translated("{1}, largest {2}", mean, short_number(values->high)) : mean) + note;
}

std::optional<Interval> range_of_means(const Matrix& matrix, const Box& box,
                                       const CellColours& colours, ColorRange::Scope scope,
                                       const Figure& figure) {
  const CellsShown shown = cells_shown(matrix, box, colours, figure);
  if (!figure.standard() || (shown.down <= 1 && shown.across <= 1) ||
      scope == ColorRange::Scope::given || colours.pixels != PixelShows::mean ||
      colours.norm.kind == ColorNorm::Kind::log) {
    return std::nullopt;
  }
  const auto places = [&](double length) {
    return figure.is_raster() ? static_cast<std::size_t>(std::max(1.0, length))
                              : colours.in_file.most_across;
  };
  return shown_range(matrix, colours, places(box.width()), places(box.height()));
}

std::string described_cells(const Matrix& matrix, bool of_positions) {
  if (of_positions) {
    return translated_count(matrix.rows(), "{1} position", "{1} positions") + " × " +
           translated_count(matrix.columns(), "{1} dimension", "{1} dimensions");
  }
  return translated_count(matrix.rows(), "{1} query", "{1} queries") + " × " +
         translated_count(matrix.columns(), "{1} key", "{1} keys");
}

std::string described_colours(std::span<const Matrix> matrices, const ColourScale& scale,
                              const std::vector<LegendEntry>& key) {
  std::string text;
  if (const auto values = value_range(matrices, true)) {
    text = translated("Values from {1} to {2}, coloured from {3} to {4}.",
                      short_number(values->low), short_number(values->high),
                      short_number(scale.range.low), short_number(scale.range.high));
  } else {
    text = translated("No finite values.");
  }
  for (const LegendEntry& entry : key) {
    text += (&entry == &key.front() ? translated(" Marked separately: ") : translated(", ")) +
            entry.name;
  }
  return key.empty() ? text : text + translated(".");
}

}  // namespace attn::plot
