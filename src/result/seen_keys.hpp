#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "report/facts.hpp"

namespace attn {

/// The keys that the queries of some attentions see, where each sees one range of them, as with the
/// masks of models: a shorter form of `allowed` in result.json.
struct SeenKeys {
  std::vector<std::string> attentions;  ///< prefixes of their tensors' names, `layers.0.self.`
  Tensor ranges;  ///< int64 [B,Lq,2]: the first key of each query and the one behind its last
};

/// The ranges of a mask of 0 and 1, [B,1,Lq,Lk].
Tensor ranges_of(const Tensor& allowed);

/// The list that result.json holds.
Fact facts_of(const std::vector<SeenKeys>& seen);

/// Reads the float64 tensor at a JSON pointer.
using ReadTensor = std::function<Tensor(const JsonValue& value, const std::string& pointer)>;

/// The mask of one attention in the list that facts_of() makes, as 0 and 1 [B,1,Lq,Lk] for weights
/// of the shape [B,H,Lq,Lk]; absent if the list does not name it. Throws Error(input) at `pointer`
/// for ranges that do not fit.
Tensor read_seen_keys(const JsonValue& seen, const std::string& prefix, const Shape& weights,
                      const std::string& pointer, const ReadTensor& read);

}  // namespace attn
