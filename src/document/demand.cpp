#include "document/demand.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <variant>

#include "attn/error.hpp"

#include "support/memory_limit.hpp"
#include "support/number_text.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

double number(std::size_t size) {
  return static_cast<double>(size);
}

/// Adds up tensors.
class Sum {
 public:
  void add(double elements, std::size_t bytes_each) {
    elements_ += elements;
    bytes_ += elements * number(bytes_each);
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

bool masked(const Mask& mask) {
  return mask.causal || mask.window || mask.padding || mask.allow || mask.block || mask.bias ||
         mask.valid_lens;
}

// What is kept of one attention until its results are written.
Sum kept(const PlannedAttention& attention, const AttentionOptions& options) {
  const Geometry& g = attention.geometry;
  const double rows = number(g.batch) * number(g.heads) * number(g.queries);
  const double map = rows * number(g.keys);
  const std::size_t size = size_of(options.dtype);
  Sum sum;
  sum.add(rows * number(g.value_width), size);
  if (options.pool) {
    const double bins = number(g.batch) * number(g.heads) *
                        number(std::min(g.queries, options.pool->size)) *
                        number(std::min(g.keys, options.pool->size));
    // A cell is summed in double precision, and known to be seen or not.
    sum.add(bins, size + sizeof(double));
    sum.add(bins, sizeof(std::uint8_t));
  } else if (options.weights) {
    sum.add(map, size);
    if (masked(attention.mask)) sum.add(map, sizeof(std::uint8_t));
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

// What is kept of a model: weights, and logits of all positions if they are wanted.
Sum kept(const Plan& plan, const ModelRequest& request) {
  Sum sum;
  const std::size_t size = size_of(request.dtype);
  for (const PlannedAttention& attention : plan.attentions) {
    const Geometry& g = attention.geometry;
    const double cells = number(g.batch) * number(g.queries) * number(g.keys);
    if (request.rows) continue;
    if (request.weights) sum.add(cells * number(g.heads), size);
    sum.add(cells, sizeof(std::uint8_t));
  }
  const auto& samples =
      request.texts.decoder_ids.empty() ? request.texts.ids : request.texts.decoder_ids;
  std::size_t longest = 0;
  for (const auto& ids : samples) longest = std::max(longest, ids.size());
  if (request.logits) {
    sum.add(
        number(samples.size()) * number(longest) * number(request.folder->architecture.vocabulary),
        size);
  }
  return sum;
}

// The projected queries, keys and values of one attention.
double projected_elements(const Geometry& g) {
  return number(g.batch) *
         (number(g.queries) * number(g.heads) * number(g.query_width) +
          number(g.keys) * number(g.kv_heads) * (number(g.key_width) + number(g.value_width)));
}

// Hidden states of the layer that needs most of them; they live no longer than the layer.
double passing_elements(const Plan& plan, const TransformerRequest& request) {
  double most = 0;
  for (const PlannedAttention& attention : plan.attentions) {
    const Geometry& g = attention.geometry;
    double elements = projected_elements(g);
    for (const TransformerLayer& layer : request.layers) {
      const double wide = number(layer.linear1.weight.shape()[0]);
      elements = std::max(elements, 2 * number(g.batch) * number(g.queries) * wide);
    }
    most = std::max(most, elements);
    if (request.layers.size() > 1) break;  // all layers have the states of the first
  }
  return most;
}

}  // namespace

Demand& Demand::operator+=(const Demand& other) {
  read += other.read;
  computed += other.computed;
  bytes += other.bytes;
  return *this;
}

Demand demand_of(const Plan& plan) {
  const AttentionOptions& options = plan.options();
  const std::size_t size = size_of(options.dtype);
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
  return {plan.read, sum.elements(), sum.bytes() + plan.made * number(size)};
}

void check_demand(const Demand& demand, const Limits& limits) {
  const double all = demand.read + demand.computed;
  if (all > number(limits.elements)) {
    throw input_error(
        translated("the document asks for {1} elements in all, {2} to read and {3} to compute, and "
                   "the limit is {4}",
                   number_text(all), number_text(demand.read), number_text(demand.computed),
                   limits.elements),
        "",
        translated(
            "make it smaller, leave the weights out, or raise the limit with Limits::elements"));
  }
  check_memory(demand.bytes, translated("what the document asks for"), "");
}

}  // namespace attn
