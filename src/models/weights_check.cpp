#include <algorithm>
#include <optional>
#include <set>
#include <variant>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "models/checkpoint.hpp"
#include "models/classification.hpp"
#include "models/sound.hpp"
#include "models/tensor_checks.hpp"
#include "models/vision.hpp"
#include "support/errors.hpp"
#include "support/overloaded.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

/// Checks one stack of a model tensor by tensor.
class StackCheck : FeedForwardChecks {
 public:
  StackCheck(const Architecture& model, const CheckpointWeights& weights, const ModelStack& stack,
             const std::string& prefix, std::set<std::string>& used)
      : FeedForwardChecks(model, weights, stack, prefix, used),
        memory_width_(model.of(model.stacks.front()).width) {}

  void check() {
    const std::size_t embedded = model_.senses(stack_) ? model_.width : check_embeddings();
    for (std::size_t n = 0; n < stack_.layers.size(); ++n) {
      if (stack_.staged) {
        const std::size_t before = n == 0 ? 0 : stack_.layers[n - 1].mergings;
        model_ = model_.at(stack_.layers[n]);
        if (stack_.layers[n].mergings > before) merging(n);
      }
      const std::size_t width = model_.width, heads = model_.heads * model_.head_width;
      const std::size_t groups = model_.kv_heads * model_.head_width;
      if (stack_.layers[n].attends) attention(n);
      if (stack_.layers[n].mixes) mixer(n);
      if (stack_.crosses) {
        matrix(WeightPurpose::cross_query, n, heads, width);
        matrix(WeightPurpose::cross_key, n, groups, memory_width_);
        matrix(WeightPurpose::cross_value, n, groups, memory_width_);
        matrix(WeightPurpose::cross_output, n, width, heads);
      }
      using enum WeightPurpose;
      for (const WeightPurpose norm :
           {before_attention, after_attention, after_attention_sum, before_cross, after_cross,
            after_cross_sum, before_feed_forward, after_feed_forward, after_feed_forward_sum}) {
        vector(norm, n, width);
      }
      xielu(n);
      bucket_table(n);
      patch_table(n);
      vector(attention_scale, n, width);
      vector(feed_forward_scale, n, width);
      if (stack_.layers[n].feeds) feed_forward(n);
      layer_input(n);
    }
    layer_tokens();
    if (model_.streams) stream_ends(model_.streams->count);
    const std::size_t width = model_.width;
    vector(WeightPurpose::final_norm, std::nullopt, width);
    if (names_.has(WeightPurpose::contacts, std::nullopt)) {
      matrix(WeightPurpose::contacts, std::nullopt, 1, stack_.layers.size() * model_.heads);
    }
    input_convolution();
    if (model_.disentangled && !model_.disentangled->sinusoidal) {
      matrix(WeightPurpose::relative, std::nullopt, 2 * model_.disentangled->distances.span, width);
      if (model_.disentangled->normed) vector(WeightPurpose::relative_norm, std::nullopt, width);
    }
    if (names_.has(WeightPurpose::output_projection, std::nullopt)) {
      matrix(WeightPurpose::output_projection, std::nullopt, embedded, width);
    }
  }

 private:
  // What makes the states of a stage of those of the one before, half as wide.
  void merging(std::size_t n) {
    using enum WeightPurpose;
    const std::size_t side_by_side = 4 * stack_.layers[n - 1].width;
    matrix(WeightPurpose::merging, n - 1, model_.width, side_by_side);
    const auto norm = names_.shape(merging_norm, n - 1, "weight");
    const bool behind = norm && norm->front() == model_.width;
    vector(merging_norm, n - 1, behind ? model_.width : side_by_side);
  }

  void attention(std::size_t n) {
    const ModelLayer& layer = stack_.layers[n];
    const std::size_t width = model_.width, heads = model_.heads * layer.head_width;
    const std::size_t groups = layer.kv_heads * layer.head_width;
    if (model_.latent) {
      latent_attention(n);
    } else if (stack_.names.contains(WeightPurpose::query_key_value)) {
      matrix(WeightPurpose::query_key_value, n, heads + 2 * groups, width);
    } else {
      matrix(WeightPurpose::query, n, model_.gated_queries ? 2 * heads : heads, width);
      if (!layer.keys_of) matrix(WeightPurpose::key, n, groups, width);
      if (!layer.keys_of && !layer.keys_are_values) matrix(WeightPurpose::value, n, groups, width);
    }
    if (stack_.names.contains(WeightPurpose::attention_gate)) {
      matrix(WeightPurpose::attention_gate, n, heads, width);
    }
    matrix(WeightPurpose::output, n, width,
           model_.latent ? model_.heads * model_.latent->value : heads);
    const bool whole = model_.whole_width_norms;
    if (model_.norms_by_head) {
      norms_by_head(WeightPurpose::query_norm, n, model_.heads);
      norms_by_head(WeightPurpose::key_norm, n, model_.kv_heads);
    } else {
      vector(WeightPurpose::query_norm, n, whole ? heads : layer.head_width);
      if (!layer.keys_of) vector(WeightPurpose::key_norm, n, whole ? groups : layer.head_width);
    }
    for (const WeightPurpose purpose :
         {WeightPurpose::global_query, WeightPurpose::global_key, WeightPurpose::global_value}) {
      if (stack_.names.contains(purpose)) matrix(purpose, n, heads, width);
    }
    vector(WeightPurpose::sinks, n, model_.heads);
    if (model_.heads_apart) {
      const std::size_t d = layer.head_width;
      for (const WeightPurpose bias :
           {WeightPurpose::query_bias, WeightPurpose::distance_bias, WeightPurpose::segment_bias}) {
        tensor(bias, n, {model_.heads, d});
      }
      tensor(WeightPurpose::segments, n, {2, model_.heads, d});
    } else {
      vector(WeightPurpose::query_bias, n, heads);
    }
    vector(WeightPurpose::value_bias, n, groups);
    disentangled(n);
  }

  void latent_attention(std::size_t n) {
    using enum WeightPurpose;
    const ModelLatent& sizes = *model_.latent;
    const std::size_t width = model_.width;
    if (sizes.query_rank > 0) {
      matrix(query_down, n, sizes.query_rank, width);
      vector(query_down_norm, n, sizes.query_rank);
    }
    matrix(query, n, model_.heads * model_.head_width,
           sizes.query_rank > 0 ? sizes.query_rank : width);
    matrix(key_value_down, n, sizes.rank + sizes.shared, width);
    vector(key_value_down_norm, n, sizes.rank);
    matrix(key_value, n, model_.heads * (sizes.own + sizes.value), sizes.rank);
  }

  // What layers read of the tokens: the rows of all of them side by side, and a gate of each.
  void layer_tokens() {
    if (model_.layer_input == 0) return;
    using enum WeightPurpose;
    const std::size_t all = stack_.layers.size() * model_.layer_input;
    matrix(WeightPurpose::layer_tokens, std::nullopt, 0, all);
    matrix(layer_tokens_projection, std::nullopt, all, model_.width);
    vector(layer_tokens_norm, std::nullopt, model_.layer_input);
  }

  void layer_input(std::size_t n) {
    using enum WeightPurpose;
    if (model_.layer_input > 0) {
      matrix(layer_input_gate, n, model_.layer_input, model_.width);
      matrix(layer_input_projection, n, model_.width, model_.layer_input);
      vector(layer_input_norm, n, model_.width);
    }
    if (model_.streams) streams(n, model_.streams->count);
    if (stack_.names.contains(augmented_left)) {
      matrix(augmented_left, n, 0, model_.width);
      matrix(augmented_right, n, model_.width, 0);
      vector(augmented_norm, n, model_.width);
    }
    if (stack_.names.contains(state_scale)) tensor(state_scale, n, {1});
  }

  void streams(std::size_t n, std::size_t count) {
    using enum WeightPurpose;
    matrix(stream_router, n, count, model_.width);
    vector(stream_router_norm, n, model_.width);
    matrix(stream_prediction, n, count * count, count);
    matrix(stream_correction, n, count, count);
    vector(stream_scale, n, model_.width);
  }

  // The products that make streams of the embedded states, and states of them.
  void stream_ends(std::size_t count) {
    for (const WeightPurpose purpose : {WeightPurpose::stream_in, WeightPurpose::stream_out}) {
      for (std::size_t e = 0; e + 1 < count; ++e) {
        const auto name = names_.found(purpose, std::nullopt, "weight", e);
        if (!name) missing(purpose, std::nullopt);
        expect_shape(weights_, *name, {model_.width, model_.width});
        use(purpose, std::nullopt, *name, model_.width);
      }
    }
  }

  void input_convolution() {
    if (!model_.input_convolution) return;
    const auto& [kernel, groups, activation] = *model_.input_convolution;
    const std::size_t width = model_.width;
    const auto name = names_.found(WeightPurpose::input_convolution, std::nullopt, "weight");
    if (!name) missing(WeightPurpose::input_convolution, std::nullopt);
    expect_shape(weights_, *name, {width, width / groups, kernel});
    use(WeightPurpose::input_convolution, std::nullopt, *name, width);
    vector(WeightPurpose::input_convolution_norm, std::nullopt, width);
  }

  void mixer(std::size_t n) {
    std::visit(Overloaded{[](const std::monostate&) {},
                          [&](const DeltaSizes& sizes) { linear_attention(sizes, n); },
                          [&](const ShortConvolutionSizes& sizes) { convolution(sizes, n); },
                          [&](const ModelStateSpace& sizes) { state_space(sizes, n); }},
               model_.mixer);
  }

  void convolution(const ShortConvolutionSizes& sizes, std::size_t n) {
    using enum WeightPurpose;
    matrix(mixer_in, n, 3 * model_.width, model_.width);
    kernels(model_.width, sizes.kernel, n);
    matrix(mixer_output, n, model_.width, model_.width);
  }

  // A convolution of each channel, and its bias.
  void kernels(std::size_t channels, std::size_t kernel, std::size_t n) {
    // GGUF files leave the axis of one out.
    const auto shape = names_.shape(WeightPurpose::mixer_convolution, n, "weight");
    const bool flat = shape && shape->size() == 2;
    tensor(WeightPurpose::mixer_convolution, n,
           flat ? Shape{channels, kernel} : Shape{channels, 1, kernel});
    use(WeightPurpose::mixer_convolution, n,
        *names_.found(WeightPurpose::mixer_convolution, n, "weight"), channels);
  }

  void state_space(const ModelStateSpace& sizes, std::size_t n) {
    using enum WeightPurpose;
    const std::size_t inner = sizes.inner(), heads = sizes.heads;
    if (sizes.rank > 0) {
      matrix(mixer_in, n, 2 * inner, model_.width);
      matrix(mixer_selection, n, sizes.rank + 2 * sizes.states, inner);
      matrix(mixer_step, n, heads, sizes.rank);
      tensor(mixer_decay_log, n, {heads, sizes.states});
    } else {
      matrix(mixer_in, n, inner + sizes.channels() + heads, model_.width);
      tensor(mixer_step_bias, n, {heads});
      tensor(mixer_decay_log, n, {heads});
    }
    kernels(sizes.channels(), sizes.kernel, n);
    vector(mixer_step_norm, n, sizes.rank);
    vector(mixer_input_norm, n, sizes.states);
    vector(mixer_output_norm, n, sizes.states);
    vector(mixer_norm, n, inner);
    tensor(mixer_skip, n, {heads});
    matrix(mixer_output, n, model_.width, inner);
  }

  void linear_attention(const DeltaSizes& sizes, std::size_t n) {
    using enum WeightPurpose;
    const std::size_t width = model_.width, heads = sizes.value_heads,
                      values = heads * sizes.value_width;
    if (stack_.names.contains(linear_query_key_value_gate)) {
      matrix(linear_query_key_value_gate, n, sizes.channels() + values, width);
      matrix(linear_strength_decay, n, 2 * heads, width);
    } else {
      matrix(linear_query_key_value, n, sizes.channels(), width);
      matrix(linear_gate, n, values, width);
      matrix(linear_strength, n, heads, width);
      matrix(linear_decay, n, heads, width);
    }
    tensor(linear_convolution, n, {sizes.channels(), 1, sizes.kernel});
    tensor(linear_decay_log, n, {heads});
    tensor(linear_decay_bias, n, {heads});
    tensor(linear_norm, n, {sizes.value_width});
    matrix(linear_output, n, width, values);
  }

  // The projections of distances, where they are not those of contents.
  void disentangled(std::size_t n) {
    if (!model_.disentangled || model_.disentangled->shared) return;
    const std::size_t heads = model_.heads * model_.head_width;
    using enum WeightPurpose;
    if (model_.disentangled->content_to_position) matrix(relative_key, n, heads, model_.width);
    if (model_.disentangled->position_to_content) matrix(relative_query, n, heads, model_.width);
  }

  std::size_t check_embeddings() {
    const Shape tokens = matrix(WeightPurpose::tokens, std::nullopt,
                                stack_.crosses ? model_.decoder_vocabulary : model_.vocabulary, 0);
    // Tables by other names are copies, or those of the other stack.
    for (const std::string& other : stack_.names.at(WeightPurpose::tokens)) {
      used_.insert(prefix_ + other + ".weight");
    }
    const std::size_t embedded = tokens[1];
    if (names_.has(WeightPurpose::embedding_projection, std::nullopt)) {
      matrix(WeightPurpose::embedding_projection, std::nullopt, model_.width, embedded);
    } else if (embedded != model_.width) {
      refuse_shape(weights_, *names_.found(WeightPurpose::tokens, std::nullopt, "weight"), tokens,
                   {tokens[0], model_.width},
                   weights_.gguf() != nullptr || model_.size_keys.width.empty()
                       ? ""
                       : other_number(model_.size_keys.width, model_.width, embedded));
    }
    if (model_.positions == ModelPositions::learned)
      matrix(WeightPurpose::positions, std::nullopt, 0, 0);
    if (names_.has(WeightPurpose::types, std::nullopt))
      matrix(WeightPurpose::types, std::nullopt, 0, embedded);
    if (stack_.names.contains(WeightPurpose::tasks))
      matrix(WeightPurpose::tasks, std::nullopt, 0, embedded);
    vector(WeightPurpose::token_norm, std::nullopt, embedded);
    vector(WeightPurpose::embedding_norm, std::nullopt,
           model_.projects_terms ? model_.width : embedded);
    return embedded;
  }

  // Of all layers, or each layer's own.
  void bucket_table(std::size_t n) {
    if (!stack_.names.contains(WeightPurpose::buckets)) return;
    const bool own = names_.has(WeightPurpose::buckets, n);
    matrix(WeightPurpose::buckets, own ? LayerNumber(n) : std::nullopt, model_.buckets.count,
           model_.heads);
  }

  // The biases of distances between patches, of all layers or each layer's own.
  void patch_table(std::size_t n) {
    if (stack_.names.contains(WeightPurpose::distance_down)) {
      using enum WeightPurpose;
      const std::size_t hidden = matrix(distance_up, n, 0, 2)[0];
      matrix(distance_down, n, model_.heads, hidden);
      tensor(cosine_scale, n, {model_.heads, 1, 1});
    }
    if (!stack_.names.contains(WeightPurpose::patch_bias)) return;
    const bool own = names_.has(WeightPurpose::patch_bias, n);
    const auto& window = stack_.layers[n].patches;
    const std::size_t distances = 2 * (window ? window->side : model_.vision->side) - 1;
    matrix(WeightPurpose::patch_bias, own ? LayerNumber(n) : std::nullopt,
           distances * distances + (stack_.names.contains(WeightPurpose::class_token) ? 3 : 0),
           model_.heads);
  }

  // Single numbers, some of which are constants that old files lack.
  void xielu(std::size_t n) {
    using enum WeightPurpose;
    for (const WeightPurpose purpose : {xielu_positive, xielu_negative, xielu_beta, xielu_eps}) {
      if (!stack_.names.contains(purpose)) continue;
      const auto name = names_.found(purpose, n, "weight");
      const bool may_lack = purpose == xielu_beta || purpose == xielu_eps;
      if (!name && !may_lack) missing(purpose, n);
      if (!name) continue;
      if (element_count(weights_.shape(*name)) != 1) expect_shape(weights_, *name, {1});
      take(*name);
    }
  }

  std::size_t memory_width_;  // of what a cross-attention reads
};

// The tensors of the head that gives logits, if it is there: of the sizes that it needs.
void check_head(const Architecture& model, const CheckpointWeights& weights,
                const std::string& prefix, std::set<std::string>& used) {
  const ModelHead& head = model.head;
  if (!has_head(model, weights)) return;
  const std::string dense = head_part(head.dense, weights), norm = head_part(head.norm, weights);
  const auto expect = [&](const std::string& name, const Shape& wanted) -> const Shape& {
    used.insert(name);
    return expect_shape(weights, name, wanted);
  };
  const StackWeights names(weights, model, model.stacks.back(), prefix);
  const auto projected = names.shape(WeightPurpose::output_projection, std::nullopt, "weight");
  std::size_t width = projected ? projected->front() : model.width;
  const auto expect_either = [&](const std::string& part, const char* end, const char* old_end) {
    const std::string old_name = part + old_end;
    expect(weights.has(old_name) ? old_name : part + end, {width});
  };
  if (!head.dense.empty()) {
    width = expect(dense + ".weight", {0, width})[0];
    if (weights.has(dense + ".bias")) expect(dense + ".bias", {width});
    expect_either(norm, ".weight", ".gamma");
    if (weights.has(norm + ".bias") || weights.has(norm + ".beta")) {
      expect_either(norm, ".bias", ".beta");
    }
  }
  const auto tokens = names.found(WeightPurpose::tokens, std::nullopt, "weight");
  const bool own = !model.tied && !head.weight.empty();
  const std::string table = own ? head_weight(head, weights) : tokens.value_or("");
  const std::size_t words = expect(table, {0, width})[0];
  used.insert(head_weight(head, weights));  // else it has the numbers of the embeddings
  for (const std::string& bias : head.bias) {
    if (!weights.has(bias)) continue;
    used.insert(bias);
    if (weights.shape(bias) != Shape{1, words}) expect(bias, {words});
  }
}

// Throws Error(input) for fewer layers than the configuration has.
void check_layer_count(const Architecture& model, const CheckpointWeights& weights,
                       const ModelStack& stack, const std::string& prefix) {
  const auto found = layers_in_file(weights, model, stack, prefix);
  const bool decoder = &stack != &model.stacks.front();
  const std::string& own = model.size_keys.decoder_layers;
  const std::string& key = decoder && !own.empty() ? own : model.size_keys.layers;
  const std::size_t wanted = stack.layers.size();
  if (!found || *found == 0 || *found >= wanted || key.empty() || weights.gguf() != nullptr) return;
  throw input_error(translated("\"{1}\" of config.json is {2}, and the weights have {3}", key,
                               wanted, translated_count(*found, "{1} layer", "{1} layers")),
                    weights.place(),
                    translated("write {1} there, or take the model's complete weights", *found));
}

// Whether the stack goes without a tensor of that name within a layer.
bool is_left_out(const ModelStack& stack, std::size_t n, const std::string& name) {
  const auto has = [&](const std::vector<std::string>& names) {
    return std::ranges::any_of(names, [&](const std::string& one) {
      return name == one + ".weight" || name == one + ".bias";
    });
  };
  // Files may have the keys of layers that take those of others.
  using enum WeightPurpose;
  for (const WeightPurpose purpose : {key, value, key_norm}) {
    const auto own = stack.names.find(purpose);
    if (stack.layers[n].keys_of && own != stack.names.end() && has(own->second)) return true;
  }
  return std::ranges::any_of(stack.left_out, [&](const auto& own) { return has(own.second); });
}

}  // namespace

std::vector<std::string> check_weights(const Architecture& model,
                                       const CheckpointWeights& weights) {
  const std::string prefix = find_prefix(weights, model);
  std::set<std::string> used(weights.noted().begin(), weights.noted().end());
  for (const ModelStack& stack : model.stacks) {
    check_layer_count(model, weights, stack, prefix);
    StackCheck(model, weights, stack, prefix, used).check();
  }
  if (model.senses(model.stacks.front())) {
    std::vector<std::string> own;
    const StackWeights names(weights, model, model.stacks.front(), prefix);
    if (model.vision) check_vision(model, names, weights, own);
    if (model.sound) check_sound(model, names, weights, own);
    for (const std::string& name : own) check_numbers(weights, name);
    used.insert(own.begin(), own.end());
  }
  std::vector<std::string> of_texts = weights.names();
  if (model.text) of_texts = check_weights(*model.text, weights);
  check_head(model, weights, prefix, used);
  for (const std::string& name : check_classifier(model, weights)) {
    check_numbers(weights, name);
    used.insert(name);
  }
  std::vector<std::string> ignored;
  for (const std::string& name : weights.names()) {
    if (used.contains(name) || std::ranges::count(of_texts, name) == 0) continue;
    ignored.push_back(name);
    if (is_buffer(name)) continue;
    for (const ModelStack& stack : model.stacks) {
      const StackWeights names(weights, model, stack, prefix);
      for (std::size_t n = 0; n < stack.layers.size(); ++n) {
        if (!name.starts_with(names.layer_prefix(n))) continue;
        if (is_left_out(stack, n, name.substr(names.layer_prefix(n).size()))) continue;
        throw input_error(
            translated("layer {1} has a tensor {2}, which has no place in a model of the type {3}",
                       n, in_quotes(name), in_quotes(model.family)),
            weights.place(),
            translated("what it does would be left out: give a row that names it"));
      }
    }
  }
  return ignored;
}

}  // namespace attn
