#include <algorithm>
#include <cmath>
#include <utility>

#include "plot/axes/arrangement.hpp"
#include "plot/caption.hpp"
#include "plot/chosen_lines.hpp"
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
constexpr double room_beside = 0.07;  // of the width; that lines may do without on either side
constexpr double usual_width = 6, token_height = 0.26, margins = 1;  // inches
constexpr double least_height = 2.5, most_height = 16;               // inches

std::pair<double, double> default_size(const Matrix& matrix) {
  const double tokens = static_cast<double>(std::max(matrix.rows(), matrix.columns()));
  return {usual_width, std::clamp(margins + token_height * tokens, least_height, most_height)};
}

// Writes the tokens at one side of the frame.
void add_tokens(Arrangement& all, const CellTicks& tokens, bool right, Figure& figure) {
  const Box& frame = all.axes.box;
  Axis axis;
  set_cell_ticks(axis, tokens, frame.height(), false, figure);
  const double gap = figure.pixels(text_gap);
  const double x = right ? frame.right + gap : frame.left - gap;
  Box texts = {x, frame.top, x, frame.bottom};
  for (const Tick& tick : axis.ticks) {
    const PlacedText text =
        place(figure.typesetter().text(tick.label, axis.tick_label_size),
              {x, frame.bottom - tick.position * frame.height()},
              {right ? Horizontal::left : Horizontal::right, Vertical::centre_of_capitals});
    all.decorations.add(text);
    texts = united(texts, text.bounds);
  }
  add_brackets(all.decorations, axis.brackets, frame, right ? FrameSide::right : FrameSide::left,
               right ? texts.right : texts.left, figure.typesetter());
}

void draw_lines(Canvas& canvas, const Box& frame, const std::vector<WeightLine>& lines,
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
  for (const WeightLine& line : lines) {
    canvas.line({frame.left, height(line.query, matrices[0].rows())},
                {frame.right, height(line.key, matrices[0].columns())},
                {head_colour(line.head), opacity_of_line(line.weight, figure.paper()),
                 figure.line(width_of_line(line.weight)), dashes[line.head]});
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
  const ChosenLines chosen(matrices, options);
  const std::vector<LegendEntry> entries = chosen.key(lines, figure);
  const std::string none = chosen.reason_for_none();
  const std::string title = title_of(options.figure, lines.title, default_title);
  describe(figure, title,
           translated("Lines from {1} to {2} for {3}, thicker for larger weights.",
                      translated_count(first.rows(), "{1} query", "{1} queries"),
                      translated_count(first.columns(), "{1} key", "{1} keys"),
                      translated_count(matrices.size(), "{1} head", "{1} heads")),
           matrices, lines.heads, translated("with thicker lines for larger weights"),
           options.figure);

  const std::string queries = options.figure.ylabel.value_or(translated(default_ylabel));
  const std::string keys = options.figure.xlabel.value_or(translated(default_xlabel));
  const auto lay_out = [&](Figure& on, const Box& area, const Shown&, bool) {
    Arrangement all;
    all.axes.box = beside_legend(area, entries, on.pixels(legend_gap), area.width() / 4, on);
    const Box& frame = all.axes.box;
    all.place = frame.padded(room_beside * on.width());
    all.decorations.bounds = all.decorations.layout_bounds = frame;
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
    add_message(all, none, on);
    all.legend.emplace(entries, Point{tokens.right + on.pixels(legend_gap), frame.top}, on);
    return all;
  };
  const Arrangement all = arranged(figure, {}, lay_out);
  Picture picture = figure.picture(all.bounds(), [&](Canvas& canvas) {
    draw_lines(canvas, all.axes.box, chosen.lines, matrices, figure);
    canvas.ticks(all.decorations.bracket_lines, figure.paper().ink, figure.pixels(frame_width));
    for (const PlacedText& text : all.decorations.texts) canvas.text(text, figure.paper().ink);
    all.legend->draw(canvas, figure);
  });

  for (std::string& warning : chosen.warnings()) picture.warnings.push_back(std::move(warning));
  return picture;
}

}  // namespace attn
