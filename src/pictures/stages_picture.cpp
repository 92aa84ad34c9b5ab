#include "pictures/stages_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr double panel_side = 3.2;  // inches

struct Stage {
  std::string title;
  std::string caption;
  Tensor tensor;
  bool hides = false;  ///< whether the mask has been applied
};

std::string short_number(double number) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.4g", number);
  return buffer;
}

bool differ(const Tensor& a, const Tensor& b) {
  const Tensor x = a.converted(DType::float64), y = b.converted(DType::float64);
  return !std::ranges::equal(x.values<double>(), y.values<double>(), [](double one, double other) {
    return one == other || (std::isnan(one) && std::isnan(other));
  });
}

void check_stages(const Drawable& stages) {
  if (!stages.scores) {
    throw input_error(translated("there are no stages to draw"), "",
                      translated("compute the result with run() and RunOptions::stages, or draw "
                                 "them with run() and RunOptions::plots stages"));
  }
  for (const Tensor* stage : {&stages.scores, &stages.capped, &stages.masked}) {
    if (*stage && stage->shape() != stages.weights.shape()) {
      throw input_error(translated("a stage {1} does not have the shape of the weights {2}",
                                   text(stage->shape()), text(stages.weights.shape())),
                        "/tensors", translated("give all the same shape"));
    }
  }
}

std::vector<Stage> stages_of(const Drawable& stages) {
  const StageFormulas& formulas = stages.formulas;
  std::vector<Stage> all;
  const bool scaled = formulas.scale && *formulas.scale != 1 && *formulas.scale != 0;
  if (scaled) {
    all.push_back({translated("Scores"), formulas.score, divided(stages.scores, *formulas.scale)});
    const std::string by = short_number(*formulas.scale);
    all.push_back(
        {translated("Scaled"),
         translated("scores · ") + (formulas.scale_text.empty()
                                        ? by
                                        : formulas.scale_text + translated(" = scores · ") + by),
         stages.scores});
  } else {
    all.push_back({translated("Scores"),
                   formulas.score.empty() ? translated("after the scale") : formulas.score,
                   stages.scores});
  }
  if (stages.capped && (formulas.softcap || differ(stages.scores, stages.capped))) {
    const std::string c = formulas.softcap ? short_number(*formulas.softcap) : "c";
    all.push_back({translated("Capped"), c + " · tanh(s / " + c + ")", stages.capped});
  }
  // What only adds by distance hides nothing.
  if (stages.masked &&
      (stages.allowed || (stages.capped && differ(stages.capped, stages.masked)))) {
    all.push_back({stages.allowed ? translated("Masked") : translated("Biased"),
                   formulas.mask.empty() ? translated("after bias and mask") : formulas.mask,
                   stages.masked, true});
  }
  all.push_back(
      {translated("Weights"),
       formulas.sinks ? "exp(s) / (exp(sink) + Σ exp(s))" : "softmax(s) = exp(s) / Σ exp(s)",
       stages.weights, true});
  return all;
}

}  // namespace

StageFormulas stage_formulas(const Plan& plan, const PlannedAttention& attention) {
  const KindInfo& kind = info(plan.kind);
  const Mask& mask = attention.mask;
  StageFormulas formulas;
  formulas.score = kind.scales_by_width ? "q·k" : translated(kind.score);
  formulas.scale = plan.options().scale;
  if (!formulas.scale && kind.scales_by_width) {
    formulas.scale = default_scale(score_of(plan.kind), attention.geometry);
    formulas.scale_text = "1/√" + std::to_string(attention.geometry.query_width);
  }
  formulas.softcap = plan.options().softcap;
  const bool first = attention.prefix.find("cross") == std::string::npos;
  if (mask.bias) formulas.mask = translated(" + bias");
  if (mask.alibi) formulas.mask += translated(" − slope · distance");
  if (first && plan.options().relative_bias) formulas.mask += translated(" + bias of the distance");
  if (!formulas.mask.empty()) formulas.mask = "s" + formulas.mask;
  formulas.sinks = first && plan.options().sinks;
  if (mask.hides()) {
    const std::string fill = mask.fill ? short_number(*mask.fill) : "−∞";
    formulas.mask +=
        (formulas.mask.empty() ? "" : translated("; ")) + translated("hidden: {1}", fill);
  }
  return formulas;
}

HeatmapGrid stages_grid(const Drawable& stages, const SelectedMaps& maps) {
  check_stages(stages);
  const bool all_heads = maps.selection.heads == MapSelection::Heads::all;
  const std::vector<Stage> columns = stages_of(stages);
  const std::vector<std::size_t> heads =
      all_heads ? drawn_heads(maps) : std::vector<std::size_t>{maps.head};
  HeatmapGrid grid{heads.size(), columns.size(), {}};
  grid.panel_side = panel_side;
  MapSelection of_scores = maps.selection;
  of_scores.renormalize = of_scores.merge_pieces = false;
  MapSelection of_weights = of_scores;
  of_weights.renormalize = maps.selection.renormalize;
  for (std::size_t row = 0; row < grid.rows; ++row) {
    for (const Stage& stage : columns) {
      const Maps numbers(stage.tensor, stages.heads_only);
      const MapSelection& selection =
          stage.tensor.bytes() == stages.weights.bytes() ? of_weights : of_scores;
      Heatmap panel = selected_heatmap({numbers, stage.hides ? maps.allowed : nullptr, maps.labels,
                                        maps.title, maps.sample, maps.head, selection},
                                       maps.sample, heads[row]);
      panel.title =
          all_heads ? translated("Head {1}: {2}", heads[row] + 1, stage.title) : stage.title;
      panel.any_numbers = stage.tensor.bytes() != stages.weights.bytes();
      if (row + 1 == grid.rows) panel.caption = stage.caption;
      grid.panels.push_back(std::move(panel));
    }
  }
  return grid;
}

}  // namespace attn
