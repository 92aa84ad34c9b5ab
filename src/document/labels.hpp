#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/plot.hpp"

#include "attention/attention_name.hpp"
#include "io/json_value.hpp"

namespace attn {

/// Labels of queries and keys, and the parts of their axes: none, one list for all samples, or a
/// list for each sample.
struct Labels {
  std::vector<std::vector<std::string>> query, key;
  bool either = false;  ///< `query` and `key` are one list, for the sides of its length
  std::vector<std::vector<AxisSpan>> query_spans = {}, key_spans = {};

  /// The labels of one sample; empty if there are none.
  static std::vector<std::string> of_sample(const std::vector<std::vector<std::string>>& lists,
                                            std::size_t sample);
  /// Its parts, likewise.
  static std::vector<AxisSpan> spans_of_sample(const std::vector<std::vector<AxisSpan>>& lists,
                                               std::size_t sample);

  /// Labels of one of the attentions that share these. `is_there` says whether another attention
  /// exists: where there is a cross-attention, whose keys are the memory's, the keys of the
  /// self-attention of its layer are its queries.
  Labels of_attention(const AttentionName& name,
                      const std::function<bool(const AttentionName&)>& is_there) const;
};

/// Sizes that the lists must fit; 0 = any.
struct LabelledSizes {
  std::size_t batch = 0, queries = 0, keys = 0;
};

/// The text of a file that a document names.
using LabelFile = std::function<std::string(const std::string& name)>;

/// Reads {"query":…,"key":…}, which may have the members "spans", "query_spans" and "key_spans", or
/// one list for both. A list holds strings, or such lists for each
/// sample, or is {"file": "labels.txt"} with a label on each line. Throws Error(input).
Labels read_labels(const JsonValue& value, const std::string& pointer, const LabelledSizes& sizes,
                   const LabelFile& file);

/// Labels from the text of a file: JSON in these forms, or a label on each line. Throws
/// Error(input).
Labels labels_in(std::string_view text, std::size_t nesting);

/// Assigns one list for both sides to the sides of its length. Throws Error(input) if no side has
/// it.
Labels fitted(Labels labels, std::size_t queries, std::size_t keys, const std::string& pointer);

/// The name of a query, a key or a token wherever people read it, and what they may type to choose
/// it: its label and index, "\"the\" (12)"; without a label the words for its number, "query {1}".
/// Labels wider than `width` are shortened.
std::string position_name(const std::vector<std::string>& labels, std::size_t position,
                          const char* numbered, std::size_t width = 28);
std::string position_name(const std::string& label, std::size_t position, std::size_t width = 28);

/// The position that such a name of a label means among `count`, with or without its quotes, under
/// one of several spellings of the labels, shortened or not; or, where there are none, a tick of a
/// tutorial's picture, Q_1 or K_1. Absent for any other text.
std::optional<std::size_t> position_of_name(
    std::string_view name, std::initializer_list<const std::vector<std::string>*> spellings,
    std::size_t count);

/// Whether a text is a label, as it is or in quotes, or what was shortened of it.
bool names_label(std::string_view text, const std::string& label);

/// Whether a text is JSON rather than lines, which may begin with "[CLS]".
bool begins_like_json(std::string_view text);

/// The lines of a text without their ends, and without empty lines at the end.
std::vector<std::string> lines_of(std::string_view text);

}  // namespace attn
