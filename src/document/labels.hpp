#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "io/json_value.hpp"

namespace attn {

/// Names of queries and keys: none, one list for all samples, or one list a sample.
struct Labels {
  std::vector<std::vector<std::string>> query, key;

  /// The list of one sample; empty if there is none.
  static std::vector<std::string> of_sample(const std::vector<std::vector<std::string>>& lists,
                                            std::size_t sample);

  /// Those of one of the attentions that share them, by the prefix of its tensors' names: "",
  /// "layers.0.self."… `is_there` tells whether there is one of that prefix: beside a
  /// cross-attention, whose keys are the memory's, a self-attention's keys are its queries.
  Labels of_attention(const std::string& prefix,
                      const std::function<bool(const std::string&)>& is_there) const;
};

/// Reads {"query":…,"key":…} whose lists must have the given lengths (0 = any) for `batch` samples
/// (0 = any).
Labels read_labels(const JsonValue& value, const std::string& pointer, std::size_t batch = 0,
                   std::size_t queries = 0, std::size_t keys = 0);

}  // namespace attn
