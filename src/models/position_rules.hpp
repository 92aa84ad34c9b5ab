#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attn/rotary.hpp"

#include "models/configuration_reader.hpp"

namespace attn {

/// Reads the rotary positions of a model's layers. Keeps a reference to the reader.
class RotaryReader {
 public:
  /// Throws Error(input) if heads of that width cannot be rotated as the configuration says.
  RotaryReader(const ConfigurationReader& reader, std::size_t head_width);

  /// The positions of layers with a window, or of those without. Throws Error(input) at the key for
  /// a scaling that is not known or not complete.
  Rotary read(bool window) const;

 private:
  const JsonValue* parameters(bool window) const;
  double original(const JsonValue& scaling) const;
  RotaryScaling read_scaling(const JsonValue& scaling) const;
  RotaryScaling long_scaling(const JsonValue& scaling) const;

  const ConfigurationReader& reader_;
  const RowRotary& row_;
  std::size_t width_ = 0, longest_ = 0;
  bool by_kind_ = false;  // whether layers with a window have parameters of their own
};

/// Reads which layers of a stack see a window only, and its size. Keeps a reference to the reader.
class WindowReader {
 public:
  /// Throws Error(input) at the key for types of layers that are not computed.
  WindowReader(const ConfigurationReader& reader, bool causal);

  /// Whether windows reach to both sides of a query.
  bool both_ways() const { return both_ways_; }

  /// The window of a layer, as ModelLayer has it; absent = none. `turned`: whether the layer's
  /// queries and keys are rotated.
  std::optional<std::size_t> of_layer(std::size_t layer, bool turned) const;

 private:
  void read_types();
  bool is_windowed(std::size_t layer, bool turned) const;

  const ConfigurationReader& reader_;
  const std::optional<RowWindow>& row_;
  std::vector<bool> types_;  // whether a layer has a window, for the first layers
  std::optional<std::size_t> size_;
  bool causal_, both_ways_ = false;
};

}  // namespace attn
