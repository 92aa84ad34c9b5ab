#include <algorithm>
#include <span>
#include <utility>

#include "attn/error.hpp"
#include "attn/tensor.hpp"

#include "attention/geometry.hpp"
#include "maps/computed_maps.hpp"
#include "models/pass.hpp"
#include "pictures/picture_kinds.hpp"
#include "result/result_writer.hpp"
#include "result/tensor_files.hpp"
#include "run/document_run.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

bool show_stages(const std::vector<PlotKind>& plots) {
  return std::ranges::any_of(
      plots, [](PlotKind kind) { return picture_kind(kind).shows == PictureKind::Shows::stages; });
}

// Whether every kind of picture is asked for that a run may draw.
bool are_all(const std::vector<PlotKind>& plots) {
  return std::all_of(plot_kinds().begin(), plot_kinds().end(), [&](const PlotKindInfo& info) {
    return !info.of_runs || std::find(plots.begin(), plots.end(), info.kind) != plots.end();
  });
}

// The option whose split a kind of picture shows, where it is not given; null = nothing lacks.
const char* lacking_split(PlotKind kind, const WhyOptions& why) {
  using Shows = PictureKind::Shows;
  switch (picture_kind(kind).shows) {
    case Shows::score_split:
      return why.head ? nullptr : "DocumentOptions::why";
    case Shows::logit_split:
      return why.logit ? nullptr : "DocumentOptions::logit";
    case Shows::split:
      return why ? nullptr : "DocumentOptions::why";
    case Shows::weights:
    case Shows::stages:
    case Shows::overlay:
    case Shows::mask:
    case Shows::sizes:
    case Shows::positions:
    case Shows::steps:
    case Shows::shares:
    case Shows::panels:
      break;
  }
  return nullptr;
}

// Refuses options for single positions, which a map of bins does not have.
void check_pooled(const RunOptions& options) {
  const MapSelection& selection = options.selection;
  const auto refuse = [](const char* field) {
    throw Error(
        ErrorKind::usage, translated("{1} chooses positions, but pooled weights have bins", field),
        field,
        translated("leave out {1}, or the document's \"pool\" and DocumentOptions::pool", field));
  };
  if (selection.queries) refuse("MapSelection::queries");
  if (selection.keys) refuse("MapSelection::keys");
  if (selection.drop_first > 0) refuse("MapSelection::drop_first");
  if (!selection.drop.empty()) refuse("MapSelection::drop");
  if (selection.merge_pieces) refuse("MapSelection::merge_pieces");
  if (selection.blocks != MapSelection::Blocks::none) refuse("MapSelection::blocks");
  if (selection.renormalize) refuse("MapSelection::renormalize");
  if (show_stages(options.plots)) {
    throw Error(
        ErrorKind::usage, translated("the stages of pooled weights cannot be drawn"),
        "RunOptions::plots",
        translated("leave out stages, or the document's \"pool\" and DocumentOptions::pool"));
  }
}

bool is_weights(std::string_view name) {
  return name == "weights" || name.ends_with(".weights") || name.ends_with("pooled_weights") ||
         name.ends_with("pooled_allowed");
}

bool is_stage(std::string_view name) {
  if (name == "why.scores" || name.ends_with(".why.scores")) return false;
  name.remove_prefix(name.rfind('.') + 1);  // npos + 1 = 0
  return name == "scores" || name == "capped" || name == "masked" || name == "lse";
}

// Whether `parts` is the whole name, or the last parts of it.
bool ends_in(std::string_view name, const std::string& parts) {
  return name == parts || name.ends_with("." + parts);
}

// Whether `wanted` is the whole name or its last parts, or the group of all gradients, "gradient"
// or "gradient.*".
bool is_wanted(std::string_view name, const std::string& wanted) {
  if (ends_in(name, wanted)) return true;
  return (wanted == "gradient" || wanted == "gradient.*") && name.starts_with("gradient.");
}

bool is_named(std::string_view name, const std::vector<std::string>& only) {
  return std::ranges::any_of(only,
                             [&](const std::string& wanted) { return is_wanted(name, wanted); });
}

// Whether a result has a tensor of that name, if no choice of names leaves it out. Numbers that are
// made of weights are there where these are, and where they are asked for themselves; never because
// a picture shows weights.
bool has_tensor(std::string_view name, const RunOptions& options, const Plan& plan) {
  const bool weights = options.weights && plan.weights;
  if (is_weights(name)) return weights;
  if (is_stage(name)) return options.stages;
  if (name != "shares" && name != "contacts") return true;
  const ModelRequest* const model = model_of(plan);
  const bool parts_named = name == "shares" && model != nullptr && model->parts.wanted;
  return weights || parts_named || is_named(name, options.only);
}

// Names of the tensors that the attentions of a plan may have, but for a model's.
std::vector<std::string> names_in(const Plan& plan) {
  std::vector<std::string> names;
  for (const NamedTensor& token : plan.tokens) names.push_back(token.name);
  const AttentionOptions& options = plan.attention_options();
  for (const PlannedAttention& attention : plan.attentions) {
    const auto add = [&](const char* quantity) {
      names.push_back(attention.name.tensor(quantity));
    };
    add(plan.pool() ? "pooled_weights" : "weights");
    if (attention.mask.hides()) add(plan.pool() ? "pooled_allowed" : "allowed");
    if (options.dropout) add("dropped");
    for (const char* stage : {"scores", "capped", "masked", "lse"}) add(stage);
  }
  names.emplace_back("output");
  return names;
}

// Names of the tensors of splits that a run may have.
std::vector<std::string> names_in(const std::vector<WhyOptions>& why) {
  std::vector<std::string> names;
  const auto add = [&](std::size_t text, const std::string& name) {
    names.push_back(split_tensor(name, text, why.size()));
  };
  for (std::size_t b = 0; b < why.size(); ++b) {
    if (why[b].head) add(b, "why.scores");
    if (!why[b].logit) continue;
    for (const char* of : {"parts", "tokens", "cross_tokens"}) {
      add(b, "contribution." + std::string(of));
    }
  }
  return names;
}

// Help for a name in RunOptions::only of gradients that nothing asks for, of what a model has
// without its being written, or of a whole layer; empty for others.
std::string help_for_unwritten(std::string_view name, bool of_model,
                               std::span<const std::string_view> known) {
  if (!of_model) {
    const auto is_gradient = [](std::string_view tensor) {
      return tensor == "gradient" || tensor.starts_with("gradient.");
    };
    if (!is_gradient(name) || std::ranges::any_of(known, is_gradient)) return "";
    return translated("add {1}, the gradient of the output, or write {2} into the document",
                      "DocumentOptions::gradient FILE", R"("gradient": {"output": …})");
  }
  if (name == "logits") return translated("add DocumentOptions::logits, which writes them");
  if (name == "hidden_states") return translated("add RunOptions::stages, which writes states");
  constexpr std::string_view start = "layers.";
  std::size_t layer = 0;
  if (!name.starts_with(start) || !parse_number(std::string(name.substr(start.size())), layer))
    return "";
  return translated(
      "write DocumentOptions::layers {1}, and RunOptions::only weights for its weights "
      "alone",
      layer);
}

// Throws Error(input) for a name in RunOptions::only that none of these tensors has.
void check_only(const RunOptions& options, const std::vector<std::string>& names, bool of_model) {
  const std::vector<std::string_view> known(names.begin(), names.end());
  for (const std::string& wanted : options.only) {
    if (std::ranges::none_of(known,
                             [&](std::string_view name) { return is_wanted(name, wanted); })) {
      const std::string unwritten = help_for_unwritten(wanted, of_model, known);
      throw input_error(translated("the result has no tensor \"{1}\"", wanted), "RunOptions::only",
                        wanted == "sentence_similarity"
                            ? translated("similarities are those of several texts, by a model of "
                                         "sentences")
                        : !unwritten.empty() ? unwritten
                                             : suggestion(wanted, known));
    }
  }
}

// Elements of a result's tensors of numbers, and of the keys that its queries see.
struct ResultElements {
  double numbers = 0, seen = 0;
};

ResultElements elements_of(const PlannedAttention& attention, const Plan& plan, bool weights) {
  const AttentionOptions& options = plan.attention_options();
  const Geometry& g = attention.geometry;
  const double rows = as_real(g.batch) * as_real(g.heads) * as_real(g.queries);
  const double map = rows * as_real(g.keys);
  ResultElements elements{rows * as_real(g.value_width)};
  if (const auto& pool = plan.pool(); weights && pool && plan.model) {
    elements.numbers += as_real(g.batch) * as_real(g.heads) *
                        as_real(std::min(pool->size, g.queries)) *
                        as_real(std::min(pool->size, g.keys));
  } else if (weights && !pool) {
    elements.numbers += map;
    if (attention.mask.present()) elements.seen += map;
  }
  if (plan.options().stages) elements.numbers += (options.softcap ? 3 : 2) * map + rows;
  return elements;
}

}  // namespace

bool holds_seen_keys(std::string_view tensor) {
  return tensor == "allowed" || tensor.ends_with(".allowed");
}

bool wants_weights(const RunOptions& options, const Plan& plan) {
  return options.weights && plan.weights &&
         (options.only.empty() || std::ranges::any_of(options.only, is_weights));
}

bool is_written(std::string_view name, const RunOptions& options, const Plan& plan) {
  return has_tensor(name, options, plan) && (options.only.empty() || is_named(name, options.only));
}

std::vector<PlotKind> choose_results(const RunOptions& options, Plan& plan) {
  const bool pooled = plan.pool().has_value();
  if (pooled) check_pooled(options);
  const ModelRequest* const model = model_of(plan);
  if (model != nullptr && model->options.ablation != Ablation::zero &&
      !is_changed(model->options)) {
    throw Error(ErrorKind::usage, translated("no heads are off"), "DocumentOptions::ablate",
                translated("add DocumentOptions::heads_off, or leave it out"));
  }
  const bool splits = model != nullptr && !model->why.empty();
  std::vector<PlotKind> plots;
  if (!options.answer) plots = options.plots;
  if (model != nullptr && !options.plots_chosen) std::erase(plots, PlotKind::dimensions);
  // Numbers that are made of the weights of each layer need them, but do not keep them.
  const bool made_of_weights = model != nullptr && (is_written("shares", options, plan) ||
                                                    is_written("contacts", options, plan));
  const bool wants = wants_weights(options, plan) || options.reported_weights || made_of_weights;
  if (!pooled && !wants &&
      element_count(plan.attentions[0].geometry.weights_shape()) >
          options.most_weights_for_heatmap &&
      std::erase(plots, PlotKind::heatmap) > 0) {
    plan.warnings.emplace_back(
        translated("the heatmap of so many weights is left out: ask for a map of bins with "
                   "DocumentOptions::pool 1024"));
  }
  std::erase_if(plots, [&](PlotKind kind) {
    const char* const lacking = lacking_split(kind, splits ? model->why.front() : WhyOptions());
    if (lacking == nullptr || are_all(options.plots)) return lacking != nullptr;
    throw Error(ErrorKind::usage,
                translated("there is no split for the picture {1}", picture_kind(kind).info.name),
                "RunOptions::plots",
                translated("leave out {1}, or add {2}", picture_kind(kind).info.name, lacking));
  });
  if (plan.model && std::erase(plots, PlotKind::stages) > 0) {
    plan.warnings.emplace_back(translated(
        "the stages of a model's scores are not drawn: explain() shows those of a query"));
  }
  const bool sees = std::any_of(plan.shapes.begin(), plan.shapes.end(),
                                [](const auto& input) { return input.first == "image"; });
  if (!sees && std::erase(plots, PlotKind::overlay) > 0 && !are_all(options.plots)) {
    throw Error(ErrorKind::usage, translated("there is no picture to draw the weights over"),
                "RunOptions::plots",
                translated("leave out overlay, or give a model of pictures and "
                           "DocumentOptions::images"));
  }
  // What queries see is computed with their weights.
  const bool computes_weights =
      wants || std::ranges::any_of(options.only, holds_seen_keys) ||
      std::ranges::any_of(plots, &PictureKind::shows_weights, picture_kind);
  plan.choose({.dtype = plan.options().dtype,
               .threads = options.document.threads,
               .weights = computes_weights,
               .stages = options.stages || show_stages(plots)});
  return plots;
}

std::vector<std::pair<std::string, Tensor>> foreseen_results(const RunOptions& options,
                                                             const Plan& plan) {
  std::vector<std::pair<std::string, Tensor>> tensors;
  for (const NamedTensor& token : plan.tokens) tensors.emplace_back(token.name, token.tensor);
  const ModelRequest& model = *model_of(plan);
  const DType dtype = model.options.dtype;
  for (auto& [tensor, shape] : foreseen_tensors(model.pass())) {
    std::string name = tensor.name();
    if (model.pool && tensor.quantity == PassTensor::Quantity::weights &&
        tensor.place.stack != ModelPlace::Stack::captions) {
      name = tensor.place.attention().tensor("pooled_weights");
      for (std::size_t axis : {2, 3}) shape[axis] = std::min(shape[axis], model.pool->size);
    }
    tensors.emplace_back(std::move(name), shape_only(std::move(shape), dtype));
  }
  if (model.answer && model.options.wanted.weights && !plan.model->answer_layers.empty()) {
    Shape shape = AnswerShares(model).shape(plan.model->answer_layers.size());
    tensors.emplace_back("shares", shape_only(std::move(shape), dtype));
  }
  std::erase_if(tensors, [&](const auto& one) { return !has_tensor(one.first, options, plan); });
  return tensors;
}

void check_only(const RunOptions& options, const Plan& plan) {
  if (options.only.empty()) return;
  // Of a model the outputs of layers are steps too.
  const auto is_step = [&](const std::string& name) {
    return is_stage(name) || (plan.model && ends_in(name, "output"));
  };
  if (options.stages && std::ranges::none_of(options.only, is_step)) {
    throw Error(
        ErrorKind::usage,
        translated("{1} leaves out the steps of the score that {2} is for", "RunOptions::only",
                   "RunOptions::stages"),
        "RunOptions::stages",
        translated("leave it out, or add steps to {1}, such as {2}", "RunOptions::only", "scores"));
  }
  const auto names_logits = [](const std::string& name) { return ends_in("logits", name); };
  if (options.document.logits && std::ranges::none_of(options.only, names_logits)) {
    throw Error(ErrorKind::usage,
                translated("{1} leaves out the logits that {2} is for", "RunOptions::only",
                           "DocumentOptions::logits"),
                "DocumentOptions::logits",
                translated("leave it out, or add {1} to {2}", "logits", "RunOptions::only"));
  }
  const bool no_weights = !options.weights || !plan.weights;
  if (no_weights && std::ranges::any_of(options.only, is_weights)) {
    throw Error(ErrorKind::usage,
                translated("{1} asks for weights, and {2} leaves them out", "RunOptions::only",
                           options.weights ? "\"weights\": false" : "RunOptions::weights"),
                "RunOptions::only", translated("leave one of them out"));
  }
  for (const std::string& wanted : options.only) {
    if (!is_stage(wanted) || options.stages) continue;
    throw input_error(translated("\"{1}\" is a step of the score, which is not written", wanted),
                      "RunOptions::only", translated("add RunOptions::stages"));
  }
  // Gradients have their names once they are computed.
  if (plan.output_gradient) return;
  std::vector<std::string> names;
  if (plan.model) {
    for (const auto& tensor : foreseen_results(options, plan)) names.push_back(tensor.first);
    // Weights are foreseen only where they are wanted, and may be what is meant.
    if (options.weights && plan.weights && std::ranges::none_of(names, is_weights))
      names.emplace_back("weights");
  } else {
    names = names_in(plan);
    std::erase_if(names, [&](const auto& name) { return !has_tensor(name, options, plan); });
  }
  if (const ModelRequest* const model = model_of(plan)) {
    for (std::string& name : names_in(model->why)) names.push_back(std::move(name));
  }
  check_only(options, names, plan.model.has_value());
}

void check_only(const RunOptions& options, const Plan& plan,
                std::span<const std::pair<std::string, Tensor>> computed) {
  std::vector<std::string> names;
  for (const auto& tensor : computed) {
    if (has_tensor(tensor.first, options, plan)) names.push_back(tensor.first);
  }
  check_only(options, names, plan.model.has_value());
}

RunSplits named_splits(WhySplits splits, const Plan& plan, const std::string& document,
                       std::size_t sample) {
  const ModelRequest& model = *model_of(plan);
  RunSplits named{std::move(splits),      model.folder, document, sample,
                  model.texts.ids.size(), {},           {},       {}};
  const bool both = model.folder->architecture.encoder_decoder();
  for (const PlannedAttention& attention : plan.attentions) {
    const bool own = attention.name.in_decoder() == both;
    std::vector<std::string>& tokens = own ? named.tokens : named.read;
    if (tokens.empty()) tokens = Labels::of_sample(attention.labels.query, sample);
  }
  if (!both) named.read = named.tokens;
  if (!named.splits.logit) return named;
  const auto text_of = [&](std::size_t number, const std::optional<std::string>& label) {
    if (label) return in_quotes(*label);
    const auto token = written_token(*model.folder, static_cast<std::int64_t>(number));
    return token ? in_quotes(*token) : std::to_string(number);
  };
  const LogitSplit& logit = *named.splits.logit;
  named.token = text_of(logit.token, logit.label);
  if (logit.against) named.against = text_of(*logit.against, logit.against_label);
  return named;
}

double most_json_of(const Plan& plan, const RunOptions& options) noexcept {
  // Of a model few read the numbers, and each text has as many as layers, heads and pairs. Whoever
  // asks for the steps reads them.
  constexpr double of_models = 8e6;
  const bool of_model = plan.model || model_of(plan) != nullptr;
  return of_model && !options.stages ? of_models : most_json;
}

double foreseen_bytes(const Plan& plan, const RunOptions& options) {
  if (options.answer || !options.only.empty()) return 0;
  const DType dtype = plan.options().dtype;
  ResultElements all;
  for (const PlannedAttention& attention : plan.attentions) {
    const ResultElements one = elements_of(attention, plan, wants_weights(options, plan));
    all.numbers += one.numbers;
    all.seen += plan.model ? 0 : one.seen;
  }
  const double text = all.numbers * bytes_as_json(dtype) + all.seen * bytes_as_json(DType::boolean);
  const bool as_text = options.tensors ? *options.tensors == TensorFormat::json ||
                                             *options.tensors == TensorFormat::csv
                                       : text <= most_json_of(plan, options);
  return as_text ? text : all.numbers * static_cast<double>(size_of(dtype)) + all.seen;
}

}  // namespace attn
