#pragma once

#include <optional>
#include <string>

#include "attn/attention.hpp"
#include "attn/layers.hpp"

#include "document/tensor_source.hpp"
#include "io/json_value.hpp"

namespace attn {

/// Learned weights as new PyTorch modules have them: {"init":"torch", "hidden":h} for additive
/// attention, else {"init":"torch", "bias":true, "output_projection":true}. Each Linear draws its
/// weight, then its bias, both uniform in ±1/√in, in the order of construction: query, key, value,
/// output; self-attention, cross-attention, feed-forward, whose gated ones draw linear3 last.
class TorchInitialisation {
 public:
  /// Throws Error(input) if the object says what it does not know, lacks what it needs, or there is
  /// no seed. The widths are those of the query and the key and of `memory`.
  TorchInitialisation(const JsonValue& value, const std::string& pointer, Kind kind,
                      const Sequences& states, DType dtype, const Tensor& memory,
                      std::size_t layers, std::optional<std::size_t> feed_forward, bool gated,
                      TensorSource& tensors);

  void draw(Score& score) const;
  Projections projections() const;
  TransformerLayer layer() const;

 private:
  void check_size(std::size_t layers, Family family) const;
  Linear linear(std::size_t outputs, std::size_t inputs) const;
  Projections attention(std::size_t query, std::size_t key, std::size_t value) const;

  TensorSource& tensors_;
  std::string pointer_;
  TorchRandom& random_;
  DType dtype_;
  bool decoder_ = false, gated_ = false, bias_ = true, output_ = true;
  std::size_t heads_ = 1, kv_heads_ = 1;
  std::size_t query_ = 0, key_ = 0, value_ = 0, memory_ = 0, hidden_ = 0;
};

}  // namespace attn
