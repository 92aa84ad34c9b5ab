#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "attn/model.hpp"
#include "attn/tensor.hpp"

#include "document/plan.hpp"

namespace attn {

/// Likeliest token by the states that leave a layer.
struct LayerPrediction {
  std::size_t layer = 0;
  Prediction::Token token;
};

/// States of a model at the positions where it predicts, as they leave each computed layer.
class LayerPredictions {
 public:
  /// Has a model give them while it is computed; neither plan nor object may be moved until then.
  void gather(Plan& plan);

  /// Reads the states by the norm and the head behind the last layer. For each sample, as many
  /// lists as it has predictions; nothing of what predicts nothing.
  std::vector<std::vector<std::vector<LayerPrediction>>> read(const Plan& plan) const;

 private:
  /// States [1,1,D] by layer, of each sample and position.
  std::map<std::pair<std::size_t, std::size_t>, std::vector<std::pair<std::size_t, Tensor>>>
      states_;
};

}  // namespace attn
