#include "maps/attention_map.hpp"

#include "attn/error.hpp"

#include "support/names_option.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

void check_labels(const Labels& labels, const Maps& maps) {
  const auto check = [&](const std::vector<std::vector<std::string>>& lists, std::size_t length,
                         const char* axis) {
    if (lists.size() > 1 && lists.size() != maps.samples()) {
      throw input_error(translated("{1} of labels for {2}",
                                   translated_count(lists.size(), "{1} list", "{1} lists"),
                                   translated_count(maps.samples(), "{1} sample", "{1} samples")),
                        std::string("/labels/") + axis,
                        translated("give one list for all samples, or one list a sample"));
    }
    for (const auto& list : lists) check_label_count(list.size(), length, axis);
  };
  check(labels.query, maps.queries(), "query");
  check(labels.key, maps.keys(), "key");
}

std::vector<std::string> numbers(std::size_t first, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) names.push_back(std::to_string(first + i));
  return names;
}

// One matrix of a tensor whose rows and columns are positions and dimensions.
Heatmap heatmap_of_positions(const std::string& name, const SelectedMaps& maps) {
  const MapSelection& selection = maps.selection;
  if (selection.merge_pieces || selection.renormalize || selection.drop_first > 0 ||
      !selection.drop.empty()) {
    throw input_error(
        translated("\"{1}\" has no keys", name), "PlotRequest::name",
        translated(
            "leave out MapSelection::drop_first, MapSelection::drop, MapSelection::renormalize and "
            "MapSelection::merge_pieces, or say with PlotRequest::axes that it is a map"));
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
  heatmap.of_positions = heatmap.any_numbers = true;
  if (maps.weights.heads() > 1) {
    heatmap.title += " " + place_text(maps);
  } else if (maps.weights.samples() > 1) {
    heatmap.title += " " + translated("({1})", translated("Sample {1}", maps.sample + 1));
  }
  return heatmap;
}

}  // namespace

DrawableMaps maps_of(const Drawable& drawable) {
  if (!drawable.weights) {
    throw input_error(
        translated("there are no weights to draw"), "",
        translated("give a result with weights, {\"weights\": …}, or a file with one tensor"));
  }
  DrawableMaps maps{Maps(drawable.weights, drawable.heads_only), {}};
  if (!drawable.is_map()) return maps;
  check_labels(drawable.labels, maps.weights);
  if (drawable.allowed) {
    // What all heads see may be given once.
    Shape once = drawable.weights.shape();
    if (once.size() == 4) once[1] = 1;
    if (drawable.allowed.shape() != drawable.weights.shape() && drawable.allowed.shape() != once) {
      throw input_error(translated("allowed {1} does not have the shape of the weights {2}",
                                   text(drawable.allowed.shape()), text(drawable.weights.shape())),
                        "/allowed", translated("give both the same shape"));
    }
    maps.allowed.emplace(drawable.allowed, drawable.heads_only);
  }
  return maps;
}

SelectedMaps selected(const DrawableMaps& maps, const Drawing& drawing, const Drawable& drawable) {
  maps.weights.check(drawing.sample, drawing.head);
  return {maps.weights,      maps.allowed ? &*maps.allowed : nullptr,
          drawable.labels,   drawable.title,
          drawing.sample,    drawing.head,
          drawing.selection, drawable.where.empty() ? where_of(drawable.tensor) : drawable.where};
}

Heatmap heatmap_of(const Drawable& drawable, const SelectedMaps& maps) {
  if (drawable.chosen) return *drawable.chosen;
  if (!drawable.is_map()) return heatmap_of_positions(drawable.tensor, maps);
  Heatmap heatmap = selected_heatmap(maps);
  heatmap.any_numbers = !drawable.holds_weights();
  if (!drawable.cells.empty()) heatmap.title += "\n" + drawable.cells;
  return heatmap;
}

std::vector<Heatmap> heads_of(const Drawable& drawable, const SelectedMaps& maps) {
  if (maps.selection.heads != MapSelection::Heads::all) return {heatmap_of(drawable, maps)};
  if (drawable.is_map()) return selected_heads(maps).panels;
  std::vector<Heatmap> heads;
  for (const std::size_t head : drawn_heads(maps)) {
    heads.push_back(heatmap_of_positions(
        drawable.tensor,
        {maps.weights, maps.allowed, maps.labels, maps.title, maps.sample, head, maps.selection}));
    if (maps.weights.heads() > 1) heads.back().title = translated("Head {1}", head + 1);
  }
  return heads;
}

std::optional<std::string> merging_warning(const Drawing& drawing) {
  const Drawable& drawable = drawing.of[0];
  if (!drawing.selection.merge_pieces || !drawable.is_map() || !drawable.weights) {
    return std::nullopt;
  }
  const DrawableMaps maps = maps_of(drawable);
  const Heatmap merged = selected_heatmap(selected(maps, drawing, drawable));
  MapSelection apart = drawing.selection;
  apart.merge_pieces = false;
  Drawing whole{{}, drawing.sample, drawing.head, apart, {}, {}};
  const Heatmap pieces = selected_heatmap(selected(maps, whole, drawable));
  if (merged.weights.shape() != pieces.weights.shape()) return std::nullopt;
  return translated(
      "nothing was merged: no label bears the mark of a piece of a word, such as ##, Ġ or ▁; "
      "MapSelection::words says which pieces make a word where there are no marks");
}

void check_is_map(const Drawable& drawable) {
  if (drawable.is_map()) return;
  throw input_error(
      translated("\"{1}\" is no map of queries and keys", drawable.tensor), "PlotRequest::name",
      translated("draw it as a heatmap, or say with PlotRequest::axes that it is a map"));
}

Error placed(const Error& error, const Drawable& drawable) {
  return names_option(error.where()) ? error : error.inside(drawable.name);
}

}  // namespace attn
