#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

#include "document/document.hpp"

namespace attn {

/// The weights of one attention of a computation, as pictures and reports need them.
struct WeightMap {
  std::string prefix;       ///< before the names of its tensors: "", "self.", "layers.0.cross."…
  Tensor weights, allowed;  ///< weights are absent if not asked for, allowed without a mask
  Tensor scores, capped, masked;  ///< if stages were asked for
  Labels labels;
  std::string mask;         ///< in words; empty without one
  std::string cells;        ///< of pooled weights: "Mean of 128×128 Weights a Cell"
  bool heads_only = false;  ///< weights of rank 3 are [H,Lq,Lk], not [B,Lq,Lk]
};

/// All results of one document, under the names of result.json.
struct Computation {
  std::vector<std::pair<std::string, Tensor>> tensors;  ///< weights and what is drawn of them first
  std::vector<WeightMap> maps;                          ///< in the order of computation
  std::vector<std::pair<std::string, Shape>> shapes;    ///< of weights and output
  std::size_t empty_rows = 0;  ///< queries with no key left, in all attentions
};

Computation compute(const DocumentRequest& request);

}  // namespace attn
