#include "pictures/weights_picture.hpp"

#include "attn/error.hpp"

namespace attn {
namespace {

constexpr double compared_side = 3;  // inches of a panel
constexpr double head_side = 2.6;    // inches of a panel

std::vector<std::string> numbers(std::size_t first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(first + i));
  return names;
}

}  // namespace

Picture draw_weights(PlotKind kind, const SelectedMaps& maps, PlotOptions options,
                     PictureFormat format) {
  if (kind == PlotKind::lines) return draw_lines(selected_lines(maps), options, format);
  if (kind == PlotKind::grid) return draw_grid(selected_grid(maps), options, format);
  if (maps.selection.heads != MapSelection::Heads::all) {
    return draw_heatmap(selected_heatmap(maps), options, format);
  }
  HeatmapGrid heads = selected_heads(maps);
  heads.panel_side = head_side;
  if (!options.title) {
    options.title =
        (maps.title.empty() ? "Attention Weight Heatmap " : maps.title + " ") + place_text(maps);
  }
  return draw_grid(heads, options, format);
}

Heatmap plain_heatmap(const std::string& name, const SelectedMaps& maps) {
  const MapSelection& selection = maps.selection;
  if (selection.merge_pieces || selection.renormalize || selection.drop_first > 0) {
    throw input_error("\"" + name + "\" has no keys", "PlotRequest::name",
                      "leave out MapSelection::drop_first, MapSelection::renormalize and "
                      "MapSelection::merge_pieces");
  }
  const Labels none;
  Heatmap heatmap =
      selected_heatmap({maps.weights, nullptr, none, "", maps.sample, maps.head, selection});
  const Shape& shape = heatmap.weights.shape();
  const std::vector<std::string> labels = Labels::of_sample(maps.labels.query, maps.sample);
  if (labels.size() == maps.weights.queries()) {
    const auto start = labels.begin() + static_cast<std::ptrdiff_t>(heatmap.first_query);
    heatmap.query_labels.assign(start, start + static_cast<std::ptrdiff_t>(shape[0]));
  } else {
    heatmap.query_labels = numbers(heatmap.first_query, shape[0]);
  }
  heatmap.key_labels = numbers(heatmap.first_key, shape[1]);
  heatmap.title = name;
  heatmap.plain = true;
  if (maps.weights.heads() > 1) {
    heatmap.title += " " + place_text(maps);
  } else if (maps.weights.samples() > 1) {
    heatmap.title += " (Sample " + std::to_string(maps.sample + 1) + ")";
  }
  return heatmap;
}

void name_plain_axes(PlotOptions& options) {
  if (!options.xlabel) options.xlabel = "Dimension";
  if (!options.ylabel) options.ylabel = "Position";
  if (!options.colorbar_label) options.colorbar_label = "Value";
}

Picture draw_plain_tensors(const std::string& name, const std::vector<Heatmap>& heads,
                           PlotOptions options, PictureFormat format) {
  name_plain_axes(options);
  if (heads.size() == 1) return draw_heatmap(heads[0], options, format);
  if (!options.title) options.title = name;
  HeatmapGrid grid{1, heads.size(), heads};
  grid.panel_side = head_side;
  return draw_grid(grid, options, format);
}

Picture draw_comparison(const std::vector<std::vector<Heatmap>>& columns,
                        const PlotOptions& options, PictureFormat format) {
  HeatmapGrid grid{columns.empty() ? 0 : columns[0].size(), columns.size(), {}};
  grid.panel_side = compared_side;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (const std::vector<Heatmap>& column : columns) grid.panels.push_back(column[row]);
  }
  return draw_grid(grid, options, format);
}

}  // namespace attn
