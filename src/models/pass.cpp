#include "models/pass.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/layer_norm.hpp"
#include "attention/linear.hpp"
#include "attention/position_bias.hpp"
#include "attention/rotary.hpp"
#include "io/json_value.hpp"
#include "models/elementwise.hpp"
#include "models/experts.hpp"
#include "models/logits_head.hpp"

namespace attn {
namespace {

// A part of the rows of a projection.
StoredLinear rows_of(const StoredLinear& linear, std::size_t first, std::size_t count) {
  return {linear.weight.rows(first, count),
          linear.bias ? rows_of(linear.bias, first, count) : Tensor()};
}

// One stack of a model over all samples.
class StackPass {
 public:
  StackPass(const Architecture& model, const CheckpointWeights& checkpoint, const ModelStack& stack,
            const std::string& prefix, const ModelOptions& options)
      : model_(model),
        checkpoint_(checkpoint),
        stack_(stack),
        weights_(checkpoint, model, stack, prefix),
        options_(options) {
    if (const Tensor table = weights_.find("buckets", std::nullopt, "weight")) {
      bucket_table_ = table.converted(DType::float64);
      if (table.shape() != Shape{model.buckets.count, model.heads}) {
        misfit("buckets", table.shape(), {model.buckets.count, model.heads});
      }
    }
  }

  // 1. Token embeddings with what is added to them: [1,L,D] a sample.
  Tensor embed(const std::vector<std::int64_t>& ids, const std::vector<std::int64_t>& types) const {
    Tensor x = looked_up("tokens", ids);
    if (model_.embedding_scale != 1) {
      x = mapped(
          options_.threads, [&](double v) { return v * model_.embedding_scale; }, x);
    }
    const auto positions = weights_.shape("positions", std::nullopt, "weight");
    Linear projection;
    if (const Tensor weight = weights_.find("embedding_projection", std::nullopt, "weight")) {
      projection = {weight, weights_.find("embedding_projection", std::nullopt, "bias")};
    }
    if (projection.weight && positions && positions->back() != x.shape().back()) {
      x = apply(projection, x, options_.threads);
      projection = {};
    }
    if (positions) {
      const std::vector<std::int64_t> places = learned_places(ids);
      x = sum(x, looked_up("positions", places));
    } else if (model_.positions == ModelPositions::sinusoidal) {
      x = sum(x, sinusoids(ids.size(), x.shape().back()));
    }
    if (weights_.has("types", std::nullopt)) {
      const std::vector<std::int64_t> own =
          types.empty() ? std::vector<std::int64_t>(ids.size(), 0) : types;
      x = sum(x, looked_up("types", own));
    }
    x = normed(x, "embedding_norm", std::nullopt);
    if (projection.weight) x = apply(projection, x, options_.threads);
    return x;
  }

  // 2. One layer: states in and out, its maps.
  struct Step {
    Tensor states, self, cross;
  };

  // What a layer needs of the file, read once for all samples.
  struct Layer {
    std::size_t number;
    StoredLinear query, key, value, output;
    StoredLinear cross_query, cross_key, cross_value, cross_output;
    Tensor sinks;
  };

  Layer read_layer(std::size_t n) const {
    Layer layer{};
    layer.number = n;
    if (weights_.has("query_key_value", n)) {
      split(weights_.linear("query_key_value", n), layer);
    } else {
      layer.query = weights_.linear("query", n);
      layer.key = weights_.linear("key", n);
      layer.value = weights_.linear("value", n);
    }
    layer.output = weights_.linear("output", n);
    layer.sinks = weights_.find("sinks", n, "weight");
    if (stack_.crosses) {
      layer.cross_query = weights_.linear("cross_query", n);
      layer.cross_key = weights_.linear("cross_key", n);
      layer.cross_value = weights_.linear("cross_value", n);
      layer.cross_output = weights_.linear("cross_output", n);
    }
    return layer;
  }

  Step step(const Layer& layer, const Tensor& x, const Tensor& memory,
            const std::vector<std::size_t>* off, const std::vector<std::size_t>* cross_off,
            bool wants_weights) const {
    const std::size_t n = layer.number;
    Step result;
    const Tensor h = normed(x, "before_attention", n);
    Tensor a = attend_to(layer, layer.query, layer.key, layer.value, layer.output, h, h, true, off,
                         wants_weights ? &result.self : nullptr);
    a = normed(a, "after_attention", n);
    if (model_.parallel) {
      const Tensor f = feed_forward(normed(x, "before_feed_forward", n), n);
      result.states = sum(sum(x, a), normed(f, "after_feed_forward", n));
      return result;
    }
    Tensor y = normed(sum(model_.residual_after_norm ? h : x, a), "after_attention_sum", n);
    if (stack_.crosses) {
      const Tensor c = attend_to(layer, layer.cross_query, layer.cross_key, layer.cross_value,
                                 layer.cross_output, normed(y, "before_cross", n), memory, false,
                                 cross_off, wants_weights ? &result.cross : nullptr);
      y = normed(sum(y, c), "after_cross_sum", n);
    }
    const Tensor in = normed(y, "before_feed_forward", n);
    const Tensor f = normed(feed_forward(in, n), "after_feed_forward", n);
    result.states =
        normed(sum(model_.residual_after_norm ? in : y, f), "after_feed_forward_sum", n);
    return result;
  }

  // 3. What follows all layers.
  Tensor finish(const Tensor& x) const {
    const Tensor y = normed(x, "final_norm", std::nullopt);
    const Tensor weight = weights_.find("output_projection", std::nullopt, "weight");
    if (!weight) return y;
    return apply(Linear{weight, weights_.find("output_projection", std::nullopt, "bias")}, y,
                 options_.threads);
  }

  // The name of the token embeddings.
  std::string table() const {
    return weights_.found("tokens", std::nullopt, "weight").value_or("");
  }

  Tensor required(const char* purpose) const {
    const Tensor table = weights_.find(purpose, std::nullopt, "weight");
    return table ? table : checkpoint_.read(weights_.name(purpose, std::nullopt) + ".weight");
  }

 private:
  [[noreturn]] void misfit(const char* purpose, const Shape& shape, const Shape& wanted) const {
    throw input_error(weights_.name(purpose, std::nullopt) + " " + text(shape) +
                          " does not fit the configuration: expected " + text(wanted),
                      checkpoint_.place(), "the configuration and the weights differ");
  }

  Tensor sum(const Tensor& a, const Tensor& b) const {
    if (a.shape() != b.shape()) {
      throw input_error(
          "states " + text(a.shape()) + " and " + text(b.shape()) + " cannot be added",
          checkpoint_.place(), "the configuration and the weights differ");
    }
    return mapped(
        options_.threads, [](double x, double y) { return x + y; }, a, b);
  }

  // Rows of a table, each read by itself: most of a vocabulary plays no part.
  Tensor looked_up(const char* purpose, const std::vector<std::int64_t>& ids) const {
    const auto name = weights_.found(purpose, std::nullopt, "weight");
    if (!name) return required(purpose);
    const std::size_t width = checkpoint_.shape(*name).back();
    std::vector<double> rows;
    rows.reserve(ids.size() * width);
    for (const std::int64_t id : ids) {
      const Tensor row =
          checkpoint_.read_rows(*name, static_cast<std::size_t>(id), 1).converted(DType::float64);
      rows.insert(rows.end(), row.values<double>().begin(), row.values<double>().end());
    }
    return Tensor({1, ids.size(), width}, std::move(rows)).converted(options_.dtype);
  }

  // Vaswani et al. 2017, section 3.5, all sines before all cosines, as Marian has them.
  Tensor sinusoids(std::size_t length, std::size_t width) const {
    std::vector<double> x(length * width);
    const std::size_t half = (width + 1) / 2;
    for (std::size_t i = 0; i < length; ++i) {
      for (std::size_t k = 0; k < width; ++k) {
        const std::size_t pair = k < half ? k : k - half;
        const double angle =
            static_cast<double>(i) /
            std::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(width));
        x[i * width + k] = k < half ? std::sin(angle) : std::cos(angle);
      }
    }
    return Tensor({1, length, width}, std::move(x)).converted(options_.dtype);
  }

  // The rows of the position table. A padding token in a text of RoBERTa stays at its own place.
  std::vector<std::int64_t> learned_places(const std::vector<std::int64_t>& ids) const {
    std::vector<std::int64_t> places;
    auto next = static_cast<std::int64_t>(model_.first_position);
    for (const std::int64_t id : ids) {
      const bool padding = model_.longest && model_.pad_id == id;
      places.push_back(padding ? *model_.pad_id : next++);
    }
    return places;
  }

  Tensor normed(const Tensor& x, const char* purpose, std::optional<std::size_t> layer) const {
    const Tensor weight = weights_.find(purpose, layer, "weight");
    if (!weight) return x;
    return normed_by(x, weight, weights_.find(purpose, layer, "bias"), purpose);
  }

  Tensor normed_by(const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const char* purpose) const {
    if (weight.shape() != Shape{x.shape().back()})
      misfit(purpose, weight.shape(), {x.shape().back()});
    if (model_.norm == ModelNorm::layer) {
      return apply(LayerNorm{weight, bias}, x, model_.eps, options_.threads);
    }
    return rms_normed(x, weight, model_.eps, model_.norm == ModelNorm::rms_plus_one,
                      options_.threads);
  }

  // A projection of query, key and value in one.
  void split(const StoredLinear& fused, Layer& layer) const {
    const std::size_t d = model_.head_width, heads = model_.heads, groups = model_.kv_heads;
    const std::size_t rows = (heads + 2 * groups) * d;
    if (fused.weight.shape()[0] != rows) {
      misfit("query_key_value", fused.weight.shape(), {rows, fused.weight.shape()[1]});
    }
    if (model_.fused == FusedLayout::side_by_side) {
      layer.query = rows_of(fused, 0, heads * d);
      layer.key = rows_of(fused, heads * d, groups * d);
      layer.value = rows_of(fused, (heads + groups) * d, groups * d);
      return;
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
    layer.query = part(query);
    layer.key = part(key);
    layer.value = part(value);
  }

  // Norm and rotation of the heads of a query or key [1,L,H·d].
  Tensor prepared(Tensor x, std::size_t heads, const char* norm, std::size_t n, bool turned) const {
    const Shape shape = x.shape();
    if (const Tensor weight = weights_.find(norm, n, "weight")) {
      const Tensor bias = weights_.find(norm, n, "bias");
      if (!model_.whole_width_norms) x = x.reshaped({1, shape[1] * heads, model_.head_width});
      x = normed_by(x, weight, bias, norm).reshaped(shape);
    }
    const std::optional<Rotary>& rotary = stack_.layers[n].rotary;
    if (!turned || !rotary) return x;
    const std::size_t length = shape[1], d = model_.head_width;
    std::vector<std::int64_t> places(length);
    std::iota(places.begin(), places.end(), std::int64_t{0});
    const RotaryAngles angles(
        rotary_frequencies(rotary->theta, *rotary->width, rotary->scaling, length), places);
    const auto turn_all = [&]<class T>(std::span<const T> from) {
      std::vector<T> y(from.begin(), from.end());
      for (std::size_t i = 0; i < length; ++i) {
        for (std::size_t h = 0; h < heads; ++h) {
          turn(y.data() + (i * heads + h) * d, angles, i, rotary->interleaved);
        }
      }
      return Tensor(shape, std::move(y));
    };
    return x.dtype() == DType::float32 ? turn_all(x.values<float>()) : turn_all(x.values<double>());
  }

  // What positions add to the scores of each head, [H,Lq,Lk]; absent if nothing.
  Tensor position_bias(std::size_t queries, std::size_t keys) const {
    const std::size_t heads = model_.heads;
    const bool alibi = model_.positions == ModelPositions::alibi;
    if (!alibi && !bucket_table_) return {};
    const std::vector<double> slopes = alibi ? alibi_slopes(heads) : std::vector<double>();
    const double slope_scale = model_.alibi_scaled ? stack_.layers[0].scale : 1;
    std::vector<double> bias(heads * queries * keys);
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < queries; ++i) {
        for (std::size_t j = 0; j < keys; ++j) {
          const auto distance = static_cast<std::int64_t>(j) - static_cast<std::int64_t>(i);
          double& term = bias[(h * queries + i) * keys + j];
          if (alibi) {
            term = slopes[h] * static_cast<double>(distance) * slope_scale;
          } else {
            const std::size_t bucket = relative_bucket(distance, model_.buckets.count,
                                                       model_.buckets.max_distance, !stack_.causal);
            term = bucket_table_.values<double>()[bucket * heads + h];
          }
        }
      }
    }
    return {{heads, queries, keys}, std::move(bias)};
  }

  // Attention of the states over the memory's, projected; `map` becomes the weights [1,H,Lq,Lk] if
  // it is given.
  Tensor attend_to(const Layer& layer, const StoredLinear& query, const StoredLinear& key,
                   const StoredLinear& value, const StoredLinear& output, const Tensor& states,
                   const Tensor& memory, bool self, const std::vector<std::size_t>* off,
                   Tensor* map) const {
    const std::size_t n = layer.number, heads = model_.heads, groups = model_.kv_heads;
    const std::size_t d = model_.head_width, threads = options_.threads;
    const auto projected = [&](const StoredLinear& linear, const Tensor& x, std::size_t width,
                               const char* purpose) {
      const Shape wanted{width, x.shape().back()};
      if (linear.weight.shape() != wanted) misfit(purpose, linear.weight.shape(), wanted);
      return apply(linear, x, threads);
    };
    AttentionRequest request;
    request.dtype = options_.dtype;
    request.threads = threads;
    request.scale = stack_.layers[n].scale;
    request.softcap = model_.softcap;
    request.progress = options_.progress;
    request.weights = map != nullptr;
    ScaledDotProduct product;
    product.heads = heads;
    product.kv_heads = groups;
    product.query =
        prepared(projected(query, states, heads * d, "query"), heads, "query_norm", n, self);
    product.key = prepared(projected(key, memory, groups * d, "key"), groups, "key_norm", n, self);
    product.value = projected(value, memory, groups * d, "value");
    const std::size_t queries = states.shape()[1], keys = memory.shape()[1];
    if (self) {
      request.mask = stack_mask(stack_, n);
      request.mask.bias = position_bias(queries, keys);
    }
    const Tensor sinks = self ? layer.sinks.converted(DType::float64) : Tensor();
    if (sinks) add_sinks(sinks, product, request.mask);
    request.score = std::move(product);
    if (options_.watch && map != nullptr) {
      const std::string part = stack_.crosses             ? "decoder."
                               : model_.encoder_decoder() ? "encoder."
                                                          : "";
      options_.watch(part + "layers." + std::to_string(n) + (self ? ".self." : ".cross."), request);
    }
    AttentionResult result = attend(request);
    if (map != nullptr) *map = sinks ? without_first_key(result.weights) : result.weights;
    Tensor heads_out = result.output;
    if (off != nullptr) heads_out = without_heads(heads_out, *off);
    return projected(output, heads_out, output.weight.shape()[0], "output");
  }

  // A sink is one more key, before all others, whose score is given and whose value is nothing.
  void add_sinks(const Tensor& sinks, Sequences& sequences, Mask& mask) const {
    const std::size_t heads = model_.heads, width = model_.kv_heads * model_.head_width;
    const std::size_t queries = sequences.query.shape()[1], keys = sequences.key.shape()[1];
    const Tensor nothing =
        Tensor({1, 1, width}, std::vector<double>(width, 0)).converted(options_.dtype);
    sequences.past_key = sequences.past_value = nothing;
    std::vector<double> bias(heads * queries * (keys + 1), 0);
    for (std::size_t h = 0; h < heads; ++h) {
      for (std::size_t i = 0; i < queries; ++i) {
        bias[(h * queries + i) * (keys + 1)] = sinks.values<double>()[h];
      }
    }
    mask.bias = Tensor({heads, queries, keys + 1}, std::move(bias));
    if (mask.window) mask.global = {0};
  }

  static Tensor without_first_key(const Tensor& weights) {
    Shape shape = weights.shape();
    const std::size_t keys = shape.back();
    shape.back() = keys - 1;
    const auto cut = [&]<class T>(std::span<const T> from) {
      std::vector<T> to;
      to.reserve(element_count(shape));
      for (std::size_t row = 0; row < from.size(); row += keys) {
        to.insert(to.end(), from.begin() + static_cast<std::ptrdiff_t>(row + 1),
                  from.begin() + static_cast<std::ptrdiff_t>(row + keys));
      }
      return Tensor(shape, std::move(to));
    };
    return weights.dtype() == DType::float32 ? cut(weights.values<float>())
                                             : cut(weights.values<double>());
  }

  Tensor without_heads(const Tensor& x, const std::vector<std::size_t>& off) const {
    const std::size_t d = model_.head_width, row = model_.heads * d;
    const auto clear = [&]<class T>(std::span<const T> from) {
      std::vector<T> y(from.begin(), from.end());
      for (std::size_t at = 0; at < y.size(); at += row) {
        for (const std::size_t head : off) {
          std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(at + head * d), d, T(0));
        }
      }
      return Tensor(x.shape(), std::move(y));
    };
    return x.dtype() == DType::float32 ? clear(x.values<float>()) : clear(x.values<double>());
  }

  Tensor feed_forward(const Tensor& x, std::size_t n) const {
    if (model_.experts) return chosen_experts(model_, checkpoint_, weights_, options_, x, n);
    const std::size_t threads = options_.threads;
    Tensor wide;
    if (weights_.has("gate_up", n)) {
      const StoredLinear both = weights_.linear("gate_up", n);
      const std::size_t half = both.weight.shape()[0] / 2;
      wide = activated(apply(rows_of(both, 0, half), x, threads),
                       apply(rows_of(both, half, half), x, threads), model_.activation, threads);
    } else if (weights_.has("gate", n)) {
      const char* up = weights_.has("gated_up", n) ? "gated_up" : "up";
      wide = activated(apply(weights_.linear("gate", n), x, threads),
                       apply(weights_.linear(up, n), x, threads), model_.activation, threads);
    } else {
      wide = activated(apply(weights_.linear("up", n), x, threads), {}, model_.activation, threads);
    }
    return apply(weights_.linear("down", n), wide, threads);
  }

  const Architecture& model_;
  const CheckpointWeights& checkpoint_;
  const ModelStack& stack_;
  StackWeights weights_;
  const ModelOptions& options_;
  Tensor bucket_table_;
};

const std::vector<std::size_t>* heads_of(const HeadsByLayer& heads, std::size_t layer) {
  const auto found = heads.find(layer);
  return found == heads.end() ? nullptr : &found->second;
}

}  // namespace

Mask stack_mask(const ModelStack& stack, std::size_t layer) {
  Mask mask;
  mask.causal = stack.causal;
  if (const auto window = stack.layers[layer].window) {
    // Causal: so many keys with the query's own; else so many on either side.
    mask.window = stack.causal ? Window{*window - std::min<std::size_t>(*window, 1), std::nullopt}
                               : Window{*window, *window};
  }
  return mask;
}

void check_texts(const Architecture& model, const CheckpointWeights& weights,
                 const ModelTexts& texts) {
  const std::string prefix = find_prefix(weights, model);
  const auto check = [&](const ModelStack& stack, const auto& lists, const auto& types,
                         const std::string& place) {
    const StackWeights names(weights, model, stack, prefix);
    const auto rows = [&](const char* purpose) -> std::optional<std::size_t> {
      const auto shape = names.shape(purpose, std::nullopt, "weight");
      return shape && !shape->empty() ? std::optional(shape->front()) : std::nullopt;
    };
    const auto bound = [&](const std::vector<std::int64_t>& ids, std::size_t end,
                           const std::string& noun, const std::string& where) {
      for (std::size_t i = 0; i < ids.size(); ++i) {
        if (ids[i] >= 0 && static_cast<std::size_t>(ids[i]) < end) continue;
        throw input_error("the " + noun + " " + std::to_string(ids[i]) + " is not between 0 and " +
                              std::to_string(end - 1),
                          pointer_to(where, i), "the model's table has no such row");
      }
    };
    const auto tokens = rows("tokens"), positions = rows("positions"), kinds = rows("types");
    for (std::size_t b = 0; b < lists.size(); ++b) {
      const std::string where = pointer_to(place, b);
      if (tokens) bound(lists[b], *tokens, "token id", where);
      if (kinds && b < types.size())
        bound(types[b], *kinds, "token type", "/token_types/" + std::to_string(b));
      const std::size_t first = model.first_position;
      if (!positions || lists[b].size() + first <= *positions) continue;
      throw input_error("the text has " + std::to_string(lists[b].size()) +
                            " tokens, and the model's positions end after " +
                            std::to_string(*positions - std::min(*positions, first)),
                        where, "shorten the text, or cut it into several");
    }
  };
  check(model.stacks[0], texts.ids, texts.types, texts.place);
  if (model.encoder_decoder()) {
    check(model.stacks[1], texts.decoder_ids, decltype(texts.types){}, texts.decoder_place);
  }
}

void run_model(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               const ModelOptions& options, const TakeTensor& take, const TakeLogits& take_logits) {
  check_texts(model, weights, texts);
  const std::string prefix = find_prefix(weights, model);
  const bool both = model.encoder_decoder();
  std::vector<Tensor> memory;
  for (std::size_t s = 0; s < model.stacks.size(); ++s) {
    const ModelStack& stack = model.stacks[s];
    const bool decoder = both && s == 1;
    const std::string before = both ? (decoder ? "decoder." : "encoder.") : "";
    const StackPass pass(model, weights, stack, prefix, options);
    const auto& ids = decoder ? texts.decoder_ids : texts.ids;
    std::vector<Tensor> states;
    for (std::size_t b = 0; b < ids.size(); ++b) {
      static const std::vector<std::int64_t> none;
      states.push_back(pass.embed(ids[b], decoder || texts.types.empty() ? none : texts.types[b]));
    }
    take(before + "embedded", joined(states));
    const HeadsByLayer& off = decoder ? options.decoder_heads_off : options.heads_off;
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      const StackPass::Layer layer = pass.read_layer(n);
      std::vector<Tensor> self, cross;
      for (std::size_t b = 0; b < ids.size(); ++b) {
        StackPass::Step step =
            pass.step(layer, states[b], memory.empty() ? Tensor() : memory[b], heads_of(off, n),
                      heads_of(options.cross_heads_off, n), options.wants(n));
        states[b] = std::move(step.states);
        if (options.wants(n)) {
          self.push_back(std::move(step.self));
          if (stack.crosses) cross.push_back(std::move(step.cross));
        }
      }
      const std::string name = before + "layers." + std::to_string(n) + ".";
      if (!self.empty()) take(name + "self.weights", joined(self));
      if (!cross.empty()) take(name + "cross.weights", joined(cross));
      if (options.stages) take(name + "output", joined(states));
    }
    for (Tensor& x : states) x = pass.finish(x);
    if (both && !decoder) {
      take("encoder.output", joined(states));
      memory = states;
      continue;
    }
    take("output", joined(states));
    if (!options.logits && options.predicted.empty()) continue;
    const LogitsHead head(model, weights, pass.table(), options);
    for (std::size_t b = 0; b < options.predicted.size(); ++b) {
      for (const std::size_t position : options.predicted[b]) {
        const Tensor rows = states[b].reshaped({states[b].shape()[1], states[b].shape()[2]});
        const Tensor row = rows_of(rows, position, 1);
        take_logits(b, position, head.logits(row.reshaped({1, 1, row.size()})));
      }
    }
    if (!options.logits) continue;
    std::vector<Tensor> logits;
    for (const Tensor& x : states) logits.push_back(head.logits(x));
    take("logits", joined(logits));
  }
}

}  // namespace attn
