#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>

#include "attn/error.hpp"

#include "attention/expression.hpp"
#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "document/plan.hpp"
#include "layers/torch_layers.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"

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
    const double memory = stack.crosses ? as_real(longest_of(request.texts.ids)) : 0;
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      const ModelLayer& layer = stack.layers[n];
      const double length = as_real(longest_at(model, request.texts, stack, n));
      if (!layer.has_map()) continue;
      work += as_real(layer.head_width * layer.heads) * as_real(samples.size()) * length *
              (length + memory) * 2;
    }
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

namespace {

/// A sum of tensors' sizes.
class Sum {
 public:
  void add(double elements, std::size_t bytes_each) {
    elements_ += elements;
    bytes_ += elements * as_real(bytes_each);
  }
  void add(const Sum& other) {
    elements_ += other.elements_;
    bytes_ += other.bytes_;
  }
  double elements() const { return elements_; }
  double bytes() const { return bytes_; }

 private:
  double elements_ = 0, bytes_ = 0;
};

// Tensors of one attention that stay until its results are written.
Sum kept(const PlannedAttention& attention, const AttentionOptions& options) {
  const Geometry& g = attention.geometry;
  const double rows = as_real(g.batch) * as_real(g.heads) * as_real(g.queries);
  const double map = rows * as_real(g.keys);
  const std::size_t size = size_of(options.dtype);
  Sum sum;
  sum.add(rows * as_real(g.value_width), size);
  if (options.pool) {
    const double bins = as_real(g.batch) * as_real(g.heads) *
                        as_real(std::min(g.queries, options.pool->size)) *
                        as_real(std::min(g.keys, options.pool->size));
    // A cell has a sum in double precision, and a flag whether it is seen.
    sum.add(bins, size + sizeof(double));
    sum.add(bins, sizeof(std::uint8_t));
  } else if (options.weights) {
    sum.add(map, size);
    if (attention.mask.present()) sum.add(map, sizeof(std::uint8_t));
  }
  if (options.dropout) {
    sum.add(map, size);
    sum.add(map, sizeof(std::uint8_t));
  }
  if (options.stages) {
    sum.add(2 * map, size);
    if (options.softcap) sum.add(map, size);
    sum.add(rows, size);
  }
  return sum;
}

// Tensors of a model that stay: weights, and logits of all positions if they are wanted.
Sum kept(const Plan& plan, const ModelRequest& request) {
  Sum sum;
  const std::size_t size = size_of(request.options.dtype);
  const WantedResults& wanted = request.options.wanted;
  for (const PlannedAttention& attention : plan.attentions) {
    const Geometry& g = attention.geometry;
    const double cells = as_real(g.batch) * as_real(g.queries) * as_real(g.keys);
    if (wanted.by_rows) continue;
    if (request.pool) {
      const double bins = as_real(g.batch) * as_real(std::min(g.queries, request.pool->size)) *
                          as_real(std::min(g.keys, request.pool->size));
      sum.add(bins * as_real(g.heads), size);
      sum.add(bins, sizeof(std::uint8_t));
      continue;
    }
    if (wanted.weights) sum.add(cells * as_real(g.heads), size);
    sum.add(cells, sizeof(std::uint8_t));
  }
  const auto& samples =
      request.texts.decoder_ids.empty() ? request.texts.ids : request.texts.decoder_ids;
  if (wanted.logits) {
    sum.add(as_real(samples.size()) * as_real(longest_of(samples)) *
                as_real(request.folder->architecture.vocabulary),
            size);
  }
  return sum;
}

// Elements of the projected queries, keys and values of one attention.
double projected_elements(const Geometry& g) {
  return as_real(g.batch) *
         (as_real(g.queries) * as_real(g.heads) * as_real(g.query_width) +
          as_real(g.keys) * as_real(g.kv_heads) * (as_real(g.key_width) + as_real(g.value_width)));
}

// Elements of the hidden states of the largest layer; they do not outlive the layer.
double passing_elements(const Plan& plan, const TransformerRequest& request) {
  double most = 0;
  for (const PlannedAttention& attention : plan.attentions) {
    const Geometry& g = attention.geometry;
    double elements = projected_elements(g);
    for (const TransformerLayer& layer : request.layers) {
      const double wide = as_real(layer.linear1.weight.shape()[0]);
      elements = std::max(elements, 2 * as_real(g.batch) * as_real(g.queries) * wide);
    }
    most = std::max(most, elements);
    if (request.layers.size() > 1) break;  // all layers have hidden states of one shape
  }
  return most;
}

}  // namespace

Demand& Demand::operator+=(const Demand& other) {
  read += other.read;
  computed += other.computed;
  bytes += other.bytes;
  work += other.work;
  return *this;
}

Demand demand_of(const Plan& plan) {
  const AttentionOptions& options = plan.attention_options();
  const std::size_t size = size_of(plan.options().dtype);
  Sum sum;
  const auto keep = [&] {
    for (const PlannedAttention& attention : plan.attentions) sum.add(kept(attention, options));
  };
  std::visit(Overloaded{[&](const AttentionRequest&) { keep(); },
                        [&](const ProjectedAttentionRequest&) {
                          keep();
                          sum.add(projected_elements(plan.attentions[0].geometry), size);
                        },
                        [&](const TransformerRequest& request) {
                          keep();
                          sum.add(passing_elements(plan, request), size);
                        },
                        [&](const ModelRequest& request) { sum.add(kept(plan, request)); }},
             plan.computation);
  return {plan.read, sum.elements(), sum.bytes() + plan.made * as_real(size), work_of(plan)};
}

void check_demand(const Demand& demand, const Limits& limits) {
  const double all = demand.read + demand.computed;
  const double most = as_real(limits.elements);
  if (all > most) {
    throw input_error(
        translated("the document asks for {1} elements in all, {2} to read and {3} to compute, and "
                   "the limit is {4}",
                   amount_text(all, most), amount_text(demand.read, most),
                   amount_text(demand.computed, most), limit_text(most)),
        "",
        translated(
            "make it smaller, leave the weights out, or raise the limit with Limits::elements"));
  }
  if (limits.work && demand.work > *limits.work) {
    throw input_error(translated("the document asks for {1} multiply-adds, and the limit is {2}",
                                 amount_text(demand.work, *limits.work), limit_text(*limits.work)),
                      "", translated("make it smaller, or raise the limit with Limits::work"));
  }
  check_memory(demand.bytes, translated("what the document asks for"), "");
}

}  // namespace attn
