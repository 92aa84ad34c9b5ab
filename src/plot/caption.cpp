#include "plot/caption.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "plot/axes/axes.hpp"
#include "plot/axes/keys.hpp"
#include "plot/numbers/ticks.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr double told_share = 0.2;  // of a query's weight, from which on a place is named

// A value, with the names of its row and column.
struct NamedCell {
  double value = 0;
  std::size_t row = 0, column = 0;
  bool any = false;
};

// What the maps of some heads have in common, over all queries that see a key.
struct MapFacts {
  NamedCell largest, smallest;
  NamedCell strongest;         // of queries that see several keys, as the first of a causal map not
  bool weights = true;         // whether all rows sum to 1
  double queries = 0;          // of all heads
  double largest_of_rows = 0;  // the mean over queries, as the next ones
  double uniform = 0;
  std::array<double, 3> places{};  // shares of the token itself, the one before and the first

  MapFacts(std::span<const Matrix> matrices, const Heatmap& first, bool same_tokens) {
    for (const Matrix& matrix : matrices) {
      for (std::size_t i = 0; i < matrix.rows(); ++i) add_row(matrix, first, i, same_tokens);
    }
    if (queries == 0) return;
    largest_of_rows /= queries;
    uniform /= queries;
    for (double& place : places) place /= queries;
  }

 private:
  void add_row(const Matrix& matrix, const Heatmap& first, std::size_t i, bool same_tokens) {
    constexpr double most_rounding = 0.01;
    NamedCell own_most;
    double sum = 0, most = 0, keys = 0;
    std::size_t not_zero = 0;
    for (std::size_t j = 0; j < matrix.columns(); ++j) {
      const double value = matrix.at(i, j);
      if (!matrix.shown(i, j) || !std::isfinite(value)) continue;
      if (!largest.any || value > largest.value) largest = {value, i, j, true};
      if (!smallest.any || value < smallest.value) smallest = {value, i, j, true};
      if (!own_most.any || value > own_most.value) own_most = {value, i, j, true};
      if (value != 0) ++not_zero;
      sum += value;
      most = std::max(most, value);
      ++keys;
    }
    if (not_zero > 1 && (!strongest.any || own_most.value > strongest.value)) strongest = own_most;
    if (keys == 0 || sum == 0) return;
    weights = weights && std::abs(sum - 1) <= most_rounding;
    ++queries;
    largest_of_rows += most;
    uniform += 1 / keys;
    if (!same_tokens) return;
    const std::size_t own = first.first_query + i - first.first_key;
    const auto weight = [&](std::size_t j) {
      const bool there = j < matrix.columns() && matrix.shown(i, j);
      return there && std::isfinite(matrix.at(i, j)) ? matrix.at(i, j) : 0;
    };
    places[0] += weight(own);
    places[1] += own > 0 ? weight(own - 1) : 0;
    places[2] += weight(0);
  }
};

std::string percent(double share) {
  return with_decimals(100 * share, 0) + " %";
}

// "Most of a query's weight, 62 %, is on the token before it." of tokens that are queries and keys.
std::string place_sentence(const MapFacts& facts) {
  const auto place = std::max_element(facts.places.begin(), facts.places.end());
  const std::string share = percent(*place);
  if (*place < told_share) {
    return translated(
        "No place has {1} of the weight: the token itself has {2}, the one before {3}, the first "
        "{4} on average.",
        percent(told_share), percent(facts.places[0]), percent(facts.places[1]),
        percent(facts.places[2]));
  }
  switch (place - facts.places.begin()) {
    case 0:
      return translated("On average {1} of a query's weight is on the token itself.", share);
    case 1:
      return translated("On average {1} of a query's weight is on the token before it.", share);
    default:
      return translated("On average {1} of a query's weight is on the first token.", share);
  }
}

}  // namespace

std::string joined_sentences(const std::string& first, const std::string& second) {
  return second.empty() ? first : translated("{1} {2}", first, second);
}

std::string look_of(const ColourMap& map) {
  const auto luminance = [&](std::size_t at) {
    const Colour colour = map[at];
    return 0.2126 * colour.red + 0.7152 * colour.green + 0.0722 * colour.blue;
  };
  const double low = luminance(0), middle = luminance(ColourMap::size() / 2),
               high = luminance(ColourMap::size() - 1);
  if (low > middle && middle > high) return translated("darker for larger weights");
  if (low < middle && middle < high) return translated("lighter for larger weights");
  return translated("coloured by weight");
}

CaptionTexts caption_of(std::span<const Matrix> matrices, std::span<const Heatmap> heads,
                        const std::string& look, const FigureOptions& options) {
  const Matrix& matrix = matrices[0];
  const Heatmap& first = heads[0];
  const MapTicks names = map_ticks(first, matrix.rows(), matrix.columns(), options);
  const std::vector<std::string>& rows = names.query.labels;
  const std::vector<std::string>& columns = names.key.labels;
  const bool same_tokens = first.first_query >= first.first_key && !first.of_positions &&
                           first.query_labels == first.key_labels &&
                           matrix.rows() == matrix.columns();
  const MapFacts facts(matrices, first, same_tokens);
  const std::string cells = described_cells(matrix, first.of_positions);
  if (!facts.largest.any) {
    const std::string nothing = translated("No cell has a finite value.");
    const std::string what = translated("A map of {1}.", cells);
    return {joined_sentences(what, nothing), joined_sentences(what, nothing)};
  }
  // A place as reports name it: its token and index.
  const auto name = [&](const std::vector<std::string>& shown, std::size_t at, bool labelled,
                        const std::vector<std::size_t>& places) {
    const bool known = labelled && !first.of_positions && at < places.size();
    return in_quotes(shown[at]) + (known ? " (" + std::to_string(places[at]) + ")" : "");
  };
  const auto at = [&](const NamedCell& cell) {
    return translated("{1} from {2} to {3}", short_number(cell.value),
                      name(rows, cell.row, !first.query_labels.empty(), first.query_places),
                      name(columns, cell.column, !first.key_labels.empty(), first.key_places));
  };
  const bool weights = facts.weights && !first.any_numbers && facts.queries > 0;
  if (!weights) {
    const std::string range = translated("The largest value is {1}, the smallest {2}.",
                                         at(facts.largest), at(facts.smallest));
    return {joined_sentences(translated("Values of {1}.", cells), range),
            joined_sentences(translated("A map of {1}, coloured by value.", cells), range)};
  }
  const std::string heads_named =
      matrices.size() > 1 ? translated_count(matrices.size(), " in {1} head", " in {1} heads")
                          : std::string();
  const NamedCell& cell = facts.strongest.any ? facts.strongest : facts.largest;
  const bool of_several = cell.value < facts.largest.value;
  const std::string which =
      at(cell) + (of_several ? translated(", where a query sees several keys") : std::string());
  const std::string strongest = translated("The strongest weight is {1}.", which);
  return {
      joined_sentences(
          translated("Attention of {1}{2}: the strongest weight is {3}.", cells, heads_named,
                     which),
          translated("A query's largest weight is {1} on average, where a uniform one would be "
                     "{2}.",
                     short_number(facts.largest_of_rows), short_number(facts.uniform))),
      joined_sentences(translated("A map of attention of {1}{2}, {3}.", cells, heads_named, look),
                       same_tokens ? place_sentence(facts) : strongest)};
}

void describe(Figure& figure, const std::string& title, const std::string& description,
              std::span<const Matrix> matrices, std::span<const Heatmap> heads,
              const std::string& look, const FigureOptions& options) {
  if (!options.caption) {
    figure.describe(title, description);
    return;
  }
  const auto [caption, alternative] = caption_of(matrices, heads, look, options);
  figure.describe(title, alternative);
  figure.add_caption(caption);
}

}  // namespace attn::plot
