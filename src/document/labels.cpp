#include "document/labels.hpp"

#include <array>
#include <string_view>

#include "attn/error.hpp"

#include "document/object.hpp"
#include "support/count_text.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

std::vector<std::string> read_list(const JsonValue& value, const std::string& pointer,
                                   std::size_t length, std::string_view axis) {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < value.size(); ++i) {
    list.push_back(expect_string(value.element(i), pointer_to(pointer, i)));
  }
  if (length != 0 && list.size() != length) {
    throw input_error(
        translated("{1} for {2}", translated_count(list.size(), "{1} label", "{1} labels"),
                   count_text(length, axis == "queries" ? "query" : "key", std::string(axis))),
        pointer, translated("give one label for each of the {1}", axis));
  }
  return list;
}

std::vector<std::vector<std::string>> read_lists(const JsonValue& value, const std::string& pointer,
                                                 std::size_t batch, std::size_t length,
                                                 std::string_view axis) {
  if (!value.is(JsonValue::Type::array) || value.size() == 0) {
    throw input_error(translated("expected a list of labels, found {1}",
                                 value.is(JsonValue::Type::array) ? translated("an empty array")
                                                                  : translated(type_text(value))),
                      pointer, translated("give one list of strings, or one list a sample"));
  }
  const bool one_a_sample = value.element(0).is(JsonValue::Type::array);
  if (!one_a_sample) return {read_list(value, pointer, length, axis)};
  if (batch != 0 && value.size() != batch && value.size() != 1) {
    throw input_error(
        translated("{1} of labels for {2}", translated_count(value.size(), "{1} list", "{1} lists"),
                   translated_count(batch, "{1} sample", "{1} samples")),
        pointer, translated("give one list for all samples, or one list a sample"));
  }
  std::vector<std::vector<std::string>> lists;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(pointer, i);
    const JsonValue list = value.element(i);
    if (!list.is(JsonValue::Type::array)) {
      throw input_error(
          translated("expected a list of labels, found {1}", translated(type_text(list))), at,
          translated("give one list of strings, or one list a sample"));
    }
    lists.push_back(read_list(list, at, length, axis));
  }
  return lists;
}

}  // namespace

std::vector<std::string> Labels::of_sample(const std::vector<std::vector<std::string>>& lists,
                                           std::size_t sample) {
  if (lists.size() == 1) return lists[0];
  return sample < lists.size() ? lists[sample] : std::vector<std::string>{};
}

Labels Labels::of_attention(const std::string& prefix,
                            const std::function<bool(const std::string&)>& is_there) const {
  constexpr std::string_view self = "self.";
  if (!prefix.ends_with(self)) return *this;
  const bool crosses = is_there(prefix.substr(0, prefix.size() - self.size()) + "cross.");
  return crosses ? Labels{query, query} : *this;
}

Labels read_labels(const JsonValue& value, const std::string& pointer, std::size_t batch,
                   std::size_t queries, std::size_t keys) {
  constexpr std::array<std::string_view, 2> known{"query", "key"};
  expect_known_keys(value, known, pointer);
  Labels labels;
  if (const JsonValue* query = value.find("query")) {
    labels.query = read_lists(*query, pointer_to(pointer, "query"), batch, queries, "queries");
  }
  if (const JsonValue* key = value.find("key")) {
    labels.key = read_lists(*key, pointer_to(pointer, "key"), batch, keys, "keys");
  }
  return labels;
}

}  // namespace attn
