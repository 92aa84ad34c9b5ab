#include "attn/explain.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <variant>

#include "attn/attention.hpp"
#include "attn/error.hpp"
#include "attn/layers.hpp"

#include "attention/projected_attention.hpp"
#include "attention/transformer.hpp"
#include "document/document.hpp"
#include "document/options.hpp"
#include "document/problems.hpp"
#include "explain/explained_cost.hpp"
#include "explain/explained_layers.hpp"
#include "explain/explained_projections.hpp"
#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"
#include "io/json_writer.hpp"
#include "support/overloaded.hpp"

namespace attn {
namespace {

void check_choice(const char* noun, const char* plural, std::size_t index, std::size_t count) {
  if (index < count) return;
  throw input_error(
      "there is no " + std::string(noun) + " " + std::to_string(index) + ": the attention has " +
          (count == 1 ? std::string("only one ") + noun : std::to_string(count) + " " + plural),
      std::string("--") + noun,
      count == 1 ? "leave it out, or give 0" : "give 0 to " + std::to_string(count - 1));
}

/// One kind of a document on its way from the request to its explanation.
class KindExplanation {
 public:
  KindExplanation(const ExplainOptions& options, const Document& document, DocumentRequest request)
      : options_(options),
        request_(std::move(request)),
        choice_{options.sample, options.head, options.query} {
    AttentionOptions& attention = request_.options();
    const DType dtype = attention.dtype;
    set_sizes();
    introduce(document.name(), dtype);
    // The numbers of the inputs are as `run` reads them; what is computed keeps all its digits.
    attention.dtype = DType::float64;
    attention.stages = true;
    attention.threads = options.document.threads;
    explain();
    attention.dtype = dtype;
    explain_cost(request_, explanation_);
  }

  const Explanation& explanation() const noexcept { return explanation_; }
  const DocumentRequest& request() const noexcept { return request_; }

 private:
  void set_sizes() {
    request_.options().pool.reset();
    request_.options().weights = true;
    std::size_t layers = 1;
    std::visit(
        Overloaded{[&](const AttentionRequest& request) { geometry_ = check_geometry(request); },
                   [&](const ProjectedAttentionRequest& request) {
                     Shape output;
                     geometry_ = check_projected(request, "", output);
                   },
                   [&](const TransformerRequest& request) {
                     geometry_ = check_transformer(request).self;
                     layers = request.layers.size();
                   }},
        request_.attention);
    check_choice("sample", "samples", choice_.sample, geometry_.batch);
    check_choice("head", "heads", choice_.head, geometry_.heads);
    check_choice("query", "queries", choice_.query, geometry_.queries);
    if (options_.layer) check_choice("layer", "layers", *options_.layer, layers);
  }

  void introduce(const std::string& document, DType dtype) {
    const KindInfo& kind = info(request_.kind);
    explanation_.title = std::string(kind.name) + " attention, step by step";
    if (!request_.title.empty()) explanation_.paragraph(one_line(request_.title));
    if (!request_.description.empty()) explanation_.paragraph(one_line(request_.description));
    const PositionNames names(Labels::of_sample(request_.labels.query, choice_.sample),
                              geometry_.queries, "query");
    const auto of = [](std::size_t count) { return " of " + std::to_string(count); };
    explanation_.item("document: " + one_line(document));
    explanation_.item("sample " + std::to_string(choice_.sample) + of(geometry_.batch) + ", head " +
                      std::to_string(choice_.head) + of(geometry_.heads) + ", " +
                      names.in_prose(choice_.query) + of(geometry_.queries) +
                      " (all counted from 0)");
    explanation_.item("formula: " + std::string(kind.score) + " (" + std::string(kind.source) +
                      ")");
    for (const auto& [tensor, shape] : request_.shapes)
      explanation_.item(
          tensor + " " + text(shape) +
          (tensor == request_.shapes[0].first ? std::string(", ") + name(dtype) : ""));
    explanation_.paragraph(
        "Numbers are rounded to four decimals to be shown, but computed in double precision. What "
        "is shown as 0 is exactly 0.");
  }

  void explain() {
    const Labels& labels = request_.labels;
    std::visit(Overloaded{[&](const AttentionRequest& request) {
                            const AttentionResult result = attend(request);
                            explain_attention(ExplainedQuery(request, result, labels, choice_),
                                              explanation_);
                          },
                          [&](const ProjectedAttentionRequest& request) {
                            explain_projected(request, attend_projected(request), labels, choice_,
                                              explanation_);
                          },
                          [&](const TransformerRequest& request) {
                            explain_layers(request, transform(request), labels, choice_,
                                           options_.layer.value_or(0), explanation_);
                          }},
               request_.attention);
  }

  const ExplainOptions& options_;
  DocumentRequest request_;
  QueryChoice choice_;
  Geometry geometry_;
  Explanation explanation_;
};

void write_json(JsonWriter& json, const Explanation& explanation, const KindExplanation& kind,
                const ExplainOptions& options, const std::string& document) {
  json.begin_object();
  json.key("document");
  json.value(document);
  json.key("attention");
  json.value(info(kind.request().kind).name);
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

}  // namespace

ExplainOutcome explain(const ExplainOptions& options) {
  const Document document = open_document(options.document);
  std::vector<KindExplanation> explained;
  try {
    const std::vector<Kind> kinds = read_kinds(document.root());
    std::vector<DocumentRequest> requests;
    for (const Kind kind : kinds) {
      Problems problems;
      requests.push_back(read_document(document, kind, kinds, problems));
      problems.throw_first();
    }
    for (DocumentRequest& request : requests)
      explained.emplace_back(options, document, std::move(request));
  } catch (const Error& error) {
    throw document.placed(error);
  }

  ExplainOutcome outcome;
  JsonWriter json([&](std::string_view piece) { outcome.text += piece; });
  const bool list = options.format == ExplanationFormat::json && explained.size() > 1;
  if (list) json.begin_array();
  for (const KindExplanation& kind : explained) {
    for (const std::string& warning : kind.request().warnings) {
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

}  // namespace attn
