#include "document/kinds.hpp"

#include <algorithm>
#include <string_view>

#include "attn/error.hpp"

#include "io/json_object.hpp"
#include "support/nearest_name.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

Kind kind_of(const std::string& name, const std::string& pointer) {
  if (const KindInfo* found = find_kind(name)) return found->kind;
  std::vector<std::string_view> names;
  for (const KindInfo& row : kinds()) {
    names.push_back(row.name);
    names.insert(names.end(), row.aliases.begin(), row.aliases.end());
  }
  throw input_error(translated("unknown kind of attention \"{1}\"", name), pointer,
                    suggestion(name, names));
}

Kind read_kind(const JsonValue& value, const std::string& pointer) {
  return kind_of(expect_string(value, pointer), pointer);
}

}  // namespace

bool has_kinds(const JsonValue& object) {
  if (!object.is(JsonValue::Type::object)) return false;
  const auto members = object.members();
  return std::any_of(members.begin(), members.end(),
                     [](const JsonMember& member) { return find_kind(member.key) != nullptr; });
}

const JsonMember* find_by_kind(const JsonValue& object, Kind kind, const std::string& pointer) {
  const JsonMember* found = nullptr;
  for (const JsonMember& member : object.members()) {
    if (kind_of(member.key, pointer_to(pointer, member.key)) == kind) found = &member;
  }
  return found;
}

std::vector<Kind> read_kinds(const JsonValue& root) {
  const std::string at = "/attention";
  const JsonValue* value = root.find("attention");
  const bool model =
      value && value->is(JsonValue::Type::string) && value->string() == info(Kind::model).name;
  if (model || (!value && root.find("model"))) return {Kind::model};
  if (!value) {
    throw input_error(translated("the document does not say which attention to compute"), at,
                      translated("add \"attention\", such as \"scaled_dot_product\""));
  }
  if (!value->is(JsonValue::Type::array)) return {read_kind(*value, at)};
  std::vector<Kind> kinds;
  for (std::size_t i = 0; i < value->size(); ++i) {
    const Kind kind = read_kind(value->element(i), pointer_to(at, i));
    if (std::find(kinds.begin(), kinds.end(), kind) != kinds.end()) {
      throw input_error(translated("the kind \"{1}\" is given twice", info(kind).name),
                        pointer_to(at, i), translated("name each kind once"));
    }
    kinds.push_back(kind);
  }
  if (kinds.empty())
    throw input_error(translated("the list of kinds is empty"), at,
                      translated("name at least one kind"));
  return kinds;
}

}  // namespace attn
