#include "document/mask_reader.hpp"

#include <array>
#include <string>
#include <string_view>

#include "attn/document.hpp"
#include "attn/error.hpp"

#include "document/object.hpp"
#include "support/nearest_name.hpp"
#include "support/number_text.hpp"

namespace attn {
namespace {

struct Part {
  MaskPart part;
  std::string_view schema;
};

constexpr std::string_view tensor_schema = R"("$ref": "#/$defs/tensor")";
constexpr std::array<Part, 9> parts{{
    {{"causal", "key j is seen by query i if j ≤ i + offset"}, R"("type": "boolean")"},
    {{"align",
      "upper_left: offset = past keys; lower_right: the last query stands at the last valid key"},
     R"("enum": ["upper_left", "lower_right"])"},
    {{"window",
      "left and right: how many keys before and after its own place a query sees, -1 = all"},
     R"("type": "object", "additionalProperties": false, "properties": {"left": {"type": "integer", "minimum": -1}, "right": {"type": "integer", "minimum": -1}})"},
    {{"global", "with a window: positions that see all and are seen by all"},
     R"("type": "array", "items": {"type": "integer", "minimum": 0})"},
    {{"padding", "[B,Lk], true = padding, not seen"}, tensor_schema},
    {{"allow", "true = seen; broadcast against the weights"}, tensor_schema},
    {{"block", "true = not seen; broadcast against the weights"}, tensor_schema},
    {{"bias", "added to the scores, -inf hides; broadcast against the weights"}, tensor_schema},
    {{"fill", "replaces unseen scores; -inf if absent"},
     R"("oneOf": [{"type": "number"}, {"const": "-inf"}])"},
}};
constexpr auto parts_of_mask = [] {
  std::array<MaskPart, parts.size()> result{};
  for (std::size_t i = 0; i < parts.size(); ++i) result[i] = parts[i].part;
  return result;
}();
constexpr auto mask_keys = [] {
  std::array<std::string_view, parts.size()> result{};
  for (std::size_t i = 0; i < parts.size(); ++i) result[i] = parts[i].part.name;
  return result;
}();
constexpr std::array<std::string_view, 2> window_keys{"left", "right"};
constexpr auto alignments = std::to_array<Named<Alignment>>(
    {{"upper_left", Alignment::upper_left}, {"lower_right", Alignment::lower_right}});

// −1 means unbounded.
std::optional<std::size_t> read_reach(const JsonValue& window, std::string_view side,
                                      const std::string& pointer) {
  const JsonValue* value = window.find(side);
  if (!value) return std::nullopt;
  const std::int64_t reach = expect_integer(*value, pointer_to(pointer, side), -1);
  if (reach < 0) return std::nullopt;
  return static_cast<std::size_t>(reach);
}

Window read_window(const JsonValue& value, const std::string& pointer) {
  expect_known_keys(value, window_keys, pointer);
  return {read_reach(value, "left", pointer), read_reach(value, "right", pointer)};
}

std::vector<std::size_t> read_positions(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::array)) {
    throw input_error("expected an array of positions, found " + std::string(type_text(value)),
                      pointer, "give an array such as [0, 5]");
  }
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(pointer, i);
    positions.push_back(static_cast<std::size_t>(expect_integer(value.element(i), at, 0)));
  }
  return positions;
}

std::optional<double> read_fill(const JsonValue& value, const std::string& pointer) {
  if (value.is(JsonValue::Type::string) && value.string() == "-inf") return std::nullopt;
  if (value.is(JsonValue::Type::number)) return value.number();
  throw input_error("the fill is neither a finite number nor \"-inf\"", pointer,
                    "give a finite number such as -1e9, or leave it out for -inf");
}

}  // namespace

std::span<const MaskPart> mask_parts() noexcept {
  return parts_of_mask;
}

std::string_view mask_part_schema(std::string_view name) noexcept {
  for (const Part& part : parts) {
    if (part.part.name == name) return part.schema;
  }
  return {};
}

Mask read_mask(const JsonValue* mask, const JsonValue* valid_lens, const std::string& pointer,
               const std::string& lens_pointer, DType dtype, TensorSource& tensors,
               Problems& problems, std::vector<std::string>& warnings) {
  Mask result;
  if (mask) {
    if (!problems.attempt([&] { expect_object(*mask, pointer); })) return result;
    // In the order of the document: that is the order in which its random tensors are drawn.
    for (const JsonMember& member : mask->members()) {
      const std::string at = pointer_to(pointer, member.key);
      const JsonValue& value = member.value;
      problems.attempt([&] {
        if (member.key == "causal") {
          result.causal = expect_boolean(value, at);
        } else if (member.key == "align") {
          result.align = expect_choice(value, at, "alignment", alignments);
        } else if (member.key == "window") {
          result.window = read_window(value, at);
        } else if (member.key == "global") {
          result.global = read_positions(value, at);
        } else if (member.key == "padding") {
          result.padding = tensors.read(value, DType::boolean, at);
        } else if (member.key == "allow") {
          result.allow = tensors.read(value, DType::boolean, at);
        } else if (member.key == "block") {
          result.block = tensors.read(value, DType::boolean, at);
        } else if (member.key == "bias") {
          result.bias = tensors.read(value, dtype, at);
        } else if (member.key == "fill") {
          result.fill = read_fill(value, at);
        } else {
          throw input_error("unknown key \"" + member.key + "\"", at,
                            suggestion(member.key, mask_keys));
        }
      });
    }
    if (!result.global.empty() && !result.window) {
      warnings.push_back(
          pointer.substr(1) +
          ".global has no effect without a window: every position sees and is seen anyway");
    }
  }
  if (valid_lens) {
    problems.attempt(
        [&] { result.valid_lens = tensors.read(*valid_lens, DType::int64, lens_pointer); });
  }
  return result;
}

std::string mask_text(const Mask& mask) {
  std::vector<std::string> parts;
  const std::string aligned =
      mask.align == Alignment::lower_right ? " aligned to the last key" : "";
  if (mask.causal) parts.push_back("causal" + aligned);
  if (mask.window) {
    const auto reach = [](std::optional<std::size_t> side) {
      return side ? std::to_string(*side) : "any number";
    };
    parts.push_back("window of " + reach(mask.window->left) + " before and " +
                    reach(mask.window->right) + " after" + (mask.causal ? "" : aligned));
  }
  if (!mask.global.empty()) {
    std::string positions = "global";
    for (const std::size_t position : mask.global) positions += " " + std::to_string(position);
    parts.push_back(positions);
  }
  if (mask.valid_lens) parts.emplace_back("valid_lens");
  if (mask.padding) parts.emplace_back("padding");
  if (mask.allow) parts.emplace_back("allow");
  if (mask.block) parts.emplace_back("block");
  if (mask.bias) parts.emplace_back("bias");
  if (mask.fill && mask.hides()) parts.push_back("fill " + number_text(*mask.fill));
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace attn
