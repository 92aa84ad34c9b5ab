#include "document/labels.hpp"

#include <algorithm>
#include <array>

#include "attn/error.hpp"

#include "document/fields.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::array<Field, 1> file_fields{{{"file", R"("type": "string")", true}}};
constexpr const char* spans_schema = R"("$ref": "#/$defs/span_lists")";
constexpr std::array<Field, 5> label_fields{{{"query", R"("$ref": "#/$defs/label_lists")"},
                                             {"key", R"("$ref": "#/$defs/label_lists")"},
                                             {"spans", spans_schema},
                                             {"query_spans", spans_schema},
                                             {"key_spans", spans_schema}}};

constexpr auto label_schemas = std::to_array<SchemaDefinition>({
    {"label_file", +[] { return object_schema(file_fields); }},
    {"label_names",
     R"("oneOf": [{"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}},
        {"type": "array", "minItems": 1,
         "items": {"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}}}])"},
    {"label_lists",
     R"("anyOf": [{"$ref": "#/$defs/label_names"}, {"$ref": "#/$defs/label_file"}])"},
    {"span",
     R"("type": "array", "minItems": 2, "maxItems": 2,
        "items": {"type": "integer", "minimum": 0})"},
    {"spans",
     R"("type": "object", "additionalProperties": {"anyOf": [{"$ref": "#/$defs/span"},
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/span"}}]})"},
    {"span_lists",
     R"("anyOf": [{"$ref": "#/$defs/spans"},
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/spans"}}])"},
    {"labels",
     +[] {
       return R"("anyOf": [{"$ref": "#/$defs/label_lists"}, {)" + object_schema(label_fields) +
              "}]";
     }},
});

void check_count(std::size_t count, std::size_t length, std::string_view axis,
                 const std::string& pointer) {
  if (length == 0 || count == length) return;
  throw input_error(
      translated("{1} for {2}", translated_count(count, "{1} label", "{1} labels"),
                 axis == "queries" ? translated_count(length, "{1} query", "{1} queries")
                                   : translated_count(length, "{1} key", "{1} keys")),
      pointer, translated("give one label for each of the {1}", axis));
}

// Throws for labels that are as many as neither the queries nor the keys.
[[noreturn]] void refuse_count(std::size_t count, std::size_t queries, std::size_t keys,
                               const std::string& pointer) {
  throw input_error(
      translated("{1} for {2} and {3}", translated_count(count, "{1} label", "{1} labels"),
                 translated_count(queries, "{1} query", "{1} queries"),
                 translated_count(keys, "{1} key", "{1} keys")),
      pointer,
      count == 1 && pointer.empty()
          ? translated("give one label for each of them, each on a line of its own")
          : translated("give one label for each of them: {1}", R"({"query": […], "key": […]})"));
}

std::vector<std::string> read_list(const JsonValue& value, const std::string& pointer,
                                   std::size_t length, std::string_view axis) {
  // Before the labels take memory.
  check_count(value.size(), length, axis, pointer);
  std::vector<std::string> list;
  list.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    const JsonValue& label = value.element(i);
    list.push_back(label.is(JsonValue::Type::number)
                       ? number_text(label.number())
                       : expect_string(label, pointer_to(pointer, i)));
  }
  return list;
}

std::vector<std::vector<std::string>> read_lists(const JsonValue& value, const std::string& pointer,
                                                 std::size_t batch, std::size_t length,
                                                 std::string_view axis, const LabelFile& file) {
  if (value.is(JsonValue::Type::object)) {
    expect_known_members(value, known_keys(file_fields), pointer);
    const JsonValue* name = value.find("file");
    if (!name || !file) {
      throw input_error(
          translated("this object is not a list of labels"), pointer,
          translated("give one list of strings, one list per sample, or {\"file\": …}"));
    }
    const std::string at = pointer_to(pointer, "file");
    const auto read = [&] {
      try {
        return lines_of(file(expect_string(*name, at)));
      } catch (const Error& error) {
        if (!error.where().empty()) throw;
        throw error.inside(at);
      }
    };
    std::vector<std::string> lines = read();
    check_count(lines.size(), length, axis, pointer);
    return {std::move(lines)};
  }
  if (!value.is(JsonValue::Type::array) || value.size() == 0) {
    throw input_error(translated("expected a list of labels, found {1}",
                                 value.is(JsonValue::Type::array) ? translated("an empty array")
                                                                  : translated(type_text(value))),
                      pointer, translated("give one list of strings, or one list per sample"));
  }
  const bool one_a_sample = value.element(0).is(JsonValue::Type::array);
  if (!one_a_sample) return {read_list(value, pointer, length, axis)};
  if (batch != 0 && value.size() != batch && value.size() != 1) {
    throw input_error(
        translated("{1} of labels for {2}", translated_count(value.size(), "{1} list", "{1} lists"),
                   translated_count(batch, "{1} sample", "{1} samples")),
        pointer, translated("give one list for all samples, or one list per sample"));
  }
  std::vector<std::vector<std::string>> lists;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(pointer, i);
    const JsonValue& list = value.element(i);
    if (!list.is(JsonValue::Type::array)) {
      throw input_error(
          translated("expected a list of labels, found {1}", translated(type_text(list))), at,
          translated("give one list of strings, or one list per sample"));
    }
    lists.push_back(read_list(list, at, length, axis));
  }
  return lists;
}

// One part, [first, end] of so many positions; 0 = any number.
AxisSpan read_span(const std::string& name, const JsonValue& value, const std::string& pointer,
                   std::size_t length) {
  const char* const help = to_translate("give [first, end], positions from 0, the end left out");
  if (!value.is(JsonValue::Type::array) || value.size() != 2) {
    throw input_error(translated("expected [first, end], found {1}", translated(type_text(value))),
                      pointer, translated(help));
  }
  const auto number = [&](std::size_t i) {
    return static_cast<std::size_t>(expect_integer(value.element(i), pointer_to(pointer, i), 0));
  };
  const AxisSpan span{name, number(0), number(1)};
  if (span.first < span.end && (length == 0 || span.end <= length)) return span;
  throw input_error(span.first >= span.end
                        ? translated("the part {1} is empty", in_quotes(name))
                        : translated("the part {1} ends at {2}, after the last position {3}",
                                     in_quotes(name), span.end, length - 1),
                    pointer, translated(help));
}

// Parts of one sample by their names, in the order of their positions.
std::vector<AxisSpan> read_spans(const JsonValue& value, const std::string& pointer,
                                 std::size_t length) {
  std::vector<AxisSpan> spans;
  for (const auto& [name, place] : expect_object(value, pointer).members()) {
    const std::string at = pointer_to(pointer, name);
    const bool several = place.is(JsonValue::Type::array) && place.size() > 0 &&
                         place.element(0).is(JsonValue::Type::array);
    if (!several) spans.push_back(read_span(name, place, at, length));
    for (std::size_t i = 0; several && i < place.size(); ++i)
      spans.push_back(read_span(name, place.element(i), pointer_to(at, i), length));
  }
  std::ranges::stable_sort(spans, {}, &AxisSpan::first);
  for (std::size_t i = 1; i < spans.size(); ++i) {
    if (spans[i].first >= spans[i - 1].end) continue;
    throw input_error(translated("the parts {1} and {2} overlap", in_quotes(spans[i - 1].name),
                                 in_quotes(spans[i].name)),
                      pointer, translated("give each position one part at most"));
  }
  return spans;
}

std::vector<std::vector<AxisSpan>> read_span_lists(const JsonValue& value,
                                                   const std::string& pointer, std::size_t batch,
                                                   std::size_t length) {
  if (!value.is(JsonValue::Type::array)) return {read_spans(value, pointer, length)};
  if (value.size() == 0 || (batch != 0 && value.size() != batch && value.size() != 1)) {
    throw input_error(
        translated("{1} of parts for {2}", translated_count(value.size(), "{1} list", "{1} lists"),
                   translated_count(batch, "{1} sample", "{1} samples")),
        pointer, translated("give the parts of all samples, or a list of those of each sample"));
  }
  std::vector<std::vector<AxisSpan>> lists;
  for (std::size_t i = 0; i < value.size(); ++i)
    lists.push_back(read_spans(value.element(i), pointer_to(pointer, i), length));
  return lists;
}

}  // namespace

std::span<const SchemaDefinition> label_definitions() noexcept {
  return label_schemas;
}

std::vector<std::string> Labels::of_sample(const std::vector<std::vector<std::string>>& lists,
                                           std::size_t sample) {
  if (lists.size() == 1) return lists[0];
  return sample < lists.size() ? lists[sample] : std::vector<std::string>{};
}

std::vector<AxisSpan> Labels::spans_of_sample(const std::vector<std::vector<AxisSpan>>& lists,
                                              std::size_t sample) {
  if (lists.size() == 1) return lists[0];
  return sample < lists.size() ? lists[sample] : std::vector<AxisSpan>{};
}

Labels Labels::of_attention(const AttentionName& name,
                            const std::function<bool(const AttentionName&)>& is_there) const {
  const bool crosses = name.is_self() && is_there(name.with_part("cross"));
  return crosses ? Labels{query, query, either, query_spans, query_spans} : *this;
}

Labels read_labels(const JsonValue& value, const std::string& pointer, const LabelledSizes& sizes,
                   const LabelFile& file) {
  const bool one_file = value.is(JsonValue::Type::object) && value.find("file");
  const bool one_list = value.is(JsonValue::Type::array) && value.size() > 0 &&
                        !value.element(0).is(JsonValue::Type::array);
  // Before the labels take memory.
  if (one_list && sizes.queries != 0 && sizes.keys != 0 && value.size() != sizes.queries &&
      value.size() != sizes.keys) {
    refuse_count(value.size(), sizes.queries, sizes.keys, pointer);
  }
  if (value.is(JsonValue::Type::array) || one_file) {
    const auto lists = read_lists(value, pointer, sizes.batch, 0, "", file);
    const Labels labels{lists, lists, true};
    const bool known = sizes.queries != 0 && sizes.keys != 0;
    return known ? fitted(labels, sizes.queries, sizes.keys, pointer) : labels;
  }
  if (!value.is(JsonValue::Type::object)) {
    throw input_error(translated("expected labels, found {1}", translated(type_text(value))),
                      pointer,
                      translated("give {\"query\": […], \"key\": […]}, one list for both, or "
                                 "{\"file\": \"tokens.txt\"} with one label per line"));
  }
  expect_known_members(value, known_keys(label_fields), pointer);
  Labels labels;
  if (const JsonValue* query = value.find("query")) {
    labels.query = read_lists(*query, pointer_to(pointer, "query"), sizes.batch, sizes.queries,
                              "queries", file);
  }
  if (const JsonValue* key = value.find("key")) {
    labels.key =
        read_lists(*key, pointer_to(pointer, "key"), sizes.batch, sizes.keys, "keys", file);
  }
  const auto read_parts = [&](const char* member, std::size_t length, auto&... sides) {
    const JsonValue* const parts = value.find(member);
    if (parts == nullptr) return;
    const auto lists = read_span_lists(*parts, pointer_to(pointer, member), sizes.batch, length);
    ((sides = lists), ...);
  };
  read_parts("spans", std::min(sizes.queries, sizes.keys), labels.query_spans, labels.key_spans);
  read_parts("query_spans", sizes.queries, labels.query_spans);
  read_parts("key_spans", sizes.keys, labels.key_spans);
  return labels;
}

Labels labels_in(std::string_view text, std::size_t nesting) {
  if (text.find('\0') != text.npos) {
    throw input_error(translated("this is not a text of labels"), "",
                      translated("give one label per line, or a JSON list of labels"));
  }
  if (begins_like_json(text)) {
    const JsonValue root = parse_json(text, {.depth = nesting});
    // Files of tokens name their list so.
    const JsonValue* const tokens = root.find("tokens");
    return read_labels(tokens ? *tokens : root, tokens ? "/tokens" : "", {}, {});
  }
  const std::vector<std::vector<std::string>> lines{lines_of(text)};
  if (lines[0].empty()) {
    throw input_error(translated("there is no label"), "",
                      translated("give one label per line, or a JSON list of labels"));
  }
  return {lines, lines, true};
}

Labels fitted(Labels labels, std::size_t queries, std::size_t keys, const std::string& pointer) {
  if (!labels.either) return labels;
  const auto fits = [&](std::size_t length) {
    return std::all_of(labels.query.begin(), labels.query.end(),
                       [&](const auto& list) { return list.size() == length; });
  };
  const bool names_queries = fits(queries), names_keys = fits(keys);
  if (!names_queries && !names_keys) {
    refuse_count(labels.query[0].size(), queries, keys, pointer);
  }
  if (!names_queries) labels.query.clear();
  if (!names_keys) labels.key.clear();
  labels.either = false;
  return labels;
}

std::string position_name(const std::vector<std::string>& labels, std::size_t position,
                          const char* numbered, std::size_t width) {
  if (position >= labels.size() || labels[position].empty()) return translated(numbered, position);
  return position_name(labels[position], position, width);
}

std::string position_name(const std::string& label, std::size_t position, std::size_t width) {
  return in_quotes(shortened(label, width)) + " (" + std::to_string(position) + ")";
}

bool names_label(std::string_view text, const std::string& label) {
  if (text == label) return true;
  const std::string quoted = in_quotes(label);
  constexpr std::string_view left_out = "…";
  const std::size_t cut = text.find(left_out);
  if (cut == text.npos) return text == quoted;
  const std::string_view start = text.substr(0, cut), end = text.substr(cut + left_out.size());
  const auto shortened_of = [&](std::string_view whole) {
    return start.size() + end.size() <= whole.size() && whole.starts_with(start) &&
           whole.ends_with(end);
  };
  return start.size() + end.size() > 0 && (shortened_of(quoted) || shortened_of(label));
}

std::optional<std::size_t> position_of_name(
    std::string_view name, std::initializer_list<const std::vector<std::string>*> spellings,
    std::size_t count) {
  std::size_t position = 0;
  if ((*spellings.begin())->empty()) {
    const bool tick = name.starts_with("Q_") || name.starts_with("K_");
    const bool there = tick && parse_number(name.substr(2), position) && position - 1 < count;
    return there ? std::optional(position - 1) : std::nullopt;
  }
  const std::size_t open = name.rfind(" (");
  if (open == name.npos || !name.ends_with(')')) return std::nullopt;
  if (!parse_number(name.substr(open + 2, name.size() - open - 3), position)) return std::nullopt;
  const std::string_view label = name.substr(0, open);
  const bool named = std::ranges::any_of(spellings, [&](const std::vector<std::string>* labels) {
    return position < std::min(count, labels->size()) && names_label(label, (*labels)[position]);
  });
  return named ? std::optional(position) : std::nullopt;
}

bool begins_like_json(std::string_view text) {
  constexpr std::string_view space = " \t\r\n";
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  const std::size_t first = text.find_first_not_of(space);
  if (first == text.npos) return false;
  if (text[first] == '{') return true;
  if (text[first] != '[') return false;
  const std::size_t next = text.find_first_not_of(space, first + 1);
  if (next == text.npos) return true;
  return std::string_view("\"[{]-0123456789").find(text[next]) != std::string_view::npos ||
         text.substr(next).starts_with("null,");
}

std::vector<std::string> lines_of(std::string_view text) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::vector<std::string> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

}  // namespace attn
