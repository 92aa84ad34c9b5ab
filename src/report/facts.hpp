#pragma once

#include <concepts>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "attn/tensor.hpp"

#include "io/json_writer.hpp"

namespace attn {

/// A fact of a report or result for programs to read: a value, a list of facts, an object of named
/// facts, or null. A report is one tree of facts, which json_text() writes. An absent fact is left
/// out of the object or list that holds it.
class Fact {
 public:
  using Member = std::pair<std::string, Fact>;
  using List = std::vector<Fact>;
  using Members = std::vector<Member>;

  Fact() = default;  ///< null
  static Fact absent() { return Fact(Value(Absent())); }

  Fact(std::same_as<bool> auto truth) : value_(truth) {}
  Fact(std::signed_integral auto number) : value_(std::int64_t{number}) {}
  template <std::unsigned_integral Number>
  requires(!std::same_as<Number, bool>) Fact(Number number) : value_(std::size_t{number}) {}
  Fact(float number) : value_(number) {}
  Fact(double number) : value_(number) {}
  Fact(std::string text) : value_(std::move(text)) {}
  Fact(std::string_view text) : value_(std::string(text)) {}
  Fact(const char* text) : value_(std::string(text)) {}
  Fact(const std::filesystem::path& path) : value_(path.string()) {}
  Fact(Shape shape) : value_(std::move(shape)) {}     ///< [2,3] on one line
  Fact(Tensor tensor) : value_(std::move(tensor)) {}  ///< nested lists; shares the elements
  Fact(List facts) : value_(std::move(facts)) {}
  Fact(Members members) : value_(std::move(members)) {}
  /// Null where there is no value.
  template <class T>
  Fact(const std::optional<T>& value) : Fact(value ? Fact(*value) : Fact()) {}
  template <class T>
  Fact(const std::vector<T>& values) : value_(List(values.begin(), values.end())) {}
  template <class T>
  Fact(std::span<T> values) : value_(List(values.begin(), values.end())) {}

  void write(JsonWriter& json) const;

 private:
  struct Absent {};
  using Value = std::variant<std::monostate, Absent, bool, std::int64_t, std::size_t, float, double,
                             std::string, Shape, Tensor, List, Members>;

  explicit Fact(Value value) : value_(std::move(value)) {}

  Value value_;
};

/// An object: object({{"rows", 2}, {"columns", 3}}).
inline Fact object(Fact::Members members) {
  return members;
}

/// The fact made of each value, one after the other.
template <class Values, class Make>
Fact list_of(const Values& values, const Make& make) {
  Fact::List facts;
  for (const auto& value : values) facts.push_back(make(value));
  return facts;
}

/// The fact where the condition holds, else an absent one.
inline Fact only_if(bool condition, Fact fact) {
  return condition ? std::move(fact) : Fact::absent();
}

/// The fact of a text, list or path that is not empty, else an absent one.
template <class Value>
Fact unless_empty(const Value& value) {
  return value.empty() ? Fact::absent() : Fact(value);
}

/// The fact of a value that is there, else an absent one.
template <class Value>
Fact if_given(const std::optional<Value>& value) {
  return value ? Fact(*value) : Fact::absent();
}

/// The tree as JSON, with a closing newline. `threads` turn large tensors into text (0 = as many as
/// the machine has), the same bytes whatever their number.
std::string json_text(const Fact& fact, JsonLayout layout = JsonLayout::indented,
                      std::size_t threads = 1);

}  // namespace attn
