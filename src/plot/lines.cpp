#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "attn/error.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/colour/colour.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot::lines {
namespace {

constexpr const char* default_title = to_translate("Attention between Tokens");
constexpr const char* default_xlabel = to_translate("Keys");
constexpr const char* default_ylabel = to_translate("Queries");
constexpr double title_pad = 10;                 // points
constexpr double text_gap = 5, legend_gap = 20;  // points
constexpr double entry_width = 2;                // points; of the lines that name heads
constexpr double room_beside = 0.07;  // of the width; that lines may do without on either side
constexpr double usual_width = 6, token_height = 0.26, margins = 1;  // inches
constexpr double least_height = 2.5, most_height = 16;               // inches
// Points; of a weight of 0 and of 1, or of the largest where weights go beyond 1.
constexpr double thinnest = 0.3, thickest = 4.5;
constexpr double faint = 0.15;  // the opacity of a weight of 0
constexpr std::array<double, 3> weights_in_legend{0.1, 0.5, 1};
constexpr std::size_t long_input = 12;  // keys; longer inputs have few lines a query
constexpr std::size_t usual_top = 3;
constexpr std::size_t most_drawn = 4'000;     // more lines would only be an area
constexpr std::size_t most_kept = 1'000'000;  // until all but the strongest are dropped
constexpr double least_full = 0.2;            // a weight that is drawn as thick as 1 would be
constexpr double tied = 1e-6;                 // relative difference of weights that are equal
constexpr double faintest = 0.005;            // of the full scale; fainter ones cannot be made out

std::vector<Matrix> matrices_of(const HeadLines& lines) {
  if (lines.heads.empty()) {
    throw input_error(translated("there are no weights to draw"), "",
                      translated("give at least one head"));
  }
  std::vector<Matrix> matrices;
  for (std::size_t i = 0; i < lines.heads.size(); ++i) {
    const std::string where = translated("head {1}", i + 1);
    matrices.emplace_back(lines.heads[i], where);
    if (lines.heads[i].weights.shape() != lines.heads[0].weights.shape()) {
      throw input_error(translated("the heads' weights differ in shape"), where,
                        translated("all must have the same shape"));
    }
  }
  return matrices;
}

std::pair<double, double> default_size(const Matrix& matrix) {
  const double tokens = static_cast<double>(std::max(matrix.rows(), matrix.columns()));
  return {usual_width, std::clamp(margins + token_height * tokens, least_height, most_height)};
}

struct Line {
  std::size_t head, query, key;
  double weight;  // a share of the full scale
};

// The lines of all heads that are drawn.
class ChosenLines {
 public:
  // At most `top` for each query, none for weights below `threshold`.
  ChosenLines(const std::vector<Matrix>& matrices, std::optional<std::size_t> top,
              double threshold) {
    for (std::size_t head = 0; head < matrices.size(); ++head) {
      const Matrix& matrix = matrices[head];
      for (std::size_t i = 0; i < matrix.rows(); ++i) {
        const auto start = static_cast<std::ptrdiff_t>(lines.size());
        for (std::size_t j = 0; j < matrix.columns(); ++j) {
          const double weight = matrix.at(i, j);
          if (!matrix.hidden(i, j)) {
            not_finite += !std::isfinite(weight) ? 1 : 0;
            negative += std::isfinite(weight) && weight < 0 ? 1 : 0;
          }
          if (!(weight > 0) || !std::isfinite(weight) || weight < threshold) continue;
          largest = std::max(largest, weight);
          lines.push_back({head, i, j, weight});
        }
        if (top && lines.size() - static_cast<std::size_t>(start) > *top) {
          std::stable_sort(lines.begin() + start, lines.end(),
                           [](const Line& a, const Line& b) { return a.weight > b.weight; });
          const std::size_t end = static_cast<std::size_t>(start) + *top;
          const double next = lines[end].weight;
          lines.resize(end);
          // Equal weights all have lines or none, so that an even row is not taken for one that
          // looks at its first keys.
          const auto equal =
              std::find_if(lines.begin() + start, lines.end(),
                           [&](const Line& line) { return line.weight <= next * (1 + tied); });
          queries_with_ties += equal != lines.end() ? 1 : 0;
          lines.erase(equal, lines.end());
        }
        if (lines.size() > most_kept) keep_strongest();
      }
    }
    // The thickest line is a weight of 1, of more if there are any, or of the largest of small
    // ones.
    if (largest > 0 && (largest < least_full || largest > 1)) full = largest;
    for (Line& line : lines) line.weight /= full;
    std::erase_if(lines, [](const Line& line) { return line.weight < faintest; });
    keep_strongest();
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
      return std::tuple(a.weight, a.head, a.query, a.key) <
             std::tuple(b.weight, b.head, b.query, b.key);
    });
  }

  std::vector<Line> lines;                   // the weakest first, so that strong ones lie on top
  double full = 1;                           // the weight of the thickest line
  bool all = true;                           // whether none but faint lines had to be left out
  std::size_t negative = 0, not_finite = 0;  // weights that are no lines
  std::size_t queries_with_ties = 0;         // queries of all heads with equal weights left out

 private:
  double largest = 0;

  void keep_strongest() {
    if (lines.size() <= most_drawn) return;
    const auto end = lines.begin() + static_cast<std::ptrdiff_t>(most_drawn);
    std::nth_element(lines.begin(), end, lines.end(), [](const Line& a, const Line& b) {
      return std::tuple(b.weight, a.head, a.query, a.key) <
             std::tuple(a.weight, b.head, b.query, b.key);
    });
    lines.erase(end, lines.end());
    all = false;
  }
};

// Looks of a line by its share of the full scale; widths are in points.
double width_of(double share) {
  return thinnest + (thickest - thinnest) * share;
}
double opacity_of(double share) {
  return faint + (1 - faint) * std::sqrt(share);
}

// Entries for the heads, if there are several, and for some weights.
std::vector<LegendEntry> legend_of(const HeadLines& lines, double full, Colour ink) {
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < lines.heads.size() && lines.heads.size() > 1; ++i) {
    entries.push_back({lines.heads[i].title, head_colour(i)});
    entries.back().line_width = entry_width;
    entries.back().dashes = head_dashes(i);
  }
  for (const double share : weights_in_legend) {
    entries.push_back({translated("weight {1}", short_number(share * full)), ink});
    entries.back().line_width = width_of(share);
    entries.back().opacity = opacity_of(share);
  }
  return entries;
}

// Writes the tokens at one side of the frame.
void add_tokens(Arrangement& all, const CellTicks& tokens, bool right, Figure& figure) {
  const Box& frame = all.axes.box;
  Axis axis;
  set_cell_ticks(axis, tokens, frame.height(), false, figure);
  const double gap = figure.pixels(text_gap);
  const double x = right ? frame.right + gap : frame.left - gap;
  for (const Tick& tick : axis.ticks) {
    all.decorations.add(
        place(figure.typesetter().text(tick.label, axis.tick_label_size),
              {x, frame.bottom - tick.position * frame.height()},
              {right ? Horizontal::left : Horizontal::right, Vertical::centre_of_capitals}));
  }
}

void draw_lines(Canvas& canvas, const Box& frame, const std::vector<Line>& lines,
                const std::vector<Matrix>& matrices, const Figure& figure) {
  const auto height = [&](std::size_t token, std::size_t count) {
    return frame.top +
           (static_cast<double>(token) + 0.5) / static_cast<double>(count) * frame.height();
  };
  std::vector<std::vector<double>> dashes;
  for (std::size_t head = 0; head < matrices.size(); ++head) {
    dashes.push_back(head_dashes(head));
    for (double& dash : dashes.back()) dash = figure.pixels(dash);
  }
  for (const Line& line : lines) {
    canvas.line({frame.left, height(line.query, matrices[0].rows())},
                {frame.right, height(line.key, matrices[0].columns())},
                {head_colour(line.head), opacity_of(line.weight),
                 figure.pixels(width_of(line.weight)), dashes[line.head]});
  }
}

}  // namespace
}  // namespace plot::lines

Picture draw_lines(const HeadLines& lines, const LinesOptions& options, PictureFormat format) {
  using namespace plot;
  using namespace plot::lines;
  const std::vector<Matrix> matrices = matrices_of(lines);
  const Matrix& first = matrices[0];
  Figure figure(options.figure, format, default_size(first));
  const MapTicks ticks = map_ticks(lines.heads[0], first.rows(), first.columns(), options.figure);
  const bool few = !options.top && first.columns() > long_input;
  const std::optional<std::size_t> top = few ? std::optional(usual_top) : options.top;
  const ChosenLines chosen(matrices, top, options.threshold);
  const std::vector<LegendEntry> entries = legend_of(lines, chosen.full, figure.paper().ink);
  std::string title = title_of(options.figure, lines.title, default_title);
  if (few) {
    title += (title.empty() ? "" : "\n") +
             translated("(the {1} strongest keys of each query)", usual_top);
  }
  if (chosen.queries_with_ties > 0) {
    title += (title.empty() ? "" : "\n") +
             translated("(equal weights beyond the {1} strongest keys have no lines)", *top);
  }
  figure.describe(title, translated("Lines from {1} to {2} for {3}, thicker for larger weights.",
                                    translated_count(first.rows(), "{1} query", "{1} queries"),
                                    translated_count(first.columns(), "{1} key", "{1} keys"),
                                    translated_count(matrices.size(), "{1} head", "{1} heads")));

  const std::string queries = options.figure.ylabel.value_or(translated(default_ylabel));
  const std::string keys = options.figure.xlabel.value_or(translated(default_xlabel));
  const auto lay_out = [&](Figure& on, const Box& area, const Shown&, bool) {
    Arrangement all;
    all.axes.box = beside_legend(area, entries, on.pixels(legend_gap), area.width() / 4, on);
    const Box& frame = all.axes.box;
    all.place = frame.padded(room_beside * on.width());
    all.decorations = {{}, frame, frame};
    add_tokens(all, ticks.query, false, on);
    add_tokens(all, ticks.key, true, on);
    const Box tokens = all.decorations.bounds;
    const auto above = [&](const std::string& text, double size, Point at, Horizontal alignment) {
      if (text.empty()) return;
      all.decorations.grow(add_lines(all.decorations.texts, on.title(text, size, on.width()), size,
                                     at, {alignment, Vertical::bottom}, on.typesetter()));
    };
    const double top_of_frame = frame.top - on.pixels(text_gap);
    above(queries, label_size, {frame.left, top_of_frame}, Horizontal::right);
    above(keys, label_size, {frame.right, top_of_frame}, Horizontal::left);
    above(title, title_size, {tokens.middle(), all.decorations.bounds.top - on.pixels(title_pad)},
          Horizontal::centre);
    all.legend.emplace(entries, Point{tokens.right + on.pixels(legend_gap), frame.top}, on);
    return all;
  };
  const Arrangement all = arranged(figure, {}, lay_out);
  Picture picture = figure.picture(all.bounds(), [&](Canvas& canvas) {
    draw_lines(canvas, all.axes.box, chosen.lines, matrices, figure);
    for (const PlacedText& text : all.decorations.texts) canvas.text(text, figure.paper().ink);
    all.legend->draw(canvas, figure);
  });

  const auto warn = [&](std::size_t count, const std::string& what) {
    if (count == 0) return;
    picture.warnings.push_back(translated_count(count, "{1} weight", "{1} weights") + " " + what +
                               (count == 1 ? translated(": it cannot be drawn as a line")
                                           : translated(": they cannot be drawn as lines")));
  };
  warn(chosen.negative, translated("below zero"));
  warn(chosen.not_finite, translated("not finite"));
  if (matrices.size() > most_heads_apart) {
    picture.warnings.push_back(translated(
        "more than {1} heads have lines that look alike: draw fewer at once", most_heads_apart));
  }
  if (!chosen.all) {
    picture.warnings.push_back(
        translated("only the {1} strongest lines are drawn: choose fewer keys per query, stronger "
                   "weights, or a part of the positions",
                   most_drawn));
  }
  return picture;
}

}  // namespace attn
