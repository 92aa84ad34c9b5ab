#include "models/pass.hpp"

#include <algorithm>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "io/json_value.hpp"
#include "models/elementwise.hpp"
#include "models/logits_head.hpp"
#include "models/stack_pass.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

const std::vector<std::size_t>* heads_of(const HeadsByLayer& heads, std::size_t layer) {
  const auto found = heads.find(layer);
  return found == heads.end() ? nullptr : &found->second;
}

}  // namespace

std::size_t longest_of(const std::vector<std::vector<std::int64_t>>& samples) noexcept {
  std::size_t longest = 0;
  for (const auto& ids : samples) longest = std::max(longest, ids.size());
  return longest;
}

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
        throw input_error(translated("the {1} {2} is not between 0 and {3}", noun, ids[i], end - 1),
                          pointer_to(where, i), translated("the model's table has no such row"));
      }
    };
    const auto tokens = rows("tokens"), positions = rows("positions"), kinds = rows("types");
    for (std::size_t b = 0; b < lists.size(); ++b) {
      const std::string where = pointer_to(place, b);
      if (tokens) bound(lists[b], *tokens, translated("token id"), where);
      if (kinds && b < types.size())
        bound(types[b], *kinds, translated("token type"), "/token_types/" + std::to_string(b));
      const std::size_t first = model.first_position;
      if (!positions || lists[b].size() + first <= *positions) continue;
      throw input_error(
          translated("the text has {1} tokens, and the model's positions end after {2}",
                     lists[b].size(), *positions - std::min(*positions, first)),
          where, translated("shorten the text, or cut it into several"));
    }
  };
  check(model.stacks[0], texts.ids, texts.types, texts.place);
  if (model.encoder_decoder()) {
    check(model.stacks[1], texts.decoder_ids, decltype(texts.types){}, texts.decoder_place);
  }
}

std::vector<std::pair<std::string, Shape>> foreseen_tensors(const Architecture& model,
                                                            const CheckpointWeights& weights,
                                                            const ModelTexts& texts,
                                                            const ModelOptions& options) {
  const std::string prefix = find_prefix(weights, model);
  std::vector<std::pair<std::string, Shape>> all;
  std::size_t memory = 0;
  for (const ModelStack& stack : model.stacks) {
    const bool encoder = model.encoder_decoder() && !stack.crosses;
    const std::string_view name_of_stack = model.result_stack(stack);
    const StackPass pass(model, weights, stack, prefix, options);
    const auto& ids = texts.read_by(stack);
    const std::size_t batch = ids.size(), length = longest_of(ids);
    const std::size_t width = pass.embedding().width();
    all.emplace_back(AttentionName(name_of_stack).tensor("embedded"), Shape{batch, length, width});
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      const std::string name = layer_prefix(name_of_stack, n);
      if (options.wants(n)) {
        all.emplace_back(name + "self.weights", Shape{batch, model.heads, length, length});
        if (stack.crosses) {
          all.emplace_back(name + "cross.weights", Shape{batch, model.heads, length, memory});
        }
      }
      if (options.stages) all.emplace_back(name + "output", Shape{batch, length, width});
    }
    all.emplace_back(encoder ? "encoder.output" : "output",
                     Shape{batch, length, pass.finished_width()});
    memory = length;
    if (encoder || !options.logits) continue;
    const LogitsHead head(model, weights, pass.embedding().table(), options);
    all.emplace_back("logits", Shape{batch, length, head.words()});
  }
  return all;
}

void run_model(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               const ModelOptions& options, const TakeTensor& take, const TakeLogits& take_logits) {
  check_texts(model, weights, texts);
  const std::string prefix = find_prefix(weights, model);
  std::vector<Tensor> memory;
  for (const ModelStack& stack : model.stacks) {
    const bool decoder = stack.crosses, encoder = model.encoder_decoder() && !decoder;
    const std::string_view name_of_stack = model.result_stack(stack);
    const StackPass pass(model, weights, stack, prefix, options);
    const auto& ids = texts.read_by(stack);
    std::vector<Tensor> states;
    for (std::size_t b = 0; b < ids.size(); ++b) {
      static const std::vector<std::int64_t> none;
      states.push_back(
          pass.embedding().embed(ids[b], decoder || texts.types.empty() ? none : texts.types[b]));
    }
    take(AttentionName(name_of_stack).tensor("embedded"), batched(states));
    std::optional<LogitsHead> lens;
    if (options.lens && !encoder) lens.emplace(model, weights, pass.embedding().table(), options);
    const HeadsByLayer& off = decoder ? options.decoder_heads_off : options.heads_off;
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      const StackPass::Layer layer = pass.read_layer(n);
      std::vector<Tensor> self, cross;
      for (std::size_t b = 0; b < ids.size(); ++b) {
        const AttentionName own(name_of_stack, n, "self");
        StackPass::Step step =
            pass.step(layer, states[b], memory.empty() ? Tensor() : memory[b],
                      {heads_of(off, n), heads_of(options.cross_heads_off, n)}, options.wants(n),
                      [&](const AttendedBlock& block) { options.block(b, own, block); });
        states[b] = std::move(step.states);
        if (options.wants(n) && !options.rows) {
          self.push_back(std::move(step.self));
          if (stack.crosses) cross.push_back(std::move(step.cross));
        }
      }
      const std::string name = layer_prefix(name_of_stack, n);
      if (!self.empty()) take(name + "self.weights", batched(self));
      if (!cross.empty()) take(name + "cross.weights", batched(cross));
      if (options.stages) take(name + "output", batched(states));
      if (!lens) continue;
      for (std::size_t b = 0; b < ids.size(); ++b) {
        options.lens(b, n, lens->logits(pass.finish(states[b])));
      }
    }
    for (Tensor& x : states) x = pass.finish(x);
    if (encoder) {
      take("encoder.output", batched(states));
      memory = states;
      continue;
    }
    take("output", batched(states));
    if (!options.logits && options.predicted.empty()) continue;
    const LogitsHead head(model, weights, pass.embedding().table(), options);
    for (std::size_t b = 0; b < options.predicted.size(); ++b) {
      for (const std::size_t position : options.predicted[b]) {
        const Tensor rows = states[b].reshaped({states[b].shape()[1], states[b].shape()[2]});
        const Tensor row = rows_of(rows, position, 1);
        take_logits(b, position, head.logits(row.reshaped({1, 1, row.size()})));
      }
    }
    if (!options.logits) continue;
    std::vector<Tensor> logits;
    logits.reserve(states.size());
    for (const Tensor& x : states) logits.push_back(head.logits(x));
    take("logits", batched(logits));
  }
}

}  // namespace attn
