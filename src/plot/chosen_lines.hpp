#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/plot.hpp"

#include "plot/axes/arrangement.hpp"
#include "plot/numbers/matrix.hpp"

namespace attn::plot {

/// Matrices of heads whose weights are lines. Throws Error(input) for none, and for several shapes.
std::vector<Matrix> matrices_of(const HeadLines& lines);

/// A weight that is drawn.
struct WeightLine {
  std::size_t head, query, key;
  double weight;  ///< a share of ChosenLines::full
};

/// The weights of all heads that have lines: each query's strongest, all of short inputs and three
/// of long ones unless the options say otherwise. Of equal ones all or none are drawn and, of long
/// inputs, none near the uniform weight of a row that sums to 1.
class ChosenLines {
 public:
  ChosenLines(const std::vector<Matrix>& matrices, const LinesOptions& options);

  std::vector<WeightLine> lines;             ///< the weakest first, so that strong ones lie on top
  double full = 1;                           ///< weight of the thickest line
  bool all = true;                           ///< whether none but faint lines had to be left out
  std::size_t negative = 0, not_finite = 0;  ///< weights that are no lines

  /// Whether few lines are drawn because nobody asked for more.
  bool chosen_by_itself() const { return outstanding_; }
  /// Keeps the strongest line of each query of each head, and the strongest of these, equal ones
  /// all or none. Queries that see hardly any keys, as the first ones of causal maps, have none.
  void keep_fewest(std::size_t most, const std::vector<Matrix>& matrices);

  /// Entries of a key for the heads, if there are several, for some weights, and remarks on what is
  /// left out.
  std::vector<LegendEntry> key(const HeadLines& lines, const Figure& figure) const;
  /// Why there are no lines; empty if there are.
  std::string reason_for_none() const;
  /// What cannot be told by lines.
  std::vector<std::string> warnings() const;

 private:
  void add_row(const Matrix& matrix, std::size_t head, std::size_t query);
  void keep_top(std::size_t start);
  void keep_strongest();

  std::optional<std::size_t> top_;
  double threshold_;
  bool few_, outstanding_;
  bool beyond_top_ = false;  ///< whether some query has more lines than the options take
  double largest_ = 0, thick_ = 0;
  std::size_t heads_ = 0;
  std::size_t queries_with_ties_ = 0;     ///< of all heads, with equal weights left out
  std::size_t even_weights_ = 0;          ///< weights left out for not standing out
  std::optional<std::size_t> fewest_of_;  ///< lines before keep_fewest(), one a query
};

/// Writes a text into the middle of a figure's frame, as ChosenLines::reason_for_none(), in as many
/// lines as it takes. Words that are wider than the frame are shortened.
void add_message(Arrangement& all, const std::string& text, Figure& figure);

/// Width in points and opacity of a line by its share of the full scale.
double width_of_line(double share);
double opacity_of_line(double share, const Paper& paper);

}  // namespace attn::plot
