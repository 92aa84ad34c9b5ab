#include <algorithm>
#include <variant>

#include "attention/expression.hpp"
#include "document/plan.hpp"
#include "layers/torch_layers.hpp"
#include "support/overloaded.hpp"

namespace attn {
namespace {

double product_of(const ProductInfo& product, const Geometry& g) {
  double number = 1;
  for (const NamedSize& size : sizes_of(product, g)) number *= as_real(size.value);
  return number;
}

double pairs(const Geometry& g) {
  return as_real(g.batch) * as_real(g.heads) * as_real(g.queries) * as_real(g.keys);
}

// Scores and outputs of one attention.
double work_of(Kind kind, const Geometry& g) {
  double work = pairs(g) * as_real(g.value_width);
  for (const ProductInfo& product : info(kind).products) work += product_of(product, g);
  return work;
}

// The parts of expressions, each computed for every pair.
double work_of_expressions(const AttentionOptions& options, const Geometry& g) {
  double work = 0;
  const auto add = [&](const Expression& expression, ExpressionUse use) {
    if (!expression) return;
    const ExpressionTree tree(expression, use, "", g);
    work += pairs(g) * as_real(tree.size() * (tree.reads_rows() ? g.query_width : 1));
  };
  add(options.score_expression, ExpressionUse::score);
  add(options.mask.where, ExpressionUse::where);
  add(options.weight_expression, ExpressionUse::weight);
  return work;
}

double elements(const Linear& linear) {
  return linear.weight ? as_real(linear.weight.size()) : 0;
}

double work_of(const Projections& p, const Geometry& g) {
  const double queries = as_real(g.batch) * as_real(g.queries);
  const double keys = as_real(g.batch) * as_real(g.keys);
  return queries * (elements(p.query) + elements(p.output)) +
         keys * (elements(p.key) + elements(p.value));
}

// Work of the Linear layers of a stack whose attentions have these sizes.
double work_of_layers(const TransformerRequest& request, const Geometry& self,
                      const Geometry& cross) {
  double work = 0;
  for (const TransformerLayer& layer : request.layers) {
    work += work_of(layer.self_attn, self);
    if (request.decoder) work += work_of(layer.multihead_attn, cross);
    work += as_real(self.batch) * as_real(self.queries) *
            (elements(layer.linear1) + elements(layer.linear2) + elements(layer.linear3));
  }
  return work;
}

double work_of(const Plan& plan, const TransformerRequest& request) {
  const Geometry &first = plan.attentions.front().geometry, &last = plan.attentions.back().geometry;
  double work = as_real(request.layers.size()) * work_of_expressions(request, first);
  for (const PlannedAttention& attention : plan.attentions)
    work += work_of(plan.kind, attention.geometry);
  work += work_of_layers(request, first, plan.attentions[request.decoder ? 1 : 0].geometry);
  return request.encoder ? work + work_of_layers(encoder_of(request), last, last) : work;
}

// Matrices of all layers for each token, and pairs of tokens in each layer, whether its map is
// wanted or not.
double work_of(const ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  double layers = 0, experts = 0, head = 0;
  for (const std::string& name : request.folder->weights.names()) {
    const Shape& shape = request.folder->weights.shape(name);
    if (shape.size() < 2) continue;
    const bool of_vocabulary = std::ranges::count(shape, model.vocabulary) > 0;
    const bool of_experts = shape.size() > 2 || name.find(".experts.") != std::string::npos;
    (of_vocabulary ? head : of_experts ? experts : layers) += as_real(element_count(shape));
  }
  if (model.experts && model.experts->count > 0) {
    layers += experts * as_real(model.experts->chosen) / as_real(model.experts->count);
  }
  double work = 0, tokens = 0;
  for (const ModelStack& stack : model.stacks) {
    const auto& samples = request.texts.read_by(stack);
    const double longest = as_real(longest_of(samples));
    const double all = as_real(samples.size()) * longest;
    tokens = std::max(tokens, all);
    const double keys = longest + (stack.crosses ? as_real(longest_of(request.texts.ids)) : 0);
    const Architecture& own = model.of(stack);
    const auto maps =
        static_cast<double>(std::ranges::count_if(stack.layers, &ModelLayer::has_map));
    work += maps * all * keys * as_real(own.heads) * 2 * as_real(own.head_width);
  }
  // Generated tokens are computed one by one, and then read with their prompt.
  const double times = request.answer ? 2 : 1;
  return times * (work + tokens * layers) +
         ((request.options.wanted.logits ? tokens : 0) + (request.answer ? tokens : 0)) * head;
}

}  // namespace

double work_of(const Plan& plan) {
  return std::visit(
      Overloaded{[&](const AttentionRequest& request) {
                   const Geometry& geometry = plan.attentions.front().geometry;
                   return work_of(plan.kind, geometry) + work_of_expressions(request, geometry);
                 },
                 [&](const ProjectedAttentionRequest& request) {
                   const Geometry& geometry = plan.attentions.front().geometry;
                   return work_of(plan.kind, geometry) + work_of(request.projections, geometry) +
                          work_of_expressions(request, geometry);
                 },
                 [&](const TransformerRequest& request) { return work_of(plan, request); },
                 [](const ModelRequest& request) { return work_of(request); }},
      plan.computation);
}

}  // namespace attn
