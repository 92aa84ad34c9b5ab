#include "document/dropout_reader.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_object.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"

namespace attn {

std::optional<double> read_dropout(const JsonValue& value, const std::string& pointer) {
  constexpr std::array<std::string_view, 2> known{"p", "training"};
  if (value.is(JsonValue::Type::number)) {
    throw input_error(
        translated("expected an object, found a number"), pointer,
        translated("write {\"p\": …, \"training\": true}; without training nothing is dropped"));
  }
  expect_known_keys(value, known, pointer);
  const JsonValue *p = value.find("p"), *training = value.find("training");
  const std::string at = pointer_to(pointer, "p");
  constexpr const char* help = to_translate("give the probability to drop a weight, such as 0.1");
  if (!p) throw input_error(translated("dropout has no p"), at, translated(help));
  const double probability = expect_number(*p, at);
  if (!(probability >= 0 && probability <= 1)) {
    throw input_error(
        translated("the probability {1} is not between 0 and 1", number_text(probability)), at,
        translated(help));
  }
  if (!training || !expect_boolean(*training, pointer_to(pointer, "training"))) return std::nullopt;
  return probability;
}

Dropout torch_dropout(double p, const TorchRandom& random, bool in_turn) {
  const auto own = std::make_shared<TorchRandom>(random);
  return {p, [own, p, in_turn](const Shape& shape) {
            std::vector<std::uint8_t> kept(element_count(shape));
            TorchRandom again = *own;
            (in_turn ? *own : again).bernoulli(kept, 1 - p);
            return Tensor(shape, std::move(kept));
          }};
}

}  // namespace attn
