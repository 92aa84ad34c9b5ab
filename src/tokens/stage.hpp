#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_value.hpp"

namespace attn {

/// One stage of a tokenizer.json, an object with a "type", and its JSON pointer. Each function
/// throws Error(input) naming the key where it holds something else than it should.
struct Stage {
  const JsonValue& value;
  std::string where;

  /// The value of "type", which must be there.
  const std::string& type() const;

  /// Refuses a key that is none of these nor "type": what it means would be left out.
  void expect_keys(std::initializer_list<std::string_view> keys) const;

  /// The value of a key; null if it is absent or null.
  const JsonValue* find(std::string_view key) const;
  /// The same, but it must be there.
  const JsonValue& need(std::string_view key) const;

  bool boolean(std::string_view key, std::optional<bool> otherwise = std::nullopt) const;
  std::string string(std::string_view key) const;
  std::optional<std::string> optional_string(std::string_view key) const;
  /// An integer from 0 to `most`.
  std::int64_t integer(std::string_view key, std::int64_t most) const;
  /// A string of one character.
  char32_t character(std::string_view key) const;

  /// The stages of a list: {"type": "Sequence", `key`: […]}.
  template <class Use>
  void each(std::string_view key, Use&& use) const;

  std::string at(std::string_view key) const { return pointer_to(where, key); }
};

/// "normalizer \"X\" is not supported" for an unknown type of stage.
[[noreturn]] void refuse_type(const Stage& stage, const std::string& kind,
                              std::initializer_list<std::string_view> known);

/// The array that a value must be.
const JsonValue& expect_list(const JsonValue& value, const std::string& where);

template <class Use>
void Stage::each(std::string_view key, Use&& use) const {
  const JsonValue& list = expect_list(need(key), at(key));
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonValue element = list.element(i);
    use(Stage{element, pointer_to(at(key), i)});
  }
}

}  // namespace attn
