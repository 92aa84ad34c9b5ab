#include <array>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "pictures/dimension_chart.hpp"
#include "pictures/drawable.hpp"
#include "pictures/mask_picture.hpp"
#include "pictures/stages_picture.hpp"
#include "pictures/weights_picture.hpp"
#include "result/provenance.hpp"
#include "result/tensor_meaning.hpp"
#include "support/atomic_file.hpp"
#include "support/mapped_file.hpp"
#include "support/names_option.hpp"

namespace attn {
namespace {

SelectedMaps selected(const DrawableMaps& maps, const PlotRequest& request,
                      const Drawable& drawable) {
  maps.weights.check(request.sample, request.head);
  return {maps.weights,   maps.hidden(), drawable.labels,  drawable.title,
          request.sample, request.head,  request.selection};
}

void check_is_map(const Drawable& drawable) {
  if (is_map(drawable.tensor)) return;
  throw input_error("\"" + drawable.tensor + "\" is no map of queries and keys",
                    "PlotRequest::name", "draw it as a heatmap");
}

Heatmap heatmap_of(const Drawable& drawable, const SelectedMaps& chosen) {
  return is_map(drawable.tensor) ? selected_heatmap(chosen)
                                 : plain_heatmap(drawable.tensor, chosen);
}

// What of the chosen sample is drawn side by side: all heads, or the one map that is chosen.
std::vector<Heatmap> heads_of(const Drawable& drawable, const SelectedMaps& chosen) {
  if (chosen.selection.heads != MapSelection::Heads::all) return {heatmap_of(drawable, chosen)};
  if (is_map(drawable.tensor)) return selected_heads(chosen).panels;
  std::vector<Heatmap> heads;
  for (std::size_t head = 0; head < chosen.weights.heads(); ++head) {
    heads.push_back(
        plain_heatmap(drawable.tensor, {chosen.weights, chosen.allowed, chosen.labels, chosen.title,
                                        chosen.sample, head, chosen.selection}));
    if (chosen.weights.heads() > 1) heads.back().title = "Head " + std::to_string(head + 1);
  }
  return heads;
}

// An error of the request is no error of the file.
Error placed(const Error& error, const Drawable& drawable) {
  return names_option(error.where()) ? error : error.inside(drawable.name);
}

Picture draw_dimension_chart(const PlotRequest& request, const Drawable& drawable) {
  const DimensionChart chart = dimension_chart(drawable.shapes);
  if (chart.query.empty() && chart.key.empty() && chart.value.empty() && chart.output.empty()) {
    throw input_error("there are no shapes to draw", "",
                      "give a result, {\"shapes\": {\"query\": [3,4], …}}, or a file with "
                      "tensors named query, key, "
                      "value and output");
  }
  return draw_dimensions(chart, request.options, request.format);
}

// From a document or, without the reasons, from a result.
Picture draw_known_mask(const PlotRequest& request, const Drawable& drawable) {
  if (drawable.mask) return draw_mask(*drawable.mask, request.options, request.format);
  check_is_map(drawable);
  if (!drawable.allowed) {
    throw input_error("there is no mask to draw", "",
                      "give an input document, or a result with the tensor \"allowed\"");
  }
  Drawable mask = drawable;
  mask.weights = drawable.allowed;
  const DrawableMaps maps = maps_of(mask);
  MapSelection selection = request.selection;
  selection.hide_mask = selection.merge_pieces = selection.renormalize = false;
  SelectedMaps all = selected(maps, request, mask);
  const SelectedMaps chosen{all.weights, all.allowed, all.labels, all.title,
                            all.sample,  all.head,    selection};
  const std::string title = drawable.title.empty() ? "" : drawable.title + "\n";
  return draw_mask(
      mask_map(selected_heatmap(chosen), title + "Attention Mask " + place_text(chosen)),
      request.options, request.format);
}

Picture draw_known_stages(const PlotRequest& request, const Drawable& drawable) {
  check_is_map(drawable);
  const DrawableMaps maps = maps_of(drawable);
  if (!drawable.scores) {
    throw input_error("there are no stages to draw", "",
                      "compute the result with run() and RunOptions::stages, or draw them with "
                      "run() and RunOptions::plots stages");
  }
  for (const Tensor* stage : {&drawable.scores, &drawable.capped, &drawable.masked}) {
    if (*stage && stage->shape() != drawable.weights.shape()) {
      throw input_error("a stage " + text(stage->shape()) +
                            " does not have the shape of the weights " +
                            text(drawable.weights.shape()),
                        "/tensors", "give all the same shape");
    }
  }
  const SelectedMaps chosen = selected(maps, request, drawable);
  const Stages stages{drawable.scores, drawable.capped, drawable.masked, drawable.weights,
                      drawable.allowed};
  return draw_stages(stages_grid(stages, {}, chosen), chosen, request.options, request.format);
}

// The name of a file, or of its folder where files are told apart by that.
std::vector<std::string> names_of(const std::vector<std::filesystem::path>& paths) {
  std::vector<std::string> names;
  names.reserve(paths.size());
  for (const std::filesystem::path& path : paths) names.push_back(path.stem().string());
  for (const std::string& name : names) {
    if (name == names[0]) continue;
    return names;
  }
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string folder = paths[i].parent_path().filename().string();
    if (!folder.empty()) names[i] = folder;
  }
  return names;
}

Picture draw_files(PlotRequest request, const Provenance& provenance, const FileAccess& access) {
  std::vector<std::filesystem::path> paths{request.input};
  paths.insert(paths.end(), request.others.begin(), request.others.end());
  const std::vector<std::string> names = names_of(paths);
  std::vector<std::vector<Heatmap>> columns;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    PlotRequest one = request;
    one.input = paths[i];
    const Drawable drawable = read_drawable(one, access);
    try {
      const DrawableMaps maps = maps_of(drawable);
      const SelectedMaps chosen = selected(maps, one, drawable);
      columns.push_back(heads_of(drawable, chosen));
      if (!is_map(drawable.tensor)) name_plain_axes(request.options);
      for (Heatmap& panel : columns.back()) {
        const bool several = columns.back().size() > 1;
        panel.title = several ? names[i] + ": " + panel.title : names[i];
      }
      if (columns.back().size() != columns[0].size() ||
          columns.back()[0].weights.shape() != columns[0][0].weights.shape()) {
        throw input_error(
            "the weights have another shape than those of " + paths[0].string(), "",
            "compare weights of one shape, or choose equal parts with MapSelection::queries and "
            "MapSelection::keys");
      }
    } catch (const Error& error) {
      throw placed(error, drawable);
    }
  }
  if (request.provenance) request.options.provenance = provenance.text();
  return draw_comparison(columns, request.options, request.format);
}

Picture draw(const PlotRequest& request, const Drawable& drawable) {
  switch (request.kind) {
    case PlotKind::dimensions:
      return draw_dimension_chart(request, drawable);
    case PlotKind::mask:
      return draw_known_mask(request, drawable);
    case PlotKind::stages:
      return draw_known_stages(request, drawable);
    default:
      break;
  }
  if (request.kind != PlotKind::heatmap) check_is_map(drawable);
  const DrawableMaps maps = maps_of(drawable);
  const SelectedMaps chosen = selected(maps, request, drawable);
  if (!is_map(drawable.tensor)) {
    return draw_plain_tensors(drawable.tensor, heads_of(drawable, chosen), request.options,
                              request.format);
  }
  PlotOptions options = request.options;
  if (request.kind == PlotKind::heatmap && !options.title &&
      !drawable.tensor.ends_with("weights")) {
    options.title = drawable.tensor + " " + place_text(chosen);
  }
  if (!options.colorbar_label) options.colorbar_label = meaning_of_values(drawable.tensor);
  return draw_weights(request.kind, chosen, options, request.format);
}

Picture plotted(PlotRequest request, FileAccess access) {
  Provenance provenance;
  if (request.provenance) provenance.watch(access);
  if (request.kind == PlotKind::comparison) return draw_files(request, provenance, access);
  const Drawable drawable = read_drawable(request, access);
  if (request.provenance) request.options.provenance = provenance.text();
  try {
    return draw(request, drawable);
  } catch (const Error& error) {
    throw placed(error, drawable);
  }
}

}  // namespace

Picture draw(const PlotRequest& request) {
  return with_whole_files(request.files,
                          [&](const FileAccess& access) { return plotted(request, access); });
}

Heatmap read_heatmap(const PlotRequest& request) {
  return with_whole_files(request.files, [&](const FileAccess& access) {
    const Drawable drawable = read_drawable(request, access);
    try {
      const DrawableMaps maps = maps_of(drawable);
      return heatmap_of(drawable, selected(maps, request, drawable));
    } catch (const Error& error) {
      throw placed(error, drawable);
    }
  });
}

std::span<const PlotKindInfo> plot_kinds() noexcept {
  static constexpr auto kinds = std::to_array<PlotKindInfo>(
      {{PlotKind::heatmap, "heatmap", "one matrix of weights, or all heads side by side"},
       {PlotKind::dimensions, "dimensions", "lengths and widths of query, key, value and output"},
       {PlotKind::grid, "grid", "a heatmap for each sample and head, or for each layer and head"},
       {PlotKind::mask, "mask", "which keys each query sees, and what hides the others"},
       {PlotKind::stages, "stages", "the way from scores to weights, step by step"},
       {PlotKind::lines, "lines", "two columns of tokens with lines between them for the weights"},
       {PlotKind::comparison, "comparison", "heatmaps of several files or kinds on one scale",
        true}});
  return kinds;
}

PictureFormat picture_format(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  std::string known;
  for (const auto& [name, format] : picture_formats()) {
    if (extension == "." + std::string(name)) return format;
    const bool last = name == picture_formats().back().name;
    known += (known.empty() ? "." : last ? " or ." : ", .") + std::string(name);
  }
  throw input_error(extension.empty()
                        ? "\"" + path.string() + "\" has no extension that names a picture format"
                        : "unsupported picture format \"" + extension + "\"",
                    "picture_format()", "name a file that ends in " + known);
}

void write_picture(const Picture& picture, const std::filesystem::path& path) {
  write_whole_file(path, picture.bytes, Existing::followed);
}

}  // namespace attn
