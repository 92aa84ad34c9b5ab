#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "attn/io.hpp"
#include "attn/model.hpp"
#include "attn/tensor.hpp"

#include "document/plan.hpp"
#include "maps/attention_map.hpp"

namespace attn {

/// Consumer of what is computed of a plan; a function that is empty takes nothing. Nothing else
/// holds what is handed over, so that it is freed where the consumer lets go of it.
struct ComputedConsumer {
  /// Takes each tensor of the result under its name in result.json, in the order of the result. A
  /// model's, which are those of foreseen_tensors(), come as soon as each is computed.
  std::function<void(NamedTensor tensor)> tensor = {};
  /// Takes the map of attention number `attention` of the plan, after its tensors. Its `planned`
  /// points into the plan. Maps of attentions whose weights are not asked for have no numbers, and
  /// a model's of these come last. None come where the rows of a model are taken.
  std::function<void(AttentionMap map, std::size_t attention)> map = {};
  Progress progress = {};
};

/// Facts of a computation that are there when it ends.
struct ComputedFacts {
  std::vector<std::pair<std::string, Shape>> shapes;  ///< of weights and outputs
  std::vector<std::vector<Prediction>> predictions;   ///< of a model, one list a sample
  std::size_t empty_rows = 0;         ///< queries with no key left, in all attentions
  std::vector<std::string> warnings;  ///< of numbers that are NaN or infinite
};

/// Computes a plan. `observers` are further ones of a model's pass. Throws Error as attend() and
/// run_model() do.
ComputedFacts compute(const Plan& plan, const ComputedConsumer& consumer,
                      std::vector<PassObserver> observers = {});

/// The ten likeliest tokens by the logits [..,V] of one position.
Prediction prediction_of(std::size_t position, const Tensor& logits, const ModelFolder& folder);

}  // namespace attn
