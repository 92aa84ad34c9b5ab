#include "document/pooling_reader.hpp"

#include <array>
#include <string_view>

#include "attn/document.hpp"

#include "io/json_object.hpp"
#include "support/translated.hpp"

namespace attn {

std::span<const Named<Pooling::Reduction>> pooling_reductions() noexcept {
  static constexpr auto reductions = std::to_array<Named<Pooling::Reduction>>(
      {{"mean", Pooling::Reduction::mean}, {"max", Pooling::Reduction::max}});
  return reductions;
}

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
    throw input_error(translated("pool has no size"), pointer_to(pointer, "size"),
                      translated("give the most bins of queries and keys, such as 1024"));
  }
  pooling.size = static_cast<std::size_t>(expect_integer(*size, pointer_to(pointer, "size"), 1));
  if (!reduction) return pooling;
  const std::string at = pointer_to(pointer, "reduction");
  pooling.reduction = expect_choice(*reduction, at, "reduction", pooling_reductions());
  return pooling;
}

}  // namespace attn
