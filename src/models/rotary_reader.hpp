#pragma once

#include <cstddef>

#include "attn/rotary.hpp"

#include "models/configuration_reader.hpp"

namespace attn {

/// The rotary positions of layers of one sort.
class RotaryReader {
 public:
  RotaryReader(const ConfigurationReader& reader, std::size_t head_width);
  Rotary read(bool window) const;

 private:
  /// What newest configurations write in one object, or in one a sort of layers.
  const JsonValue* parameters(bool window) const;
  double original(const JsonValue& scaling) const;
  RotaryScaling read_scaling(const JsonValue& scaling) const;
  RotaryScaling long_scaling(const JsonValue& scaling) const;
  const ConfigurationReader& reader_;
  const JsonValue* part_;
  std::size_t width_ = 0, longest_ = 0;
  bool by_kind_ = false;
};

}  // namespace attn
