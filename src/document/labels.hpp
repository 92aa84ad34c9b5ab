#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "attention/attention_name.hpp"
#include "io/json_value.hpp"

namespace attn {

/// Names of queries and keys: none, one list for all samples, or one list a sample.
struct Labels {
  std::vector<std::vector<std::string>> query, key;
  bool either = false;  ///< `query` and `key` are one list, for whichever of them has its length

  /// The list of one sample; empty if there is none.
  static std::vector<std::string> of_sample(const std::vector<std::vector<std::string>>& lists,
                                            std::size_t sample);

  /// Labels of one of the attentions that share these. `is_there` says whether another attention
  /// exists: where there is a cross-attention, whose keys are the memory's, the keys of the
  /// self-attention of its layer are its queries.
  Labels of_attention(const AttentionName& name,
                      const std::function<bool(const AttentionName&)>& is_there) const;
};

/// What the lists must fit; 0 = anything.
struct LabelledSizes {
  std::size_t batch = 0, queries = 0, keys = 0;
};

/// The text of a file that a document names.
using LabelFile = std::function<std::string(const std::string& name)>;

/// Reads {"query":…,"key":…}, or one list for both; a list is one of strings, one of such lists a
/// sample, or {"file": "labels.txt"} with a label a line.
Labels read_labels(const JsonValue& value, const std::string& pointer, const LabelledSizes& sizes,
                   const LabelFile& file);

/// Those of a file: as above, or as text with a label a line.
Labels labels_in(std::string_view text, std::size_t nesting);

/// One list for both sides goes to the sides whose length it has. Throws Error(input) if there is
/// none.
Labels fitted(Labels labels, std::size_t queries, std::size_t keys, const std::string& pointer);

/// Whether a text that may also be lines is meant as JSON: a line may be "[CLS]".
bool begins_like_json(std::string_view text);

/// The lines of a text, without what ends them, and without empty ones at the end.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace attn
