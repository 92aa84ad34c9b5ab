#include <bit>
#include <cmath>
#include <deque>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "attention/positions.hpp"
#include "models/distance_terms.hpp"
#include "models/pass.hpp"
#include "models/projection_reader.hpp"
#include "models/vision.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// A weight that counts from one.
Tensor plus_one(const Tensor& weight) {
  const Tensor numbers = weight.converted(DType::float64);
  std::vector<double> sums(numbers.values<double>().begin(), numbers.values<double>().end());
  for (double& sum : sums) ++sum;
  return {weight.shape(), std::move(sums)};
}

class StackReader {
 public:
  StackReader(const Architecture& model, const CheckpointWeights& checkpoint,
              const ModelStack& stack, const std::string& prefix, const ModelOptions& options,
              const std::optional<PatchGrid>& grid, std::size_t longest)
      : model_(model),
        checkpoint_(checkpoint),
        stack_(stack),
        options_(options),
        weights_(checkpoint, model, stack, prefix),
        projections_(model, stack, weights_),
        grid_(grid),
        distances_(model, weights_, longest, options.threads) {}

  Embedding embedding() const {
    Embedding own;
    if (model_.senses(stack_)) return own;  // patches and frames are embedded one by one
    own.tokens = table(WeightPurpose::tokens);
    own.scale = model_.embedding_scale;
    own.token_norm = norm(WeightPurpose::token_norm, std::nullopt);
    if (own.token_norm) own.scale = 1;  // rows are not scaled before a norm of their own
    own.positions = table(WeightPurpose::positions);
    own.first_position = model_.first_position;
    if (model_.longest) own.padding = model_.pad_id;
    own.sinusoidal = sinusoids_of(model_);
    own.types = types();
    own.hidden = model_.hidden;
    own.norm = norm(WeightPurpose::embedding_norm, std::nullopt);
    own.projection = whole_linear(WeightPurpose::embedding_projection);
    own.projects_terms = model_.projects_terms;
    return own;
  }

  // What layers read of the tokens; absent in most models.
  std::optional<LayerTokens> layer_tokens() const {
    if (model_.layer_input == 0) return std::nullopt;
    LayerTokens own;
    own.tokens = table(WeightPurpose::layer_tokens);
    own.scale = std::sqrt(static_cast<double>(model_.layer_input));
    own.projection = whole_linear(WeightPurpose::layer_tokens_projection);
    own.norm = *norm(WeightPurpose::layer_tokens_norm, std::nullopt);
    own.width = model_.layer_input;
    return own;
  }

  // What makes streams of the embedded states, and states of them; absent in most models.
  std::optional<StreamEnds> stream_ends() const {
    if (!model_.streams) return std::nullopt;
    StreamEnds own;
    for (std::size_t n = 0; n + 1 < model_.streams->count; ++n) {
      for (const auto& [purpose, ends] : {std::pair(WeightPurpose::stream_in, &own.in),
                                          std::pair(WeightPurpose::stream_out, &own.out)}) {
        const auto name = weights_.found(purpose, std::nullopt, "weight", n);
        ends->emplace_back(checkpoint_.matrix(name.value_or("")), Tensor());
      }
    }
    return own;
  }

  std::optional<Norm> final_norm() const { return norm(WeightPurpose::final_norm, std::nullopt); }
  StoredLinear output_projection() const { return whole_linear(WeightPurpose::output_projection); }

  // The states that leave a stage by its last layer, as the next stage reads them.
  Tensor merged(std::size_t n, const Tensor& states) const {
    using enum WeightPurpose;
    PatchMerging own{*norm(merging_norm, n), weights_.linear(merging, n)};
    own.threads = options_.threads;
    return own.merged(states, *grid_);
  }

  Layer layer(std::size_t n) const {
    Layer own;
    own.spec = spec(n);
    LayerWeights& weights = own.weights;
    using enum WeightPurpose;
    if (stack_.layers[n].attends) weights.self = projections_.self(n);
    if (stack_.layers[n].mixes) weights.mixer = projections_.mixer(n);
    if (stack_.crosses) weights.cross = projections_.cross(n);
    if (model_.global_tokens != GlobalTokens::none) {
      weights.global = {weights_.linear(global_query, n), weights_.linear(global_key, n),
                        weights_.linear(global_value, n)};
    }
    if (model_.disentangled) weights.distances = distances_.of_layer(n, weights.self);
    weights.self.clip = model_.clip;
    if (model_.whole_width_norms) {
      for (AttentionWeights* attention : {&weights.self, &weights.cross}) {
        attention->query_norm = norm(WeightPurpose::query_norm, n);
        attention->key_norm = norm(WeightPurpose::key_norm, n);
      }
    }
    if (weights.self.output) weights.self.output = scaled(weights.self.output, attention_scale, n);
    weights.before_attention = norm(WeightPurpose::before_attention, n);
    weights.after_attention = norm(WeightPurpose::after_attention, n);
    weights.after_attention_sum = norm(WeightPurpose::after_attention_sum, n);
    weights.before_cross = norm(WeightPurpose::before_cross, n);
    weights.after_cross = norm(WeightPurpose::after_cross, n);
    weights.after_cross_sum = norm(WeightPurpose::after_cross_sum, n);
    weights.before_feed_forward = norm(WeightPurpose::before_feed_forward, n);
    weights.after_feed_forward = norm(WeightPurpose::after_feed_forward, n);
    weights.after_feed_forward_sum = norm(WeightPurpose::after_feed_forward_sum, n);
    if (model_.layer_input > 0) {
      weights.layer_input = {weights_.linear(layer_input_gate, n),
                             weights_.linear(layer_input_projection, n), norm(layer_input_norm, n)};
    }
    if (model_.streams) weights.streams = streams(*model_.streams, n);
    if (stack_.names.contains(augmented_left)) {
      weights.augmented = {weights_.linear(augmented_left, n), weights_.linear(augmented_right, n),
                           norm(augmented_norm, n)};
    }
    if (n == 0 && model_.input_convolution) weights.input_convolution = convolution_of_input();
    read_feed_forward(n, weights);
    return own;
  }

 private:
  AlternatingUpdates streams(const ModelStreams& sizes, std::size_t n) const {
    using enum WeightPurpose;
    return {sizes.count,
            sizes.active,
            weights_.linear(stream_router, n),
            *norm(stream_router_norm, n),
            weights_.linear(stream_prediction, n),
            weights_.linear(stream_correction, n),
            sizes.scaled ? weights_.find(stream_scale, n, "weight") : Tensor()};
  }

  LayerSpec spec(std::size_t n) const {
    LayerSpec own;
    AttentionOptions& options = own.cross;
    options.dtype = options_.dtype;
    options.threads = options_.threads;
    // The log-sum-exps among the stages are read from weights.
    const WantedResults& wanted = options_.wanted;
    options.weights = (wanted.weights || wanted.stages) && wanted.chooses_map(stack_, n);
    options.scale = stack_.layers[n].scale;
    options.softcap = model_.softcap;
    options.eps = model_.eps;
    if (!model_.whole_width_norms) {
      options.query_norm = head_norm(WeightPurpose::query_norm, n, model_.heads);
      options.key_norm = head_norm(WeightPurpose::key_norm, stack_.layers[n].keys_of.value_or(n),
                                   stack_.layers[n].kv_heads);
    }
    if (model_.head_norms_bare && stack_.layers[n].rotary) {
      const std::size_t width = stack_.layers[n].head_width;
      const Tensor ones({width}, std::vector<double>(width, 1));
      options.query_norm = options.key_norm = Norm{ones, {}, model_.norm};
    }
    options.norms_after_rotary = model_.norms_after_rotary;
    own.self = options;
    own.self.rotary = stack_.layers[n].rotary;
    if (grid_ && model_.positions == ModelPositions::patch_rotary) {
      own.self.rotary = patch_rotary(model_, *grid_);
    }
    own.self.mask = stack_mask(stack_, n, grid_);
    if (const Tensor scales = weights_.find(WeightPurpose::cosine_scale, n, "weight")) {
      for (const double logarithm : doubles_of(scales)) {
        own.cosine_scales.push_back(std::exp(std::min(logarithm, std::log(100.0))));
      }
    }
    own.self.sinks = weights_.find(WeightPurpose::sinks, n, "weight");
    set_distance_bias(n, own.self);
    own.heads = stack_.layers[n].heads;
    own.kv_heads = stack_.layers[n].kv_heads;
    own.activation = model_.activation;
    if (weights_.has(WeightPurpose::xielu_positive, n)) own.xielu = xielu_of(n);
    own.parallel = model_.parallel;
    own.residual_after_norm = model_.residual_after_norm;
    own.rounded_alibi = model_.alibi_scaled;
    own.branch_scale = model_.branch_scale;
    own.growth = stack_.layers[n].growth;
    own.takes_keys = stack_.layers[n].keys_of.has_value();
    if (n < model_.gate_sparsity.size() && model_.gate_sparsity[n] > 0)
      own.gate_quantile = normal_quantile(model_.gate_sparsity[n]);
    if (const Tensor scale = weights_.find(WeightPurpose::state_scale, n, "weight")) {
      own.state_scale = scale.converted(DType::float64).values<double>()[0];
    }
    return own;
  }

  // The file has the numbers that αp and αn − β are the softplus of.
  Xielu xielu_of(std::size_t n) const {
    const auto number = [&](WeightPurpose purpose, double otherwise) {
      const Tensor one = weights_.find(purpose, n, "weight");
      return one ? one.converted(DType::float64).values<double>()[0] : otherwise;
    };
    Xielu own;
    own.beta = number(WeightPurpose::xielu_beta, own.beta);
    own.eps = number(WeightPurpose::xielu_eps, own.eps);
    own.positive = softplus(number(WeightPurpose::xielu_positive, 0));
    own.negative = own.beta + softplus(number(WeightPurpose::xielu_negative, 0));
    return own;
  }

  // Slopes of ALiBi; for heads that are no power of two perhaps in MPT's order.
  std::vector<double> slopes() const {
    if (!model_.alibi_odd_first) return alibi_slopes(model_.heads);
    const std::size_t power = std::bit_ceil(model_.heads);
    std::vector<double> own;
    const auto add = [&](std::size_t first, std::size_t step) {
      for (std::size_t h = first; h <= power && own.size() < model_.heads; h += step) {
        own.push_back(std::exp2(-8 * static_cast<double>(h) / static_cast<double>(power)));
      }
    };
    if (power == model_.heads) {
      add(1, 1);
    } else {
      add(2, 2);
      add(1, 2);
    }
    return own;
  }

  // Biases of the scores by the distance of a key from its query.
  void set_distance_bias(std::size_t n, AttentionOptions& options) const {
    if (model_.positions == ModelPositions::alibi) {
      options.mask.alibi = Alibi{slopes()};
      const double scale = model_.alibi_scaled ? stack_.layers[0].scale : 1;
      for (double& slope : options.mask.alibi->slopes) slope *= scale;
    }
    if (const auto& window = stack_.layers[n].patches; window && grid_) {
      const Tensor own = learned_distances(n, *window);
      options.mask.bias =
          window_biases(own ? own : weights_.find(WeightPurpose::patch_bias, n, "weight"), *window,
                        *grid_, options_.dtype);
    } else if (grid_) {
      const Tensor by_patches = table_of_biases(WeightPurpose::patch_bias, n);
      if (by_patches) options.mask.bias = patch_biases(model_, by_patches, *grid_, options_.dtype);
    }
    const Tensor table = table_of_biases(WeightPurpose::buckets, n);
    if (!table) return;
    options.relative_bias =
        RelativeBias{table, model_.buckets.count, model_.buckets.max_distance, !stack_.causal};
  }

  // Biases by distances as a small network makes them of the logarithms of these (Liu et al. 2022,
  // "Swin V2", section 3.3); absent if the file has a table.
  Tensor learned_distances(std::size_t n, const PatchWindow& window) const {
    if (!stack_.names.contains(WeightPurpose::distance_down)) return {};
    const std::size_t distances = 2 * window.side - 1;
    const double most = static_cast<double>(std::max<std::size_t>(
                            window.trained > 0 ? window.trained : window.side, 2)) -
                        1;
    const auto logarithm = [&](std::size_t at) {
      const double x = 8 * (static_cast<double>(at) + 1 - static_cast<double>(window.side)) / most;
      return std::copysign(std::log2(std::abs(x) + 1) / 3, x);
    };
    std::vector<double> places;
    for (std::size_t i = 0; i < distances * distances; ++i) {
      places.push_back(logarithm(i / distances));
      places.push_back(logarithm(i % distances));
    }
    const Tensor wide = apply(weights_.linear(WeightPurpose::distance_up, n),
                              Tensor({distances * distances, 2}, std::move(places)),
                              options_.threads, activating(curve_of(Activation::relu)));
    return mapped(
        options_.threads, [](double x) { return 16 * sigmoid(x); },
        apply(weights_.linear(WeightPurpose::distance_down, n), wide, options_.threads));
  }

  // One table for all layers, or one for each (UMT5, BEiT).
  Tensor table_of_biases(WeightPurpose purpose, std::size_t n) const {
    const Tensor of_all = weights_.find(purpose, std::nullopt, "weight");
    return of_all ? of_all : weights_.find(purpose, n, "weight");
  }

  // The norm of heads; weights of each head stand in one matrix or in tensors of their own.
  std::optional<Norm> head_norm(WeightPurpose purpose, std::size_t n, std::size_t heads) const {
    if (!model_.norms_by_head || weights_.has(purpose, n)) return norm(purpose, n);
    if (!weights_.has(purpose, n, 0)) return std::nullopt;
    std::vector<double> rows;
    for (std::size_t head = 0; head < heads; ++head) {
      const Tensor row = checkpoint_.read(*weights_.found(purpose, n, "weight", head));
      const Tensor numbers = row.converted(DType::float64);
      rows.insert(rows.end(), numbers.values<double>().begin(), numbers.values<double>().end());
    }
    const Shape shape{heads, rows.size() / heads};
    return Norm{Tensor(shape, std::move(rows)), {}, model_.norm};
  }

  // Absent if the file has no weights for it.
  std::optional<Norm> norm(WeightPurpose purpose, std::optional<std::size_t> layer) const {
    if (model_.norms_bare && stack_.names.contains(purpose)) return Norm{{}, {}, model_.norm};
    if (!weights_.has(purpose, layer)) return std::nullopt;
    Norm own{weights_.find(purpose, layer, "weight"), {}, model_.norm};
    if (model_.norm_weights_from_one) own.weight = plus_one(own.weight);
    if (model_.norm == NormKind::layer) own.bias = weights_.find(purpose, layer, "bias");
    return own;
  }

  // Files have it as [out,in / groups,K].
  InputConvolution convolution_of_input() const {
    const auto part = [&](const char* name) {
      return weights_.find(WeightPurpose::input_convolution, std::nullopt, name);
    };
    return {part("weight"), part("bias"), model_.input_convolution->activation,
            norm(WeightPurpose::input_convolution_norm, std::nullopt)};
  }

  StoredMatrix table(WeightPurpose purpose) const {
    const auto name = weights_.found(purpose, std::nullopt, "weight");
    return name ? checkpoint_.matrix(*name) : StoredMatrix();
  }

  // Rows for types; that of the first task, which texts have, is part of each (ERNIE).
  StoredMatrix types() const {
    StoredMatrix own = table(WeightPurpose::types);
    const StoredMatrix tasks = table(WeightPurpose::tasks);
    if (!own || !tasks) return own;
    const Tensor rows = own.tensor();
    const std::vector<double> task = tasks.row(0);
    std::vector<double> sums(rows.values<double>().begin(), rows.values<double>().end());
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += task[i % task.size()];
    return StoredMatrix(Tensor(rows.shape(), std::move(sums)));
  }

  // A Linear layer around the stack, widened as a whole.
  StoredLinear whole_linear(WeightPurpose purpose) const {
    const Tensor weight = weights_.find(purpose, std::nullopt, "weight");
    return weight ? Linear{weight, weights_.find(purpose, std::nullopt, "bias")} : Linear();
  }

  // The Linear layer before a scale λ of each number (Touvron et al. 2021, section 2.1):
  // λ ⊙ (W x + b) = (λ W) x + λ b.
  StoredLinear scaled(StoredLinear linear, WeightPurpose purpose, std::size_t n) const {
    const Tensor factors = weights_.find(purpose, n, "weight");
    if (!factors) return linear;
    const Tensor scales = factors.converted(DType::float64);
    const auto multiplied = [&](const Tensor& tensor) {
      std::vector<double> numbers(tensor.values<double>().begin(), tensor.values<double>().end());
      const std::size_t columns = tensor.size() / scales.size();
      for (std::size_t i = 0; i < numbers.size(); ++i) {
        numbers[i] *= scales.values<double>()[i / columns];
      }
      return Tensor(tensor.shape(), std::move(numbers)).converted(options_.dtype);
    };
    Linear own{multiplied(linear.weight.tensor()), {}};
    if (linear.bias) own.bias = multiplied(linear.bias.converted(DType::float64));
    return own;
  }

  void read_feed_forward(std::size_t n, LayerWeights& weights) const {
    if (!stack_.layers[n].feeds) return;
    if (stack_.layers[n].experts) {
      weights.experts = experts(n);
      return;
    }
    if (weights_.has(WeightPurpose::gate_up, n)) {
      const StoredLinear both = weights_.linear(WeightPurpose::gate_up, n);
      const std::size_t half = both.weight.shape()[0] / 2;
      weights.gate = both.rows(0, half);
      weights.up = both.rows(half, half);
    } else if (weights_.has(WeightPurpose::gate, n)) {
      weights.gate = weights_.linear(WeightPurpose::gate, n);
      weights.up = weights_.linear(
          weights_.has(WeightPurpose::gated_up, n) ? WeightPurpose::gated_up : WeightPurpose::up,
          n);
    } else {
      weights.up = weights_.linear(WeightPurpose::up, n);
    }
    weights.down =
        scaled(weights_.linear(WeightPurpose::down, n), WeightPurpose::feed_forward_scale, n);
  }

  // Experts are left in the file: most texts take some of them alone.
  Experts experts(std::size_t n) const {
    using enum WeightPurpose;
    Experts own;
    static_cast<ExpertRules&>(own) = *model_.experts;
    own.router = weights_.linear(router, n);
    if (const Tensor added = weights_.find(router_correction, n, "weight")) {
      const Tensor numbers = added.converted(DType::float64);
      own.correction.assign(numbers.values<double>().begin(), numbers.values<double>().end());
    }
    if (weights_.has(shared_down, n)) own.shared = shared_expert(n);
    if (const Tensor factors = weights_.find(router_factors, n, "weight")) {
      own.factors = doubles_of(factors);
    }
    if (const Tensor scale = weights_.find(router_scale, n, "weight")) {
      std::vector<double> numbers = doubles_of(scale);
      for (double& number : numbers) number /= std::sqrt(static_cast<double>(model_.width));
      own.before_router = Norm{Tensor(scale.shape(), std::move(numbers)), {}, NormKind::rms};
    }
    own.before = norm(before_experts, n);
    own.after = norm(after_experts, n);
    if (!stack_.names.contains(expert_gate_up) && !stack_.names.contains(expert_gate) &&
        stack_.names.contains(expert_up)) {
      own.gated = false;
      if (weights_.has(expert_up, n, 0)) {
        own.gate_up = [up = each_expert(expert_up, n)](std::size_t e) {
          return StoredLinear(up(e), {});
        };
        own.down = [down = each_expert(expert_down, n)](std::size_t e) {
          return StoredLinear(down(e), {});
        };
      } else {
        own.gate_up = expert(expert_up, n, "weight", "bias");
        own.down = expert(expert_down, n, "weight", "bias");
      }
      return own;
    }
    if (weights_.has(expert_gate, n, 0)) {
      own.gate_up = [gate = each_expert(expert_gate, n), up = each_expert(expert_up, n)](
                        std::size_t e) { return StoredLinear(rows_in_turn(gate(e), up(e)), {}); };
      own.down = [down = each_expert(expert_down, n)](std::size_t e) {
        return StoredLinear(down(e), {});
      };
      return own;
    }
    if (weights_.has(expert_gate_up, n)) {
      // All gates, then all the others.
      own.gate_up = [both = expert(expert_gate_up, n, "weight", "bias")](std::size_t e) {
        const StoredMatrix rows = both(e).weight;
        const std::size_t half = rows.shape()[0] / 2;
        return StoredLinear(rows_in_turn(rows.rows(0, half), rows.rows(half, half)), {});
      };
      own.down = expert(expert_down, n, "weight", "bias");
      return own;
    }
    if (weights_.has(expert_gate, n)) {
      // Gates and the others are rows in turn where they are one tensor.
      own.gate_up = [gate = expert(expert_gate, n, "weight", "bias"),
                     up = expert(expert_up, n, "weight", "bias")](std::size_t e) {
        const StoredLinear even = gate(e), odd = up(e);
        return StoredLinear(rows_in_turn(even.weight, odd.weight), in_turn(even.bias, odd.bias));
      };
      own.down = expert(expert_down, n, "weight", "bias");
      return own;
    }
    own.gate_up = expert(WeightPurpose::experts, n, ".gate_up_proj", ".gate_up_proj_bias");
    own.down = expert(WeightPurpose::experts, n, ".down_proj", ".down_proj_bias");
    return own;
  }

  SharedExpert shared_expert(std::size_t n) const {
    using enum WeightPurpose;
    SharedExpert own;
    if (weights_.has(shared_gate_up, n)) {
      const StoredLinear both = weights_.linear(shared_gate_up, n);
      const std::size_t half = both.weight.shape()[0] / 2;
      own.gate = both.rows(0, half);
      own.up = both.rows(half, half);
    } else {
      if (stack_.names.contains(shared_gate)) own.gate = weights_.linear(shared_gate, n);
      own.up = weights_.linear(shared_up, n);
    }
    own.down = weights_.linear(shared_down, n);
    if (weights_.has(shared_share, n)) own.share = weights_.linear(shared_share, n);
    own.before = norm(before_shared, n);
    own.after = norm(after_shared, n);
    return own;
  }

  // The matrices of experts that are tensors of their own.
  std::function<StoredMatrix(std::size_t e)> each_expert(WeightPurpose purpose,
                                                         std::size_t n) const {
    std::vector<std::string> names;
    for (std::size_t e = 0; e < model_.experts->count; ++e) {
      names.push_back(weights_.found(purpose, n, "weight", e).value_or(""));
    }
    return
        [&checkpoint = checkpoint_, names](std::size_t e) { return checkpoint.matrix(names[e]); };
  }

  // Numbers of both in turn; absent if both are.
  static Tensor in_turn(const Tensor& even, const Tensor& odd) {
    if (!even || !odd) return {};
    const Tensor first = even.converted(DType::float64), second = odd.converted(DType::float64);
    std::vector<double> both;
    for (std::size_t i = 0; i < first.size(); ++i) {
      both.push_back(first.values<double>()[i]);
      both.push_back(second.values<double>()[i]);
    }
    const std::size_t count = both.size();
    return {{count}, std::move(both)};
  }

  // One product of each expert: matrices [experts,in,out], or [experts,out,in] where they are made
  // of blocks or gates are apart, and rows [experts,out].
  std::function<StoredLinear(std::size_t e)> expert(WeightPurpose purpose, std::size_t n,
                                                    const char* matrices, const char* rows) const {
    const bool in_first = purpose == WeightPurpose::experts || model_.experts_transposed;
    return [&checkpoint = checkpoint_, in_first,
            weight = weights_.found(purpose, n, matrices).value_or(""),
            bias = weights_.found(purpose, n, rows)](std::size_t e) {
      Tensor row = bias ? checkpoint.read_rows(*bias, e, 1) : Tensor();
      if (row) row = row.reshaped({row.size()});
      const bool transposed = in_first && !checkpoint.made_by_rows(weight);
      return StoredLinear(checkpoint.matrix_of(weight, e, transposed), std::move(row));
    };
  }

  const Architecture& model_;
  const CheckpointWeights& checkpoint_;
  const ModelStack& stack_;
  const ModelOptions& options_;
  StackWeights weights_;
  ProjectionReader projections_;
  std::optional<PatchGrid> grid_;  // of a picture
  DistanceTermsReader distances_;
};

/// Readers of the stages of a stack, each with its own sizes and grid.
struct StageReaders {
  std::deque<Architecture> sizes;
  std::deque<StackReader> stages;

  const StackReader& of(const ModelLayer& layer) const { return stages[layer.mergings]; }
};

void read_by_stages(const ModelPass& pass, const ModelStack& stack, Stack& own) {
  const auto readers = std::make_shared<StageReaders>();
  const auto grid = grid_of_pictures(pass.model, pass.texts);
  for (const ModelLayer& layer : stack.layers) {
    if (layer.mergings < readers->stages.size()) continue;
    const Architecture& sizes = readers->sizes.emplace_back(pass.model.at(layer));
    readers->stages.emplace_back(sizes, pass.weights, stack, find_prefix(pass.weights, pass.model),
                                 pass.options,
                                 grid ? std::optional(grid_at(*grid, layer)) : std::nullopt, 0);
  }
  const std::vector<ModelLayer>& layers = stack.layers;
  own.layer = [readers, &layers](std::size_t n) { return readers->of(layers[n]).layer(n); };
  own.entering = [readers, &layers](std::size_t n, const Tensor& states) {
    if (n == 0 || layers[n].mergings == layers[n - 1].mergings) return states;
    return readers->of(layers[n - 1]).merged(n - 1, states);
  };
}

}  // namespace

Stack read_stack(const ModelPass& pass, const ModelStack& stack) {
  const ModelOptions& options = pass.options;
  const auto reader = std::make_shared<const StackReader>(
      pass.model.of(stack), pass.weights, stack, find_prefix(pass.weights, pass.model), options,
      grid_of_pictures(pass.model, pass.texts), longest_of(pass.texts.read_by(stack)));
  Stack own;
  own.embedding = reader->embedding();
  own.layer_tokens = reader->layer_tokens();
  own.count = stack.layers.size();
  own.layer = [reader](std::size_t n) { return reader->layer(n); };
  if (stack.staged) read_by_stages(pass, stack, own);
  if (const auto ends = reader->stream_ends()) {
    own.entering = [ends, threads = options.threads](std::size_t n, const Tensor& states) {
      return n == 0 ? ends->spread(states, threads) : states;
    };
    own.leaving = [ends, threads = options.threads](const Tensor& states) {
      return ends->joined(states, threads);
    };
  }
  own.final_norm = reader->final_norm();
  own.output_projection = reader->output_projection();
  own.options.dtype = options.dtype;
  own.options.threads = options.threads;
  own.options.eps = pass.model.of(stack).eps;
  return own;
}

LogitsHead read_head(const Architecture& model, const CheckpointWeights& checkpoint) {
  const ModelHead& names = model.head;
  const auto part = [&](const std::string& name, const char* end) {
    return checkpoint.has(name + end) ? checkpoint.read(name + end) : Tensor();
  };
  LogitsHead head;
  if (!names.dense.empty()) {
    const std::string dense = head_part(names.dense, checkpoint),
                      norm = head_part(names.norm, checkpoint), weight = dense + ".weight";
    if (!checkpoint.has(weight)) {
      throw input_error(
          translated("the checkpoint has no head that gives logits: no tensor \"{1}.weight\"",
                     dense),
          checkpoint.place(), translated("leave the logits out"));
    }
    head.dense = {checkpoint.matrix(weight), part(dense, ".bias")};
    head.activation = names.activation.value_or(model.activation);
    head.norm.emplace();
    for (const char* end : {".weight", ".gamma"}) {
      if (!head.norm->weight) head.norm->weight = part(norm, end);
    }
    for (const char* end : {".bias", ".beta"}) {
      if (!head.norm->bias) head.norm->bias = part(norm, end);
    }
  }
  head.scale = model.logit_scale;
  const bool own = !model.tied && !names.weight.empty();
  const std::string table = own ? head_weight(names, checkpoint)
                                : StackWeights(checkpoint, model, model.stacks.back())
                                      .found(WeightPurpose::tokens, std::nullopt, "weight")
                                      .value_or("");
  Tensor bias;
  for (const std::string& name : names.bias) {
    if (!bias && checkpoint.has(name)) bias = checkpoint.read(name);
  }
  if (bias && bias.rank() == 2) bias = bias.reshaped({bias.size()});
  head.words = {checkpoint.matrix(table), std::move(bias)};
  head.softcap = model.logit_softcap;
  return head;
}

}  // namespace attn
