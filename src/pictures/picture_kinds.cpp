#include "pictures/picture_kinds.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "pictures/difference_picture.hpp"
#include "pictures/dimension_chart.hpp"
#include "pictures/mask_picture.hpp"
#include "pictures/stacked_steps.hpp"
#include "pictures/stages_picture.hpp"
#include "pictures/token_strip.hpp"
#include "result/tensor_meaning.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr double compared_side = 3;  // inches of a panel
constexpr double head_side = 2.6;    // inches of a panel

std::string titled(const std::string& title, const std::string& otherwise) {
  return title.empty() ? otherwise : title + " ";
}

// The colour bar of what is no weight says what it is.
PlotOptions options_for(const Drawing& drawing, const Drawable& drawable) {
  PlotOptions options = drawing.options;
  if (!drawable.is_map()) {
    if (!options.xlabel) options.xlabel = translated("Dimension");
    if (!options.ylabel) options.ylabel = translated("Position");
    if (!options.colorbar_label) options.colorbar_label = translated("Value");
  } else if (!options.colorbar_label) {
    options.colorbar_label = drawable.holds_weights() ? meaning_of_values("weights")
                                                      : meaning_of_values(drawable.tensor);
  }
  return options;
}

// The bar that several panels share says in short what a heatmap's own says at length.
PlotOptions panel_options_for(const Drawing& drawing, const Drawable& drawable) {
  PlotOptions options = options_for(drawing, drawable);
  if (!options.colorbar_label && options.style == PlotStyle::standard) {
    options.colorbar_label = translated("Attention Weight");
  }
  return options;
}

Picture heatmap(const Drawing& drawing) {
  const Drawable& drawable = drawing.of[0];
  const DrawableMaps maps = maps_of(drawable);
  const SelectedMaps chosen = selected(maps, drawing, drawable);
  const bool map = drawable.is_map();
  PlotOptions options = options_for(drawing, drawable);
  if (!options.title && map && !drawable.holds_weights()) {
    options.title = drawable.tensor + " " + place_text(chosen);
  }
  std::vector<Heatmap> heads = heads_of(drawable, chosen);
  const bool side_by_side = drawing.selection.heads == MapSelection::Heads::all;
  if (!side_by_side || (!map && heads.size() == 1)) {
    return draw_heatmap(heads[0], options, drawing.format);
  }
  options.colorbar_label = panel_options_for(drawing, drawable).colorbar_label;
  if (!options.title) {
    options.title = map ? titled(drawable.title, translated("Attention Weight Heatmap") + " ") +
                              place_text(chosen)
                        : drawable.tensor;
  }
  return draw_grid({1, heads.size(), std::move(heads), head_side}, options, drawing.format);
}

// Names the heads that share a key and value head, where the columns are heads.
void add_groups(HeatmapGrid& grid, const Drawable& drawable, bool chosen_heads) {
  if (drawable.heads_a_group < 2 || chosen_heads || grid.columns % drawable.heads_a_group != 0)
    return;
  grid.columns_a_group = drawable.heads_a_group;
  for (std::size_t i = 0; i < grid.columns / drawable.heads_a_group; ++i) {
    grid.group_titles.push_back(translated("Key/Value Head {1}", i + 1));
  }
}

// Takes what all rows have in common off their titles: "Self-Attention" of "Layer 1,
// Self-Attention" and "Layer 2, Self-Attention".
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
    const Drawable& drawable = drawing.of[layer];
    const DrawableMaps maps = maps_of(drawable);
    const SelectedMaps chosen = selected(maps, drawing, drawable);
    const std::vector<std::size_t> heads = drawn_heads(chosen);
    grid.columns = heads_together(drawing.selection) ? 1 : heads.size();
    for (const std::size_t head : std::span(heads).first(grid.columns)) {
      grid.panels.push_back(selected_heatmap(chosen, drawing.sample, head));
      grid.panels.back().title =
          heads_together(drawing.selection) ? "" : translated("Head {1}", head + 1);
    }
    grid.row_titles.push_back(chosen.where.empty() ? translated("Layer {1}", layer + 1)
                                                   : chosen.where);
  }
  add_groups(grid, drawing.of[0], drawing.selection.chosen_heads.has_value());
  return grid;
}

Picture grid(const Drawing& drawing) {
  const Drawable& drawable = drawing.of[0];
  check_is_map(drawable);
  PlotOptions options = panel_options_for(drawing, drawable);
  const DrawableMaps maps = maps_of(drawable);
  const SelectedMaps chosen = selected(maps, drawing, drawable);
  HeatmapGrid grid = drawing.of.size() > 1 ? layers_grid(drawing) : selected_grid(chosen);
  if (drawing.of.size() == 1) {
    add_groups(grid, drawable, drawing.selection.chosen_heads.has_value());
  }
  // The title says what rows and columns do not. The matplotlib style has none by itself.
  if (options.style == PlotStyle::standard && !options.title) {
    std::string place = drawing.of.size() > 1 ? taken_from_rows(grid) : chosen.where;
    const auto add = [&](const std::string& words) {
      place += (place.empty() ? "" : translated(", ")) + words;
    };
    const bool one_sample = drawing.of.size() > 1 || drawing.selection.one_sample;
    if (one_sample && maps.weights.samples() > 1) {
      add(translated("Sample {1}", drawing.sample + 1));
    }
    if (heads_together(drawing.selection)) {
      add(drawing.selection.heads == MapSelection::Heads::mean
              ? translated("Mean of {1}", heads_text(chosen))
              : translated("Largest of {1}", heads_text(chosen)));
    }
    if (const std::string keys = keys_text(drawing.selection); !keys.empty()) add(keys);
    options.title = drawable.title;
    if (drawable.title.empty()) {
      options.title = place;
    } else if (!place.empty()) {
      *options.title += "\n(" + place + ")";
    }
  }
  return draw_grid(grid, options, drawing.format);
}

Picture lines(const Drawing& drawing) {
  const Drawable& drawable = drawing.of[0];
  check_is_map(drawable);
  const DrawableMaps maps = maps_of(drawable);
  return draw_lines(selected_lines(selected(maps, drawing, drawable)),
                    options_for(drawing, drawable), drawing.format);
}

Picture dimensions(const Drawing& drawing) {
  const DimensionChart chart = dimension_chart(drawing.of[0].shapes);
  if (chart.query.empty() && chart.key.empty() && chart.value.empty() && chart.output.empty()) {
    throw input_error(translated("there are no shapes to draw"), "",
                      translated("give a result, {\"shapes\": {\"query\": [3,4], …}}, or a file "
                                 "with tensors named query, key, value and output"));
  }
  return draw_dimensions(chart, drawing.options, drawing.format);
}

Picture mask(const Drawing& drawing) {
  const Drawable& drawable = drawing.of[0];
  if (drawable.mask) return draw_mask(drawable.mask(), drawing.options, drawing.format);
  check_is_map(drawable);
  if (!drawable.allowed) {
    throw input_error(
        translated("there is no mask to draw"), "",
        translated("give an input document, or a result with the tensor \"allowed\""));
  }
  Drawable allowed = drawable;
  allowed.weights = drawable.allowed;
  Drawing all = drawing;
  all.selection.hide_mask = all.selection.merge_pieces = all.selection.renormalize = false;
  const DrawableMaps maps = maps_of(allowed);
  const SelectedMaps chosen = selected(maps, all, allowed);
  const std::string title = drawable.title.empty() ? "" : drawable.title + "\n";
  return draw_mask(mask_map(selected_heatmap(chosen),
                            title + translated("Attention Mask") + " " + place_text(chosen)),
                   drawing.options, drawing.format);
}

Picture stages(const Drawing& drawing) {
  const Drawable& drawable = drawing.of[0];
  check_is_map(drawable);
  const DrawableMaps maps = maps_of(drawable);
  const SelectedMaps chosen = selected(maps, drawing, drawable);
  PlotOptions options = drawing.options;
  if (!options.title) {
    options.title =
        titled(drawable.title, translated("From Scores to Weights") + " ") + place_text(chosen);
  }
  // Scores and weights have no common scale.
  if (options.color_range.scope == ColorRange::Scope::shared) {
    options.color_range.scope = ColorRange::Scope::panel;
  }
  return draw_grid(stages_grid(drawable, chosen), options, drawing.format);
}

// The chosen map of each file or kind, or all its heads, as a column of panels under one scale.
Picture comparison(const Drawing& drawing) {
  std::vector<std::vector<Heatmap>> columns;
  for (const Drawable& drawable : drawing.of) {
    try {
      const DrawableMaps maps = maps_of(drawable);
      columns.push_back(heads_of(drawable, selected(maps, drawing, drawable)));
      for (Heatmap& panel : columns.back()) {
        const std::string& name = drawable.column;
        panel.title = columns.back().size() > 1 ? name + ": " + panel.title : name;
      }
      if (columns.back().size() != columns[0].size() ||
          columns.back()[0].weights.shape() != columns[0][0].weights.shape()) {
        throw input_error(
            translated("the weights have another shape than those of {1}", drawing.of[0].name), "",
            translated("compare weights of one shape, or choose equal parts with "
                       "MapSelection::queries and MapSelection::keys"));
      }
    } catch (const Error& error) {
      throw placed(error, drawable);
    }
  }
  HeatmapGrid grid{columns[0].size(), columns.size(), {}, compared_side};
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (std::vector<Heatmap>& column : columns) grid.panels.push_back(std::move(column[row]));
  }
  PlotOptions options = panel_options_for(drawing, drawing.of.back());
  // Panels are named by their files or kinds; what they have in common stands above them.
  const Drawable& first = drawing.of[0];
  const bool one_title =
      std::all_of(drawing.of.begin(), drawing.of.end(),
                  [&](const Drawable& drawable) { return drawable.title == first.title; });
  if (options.style == PlotStyle::standard && !options.title && first.is_map()) {
    const DrawableMaps maps = maps_of(first);
    const std::string what =
        first.holds_weights() ? translated("Attention Weights") + " " : first.tensor + " ";
    options.title =
        titled(one_title ? first.title : "", what) + place_text(selected(maps, drawing, first));
  }
  return draw_grid(grid, options, drawing.format);
}

Picture shapes(const Drawing& drawing) {
  const DimensionChart chart = dimension_chart(drawing.of[0].shapes);
  return draw_shapes(chart, drawing.options, drawing.format);
}

Picture strip(const Drawing& drawing) {
  const Drawable& drawable = drawing.of[0];
  check_is_map(drawable);
  const DrawableMaps maps = maps_of(drawable);
  return draw_strip(token_strip(drawable, selected(maps, drawing, drawable)), drawing.options,
                    drawing.format);
}

// The encoding of positions as a map, or of some dimensions as curves.
Heatmap chosen_positions(const Drawing& drawing) {
  const Drawable& drawable = drawing.of[0];
  const DrawableMaps maps = maps_of(drawable);
  Heatmap map = heatmap_of(drawable, selected(maps, drawing, drawable));
  if (!drawable.title.empty() && !is_map(drawable.tensor)) {
    map.title = drawable.title + "\n" + map.title;
  }
  return map;
}

Picture positions(const Drawing& drawing) {
  return draw_heatmap(chosen_positions(drawing), options_for(drawing, drawing.of[0]),
                      drawing.format);
}

Picture curves(const Drawing& drawing) {
  return draw_curves(chosen_positions(drawing), drawing.options, drawing.format);
}

// Steps of decoding one below the other; of all heads side by side.
Picture steps(const Drawing& drawing) {
  const Drawable& first = drawing.of[0];
  const DrawableMaps maps = maps_of(first);
  PlotOptions options = options_for(drawing, first);
  if (!options.ylabel) options.ylabel = translated("Step");
  if (!options.title) {
    options.title = titled(first.title, translated("Decoding Steps") + " ") +
                    place_text(selected(maps, drawing, first));
  }
  if (drawing.selection.heads != MapSelection::Heads::all) {
    return draw_heatmap(stacked_steps(drawing.of, drawing, drawing.head), options, drawing.format);
  }
  HeatmapGrid grid{1, maps.weights.heads(), {}, head_side};
  for (std::size_t head = 0; head < grid.columns; ++head) {
    grid.panels.push_back(stacked_steps(drawing.of, drawing, head));
    grid.panels.back().title = translated("Head {1}", head + 1);
  }
  options.colorbar_label = panel_options_for(drawing, first).colorbar_label;
  return draw_grid(grid, options, drawing.format);
}

bool have_both_signs(const std::vector<Heatmap>& maps) {
  bool below = false, above = false;
  for (const Heatmap& map : maps) {
    for (const double number : map.weights.values<double>()) {
      below = below || (std::isfinite(number) && number < 0);
      above = above || (std::isfinite(number) && number > 0);
    }
  }
  return below && above;
}

// a − b of the maps that are chosen of two files.
Picture difference(const Drawing& drawing) {
  std::vector<std::vector<Heatmap>> sides;
  for (const Drawable& drawable : drawing.of) {
    try {
      const DrawableMaps maps = maps_of(drawable);
      sides.push_back(heads_of(drawable, selected(maps, drawing, drawable)));
    } catch (const Error& error) {
      throw placed(error, drawable);
    }
  }
  const Drawable &a = drawing.of[0], &b = drawing.of[1];
  if (sides[0].size() != sides[1].size() ||
      sides[0][0].weights.shape() != sides[1][0].weights.shape()) {
    throw placed(
        input_error(translated("the weights have another shape than those of {1}", a.name), "",
                    translated("give maps of one shape, or choose equal parts with "
                               "MapSelection::queries and MapSelection::keys")),
        b);
  }
  for (std::size_t i = 0; i < sides[0].size(); ++i) {
    Heatmap& map = sides[0][i];
    const Heatmap& other = sides[1][i];
    map.weights = difference_of(map.weights.converted(DType::float64),
                                other.weights.converted(DType::float64));
    map.any_numbers = true;
    // What only one side hides is a difference.
    map.allowed = map.allowed && other.allowed ? either(map.allowed, other.allowed) : Tensor();
  }
  PlotOptions options = options_for(drawing, a);
  const std::string sign =
      a.column == b.column ? std::string("A − B") : a.column + " − " + b.column;
  options.colorbar_label = drawing.options.colorbar_label.value_or(sign);
  // How small differences are counts as much as how large they are.
  if (!options.annotate_format) options.annotate_format = ".2g";
  if (!options.cmap) options.cmap = "RdBu_r";
  // Differences of both signs have zero in the middle by themselves.
  if (options.color_range.scope == ColorRange::Scope::shared &&
      options.norm.kind == ColorNorm::Kind::linear && !have_both_signs(sides[0])) {
    const double end = largest_finite(sides[0]);
    options.color_range = {ColorRange::Scope::given, -end, end};
  }
  if (!options.title) {
    const DrawableMaps maps = maps_of(a);
    options.title = translated("Difference {1}", sign) + "\n" +
                    (is_map(a.tensor) ? place_text(selected(maps, drawing, a)) : a.tensor);
  }
  if (sides[0].size() == 1) return draw_heatmap(sides[0][0], options, drawing.format);
  return draw_grid({1, sides[0].size(), std::move(sides[0]), head_side}, options, drawing.format);
}

using Shows = PictureKind::Shows;
using Unit = PictureKind::Unit;

constexpr std::size_t any = std::numeric_limits<std::size_t>::max();  // number of files

// A row for each PlotKind, in their order.
constexpr auto rows = std::to_array<PictureKind>(
    {{{PlotKind::heatmap, "heatmap",
       to_translate("one matrix of weights, or all heads side by side")},
      Shows::weights,
      Unit::attention,
      heatmap},
     {{PlotKind::dimensions, "dimensions",
       to_translate("lengths and widths of query, key, value and output")},
      Shows::sizes,
      Unit::run,
      dimensions},
     {{PlotKind::grid, "grid",
       to_translate("a heatmap for each sample and head, or for each layer and head")},
      Shows::weights,
      Unit::sort,
      grid},
     {{PlotKind::mask, "mask",
       to_translate("which keys each query sees, and what hides the others")},
      Shows::mask,
      Unit::sort,
      mask},
     {{PlotKind::stages, "stages", to_translate("the way from scores to weights, step by step")},
      Shows::stages,
      Unit::attention,
      stages},
     {{PlotKind::lines, "lines",
       to_translate("two columns of tokens with lines between them for the weights")},
      Shows::weights,
      Unit::attention,
      lines},
     {{PlotKind::shapes, "shapes",
       to_translate("query, key, value, weights and output as boxes to scale")},
      Shows::sizes,
      Unit::run,
      shapes},
     {{PlotKind::strip, "strip",
       to_translate("the text, its tokens tinted by what one query or all give them")},
      Shows::weights,
      Unit::attention,
      strip},
     {{PlotKind::positions, "positions", to_translate("the encoding of positions as a map"), 1, 1,
       false},
      Shows::positions,
      Unit::run,
      positions},
     {{PlotKind::curves, "curves", to_translate("the same as curves of some dimensions"), 1, 1,
       false},
      Shows::positions,
      Unit::run,
      curves},
     {{PlotKind::steps, "steps",
       to_translate("decoding steps of growing length, one below the other"), 1, any, false},
      Shows::steps,
      Unit::several,
      steps},
     {{PlotKind::comparison, "comparison",
       to_translate("heatmaps of several files or kinds on one scale"), 2, any, false},
      Shows::weights,
      Unit::several,
      comparison},
     {{PlotKind::difference, "difference",
       to_translate("what the map of one file has more than another's"), 2, 2, false},
      Shows::weights,
      Unit::several,
      difference}});

constexpr bool has_a_row_for_each_kind() {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].info.kind != static_cast<PlotKind>(i)) return false;
  }
  return rows.size() == static_cast<std::size_t>(PlotKind::last) + 1;
}
static_assert(has_a_row_for_each_kind());

constexpr auto infos = [] {
  std::array<PlotKindInfo, rows.size()> all{};
  for (std::size_t i = 0; i < rows.size(); ++i) all[i] = rows[i].info;
  return all;
}();

}  // namespace

std::span<const PictureKind> picture_kinds() noexcept {
  return rows;
}

const PictureKind& picture_kind(PlotKind kind) noexcept {
  return rows[static_cast<std::size_t>(kind)];
}

std::span<const PlotKindInfo> plot_kinds() noexcept {
  return infos;
}

}  // namespace attn
