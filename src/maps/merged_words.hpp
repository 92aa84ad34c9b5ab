#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/run.hpp"

#include "plot/text/token_labels.hpp"

namespace attn {

/// The positions of an axis that are shown, and the labels of all of them, or none.
struct ShownAxis {
  const std::vector<std::string>& labels;
  std::size_t count = 0;               ///< of all positions
  std::vector<std::size_t> positions;  ///< those that are shown
};

struct WordsOfAxes {
  std::vector<Word> queries, keys;  ///< of the positions that are shown, counted among these
};

/// Joins pieces of words: those that `given` tells, on the axes whose pieces they fit, else those
/// that the labels mark. Throws Error(input) naming the field if nothing tells which pieces make a
/// word, or the words fit neither axis.
WordsOfAxes merged_words(const std::optional<PieceWords>& given, const ShownAxis& queries,
                         const ShownAxis& keys);

}  // namespace attn
