#include "attn/explain.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "attn/attention.hpp"
#include "attn/error.hpp"
#include "attn/layers.hpp"

#include "document/options.hpp"
#include "document/reader.hpp"
#include "explain/explained_cost.hpp"
#include "explain/explained_layers.hpp"
#include "explain/explained_model.hpp"
#include "explain/explained_projections.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"
#include "io/json_writer.hpp"
#include "support/in_quotes.hpp"
#include "support/mapped_file.hpp"
#include "tensor/narrow_number.hpp"

namespace attn {
namespace {

void check_choice(const char* noun, const char* plural, std::size_t index, std::size_t count) {
  if (index < count) return;
  throw input_error(
      "there is no " + std::string(noun) + " " + std::to_string(index) + ": the attention has " +
          (count == 1 ? std::string("only one ") + noun : std::to_string(count) + " " + plural),
      std::string("ExplainOptions::") + noun,
      count == 1 ? "leave it out, or give 0" : "give 0 to " + std::to_string(count - 1));
}

// The numbers of the inputs are as `run` reads them; what is computed keeps all its digits.
void choose_steps(Plan& plan) {
  AttentionOptions& attention = plan.options();
  attention.dtype = DType::float64;
  attention.pool.reset();
  attention.weights = attention.stages = true;
}

/// One kind of a document on its way from the request to its explanation.
class KindExplanation {
 public:
  KindExplanation(const ExplainOptions& options, const Document& document, Plan plan)
      : options_(options),
        plan_(std::move(plan)),
        choice_{options.sample, options.head, options.query} {
    check_choices();
    const DType dtype = plan_.options().dtype;
    introduce(document.name(), dtype);
    choose_steps(plan_);
    plan_.options().threads = options.document.threads;
    std::visit([this](const auto& request) { explain(request); }, plan_.computation);
    explain_cost(plan_, dtype, explanation_);
  }

  const Explanation& explanation() const noexcept { return explanation_; }
  const Plan& plan() const noexcept { return plan_; }

 private:
  // The attention that is explained, of a model's many one like it.
  const PlannedAttention& chosen_attention() const {
    const auto* model = std::get_if<ModelRequest>(&plan_.computation);
    const bool both = model != nullptr && model->folder->architecture.encoder_decoder();
    if (!both) {
      if (options_.stack.empty()) return plan_.attentions[0];
      throw input_error("there is no " + in_quotes(options_.stack) +
                            ": the document asks for no model with an encoder and a decoder",
                        "ExplainOptions::layer", "give the layer's number alone");
    }
    const std::string stack = options_.stack.empty() ? "encoder" : options_.stack;
    for (const PlannedAttention& attention : plan_.attentions) {
      const bool crosses = attention.prefix.ends_with(".cross.");
      const std::string own =
          crosses ? "cross" : attention.prefix.substr(0, attention.prefix.find('.'));
      if (own == stack) return attention;
    }
    throw input_error("the model has no " + in_quotes(stack), "ExplainOptions::layer",
                      "name a layer such as encoder.0, decoder.0 or cross.0");
  }
  void check_choices() const {
    const Geometry& geometry = chosen_attention().geometry;
    check_choice("sample", "samples", choice_.sample, geometry.batch);
    check_choice("head", "heads", choice_.head, geometry.heads);
    check_choice("query", "queries", choice_.query, geometry.queries);
  }
  std::size_t chosen_layer(std::size_t layers) const {
    if (options_.layer) check_choice("layer", "layers", *options_.layer, layers);
    return options_.layer.value_or(0);
  }

  void introduce(const std::string& document, DType dtype) {
    const KindInfo& kind = info(plan_.kind);
    const PlannedAttention& first = chosen_attention();
    const Geometry& geometry = first.geometry;
    explanation_.title = plan_.model ? plan_.model->family + " model, step by step"
                                     : std::string(kind.name) + " attention, step by step";
    if (!plan_.title.empty()) explanation_.paragraph(one_line(plan_.title));
    if (!plan_.description.empty()) explanation_.paragraph(one_line(plan_.description));
    const PositionNames names(Labels::of_sample(first.labels.query, choice_.sample),
                              geometry.queries, "query");
    const auto of = [](std::size_t count) { return " of " + std::to_string(count); };
    explanation_.item("document: " + one_line(document));
    explanation_.item("sample " + std::to_string(choice_.sample + 1) + of(geometry.batch) +
                      ", head " + std::to_string(choice_.head + 1) + of(geometry.heads) + ", " +
                      names.in_prose(choice_.query) + of(geometry.queries) +
                      " (words count from 1, elements such as q[0] from 0)");
    explanation_.item("formula: " + std::string(kind.score) + " (" + std::string(kind.source) +
                      ")");
    for (const auto& [tensor, shape] : plan_.shapes)
      explanation_.item(tensor + " " + text(shape) +
                        (tensor == plan_.shapes[0].first ? std::string(", ") + name(dtype) : ""));
    explanation_.paragraph(
        "Numbers are rounded to four decimals to be shown, but computed in double precision. What "
        "is shown as 0 is exactly 0.");
    if (is_narrow(dtype)) {
      explanation_.paragraph(std::string("A run computes this in ") + name(dtype) +
                             " and rounds inputs, scores, weights and output to it; here no step "
                             "is rounded.");
    }
  }

  void explain(const AttentionRequest& request) {
    chosen_layer(1);
    const AttentionResult result = attend(request);
    explain_attention(ExplainedQuery(request, result, plan_.attentions[0], choice_), explanation_);
  }

  void explain(const ProjectedAttentionRequest& request) {
    chosen_layer(1);
    explain_projected(request, attend_projected(request), plan_.attentions[0], choice_,
                      explanation_);
  }

  void explain(const TransformerRequest& request) {
    const std::size_t layer = chosen_layer(request.layers.size());
    explain_layers(request, transform(request), plan_.attentions, choice_, layer, explanation_);
  }

  void explain(const ModelRequest& request) {
    const Architecture& model = request.folder->architecture;
    const bool decoder = options_.stack == "decoder" || options_.stack == "cross";
    const ModelStack& stack = decoder ? model.stacks.back() : model.stacks.front();
    explain_model(request, chosen_attention(), choice_, chosen_layer(stack.layers.size()),
                  explanation_);
  }

  const ExplainOptions& options_;
  Plan plan_;
  QueryChoice choice_;
  Explanation explanation_;
};

void write_json(JsonWriter& json, const Explanation& explanation, const KindExplanation& kind,
                const ExplainOptions& options, const std::string& document) {
  json.begin_object();
  json.key("document");
  json.value(document);
  json.key("attention");
  json.value(info(kind.plan().kind).name);
  json.key("sample");
  json.value(options.sample);
  json.key("head");
  json.value(options.head);
  json.key("query");
  json.value(options.query);
  json.key("steps");
  json.begin_array();
  std::string part;
  for (const Explanation::Step& step : explanation.steps) {
    if (!step.part.empty()) part = step.part;
    json.begin_object();
    if (!part.empty()) {
      json.key("part");
      json.value(part);
    }
    json.key("title");
    json.value(step.title);
    json.key("text");
    json.value(step_text(step, 0));
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

ExplainOutcome explained_document(const ExplainOptions& options) {
  const Document document = open_document(options.document);
  std::vector<Plan> plans = read_plans(document, choose_steps);
  std::vector<KindExplanation> explained;
  try {
    for (Plan& plan : plans) explained.emplace_back(options, document, std::move(plan));
  } catch (const Error& error) {
    throw document.placed(error);
  }

  ExplainOutcome outcome;
  JsonWriter json([&](std::string_view piece) { outcome.text += piece; });
  const bool list = options.format == ExplanationFormat::json && explained.size() > 1;
  if (list) json.begin_array();
  for (const KindExplanation& kind : explained) {
    for (const std::string& warning : kind.plan().warnings) {
      if (std::find(outcome.warnings.begin(), outcome.warnings.end(), warning) ==
          outcome.warnings.end())
        outcome.warnings.push_back(warning);
    }
    if (options.format == ExplanationFormat::json) {
      write_json(json, kind.explanation(), kind, options, document.name());
      continue;
    }
    if (!outcome.text.empty()) outcome.text += "\n\n";
    outcome.text += options.format == ExplanationFormat::markdown
                        ? explanation_markdown(kind.explanation())
                        : explanation_text(kind.explanation());
  }
  if (list) json.end_array();
  if (options.format == ExplanationFormat::json) json.finish();
  return outcome;
}

}  // namespace

ExplainOutcome explain(const ExplainOptions& given) {
  return with_whole_files(given.document.files, [&](const FileAccess& access) {
    ExplainOptions options = given;
    options.document.files = access;
    return explained_document(options);
  });
}

}  // namespace attn
