#include "why/partial_pass.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "attn/attention.hpp"
#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "attention/positions.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

Tensor last_row(const Tensor& states) {
  return rows_from(states, states.shape()[1] - 1, 1);
}

}  // namespace

Tensor rows_from(const Tensor& all, std::size_t first, std::size_t count) {
  if (first == 0 && count == all.shape()[1]) return all;
  std::vector<std::size_t> rows(count);
  std::iota(rows.begin(), rows.end(), first);
  return picked(all, rows, 1);
}

PartialPass::PartialPass(const ModelPass& pass, bool weights)
    : model_(pass.model),
      weights_(pass.weights),
      text_(pass.texts),
      stack_name_(last_stack_of(model_)),
      options_{.dtype = pass.options.dtype,
               .threads = pass.options.threads,
               .wanted = {.weights = weights}},
      stack_(read_stack({model_, weights_, text_, options_}, model_.stacks.back())),
      head_(read_head(model_, weights_)) {
  if (model_.streams) {
    throw input_error(translated("parts are not patched where the states are several streams"),
                      "/model", translated("switch heads off, or name another model"));
  }
  for (std::size_t n = 0; n < stack_.count; ++n) {
    layers_.push_back(stack_.layer(n));
    layers_.back().spec.self.weights = layers_.back().spec.cross.weights = false;
  }
  const ModelStack& stack = model_.stacks.back();
  cuts_ = stack.causal && std::ranges::all_of(layers_, [](const Layer& layer) {
            const LayerWeights& of = layer.weights;
            return of.self.query && !of.mixer && !of.input_convolution;
          });
  for (const ModelLayer& layer : stack.layers) {
    if (layer.keys_of) shares_keys_ = true;
  }
  cuts_ = cuts_ && !shares_keys_;
}

void PartialPass::keep_own() {
  length_ = text_.read_by(model_.stacks.back()).front().size();
  own_ = kept(text_);
  keep_beside();
}

std::vector<std::size_t> PartialPass::keep_both(const std::vector<std::int64_t>& source,
                                                const DifferenceTokens& tokens) {
  ModelTexts other = text_;
  other.ids = {source};
  take_types_away(model_, other);
  other.place = "/patch";
  const std::size_t own_length = text_.read_by(model_.stacks.back()).front().size(),
                    length = other.read_by(model_.stacks.back()).front().size();
  if (own_length != length) {
    throw input_error(translated("the texts have {1} and {2} tokens", own_length, length), "/patch",
                      translated("give texts of one length"));
  }
  keep_own();
  source_ = kept(other);
  return choose_tokens(tokens);
}

void PartialPass::begin() {
  read_ = own_read_;
}

void PartialPass::keep_beside() {
  if (stack_.layer_tokens) {
    inputs_ = read_layer_tokens(*stack_.layer_tokens, text_.read_by(model_.stacks.back()).front(),
                                own_.layers.front().entering, stack_.options);
  }
  own_read_ = read_ = std::vector<Tensor>(stack_.count);
  for (std::size_t n = 0; n < stack_.count && shares_keys_; ++n) {
    stepped(n, own_.layers[n].entering, 0, {});
  }
  own_read_ = read_;
}

KeptPass PartialPass::kept(const ModelTexts& text) const {
  KeptPass pass;
  pass.layers.resize(stack_.count);
  PassObserver keeping;
  for (std::size_t n = 0; n < stack_.count; ++n) {
    for (const ModelPlace::Part part :
         {ModelPlace::Part::self, ModelPlace::Part::feed_forward, ModelPlace::Part::residual}) {
      keeping.places.push_back({stack_name_, n, part});
    }
  }
  keeping.written = [&](const SamplePlace& at, const Tensor& numbers) {
    const std::size_t n = at.place.layer;
    if (at.place.part == ModelPlace::Part::self) {
      pass.layers[n].outputs = numbers;
    } else if (at.place.part == ModelPlace::Part::feed_forward) {
      pass.layers[n].feed_forward = numbers;
    } else {
      (n + 1 < stack_.count ? pass.layers[n + 1].entering : pass.leaving) = numbers;
    }
  };
  keeping.request = [&](const SamplePlace& at, const AttentionRequest& request) {
    if (at.place.stack == stack_name_ && !at.place.crosses()) {
      pass.layers[at.place.layer].request = request;
    }
  };
  keeping.tensor = [&](const PassTensor& what, const Tensor& tensor) {
    using Quantity = PassTensor::Quantity;
    const bool own = what.place.stack == stack_name_;
    if (what.quantity == Quantity::embedded && own) pass.layers.front().entering = tensor;
    if (what.quantity == Quantity::output && !own) pass.memory = tensor;
    if (what.quantity == Quantity::weights && own && !what.place.crosses()) {
      pass.layers[what.place.layer].weights = tensor;
    }
  };
  run_model({model_, weights_, text, options_}, {keeping});
  return pass;
}

std::vector<std::size_t> PartialPass::choose_tokens(const DifferenceTokens& given) {
  const auto largest = [](std::span<const double> logits, std::optional<std::size_t> but) {
    std::vector<double> all(logits.begin(), logits.end());
    if (but) all[*but] = -std::numeric_limits<double>::infinity();
    return static_cast<std::size_t>(std::ranges::max_element(all) - all.begin());
  };
  const auto logits = [&](const KeptPass& pass) {
    return head_.logits(stack_.finish(last_row(pass.leaving)), model_.eps, options_.threads)
        .converted(DType::float64);
  };
  const Tensor own = logits(own_), source = logits(source_);
  const std::size_t first = given[0] ? *given[0] : largest(own.values<double>(), given[1]);
  std::size_t second = given[1] ? *given[1] : largest(source.values<double>(), std::nullopt);
  if (second == first) second = largest(own.values<double>(), first);
  const std::vector<std::size_t> tokens{first, second};
  head_.words = head_.words.picked(tokens);
  return tokens;
}

Tensor PartialPass::one_by_one(const Tensor& own, const Tensor& source, std::size_t units,
                               const Positions& at) {
  const std::size_t width = own.shape().back() / units;
  std::vector<Tensor> all;
  for (std::size_t u = 0; u < units; ++u) {
    Tensor one = own;
    put_columns(source, u * width, width, at, one);
    all.push_back(std::move(one));
  }
  return batched(all);
}

Tensor Sequences::*PartialPass::sequence_of(PatchedPart part) {
  return part == PatchedPart::queries ? &Sequences::query
         : part == PatchedPart::keys  ? &Sequences::key
                                      : &Sequences::value;
}

std::size_t PartialPass::units_of(PatchedPart part, std::size_t n) const {
  const bool of_keys = part == PatchedPart::keys || part == PatchedPart::values;
  return !info(part).of_heads ? 1
         : of_keys            ? model_.stacks.back().layers[n].kv_heads
                              : model_.heads;
}

bool PartialPass::has(PatchedPart part, std::size_t n) const {
  if (part == PatchedPart::feed_forward) return static_cast<bool>(own_.layers[n].feed_forward);
  const bool of_attention = info(part).of_heads || part == PatchedPart::attention;
  return !of_attention || own_.layers[n].outputs;
}

Tensor PartialPass::attended(PatchedPart part, std::size_t n, std::size_t units,
                             const Positions& at, const Tensor& other) const {
  AttentionRequest request = own_.layers[n].request;
  auto& sequences = std::get<ScaledDotProduct>(request.score);
  for (const PatchedPart of : {PatchedPart::queries, PatchedPart::keys, PatchedPart::values}) {
    Tensor& rows = sequences.*sequence_of(of);
    rows = of == part ? one_by_one(rows, other, units, at) : repeated(rows, units);
  }
  request.weights = false;
  if (request.gate) request.gate = repeated(request.gate, units);
  if (layers_[n].weights.distances) {
    request.mask.bias = disentangled_bias(*layers_[n].weights.distances, request, types());
  }
  return attend(request).output;
}

StepOptions PartialPass::beside(std::size_t n, std::size_t batch, std::size_t first,
                                std::size_t count) const {
  StepOptions options;
  options.types = types();
  if (inputs_) {
    const Tensor input = layer_part(stack_.layer_tokens, inputs_, n);
    options.layer_input = repeated(rows_from(input, first, count), batch);
  }
  if (const auto& of = model_.stacks.back().layers[n].keys_of) {
    const Tensor& read = read_[*of];
    options.keys_from = read.shape()[0] == batch ? read : repeated(read, batch);
  }
  return options;
}

Tensor PartialPass::stepped(std::size_t n, const Tensor& states, std::size_t first,
                            StepOptions options, const Sequences* changed) {
  const std::size_t batch = states.shape()[0];
  StepOptions own = beside(n, batch, first, states.shape()[1]);
  options.layer_input = std::move(own.layer_input);
  options.keys_from = std::move(own.keys_from);
  options.types = std::move(own.types);
  if (shares_keys_) options.keeps_read = &read_[n];
  KeyValueCache cache;
  if (first > 0) {
    const Sequences& sequences = own_.layers[n].sequences();
    const std::size_t kept = changed != nullptr ? first - changed->key.shape()[1] : first;
    if (kept > 0) {
      cache.append(repeated(rows_from(sequences.key, 0, kept), batch),
                   repeated(rows_from(sequences.value, 0, kept), batch));
    }
    if (changed != nullptr) cache.append(changed->key, changed->value);
    options.self_cache = &cache;
  }
  return step(layers_[n], states, own_.memory ? repeated(own_.memory, batch) : Tensor(), options)
      .states;
}

std::vector<double> PartialPass::from_layer(std::size_t n, Tensor states, std::size_t first) {
  const bool several = n < stack_.count && states.shape()[1] > 1;
  if (!several || !cuts_ || keeps_weights_) {
    return differences(leaving_from(n, std::move(states), first));
  }
  return differences(last_leaving(leaving_from(n, std::move(states), first, 1), first));
}

Tensor PartialPass::last_leaving(const Tensor& states, std::size_t first) {
  const std::size_t last = stack_.count - 1, rows = states.shape()[1] - 1;
  const Layer& layer = layers_[last];
  const Tensor before = rows_from(states, 0, rows);
  Sequences read{layer.weights.before_attention ? apply(*layer.weights.before_attention, before,
                                                        layer.spec.self.eps, options_.threads)
                                                : before};
  read.heads = layer.spec.heads;
  read.kv_heads = layer.spec.kv_heads;
  const AttentionRequest made = project(layer.spec.self, read, layer.weights.self, before.dtype());
  const auto& changed = std::get<ScaledDotProduct>(made.score);
  return stepped(last, rows_from(states, rows, 1), first + rows, {}, &changed);
}

Tensor PartialPass::leaving_from(std::size_t n, Tensor states, std::size_t first, std::size_t but) {
  for (; n + but < stack_.count; ++n) {
    StepOptions options;
    AttentionRequest read;
    if (keeps_weights_ && own_.layers[n].weights) {
      options.requests = [&](bool self, const AttentionRequest& request) {
        if (self) read = request;
      };
      options.self_heads = [&](Tensor& outputs) {
        outputs = summed(own_.layers[n].weights, first, read).converted(outputs.dtype());
      };
    }
    states = stepped(n, states, first, std::move(options));
  }
  return states;
}

Tensor PartialPass::summed(const Tensor& weights, std::size_t first,
                           const AttentionRequest& request) const {
  const auto& of = std::get<ScaledDotProduct>(request.score);
  const Tensor values = of.value.converted(DType::float64),
               shares = weights.converted(DType::float64),
               gates = request.gate ? request.gate.converted(DType::float64) : Tensor();
  const std::size_t batch = values.shape()[0], keys = values.shape()[1],
                    value_row = values.shape()[2], heads = model_.heads,
                    groups = of.kv_heads.value_or(heads), width = value_row / groups,
                    rows = of.query.shape()[1], row = heads * width;
  std::vector<double> sums(batch * rows * row, 0.0);
  parallel_for(batch * rows, options_.threads, [&](std::size_t at) {
    const std::size_t b = at / rows, i = at % rows;
    for (std::size_t h = 0; h < heads; ++h) {
      double* const to = sums.data() + at * row + h * width;
      const double* const share =
          shares.values<double>().data() + (h * length_ + first + i) * length_;
      for (std::size_t j = 0; j < keys; ++j) {
        const double* const from = values.values<double>().data() + (b * keys + j) * value_row +
                                   h / (heads / groups) * width;
        for (std::size_t k = 0; k < width && share[j] != 0; ++k) to[k] += share[j] * from[k];
      }
    }
    for (std::size_t k = 0; k < row && gates; ++k) {
      sums[at * row + k] *= sigmoid(gates.values<double>()[at * row + k]);
    }
  });
  return Tensor({batch, rows, row}, std::move(sums));
}

Tensor PartialPass::logits_at(const Tensor& leaving, std::span<const std::size_t> rows) const {
  return head_.logits(stack_.finish(picked(leaving, rows, 1)), model_.eps, options_.threads)
      .converted(DType::float64);
}

std::vector<double> PartialPass::differences(const Tensor& leaving) const {
  const Tensor logits = head_.logits(stack_.finish(last_row(leaving)), model_.eps, options_.threads)
                            .converted(DType::float64);
  std::vector<double> all;
  for (std::size_t b = 0; b < leaving.shape()[0]; ++b) {
    all.push_back(logits.values<double>()[2 * b] - logits.values<double>()[2 * b + 1]);
  }
  return all;
}

}  // namespace attn
