#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/document.hpp"
#include "pictures/drawing.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr const char* class_token = "[CLS]";

// Queries whose rows are shown, or averaged: those asked for, [CLS], or all.
Positions asked_queries(const MapSelection& selection, std::size_t count,
                        const std::vector<std::string>& labels) {
  if (selection.query || selection.queries) return selected_queries(selection, count, labels);
  const auto first = std::find(labels.begin(), labels.end(), class_token);
  if (first == labels.end()) return {0, count};
  const auto at = static_cast<std::size_t>(first - labels.begin());
  return {at, at + 1};
}

bool is_patch(const std::string& token) {
  return token.find(',') != std::string::npos;
}

// "ROW,COLUMN" of a patch, counted from 0.
std::string patch_name(const SeenPicture& picture, std::size_t patch) {
  return std::to_string(patch / picture.columns) + "," + std::to_string(patch % picture.columns);
}

// The name of the query, or that several are averaged.
std::string query_text(const AttentionMap& row) {
  const std::string name = row.labels.query.empty() ? "" : row.labels.query[0][0];
  if (name.empty()) return translated("Mean Weight that Each Patch Gets");
  return translated("What {1} Looks At", is_patch(name) ? translated("Patch {1}", name) : name);
}

// Panels of one layer: the chosen head, all heads, or their mean or largest.
struct LayerPanels {
  std::vector<PictureOverlay::Panel> panels;
  std::vector<std::string> others;
  std::optional<std::size_t> query;
  std::string where, place;
};

LayerPanels layer_panels(const AttentionMap& row, const MapChoice& asked) {
  MapChoice choice = asked;
  choice.selection.queries.reset();
  choice.selection.query.reset();
  choice.selection.merge_pieces = false;
  choice.selection.blocks = MapSelection::Blocks::none;
  const SelectedMap selected(row, choice);
  const SeenPicture& picture = *row.picture;
  const std::vector<std::string> labels = Labels::of_sample(row.labels.key, choice.sample);
  const std::size_t before = selected.numbers.keys() - picture.patches();
  const std::vector<std::size_t> keys =
      selected_keys(choice.selection, selected.numbers.keys(), labels);
  LayerPanels all;
  for (const std::size_t key : keys) {
    if (key >= before) continue;
    all.others.push_back(labels.empty() ? std::to_string(key) : labels[key]);
  }
  if (!row.labels.query.empty()) {
    const std::string& query = row.labels.query[0][0];
    const auto other = std::find(all.others.begin(), all.others.end(), query);
    const auto patch = std::find(labels.begin(), labels.end(), query);
    if (other != all.others.end()) {
      all.query = static_cast<std::size_t>(other - all.others.begin());
    } else if (!query.empty() && patch != labels.end() && is_patch(query)) {
      all.query = all.others.size() + static_cast<std::size_t>(patch - labels.begin()) - before;
    }
    for (std::size_t i = 0; i < picture.patches() && !all.query; ++i)
      if (patch_name(picture, i) == query) all.query = all.others.size() + i;
  }
  std::vector<std::size_t> heads{choice.head};
  const bool each = choice.selection.heads == MapSelection::Shown::all;
  if (each) heads = drawn_heads(selected);
  for (const std::size_t head : heads) {
    const Tensor weights =
        selected_heatmap(selected, choice.sample, head).weights.converted(DType::float64);
    const auto values = weights.values<double>();
    PictureOverlay::Panel& panel = all.panels.emplace_back();
    std::vector<double> patches(picture.patches(), 0);
    std::vector<std::uint8_t> missing(picture.patches(), 1);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] < before) {
        panel.others.push_back(values[i]);
      } else {
        patches[keys[i] - before] = values[i];
        missing[keys[i] - before] = 0;
      }
    }
    const Shape shape{picture.rows, picture.columns};
    panel.patches.weights = Tensor(shape, std::move(patches));
    if (keys.size() < selected.numbers.keys()) {
      panel.patches.missing = Tensor(shape, std::move(missing));
    }
    if (each) {
      panel.patches.title = translated("Head {1}", head + selected.map.first_number());
    }
  }
  all.where = selected.where;
  all.place = place_text(selected);
  return all;
}

// The picture of the chosen sample, [3,H,W].
PictureOverlay overlay_of(const AttentionMap& row, std::size_t sample) {
  const Tensor& images = row.picture->image;
  const Shape shape(images.shape().begin() + 1, images.shape().end());
  PictureOverlay overlay;
  const std::size_t at = std::min(sample, images.shape()[0] - 1);
  overlay.image = part_of(images, at * element_count(shape), shape);
  overlay.patch = row.picture->patch;
  return overlay;
}

// The weights of merged patches as those of the patches of `wanted` rows and columns, `side` times
// smaller, which they are made of and share them evenly.
void spread(PictureOverlay::Panel& panel, const Shape& wanted, std::size_t side) {
  const Shape own = panel.patches.weights.shape();
  std::vector<std::size_t> from;
  for (std::size_t i = 0; i < element_count(wanted); ++i) {
    from.push_back(i / wanted[1] / side * own[1] + i % wanted[1] / side);
  }
  for (Tensor* const cells : {&panel.patches.weights, &panel.patches.missing}) {
    if (!*cells) continue;
    *cells = picked(cells->reshaped({element_count(own), 1}), from).reshaped(wanted);
  }
  const Tensor whole = panel.patches.weights.converted(DType::float64);
  std::vector<double> shares(whole.values<double>().begin(), whole.values<double>().end());
  for (double& share : shares) share /= static_cast<double>(side * side);
  panel.patches.weights = Tensor(wanted, std::move(shares));
}

void check_picture(const AttentionMap& map) {
  check_is_map(map);
  if (map.picture) return;
  throw input_error(translated("there is no picture under these weights"), "",
                    translated("give the result of a model that reads pictures, with its tensors "
                               "\"image\" and \"grid\", or a picture with PlotRequest::image"));
}

AttentionMap row_of(const DrawnMap& drawn, const MapChoice& choice) {
  return drawn.asked ? *drawn.asked : asked_rows(drawn.map, choice);
}

// Names of the queries: the labels or, where there are none or the query that is asked for is a
// patch of another name, "ROW,COLUMN" of each patch, counted from 0.
std::vector<std::string> query_names(const AttentionMap& map, const Maps& maps,
                                     const MapChoice& choice) {
  std::vector<std::string> labels = Labels::of_sample(map.labels.query, choice.sample);
  const std::optional<std::string>& asked = choice.selection.query;
  const bool known = !labels.empty() && (!asked || std::ranges::count(labels, *asked) > 0);
  if (known || !map.picture || maps.queries() != maps.keys()) return labels;
  const std::size_t before = maps.keys() - map.picture->patches();
  std::vector<std::string> names;
  for (std::size_t i = 0; i < maps.queries(); ++i) {
    const std::size_t patch = i - before;
    names.push_back(i < before ? translated("Query {1}", i) : patch_name(*map.picture, patch));
  }
  const bool patch = asked && std::ranges::count(names, *asked) > 0;
  return labels.empty() || patch ? names : labels;
}

}  // namespace

AttentionMap asked_rows(const AttentionMap& map, const MapChoice& choice) {
  const Maps maps(map.numbers, map.heads_only);
  const std::vector<std::string> labels = query_names(map, maps, choice);
  const Positions queries = asked_queries(choice.selection, maps.queries(), labels);
  std::vector<double> rows(maps.samples() * maps.heads() * maps.keys(), 0);
  for (std::size_t i = 0; i < maps.samples() * maps.heads(); ++i) {
    const Tensor part = part_of(maps.matrix(i / maps.heads(), i % maps.heads()),
                                queries.first * maps.keys(), {queries.count(), maps.keys()})
                            .converted(DType::float64);
    const auto values = part.values<double>();
    double* row = rows.data() + i * maps.keys();
    for (std::size_t j = 0; j < values.size(); ++j) {
      row[j % maps.keys()] += values[j] / static_cast<double>(queries.count());
    }
  }
  AttentionMap asked = map;
  asked.numbers = Tensor({maps.samples(), maps.heads(), 1, maps.keys()}, std::move(rows));
  asked.heads_only = false;
  asked.allowed = asked.scores = asked.capped = asked.masked = Tensor();
  const bool one = queries.count() == 1 && !labels.empty();
  asked.labels.query = {{one ? labels[queries.first] : ""}};
  return asked;
}

Picture draw_map_overlay(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  check_picture(map);
  const AttentionMap row = row_of(drawing.of[0], drawing.choice);
  PictureOverlay overlay = overlay_of(row, drawing.choice.sample);
  LayerPanels layer = layer_panels(row, drawing.choice);
  overlay.columns = layer.panels.size();
  overlay.panels = std::move(layer.panels);
  overlay.other_names = std::move(layer.others);
  overlay.query = layer.query;
  const std::string title = shown_title(map.title);
  const std::string what = map.is_rollout()
                               ? translated("Attention Rollout") + ": " + query_text(row)
                           : map.holds_weights() ? query_text(row)
                                                 : map.tensor + ": " + query_text(row);
  // Maps such as a rollout belong to no head.
  const bool of_head =
      (map.holds_weights() && !map.is_rollout()) || map.heads_only || map.numbers.rank() > 3;
  std::string place = layer.place;
  if (!of_head) {
    place = layer.where;
    if (map.first_number() > 0 || map.numbers.shape()[0] > 1) {
      place += (place.empty() ? "" : translated(", ")) +
               translated("Sample {1}", drawing.choice.sample + map.first_number());
    }
    if (!place.empty()) place = translated("({1})", place);
  }
  overlay.title = (title.empty() ? "" : title + "\n") + what + (place.empty() ? "" : "\n" + place);
  return draw_overlay(overlay, options_for(drawing, map).overlay(), drawing.format);
}

Picture draw_overlay_grid(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  check_picture(map);
  const AttentionMap first = row_of(drawing.of[0], drawing.choice);
  PictureOverlay overlay = overlay_of(first, drawing.choice.sample);
  MapChoice choice = drawing.choice;
  const bool together = heads_together(choice.selection);
  // Rows of panels have as many heads; where layers have not, each is one panel, the mean of its
  // own.
  const std::size_t heads = Maps(map.numbers, map.heads_only).heads();
  const bool alike = std::ranges::all_of(drawing.of, [&](const DrawnMap& drawn) {
    return Maps(drawn.map.numbers, drawn.map.heads_only).heads() == heads;
  });
  if (!together)
    choice.selection.heads = alike ? MapSelection::Shown::all : MapSelection::Shown::mean;
  bool merged = false;
  for (const DrawnMap& drawn : drawing.of) {
    const AttentionMap row = row_of(drawn, drawing.choice);
    LayerPanels layer = layer_panels(row, choice);
    overlay.columns = layer.panels.size();
    overlay.other_names = std::move(layer.others);
    overlay.query = layer.query;
    if (row.picture && row.picture->patch > overlay.patch) {
      const Shape first_shape{first.picture->rows, first.picture->columns};
      for (PictureOverlay::Panel& panel : layer.panels) {
        spread(panel, first_shape, row.picture->patch / overlay.patch);
      }
      merged = true;
    }
    if (!alike) layer.panels.front().patches.title = layer.where;
    overlay.panels.insert(overlay.panels.end(), layer.panels.begin(), layer.panels.end());
    if (drawing.of.size() > 1 && alike) {
      const std::optional<std::size_t> number = drawn.map.name.layer();
      overlay.row_titles.push_back(number ? translated("Layer {1}", *number) : layer.where);
    }
  }
  constexpr std::size_t most_columns = 4;
  if (!alike) overlay.columns = std::min(overlay.panels.size(), most_columns);
  if (merged) overlay.query.reset();  // its patch is another one in each grid
  const std::string title = shown_title(map.title);
  overlay.title = (title.empty() ? "" : title + "\n") + query_text(first);
  if (!alike && !together) overlay.title += "\n" + translated("(mean of each layer's heads)");
  return draw_overlay(overlay, options_for(drawing, map).overlay(), drawing.format);
}

}  // namespace attn
