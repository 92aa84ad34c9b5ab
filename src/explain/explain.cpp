#include "attn/explain.hpp"

#include <algorithm>
#include <utility>
#include <variant>

#include "attn/attention.hpp"
#include "attn/error.hpp"
#include "attn/layers.hpp"

#include "document/document.hpp"
#include "document/reader.hpp"
#include "explain/explained_layers.hpp"
#include "explain/explained_query.hpp"
#include "explain/explained_steps.hpp"
#include "explain/explanation.hpp"
#include "maps/map_selection.hpp"
#include "maps/opened_input.hpp"
#include "models/pass.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/overloaded.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

void choose_steps(Plan& plan, DType dtype, std::size_t threads) {
  plan.choose({.dtype = dtype, .threads = threads, .weights = true, .stages = true});
  std::visit(Overloaded{[](AttentionOptions& options) { options.pool.reset(); },
                        [](ModelRequest& request) { request.pool.reset(); }},
             plan.computation);
}

// The type in which run() computes an attention with results of that type: float32 rounds results
// alone, while each step of 16 bits is rounded.
DType computed_type(DType dtype) {
  return is_half(dtype) ? dtype : DType::float64;
}

/// One kind of a document on its way from the request to its explanation, or to one of each query.
class KindExplanation {
 public:
  KindExplanation(const ExplainOptions& options, const Document& document, Plan plan)
      : options_(options),
        plan_(std::move(plan)),
        choice_{options.sample, options.head, options.every_query ? 0 : options.query,
                options.full} {
    check_choices();
    if (!options.every_query) choice_.query = query_of(options, labels(), queries());
    check_analyses();
    const DType dtype = plan_.options().dtype;
    begin();
    introduce(document.name(), dtype);
    choose_steps(plan_, dtype, options.document.threads);
    std::visit([this](const auto& request) { explain(request); }, plan_.computation);
    explain_cost(plan_, dtype, explanations_.back().explanation);
  }

  struct OfQuery {
    std::size_t query = 0;
    Explanation explanation;
  };
  /// In the order of the queries. The first alone has an introduction, the last alone the costs.
  const std::vector<OfQuery>& explanations() const noexcept { return explanations_; }
  const Plan& plan() const noexcept { return plan_; }

 private:
  // The attention that is explained, of a model's many one like it.
  const PlannedAttention& chosen_attention() const {
    const ModelRequest* const model = model_of(plan_);
    const bool both = model != nullptr && model->folder->architecture.encoder_decoder();
    if (!both) {
      if (options_.stack.empty()) return plan_.attentions[0];
      if (std::size_t layer = 0; parse_number(options_.stack, layer) && options_.layer) {
        const std::string head = std::to_string(*options_.layer);
        throw Error(ErrorKind::usage,
                    translated("{1} is a layer and a head, not a layer",
                               in_quotes(options_.stack + "." + head)),
                    "ExplainOptions::layer",
                    translated("write {1}", "ExplainOptions::layer " + options_.stack +
                                                " ExplainOptions::head " + head));
      }
      throw input_error(
          translated(
              "there is no {1}: the document asks for no model with an encoder and a decoder",
              in_quotes(options_.stack)),
          "ExplainOptions::layer", translated("give the layer's number alone"));
    }
    const auto named = named_attention(options_, model->folder->architecture);
    for (const PlannedAttention& attention : plan_.attentions) {
      if (named && attention.name.without_layer() == named->attention().without_layer()) {
        return attention;
      }
    }
    throw input_error(translated("the model has no {1}",
                                 in_quotes(options_.stack.empty() ? "encoder" : options_.stack)),
                      "ExplainOptions::layer",
                      translated("name a layer such as encoder.0, decoder.0 or cross.0"));
  }
  void check_choices() const {
    const Geometry& geometry = chosen_attention().geometry;
    check_choice(of_samples, choice_.sample, geometry.batch);
    check_choice(of_heads, choice_.head, geometry.heads);
    check_choice(of_queries, choice_.query, geometry.queries);
  }
  void check_analyses() const {
    if (options_.analyses.empty() || plan_.model) return;
    throw Error(ErrorKind::usage, translated("analyses are explained for models only"),
                "ExplainOptions::analyses", translated("leave them out, or name a model"));
  }
  std::size_t chosen_layer(std::size_t layers) const {
    if (options_.layer) check_choice(of_layers, *options_.layer, layers);
    return options_.layer.value_or(0);
  }

  // Padded samples of a model end with their own tokens.
  std::size_t queries() const {
    const std::size_t all = chosen_attention().geometry.queries;
    const ModelRequest* const model = model_of(plan_);
    if (model == nullptr) return all;
    const bool decoder = chosen_attention().name.in_decoder();
    const auto& ids = decoder ? model->texts.decoder_ids : model->texts.ids;
    return std::min(all, ids[choice_.sample].size());
  }

  std::vector<std::string> labels() const {
    return Labels::of_sample(chosen_attention().labels.query, choice_.sample);
  }

  std::string query_name(std::size_t query) const { return position_name(labels(), query, "{1}"); }

  // The explanation of the next query.
  Explanation& begin() {
    OfQuery next{choice_.query, {}};
    next.explanation.full = options_.full;
    if (options_.every_query) {
      next.explanation.title = translated("query {1} of {2}", query_name(choice_.query), queries());
    }
    explanations_.push_back(std::move(next));
    return explanations_.back().explanation;
  }

  // explain_one(explanation) for the chosen query, or for each.
  template <class ExplainOne>
  void for_queries(const ExplainOne& explain_one) {
    explain_embedding(plan_, choice_, explanations_.back().explanation);
    explain_one(explanations_.back().explanation);
    for (std::size_t query = 1; options_.every_query && query < queries(); ++query) {
      choice_.query = query;
      Explanation& next = begin();
      explain_embedding(plan_, choice_, next);
      explain_one(next);
    }
  }

  void introduce(const std::string& document, DType dtype) {
    Explanation& to = explanations_.back().explanation;
    const KindInfo& kind = info(plan_.kind);
    const PlannedAttention& first = chosen_attention();
    const Geometry& geometry = first.geometry;
    std::string title = plan_.model ? translated("{1} model, step by step", plan_.model->family)
                                    : translated("{1} attention, step by step", kind.name);
    to.title = to.title.empty() ? title : translated("{1}: {2}", title, to.title);
    if (!plan_.title.empty()) to.paragraph(one_line(shown_title(plan_.title)));
    if (!plan_.description.empty()) to.paragraph(one_line(shown_title(plan_.description)));
    to.item(plan_.model && options_.document.input.empty()
                ? translated("model: {1}", one_line(document))
                : translated("document: {1}", one_line(document)));
    to.item(options_.every_query
                ? translated("sample {1} of {2}, head {3} of {4}, each of the {5} queries, all "
                             "counted from 0",
                             choice_.sample, geometry.batch, choice_.head, geometry.heads,
                             queries())
                : translated("sample {1} of {2}, head {3} of {4}, query {5} of {6}, all counted "
                             "from 0",
                             choice_.sample, geometry.batch, choice_.head, geometry.heads,
                             query_name(choice_.query), geometry.queries));
    to.item(translated("formula: {1} ({2})", translated(kind.score), translated(kind.source)));
    for (const auto& [tensor, shape] : plan_.shapes)
      to.item(tensor + " " + text(shape) +
              (tensor == plan_.shapes[0].first ? translated(", ") + name(dtype) : ""));
    const bool single = plan_.model && dtype == DType::float32;
    to.paragraph(
        single ? translated("Numbers are shown rounded to {1} decimals, but computed in {2}, as "
                            "in a run. A number shown as 0 is exactly 0.",
                            options_.digits, name(dtype))
        : options_.digits == usual_decimals
            ? translated("Numbers are shown rounded to four decimals, but computed in "
                         "double precision. A number shown as 0 is exactly 0.")
            : translated("Numbers are shown rounded to {1} decimals, but computed in "
                         "double precision. A number shown as 0 is exactly 0.",
                         options_.digits));
    if (is_half(dtype)) {
      to.paragraph(
          plan_.attention_options().fused_rounding
              ? translated("Inputs, output and the exponentials that multiply the values are "
                           "rounded to {1}, as in a run and in fused kernels.",
                           name(dtype))
              : translated("Inputs, scores, weights and output are rounded to {1}, as in a run.",
                           name(dtype)));
    }
  }

  void explain(const AttentionRequest& request) {
    chosen_layer(1);
    AttentionRequest computed = request;
    computed.dtype = computed_type(request.dtype);
    const AttentionResult result = attend(computed);
    for_queries([&](Explanation& to) {
      explain_attention(ExplainedQuery(request, result, plan_.attentions[0], choice_), to);
    });
  }

  void explain(const ProjectedAttentionRequest& request) {
    chosen_layer(1);
    const AttentionWeights weights = request.projections;
    AttendedStates attended{weights,
                            request.states.query,
                            project(request, request.states, weights, computed_type(request.dtype)),
                            {},
                            {},
                            {}};
    attended.result = attend(attended.request);
    attended.request.dtype = request.dtype;
    attended.joined = attended.result.output.converted(DType::float64);
    if (weights.output) {
      const Tensor output = is_half(request.dtype)
                                ? attend_projected(request).output
                                : apply(weights.output, attended.joined, request.threads);
      attended.output = output.converted(request.dtype).converted(DType::float64);
    }
    for_queries(
        [&](Explanation& to) { explain_projected(attended, plan_.attentions[0], choice_, to); });
  }

  void explain(const TransformerRequest& request) {
    const ExplainedTransformer layers(request, chosen_layer(request.layers.size()));
    for_queries([&](Explanation& to) { layers.explain(plan_.attentions, choice_, to); });
  }

  void explain(const ModelRequest& request) {
    const Architecture& model = request.folder->architecture;
    const ModelPlace place = named_attention(options_, model).value();
    check_layer_with_map(stack_in(model, place.stack), place.layer, "ExplainOptions::layer");
    for_queries([&](Explanation& to) {
      explain_model(request, chosen_attention().labels, choice_, place, to);
      if (options_.analyses.empty()) return;
      explain_analyses(request, Labels::of_sample(plan_.attentions[0].labels.query, choice_.sample),
                       choice_, options_.analyses, to);
    });
  }

  const ExplainOptions& options_;
  Plan plan_;
  QueryChoice choice_;
  std::vector<OfQuery> explanations_;
};

// Fields of a selection that have no meaning for a document, in addition to those that open_input()
// refuses.
void refuse_selection(const ExplainOptions& options, const Plan& plan) {
  const MapSelection& selection = options.maps.selection;
  refuse_from_end(selection.chosen_heads, "MapSelection::chosen_heads",
                  plan.attentions[0].geometry.heads);
  const ModelRequest* const model = model_of(plan);
  refuse_from_end(selection.layers, "MapSelection::layers",
                  model == nullptr ? 1 : model->folder->architecture.stacks[0].layers.size());
  if (selection.layers) {
    throw Error(ErrorKind::usage, translated("a document is explained for one layer at a time"),
                "MapSelection::layers",
                translated("give one number, or run the document and give its result"));
  }
  if (selection.heads == MapSelection::Shown::one || options.document.heads) return;
  throw Error(ErrorKind::usage, translated("a document is explained for one head at a time"),
              "MapSelection::chosen_heads",
              translated("give one number, or run the document and give its result"));
}

// Steps are those of the model itself, but for heads that are zeros.
void refuse_changes(const Plan& plan) {
  const ModelRequest* const model = model_of(plan);
  if (model == nullptr || !is_changed(model->options)) return;
  throw Error(ErrorKind::usage, translated("an explanation is of the model as it is"),
              model->options.patch ? "DocumentOptions::patch" : "DocumentOptions::ablate",
              translated("leave it out"));
}

ExplainOutcome explained_document(const ExplainOptions& options, const Document& document) {
  std::vector<Plan> plans = read_plans(document, [&](Plan& sketch) {
    // The largest type that is computed in.
    choose_steps(sketch, DType::float64, options.document.threads);
  });
  refuse_selection(options, plans.front());
  std::vector<KindExplanation> explained;
  const ModelRequest* const model = model_of(plans.front());
  if (options.why || options.logit || (model != nullptr && !model->why.empty())) {
    return explain_why(options, document, plans.front());
  }
  if (options.format == ExplanationFormat::csv) {
    throw Error(ErrorKind::usage, translated("CSV is written of splits alone"),
                "ExplainOptions::format", translated("split a score or a logit, or choose JSON"));
  }
  for (const Plan& plan : plans) refuse_changes(plan);
  try {
    for (Plan& plan : plans) explained.emplace_back(options, document, std::move(plan));
  } catch (const Error& error) {
    throw document.placed(error);
  }

  ExplainOutcome outcome;
  ExplanationOutput output(options.format, explained.size() > 1 || options.every_query);
  for (const KindExplanation& kind : explained) {
    for (const std::string& warning : kind.plan().warnings) {
      if (std::find(outcome.warnings.begin(), outcome.warnings.end(), warning) ==
          outcome.warnings.end())
        outcome.warnings.push_back(warning);
    }
    for (const KindExplanation::OfQuery& of : kind.explanations()) {
      output.add(of.explanation, {{"document", document.name()},
                                  {"attention", info(kind.plan().kind).name},
                                  {"sample", options.sample},
                                  {"head", options.head},
                                  {"query", of.query}});
    }
  }
  outcome.text = output.text();
  return outcome;
}

// Throws Error(usage) for a key without a split that it would be of.
void check_key(const ExplainOptions& options) {
  if ((!options.key && !options.key_token) || options.why || options.logit) return;
  throw Error(ErrorKind::usage, translated("{1} chooses the key of a split", "ExplainOptions::key"),
              "ExplainOptions::key",
              translated("leave it out, or split the score with ExplainOptions::why"));
}

// Throws Error(usage) for a split of existing maps, of which no parts are known.
void refuse_split(const ExplainOptions& options) {
  if (!options.why && !options.logit) return;
  throw Error(ErrorKind::usage, translated("existing maps have no parts to split into"),
              options.why ? "ExplainOptions::why" : "ExplainOptions::logit",
              translated("give the model and its text"));
}

ExplainOutcome explained_input(const ExplainOptions& options) {
  check_digits(options.digits);
  check_key(options);
  const ShownDecimals decimals(options.digits);
  return std::visit(
      Overloaded{[&](const Document& document) { return explained_document(options, document); },
                 [&](const MapFiles& files) {
                   refuse_split(options);
                   return explained_maps(options, files);
                 }},
      open_input(options.document, options.maps));
}

}  // namespace

ExplainOutcome explain(const ExplainOptions& given) {
  return with_whole_files(given.document.files, [&](const FileAccess& access) {
    ExplainOptions options = given;
    options.document.files = access;
    return explained_input(options);
  });
}

}  // namespace attn
