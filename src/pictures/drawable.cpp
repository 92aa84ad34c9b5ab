#include "pictures/drawable.hpp"

#include "attn/error.hpp"

#include "result/tensor_meaning.hpp"
#include "support/count_text.hpp"
#include "support/names_option.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

void check_labels(const Labels& labels, const Maps& maps) {
  const auto check = [&](const std::vector<std::vector<std::string>>& lists, std::size_t length,
                         const char* axis) {
    if (lists.size() > 1 && lists.size() != maps.samples()) {
      throw input_error(count_text(lists.size(), "list") + " of labels for " +
                            count_text(maps.samples(), "sample"),
                        std::string("/labels/") + axis,
                        "give one list for all samples, or one list a sample");
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
    throw input_error("there are no weights to draw", "",
                      "give a result with weights, {\"weights\": …}, or a file with one tensor");
  }
  DrawableMaps maps{Maps(drawable.weights, drawable.heads_only), {}};
  if (!is_map(drawable.tensor)) return maps;
  check_labels(drawable.labels, maps.weights);
  if (drawable.allowed) {
    // What all heads see may be given once.
    Shape once = drawable.weights.shape();
    if (once.size() == 4) once[1] = 1;
    if (drawable.allowed.shape() != drawable.weights.shape() && drawable.allowed.shape() != once) {
      throw input_error("allowed " + text(drawable.allowed.shape()) +
                            " does not have the shape of the weights " +
                            text(drawable.weights.shape()),
                        "/allowed", "give both the same shape");
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
          drawing.selection, where_of(drawable.tensor)};
}

Heatmap heatmap_of(const Drawable& drawable, const SelectedMaps& maps) {
  if (drawable.chosen) return *drawable.chosen;
  if (!is_map(drawable.tensor)) return heatmap_of_positions(drawable.tensor, maps);
  Heatmap heatmap = selected_heatmap(maps);
  heatmap.any_numbers = !drawable.tensor.ends_with("weights");
  if (!drawable.cells.empty()) heatmap.title += "\n" + drawable.cells;
  return heatmap;
}

std::vector<Heatmap> heads_of(const Drawable& drawable, const SelectedMaps& maps) {
  if (maps.selection.heads != MapSelection::Heads::all) return {heatmap_of(drawable, maps)};
  if (is_map(drawable.tensor)) return selected_heads(maps).panels;
  std::vector<Heatmap> heads;
  for (std::size_t head = 0; head < maps.weights.heads(); ++head) {
    heads.push_back(heatmap_of_positions(
        drawable.tensor,
        {maps.weights, maps.allowed, maps.labels, maps.title, maps.sample, head, maps.selection}));
    if (maps.weights.heads() > 1) heads.back().title = translated("Head {1}", head + 1);
  }
  return heads;
}

void check_is_map(const Drawable& drawable) {
  if (is_map(drawable.tensor)) return;
  throw input_error("\"" + drawable.tensor + "\" is no map of queries and keys",
                    "PlotRequest::name", "draw it as a heatmap");
}

Error placed(const Error& error, const Drawable& drawable) {
  return names_option(error.where()) ? error : error.inside(drawable.name);
}

}  // namespace attn
