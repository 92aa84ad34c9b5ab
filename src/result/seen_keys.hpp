#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "io/json_writer.hpp"

namespace attn {

/// Which keys the queries of some attentions see, where each sees those of one range, as with the
/// masks of models: result.json tells so much shorter what `allowed` would.
struct SeenKeys {
  std::vector<std::string> attentions;  ///< prefixes of their tensors' names, "layers.0.self."
  Tensor ranges;  ///< int64 [B,Lq,2]: of each query the first key and the one behind the last
};

/// From 0 and 1 [B,1,Lq,Lk].
Tensor ranges_of(const Tensor& allowed);

void write_seen_keys(JsonWriter& json, const std::vector<SeenKeys>& seen);

/// Reads a tensor of float64 that stands at a JSON pointer.
using ReadTensor = std::function<Tensor(const JsonValue& value, const std::string& pointer)>;

/// What write_seen_keys() wrote of one attention, as 0 and 1 [B,1,Lq,Lk] for weights of the shape
/// [B,H,Lq,Lk]; absent if nothing is told of it. Throws Error(input) at `pointer` for ranges that
/// do not fit.
Tensor read_seen_keys(const JsonValue& seen, const std::string& prefix, const Shape& weights,
                      const std::string& pointer, const ReadTensor& read);

}  // namespace attn
