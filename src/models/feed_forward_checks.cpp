
#include "attn/error.hpp"

#include "models/tensor_checks.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

void FeedForwardChecks::feed_forward(std::size_t n) {
  const std::size_t width = model_.width;
  if (stack_.layers[n].experts) {
    using enum WeightPurpose;
    matrix(router, n, model_.experts->count, width);
    correction(n);
    shared_expert(n);
    if (stack_.names.contains(router_factors)) tensor(router_factors, n, {model_.experts->count});
    for (const WeightPurpose purpose :
         {router_scale, before_experts, after_experts, before_shared, after_shared}) {
      vector(purpose, n, width);
    }
    if (!stack_.names.contains(expert_gate_up) && !stack_.names.contains(expert_gate) &&
        stack_.names.contains(expert_up)) {
      experts_without_gates(n);
    } else if (names_.has(expert_gate_up, n)) {
      experts_stacked(n);
    } else if (names_.has(expert_gate, n)) {
      experts_apart(n);
    } else if (stack_.names.contains(expert_gate)) {
      each_expert(n);
    } else {
      experts_together(n);
    }
    return;
  }
  std::size_t hidden = 0;
  if (stack_.names.contains(WeightPurpose::gate_up)) {
    hidden = matrix(WeightPurpose::gate_up, n, 0, width)[0] / 2;
  } else {
    const bool gated =
        names_.has(WeightPurpose::gate, n) || !stack_.names.contains(WeightPurpose::up);
    if (gated) {
      hidden = matrix(WeightPurpose::gate, n, 0, width)[0];
      matrix(names_.has(WeightPurpose::gated_up, n) ? WeightPurpose::gated_up : WeightPurpose::up,
             n, hidden, width);
    } else {
      hidden = matrix(WeightPurpose::up, n, 0, width)[0];
    }
  }
  matrix(WeightPurpose::down, n, width, hidden);
}

const Shape& FeedForwardChecks::expert_part(WeightPurpose purpose, std::size_t n, const char* end,
                                            const Shape& wanted) {
  const auto name = names_.found(purpose, n, end);
  if (!name) {
    const bool part = *end == '.';
    throw input_error(translated("the weights have no tensor {1}",
                                 in_quotes(names_.name(purpose, n) + (part ? "" : ".") + end)),
                      weights_.place(), translated("the file is incomplete: download it again"));
  }
  const Shape& shape = expect_shape(weights_, *name, wanted);
  take(*name);
  return shape;
}

void FeedForwardChecks::correction(std::size_t n) {
  if (!stack_.names.contains(WeightPurpose::router_correction)) return;
  const auto name = names_.found(WeightPurpose::router_correction, n, "weight");
  if (!name) missing(WeightPurpose::router_correction, n, "");
  const std::size_t count = model_.experts->count;
  if (weights_.shape(*name) != Shape{1, count}) expect_shape(weights_, *name, {count});
  take(*name);
}

void FeedForwardChecks::shared_expert(std::size_t n) {
  using enum WeightPurpose;
  if (!stack_.names.contains(shared_down)) return;
  std::size_t hidden = 0;
  if (stack_.names.contains(shared_gate_up)) {
    hidden = matrix(shared_gate_up, n, 0, model_.width)[0] / 2;
  } else {
    if (stack_.names.contains(shared_gate)) {
      hidden = matrix(shared_gate, n, 0, model_.width)[0];
    }
    hidden = matrix(shared_up, n, hidden, model_.width)[0];
  }
  matrix(shared_down, n, model_.width, hidden);
  if (stack_.names.contains(shared_share)) matrix(shared_share, n, 1, model_.width);
}

void FeedForwardChecks::each_expert(std::size_t n) {
  using enum WeightPurpose;
  std::size_t hidden = 0;
  for (std::size_t e = 0; e < model_.experts->count; ++e) {
    const auto part = [&](WeightPurpose purpose, const Shape& wanted) {
      const auto name = names_.found(purpose, n, "weight", e);
      if (!name) missing(purpose, n);
      take(*name);
      return expect_shape(weights_, *name, wanted)[0];
    };
    hidden = part(expert_gate, {hidden, model_.width});
    part(expert_up, {hidden, model_.width});
    part(expert_down, {model_.width, hidden});
  }
}

void FeedForwardChecks::experts_without_gates(std::size_t n) {
  using enum WeightPurpose;
  const std::size_t count = model_.experts->count, width = model_.width;
  if (!names_.has(expert_up, n, 0)) {
    const std::size_t hidden = expert_part(expert_up, n, "weight", {count, 0, width})[1];
    expert_part(expert_down, n, "weight", {count, width, hidden});
    return;
  }
  std::size_t hidden = 0;
  for (std::size_t e = 0; e < count; ++e) {
    for (const WeightPurpose purpose : {expert_up, expert_down}) {
      const auto name = names_.found(purpose, n, "weight", e);
      if (!name) missing(purpose, n);
      take(*name);
      const Shape& shape = expect_shape(
          weights_, *name, purpose == expert_up ? Shape{hidden, width} : Shape{width, hidden});
      if (purpose == expert_up) hidden = shape[0];
    }
  }
}

void FeedForwardChecks::experts_stacked(std::size_t n) {
  using enum WeightPurpose;
  const std::size_t count = model_.experts->count, width = model_.width;
  if (model_.experts_transposed) {
    const std::size_t both = expert_part(expert_gate_up, n, "weight", {count, width, 0})[2];
    expert_part(expert_down, n, "weight", {count, both / 2, width});
    return;
  }
  const std::size_t twice = expert_part(expert_gate_up, n, "weight", {count, 0, width})[1];
  expert_part(expert_down, n, "weight", {count, width, twice / 2});
}

void FeedForwardChecks::experts_together(std::size_t n) {
  const std::size_t count = model_.experts->count, width = model_.width;
  const auto name = names_.found(WeightPurpose::experts, n, ".gate_up_proj");
  const bool by_rows = name && weights_.made_by_rows(*name);
  const std::size_t twice =
      by_rows ? expert_part(WeightPurpose::experts, n, ".gate_up_proj", {count, 0, width})[1]
              : expert_part(WeightPurpose::experts, n, ".gate_up_proj", {count, width, 0})[2];
  expert_part(WeightPurpose::experts, n, ".gate_up_proj_bias", {count, twice});
  expert_part(WeightPurpose::experts, n, ".down_proj",
              by_rows ? Shape{count, width, twice / 2} : Shape{count, twice / 2, width});
  expert_part(WeightPurpose::experts, n, ".down_proj_bias", {count, width});
}

void FeedForwardChecks::experts_apart(std::size_t n) {
  using enum WeightPurpose;
  const std::size_t count = model_.experts->count, width = model_.width;
  const std::size_t hidden = expert_part(expert_gate, n, "weight", {count, 0, width})[1];
  expert_part(expert_up, n, "weight", {count, hidden, width});
  expert_part(expert_down, n, "weight", {count, width, hidden});
  // All of them have biases (gpt-oss), or none has.
  if (!names_.found(expert_gate, n, "bias")) return;
  expert_part(expert_gate, n, "bias", {count, hidden});
  expert_part(expert_up, n, "bias", {count, hidden});
  expert_part(expert_down, n, "bias", {count, width});
}

}  // namespace attn
