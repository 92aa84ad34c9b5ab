#include "models/stack_pass.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "attention/position_bias.hpp"
#include "attention/paths.hpp"
#include "models/elementwise.hpp"
#include "models/experts.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// A part of the rows of a projection.
StoredLinear rows_of(const StoredLinear& linear, std::size_t first, std::size_t count) {
  return {linear.weight.rows(first, count),
          linear.bias ? rows_of(linear.bias, first, count) : Tensor()};
}

// [1,L,H·d] with zeros for some heads.
Tensor without_heads(const Tensor& x, const std::vector<std::size_t>& off, std::size_t head_width) {
  const std::size_t row = x.shape().back();
  return with_floats(x, [&]<class T>(std::span<const T> from) {
    std::vector<T> y(from.begin(), from.end());
    for (std::size_t at = 0; at < y.size(); at += row) {
      for (const std::size_t head : off) {
        std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(at + head * head_width), head_width,
                    T(0));
      }
    }
    return Tensor(x.shape(), std::move(y));
  });
}

}  // namespace

StackPass::StackPass(const Architecture& model, const CheckpointWeights& checkpoint,
                     const ModelStack& stack, const std::string& prefix,
                     const ModelOptions& options)
    : model_(model),
      checkpoint_(checkpoint),
      stack_(stack),
      weights_(checkpoint, model, stack, prefix),
      options_(options),
      norms_(model, checkpoint, weights_, options.threads),
      embedding_(model, checkpoint, weights_, norms_, options),
      bucket_table_(weights_.find("buckets", std::nullopt, "weight")) {
  const Shape expected{model.buckets.count, model.heads};
  if (bucket_table_ && bucket_table_.shape() != expected) {
    refuse_shape(checkpoint, weights_.name("buckets", std::nullopt), bucket_table_.shape(),
                 expected);
  }
}

StackPass::Layer StackPass::read_layer(std::size_t n) const {
  Layer layer;
  layer.number = n;
  if (weights_.has("query_key_value", n)) {
    layer.self = read_fused(n);
  } else {
    layer.self.query = weights_.linear("query", n);
    layer.self.key = weights_.linear("key", n);
    layer.self.value = weights_.linear("value", n);
  }
  layer.self.output = weights_.linear("output", n);
  layer.sinks = weights_.find("sinks", n, "weight");
  if (stack_.crosses) {
    layer.cross = {weights_.linear("cross_query", n), weights_.linear("cross_key", n),
                   weights_.linear("cross_value", n), weights_.linear("cross_output", n)};
  }
  return layer;
}

// A projection of query, key and value in one.
StackPass::Projections StackPass::read_fused(std::size_t n) const {
  const StoredLinear fused = weights_.linear("query_key_value", n);
  const std::size_t d = model_.head_width, heads = model_.heads, groups = model_.kv_heads;
  const std::size_t rows = (heads + 2 * groups) * d;
  if (fused.weight.shape()[0] != rows) {
    refuse_shape(checkpoint_, weights_.name("query_key_value", std::nullopt), fused.weight.shape(),
                 {rows, fused.weight.shape()[1]});
  }
  if (model_.fused == FusedLayout::side_by_side) {
    return {rows_of(fused, 0, heads * d),
            rows_of(fused, heads * d, groups * d),
            rows_of(fused, (heads + groups) * d, groups * d),
            {}};
  }
  // Head by head, or by groups: so many queries, a key, a value.
  const std::size_t queries = heads / groups;
  std::vector<std::size_t> query, key, value;
  for (std::size_t g = 0; g < groups; ++g) {
    std::size_t row = g * (queries + 2) * d;
    for (std::size_t i = 0; i < queries * d; ++i) query.push_back(row++);
    for (std::size_t i = 0; i < d; ++i) key.push_back(row++);
    for (std::size_t i = 0; i < d; ++i) value.push_back(row++);
  }
  const auto part = [&](const std::vector<std::size_t>& wanted) {
    return StoredLinear{fused.weight.picked(wanted),
                        fused.bias ? picked(fused.bias, wanted) : Tensor()};
  };
  return {part(query), part(key), part(value), {}};
}

template <class Branch>
Tensor StackPass::added(const Tensor& base, const char* norm, std::size_t n,
                        const Branch& branch) const {
  if (!norms_.has(norm, n)) return branch(base);
  return sum(checkpoint_, base, norms_.apply(branch(Tensor()), norm, n), options_.threads);
}

StackPass::Step StackPass::step(const Layer& layer, const Tensor& x, const Tensor& memory,
                                const HeadsOff& off, bool wants_weights,
                                const std::function<void(const AttendedBlock&)>& watch) const {
  const std::size_t n = layer.number;
  Step result;
  const Tensor h = norms_.apply(x, "before_attention", n);
  const Tensor& residual = model_.residual_after_norm ? h : x;
  std::optional<AttendedBlock> block;
  if (options_.block && wants_weights) block.emplace();
  Tensor y = added(residual, "after_attention", n, [&](const Tensor& to) {
    return attend_to(layer, true, h, h, off.self, wants_weights ? &result.self : nullptr, to,
                     block ? &*block : nullptr);
  });
  if (block) {
    block->weights = result.self;
    block->residual = residual;
    if (off.self != nullptr) block->heads_off = *off.self;
    block->branch_norm = norms_.of_states("after_attention", n, x.shape().back());
    if (!model_.parallel) {
      block->sum_norm = norms_.of_states("after_attention_sum", n, x.shape().back());
    }
    watch(*block);
  }
  const auto feed = [&](const Tensor& base, const Tensor& in) {
    return added(base, "after_feed_forward", n,
                 [&](const Tensor& to) { return feed_forward(in, n, to); });
  };
  if (model_.parallel) {
    result.states = feed(y, norms_.apply(x, "before_feed_forward", n));
    return result;
  }
  y = norms_.apply(y, "after_attention_sum", n);
  if (stack_.crosses) {
    const Tensor states = norms_.apply(y, "before_cross", n);
    y = attend_to(layer, false, states, memory, off.cross, wants_weights ? &result.cross : nullptr,
                  y);
    y = norms_.apply(y, "after_cross_sum", n);
  }
  const Tensor in = norms_.apply(y, "before_feed_forward", n);
  result.states =
      norms_.apply(feed(model_.residual_after_norm ? in : y, in), "after_feed_forward_sum", n);
  return result;
}

Tensor StackPass::finish(const Tensor& x) const {
  Tensor y = norms_.apply(x, "final_norm", std::nullopt);
  const Tensor weight = weights_.find("output_projection", std::nullopt, "weight");
  if (!weight) return y;
  return apply(Linear{weight, weights_.find("output_projection", std::nullopt, "bias")}, y,
               options_.threads);
}

void StackPass::check_fits(const StoredLinear& linear, const char* purpose, const Tensor& x) const {
  const Shape shape = linear.weight.shape(), expected{shape[0], x.shape().back()};
  if (shape == expected) return;
  refuse_shape(checkpoint_, weights_.name(purpose, std::nullopt), shape, expected);
}

std::size_t StackPass::finished_width() const {
  const auto shape = weights_.shape("output_projection", std::nullopt, "weight");
  return shape ? shape->front() : embedding_.width();
}

// A projection of x, added to `base` if that is there.
Tensor StackPass::projected(const StoredLinear& linear, const char* purpose, const Tensor& x,
                            const Tensor& base) const {
  check_fits(linear, purpose, x);
  if (!base) return apply(linear, x, options_.threads);
  Shape shape = x.shape();
  shape.back() = linear.weight.shape()[0];
  check_alike(checkpoint_, base.shape(), shape);
  return apply(linear, x, options_.threads, adding(base));
}

// Attention of the states over the memory's, projected and added to `base` if that is there; `map`
// becomes the weights [1,H,Lq,Lk] if it is given.
Tensor StackPass::attend_to(const Layer& layer, bool self, const Tensor& states,
                            const Tensor& memory, const std::vector<std::size_t>* off, Tensor* map,
                            const Tensor& base, AttendedBlock* block) const {
  Tensor heads;
  {
    AttentionRequest request = attention_of(layer, self, states, memory);
    request.weights = map != nullptr;
    if (options_.watch && map != nullptr) {
      options_.watch({model_.result_stack(stack_), layer.number, self ? "self" : "cross"}, request);
    }
    if (options_.rows && self && map != nullptr) {
      return projected(layer.self.output, "output", heads_by_rows(request, layer.number, off),
                       base);
    }
    if (block != nullptr) block->value = std::get<ScaledDotProduct>(request.score).value;
    AttentionResult result = attend(request);
    if (map != nullptr) *map = std::move(result.weights);
    heads = std::move(result.output);
  }
  if (off != nullptr) heads = without_heads(heads, *off, model_.head_width);
  if (block != nullptr) {
    block->heads = heads;
    block->output = layer.self.output;
  }
  return projected(self ? layer.self.output : layer.cross.output, "output", heads, base);
}

// The joined heads of a self-attention whose weights are told row by row.
Tensor StackPass::heads_by_rows(const AttentionRequest& request, std::size_t layer,
                                const std::vector<std::size_t>* off) const {
  constexpr std::size_t weights_at_a_time = std::size_t{1} << 24U;
  const std::size_t length = std::get<ScaledDotProduct>(request.score).query.shape()[1];
  const std::size_t queries =
      std::max<std::size_t>(16, weights_at_a_time / (model_.heads * length));
  const Tensor heads = attend_by_queries(
      request, queries,
      [&](std::size_t first, const Tensor& rows) { options_.rows(layer, first, rows); });
  return off == nullptr ? heads : without_heads(heads, *off, model_.head_width);
}

AttentionRequest StackPass::attention_of(const Layer& layer, bool self, const Tensor& states,
                                         const Tensor& memory) const {
  const std::size_t n = layer.number, heads = model_.heads, groups = model_.kv_heads;
  const std::size_t d = model_.head_width, threads = options_.threads;
  const Projections& projections = self ? layer.self : layer.cross;
  const auto product = [&](const StoredLinear& linear, const Tensor& x, std::size_t width,
                           const char* purpose) {
    const Shape expected{width, x.shape().back()};
    if (linear.weight.shape() != expected) {
      refuse_shape(checkpoint_, weights_.name(purpose, std::nullopt), linear.weight.shape(),
                   expected);
    }
    return Product{linear.weight.source(), linear.bias};
  };
  const std::array<Product, 3> products{product(projections.query, states, heads * d, "query"),
                                        product(projections.key, memory, groups * d, "key"),
                                        product(projections.value, memory, groups * d, "value")};
  std::vector<Tensor> projected;
  if (self) {
    projected = apply(products, states, threads);
  } else {
    projected = apply(std::span(products).first(1), states, threads);
    for (Tensor& one : apply(std::span(products).last(2), memory, threads)) {
      projected.push_back(std::move(one));
    }
  }
  ScaledDotProduct score;
  score.heads = heads;
  score.kv_heads = groups;
  score.query = std::move(projected[0]);
  score.key = std::move(projected[1]);
  score.value = std::move(projected[2]);
  if (model_.whole_width_norms) {
    score.query = norms_.apply(score.query, "query_norm", n);
    score.key = norms_.apply(score.key, "key_norm", n);
  }
  AttentionRequest request;
  request.dtype = options_.dtype;
  request.threads = threads;
  request.progress = options_.progress;
  request.scale = stack_.layers[n].scale;
  request.softcap = model_.softcap;
  request.eps = model_.eps;
  request.query_norm = norms_.of_heads("query_norm", n);
  request.key_norm = norms_.of_heads("key_norm", n);
  request.score = std::move(score);
  if (!self) return request;
  request.rotary = stack_.layers[n].rotary;
  request.mask = stack_mask(stack_, n);
  request.sinks = layer.sinks;
  set_distance_bias(request, model_.alibi_scaled ? stack_.layers[0].scale : 1);
  return request;
}

// What is added to the scores by the distance of a key from its query.
void StackPass::set_distance_bias(AttentionRequest& request, double scale) const {
  if (model_.positions == ModelPositions::alibi) {
    request.mask.alibi = Alibi{alibi_slopes(model_.heads)};
    for (double& slope : request.mask.alibi->slopes) slope *= scale;
  }
  if (!bucket_table_) return;
  request.relative_bias = RelativeBias{bucket_table_, model_.buckets.count,
                                       model_.buckets.max_distance, !stack_.causal};
}

Tensor StackPass::feed_forward(const Tensor& x, std::size_t n, const Tensor& base) const {
  const std::size_t threads = options_.threads;
  if (model_.experts) {
    const Tensor y = chosen_experts(model_, checkpoint_, weights_, options_, x, n);
    return base ? sum(checkpoint_, base, y, threads) : y;
  }
  Tensor wide;
  if (weights_.has("gate_up", n) || weights_.has("gate", n)) {
    StoredLinear gate, up;
    if (weights_.has("gate_up", n)) {
      const StoredLinear both = weights_.linear("gate_up", n);
      const std::size_t half = both.weight.shape()[0] / 2;
      gate = rows_of(both, 0, half);
      up = rows_of(both, half, half);
    } else {
      gate = weights_.linear("gate", n);
      up = weights_.linear(weights_.has("gated_up", n) ? "gated_up" : "up", n);
    }
    const Tensor gates = projected(gate, "gate", x, {});
    check_fits(up, "up", x);
    if (up.weight.shape() != gate.weight.shape()) {
      refuse_shape(checkpoint_, weights_.name("up", std::nullopt), up.weight.shape(),
                   gate.weight.shape());
    }
    wide = apply(up, x, threads, gating(gates, curve_of(model_.activation)));
  } else {
    const StoredLinear up = weights_.linear("up", n);
    check_fits(up, "up", x);
    wide = apply(up, x, threads, activating(curve_of(model_.activation)));
  }
  return projected(weights_.linear("down", n), "down", wide, base);
}

}  // namespace attn
