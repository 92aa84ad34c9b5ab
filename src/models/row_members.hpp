#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "models/architecture.hpp"
#include "models/configuration_reader.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

/// Reading of the rows of families by tables of their members.
namespace attn::row_reading {

/// A value that a row gives, or that the configuration has in its place.
struct Given {
  const JsonValue& value;
  std::string place;  // a JSON pointer into either
  const ConfigurationReader& config;
  bool by_row = true;

  std::string help() const {
    return by_row ? translated("model_row() gives a row as it should be")
                  : translated("this is not a configuration as the libraries write it");
  }
  bool is(JsonValue::Type type) const { return value.is(type); }
  Given element(std::size_t i) const {
    return {value.element(i), pointer_to(place, i), config, by_row};
  }
  Given member(const JsonMember& own) const {
    return {own.value, pointer_to(place, own.key), config, by_row};
  }
  /// The error that it is of another type than `wanted`, which is marked for translated().
  Error refusal(const char* wanted) const {
    return input_error(
        translated("expected {1}, found {2}", translated(wanted), translated(type_text(value))),
        place, help());
  }
  [[noreturn]] void refuse(const char* wanted) const { throw refusal(wanted); }
  const std::string& word() const { return expect_string(value, place, help()); }
  std::span<const JsonMember> members() const {
    return expect_object(value, place, help()).members();
  }
};

/// Throws Error(input): an object has a member that is not known.
[[noreturn]] void refuse_member(const std::string& key, const std::vector<std::string_view>& known,
                                const std::string& place);

inline bool is_null(const JsonValue& value) {
  return value.is(JsonValue::Type::null);
}
/// Whether the value is a whole number of at least 0.
bool is_count(const JsonValue& value);

/// Values by their type. A size of a configuration may be any number. Throw Error(input) for
/// others.
void read(bool& to, const Given& from);
void read(double& to, const Given& from);
void read(std::size_t& to, const Given& from);
void read(std::string& to, const Given& from);
/// An object with any members.
void read(JsonValue& to, const Given& from);
void read(Activation& to, const Given& from);
/// One name, or a list of several.
void read(std::vector<std::string>& to, const Given& from);
void read(std::vector<double>& to, const Given& from);
/// Purposes by name; "norms" and "projections" stand for all of them.
void read(std::vector<WeightPurpose>& to, const Given& from);
void read(TensorNames& to, const Given& from);
void read(ModelPositions& to, const Given& from);
void read(FusedLayout& to, const Given& from);
template <class T>
void read(std::optional<T>& to, const Given& from) {
  read(to.emplace(), from);
}

template <class Meaning, std::size_t N>
using Words = std::array<std::pair<std::string_view, Meaning>, N>;

/// The meaning of a word. Throws Error(input) for one that is not known.
template <class Meaning, std::size_t N>
Meaning meaning_of(const Given& from, const Words<Meaning, N>& words) {
  const std::string& word = from.word();
  std::vector<std::string_view> known;
  for (const auto& [name, meaning] : words) {
    if (name == word) return meaning;
    known.push_back(name);
  }
  throw input_error(translated("the row says \"{1}\": {2}",
                               from.place.substr(from.place.rfind('/') + 1), in_quotes(word)),
                    from.place, suggestion(word, known));
}

template <class Part>
using ReadMember = void (*)(Part& part, const Given& from);

/// Whether a field has a member with its name, and one that lists the keys of the configuration
/// whose value counts before the row's: "eps" and "eps_keys". With `or_null` the reader is told
/// that the configuration has null under one of them.
enum class Keys { none, listed, listed_or_null, alone };

template <class Part>
struct RowField {
  std::string_view key;
  ReadMember<Part> read;
  Keys keys = Keys::none;
};

/// Whether the part has the member, which is read then. Names of all members are added to `known`.
template <class Part, std::size_t count>
bool read_member(Part& to, const std::array<RowField<Part>, count>& fields, const std::string& key,
                 const Given& from, std::vector<std::string>& known) {
  for (const RowField<Part>& field : fields) {
    const std::string own(field.key), keys = own + (own.empty() ? "keys" : "_keys");
    if (field.keys != Keys::alone) known.push_back(own);
    if (field.keys != Keys::none) known.push_back(keys);
    if (key == own && field.keys != Keys::alone) {
      if (!is_null(from.value)) field.read(to, from);
      return true;
    }
    if (key != keys || field.keys == Keys::none) continue;
    std::vector<std::string> names;
    if (!is_null(from.value)) read(names, from);
    if (const auto found = from.config.listed(names)) {
      field.read(to, {*from.config.find(*found), pointer_to("", *found), from.config, false});
    } else if (field.keys == Keys::listed_or_null && from.config.given_as_null(names)) {
      field.read(to, {JsonValue(), "", from.config, false});
    }
    return true;
  }
  return false;
}

/// Calls `each(name, member)` for the members, those that list keys of the configuration last.
template <class Each>
void read_in_order(const Given& from, const Each& each) {
  for (const bool keys : {false, true}) {
    for (const JsonMember& own : from.members()) {
      if (own.key.ends_with("keys") == keys) each(own.key, from.member(own));
    }
  }
}

template <class Part, std::size_t count>
void read_members(Part& to, const std::array<RowField<Part>, count>& fields, const Given& from) {
  read_in_order(from, [&](const std::string& key, const Given& own) {
    std::vector<std::string> known;
    if (read_member(to, fields, key, own, known)) return;
    refuse_member(key, {known.begin(), known.end()}, own.place);
  });
}

/// Reads one member of whatever part has it by `reader(member, from)`.
template <auto reader, auto member>
struct MemberReader {
  template <class Part>
  // NOLINTNEXTLINE(google-explicit-constructor): stands in tables
  constexpr operator ReadMember<Part>() const {
    return [](Part& part, const Given& from) { reader(part.*member, from); };
  }
};

inline constexpr auto as_it_is = [](auto& to, const Given& from) { read(to, from); };
template <auto member>
constexpr MemberReader<as_it_is, member> put{};

/// A number that must be more than 0; null takes it away.
inline constexpr auto above_zero = [](auto& to, const Given& from) {
  if constexpr (requires { to.reset(); }) {
    if (is_null(from.value)) return to.reset();
  }
  double number = 0;
  read(number, from);
  to = number;
  if (number > 0 && std::isfinite(number)) return;
  const std::string key = from.place.substr(from.place.rfind('/') + 1);
  if (!from.by_row) positive(key, number);
  throw input_error(
      translated("{1} is {2}, which is not a positive number", in_quotes(key), number_text(number)),
      from.place, from.help());
};
template <auto member>
constexpr MemberReader<above_zero, member> put_positive{};

/// A size of at most most_width.
inline constexpr auto as_size = [](std::size_t& to, const Given& from) {
  read(to, from);
  if (to > 0 && to <= most_width) return;
  throw input_error(translated("the configuration asks for a size of {1}", to), from.place,
                    translated("sizes are from 1 to {1}", most_width));
};
template <auto member>
constexpr MemberReader<as_size, member> put_size{};

/// An object with fields of its own.
template <const auto& fields>
constexpr auto as_part = [](auto& to, const Given& from) {
  if constexpr (requires { to.emplace(); }) {
    read_members(to.emplace(), fields, from);
  } else {
    read_members(to, fields, from);
  }
};
template <auto member, const auto& fields>
constexpr MemberReader<as_part<fields>, member> put_part{};

}  // namespace attn::row_reading
