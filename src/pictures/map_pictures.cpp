#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/document.hpp"
#include "pictures/drawing.hpp"
#include "result/tensor_names.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr double compared_side = 3;  // inches of a panel

// Titles above the heads that share a key and value head, where the columns are heads.
void add_groups(HeatmapGrid& grid, const AttentionMap& map, bool chosen_heads) {
  if (map.heads_per_group < 2 || chosen_heads || grid.columns % map.heads_per_group != 0) return;
  grid.columns_a_group = map.heads_per_group;
  for (std::size_t i = 0; i < grid.columns / map.heads_per_group; ++i) {
    grid.group_titles.push_back(translated("Key/Value Head {1}", i + map.first_number()));
  }
}

// Takes the words that all rows have in common off their titles, and returns them:
// "Self-Attention" of "Layer 1, Self-Attention" and "Layer 2, Self-Attention".
std::string taken_from_rows(HeatmapGrid& grid) {
  const std::string between = translated(", ");
  const std::size_t comma = grid.row_titles[0].find(between);
  if (comma == std::string::npos) return "";
  const std::string rest = grid.row_titles[0].substr(comma);
  for (const std::string& title : grid.row_titles) {
    if (!title.ends_with(rest)) return "";
  }
  for (std::string& title : grid.row_titles) title.resize(title.size() - rest.size());
  return rest.substr(between.size());
}

// Layers × heads of the chosen sample.
HeatmapGrid layers_grid(const Drawing& drawing) {
  HeatmapGrid grid{drawing.of.size(), 1, {}};
  for (std::size_t layer = 0; layer < grid.rows; ++layer) {
    const SelectedMap chosen(drawing.of[layer].map, drawing.choice);
    const std::vector<std::size_t> heads = drawn_heads(chosen);
    grid.columns = heads_together(drawing.choice.selection) ? 1 : heads.size();
    for (const std::size_t head : std::span(heads).first(grid.columns)) {
      grid.panels.push_back(selected_heatmap(chosen, drawing.choice.sample, head));
      grid.panels.back().title = heads_together(drawing.choice.selection)
                                     ? ""
                                     : translated("Head {1}", head + chosen.map.first_number());
    }
    grid.row_titles.push_back(chosen.where.empty() ? translated("Layer {1}", layer) : chosen.where);
  }
  add_groups(grid, drawing.of[0].map, drawing.choice.selection.chosen_heads.has_value());
  return grid;
}

// Whether a query is padding: named so, or a token that no query sees.
bool is_padding(const Heatmap& map, const Tensor& allowed, std::size_t query) {
  const std::string name = map.query_labels.empty() ? "" : map.query_labels[query];
  if (name == "[PAD]" || name == "<pad>") return true;
  const std::size_t queries = map.weights.shape()[0], keys = map.weights.shape()[1];
  if (!allowed || queries != keys || map.query_labels != map.key_labels) return false;
  const auto seen = allowed.values<std::uint8_t>();
  for (std::size_t i = 0; i < queries; ++i) {
    if (seen[i * keys + query] != 0) return false;
  }
  return true;
}

// Means of the weights that each key gets, [Lk], and of how many queries.
struct MeansOfKeys {
  std::vector<double> means, counts;
};

// Means over the queries that see each key and are no padding. Other keys have 0.
MeansOfKeys means_of_keys(const Heatmap& map, const Tensor& allowed) {
  const Tensor weights = map.weights.converted(DType::float64);
  const std::size_t queries = weights.shape()[0], keys = weights.shape()[1];
  std::vector<double> means(keys), counts(keys);
  for (std::size_t i = 0; i < queries; ++i) {
    if (queries > 1 && is_padding(map, allowed, i)) continue;
    for (std::size_t j = 0; j < keys; ++j) {
      if (allowed && allowed.values<std::uint8_t>()[i * keys + j] == 0) continue;
      means[j] += weights.values<double>()[i * keys + j];
      ++counts[j];
    }
  }
  for (std::size_t j = 0; j < keys; ++j) means[j] /= std::max(1.0, counts[j]);
  return {std::move(means), std::move(counts)};
}

// A mean of fewer queries says little beside those of many, as of the last tokens of causal models.
constexpr std::size_t least_queries = 3;
constexpr double many_queries = 8;

// The first query of a map: by its tick in a tutorial's picture, else as everywhere.
std::string query_name(const Heatmap& map) {
  const std::string label = map.query_labels.empty() ? "" : map.query_labels[0];
  if (map.first_number > 0) {
    return label.empty() ? "Q_" + std::to_string(map.first_query + map.first_number)
                         : "\"" + label + "\"";
  }
  return label.empty() ? translated("Query {1}", map.first_query)
                       : position_name(label, map.first_query);
}

// One row of a matrix with two axes; absent where the matrix is.
Tensor row_of(const Tensor& matrix, std::size_t row) {
  if (!matrix) return matrix;
  const std::size_t columns = matrix.shape()[1];
  return part_of(matrix, row * columns, {1, columns});
}

}  // namespace

Heatmap row_of(const Heatmap& map, std::size_t row) {
  Heatmap one = map;
  one.weights = row_of(map.weights, row);
  one.allowed = row_of(map.allowed, row);
  if (!map.query_labels.empty()) one.query_labels = {map.query_labels[row]};
  one.first_query = map.first_query + row;
  return one;
}

TokenStrip token_strip(const SelectedMap& selected, const Heatmap& map) {
  const std::size_t queries = map.weights.shape()[0], keys = map.weights.shape()[1];
  const Tensor allowed = map.allowed ? map.allowed.converted(DType::boolean) : Tensor();

  TokenStrip strip;
  auto [means, counts] = means_of_keys(map, allowed);
  if (!counts.empty() && *std::ranges::max_element(counts) >= many_queries) {
    std::vector<std::uint8_t> few;
    for (const double count : counts)
      few.push_back(count > 0 && count < static_cast<double>(least_queries) ? 1 : 0);
    if (std::ranges::count(few, 1) > 0) strip.weights.missing = Tensor({1, keys}, std::move(few));
    strip.missing_name = translated("seen by fewer than {1} queries", least_queries);
  }
  strip.weights.weights = Tensor({1, keys}, std::move(means));
  strip.weights.any_numbers = map.any_numbers;
  if (allowed) {
    // A token that any of the queries sees is not hidden.
    std::vector<std::uint8_t> seen(keys);
    for (std::size_t cell = 0; cell < allowed.size(); ++cell) {
      seen[cell % keys] |= allowed.values<std::uint8_t>()[cell];
    }
    strip.weights.allowed = Tensor({1, keys}, std::move(seen));
  }
  strip.tokens = map.key_labels;
  strip.spans = map.key_spans;
  for (std::size_t j = strip.tokens.size(); j < keys; ++j) {
    strip.tokens.push_back((map.first_number == 0 ? "" : "K_") +
                           std::to_string(map.first_key + j + map.first_number));
  }
  const std::string query = query_name(map);
  const std::string what = queries == 1 ? translated("What {1} Looks At", query)
                           : allowed ? translated("Mean Weight of the Queries that See Each Token")
                                     : translated("Mean Weight that Each Token Gets");
  const std::string title = shown_title(selected.map.title);
  strip.title = (title.empty() ? "" : title + "\n") + what + " " + place_text(selected);
  if (!selected.map.cells.empty()) strip.title += "\n" + selected.map.cells;
  // Where queries and keys are the same tokens, the query stands among them.
  const std::size_t place = map.first_query - map.first_key;
  const bool itself = queries == 1 && map.first_query >= map.first_key && place < keys &&
                      !map.query_labels.empty() && !map.key_labels.empty() &&
                      map.key_labels[place] == map.query_labels[0] &&
                      selected.numbers.queries() == selected.numbers.keys();
  if (itself) strip.query = place;
  return strip;
}

namespace {

constexpr double robust_share = 0.999;  // of the cells of weights in bins within their range
constexpr std::size_t many_keys = 24;
constexpr double heavy_first_key = 0.3;

bool is_pooled(const AttentionMap& map) {
  return !map.cells.empty() || map.tensor.ends_with("pooled_weights");
}

bool chooses_colours(const Drawing& drawing) {
  return drawing.options.figure.style == PlotStyle::standard &&
         drawing.options.colors.range.scope == ColorRange::Scope::shared &&
         drawing.options.colors.norm.is_linear();
}

// Ends the colours of weights in bins at a value that one cell in a thousand exceeds, where few
// large cells would make all others pale: the bar then says by an arrow that there are larger ones.
void keep_bins_apart(PlotOptions& options, const Drawing& drawing, const AttentionMap& map,
                     std::span<const Heatmap> shown) {
  if (!is_pooled(map) || !chooses_colours(drawing)) return;
  std::vector<double> cells;
  for (const Heatmap& panel : shown) {
    const Tensor numbers = panel.weights.converted(DType::float64);
    const Tensor seen = panel.allowed ? panel.allowed.converted(DType::boolean) : Tensor();
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!seen || seen.values<std::uint8_t>()[i] != 0)
        cells.push_back(numbers.values<double>()[i]);
    }
  }
  const auto place = static_cast<std::ptrdiff_t>(robust_share * static_cast<double>(cells.size()));
  if (place + 1 >= static_cast<std::ptrdiff_t>(cells.size())) return;
  std::nth_element(cells.begin(), cells.begin() + place, cells.end());
  const double end = cells[static_cast<std::size_t>(place)];
  constexpr double near = 0.8;  // of the largest cell
  if (!(end > 0) || end > near * *std::max_element(cells.begin() + place, cells.end())) return;
  options.colors.range = {ColorRange::Scope::given, 0, end};
}

// Suggests other colours where the first key takes so much weight that all other keys look alike.
std::optional<std::string> first_key_warning(const Drawing& drawing, const Heatmap& shown) {
  const std::size_t keys = shown.weights.shape()[1];
  if (shown.any_numbers || shown.first_key > 0 || keys < many_keys || !chooses_colours(drawing))
    return std::nullopt;
  const double mean =
      means_of_keys(shown, shown.allowed ? shown.allowed.converted(DType::boolean) : Tensor())
          .means[0];
  if (!(mean > heavy_first_key)) return std::nullopt;
  // Without its number, so that the heads of a model have one warning.
  return translated(
      "the first key gets more than {1} of the weight on average, so that the others look alike: "
      "ColorOptions::norm log shows their differences, MapSelection::drop_first 1 leaves it out",
      with_decimals(heavy_first_key, 1));
}

// The title of maps side by side: what they are of, with how many.
std::string title_of_several(const SelectedMap& chosen, bool any_numbers) {
  const AttentionMap& map = chosen.map;
  const std::string place = place_text(chosen);
  const std::string title = any_numbers
                                ? map.tensor + (place.empty() ? "" : " ")
                                : title_or(map.title, translated("Attention Weight Heatmap") + " ");
  return title + place;
}

// Columns of panels side by side; columns of different lengths one after the other in one row.
HeatmapGrid comparison_grid(std::vector<std::vector<Heatmap>> columns) {
  HeatmapGrid grid{columns[0].size(), columns.size(), {}, compared_side};
  std::size_t count = 0;
  bool alike = true;
  for (const std::vector<Heatmap>& column : columns) {
    count += column.size();
    alike = alike && column.size() == columns[0].size();
    grid.own_axes = grid.own_axes || column[0].weights.shape() != columns[0][0].weights.shape();
  }
  if (!alike) {
    grid.rows = 1;
    grid.columns = count;
    for (std::vector<Heatmap>& column : columns) {
      for (Heatmap& panel : column) grid.panels.push_back(std::move(panel));
    }
    return grid;
  }
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::vector<Heatmap>& column : columns) grid.panels.push_back(std::move(column[row]));
  }
  return grid;
}

}  // namespace

std::string title_or(const std::string& title, const std::string& otherwise) {
  return title.empty() ? otherwise : title + " ";
}

PlotOptions options_for(const Drawing& drawing, const AttentionMap& map) {
  PlotOptions options = drawing.options;
  auto [rows, columns] = axes_of(map.tensor);
  if (!map.is_map()) {
    rows = translated("Position");
    columns = is_map(map.tensor) ? translated("Key") : translated("Dimension");
  }
  if (!columns.empty() && !options.figure.xlabel) options.figure.xlabel = std::move(columns);
  if (!rows.empty() && !options.figure.ylabel) options.figure.ylabel = std::move(rows);
  if (!map.is_map()) {
    if (!options.colors.bar_label) options.colors.bar_label = translated("Value");
    return options;
  }
  const MapSelection::Blocks blocks = drawing.choice.selection.blocks;
  if (blocks != MapSelection::Blocks::none) {
    const bool sentences = blocks == MapSelection::Blocks::sentence;
    if (!options.figure.xlabel)
      options.figure.xlabel = sentences ? translated("Key Sentence") : translated("Key Part");
    if (!options.figure.ylabel)
      options.figure.ylabel = sentences ? translated("Query Sentence") : translated("Query Part");
    if (!options.colors.bar_label && map.holds_weights())
      options.colors.bar_label = translated("Attention weight of all keys, mean of the queries");
  }
  if (!options.colors.bar_label) {
    options.colors.bar_label = map.holds_weights() && !map.is_rollout()
                                   ? meaning_of_values("weights")
                                   : meaning_of_values(map.tensor);
  }
  return options;
}

std::vector<Heatmap> maps_of(const DrawnMap& drawn, const SelectedMap& selected) {
  const bool one = !side_by_side(selected.choice.selection);
  return one && drawn.chosen ? std::vector{*drawn.chosen} : maps_of(selected);
}

Picture draw_map(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  const SelectedMap chosen(map, drawing.choice);
  PlotOptions options = options_for(drawing, map);
  std::vector<Heatmap> maps = maps_of(drawing.of[0], chosen);
  if (!options.figure.title && map.is_map() && maps[0].any_numbers)
    options.figure.title = title_of_several(chosen, true);
  keep_bins_apart(options, drawing, map, maps);
  if (!side_by_side(drawing.choice.selection) || (!map.is_map() && maps.size() == 1)) {
    Picture picture = draw_heatmap(maps[0], options.heatmap(), drawing.format);
    if (auto warning = map.is_map() ? first_key_warning(drawing, maps[0]) : std::nullopt)
      picture.warnings.push_back(std::move(*warning));
    return picture;
  }
  if (!options.figure.title)
    options.figure.title = map.is_map() ? title_of_several(chosen, false) : map.tensor;
  Picture picture =
      draw_grid({1, maps.size(), std::move(maps), head_side}, options.grid(), drawing.format);
  if (options.marginals) {
    picture.warnings.push_back(
        translated("sums are drawn beside one map, not beside several: choose one head with "
                   "MapSelection::chosen_heads, or leave out PlotOptions::marginals"));
  }
  return picture;
}

Picture draw_map_grid(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  check_is_map(map);
  if (map.picture) return draw_overlay_grid(drawing);
  if (drawing.options.smooth) {
    throw Error(ErrorKind::usage, translated("there is no picture under these maps"),
                "PlotOptions::smooth", translated("leave it out"));
  }
  if (drawing.options.best) return draw_best_heads(drawing, *drawing.options.best);
  PlotOptions options = options_for(drawing, map);
  const SelectedMap chosen(map, drawing.choice);
  if (drawing.of.size() > 1 && drawing.choice.selection.samples == MapSelection::Shown::all) {
    throw Error(ErrorKind::usage, translated("a grid of layers shows one sample"),
                "MapSelection::chosen_samples", translated("choose one, or their mean or max"));
  }
  HeatmapGrid grid = drawing.of.size() > 1 ? layers_grid(drawing) : selected_grid(chosen);
  const bool standard = options.figure.style == PlotStyle::standard;
  if (drawing.of.size() == 1) {
    add_groups(grid, map, drawing.choice.selection.chosen_heads.has_value());
    // The heads of one map are the picture that a heatmap of all is.
    if (grid.rows == 1 && standard && map.cells.empty()) {
      grid.panel_side = head_side;
      MapChoice all = drawing.choice;
      if (all.selection.heads == MapSelection::Shown::one)
        all.selection.heads = MapSelection::Shown::all;
      if (!options.figure.title)
        options.figure.title = title_of_several(SelectedMap(map, all), grid.panels[0].any_numbers);
    }
  }
  // The title says what the titles of rows and columns do not. The matplotlib style has none of its
  // own.
  std::string place = drawing.of.size() == 1 ? chosen.where : standard ? taken_from_rows(grid) : "";
  if (standard && !options.figure.title) {
    const auto add = [&](const std::string& words) {
      place += (place.empty() ? "" : translated(", ")) + words;
    };
    const bool one_sample = drawing.of.size() > 1 || grid.row_titles.empty();
    if (one_sample && chosen.numbers.samples() > 1) add(samples_text(chosen));
    if (heads_together(drawing.choice.selection)) add(heads_text(chosen));
    const std::string keys = keys_text(drawing.choice.selection, chosen.first_number);
    if (!keys.empty()) add(keys);
    std::string title = shown_title(map.title);
    const bool own = !title.empty();
    if (!own) {
      title = grid.panels[0].any_numbers ? map.tensor : translated("Attention Weight Heatmap");
    }
    if (!place.empty())
      title += own ? "\n" + translated("({1})", place) : translated(" ({1})", place);
    if (!map.cells.empty()) title += "\n" + map.cells;
    options.figure.title = std::move(title);
  }
  keep_bins_apart(options, drawing, map, grid.panels);
  Picture picture = draw_grid(grid, options.grid(), drawing.format);
  if (options.columns && grid.rows > 1) {
    picture.warnings.push_back(translated(
        "the panels stand in {1} rows by themselves, so that PlotOptions::columns has no "
        "effect",
        grid.rows));
  }
  return picture;
}

Picture draw_map_lines(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  check_is_map(map);
  return draw_lines(selected_lines(SelectedMap(map, drawing.choice)),
                    options_for(drawing, map).lines(), drawing.format);
}

Picture draw_map_arcs(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  check_is_map(map);
  return draw_arcs(selected_lines(SelectedMap(map, drawing.choice)),
                   options_for(drawing, map).lines(), drawing.format);
}

// A column of panels for each file or kind, under one scale: its chosen map, or all heads.
Picture draw_comparison(const Drawing& drawing) {
  std::vector<std::vector<Heatmap>> columns;
  for (const DrawnMap& drawn : drawing.of) {
    try {
      columns.push_back(maps_of(drawn, SelectedMap(drawn.map, drawing.choice)));
      for (Heatmap& panel : columns.back()) {
        const std::string& name = drawn.column;
        panel.title = columns.back().size() > 1 ? name + ": " + panel.title : name;
      }
    } catch (const Error& error) {
      throw placed(error, drawn.map);
    }
  }
  HeatmapGrid grid = comparison_grid(std::move(columns));
  PlotOptions options = options_for(drawing, drawing.of.back().map);
  // Panels have the names of files or kinds; their common title is above them.
  const AttentionMap& first = drawing.of[0].map;
  const bool one_title =
      std::all_of(drawing.of.begin(), drawing.of.end(),
                  [&](const DrawnMap& drawn) { return drawn.map.title == first.title; });
  if (options.figure.style == PlotStyle::standard && !options.figure.title && first.is_map()) {
    const std::string what =
        first.holds_weights() ? translated("Attention Weights") + " " : first.tensor + " ";
    options.figure.title = title_or(one_title ? shown_title(first.title) : "", what) +
                           place_text(SelectedMap(first, drawing.choice));
  }
  return draw_grid(grid, options.grid(), drawing.format);
}

Picture draw_map_strip(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  check_is_map(map);
  const SelectedMap selected(map, drawing.choice);
  StripOptions options = drawing.options.strip();
  const auto& size = options.figure.figsize;
  options.fills = options.figure.exact_size && size && size->second > 0;
  return draw_strip(token_strip(selected, selected_heatmap(selected)), options, drawing.format);
}

}  // namespace attn
