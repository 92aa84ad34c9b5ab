#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/tensor.hpp"

#include "document/document.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "support/translated.hpp"

namespace attn {

/// The members of a JSON Schema that describe a value: a text, or a function that makes it.
class Schema {
 public:
  constexpr Schema() = default;
  constexpr Schema(const char* text) : text_(text) {}
  constexpr Schema(std::string (*make)()) : make_(make) {}

  std::string text() const { return make_ != nullptr ? make_() : std::string(text_); }
  constexpr bool empty() const { return text_.empty() && make_ == nullptr; }

 private:
  std::string_view text_;
  std::string (*make_)() = nullptr;
};

/// The schema of a string that is a name in a table of Named.
template <class Table>
std::string names_schema(const Table& table) {
  std::string names;
  for (const auto& row : table) names += (names.empty() ? "" : ", ") + json_string(row.name);
  return R"("enum": [)" + names + "]";
}

/// One member of an object in a document.
///
/// The fields of an object T are listed once, by a function `fields(visit, object)` that calls
/// visit(Field, member of the object) for each. ObjectReader reads them, object_schema() makes
/// their JSON Schema, and known_keys() names them. The type of the member chooses how its value is
/// read and its schema, see FieldType. An object with a reader of its own has an array of fields.
struct Field {
  std::string_view key;
  Schema schema = {};     ///< empty = that of the member's type
  bool required = false;  ///< for the schema
  /// Problem and help if the member is absent, marked by to_translate(), "{1}" is its key; null =
  /// absence is no problem for the reader.
  const char* missing = nullptr;
  const char* missing_help = nullptr;
  bool in_turn = false;  ///< read in the order of the document, as tensors are
};

/// Schema and reading of a member of type T: `schema` and read(value, place), which throws
/// Error(input) at `place`.
template <class T>
struct FieldType;

template <>
struct FieldType<double> {
  static constexpr Schema schema = R"("type": "number")";
  static double read(const JsonValue& value, const std::string& place) {
    return expect_number(value, place);
  }
};
template <>
struct FieldType<bool> {
  static constexpr Schema schema = R"("type": "boolean")";
  static bool read(const JsonValue& value, const std::string& place) {
    return expect_boolean(value, place);
  }
};
template <>
struct FieldType<std::string> {
  static constexpr Schema schema = R"("type": "string")";
  static std::string read(const JsonValue& value, const std::string& place) {
    return expect_string(value, place);
  }
};
/// A count of at least one.
template <>
struct FieldType<std::size_t> {
  static constexpr Schema schema = R"("type": "integer", "minimum": 1)";
  static std::size_t read(const JsonValue& value, const std::string& place) {
    return static_cast<std::size_t>(expect_integer(value, place, 1));
  }
};
/// Numbers of a tensor are read by ObjectReader, from a TensorSource.
template <>
struct FieldType<Tensor> {
  static constexpr Schema schema = R"("$ref": "#/$defs/tensor")";
};
template <class T>
struct FieldType<std::optional<T>> : FieldType<T> {};

/// The fields that `fields` lists, each with its schema.
template <class Object, class Fields>
std::vector<Field> listed_fields(const Fields& fields) {
  std::vector<Field> list;
  Object object{};
  fields(
      [&]<class Member>(Field field, const Member&, auto...) {
        if (field.schema.empty()) field.schema = FieldType<Member>::schema;
        list.push_back(field);
      },
      object);
  return list;
}

/// The keys of the fields, in their order.
std::vector<std::string_view> known_keys(std::span<const Field> fields);

/// Throws Error(input) for drawn numbers as other libraries write them, such as {"normal": …,
/// "size": [2, 3]}.
void refuse_foreign_drawing(const JsonValue& object, const std::string& pointer);

/// Throws Error(input) for a member of an object within a document that is not known there, with a
/// word on where it goes for a key that the document itself has.
[[noreturn]] void refuse_member(const JsonValue& object, const std::string& key,
                                std::span<const std::string_view> known, const std::string& at);
/// Throws it for the first such member.
void expect_known_members(const JsonValue& object, std::span<const std::string_view> known,
                          const std::string& place);

/// Help for a value that is not an object: "write {\"output\": …}".
std::string members_help(std::span<const std::string_view> known);

/// The JSON Schema of an object with these fields and no others: the members of the schema, such as
/// "type": "object". `first` are properties before the fields, as text that ends in a comma.
std::string object_schema(std::span<const Field> fields, const std::string& first = "");
template <class Object, class Fields>
std::string object_schema(const Fields& fields, const std::string& first = "") {
  return object_schema(listed_fields<Object>(fields), first);
}

/// A schema that others refer to as "#/$defs/" + name.
struct SchemaDefinition {
  std::string_view name;
  Schema schema;
};
/// The definitions of each part of documents, next to its reader.
std::span<const SchemaDefinition> tensor_definitions() noexcept;
std::span<const SchemaDefinition> token_definitions() noexcept;
std::span<const SchemaDefinition> parameter_definitions() noexcept;
std::span<const SchemaDefinition> option_definitions() noexcept;
std::span<const SchemaDefinition> label_definitions() noexcept;

/// Reads the fields of one object of a document.
class ObjectReader {
 public:
  /// Source and type of the object's tensors.
  struct Tensors {
    TensorSource& source;
    DType dtype;
  };
  /// Whether reading goes on after a problem, so that all are found, or ends at the first.
  enum class After { problem_goes_on, problem_ends };

  /// Refers to the value, which must stay. Throws Error(input) at `place` if it is no object.
  ObjectReader(const JsonValue& value, std::string place, After after = After::problem_goes_on)
      : object_(expect_object(value, place)), place_(std::move(place)), after_(after) {}

  const JsonValue* find(std::string_view key) const { return object_.find(key); }
  std::string place(std::string_view key) const { return pointer_to(place_, key); }

  /// Runs a step that may find a problem.
  template <class Step>
  void attempt(Step&& step) {
    if (after_ == After::problem_ends) return step();
    problems_.attempt(std::forward<Step>(step));
  }

  /// A problem for a member that is no field, with the nearest key.
  template <class Object, class Fields>
  void check_keys(const Fields& fields) {
    attempt(
        [&] { expect_known_members(object_, known_keys(listed_fields<Object>(fields)), place_); });
  }

  /// Reads the fields in their order, then tensors and other fields in turn in the order of the
  /// document, which is the order in which random tensors are drawn.
  template <class Object, class Fields>
  void read_members(const Fields& fields, Object& object, const Tensors* tensors = nullptr) {
    fields([&](const Field& field, auto& member, auto...) { read_member(field, member); }, object);
    for (const JsonMember& given : object_.members()) {
      fields(
          [&](const Field& field, auto& member, auto... dtype) {
            if (field.key == given.key) read_in_turn(field, given, member, tensors, dtype...);
          },
          object);
    }
  }

  /// Throws all problems that were found.
  void finish() const { problems_.throw_all(); }

 private:
  template <class Member>
  void read_member(const Field& field, Member& member) {
    attempt([&] {
      const JsonValue* value = find(field.key);
      if (value == nullptr && field.missing != nullptr) {
        throw input_error(translated(field.missing, field.key), place(field.key),
                          translated(field.missing_help));
      }
      if constexpr (!std::is_same_v<Member, Tensor>) {
        if (value != nullptr && !field.in_turn)
          member = FieldType<Member>::read(*value, place(field.key));
      }
    });
  }

  template <class Member, class... Type>
  void read_in_turn(const Field& field, const JsonMember& given, Member& member,
                    const Tensors* tensors, Type... dtype) {
    if constexpr (std::is_same_v<Member, Tensor>) {
      attempt([&] {
        DType type = tensors->dtype;
        ((type = dtype), ...);
        member = tensors->source.read(given.value, type, place(given.key));
      });
    } else if (field.in_turn) {
      attempt([&] { member = FieldType<Member>::read(given.value, place(given.key)); });
    }
  }

  const JsonValue& object_;
  std::string place_;
  After after_;
  Problems problems_;
};

/// An object of a document: all its fields.
template <class Object, class Fields>
Object read_object(const Fields& fields, const JsonValue& value, const std::string& place,
                   ObjectReader::After after, const ObjectReader::Tensors* tensors = nullptr) {
  expect_object(value, place, members_help(known_keys(listed_fields<Object>(fields))));
  ObjectReader reader(value, place, after);
  Object object{};
  reader.template check_keys<Object>(fields);
  reader.read_members(fields, object, tensors);
  reader.finish();
  return object;
}

}  // namespace attn
