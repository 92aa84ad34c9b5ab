#include "report/facts.hpp"

namespace attn {

void Fact::write(JsonWriter& json) const {
  const auto is_absent = [](const Fact& fact) {
    return std::holds_alternative<Absent>(fact.value_);
  };
  if (const auto* list = std::get_if<List>(&value_)) {
    json.begin_array();
    for (const Fact& fact : *list) {
      if (!is_absent(fact)) fact.write(json);
    }
    json.end_array();
  } else if (const auto* members = std::get_if<Members>(&value_)) {
    json.begin_object();
    for (const auto& [name, fact] : *members) {
      if (is_absent(fact)) continue;
      json.key(name);
      fact.write(json);
    }
    json.end_object();
  } else {
    std::visit(
        [&]<class T>(const T& value) {
          if constexpr (requires { json.value(value); }) {
            json.value(value);
          } else {
            json.null();
          }
        },
        value_);
  }
}

std::string json_text(const Fact& fact, JsonLayout layout, std::size_t threads) {
  std::string text;
  JsonWriter json([&text](std::string_view piece) { text += piece; }, threads, layout);
  fact.write(json);
  json.finish();
  return text;
}

}  // namespace attn
