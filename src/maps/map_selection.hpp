#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "attn/language.hpp"
#include "attn/maps.hpp"
#include "attn/plot.hpp"

namespace attn {

/// Positions of a range, from 0, without `end`.
struct Positions {
  std::size_t first = 0, end = 0;
  std::size_t count() const { return end - first; }
};

/// Whether the text is written as a range of positions, "1:3".
bool names_range(const std::string& text);

/// What positions are counted: a noun, and one and several of them with their number.
struct CountedNoun {
  const char *noun, *one, *many;
};
inline constexpr CountedNoun counted_samples{to_translate("sample"), "{1} sample", "{1} samples"};
inline constexpr CountedNoun counted_heads{to_translate("head"), "{1} head", "{1} heads"};
inline constexpr CountedNoun counted_layers{to_translate("layer"), "{1} layer", "{1} layers"};
inline constexpr CountedNoun counted_queries{to_translate("query"), "{1} query", "{1} queries"};
inline constexpr CountedNoun counted_keys{to_translate("key"), "{1} key", "{1} keys"};

/// Positions that a range means among `count`. Throws Error(input) naming the field for what is not
/// there.
Positions positions_in(const std::optional<PositionRange>& range, std::size_t count,
                       const std::string& field, const CountedNoun& what);

/// Numbers below `count` that the ranges mean, each once, in their order; all of them without
/// ranges. Throws as positions_in() does.
std::vector<std::size_t> numbers_in(const std::optional<std::vector<PositionRange>>& ranges,
                                    std::size_t count, const std::string& field,
                                    const CountedNoun& what);

/// Throws Error(usage) at `field` for a number that counts from the end, where one sample or head of
/// `count` is chosen by its number.
void refuse_from_end(const std::optional<std::vector<PositionRange>>& chosen, const char* field,
                     std::size_t count);

enum class NumberedThing { sample, head, layer };

/// "Head 3", "Heads 1 to 6", "Heads 1, 6 and 12" of numbers from 0, or of all "12 Heads".
std::string numbers_text(const std::vector<std::size_t>& numbers, std::size_t count,
                         NumberedThing thing, std::size_t first_number);

/// Whether the selection makes one matrix of all heads.
bool heads_together(const MapSelection& selection);
/// Whether it makes one matrix of all samples.
bool samples_together(const MapSelection& selection);

/// Chosen positions among `count` queries, whose labels are given, or none. Throws Error(input)
/// naming the field.
Positions selected_queries(const MapSelection& selection, std::size_t count,
                           const std::vector<std::string>& labels);

/// The position among `count` keys of the one that is named by its label or position, as queries
/// are. Throws Error(input) at ExplainOptions::key.
std::size_t named_key(const std::string& key, std::size_t count,
                      const std::vector<std::string>& labels);

/// Chosen positions among `count` keys, whose labels are given, or none. Throws Error(input) naming
/// the field.
std::vector<std::size_t> selected_keys(const MapSelection& selection, std::size_t count,
                                       const std::vector<std::string>& labels);

/// Labels of these positions; none if there are none.
std::vector<std::string> part_of(const std::vector<std::string>& labels,
                                 const Positions& positions);

/// Parts of an axis among its shown positions, which are in their order.
std::vector<AxisSpan> shown_spans(const std::vector<AxisSpan>& spans,
                                  const std::vector<std::size_t>& positions);
std::vector<AxisSpan> shown_spans(const std::vector<AxisSpan>& spans, const Positions& positions);

/// Labels of these keys. Keys without labels are named by their numbers where some between them are
/// left out: K_1…, or 0… where the first number is 0.
std::vector<std::string> key_labels(const std::vector<std::string>& labels,
                                    const std::vector<std::size_t>& keys, std::size_t first_number);

/// Words for the changed keys: "without the First Key, Renormalised"; empty if none are changed.
std::string keys_text(const MapSelection& selection, std::size_t first_number);

}  // namespace attn
