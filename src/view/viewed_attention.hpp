#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "attn/tensor.hpp"

#include "document/labels.hpp"
#include "heads/attention_maps.hpp"

namespace attn {

/// An attention as the page shows it.
struct ViewedAttention {
  AttentionMaps maps;
  std::string title;               ///< "Layer 1, Self-Attention"
  std::string stack;               ///< "Self-Attention": attentions of one are rows of the overview
  std::vector<std::size_t> heads;  ///< their numbers; empty = all of them are here
  std::size_t heads_a_group = 1;   ///< that share a key and value head
  Labels labels;
  bool holds_weights = true;  ///< whether the numbers are weights, of which statistics are told
  std::string tensor = "weights";  ///< what the numbers are called in a result
  /// The steps of the score by the names of results, of the shape of the weights.
  std::vector<std::pair<std::string, Tensor>> stages;
  /// Why keys of a sample are hidden, a sentence each.
  std::vector<std::vector<std::string>> hidden_because;
};

/// Where the attentions of an input come from: what is known before any of them is there, and the
/// walk over them.
struct ViewedInput {
  std::string title, description;
  std::vector<std::string> samples;  ///< their titles; empty = numbered
  std::vector<std::string> warnings;

  /// Maps of one size, so many of them.
  struct Sizes {
    std::size_t maps = 0, queries = 0, keys = 0;
  };
  std::vector<Sizes> sizes;
};

}  // namespace attn
