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

// Options of the same computation that asks for no result.
ModelOptions without_results(const ModelOptions& options) {
  ModelOptions own;
  own.dtype = options.dtype;
  own.threads = options.threads;
  own.weights = false;
  own.heads_off = options.heads_off;
  return own;
}

// What the encoder makes of a text; absent in models without one.
Tensor encoded(const Architecture& model, const CheckpointWeights& weights, const ModelTexts& texts,
               ModelOptions options) {
  if (!model.encoder_decoder()) return {};
  const ModelPlace last{ModelPlace::Stack::encoder, model.stacks[0].layers.size() - 1,
                        ModelPlace::Part::residual};
  options.last = last;
  Tensor memory;
  options.watches.push_back({last, [&](std::size_t, Tensor& states) { memory = states; }});
  run_model(model, weights, texts, options, [](const std::string&, const Tensor&) {});
  const std::string prefix = find_prefix(weights, model);
  return read_stack(model, weights, model.stacks[0], prefix, options).finish(memory);
}

}  // namespace

CachedPass::CachedPass(const Architecture& model, const CheckpointWeights& weights,
                       const ModelTexts& texts, const ModelOptions& options)
    : model_(model),
      options_(without_results(options)),
      stack_(
          read_stack(model, weights, model.stacks.back(), find_prefix(weights, model), options_)),
      head_(read_head(model, weights, find_prefix(weights, model))),
      memory_(encoded(model, weights, texts, options_)),
      caches_(stack_.count) {
  for (std::size_t n = 0; n < stack_.count; ++n) layers_.push_back(stack_.layer(n));
}

// Whether the angles of positions in a text of that length are others than those in the text that
// was read, so that all its tokens have other states (DynamicScaling, LongScaling).
bool CachedPass::turns_anew(std::size_t length) const {
  const auto turns = [&](const Rotary& rotary, std::size_t of) {
    return rotary_frequencies(rotary.theta, rotary.width.value_or(model_.head_width),
                              rotary.scaling, of)
        .per_pair;
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
  const ModelPlace::Stack stack = last_stack_of(model_);
  for (std::size_t n = 0; n < layers_.size(); ++n) {
    check_time();
    StepOptions step_options;
    step_options.self_off = heads_in({stack, n}, options_.heads_off);
    step_options.cross_off = heads_in({stack, n, ModelPlace::Part::cross}, options_.heads_off);
    step_options.self_cache = &caches_[n].self;
    step_options.cross_cache = &caches_[n].cross;
    step_options.linear_state = &caches_[n].linear;
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
    cache.linear = {};
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

Answer answer_to(const Architecture& model, const CheckpointWeights& weights,
                 const ModelTexts& texts, std::size_t sample, const AnswerRequest& request,
                 const ModelOptions& options,
                 const std::function<void(std::size_t done)>& generated) {
  const ModelTexts own = texts.of_sample(sample);
  check_texts(model, weights, own);
  std::vector<std::int64_t> ids = own.read_by(model.stacks.back()).front();
  CachedPass reading(model, weights, own, options);
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
  const AnswerSoFar so_far{model.encoder_decoder() ? own.ids.front() : prompt, text, prompt.size(),
                           request.most_tokens, request.end_ids};
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
