#include "document/plan.hpp"

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "attn/error.hpp"

#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "layers/torch_layers.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Attentions = std::vector<PlannedAttention>;

Attentions planned(const AttentionRequest& request) {
  const Geometry geometry = check_geometry(request);
  check_options(request, geometry);
  return {{{}, request.mask, geometry, {}}};
}

Attentions planned(const ProjectedAttentionRequest& request) {
  Shape output;
  return {{{}, request.mask, check_projected(request, "", output), {}}};
}

// An encoder's attentions follow those of the decoder.
Attentions planned(const TransformerRequest& request) {
  Attentions attentions;
  const std::vector<LayerGeometry> layers = check_transformer(request);
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const std::string prefix = layer_prefix_of(request, i);
    attentions.push_back({AttentionName(prefix + "self"), request.mask, layers[i].self, {}});
    if (!request.decoder) continue;
    attentions.push_back(
        {AttentionName(prefix + "cross"), request.memory_mask, layers[i].cross, {}});
  }
  if (request.encoder) {
    for (PlannedAttention& own : planned(encoder_of(request))) attentions.push_back(std::move(own));
  }
  return attentions;
}

// The lengths [B] of samples; absent if all are equal.
Tensor lengths_of(const std::vector<std::vector<std::int64_t>>& samples) {
  const std::size_t longest = longest_of(samples);
  std::vector<std::int64_t> lengths;
  bool equal = true;
  for (const auto& ids : samples) {
    lengths.push_back(static_cast<std::int64_t>(ids.size()));
    equal = equal && ids.size() == longest;
  }
  const std::size_t count = lengths.size();
  return equal ? Tensor() : Tensor({count}, std::move(lengths));
}

Attentions planned(const ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  Attentions attentions;
  const Tensor lengths_of_memory = lengths_of(request.texts.ids);
  for (const ModelStack& stack : model.stacks) {
    const auto& own = request.texts.read_by(stack);
    const Tensor lengths = lengths_of(own);
    const auto geometry = [&](const auto& of_keys) {
      Geometry sizes;
      sizes.batch_axis = sizes.head_axis = sizes.joined = true;
      sizes.batch = own.size();
      sizes.heads = model.of(stack).heads;
      sizes.kv_heads = model.of(stack).kv_heads;
      sizes.queries = longest_of(own);
      sizes.keys = longest_of(of_keys);
      sizes.query_width = sizes.key_width = sizes.value_width = model.of(stack).head_width;
      return sizes;
    };
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      if (!request.options.wanted.chooses_map(stack, n)) continue;
      const ModelPlace at{stack_of(model, stack), n};
      Mask mask = stack_mask(stack, n);
      mask.valid_lens = lengths;
      attentions.push_back({at.attention(), std::move(mask), geometry(own), {}});
      if (!stack.crosses) continue;
      Mask memory;
      memory.valid_lens = lengths_of_memory;
      const ModelPlace cross{at.stack, n, ModelPlace::Part::cross};
      attentions.push_back({cross.attention(), std::move(memory), geometry(request.texts.ids), {}});
    }
  }
  return attentions;
}

}  // namespace

std::vector<PlannedAttention> attentions_of(const Computation& computation) {
  return std::visit([](const auto& request) { return planned(request); }, computation);
}

ComputingOptions Plan::options() const {
  const auto of = [](const auto& own, const auto& results) {
    return ComputingOptions{own.dtype, own.threads, results.weights, results.stages};
  };
  return std::visit(Overloaded{[&](const ModelRequest& request) {
                                 return of(request.options, request.options.wanted);
                               },
                               [&](const AttentionOptions& own) { return of(own, own); }},
                    computation);
}

void Plan::choose(const ComputingOptions& options) {
  const auto put = [&](auto& own, auto& results) {
    std::tie(own.dtype, own.threads) = std::tie(options.dtype, options.threads);
    std::tie(results.weights, results.stages) = std::tie(options.weights, options.stages);
  };
  std::visit(
      Overloaded{[&](ModelRequest& request) { put(request.options, request.options.wanted); },
                 [&](AttentionOptions& own) { put(own, own); }},
      computation);
}

const AttentionOptions& Plan::attention_options() const {
  static const AttentionOptions of_models;
  return std::visit(
      Overloaded{[](const ModelRequest&) -> const AttentionOptions& { return of_models; },
                 [](const AttentionOptions& own) -> const AttentionOptions& { return own; }},
      computation);
}

ModelRequest* model_of(Plan& plan) noexcept {
  return std::get_if<ModelRequest>(&plan.computation);
}

const ModelRequest* model_of(const Plan& plan) noexcept {
  return std::get_if<ModelRequest>(&plan.computation);
}

std::size_t Plan::scores_count() const {
  std::size_t count = 0;
  for (const PlannedAttention& attention : attentions)
    count += element_count(attention.geometry.weights_shape());
  return count;
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
  if (all > as_real(limits.elements)) {
    throw input_error(
        translated("the document asks for {1} elements in all, {2} to read and {3} to compute, and "
                   "the limit is {4}",
                   number_text(all), number_text(demand.read), number_text(demand.computed),
                   limits.elements),
        "",
        translated(
            "make it smaller, leave the weights out, or raise the limit with Limits::elements"));
  }
  if (limits.work && demand.work > *limits.work) {
    throw input_error(translated("the document asks for {1} multiplications, and the limit is {2}",
                                 number_text(demand.work), number_text(*limits.work)),
                      "", translated("make it smaller, or raise the limit with Limits::work"));
  }
  check_memory(demand.bytes, translated("what the document asks for"), "");
}

}  // namespace attn
