#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "models/configuration_reader.hpp"

namespace attn {

/// Which layers see a window only, and how large it is.
class WindowReader {
 public:
  WindowReader(const ConfigurationReader& reader, bool causal);
  bool both_ways() const { return both_ways_; }

  /// `turned`: whether the layer's queries and keys are.
  std::optional<std::size_t> of_layer(std::size_t layer, bool turned) const;

 private:
  /// A list of the layers' types, or of types and how often they follow one another (GPT-Neo).
  void read_types();
  bool is_windowed(std::size_t layer, bool turned) const;
  const ConfigurationReader& reader_;
  const JsonValue* part_ = nullptr;
  std::vector<bool> types_;  ///< whether a layer has a window, as far as it is said
  std::optional<std::size_t> size_;
  bool causal_, both_ways_ = false;
};

}  // namespace attn
