#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "attn/error.hpp"

#include "plot/axes/cell_ticks.hpp"
#include "plot/axes/legend.hpp"
#include "plot/colour/head_colours.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/value_format.hpp"
#include "support/translated.hpp"

namespace attn {
namespace plot {
namespace {

constexpr const char* default_title = to_translate("Attention between Tokens");
constexpr const char* default_xlabel = to_translate("Keys");
constexpr const char* default_ylabel = to_translate("Queries");
constexpr double title_pad = 10;                 // points
constexpr double text_gap = 5, legend_gap = 20;  // points
constexpr double entry_width = 2;                // points; of the lines that name heads
constexpr double room_beside = 0.07;  // of the width; that lines may do without on either side
constexpr double width = 6, token_height = 0.26, margins = 1;  // inches
constexpr double least_height = 2.5, most_height = 16;         // inches
// Points; of a weight of 0 and of 1, or of the largest where weights go beyond 1.
constexpr double thinnest = 0.3, thickest = 4.5;
constexpr double faint = 0.15;  // the opacity of a weight of 0
constexpr std::array<double, 3> weights_in_legend{0.1, 0.5, 1};
constexpr std::size_t long_input = 12;  // keys; of more only so many are drawn a query
constexpr std::size_t usual_top = 3;
constexpr std::size_t most_drawn = 4'000;     // more lines would only be an area
constexpr std::size_t most_kept = 1'000'000;  // until the strongest are told
constexpr double faintest = 0.005;            // of the full scale; fainter ones cannot be made out
struct Line {
  std::size_t head, query, key;
  double weight;
};

class LinesFigure {
 public:
  LinesFigure(const HeadLines& lines, const LinesOptions& options, PictureFormat format)
      : options_(options),
        title_(options.figure.title.value_or(lines.title.empty() ? translated(default_title)
                                                                 : lines.title)),
        matrices_(matrices_of(lines)),
        figure_(options.figure, format, default_size(matrices_[0])),
        labels_(shown_labels(first(lines), options.figure)),
        query_{labels_or(labels_.query, "Q_", matrices_[0].rows(), first(lines).first_query),
               options.figure.ticks, options.figure.style, first(lines).first_query},
        key_{labels_or(labels_.key, "K_", matrices_[0].columns(), first(lines).first_key),
             options.figure.ticks, options.figure.style, first(lines).first_key},
        top_(options.top) {
    for (std::size_t i = 0; i < lines.heads.size(); ++i) {
      LegendEntry entry{lines.heads[i].title, head_colour(i)};
      entry.line_width = entry_width;
      entry.dashes = head_dashes(i);
      entries_.push_back(std::move(entry));
    }
    if (entries_.size() == 1) entries_.clear();
    if (!options.top && matrices_[0].columns() > long_input) top_ = usual_top;
    lines_ = chosen();
    for (const double share : weights_in_legend) {
      LegendEntry entry{"weight " + short_number(share * full_), figure_.paper().ink};
      entry.line_width = width_of(share);
      entry.opacity = opacity_of(share);
      entries_.push_back(std::move(entry));
    }
    if (top_ && !options.top) {
      title_ += (title_.empty() ? "" : "\n") +
                (translated("(the {1} strongest keys of each query)", *top_));
    }
    figure_.describe(title_,
                     translated("Lines from {1} to {2} for {3}, thicker for larger weights.",
                                translated_count(matrices_[0].rows(), "{1} query", "{1} queries"),
                                translated_count(matrices_[0].columns(), "{1} key", "{1} keys"),
                                translated_count(matrices_.size(), "{1} head", "{1} heads")));
  }

  Picture draw() {
    std::optional<Layout> set;
    const auto lay_out = [&](int) {
      const Box area = figure_.tight_area([&](Figure& figure, const Box& box) {
        const Layout layout(*this, figure, box);
        return united(layout.bounds(), box);
      });
      set.emplace(*this, figure_, area);
      return leaves_room(figure_, set->frame.padded(room_beside * figure_.width()), set->frame,
                         set->bounds());
    };
    figure_.fit(0, lay_out);
    const Layout& layout = *set;
    Picture picture = figure_.picture(layout.bounds(), [&](Canvas& canvas) {
      draw_lines(canvas, layout.frame);
      for (const PlacedText& text : layout.texts) canvas.text(text, figure_.paper().ink);
      if (layout.legend) layout.legend->draw(canvas, figure_);
    });
    const auto warn = [&](std::size_t count, const std::string& what) {
      if (count == 0) return;
      picture.warnings.push_back(
          translated_count(count, "{1} weight", "{1} weights") + " " + what +
          (count == 1 ? translated(": it is no line") : translated(": they are no lines")));
    };
    warn(negative_, translated("below zero"));
    warn(not_finite_, translated("not finite"));
    if (matrices_.size() > most_heads_apart) {
      picture.warnings.push_back(translated(
          "more than {1} heads have lines that look alike: draw fewer at once", most_heads_apart));
    }
    if (!all_) {
      picture.warnings.push_back(
          translated("only the {1} strongest lines are drawn: choose fewer keys a query, stronger "
                     "weights, or a part of the positions",
                     most_drawn));
    }
    return picture;
  }

 private:
  // The frame between the columns, the tokens on its sides, and what stands around them.
  struct Layout {
    Layout(const LinesFigure& lines, Figure& figure, const Box& area) : frame(area) {
      if (!lines.entries_.empty()) {
        frame.right -= Legend::width(lines.entries_, figure) + figure.pixels(legend_gap);
      }
      frame.right = std::max(frame.right, frame.left + area.width() / 4);
      around = frame;
      add_tokens(lines.query_, false, figure);
      add_tokens(lines.key_, true, figure);
      const Box tokens = around;
      const double top = frame.top - figure.pixels(text_gap);
      const auto above = [&](const std::string& text, double size, double x, double y,
                             Horizontal alignment) {
        if (text.empty()) return;
        const auto placed = placed_lines(figure.title(text, size, figure.width()), size, {x, y},
                                         {alignment, Vertical::bottom}, figure.typesetter());
        for (const PlacedText& line : placed) add(line);
      };
      above(lines.options_.figure.ylabel.value_or(translated(default_ylabel)), label_size,
            frame.left, top, Horizontal::right);
      above(lines.options_.figure.xlabel.value_or(translated(default_xlabel)), label_size,
            frame.right, top, Horizontal::left);
      above(lines.title_, title_size, tokens.middle(), around.top - figure.pixels(title_pad),
            Horizontal::centre);
      if (!lines.entries_.empty()) {
        legend.emplace(lines.entries_, Point{tokens.right + figure.pixels(legend_gap), frame.top},
                       figure);
      }
    }

    Box bounds() const { return legend ? united(around, legend->bounds()) : around; }

    void add(const PlacedText& text) {
      texts.push_back(text);
      around = united(around, text.bounds);
    }

    void add_tokens(const CellTicks& tokens, bool right, Figure& figure) {
      Axis axis;
      set_cell_ticks(axis, tokens, frame.height(), false, figure);
      const double gap = figure.pixels(text_gap);
      const double x = right ? frame.right + gap : frame.left - gap;
      for (const Tick& tick : axis.ticks) {
        add(place(figure.typesetter().text(tick.label, axis.tick_label_size),
                  {x, frame.bottom - tick.position * frame.height()},
                  {right ? Horizontal::left : Horizontal::right, Vertical::centre_of_capitals}));
      }
    }

    Box frame, around;
    std::vector<PlacedText> texts;
    std::optional<Legend> legend;
  };

  static const Heatmap& first(const HeadLines& lines) { return lines.heads[0]; }

  static std::vector<Matrix> matrices_of(const HeadLines& lines) {
    if (lines.heads.empty()) {
      throw input_error(translated("there are no weights to draw"), "",
                        translated("give at least one head"));
    }
    std::vector<Matrix> matrices;
    for (std::size_t i = 0; i < lines.heads.size(); ++i) {
      matrices.emplace_back(lines.heads[i], "head " + std::to_string(i + 1));
      if (lines.heads[i].weights.shape() != lines.heads[0].weights.shape()) {
        throw input_error(translated("the heads' weights differ in shape"),
                          "head " + std::to_string(i + 1), translated("all must have one shape"));
      }
    }
    return matrices;
  }

  static std::pair<double, double> default_size(const Matrix& matrix) {
    const double tokens = static_cast<double>(std::max(matrix.rows(), matrix.columns()));
    return {width, std::clamp(margins + token_height * tokens, least_height, most_height)};
  }

  // Leaves only so many lines as are drawn, if there are more.
  static bool keep_strongest(std::vector<Line>& lines) {
    if (lines.size() <= most_drawn) return false;
    const auto end = lines.begin() + static_cast<std::ptrdiff_t>(most_drawn);
    std::nth_element(lines.begin(), end, lines.end(), [](const Line& a, const Line& b) {
      return std::tuple(b.weight, a.head, a.query, a.key) <
             std::tuple(a.weight, b.head, b.query, b.key);
    });
    lines.erase(end, lines.end());
    return true;
  }

  // The lines to draw, the weakest first, so that strong ones lie on top.
  std::vector<Line> chosen() {
    std::vector<Line> lines;
    for (std::size_t head = 0; head < matrices_.size(); ++head) {
      const Matrix& matrix = matrices_[head];
      for (std::size_t i = 0; i < matrix.rows(); ++i) {
        const auto start = static_cast<std::ptrdiff_t>(lines.size());
        for (std::size_t j = 0; j < matrix.columns(); ++j) {
          const double weight = matrix.at(i, j);
          if (!matrix.hidden(i, j)) {
            not_finite_ += !std::isfinite(weight) ? 1 : 0;
            negative_ += std::isfinite(weight) && weight < 0 ? 1 : 0;
          }
          if (!(weight > 0) || !std::isfinite(weight) || weight < options_.threshold) continue;
          full_ = std::max(full_, weight);
          lines.push_back({head, i, j, weight});
        }
        if (top_ && lines.size() - static_cast<std::size_t>(start) > *top_) {
          std::stable_sort(lines.begin() + start, lines.end(),
                           [](const Line& a, const Line& b) { return a.weight > b.weight; });
          lines.resize(static_cast<std::size_t>(start) + *top_);
        }
        if (lines.size() > most_kept) all_ = !keep_strongest(lines) && all_;
      }
    }
    for (Line& line : lines) line.weight /= full_;
    std::erase_if(lines, [](const Line& line) { return line.weight < faintest; });
    all_ = !keep_strongest(lines) && all_;
    std::sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
      return std::tuple(a.weight, a.head, a.query, a.key) <
             std::tuple(b.weight, b.head, b.query, b.key);
    });
    return lines;
  }

  // Of a share of the full scale, in points.
  static double width_of(double share) { return thinnest + (thickest - thinnest) * share; }
  static double opacity_of(double share) { return faint + (1 - faint) * std::sqrt(share); }

  void draw_lines(Canvas& canvas, const Box& frame) const {
    const auto height = [&](std::size_t token, std::size_t count) {
      return frame.top +
             (static_cast<double>(token) + 0.5) / static_cast<double>(count) * frame.height();
    };
    std::vector<std::vector<double>> dashes;
    for (std::size_t head = 0; head < matrices_.size(); ++head) {
      dashes.push_back(head_dashes(head));
      for (double& dash : dashes.back()) dash = figure_.pixels(dash);
    }
    const Matrix& any = matrices_[0];
    for (const Line& line : lines_) {
      canvas.line({frame.left, height(line.query, any.rows())},
                  {frame.right, height(line.key, any.columns())},
                  {head_colour(line.head), opacity_of(line.weight),
                   figure_.pixels(width_of(line.weight)), dashes[line.head]});
    }
  }

  const LinesOptions& options_;
  std::string title_;
  std::vector<Matrix> matrices_;
  Figure figure_;
  ShownLabels labels_;
  CellTicks query_, key_;
  std::vector<LegendEntry> entries_;  // of heads, if there are several, and of weights
  std::optional<std::size_t> top_;
  std::vector<Line> lines_;
  double full_ = 1;  // the weight of the thickest line
  bool all_ = true;  // whether none but faint lines had to be left out
  std::size_t negative_ = 0, not_finite_ = 0;
};

}  // namespace
}  // namespace plot

Picture draw_lines(const HeadLines& lines, const LinesOptions& options, PictureFormat format) {
  return plot::LinesFigure(lines, options, format).draw();
}

}  // namespace attn
