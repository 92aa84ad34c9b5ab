#include <algorithm>
#include <array>
#include <cctype>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_writer.hpp"
#include "models/configuration_reader.hpp"
#include "models/family_row.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// `base` with the members of `change` in place of its own: objects member by member, null takes
// away.
JsonValue merged(const JsonValue& base, const JsonValue& change) {
  if (!base.is(JsonValue::Type::object) || !change.is(JsonValue::Type::object)) return change;
  JsonValue::Object members;
  for (const JsonMember& own : base.members()) {
    const JsonValue* other = change.find(own.key);
    if (other == nullptr) {
      members->push_back(own);
    } else if (!other->is(JsonValue::Type::null)) {
      members->push_back({own.key, merged(own.value, *other)});
    }
  }
  for (const JsonMember& own : change.members()) {
    if (base.find(own.key) == nullptr && !own.value.is(JsonValue::Type::null)) {
      members->push_back(own);
    }
  }
  return JsonValue{std::move(members)};
}

const JsonValue& table() {
  static const JsonValue parsed = [] {
    JsonValue all{JsonValue::Object()};
    for (const std::string_view rows : builtin_rows()) all = merged(all, parse_json(rows));
    return all;
  }();
  return parsed;
}

struct Refused {
  std::string_view family, reason;
};
constexpr std::array<Refused, 3> refused_families{{
    {"dbrx", to_translate("their feed-forwards choose among experts")},
    {"mamba", to_translate("their layers have no attention")},
    {"mamba2", to_translate("their layers have no attention")},
}};

// The family with the name that is most like that of another one; by default the one that most
// others are like.
std::string nearest_family(std::string_view name, std::span<const std::string_view> known) {
  if (const std::string_view near = nearest_name(name, known); !near.empty()) {
    return std::string(near);
  }
  constexpr std::ptrdiff_t most_letters = 100;
  // Letters that both begin with; a name that the other one begins with counts before others.
  const auto shared = [&](std::string_view other) {
    const auto letters = std::ranges::mismatch(name, other).in1 - name.begin();
    return letters == static_cast<std::ptrdiff_t>(other.size()) ? letters + most_letters : letters;
  };
  constexpr std::ptrdiff_t enough = 4;
  const std::string_view best = *std::ranges::max_element(known, {}, shared);
  return shared(best) < enough ? "llama" : std::string(best);
}

JsonValue complete_row(std::string_view family) {
  const JsonValue* row = table().find(family);
  if (row == nullptr) {
    for (const Refused& known : refused_families) {
      if (known.family != family) continue;
      refuse_key("model_type",
                 translated("models of the type {1} are not computed: {2}", in_quotes(family),
                            translated(known.reason)),
                 translated("choose another model"));
    }
    const std::vector<std::string> names = known_families();
    const std::vector<std::string_view> known(names.begin(), names.end());
    refuse_key("model_type", translated("models of the type {1} are not known", in_quotes(family)),
               translated("{1}; a model that computes what another one does is read by a row such "
                          "as {2}, given as DocumentOptions::architecture",
                          suggestion(family, known),
                          "{\"like\": \"" + nearest_family(family, known) + "\"}"));
  }
  const JsonValue* like = row->find("like");
  return like == nullptr ? *row : merged(complete_row(like->string()), *row);
}

// The row with what it says of configurations such as this one: {"key":…, "is":…, "row":…}.
JsonValue with_cases(JsonValue row, const JsonValue& config) {
  const JsonValue* found = present_member(row, "cases");
  if (found == nullptr) return row;
  const JsonValue cases = *found;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const JsonValue& one = cases.element(i);
    const std::string& key = one.find("key")->string();
    const JsonValue* value = present_member(config, key);
    const JsonValue* defaults = present_member(row, "defaults");
    if (value == nullptr && defaults != nullptr) value = present_member(*defaults, key);
    if (value == nullptr || !same_value(*value, *one.find("is"))) continue;
    row = merged(row, *one.find("row"));
  }
  return row;
}

void write(JsonWriter& json, const JsonValue& value) {
  switch (value.type()) {
    case JsonValue::Type::null:
      json.null();
      break;
    case JsonValue::Type::boolean:
      json.value(value.boolean());
      break;
    case JsonValue::Type::number:
      if (value.is_integer()) {
        json.value(value.integer());
      } else {
        json.value(value.number());
      }
      break;
    case JsonValue::Type::string:
      json.value(value.string());
      break;
    case JsonValue::Type::array:
      json.begin_array();
      for (std::size_t i = 0; i < value.size(); ++i) write(json, value.element(i));
      json.end_array();
      break;
    case JsonValue::Type::object:
      json.begin_object();
      for (const JsonMember& member : value.members()) {
        if (member.key == "like") continue;
        json.key(member.key);
        write(json, member.value);
      }
      json.end_object();
      break;
  }
}

}  // namespace

std::array<std::string_view, 3> builtin_rows() noexcept {
  return {text_rows(), related_rows(), sensing_rows()};
}

std::vector<std::string> known_families() {
  std::vector<std::string> names;
  for (const JsonMember& row : table().members()) names.push_back(row.key);
  return names;
}

bool same_value(const JsonValue& a, const JsonValue& b) {
  if (a.type() != b.type()) return false;
  switch (a.type()) {
    case JsonValue::Type::boolean:
      return a.boolean() == b.boolean();
    case JsonValue::Type::string:
      return a.string() == b.string();
    case JsonValue::Type::number:
      return a.number() == b.number();
    default:
      return false;
  }
}

JsonValue row_of_family(std::string_view family) {
  return complete_row(family);
}

bool reads_pictures(std::string_view family) {
  const JsonValue* row = table().find(family);
  if (row == nullptr) return false;
  const JsonValue* like = row->find("like");
  return row->find("vision") != nullptr || (like != nullptr && reads_pictures(like->string()));
}

const JsonValue& main_part(const JsonValue& config) {
  const bool pictures = reads_pictures(family_of(config));
  const JsonValue* part = present_member(config, pictures ? "vision_config" : "text_config");
  return part != nullptr && part->is(JsonValue::Type::object) ? *part : config;
}

std::string family_of(const JsonValue& config) {
  const JsonValue* type = present_member(config, "model_type");
  return type != nullptr && type->is(JsonValue::Type::string) ? type->string() : "";
}

namespace {

// The family that the class of a configuration begins with the name of, the longest of several:
// "llama" of "LlamaForCausalLM"; empty for others.
std::string family_of_class(const JsonValue& config) {
  const JsonValue* classes = present_member(config, "architectures");
  if (classes == nullptr || !classes->is(JsonValue::Type::array) || classes->size() == 0) return "";
  const JsonValue first = classes->element(0);
  if (!first.is(JsonValue::Type::string)) return "";
  const auto letters = [](std::string_view name) {
    std::string own;
    for (const unsigned char c : name) {
      if (std::isalnum(c) != 0) own += static_cast<char>(std::tolower(c));
    }
    return own;
  };
  const std::string name = letters(first.string());
  std::string found;
  for (const std::string& family : known_families()) {
    const std::string own = letters(family);
    const std::string_view rest = std::string_view(name).substr(std::min(own.size(), name.size()));
    const bool begins =
        name.starts_with(own) &&
        (rest.starts_with("for") || rest.starts_with("lm") || rest.starts_with("model"));
    if (begins && own.size() > letters(found).size()) found = family;
  }
  return found;
}

}  // namespace

JsonValue row_of(const JsonValue& config, const JsonValue* row) {
  const std::string family = family_of(config);
  if (row == nullptr) {
    if (family.empty()) {
      const std::string own = family_of_class(config);
      refuse_key("model_type", translated("the configuration does not give its model_type"),
                 own.empty()
                     ? translated("give one of the families that are known, or a row of your own")
                     : translated("write {1}, as its \"architectures\" are called",
                                  "\"model_type\": \"" + own + '"'));
    }
    return with_cases(complete_row(family), config);
  }
  const JsonValue* like = present_member(*row, "like");
  return with_cases(like == nullptr ? *row : merged(complete_row(like->string()), *row), config);
}

JsonValue with_part_sizes(const JsonValue& row, const JsonValue& part) {
  const JsonValue* sizes = present_member(row, "part_sizes");
  if (sizes == nullptr) return row;
  const bool says_heads = part.find("num_attention_heads") != nullptr;
  JsonValue::Object defaults;
  for (const JsonMember& size : sizes->members()) {
    if (!(says_heads && size.key == "num_key_value_heads")) defaults->push_back(size);
  }
  JsonValue::Object change;
  change->push_back({"defaults", JsonValue{std::move(defaults)}});
  return merged(row, JsonValue{std::move(change)});
}

std::string row_text(const JsonValue& config, const JsonValue* row) {
  return json_text([&](JsonWriter& json) {
    write(json, row_of(reads_pictures(family_of(config)) ? config : main_part(config), row));
  });
}

}  // namespace attn
