#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "pictures/drawing.hpp"
#include "plot/colour/colour.hpp"
#include "result/tensor_names.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

Shape leading(const Shape& shape) {
  return {shape.begin(), shape.end() - 2};
}

// Matrix of the tensor in which the element is.
Tensor matrix(const Tensor& tensor, const Shape& index) {
  const Shape& shape = tensor.shape();
  std::size_t number = 0;
  for (std::size_t axis = 0; axis + 2 < shape.size(); ++axis)
    number = number * shape[axis] + index[axis];
  const Shape last(shape.end() - 2, shape.end());
  return part_of(tensor, number * element_count(last), last).converted(DType::float64);
}

std::vector<std::string> fitting(const std::vector<std::vector<std::string>>& lists,
                                 std::size_t sample, std::size_t count) {
  const auto labels = Labels::of_sample(lists, sample);
  return labels.size() == count ? labels : std::vector<std::string>{};
}

// a − b of matrices of float64, with zero where both are NaN or the same infinity.
Tensor difference_of(const Tensor& a, const Tensor& b) {
  const auto x = a.values<double>(), y = b.values<double>();
  std::vector<double> differences(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool alike = x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]));
    differences[i] = alike ? 0 : x[i] - y[i];
  }
  return Tensor(a.shape(), std::move(differences));
}

// Cells of either of two masks of one shape.
Tensor either(const Tensor& a, const Tensor& b) {
  const Tensor one = a.converted(DType::boolean), other = b.converted(DType::boolean);
  const auto x = one.values<std::uint8_t>(), y = other.values<std::uint8_t>();
  std::vector<std::uint8_t> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = x[i] != 0 || y[i] != 0 ? 1 : 0;
  return Tensor(a.shape(), std::move(result));
}

// Largest distance of a finite number from zero, within the possible ends of a range; 1 if all are
// zero.
double largest_finite(std::span<const Heatmap> maps) {
  constexpr double most = 4e307;  // a range may have this end
  double largest = 0;
  for (const Heatmap& map : maps) {
    for (const double number : map.weights.values<double>()) {
      if (std::isfinite(number)) largest = std::max(largest, std::abs(number));
    }
  }
  return largest > 0 ? std::min(largest, most) : 1;
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

}  // namespace

std::string pictured_name(const DifferenceMap& map) {
  const Shape before = leading(map.index);
  return (map.name.empty() ? translated("the array") : map.name) +
         (before.empty() ? "" : text(before));
}

Picture draw_difference(const DifferenceMap& map, PictureFormat format, double dpi,
                        const std::string& provenance) {
  Heatmap heatmap;
  heatmap.weights = difference_of(matrix(map.a, map.index), matrix(map.b, map.index));
  heatmap.title = translated("Difference A − B of {1}", pictured_name(map));
  heatmap.any_numbers = true;
  HeatmapOptions options;
  options.colors.cmap = "RdBu_r";
  options.figure.dpi = dpi;
  options.figure.provenance = provenance;
  options.colors.bar_label = "A − B";
  const double end = largest_finite({&heatmap, 1});
  options.colors.range = {ColorRange::Scope::given, -end, end};
  // An array without a name may be weights, too.
  if (is_map(map.name) ||
      (map.name.empty() && has_rows_of_weights(map.a) && has_rows_of_weights(map.b))) {
    const std::size_t sample = map.index.size() > 2 ? map.index[0] : 0;
    heatmap.query_labels = fitting(map.labels.query, sample, heatmap.weights.shape()[0]);
    heatmap.key_labels = fitting(map.labels.key, sample, heatmap.weights.shape()[1]);
  } else {
    options.figure.xlabel = translated("Column");
    options.figure.ylabel = translated("Row");
    options.figure.ticks = Ticks::index;
  }
  return draw_heatmap(heatmap, options, format);
}

namespace {

// The map of each file or, of one file, those that the choice names: those of its two layers, or
// its two heads or samples.
std::vector<std::vector<Heatmap>> sides_of(const Drawing& drawing) {
  std::vector<std::vector<Heatmap>> sides;
  for (const DrawnMap& drawn : drawing.of) {
    try {
      sides.push_back(maps_of(drawn, SelectedMap(drawn.map, drawing.choice)));
    } catch (const Error& error) {
      throw placed(error, drawn.map);
    }
  }
  if (sides.size() > 1) return sides;
  if (sides[0].size() != 2) {
    throw placed(
        input_error(translated("a difference is of two maps, not of {1}", sides[0].size()), "",
                    translated("give two files, or two heads, samples or layers of one, such as "
                               "MapSelection::chosen_heads 0,1")),
        drawing.of[0].map);
  }
  return {{sides[0][0]}, {sides[0][1]}};
}

// Where a map stands, but for what tells both sides of a difference within one file apart.
std::string common_place(const SelectedMap& selected) {
  const MapSelection& choice = selected.choice.selection;
  std::vector<std::string> parts{selected.where};
  const bool samples = selected.first_number > 0 || selected.numbers.samples() > 1;
  if (samples && choice.samples != MapSelection::Shown::all)
    parts.push_back(samples_text(selected));
  if (choice.heads != MapSelection::Shown::all) parts.push_back(heads_text(selected));
  std::string place;
  for (const std::string& part : parts) {
    if (!part.empty()) place += (place.empty() ? "" : translated(", ")) + part;
  }
  return place.empty() ? "" : translated("({1})", place);
}

// What is drawn, "a − b", and where it stands.
struct DifferenceTexts {
  std::string sign, place;
};
DifferenceTexts texts_of(const Drawing& drawing, const std::vector<std::vector<Heatmap>>& sides) {
  const DrawnMap &a = drawing.of.front(), &b = drawing.of.back();
  SelectedMap first(a.map, drawing.choice);
  if (drawing.of.size() == 1)
    return {sides[0][0].title + " − " + sides[1][0].title, common_place(first)};
  const std::string place = is_map(a.map.tensor) ? place_text(first) : a.map.tensor;
  if (a.column != b.column) return {a.column + " − " + b.column, place};
  const SelectedMap second(b.map, drawing.choice);
  if (a.map.file != b.map.file || first.where == second.where) return {"A − B", place};
  const std::string sign = first.where + " − " + second.where;
  first.where.clear();
  return {sign, place_text(first)};
}

// Refuses maps that cannot be subtracted from each other, as many and as large as they are.
void check_sizes(const std::vector<std::vector<Heatmap>>& sides, const std::string& other,
                 const AttentionMap& place) {
  if (sides[0].size() != sides[1].size()) {
    const auto count_text = [](std::size_t count) {
      return translated_count(count, "{1} map", "{1} maps");
    };
    throw placed(
        input_error(
            translated("{1} here, and {2} in {3}", count_text(sides[1].size()),
                       count_text(sides[0].size()), other),
            "", translated("choose as many maps of each, such as MapSelection::chosen_heads 0")),
        place);
  }
  const Shape &shape = sides[1][0].weights.shape(), &wanted = sides[0][0].weights.shape();
  if (shape == wanted) return;
  throw placed(
      input_error(translated("the weights have the shape {1}, those of {2} have {3}", text(shape),
                             other, text(wanted)),
                  "",
                  translated("give maps of one shape, or choose equal parts, such as "
                             "MapSelection::queries 0:{1} MapSelection::keys 0:{2}",
                             std::min(shape[0], wanted[0]), std::min(shape[1], wanted[1]))),
      place);
}

}  // namespace

Picture draw_difference(const Drawing& drawing) {
  std::vector<std::vector<Heatmap>> sides = sides_of(drawing);
  const DifferenceTexts texts = texts_of(drawing, sides);
  const DrawnMap &a = drawing.of.front(), &b = drawing.of.back();
  check_sizes(sides, a.map.file, b.map);
  for (std::size_t i = 0; i < sides[0].size(); ++i) {
    Heatmap& map = sides[0][i];
    const Heatmap& other = sides[1][i];
    map.weights = difference_of(map.weights.converted(DType::float64),
                                other.weights.converted(DType::float64));
    map.any_numbers = true;
    // A cell that only one side hides is a difference.
    map.allowed = map.allowed && other.allowed ? either(map.allowed, other.allowed) : Tensor();
  }
  PlotOptions options = options_for(drawing, a.map);
  options.colors.bar_label = drawing.options.colors.bar_label.value_or(
      a.map.holds_weights() ? translated("Attention weight: {1}", texts.sign) : texts.sign);
  if (!options.colors.cmap) options.colors.cmap = plot::map_of_differences(options.figure);
  // Zero is in the middle of numbers of both signs anyway.
  if (options.colors.range.scope == ColorRange::Scope::shared && options.colors.norm.is_linear() &&
      !have_both_signs(sides[0])) {
    const double end = largest_finite(sides[0]);
    options.colors.range = {ColorRange::Scope::given, -end, end};
  }
  if (!options.figure.title) {
    options.figure.title =
        translated("Difference {1}", texts.sign) + (texts.place.empty() ? "" : "\n" + texts.place);
  }
  const std::optional<std::string>& chosen = drawing.options.colors.cmap;
  const bool signs_alike = chosen && !plot::is_diverging(*chosen) && have_both_signs(sides[0]);
  Picture picture = sides[0].size() == 1
                        ? draw_heatmap(sides[0][0], options.heatmap(), drawing.format)
                        : draw_grid({1, sides[0].size(), std::move(sides[0]), head_side},
                                    options.grid(), drawing.format);
  if (signs_alike) {
    picture.warnings.push_back(
        translated("ColorOptions::cmap {1} does not tell differences below zero from those above "
                   "it: leave it out, or give a map of two sides, such as RdBu_r",
                   *chosen));
  }
  return picture;
}

}  // namespace attn
