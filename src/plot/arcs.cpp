#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
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
constexpr double least_width = 0.6;              // of the frame's, that a line of few tokens takes
constexpr double highest = 0.9;                  // of the frame's height, of the widest arc
constexpr double loop_height = 12;               // points; of the arc from a token to itself
constexpr double loop_width = 9;                 // points
constexpr double tip = 4.5;                      // points; of the tip at a key
constexpr double value_size = 8, value_gap = 2;  // points; of the numbers at the strongest arcs
constexpr std::size_t points_an_arc = 48;
// Of longer texts only the strongest arcs are drawn, and the tokens that they join are named.
constexpr std::size_t longest_named = 80, most_of_long = 30;
constexpr double end_size = 7, end_pitch = 8.2, leader = 9;  // points; of the names of these tokens

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

// Places in their order, moved as little as makes them `apart` from each other, within `low` and
// `high` where there is room for all.
std::vector<double> spread(const std::vector<double>& places, double apart, double low,
                           double high) {
  struct Block {
    double sum = 0;
    std::size_t count = 0;
    double mean() const { return sum / static_cast<double>(count); }
  };
  // Without their distances they only must not fall: neighbours that would are taken together.
  std::vector<Block> blocks;
  for (std::size_t i = 0; i < places.size(); ++i) {
    blocks.push_back({places[i] - static_cast<double>(i) * apart, 1});
    while (blocks.size() > 1 && blocks[blocks.size() - 2].mean() > blocks.back().mean()) {
      const Block last = blocks.back();
      blocks.pop_back();
      blocks.back().sum += last.sum;
      blocks.back().count += last.count;
    }
  }
  const double last = high - static_cast<double>(places.size() - 1) * apart;
  std::vector<double> moved;
  for (const Block& block : blocks) {
    for (std::size_t i = 0; i < block.count; ++i) {
      const double start = std::clamp(block.mean(), low, std::max(low, last));
      moved.push_back(start + static_cast<double>(moved.size()) * apart);
    }
  }
  return moved;
}

// The tokens below the arcs: their middles, and their words. They are a level line of text where
// they have room for it, and otherwise evenly spread; of long texts those are named that arcs join.
struct ArcTokens {
  std::vector<double> middles;
  Decorations words;
  struct Leader {
    Point from, to;
  };
  std::vector<Leader> leaders;  // from tokens to their names

  ArcTokens(const CellTicks& tokens, const std::set<std::size_t>& joined, const Box& frame,
            Figure& figure) {
    words.bounds = words.layout_bounds = frame;
    if (!joined.empty()) {
      name_joined(tokens, joined, frame, figure);
      return;
    }
    for (const double size : token_sizes) {
      if (tokens.ticks != Ticks::automatic || !set_level(tokens.labels, size, frame, figure))
        continue;
      add_parts(tokens.spans, frame, figure);
      return;
    }
    Axes axes;
    axes.box = frame;
    axes.y.drawn = false;
    set_cell_ticks(axes.x, tokens, frame.width(), true, figure);
    words = decorate(axes, figure.typesetter());
    place_evenly(tokens.labels.size(), frame);
  }

 private:
  void place_evenly(std::size_t count, const Box& frame) {
    const double each = frame.width() / static_cast<double>(count);
    for (std::size_t i = 0; i < count; ++i)
      middles.push_back(frame.left + (static_cast<double>(i) + 0.5) * each);
  }

  void name_joined(const CellTicks& tokens, const std::set<std::size_t>& joined, const Box& frame,
                   Figure& figure) {
    place_evenly(tokens.labels.size(), frame);
    std::vector<double> places;
    for (const std::size_t token : joined) places.push_back(middles[token]);
    const double scale = figure.font_scale();
    const std::vector<double> at =
        spread(places, figure.pixels(end_pitch) * scale, frame.left, frame.right);
    const double top = frame.bottom + figure.pixels(text_gap);
    const double bottom = top + figure.pixels(leader) * scale;
    std::size_t n = 0;
    for (const std::size_t token : joined) {
      leaders.push_back({{places[n], top}, {at[n], bottom}});
      const std::string name =
          shortened(tokens.labels[token], end_size, frame.width() / 8, figure.typesetter());
      words.add(place(figure.typesetter().text(name, end_size),
                      {at[n], bottom + figure.pixels(text_gap) / 2},
                      {Horizontal::right, Vertical::centre, 90, true}));
      ++n;
    }
    constexpr double least_sentence = 24;  // points, on average
    const auto count = static_cast<double>(tokens.sentences.size());
    const bool room = figure.points(frame.width()) >= count * least_sentence;
    add_parts(tokens.spans.empty() && room ? tokens.sentences : tokens.spans, frame, figure);
  }

  // Brackets under the words of parts of the text.
  void add_parts(const std::vector<AxisSpan>& spans, const Box& frame, Figure& figure) {
    std::vector<Bracket> brackets;
    const auto place = [&](std::size_t token) {
      const std::size_t last = middles.size() - 1;
      const double here = middles[std::min(token, last)];
      if (token == 0) return 0.0;
      if (token > last) return 1.0;
      return ((middles[token - 1] + here) / 2 - frame.left) / frame.width();
    };
    for (const AxisSpan& span : spans)
      brackets.push_back({shown_part(span.name), place(span.first), place(span.end)});
    add_brackets(words, brackets, frame, FrameSide::below, words.bounds.bottom,
                 figure.typesetter());
  }

  bool set_level(const std::vector<std::string>& tokens, double size, const Box& frame,
                 Figure& figure) {
    Typesetter& typesetter = figure.typesetter();
    double gap = figure.pixels(between_tokens) * figure.font_scale() * size / token_sizes[0];
    double letters = 0;
    for (const std::string& token : tokens) letters += typesetter.text(token, size).width;
    const auto gaps = static_cast<double>(tokens.size() - 1);
    if (letters + gaps * gap > frame.width()) return false;
    // Few tokens stand wider apart, so that their arcs are no narrow loops.
    if (gaps > 0) gap = std::max(gap, (least_width * frame.width() - letters) / gaps);
    const double total = letters + gaps * gap;
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
    const double opacity = opacity_of_line(line.weight, paper);
    std::vector<double> dashes = head_dashes(line.head);
    for (double& dash : dashes) dash = figure_.pixels(dash);
    canvas.curve(own.points, {colour, opacity, figure_.line(width_of_line(line.weight)), dashes});
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
  ChosenLines chosen(matrices, options);
  std::set<std::size_t> joined;
  if (chosen.chosen_by_itself() && matrix.columns() > longest_named &&
      options.figure.ticks == Ticks::automatic && figure.standard()) {
    chosen.keep_fewest(most_of_long, matrices);
    for (const WeightLine& line : chosen.lines) joined.insert({first + line.query, line.key});
  }
  const std::vector<LegendEntry> entries = chosen.key(lines, figure);
  const std::string none = chosen.reason_for_none();
  const std::string title = title_of(options.figure, lines.title, default_title);
  describe(figure, title,
           translated("Arcs from {1} to {2} for {3}, thicker for larger weights.",
                      translated_count(matrix.rows(), "{1} query", "{1} queries"),
                      translated_count(matrix.columns(), "{1} key", "{1} keys"),
                      translated_count(matrices.size(), "{1} head", "{1} heads")),
           matrices, lines.heads, translated("with thicker lines for larger weights"),
           options.figure);
  std::optional<ArcTokens> text;
  std::vector<PlacedText> values;
  const auto lay_out = [&](Figure& on, const Box& area, const Shown&, bool) {
    Arrangement all;
    all.axes.box = beside_legend(area, entries, on.pixels(legend_gap), area.width() / 4, on);
    const Box& frame = all.axes.box;
    all.place = {0, 0, on.width(), on.height()};
    text.emplace(tokens, joined, frame, on);
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
    const double line = figure.pixels(frame_width);
    for (const auto& [from, to] : text->leaders)
      canvas.line(from, to, {figure.paper().ink, 0.5, line});
    canvas.ticks(all.decorations.bracket_lines, figure.paper().ink, line);
    for (const PlacedText& word : all.decorations.texts) canvas.text(word, figure.paper().ink);
    all.legend->draw(canvas, figure);
  });
  for (std::string& warning : chosen.warnings()) picture.warnings.push_back(std::move(warning));
  return picture;
}

}  // namespace attn
