#include "pictures/picture_kinds.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <new>
#include <string_view>
#include <utility>

#include "attention/attention_name.hpp"
#include "support/errors.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Chart of an attention whose tensors have these shapes. Where scores are given in the place of
// query and key, the weights say how many of either there are.
DimensionChart dimension_chart(const std::vector<std::pair<std::string, Shape>>& shapes) {
  const auto named = [&](std::string_view name) -> Shape {
    for (const auto& [tensor, shape] : shapes) {
      if (tensor == name) return shape;
    }
    return {};
  };
  DimensionChart chart{named("query"), named("key"), named("value"), named("output")};
  const Shape weights = named("weights");
  chart.weights = weights;
  if (weights.size() >= 2) {
    if (chart.query.empty()) chart.query = {weights[weights.size() - 2]};
    if (chart.key.empty()) chart.key = {weights.back()};
  }
  return chart;
}

Picture dimensions(const Drawing& drawing) {
  const DimensionChart chart = dimension_chart(drawing.shapes);
  if (chart.query.empty() && chart.key.empty() && chart.value.empty() && chart.output.empty()) {
    throw input_error(translated("there are no shapes to draw"), "",
                      translated("give a result, {\"shapes\": {\"query\": [3,4], …}}, or a file "
                                 "with tensors named query, key, value and output"));
  }
  return draw_dimensions(chart, drawing.options.figure, drawing.format);
}

Picture shapes(const Drawing& drawing) {
  const DimensionChart chart = dimension_chart(drawing.shapes);
  return draw_shapes(chart, drawing.options.figure, drawing.format);
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
      draw_map},
     {{PlotKind::dimensions, "dimensions",
       to_translate("lengths and widths of query, key, value and output")},
      Shows::sizes,
      Unit::run,
      dimensions},
     {{PlotKind::grid, "grid",
       to_translate("a heatmap for each sample and head, or for each layer and head")},
      Shows::weights,
      Unit::stack,
      draw_map_grid},
     {{PlotKind::mask, "mask",
       to_translate("which keys each query sees, and what hides the others")},
      Shows::mask,
      Unit::stack,
      draw_mask},
     {{PlotKind::stages, "stages", to_translate("the steps from scores to weights")},
      Shows::stages,
      Unit::attention,
      draw_stages},
     {{PlotKind::lines, "lines",
       to_translate("two columns of tokens with lines between them for the weights")},
      Shows::weights,
      Unit::attention,
      draw_map_lines},
     {{PlotKind::shapes, "shapes",
       to_translate("query, key, value, weights and output as boxes to scale")},
      Shows::sizes,
      Unit::run,
      shapes},
     {{PlotKind::strip, "strip",
       to_translate("the text, its tokens tinted by the weights that one query or all give them")},
      Shows::weights,
      Unit::attention,
      draw_map_strip},
     {{PlotKind::overlay, "overlay",
       to_translate("a picture that the model saw, tinted by the weights that one query or all "
                    "give its patches")},
      Shows::overlay,
      Unit::attention,
      draw_map_overlay},
     {{PlotKind::positions, "positions", to_translate("the encoding of positions as a map"), 1, 1,
       false},
      Shows::positions,
      Unit::run,
      draw_positions},
     {{PlotKind::curves, "curves", to_translate("the same, as curves of some dimensions"), 1, 1,
       false},
      Shows::positions,
      Unit::run,
      draw_position_curves},
     {{PlotKind::steps, "steps",
       to_translate("decoding steps of growing length, one below the other"), 1, any, false},
      Shows::steps,
      Unit::several,
      draw_steps},
     {{PlotKind::parts, "parts",
       to_translate("the strongest score of a head, parts of its query × parts of its key")},
      Shows::score_split,
      Unit::run,
      draw_parts},
     {{PlotKind::bars, "bars",
       to_translate("the strongest parts of that score, or of a logit, as bars")},
      Shows::split,
      Unit::run,
      draw_part_bars},
     {{PlotKind::path, "path",
       to_translate("the strongest terms of that score, or of a logit, through layers and "
                    "positions")},
      Shows::split,
      Unit::run,
      draw_part_path},
     {{PlotKind::contributions, "contributions",
       to_translate("what each head and feed-forward adds to a logit, layers × heads")},
      Shows::logit_split,
      Unit::run,
      draw_contributions},
     {{PlotKind::comparison, "comparison",
       to_translate("heatmaps of several files or kinds on one scale"), 2, any, false},
      Shows::weights,
      Unit::several,
      draw_comparison},
     {{PlotKind::difference, "difference",
       to_translate("what one map has more than another, of two files or within one"), 1, 2,
       false},
      Shows::weights,
      Unit::several,
      draw_difference},
     {{PlotKind::animation, "animation",
       to_translate("the text with the weights of one query after the other, or the maps of layers "
                    "one after the other, as a PNG that moves"),
       1, 1, false},
      Shows::weights,
      Unit::stack,
      draw_animation},
     {{PlotKind::arcs, "arcs",
       to_translate("the text once, with arcs above it from each query to its keys"), 1, 1, false},
      Shows::weights,
      Unit::attention,
      draw_map_arcs},
     {{PlotKind::figure, "figure",
       to_translate("pictures of several kinds as panels a, b, c, as a JSON file says"), 1, 1,
       false},
      Shows::panels,
      Unit::several,
      draw_panels},
     {{PlotKind::card, "card",
       to_translate("one head on a column's width: map, strongest query, distances and where it "
                    "looks beside chance"),
       1, 1, false},
      Shows::weights,
      Unit::attention,
      draw_card},
     {{PlotKind::shares, "shares",
       to_translate("what generated tokens look at, parts of the text as bars of each head"), 1, 1,
       false},
      Shows::shares,
      Unit::run,
      draw_shares}});

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

const PictureKind& picture_kind(PlotKind kind) noexcept {
  return rows[static_cast<std::size_t>(kind)];
}

std::span<const PlotKindInfo> plot_kinds() noexcept {
  return infos;
}

std::string extension(PictureFormat format) {
  for (const auto& [name, value] : picture_formats()) {
    if (value == format) return "." + std::string(name);
  }
  return "";
}

std::vector<NamedPicture> pictures_of(PlotKind kind,
                                      const std::vector<PlannedAttention>& attentions,
                                      bool of_model) {
  const PictureKind& row = picture_kind(kind);
  if (!row.info.of_runs) return {};
  const std::string stem(row.info.name);
  if (row.unit == PictureKind::Unit::run) return {{stem, {0}}};
  const bool together = row.unit == PictureKind::Unit::stack;
  const std::size_t digits = attentions.back().name.layer_digits();
  std::vector<NamedPicture> pictures;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < attentions.size(); ++i) {
    const AttentionName& own = attentions[i].name;
    if (row.shows == PictureKind::Shows::overlay && own.stack() == "text") continue;
    std::string name = together ? own.stack_name() : own.padded(digits);
    if (kind == PlotKind::mask && of_model && attentions[i].mask.window) name += ".window";
    const auto known = std::find(names.begin(), names.end(), name);
    if (known == names.end()) {
      names.push_back(name);
      pictures.push_back({i == 0 ? stem : stem + "." + name, {i}});
    } else {
      pictures[static_cast<std::size_t>(known - names.begin())].attentions.push_back(i);
    }
  }
  // The first of several layers is named as the others are.
  const bool layers = !together && pictures.size() > 1 && attentions[0].name.layer().has_value();
  if (layers) pictures[0].name = stem + "." + names[0];
  return pictures;
}

std::optional<Error> failure_of_picture(const std::string& file,
                                        const std::function<void()>& draw) {
  try {
    draw();
    return std::nullopt;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::usage || names_option(error.where())) throw;
    return error.inside(file);
  } catch (const std::bad_alloc&) {
    return input_error(translated("there is not enough memory for the picture"), file,
                       translated("ask for fewer dots per inch, or raise the memory limit"));
  }
}

}  // namespace attn
