#include "document/pooling_reader.hpp"

#include <array>
#include <string_view>

#include "attn/error.hpp"

#include "document/object.hpp"

namespace attn {

Pooling read_pooling(const JsonValue& value, const std::string& pointer) {
  Pooling pooling;
  if (!value.is(JsonValue::Type::object)) {
    pooling.size = static_cast<std::size_t>(expect_integer(value, pointer, 1));
    return pooling;
  }
  constexpr std::array<std::string_view, 2> known{"size", "reduction"};
  expect_known_keys(value, known, pointer);
  const JsonValue *size = value.find("size"), *reduction = value.find("reduction");
  if (!size) {
    throw input_error("pool has no size", pointer_to(pointer, "size"),
                      "give the most bins of queries and keys, such as 1024");
  }
  pooling.size = static_cast<std::size_t>(expect_integer(*size, pointer_to(pointer, "size"), 1));
  if (!reduction) return pooling;
  const std::string at = pointer_to(pointer, "reduction");
  constexpr std::array<std::string_view, 2> names{"mean", "max"};
  const std::string& name = expect_string(*reduction, at);
  if (name == names[1]) {
    pooling.reduction = Pooling::Reduction::max;
  } else if (name != names[0]) {
    throw input_error("unknown reduction \"" + name + "\"", at, nearest_known(name, names));
  }
  return pooling;
}

}  // namespace attn
