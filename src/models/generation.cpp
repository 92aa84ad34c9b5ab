#include "models/generation.hpp"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>
#include <variant>

#include "attention/positions.hpp"
#include "support/work_budget.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The states that leave the encoder; absent in models without one.
Tensor encoded(const ModelPass& pass) {
  if (!pass.model.encoder_decoder()) return {};
  const ModelStack& encoder = pass.model.stacks.front();
  ModelOptions options = pass.options;
  options.wanted.last = {ModelPlace::Stack::encoder, encoder.layers.size() - 1};
  const ModelPass to_there{pass.model, pass.weights, pass.texts, options};
  return read_stack(to_there, encoder).finish(run_changed(to_there, {}, {}).front());
}

}  // namespace

CachedPass::CachedPass(const ModelPass& pass)
    : model_(pass.model),
      options_{.dtype = pass.options.dtype,
               .threads = pass.options.threads,
               .heads_off = pass.options.heads_off,
               .wanted = {.weights = false}},
      stack_(read_stack({model_, pass.weights, pass.texts, options_}, model_.stacks.back())),
      head_(read_head(model_, pass.weights)),
      memory_(encoded({model_, pass.weights, pass.texts, options_})),
      caches_(stack_.count) {
  for (std::size_t n = 0; n < stack_.count; ++n) layers_.push_back(stack_.layer(n));
}

// Whether the angles of positions in a text of that length are others than those in the text that
// was read, so that all its tokens have other states (DynamicScaling, LongScaling).
bool CachedPass::turns_anew(std::size_t length) const {
  const auto turns = [&](const Rotary& rotary, std::size_t of) {
    return rotary_frequencies(rotary.theta, *rotary.width, rotary.scaling, of).per_pair;
  };
  return std::ranges::any_of(layers_, [&](const Layer& layer) {
    const std::optional<Rotary>& rotary = layer.spec.self.rotary;
    const bool fixed = !rotary || rotary->cos ||
                       !(std::holds_alternative<DynamicScaling>(rotary->scaling) ||
                         std::holds_alternative<LongScaling>(rotary->scaling));
    return !fixed && turns(*rotary, read_.size()) != turns(*rotary, length);
  });
}

Tensor CachedPass::pass(const std::vector<std::int64_t>& ids) {
  Tensor x = embed(stack_.embedding.behind(read_), ids, {}, stack_.options);
  const Tensor inputs = stack_.layer_tokens
                            ? read_layer_tokens(*stack_.layer_tokens, ids, x, stack_.options)
                            : Tensor();
  const ModelPlace::Stack stack = last_stack_of(model_);
  std::vector<Tensor> read(layers_.size());
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    check_time();
    if (stack_.entering) x = stack_.entering(n, x);
    StepOptions step_options;
    step_options.self_off = heads_in({stack, n}, options_.heads_off);
    step_options.cross_off = heads_in({stack, n, ModelPlace::Part::cross}, options_.heads_off);
    const std::optional<std::size_t>& of = model_.stacks.back().layers[n].keys_of;
    step_options.keeps_read = &read[n];
    if (of) step_options.keys_from = read[*of];
    step_options.layer_input = layer_part(stack_.layer_tokens, inputs, n);
    const ModelPlace feed_forward{stack, n, ModelPlace::Part::feed_forward};
    if (std::ranges::count(options_.heads_off, feed_forward) > 0) {
      step_options.feed_forward = [](Tensor& added) {
        added =
            Tensor(added.shape(), std::vector<double>(added.size(), 0.0)).converted(added.dtype());
      };
    }
    step_options.self_cache = &caches_[of.value_or(n)].self;
    step_options.cross_cache = &caches_[n].cross;
    step_options.mixer_state = &caches_[n].mixer;
    x = step(layers_[n], x, memory_, step_options).states;
  }
  read_.insert(read_.end(), ids.begin(), ids.end());
  return stack_.finish(x);
}

Tensor CachedPass::read(const std::vector<std::int64_t>& ids) {
  if (read_.empty() || !turns_anew(read_.size() + ids.size())) return pass(ids);
  std::vector<std::int64_t> all = std::exchange(read_, {});
  all.insert(all.end(), ids.begin(), ids.end());
  for (LayerCache& cache : caches_) {
    cache.self = {};
    cache.mixer = {};
  }
  const Tensor states = pass(all);
  const std::size_t width = states.shape().back();
  return rows_of(states.reshaped({all.size(), width}), all.size() - ids.size(), ids.size())
      .reshaped({1, ids.size(), width});
}

Tensor CachedPass::logits(const Tensor& states, std::size_t first, std::size_t count) const {
  const std::size_t width = states.shape().back();
  const Tensor rows = rows_of(states.reshaped({states.shape()[1], width}), first, count);
  return head_.logits(rows, model_.eps, options_.threads).converted(DType::float64);
}

Answer answer_to(const ModelPass& pass, std::size_t sample, const AnswerRequest& request,
                 const std::function<void(std::size_t done)>& generated) {
  const ModelTexts own = pass.texts.of_sample(sample);
  check_texts(pass.model, pass.weights, own);
  std::vector<std::int64_t> ids = own.read_by(pass.model.stacks.back()).front();
  CachedPass reading({pass.model, pass.weights, own, pass.options});
  Answer answer;
  const auto add = [&](std::int64_t id, std::span<const double> logits) {
    answer.ids.push_back(id);
    answer.probabilities.push_back(
        std::exp(logits[static_cast<std::size_t>(id)] - log_sum_exp(logits)));
  };
  if (!request.given.empty()) {
    // One product reads the head's matrix for so many tokens, whose logits stay small.
    constexpr std::size_t rows_at_once = 64;
    const std::vector<std::int64_t>& given = request.given[sample];
    const std::size_t before = ids.size() - 1;
    ids.insert(ids.end(), given.begin(), given.end() - 1);
    const Tensor states = reading.read(ids);
    for (std::size_t first = 0; first < given.size(); first += rows_at_once) {
      const std::size_t count = std::min(rows_at_once, given.size() - first);
      const Tensor logits = reading.logits(states, before + first, count);
      const std::size_t words = logits.shape().back();
      for (std::size_t i = 0; i < count; ++i) {
        add(given[first + i], logits.values<double>().subspan(i * words, words));
      }
    }
    return answer;
  }
  const std::vector<std::int64_t> prompt = ids;
  std::vector<std::int64_t> text = prompt;
  const AnswerSoFar so_far{pass.model.encoder_decoder() ? own.ids.front() : prompt, text,
                           prompt.size(), request.most_tokens, request.end_ids};
  while (answer.ids.size() < request.most_tokens) {
    const Tensor states = reading.read(ids);
    const Tensor last = reading.logits(states, ids.size() - 1, 1);
    const std::span<const double> logits = last.values<double>();
    std::vector<double> allowed(logits.begin(), logits.end());
    request.rules.apply(so_far, allowed);
    // The lower id comes first where logits are equal.
    const auto best = std::ranges::max_element(allowed);
    ids = {best - allowed.begin()};
    text.push_back(ids.front());
    add(ids.front(), logits);
    if (generated) generated(answer.ids.size());
    if (std::ranges::count(request.end_ids, ids.front()) > 0) break;
  }
  return answer;
}

}  // namespace attn
