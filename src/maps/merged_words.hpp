#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/maps.hpp"

#include "plot/text/token_labels.hpp"

namespace attn {

/// Shown positions of an axis, and the labels of all its positions, or none.
struct ShownAxis {
  const std::vector<std::string>& labels;
  std::size_t count = 0;               ///< number of all positions
  std::vector<std::size_t> positions;  ///< shown ones
};

/// Words of two axes; their positions count among those that are shown.
struct WordsOfAxes {
  std::vector<Word> queries, keys;
};

/// Joins pieces of words: into the given words on axes whose pieces fit them, else into the words
/// that the labels mark. Throws Error(input) naming the field if neither words nor labels are
/// there, or the words fit neither axis.
WordsOfAxes merged_words(const std::optional<PieceWords>& given, const ShownAxis& queries,
                         const ShownAxis& keys);

}  // namespace attn
