#include <string>

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "run/dimension_chart.hpp"
#include "run/drawable.hpp"
#include "support/atomic_file.hpp"

namespace attn {
namespace {

Heatmap chosen(const DrawableMaps& maps, const PlotRequest& request, const Drawable& drawable) {
  maps.weights.check(request.sample, request.head);
  return chosen_heatmap(maps.weights, maps.hidden(), drawable.labels, drawable.title,
                        request.sample, request.head);
}

// A flag's error speaks of the command line, not of the file.
Error placed(const Error& error, const Drawable& drawable) {
  return error.where().starts_with("--") ? error : error.inside(drawable.name);
}

Picture draw(const PlotRequest& request, const Drawable& drawable) {
  if (request.kind == PlotKind::dimensions) {
    const DimensionChart chart = dimension_chart(drawable.shapes);
    if (chart.query.empty() && chart.key.empty() && chart.value.empty() && chart.output.empty()) {
      throw input_error("there are no shapes to draw", "",
                        "give a result, {\"shapes\": {\"query\": [3,4], …}}, or a file with "
                        "tensors named query, key, "
                        "value and output");
    }
    return draw_dimensions(chart, request.options, request.format);
  }
  const DrawableMaps maps = maps_of(drawable);
  if (request.kind == PlotKind::grid) {
    return draw_grid(all_heatmaps(maps.weights, maps.hidden(), drawable.labels), request.options,
                     request.format);
  }
  return draw_heatmap(chosen(maps, request, drawable), request.options, request.format);
}

}  // namespace

Picture plot(const PlotRequest& request) {
  const Drawable drawable = read_drawable(request);
  try {
    return draw(request, drawable);
  } catch (const Error& error) {
    throw placed(error, drawable);
  }
}

Heatmap read_heatmap(const PlotRequest& request) {
  const Drawable drawable = read_drawable(request);
  try {
    return chosen(maps_of(drawable), request, drawable);
  } catch (const Error& error) {
    throw placed(error, drawable);
  }
}

PictureFormat picture_format(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".png") return PictureFormat::png;
  if (extension == ".svg") return PictureFormat::svg;
  if (extension == ".pdf") return PictureFormat::pdf;
  throw input_error(extension.empty()
                        ? "\"" + path.string() + "\" has no extension that names a picture format"
                        : "unsupported picture format \"" + extension + "\"",
                    "--out", "name a file that ends in .png, .svg or .pdf");
}

void write_picture(const Picture& picture, const std::filesystem::path& path) {
  write_whole_file(path, picture.bytes);
}

}  // namespace attn
