#include "maps/map_selection.hpp"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

#include "attn/error.hpp"

#include "document/labels.hpp"
#include "plot/text/token_labels.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::string range_text(const PositionRange& range) {
  const auto end = [](const std::optional<std::int64_t>& position) {
    return position ? std::to_string(*position) : std::string();
  };
  return end(range.first) + ":" + end(range.end);
}

// Keys that the selection leaves out, each named by its position or its label, which may be spelled
// as in the file or as pictures show it.
std::set<std::size_t> dropped_keys(const MapSelection& selection, std::size_t count,
                                   const std::vector<std::string>& labels) {
  std::set<std::size_t> dropped;
  const auto readable = readable_tokens(labels, token_spelling({&labels}), false);
  for (const std::string& key : selection.drop) {
    std::size_t position = 0;
    if (const auto named = position_of_name(key, {&labels, &readable}, count)) {
      dropped.insert(*named);
      continue;
    }
    if (parse_number(key, position)) {
      if (position >= count) {
        throw input_error(translated("there is no key {1} to leave out of {2}", key,
                                     translated_count(count, "{1} key", "{1} keys")),
                          "MapSelection::drop", give_below(count));
      }
      dropped.insert(position);
      continue;
    }
    bool found = false;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      if (!names_label(key, labels[i]) && !names_label(key, readable[i])) continue;
      dropped.insert(i);
      found = true;
    }
    if (found) continue;
    const std::vector<std::string_view> known(labels.begin(), labels.end());
    throw input_error(translated("no key is called \"{1}\"", key), "MapSelection::drop",
                      labels.empty()
                          ? translated("give positions from 0, or labels that name the keys")
                          : suggestion(key, known));
  }
  return dropped;
}

// "2, 4 and 7"
std::string listed_numbers(const std::vector<std::size_t>& numbers) {
  std::string list;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) list += i + 1 < numbers.size() ? translated(", ") : translated(" and ");
    list += std::to_string(numbers[i]);
  }
  return list;
}

// Help for a patch that is beyond the rows and columns of a picture's patches, "8,8"; empty for
// other texts or labels.
std::string patch_range(const std::string& query, const std::vector<std::string>& labels) {
  std::size_t rows = 0, columns = 0;
  const auto is_patch = [](const std::string& text, std::size_t& row, std::size_t& column) {
    const std::size_t comma = std::min(text.find(','), text.size());
    return comma < text.size() && parse_number(text.substr(0, comma), row) &&
           parse_number(text.substr(comma + 1), column);
  };
  std::size_t row = 0, column = 0;
  for (const std::string& label : labels) {
    if (!is_patch(label, row, column)) continue;
    rows = std::max(rows, row + 1);
    columns = std::max(columns, column + 1);
  }
  if (rows == 0 || !is_patch(query, row, column)) return "";
  return translated("give a row from 0 to {1} and a column from 0 to {2}, such as {3}", rows - 1,
                    columns - 1, std::to_string(rows - 1) + "," + std::to_string(columns - 1));
}

// Where one position is named, and what is said of a name that is not one; {1} is the number or the
// name, {2} the name or the number of positions.
struct NamedPosition {
  const char *field, *several, *beyond, *range, *unknown;
  std::string (*counted)(std::size_t);
  std::string (*instead_of_range)(const std::string&);
};
const NamedPosition a_query{
    "MapSelection::query",
    to_translate("{1} queries are called \"{2}\": {3}"),
    to_translate("there is no query {1} among {2}"),
    to_translate("\"{1}\" is a range, not one query"),
    to_translate("no query is called \"{1}\""),
    [](std::size_t count) { return translated_count(count, "{1} query", "{1} queries"); },
    [](const std::string& range) {
      return translated("write {1}", "MapSelection::queries " + range);
    }};
const NamedPosition a_key{
    "ExplainOptions::key",
    to_translate("{1} keys are called \"{2}\": {3}"),
    to_translate("there is no key {1} among {2}"),
    to_translate("\"{1}\" is a range, not one key"),
    to_translate("no key is called \"{1}\""),
    [](std::size_t count) { return translated_count(count, "{1} key", "{1} keys"); },
    [](const std::string&) { return translated("give one key"); }};

// Position that is named by its label, as in the file or as pictures show it, or by its number.
std::size_t named_position(const NamedPosition& of, const std::string& query, std::size_t count,
                           const std::vector<std::string>& labels) {
  const auto readable = readable_tokens(labels, token_spelling({&labels}), false);
  std::vector<std::size_t> named;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (names_label(query, labels[i]) || names_label(query, readable[i])) named.push_back(i);
  }
  if (const auto place = position_of_name(query, {&labels, &readable}, count)) return *place;
  if (named.size() > 1) {
    throw input_error(translated(of.several, named.size(), query, listed_numbers(named)), of.field,
                      translated("give the position of one of them, such as {1}", named[1]));
  }
  if (named.size() == 1) return named[0];
  // From the end, as positions of ranges.
  std::int64_t from_end = 0;
  if (query.starts_with('-') && parse_number(query, from_end) && from_end < 0 &&
      from_end >= -static_cast<std::int64_t>(count)) {
    return static_cast<std::size_t>(static_cast<std::int64_t>(count) + from_end);
  }
  std::size_t position = 0;
  const bool number = parse_number(query, position);
  if (number && position < count) return position;
  if (number) {
    throw input_error(translated(of.beyond, query, of.counted(count)), of.field, give_below(count));
  }
  if (names_range(query)) {
    throw input_error(translated(of.range, query), of.field, of.instead_of_range(query));
  }
  const std::vector<std::string_view> known(labels.begin(), labels.end());
  const std::string of_patches = patch_range(query, labels);
  throw input_error(translated(of.unknown, query), of.field,
                    labels.empty()       ? translated("give its position from 0")
                    : of_patches.empty() ? suggestion(query, known)
                                         : of_patches);
}

// "Key 4, [SEP] and Key 8".
std::string dropped_text(const MapSelection& selection, std::size_t first_number) {
  std::string text;
  for (std::size_t i = 0; i < selection.drop.size(); ++i) {
    const std::string& key = selection.drop[i];
    std::size_t position = 0;
    const bool number = parse_number(key, position);
    if (i > 0) text += i + 1 < selection.drop.size() ? translated(", ") : translated(" and ");
    text += number ? translated("Key {1}", position + first_number) : key;
  }
  return text;
}

}  // namespace

bool names_range(const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.size() == 1) return false;
  std::int64_t number = 0;
  const auto is_end = [&](const std::string& end) {
    return end.empty() || parse_number(end, number);
  };
  return is_end(text.substr(0, colon)) && is_end(text.substr(colon + 1));
}

Positions positions_in(const std::optional<PositionRange>& range, std::size_t count,
                       const std::string& field, const CountedNoun& what) {
  if (!range) return {0, count};
  const auto size = static_cast<std::int64_t>(count);
  const std::string all = translated_count(count, what.one, what.many);
  if (range->first && range->end && *range->end == *range->first + 1 &&
      (*range->first >= size || *range->first < -size)) {
    throw input_error(
        translated("there is no {1} {2}: there {3}{4}", translated(what.noun), *range->first,
                   count == 1 ? translated("is ") : translated("are "), all),
        field, give_below(count));
  }
  const auto absolute = [&](std::int64_t position) {
    if (position >= -size && position <= size) return position < 0 ? position + size : position;
    throw input_error(translated("the range {1} goes beyond the {2} there {3}", range_text(*range),
                                 all, count == 1 ? translated("is") : translated("are")),
                      field, translated("give positions from 0 to {1}", count));
  };
  const std::int64_t first = absolute(range->first.value_or(0));
  const std::int64_t end = absolute(range->end.value_or(size));
  if (first >= end) {
    throw input_error(translated("the range {1} holds none of the {2}", range_text(*range), all),
                      field, translated("give a start before the end"));
  }
  return {static_cast<std::size_t>(first), static_cast<std::size_t>(end)};
}

std::vector<std::size_t> numbers_in(const std::optional<std::vector<PositionRange>>& ranges,
                                    std::size_t count, const std::string& field,
                                    const CountedNoun& what) {
  std::vector<std::size_t> numbers;
  std::vector<bool> taken(count, false);
  const auto take = [&](const std::optional<PositionRange>& range) {
    const Positions positions = positions_in(range, count, field, what);
    for (std::size_t i = positions.first; i < positions.end; ++i) {
      if (!taken[i]) numbers.push_back(i);
      taken[i] = true;
    }
  };
  if (!ranges) take(std::nullopt);
  if (ranges) {
    for (const PositionRange& range : *ranges) take(range);
  }
  return numbers;
}

void refuse_from_end(const std::optional<std::vector<PositionRange>>& chosen, const char* field,
                     std::size_t count) {
  if (!chosen) return;
  for (const PositionRange& range : *chosen) {
    if (range.first.value_or(0) >= 0) continue;
    const std::int64_t meant = *range.first + static_cast<std::int64_t>(count);
    const bool one = range.end.value_or(0) == *range.first + 1;
    throw Error(ErrorKind::usage,
                translated("{1} counts from 0: {2} is below", field, *range.first), field,
                one && meant >= 0
                    ? translated("write {1}", std::string(field) + " " + std::to_string(meant))
                    : give_below(count));
  }
}

std::string numbers_text(const std::vector<std::size_t>& numbers, std::size_t count,
                         NumberedThing thing, std::size_t first_number) {
  const auto words = [thing](std::string of_samples, std::string of_heads, std::string of_layers) {
    return thing == NumberedThing::sample ? of_samples
           : thing == NumberedThing::head ? of_heads
                                          : of_layers;
  };
  if (numbers.size() == count) {
    return words(translated_count(count, "{1} Sample", "{1} Samples"),
                 translated_count(count, "{1} Head", "{1} Heads"),
                 translated_count(count, "{1} Layer", "{1} Layers"));
  }
  if (numbers.size() == 1) {
    const std::size_t number = numbers[0] + first_number;
    return words(translated("Sample {1}", number), translated("Head {1}", number),
                 translated("Layer {1}", number));
  }
  bool follow = numbers.size() > 2;
  for (std::size_t i = 1; i < numbers.size(); ++i) {
    follow = follow && numbers[i] == numbers[i - 1] + 1;
  }
  if (follow) {
    const std::size_t first = numbers.front() + first_number, last = numbers.back() + first_number;
    return words(translated("Samples {1} to {2}", first, last),
                 translated("Heads {1} to {2}", first, last),
                 translated("Layers {1} to {2}", first, last));
  }
  std::vector<std::size_t> shown = numbers;
  for (std::size_t& number : shown) number += first_number;
  const std::string list = listed_numbers(shown);
  return words(translated("Samples {1}", list), translated("Heads {1}", list),
               translated("Layers {1}", list));
}

bool heads_together(const MapSelection& selection) {
  return MapSelection::together(selection.heads);
}

bool samples_together(const MapSelection& selection) {
  return MapSelection::together(selection.samples);
}

std::vector<std::string> part_of(const std::vector<std::string>& labels,
                                 const Positions& positions) {
  if (labels.empty()) return {};
  return {labels.begin() + static_cast<std::ptrdiff_t>(positions.first),
          labels.begin() + static_cast<std::ptrdiff_t>(positions.end)};
}

std::vector<AxisSpan> shown_spans(const std::vector<AxisSpan>& spans,
                                  const std::vector<std::size_t>& positions) {
  std::vector<AxisSpan> shown;
  const auto place = [&](std::size_t position) {
    return static_cast<std::size_t>(std::ranges::lower_bound(positions, position) -
                                    positions.begin());
  };
  for (const AxisSpan& span : spans) {
    const AxisSpan own{span.name, place(span.first), place(span.end)};
    if (own.first < own.end) shown.push_back(own);
  }
  return shown;
}

std::vector<AxisSpan> shown_spans(const std::vector<AxisSpan>& spans, const Positions& positions) {
  std::vector<AxisSpan> shown;
  for (const AxisSpan& span : spans) {
    const std::size_t first = std::max(span.first, positions.first);
    const std::size_t end = std::min(span.end, positions.end);
    if (first < end) shown.push_back({span.name, first - positions.first, end - positions.first});
  }
  return shown;
}

std::vector<std::string> key_labels(const std::vector<std::string>& labels,
                                    const std::vector<std::size_t>& keys,
                                    std::size_t first_number) {
  std::vector<std::string> part;
  const bool follow = keys.back() - keys.front() + 1 == keys.size();
  if (labels.empty() && follow) return part;  // pictures number them
  for (const std::size_t key : keys) {
    part.push_back(labels.empty()
                       ? (first_number == 0 ? "" : "K_") + std::to_string(key + first_number)
                       : labels[key]);
  }
  return part;
}

bool MapSelection::plain() const {
  return !together(heads) && !together(samples) && !queries && !query && !keys && drop_first == 0 &&
         drop.empty() && !renormalize && !merge_pieces && blocks == Blocks::none;
}

Positions selected_queries(const MapSelection& selection, std::size_t count,
                           const std::vector<std::string>& labels) {
  if (selection.query && selection.queries) {
    throw Error(ErrorKind::usage,
                translated("{1} and {2} both choose queries", "MapSelection::query",
                           "MapSelection::queries"),
                "MapSelection::queries", translated("leave one of them out"));
  }
  if (selection.query) {
    const std::size_t query = named_position(a_query, *selection.query, count, labels);
    return {query, query + 1};
  }
  return positions_in(selection.queries, count, "MapSelection::queries", counted_queries);
}

std::size_t named_key(const std::string& key, std::size_t count,
                      const std::vector<std::string>& labels) {
  return named_position(a_key, key, count, labels);
}

std::vector<std::size_t> selected_keys(const MapSelection& selection, std::size_t count,
                                       const std::vector<std::string>& labels) {
  Positions keys = positions_in(selection.keys, count, "MapSelection::keys", counted_keys);
  if (selection.drop_first >= keys.end) {
    throw input_error(
        translated("leaving out the first {1} of {2} leaves none", selection.drop_first,
                   translated_count(count, "{1} key", "{1} keys")),
        "MapSelection::drop_first", give_below(keys.end));
  }
  keys.first = std::max(keys.first, selection.drop_first);
  const std::set<std::size_t> dropped = dropped_keys(selection, count, labels);
  std::vector<std::size_t> kept;
  for (std::size_t key = keys.first; key < keys.end; ++key) {
    if (!dropped.contains(key)) kept.push_back(key);
  }
  if (!kept.empty()) return kept;
  throw input_error(
      translated_count(count, "the only key is left out", "all {1} keys are left out"),
      "MapSelection::drop", translated("keep at least one"));
}

std::string keys_text(const MapSelection& selection, std::size_t first_number) {
  std::string text;
  if (selection.drop_first > 0) {
    text = translated_count(selection.drop_first, "without the First Key",
                            "without the First {1} Keys");
  }
  if (!selection.drop.empty()) {
    const std::string dropped = dropped_text(selection, first_number);
    text += text.empty() ? translated("without {1}", dropped) : translated(" and {1}", dropped);
  }
  if (selection.renormalize) {
    text += (text.empty() ? "" : translated(", ")) + translated("Renormalized");
  }
  if (selection.blocks != MapSelection::Blocks::none) {
    text += (text.empty() ? "" : translated(", ")) +
            (selection.blocks == MapSelection::Blocks::sentence
                 ? translated("Keys Summed and Queries Averaged by Sentence")
                 : translated("Keys Summed and Queries Averaged by Part"));
  }
  return text;
}

}  // namespace attn
