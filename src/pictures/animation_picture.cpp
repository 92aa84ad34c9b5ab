#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "pictures/drawing.hpp"
#include "plot/axes/keys.hpp"
#include "plot/canvas/picture_files.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr std::pair<double, double> map_size = {8, 6.6}, text_size = {8, 3};  // inches
constexpr double usual_dpi = 100, seconds = 0.8;
constexpr std::size_t most_frames = 500;
constexpr std::size_t few_keys = 12;  // whose weights are shown on the whole range from 0 to 1

// The largest finite number, which colours end at; others have no colour.
double largest(const Tensor& numbers) {
  const Tensor converted = numbers.converted(DType::float64);
  double most = 0;
  for (const double number : converted.values<double>()) {
    if (std::isfinite(number)) most = std::max(most, number);
  }
  return most;
}

// Options of all frames: one size, and one range from 0 to the largest weight of any frame.
PlotOptions options_of_frames(const Drawing& drawing, std::pair<double, double> size,
                              double largest_weight, std::size_t keys) {
  PlotOptions options = options_for(drawing, drawing.of[0].map);
  FigureOptions& figure = options.figure;
  if (!figure.figsize) figure.figsize = size;
  figure.exact_size = true;
  if (figure.dpi == FigureOptions().dpi) figure.dpi = usual_dpi;
  if (options.colors.range.scope != ColorRange::Scope::given && largest_weight > 0) {
    const bool whole = keys <= few_keys && largest_weight <= 1;
    options.colors.range = {ColorRange::Scope::given, 0, whole ? 1 : largest_weight};
  }
  return options;
}

void check_count(std::size_t frames) {
  if (frames <= most_frames) return;
  throw input_error(translated("an animation of {1} frames", frames), "MapSelection::queries",
                    translated("choose at most {1} queries or layers", most_frames));
}

std::vector<Picture> drawn(std::size_t count, const Drawing& drawing, const auto& draw) {
  std::vector<Picture> frames(count);
  parallel_for(count, drawing.options.figure.threads, [&](std::size_t i) { frames[i] = draw(i); });
  return frames;
}

// The map of each layer.
std::vector<Picture> layers(const Drawing& drawing) {
  std::vector<Heatmap> maps;
  double most = 0;
  for (const DrawnMap& layer : drawing.of) {
    maps.push_back(heatmap_of(SelectedMap(layer.map, drawing.choice)));
    most = std::max(most, largest(maps.back().weights));
  }
  PlotOptions options = options_of_frames(drawing, map_size, most, maps[0].weights.shape()[1]);
  std::vector<plot::Matrix> shown;
  for (const Heatmap& map : maps) {
    shown.emplace_back(map, "weights");
    shown.back().leave_out(options.heatmap().cells);
  }
  const plot::FrameParts parts = plot::frame_parts(shown, !maps[0].any_numbers, options.colors,
                                                   options.figure, options.heatmap().cells);
  options.figure.frames = &parts;
  return drawn(maps.size(), drawing, [&](std::size_t i) {
    return draw_heatmap(maps[i], options.heatmap(), drawing.format);
  });
}

// What the strips of all rows of a map show.
plot::FrameParts parts_of(const SelectedMap& selected, const Heatmap& all,
                          const PlotOptions& options) {
  Heatmap cells;
  cells.weights = all.weights;
  cells.allowed = all.allowed;
  const plot::Matrix matrix(cells, "weights");
  plot::FrameParts parts =
      plot::frame_parts({&matrix, 1}, !all.any_numbers, options.colors, options.figure);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < matrix.rows(); ++i) {
    std::string title = token_strip(selected, row_of(all, i)).title;
    if (display_width(title) <= longest) continue;
    longest = display_width(title);
    parts.longest_title = std::move(title);
  }
  return parts;
}

// The text with the weights of each query in turn.
std::vector<Picture> queries(const Drawing& drawing) {
  PlotRequest strips;
  strips.kind = PlotKind::strip;
  strips.options = drawing.options;
  check_options(strips);
  const SelectedMap selected(drawing.of[0].map, drawing.choice);
  const Heatmap all = selected_heatmap(selected);
  const std::size_t count = all.weights.shape()[0];
  check_count(count);
  const PlotOptions options =
      options_of_frames(drawing, text_size, largest(all.weights), all.weights.shape()[1]);
  const plot::FrameParts parts = parts_of(selected, all, options);
  StripOptions strip = options.strip();
  strip.figure.frames = &parts;
  strip.fills = drawing.options.figure.figsize && drawing.options.figure.figsize->second > 0;
  return drawn(count, drawing, [&](std::size_t i) {
    return draw_strip(token_strip(selected, row_of(all, i)), strip, drawing.format);
  });
}

}  // namespace

std::vector<Picture> animation_frames(const Drawing& drawing) {
  check_is_map(drawing.of[0].map);
  check_count(drawing.of.size());
  return drawing.of.size() > 1 ? layers(drawing) : queries(drawing);
}

Picture draw_animation(const Drawing& drawing) {
  if (drawing.format != PictureFormat::png) {
    throw Error(ErrorKind::usage, translated("an animation is a PNG file"), "PlotRequest::format",
                translated("name a file that ends in .png, or a folder for its frames"));
  }
  std::vector<Picture> frames = animation_frames(drawing);
  std::vector<std::string> files;
  files.reserve(frames.size());
  for (Picture& frame : frames) files.push_back(std::move(frame.bytes));
  Picture animation = std::move(frames[0]);
  animation.bytes = plot::animated_png(files, seconds);
  return animation;
}

}  // namespace attn
