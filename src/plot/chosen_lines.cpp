#include "plot/chosen_lines.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <tuple>
#include <utility>

#include "attn/error.hpp"

#include "plot/colour/colour.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr double entry_width = 2;  // points; of the lines that name heads
// Points; of a weight of 0 and of 1, or of the largest where weights go beyond 1.
constexpr double thinnest = 0.3, thickest = 4.5;
// The opacity of a weight of 0, and on dark paper, where faint lines vanish.
constexpr double faint = 0.15, faint_on_dark = 0.4;
constexpr std::array<double, 3> weights_in_legend{0.1, 0.5, 1};
constexpr std::size_t long_input = 12;  // keys; longer inputs have few lines a query
constexpr std::size_t usual_top = 3;
constexpr std::size_t most_drawn = 4'000;     // more lines would only be an area
constexpr std::size_t most_kept = 1'000'000;  // until all but the strongest are dropped
constexpr double least_full = 0.2;            // a weight that is drawn as thick as 1 would be
constexpr double tied = 1e-6;                 // relative difference of weights that are equal
constexpr double faintest = 0.005;            // of the full scale; fainter ones cannot be made out
// Uniform weights that a line of long inputs has at least, and that the thickest one has.
constexpr double standing_out = 1.5, thickest_of_even = 4;
constexpr double most_rounding_of_rows = 0.01;

// One over the keys that a query sees, where its weights sum to 1; otherwise 0.
double even_weight(const Matrix& matrix, std::size_t query) {
  double sum = 0, keys = 0;
  for (std::size_t j = 0; j < matrix.columns(); ++j) {
    if (!matrix.shown(query, j)) continue;
    sum += matrix.at(query, j);
    ++keys;
  }
  return std::abs(sum - 1) <= most_rounding_of_rows ? 1 / keys : 0;
}

}  // namespace

std::vector<Matrix> matrices_of(const HeadLines& lines) {
  if (lines.heads.empty()) {
    throw input_error(translated("there are no weights to draw"), "",
                      translated("give at least one head"));
  }
  std::vector<Matrix> matrices;
  for (std::size_t i = 0; i < lines.heads.size(); ++i) {
    const std::string where = translated("head {1}", i);
    matrices.emplace_back(lines.heads[i], where);
    if (lines.heads[i].weights.shape() != lines.heads[0].weights.shape()) {
      throw input_error(translated("the heads' weights differ in shape"), where,
                        translated("all must have the same shape"));
    }
  }
  return matrices;
}

ChosenLines::ChosenLines(const std::vector<Matrix>& matrices, const LinesOptions& options)
    : top_(options.top), threshold_(options.threshold), heads_(matrices.size()) {
  few_ = !top_ && matrices[0].columns() > long_input;
  if (few_) top_ = usual_top;
  outstanding_ = few_ && threshold_ == 0;
  for (std::size_t head = 0; head < matrices.size(); ++head) {
    for (std::size_t i = 0; i < matrices[head].rows(); ++i) add_row(matrices[head], head, i);
  }
  // The thickest line is a weight of 1, of more if there are any, or of the largest of small ones
  // unless that is near the uniform weight.
  if (largest_ > 1) full = largest_;
  if (largest_ > 0 && largest_ < least_full)
    full = std::max(largest_, std::min(thick_, least_full));
  for (WeightLine& line : lines) line.weight /= full;
  std::erase_if(lines, [](const WeightLine& line) { return line.weight < faintest; });
  keep_strongest();
  std::sort(lines.begin(), lines.end(), [](const WeightLine& a, const WeightLine& b) {
    return std::tuple(a.weight, a.head, a.query, a.key) <
           std::tuple(b.weight, b.head, b.query, b.key);
  });
}

void ChosenLines::add_row(const Matrix& matrix, std::size_t head, std::size_t query) {
  const std::size_t start = lines.size();
  const double even = even_weight(matrix, query);
  thick_ = std::max(thick_, thickest_of_even * even);
  const double least = outstanding_ ? standing_out * even : 0;
  for (std::size_t j = 0; j < matrix.columns(); ++j) {
    const double weight = matrix.at(query, j);
    if (!matrix.hidden(query, j)) {
      not_finite += !std::isfinite(weight) ? 1 : 0;
      negative += std::isfinite(weight) && weight < 0 ? 1 : 0;
    }
    if (!(weight > 0) || !std::isfinite(weight) || weight < threshold_) continue;
    if (weight < least) {
      ++even_weights_;
      continue;
    }
    largest_ = std::max(largest_, weight);
    lines.push_back({head, query, j, weight});
  }
  keep_top(start);
  if (lines.size() > most_kept) keep_strongest();
}

// Keeps the strongest lines from `start` on. Equal weights all have lines or none, so that an even
// row is not taken for one that looks at its first keys.
void ChosenLines::keep_top(std::size_t start) {
  if (!top_ || lines.size() - start <= *top_) return;
  beyond_top_ = true;
  const auto first = lines.begin() + static_cast<std::ptrdiff_t>(start);
  std::stable_sort(first, lines.end(),
                   [](const WeightLine& a, const WeightLine& b) { return a.weight > b.weight; });
  const double next = lines[start + *top_].weight;
  lines.resize(start + *top_);
  const auto equal =
      std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(start), lines.end(),
                   [&](const WeightLine& line) { return line.weight <= next * (1 + tied); });
  queries_with_ties_ += equal != lines.end() ? 1 : 0;
  lines.erase(equal, lines.end());
}

void ChosenLines::keep_strongest() {
  if (lines.size() <= most_drawn) return;
  const auto end = lines.begin() + static_cast<std::ptrdiff_t>(most_drawn);
  std::nth_element(lines.begin(), end, lines.end(), [](const WeightLine& a, const WeightLine& b) {
    return std::tuple(b.weight, a.head, a.query, a.key) <
           std::tuple(a.weight, b.head, b.query, b.key);
  });
  lines.erase(end, lines.end());
  all = false;
}

void ChosenLines::keep_fewest(std::size_t most, const std::vector<Matrix>& matrices) {
  constexpr double least_share = 0.1;  // of the keys
  const auto sees_many = [&](const WeightLine& line) {
    const Matrix& matrix = matrices[line.head];
    std::size_t keys = 0;
    for (std::size_t j = 0; j < matrix.columns(); ++j)
      keys += matrix.shown(line.query, j) && matrix.at(line.query, j) > 0 ? 1 : 0;
    return static_cast<double>(keys) >= least_share * static_cast<double>(matrix.columns());
  };
  // 1. The strongest of each query stands last.
  std::set<std::pair<std::size_t, std::size_t>> queries;
  std::vector<WeightLine> kept;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) {
    if (queries.emplace(line->head, line->query).second && sees_many(*line)) kept.push_back(*line);
  }
  // 2. The strongest of these.
  fewest_of_ = kept.size();
  if (kept.size() > most) {
    const double next = kept[most].weight;
    kept.resize(most);
    while (!kept.empty() && kept.back().weight <= next * (1 + tied)) kept.pop_back();
  }
  lines.assign(kept.rbegin(), kept.rend());
}

namespace {

// A text that is long for a legend as two lines of about one length.
std::vector<std::string> in_two(const std::string& text) {
  constexpr std::size_t longest = 20;  // bytes
  std::size_t middle = std::string::npos;
  const auto from_middle = [&](std::size_t at) {
    return at > text.size() / 2 ? at - text.size() / 2 : text.size() / 2 - at;
  };
  for (std::size_t at = text.find(' '); at != text.npos; at = text.find(' ', at + 1)) {
    if (middle == text.npos || from_middle(at) < from_middle(middle)) middle = at;
  }
  if (text.size() <= longest || middle == text.npos) return {text};
  return {text.substr(0, middle), text.substr(middle + 1)};
}

}  // namespace

std::vector<LegendEntry> ChosenLines::key(const HeadLines& of, const Figure& figure) const {
  const Colour ink = figure.paper().ink;
  std::vector<LegendEntry> entries;
  for (std::size_t i = 0; i < of.heads.size() && of.heads.size() > 1; ++i) {
    entries.push_back({of.heads[i].title, head_colour(i)});
    entries.back().line_width = entry_width;
    entries.back().dashes = head_dashes(i);
  }
  for (const double share : weights_in_legend) {
    if (share * full < threshold_) continue;
    entries.push_back({translated("weight {1}", short_number(share * full)), ink});
    entries.back().line_width = width_of_line(share);
    entries.back().opacity = opacity_of_line(share, figure.paper());
  }
  const auto remark = [&](const std::string& text) {
    for (const std::string& line : figure.narrow() ? in_two(text) : std::vector{text}) {
      entries.push_back({line, ink});
      entries.back().bare = true;
    }
  };
  if (fewest_of_) {
    remark(translated("the strongest {1} of {2} queries,", lines.size(), *fewest_of_));
    remark(translated("each with its strongest key"));
  } else if (few_ || beyond_top_) {
    remark(
        translated_count(*top_, "the strongest key per query", "the {1} strongest keys per query"));
  }
  if (!lines.empty() && threshold_ > 0)
    remark(translated("none below {1}", short_number(threshold_)));
  if (queries_with_ties_ > 0) remark(translated("no lines for equal weights"));
  if (!lines.empty() && even_weights_ > 0)
    remark(translated("none below {1} × uniform", short_number(standing_out)));
  return entries;
}

std::string ChosenLines::reason_for_none() const {
  if (!lines.empty()) return "";
  if (even_weights_ > 0 || queries_with_ties_ > 0)
    return translated("No key stands out: the weights are equal, or nearly so");
  if (negative > 0) return translated("Weights below zero have no lines");
  if (not_finite > 0) return translated("Weights that are not finite have no lines");
  return threshold_ > 0 ? translated("No weight reaches {1}", short_number(threshold_))
                        : translated("All weights are zero");
}

std::vector<std::string> ChosenLines::warnings() const {
  std::vector<std::string> warnings;
  if (negative > 0) {
    warnings.push_back(translated_count(negative,
                                        "{1} weight below zero: it cannot be drawn as a line",
                                        "{1} weights below zero: they cannot be drawn as lines"));
  }
  if (not_finite > 0) {
    warnings.push_back(translated_count(not_finite,
                                        "{1} weight not finite: it cannot be drawn as a line",
                                        "{1} weights not finite: they cannot be drawn as lines"));
  }
  if (heads_ > most_heads_apart) {
    warnings.push_back(translated(
        "more than {1} heads have lines that look alike: draw fewer at once", most_heads_apart));
  }
  if (!all) {
    warnings.push_back(
        translated("only the {1} strongest lines are drawn: choose fewer keys per query, stronger "
                   "weights, or a part of the positions",
                   most_drawn));
  }
  return warnings;
}

void add_message(Arrangement& all, const std::string& text, Figure& figure) {
  if (text.empty()) return;
  constexpr double size = 11;  // points
  const Box& frame = all.axes.box;
  const double width = 0.9 * frame.width();
  std::string lines;
  for (const std::string& line : lines_of(wrapped(text, size, width, figure.typesetter()))) {
    lines += (lines.empty() ? "" : "\n") + shortened(line, size, width, figure.typesetter());
  }
  add_lines(all.decorations.texts, lines, size, {frame.middle(), frame.centre()},
            {Horizontal::centre, Vertical::centre}, figure.typesetter());
}

double width_of_line(double share) {
  return thinnest + (thickest - thinnest) * share;
}

double opacity_of_line(double share, const Paper& paper) {
  const double least = paper.ink == black ? faint : faint_on_dark;
  return least + (1 - least) * std::sqrt(share);
}

}  // namespace attn::plot
