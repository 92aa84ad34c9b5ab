#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/callouts.hpp"
#include "plot/caption.hpp"
#include "plot/chosen_lines.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::arcs {
namespace {

constexpr const char* default_title = to_translate("Attention between Tokens");
constexpr double usual_width = 8, usual_height = 3;              // inches
constexpr double title_pad = 8, text_gap = 4, legend_gap = 16;   // points
constexpr std::array token_sizes = {12.0, 10.5, 9.0, 8.0, 7.0};  // points, of a level line of text
constexpr double between_tokens = 6;                             // points
constexpr double highest = 0.9;                  // of the frame's height, of the widest arc
constexpr double loop_height = 12;               // points; of the arc from a token to itself
constexpr double loop_width = 9;                 // points
constexpr double tip = 4.5;                      // points; of the tip at a key
constexpr double value_size = 8, value_gap = 2;  // points; of the numbers at the strongest arcs
constexpr std::size_t points_an_arc = 48;
constexpr double points_an_inch = 72;
constexpr double least_apart = 4;  // points between tokens whose arcs can be told apart

// The key that is the first query. Throws Error(input) where queries are not among the keys.
std::size_t place_of_queries(const Heatmap& head, const Matrix& matrix) {
  const std::size_t first = head.first_query - head.first_key;
  bool among = head.first_query >= head.first_key && first + matrix.rows() <= matrix.columns();
  if (among && !head.query_labels.empty() && !head.key_labels.empty()) {
    among = std::equal(head.query_labels.begin(), head.query_labels.end(),
                       head.key_labels.begin() + static_cast<std::ptrdiff_t>(first));
  }
  if (among) return first;
  throw input_error(translated("the queries are not tokens of the keys' text"), "",
                    translated("arcs are drawn above one text: draw lines"));
}

// The tokens below the arcs: their middles, and their words. They are a level line of text where
// they have room for it, and otherwise evenly spread.
struct ArcTokens {
  std::vector<double> middles;
  Decorations words;

  ArcTokens(const CellTicks& tokens, const Box& frame, Figure& figure) {
    words.bounds = words.layout_bounds = frame;
    for (const double size : token_sizes) {
      if (tokens.ticks == Ticks::automatic && set_level(tokens.labels, size, frame, figure)) return;
    }
    Axes axes;
    axes.box = frame;
    axes.y.drawn = false;
    set_cell_ticks(axes.x, tokens, frame.width(), true, figure);
    words = decorate(axes, figure.typesetter());
    const auto count = static_cast<double>(tokens.labels.size());
    for (std::size_t i = 0; i < tokens.labels.size(); ++i)
      middles.push_back(frame.left + (static_cast<double>(i) + 0.5) / count * frame.width());
  }

 private:
  bool set_level(const std::vector<std::string>& tokens, double size, const Box& frame,
                 Figure& figure) {
    Typesetter& typesetter = figure.typesetter();
    const double gap = figure.pixels(between_tokens) * figure.font_scale() * size / token_sizes[0];
    double total = -gap;
    for (const std::string& token : tokens) total += typesetter.text(token, size).width + gap;
    if (total > frame.width()) return false;
    double left = frame.middle() - total / 2;
    for (const std::string& token : tokens) {
      const Text& text = typesetter.text(token, size);
      words.add(place(text, {left, frame.bottom + figure.pixels(text_gap) + text.height},
                      {Horizontal::left, Vertical::baseline}));
      middles.push_back(left + text.width / 2);
      left += text.width + gap;
    }
    return true;
  }
};

// The arc of one line, from its query to its key.
struct Arc {
  std::vector<Point> points;
  Point top;
};

class Arcs {
 public:
  Arcs(const ChosenLines& chosen, const std::vector<double>& middles, std::size_t first,
       const Box& frame, const Figure& figure)
      : middles_(middles), first_(first), frame_(frame), figure_(figure) {
    for (const WeightLine& line : chosen.lines) widest_ = std::max(widest_, std::abs(span(line)));
  }

  Arc arc(const WeightLine& line) const {
    const double across = span(line), from = middles_[first_ + line.query];
    Arc arc;
    const bool loop = across == 0;
    const double half = loop ? figure_.pixels(loop_width) / 2 : across / 2;
    const double height = loop ? figure_.pixels(loop_height)
                               : highest * frame_.height() * std::sqrt(std::abs(across) / widest_);
    for (std::size_t i = 0; i <= points_an_arc; ++i) {
      const double turn = std::numbers::pi * static_cast<double>(i) / points_an_arc;
      // A loop leaves its token on the right and comes back to it.
      const double x = loop ? half * std::sin(2 * turn) : half * (1 - std::cos(turn));
      const double up = loop ? height * (1 - std::cos(2 * turn)) / 2 : height * std::sin(turn);
      arc.points.push_back({from + x, frame_.bottom - up});
    }
    arc.top = arc.points[points_an_arc / 2];
    return arc;
  }

  void draw(Canvas& canvas, const WeightLine& line) const {
    const Paper& paper = figure_.paper();
    const Arc own = arc(line);
    const Colour colour = head_colour(line.head);
    const double opacity = opacity_of_line(line.weight);
    std::vector<double> dashes = head_dashes(line.head);
    for (double& dash : dashes) dash = figure_.pixels(dash);
    canvas.curve(own.points, {colour, opacity, figure_.pixels(width_of_line(line.weight)), dashes});
    if (span(line) == 0) return;
    const auto mixed = [&](std::uint8_t over, std::uint8_t under) {
      return static_cast<std::uint8_t>(std::lround(opacity * over + (1 - opacity) * under));
    };
    const Point end = own.points.back();
    const double half = figure_.pixels(tip * (0.5 + line.weight)) / 2;
    canvas.triangle({end.x - half, end.y - 2 * half}, {end.x + half, end.y - 2 * half}, end,
                    {mixed(colour.red, paper.ground.red), mixed(colour.green, paper.ground.green),
                     mixed(colour.blue, paper.ground.blue)});
  }

 private:
  double span(const WeightLine& line) const {
    return middles_[line.key] - middles_[first_ + line.query];
  }

  const std::vector<double>& middles_;
  std::size_t first_;
  const Box& frame_;
  const Figure& figure_;
  double widest_ = 1;
};

// The weights of the strongest lines, above their arcs, where others are not nearly as strong.
std::vector<PlacedText> strongest_values(const ChosenLines& chosen, const Arcs& arcs,
                                         Figure& figure) {
  std::vector<double> weights;
  for (auto line = chosen.lines.rbegin(); line != chosen.lines.rend(); ++line) {
    weights.push_back(line->weight * chosen.full);
    if (weights.size() > most_named_values) break;
  }
  std::vector<PlacedText> texts;
  const std::size_t count = count_of_strongest(weights);
  for (std::size_t n = 0; n < count; ++n) {
    const Point top = arcs.arc(chosen.lines[chosen.lines.size() - 1 - n]).top;
    const Text& text = figure.typesetter().text(
        value_text(weights[n], {ValueFormat::Kind::significant, 2}), value_size);
    const PlacedText placed = place(text, {top.x, top.y - figure.pixels(value_gap + 2)},
                                    {Horizontal::centre, Vertical::bottom});
    const bool taken = std::any_of(texts.begin(), texts.end(), [&](const PlacedText& other) {
      return overlap(other.bounds, placed.bounds);
    });
    if (!taken) texts.push_back(placed);
  }
  return texts;
}

}  // namespace
}  // namespace plot::arcs

Picture draw_arcs(const HeadLines& lines, const LinesOptions& options, PictureFormat format) {
  using namespace plot;
  using namespace plot::arcs;
  const std::vector<Matrix> matrices = matrices_of(lines);
  const Matrix& matrix = matrices[0];
  const std::size_t first = place_of_queries(lines.heads[0], matrix);
  Figure figure(options.figure, format, {usual_width, usual_height});
  const CellTicks tokens =
      map_ticks(lines.heads[0], matrix.rows(), matrix.columns(), options.figure).key;
  const ChosenLines chosen(matrices, options);
  const std::vector<LegendEntry> entries = chosen.key(lines, figure.paper().ink);
  const std::string none = chosen.reason_for_none();
  const std::string title = title_of(options.figure, lines.title, default_title);
  figure.describe(title, translated("Arcs from {1} to {2} for {3}, thicker for larger weights.",
                                    translated_count(matrix.rows(), "{1} query", "{1} queries"),
                                    translated_count(matrix.columns(), "{1} key", "{1} keys"),
                                    translated_count(matrices.size(), "{1} head", "{1} heads")));
  if (options.figure.caption) {
    const auto [caption, alternative] = caption_of(matrices, lines.heads, options.figure);
    figure.describe(title, alternative);
    figure.add_caption(caption);
  }
  std::optional<ArcTokens> text;
  std::vector<PlacedText> values;
  const auto lay_out = [&](Figure& on, const Box& area, const Shown&, bool) {
    Arrangement all;
    all.axes.box = beside_legend(area, entries, on.pixels(legend_gap), area.width() / 4, on);
    const Box& frame = all.axes.box;
    all.place = {0, 0, on.width(), on.height()};
    text.emplace(tokens, frame, on);
    all.decorations = text->words;
    values = strongest_values(chosen, Arcs(chosen, text->middles, first, frame, on), on);
    for (const PlacedText& value : values) all.decorations.grow(value.bounds);
    add_message(all, none, on);
    if (!title.empty()) {
      all.decorations.grow(
          add_lines(all.decorations.texts, on.title(title, title_size, on.width()), title_size,
                    {frame.middle(), all.decorations.bounds.top - on.pixels(title_pad)},
                    {Horizontal::centre, Vertical::bottom}, on.typesetter()));
    }
    all.legend.emplace(entries, Point{frame.right + on.pixels(legend_gap), frame.top}, on);
    return all;
  };
  const Arrangement all = arranged(figure, {}, lay_out);
  Picture picture = figure.picture(all.bounds(), [&](Canvas& canvas) {
    const Arcs arcs(chosen, text->middles, first, all.axes.box, figure);
    for (const WeightLine& line : chosen.lines) arcs.draw(canvas, line);
    for (const PlacedText& value : values) {
      canvas.fill(value.bounds.padded(figure.pixels(value_gap) / 2), figure.paper().ground);
      canvas.text(value, figure.paper().ink);
    }
    for (const PlacedText& word : all.decorations.texts) canvas.text(word, figure.paper().ink);
    all.legend->draw(canvas, figure);
  });
  for (std::string& warning : chosen.warnings()) picture.warnings.push_back(std::move(warning));
  const double across = all.axes.box.width(), needed = figure.pixels(least_apart);
  if (across < needed * static_cast<double>(matrix.columns())) {
    const double width = figure.width() / figure.pixels(points_an_inch) * needed *
                         static_cast<double>(matrix.columns()) / across;
    picture.warnings.push_back(translated(
        "{1} tokens are too many for arcs of this width: give a FigureOptions::figsize {2} inches "
        "wide, or draw a heatmap of a part of the queries and keys",
        matrix.columns(), static_cast<std::size_t>(std::ceil(width))));
  }
  return picture;
}

}  // namespace attn
