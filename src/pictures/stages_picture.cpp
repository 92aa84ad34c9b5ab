#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "pictures/drawing.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr double panel_side = 3.2;  // inches

struct Stage {
  std::string title;
  std::string caption;
  Tensor tensor;
  bool hides = false;     ///< whether the mask has been applied
  std::size_t range = 1;  ///< of its colours: scores before the scale and weights have their own
};

// A number as in a formula: "−10⁹" for -1e9.
std::string power_text(double number) {
  constexpr std::array<const char*, 10> digits = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  constexpr double least = 1000;
  const double exponent = std::round(std::log10(std::abs(number)));
  if (std::abs(number) < least || std::pow(10, exponent) != std::abs(number)) {
    return with_digits(number, 4);
  }
  std::string power;
  for (const char digit : with_digits(exponent, 4)) {
    power += digits[static_cast<std::size_t>(digit - '0')];
  }
  return (number < 0 ? "−10" : "10") + power;
}

bool differ(const Tensor& a, const Tensor& b) {
  const Tensor x = a.converted(DType::float64), y = b.converted(DType::float64);
  return !std::ranges::equal(x.values<double>(), y.values<double>(), [](double one, double other) {
    return one == other || (std::isnan(one) && std::isnan(other));
  });
}

void check_stages(const AttentionMap& map) {
  if (!map.scores) {
    throw input_error(translated("there are no stages to draw"), "",
                      translated("compute the result with run() and RunOptions::stages, or draw "
                                 "them with run() and RunOptions::plots stages"));
  }
  for (const Tensor* stage : {&map.scores, &map.capped, &map.masked}) {
    if (*stage && stage->shape() != map.numbers.shape()) {
      throw input_error(translated("a stage {1} does not have the shape of the weights {2}",
                                   text(stage->shape()), text(map.numbers.shape())),
                        "/tensors", translated("give all the same shape"));
    }
  }
}

std::vector<Stage> stages_of(const DrawnMap& drawn) {
  const StageFormulas& formulas = drawn.formulas;
  const AttentionMap& map = drawn.map;
  std::vector<Stage> all;
  const bool scaled = formulas.scale && *formulas.scale != 1 && *formulas.scale != 0;
  if (scaled) {
    all.push_back({translated("Scores"), formulas.score, divided(map.scores, *formulas.scale)});
    all.back().range = 0;
    const std::string by = with_digits(*formulas.scale, 4);
    all.push_back(
        {translated("Scaled"),
         translated("scores · ") + (formulas.scale_text.empty()
                                        ? by
                                        : formulas.scale_text + translated(" = scores · ") + by),
         map.scores});
  } else {
    all.push_back({translated("Scores"),
                   formulas.score.empty() ? translated("after the scale") : formulas.score,
                   map.scores});
  }
  if (map.capped && (formulas.softcap || differ(map.scores, map.capped))) {
    const std::string c = formulas.softcap ? with_digits(*formulas.softcap, 4) : "c";
    all.push_back({translated("Capped"), c + " · tanh(s / " + c + ")", map.capped});
  }
  // A mask of biases alone hides nothing.
  if (map.masked && (map.allowed || (map.capped && differ(map.capped, map.masked)))) {
    all.push_back({map.allowed ? translated("Masked") : translated("Biased"),
                   formulas.mask.empty() ? translated("after bias and mask") : formulas.mask,
                   map.masked, true});
  }
  all.push_back(
      {translated("Weights"),
       formulas.sinks ? "exp(s) / (exp(sink) + Σ exp(s))" : "softmax(s) = exp(s) / Σ exp(s)",
       map.numbers, true, 2});
  return all;
}

}  // namespace

StageFormulas stage_formulas(const Plan& plan, const PlannedAttention& attention) {
  const KindInfo& kind = info(plan.kind);
  const Mask& mask = attention.mask;
  StageFormulas formulas;
  formulas.score = kind.scales_by_width ? "q·k" : translated(kind.score);
  const AttentionOptions& options = plan.attention_options();
  formulas.scale = options.scale;
  if (!formulas.scale && kind.scales_by_width) {
    formulas.scale = default_scale(score_of(plan.kind), attention.geometry);
    formulas.scale_text = "1/√" + std::to_string(attention.geometry.query_width);
  }
  formulas.softcap = options.softcap;
  const bool first = !attention.name.is_cross();
  if (mask.bias) formulas.mask = translated(" + bias");
  if (mask.alibi) formulas.mask += translated(" − slope · distance");
  if (first && options.relative_bias) formulas.mask += translated(" + bias of the distance");
  if (!formulas.mask.empty()) formulas.mask = "s" + formulas.mask;
  formulas.sinks = first && options.sinks;
  if (mask.hides()) {
    const std::string fill = mask.fill ? power_text(*mask.fill) : "−∞";
    formulas.mask +=
        (formulas.mask.empty() ? "" : translated("; ")) + translated("hidden: {1}", fill);
  }
  return formulas;
}

namespace {

// Stages side by side, a head a row: raw scores, scaled, masked ones, weights. A stage that changes
// nothing has no panel; scores are not merged into words.
HeatmapGrid stages_grid(const DrawnMap& drawn, const SelectedMap& selected) {
  const AttentionMap& map = drawn.map;
  const MapSelection& selection = selected.choice.selection;
  check_stages(map);
  const std::vector<Stage> columns = stages_of(drawn);
  const std::vector<MapPlace> places = places_of(selected);
  HeatmapGrid grid{places.size(), columns.size(), {}};
  grid.panel_side = panel_side;
  MapChoice of_scores = selected.choice;
  of_scores.selection.renormalize = of_scores.selection.merge_pieces = false;
  of_scores.selection.blocks = MapSelection::Blocks::none;
  MapChoice of_weights = of_scores;
  of_weights.selection.renormalize = selection.renormalize;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (const Stage& stage : columns) {
      const bool weights = stage.tensor.bytes() == map.numbers.bytes();
      AttentionMap one = map;
      one.numbers = stage.tensor;
      if (!stage.hides) one.allowed = {};
      Heatmap panel = selected_heatmap(SelectedMap(one, weights ? of_weights : of_scores),
                                       places[row].sample, places[row].head);
      panel.title = places[row].title.empty()
                        ? stage.title
                        : translated("{1}: {2}", places[row].title, stage.title);
      panel.any_numbers = !weights;
      if (row + 1 == grid.rows) panel.caption = stage.caption;
      constexpr std::size_t ranges_a_row = 3;
      grid.ranges.push_back(ranges_a_row * row + stage.range);
      grid.panels.push_back(std::move(panel));
    }
  }
  return grid;
}

}  // namespace

Picture draw_stages(const Drawing& drawing) {
  const AttentionMap& map = drawing.of[0].map;
  check_is_map(map);
  const SelectedMap chosen(map, drawing.choice);
  PlotOptions options = drawing.options;
  if (!options.figure.title) {
    options.figure.title =
        title_or(map.title, translated("From Scores to Weights") + " ") + place_text(chosen);
  }
  // Scores and weights have no common scale.
  if (options.colors.range.scope == ColorRange::Scope::shared) {
    options.colors.range.scope = ColorRange::Scope::panel;
  }
  return draw_grid(stages_grid(drawing.of[0], chosen), options.grid(), drawing.format);
}

}  // namespace attn
