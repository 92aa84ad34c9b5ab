#include <algorithm>
#include <array>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/fields.hpp"
#include "document/tensor_source.hpp"
#include "io/json_value.hpp"
#include "io/raw_array.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

std::string steps_schema();

constexpr std::array<Field, 6> fields{
    {{"index", R"("type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0})"},
     {"slice", R"("type": "string", "minLength": 1)"},
     {"reshape", R"("type": "array", "minItems": 1, "items": {"type": "integer", "minimum": -1})"},
     {"transpose",
      R"("oneOf": [{"type": "boolean"}, {"type": "array", "items": {"type": "integer", "minimum": 0}}])"},
     {"layout", R"("type": "string", "pattern": "^[BHLD]{1,4}$")"},
     {"view", steps_schema}}};
// All but "view" are steps of one.
constexpr auto step_fields = std::span(fields).first<fields.size() - 1>();
// Members that are two ways to say one thing.
constexpr std::pair<std::string_view, std::string_view> rivals[]{
    {"transpose", "layout"}, {"index", "slice"}, {"view", "index"},     {"view", "slice"},
    {"view", "reshape"},     {"view", "layout"}, {"view", "transpose"},
};

std::string steps_schema() {
  return R"("type": "array", "items": {)" + object_schema(step_fields) +
         R"(, "minProperties": 1, "maxProperties": 1})";
}

// The order of axes in tensors: samples, heads, positions, components.
constexpr std::string_view usual_layout = "BHLD";

Shape numbers_in(const JsonValue& list, const std::string& at, std::int64_t least) {
  if (!list.is(JsonValue::Type::array)) {
    throw input_error(
        translated("expected a list of whole numbers, found {1}", translated(type_text(list))), at,
        list.is(JsonValue::Type::number) ? translated("write it in brackets, such as [3]")
        : list.is(JsonValue::Type::string)
            ? translated("write numbers in brackets, such as [2,24,8]")
            : translated("give one such as [0,2,1]"));
  }
  check_axes(list.size(), at);
  Shape numbers;
  for (std::size_t i = 0; i < list.size(); ++i) {
    numbers.push_back(
        static_cast<std::size_t>(expect_integer(list.element(i), pointer_to(at, i), least)));
  }
  return numbers;
}

Shape sizes_in(const JsonValue& list, const std::string& at) {
  if (!list.is(JsonValue::Type::array)) return numbers_in(list, at, 1);
  check_axes(list.size(), at);
  Shape sizes;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = pointer_to(at, i);
    const std::int64_t size = expect_integer(list.element(i), place, -1);
    if (size == 0 || (size == -1 && std::count(sizes.begin(), sizes.end(), 0U) > 0)) {
      throw input_error(
          size == 0 ? translated("a size of 0") : translated("a second size of -1"), place,
          translated("give sizes of at least 1, and -1 at most once, for what is left"));
    }
    sizes.push_back(size == -1 ? 0 : static_cast<std::size_t>(size));
  }
  return sizes;
}

Tensor part(const Tensor& tensor, const Shape& index, const std::string& at) {
  const Shape& shape = tensor.shape();
  if (index.size() >= shape.size()) {
    throw input_error(
        translated("an index of {1} axes leaves nothing of {2}", index.size(), text(shape)), at,
        translated("give fewer numbers than the tensor has axes"));
  }
  std::size_t first = 0, count = tensor.size();
  for (std::size_t i = 0; i < index.size(); ++i) {
    if (index[i] >= shape[i]) {
      throw input_error(translated("there is no part {1} of an axis of {2}", index[i], shape[i]),
                        pointer_to(at, i), give_below(shape[i]));
    }
    count /= shape[i];
    first += index[i] * count;
  }
  return part_of(tensor, first,
                 Shape(shape.begin() + static_cast<std::ptrdiff_t>(index.size()), shape.end()));
}

Tensor reshaped(const Tensor& tensor, Shape sizes, const std::string& at) {
  std::size_t known = 1;
  for (const std::size_t size : sizes) {
    if (size != 0 && __builtin_mul_overflow(known, size, &known)) known = 0;
  }
  const auto left = std::find(sizes.begin(), sizes.end(), 0U);
  if (left != sizes.end() && known != 0 && tensor.size() % known == 0) {
    *left = tensor.size() / known;
    known *= *left;
  }
  if (known != tensor.size()) {
    throw input_error(translated("the {1} elements of {2} do not fill that shape", tensor.size(),
                                 text(tensor.shape())),
                      at, translated("give sizes whose product is {1}", tensor.size()));
  }
  return tensor.reshaped(std::move(sizes));
}

Tensor transposed(const Tensor& tensor, const TensorView& view, const std::string& at) {
  const std::size_t rank = tensor.rank();
  Shape order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (view.axes) {
    Shape sorted = *view.axes;
    std::sort(sorted.begin(), sorted.end());
    if (sorted != order) {
      throw input_error(
          translated("the axes {1} are not those of {2}", text(*view.axes), text(tensor.shape())),
          at, translated("name each axis once, from 0 to {1}", rank - 1));
    }
    return permuted(tensor, *view.axes);
  }
  if (rank < 2) {
    throw input_error(translated("a tensor of one axis cannot be transposed"), at,
                      translated("leave \"transpose\" out"));
  }
  std::swap(order[rank - 2], order[rank - 1]);
  return permuted(tensor, order);
}

bool is_layout(const std::string& layout) {
  std::string sorted = layout;
  std::sort(sorted.begin(), sorted.end());
  const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  return !layout.empty() && !repeats && layout.find_first_not_of(usual_layout) == std::string::npos;
}

// A layout in our letters, "BLHD" of "BSHD", "bthd", "B,L,H,D" or JAX's "BTNH", where S, T or Q
// stand for positions, N for heads and H beside it for components; empty for another text.
std::string layout_of_others(const std::string& layout) {
  std::string letters, meant;
  for (const char c : layout) {
    if (c == ',' || c == ' ') continue;
    letters += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  const bool of_jax = letters.find('N') != letters.npos && letters.find('D') == letters.npos;
  for (const char letter : letters) {
    const bool position = letter == 'S' || letter == 'T' || letter == 'Q';
    meant += position ? 'L' : letter == 'N' ? 'H' : letter == 'H' && of_jax ? 'D' : letter;
  }
  return is_layout(meant) ? meant : "";
}

}  // namespace

void check_layout(const std::string& layout, const std::string& at) {
  if (!is_layout(layout)) {
    const std::string meant = layout_of_others(layout);
    throw input_error(translated("\"{1}\" is not a layout", layout), at,
                      meant.empty()
                          ? translated("give the letters B (samples), H (heads), L (positions) and "
                                       "D (components) in the order of the axes, such as \"BLHD\"")
                          : translated("write \"{1}\", with L for positions", meant));
  }
}

Tensor in_usual_layout(const Tensor& tensor, const std::string& layout, const std::string& at) {
  if (layout.size() != tensor.rank()) {
    std::string help = translated("give one letter for each axis");
    if (const Shape& shape = tensor.shape(); shape.size() == 3 && layout.size() == 4) {
      help += translated("; ") +
              translated("write {1} in its place if it is [B,H,D], a token of each sample",
                         "\"reshape\": " + text({shape[0], shape[1], 1, shape[2]}));
    }
    throw input_error(translated("the layout \"{1}\" has {2} axes, but the tensor {3} has {4}",
                                 layout, layout.size(), text(tensor.shape()), tensor.rank()),
                      at, help);
  }
  Shape order;
  for (const char axis : usual_layout) {
    const std::size_t place = layout.find(axis);
    if (place != std::string::npos) order.push_back(place);
  }
  Tensor usual = permuted(tensor, order);
  // Heads of a single sample: a tensor of three axes would be taken as samples.
  const bool has_samples = layout.find('B') != std::string::npos;
  if (has_samples || layout.find('H') == std::string::npos) return usual;
  Shape shape = usual.shape();
  shape.insert(shape.begin(), 1);
  return usual.reshaped(std::move(shape));
}

namespace {

std::vector<TensorView> steps_in(const JsonValue& list, const std::string& at) {
  const char* const help =
      to_translate("write one step after the other, such as [{\"reshape\": […]}, {\"slice\": …}]");
  if (!list.is(JsonValue::Type::array)) {
    throw input_error(
        translated("expected a list of steps, found {1}", translated(type_text(list))), at,
        translated(help));
  }
  std::vector<TensorView> steps;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string place = pointer_to(at, i);
    JsonValue step = list.element(i);
    expect_known_members(step, known_keys(step_fields), place);
    if (step.members().size() != 1) {
      throw input_error(
          translated("a step of a view has {1} members, not one", step.members().size()), place,
          translated(help));
    }
    steps.push_back(take_view(step, place));
  }
  return steps;
}

}  // namespace

namespace {

// Help for a slice that is a list: its elements as one text.
std::string help_for_slice(const JsonValue& slice) {
  if (!slice.is(JsonValue::Type::array)) return "";
  std::string text;
  for (std::size_t i = 0; i < slice.size(); ++i) {
    const JsonValue& element = slice.element(i);
    if (!element.is(JsonValue::Type::string) && !element.is_integer())
      return translated("write {1}", "\"0, :, 2:4\"");
    text += (text.empty() ? "" : ", ") +
            (element.is_integer() ? std::to_string(element.integer()) : element.string());
  }
  return translated("write {1}", in_quotes(text));
}

}  // namespace

std::span<const Field> view_fields() noexcept {
  return fields;
}

bool has_view(const JsonValue& object) {
  return std::ranges::any_of(fields,
                             [&](const Field& field) { return object.find(field.key) != nullptr; });
}

TensorView take_view(JsonValue& object, const std::string& pointer) {
  TensorView view;
  const auto find = [&](std::string_view key) { return object.find(key); };
  const auto at = [&](std::string_view key) { return pointer_to(pointer, key); };
  for (const auto& [one, other] : rivals) {
    if (find(one) == nullptr || find(other) == nullptr) continue;
    throw input_error(translated("\"{1}\" and \"{2}\" cannot both be given", one, other), at(other),
                      translated("leave one of them out"));
  }
  if (const JsonValue* steps = find("view")) view.steps = steps_in(*steps, at("view"));
  if (const JsonValue* index = find("index")) view.index = numbers_in(*index, at("index"), 0);
  if (const JsonValue* slice = find("slice"))
    view.slice = expect_string(*slice, at("slice"), help_for_slice(*slice));
  if (const JsonValue* sizes = find("reshape")) view.reshape = sizes_in(*sizes, at("reshape"));
  if (const JsonValue* order = find("transpose")) {
    if (order->is(JsonValue::Type::boolean)) {
      view.transposed = order->boolean();
    } else {
      view.axes = numbers_in(*order, at("transpose"), 0);
    }
  }
  if (const JsonValue* layout = find("layout")) {
    view.layout = expect_string(
        *layout, at("layout"),
        layout->is(JsonValue::Type::array) ? translated("write {1}", "\"BLHD\"") : "");
    check_layout(view.layout, at("layout"));
  }
  auto& members = *std::get<JsonValue::Object>(object.data);
  std::erase_if(members, [](const JsonMember& member) {
    return std::ranges::count(fields, member.key, &Field::key) > 0;
  });
  return view;
}

Tensor viewed(const Tensor& tensor, const TensorView& view, const std::string& pointer) {
  Tensor result = tensor;
  for (std::size_t i = 0; i < view.steps.size(); ++i)
    result = viewed(result, view.steps[i], pointer_to(pointer_to(pointer, "view"), i));
  if (view.index) result = part(result, *view.index, pointer_to(pointer, "index"));
  if (view.slice) result = sliced(result, *view.slice, pointer_to(pointer, "slice"));
  if (view.reshape) result = reshaped(result, *view.reshape, pointer_to(pointer, "reshape"));
  if (view.transposed || view.axes) {
    result = transposed(result, view, pointer_to(pointer, "transpose"));
  }
  if (!view.layout.empty()) {
    result = in_usual_layout(result, view.layout, pointer_to(pointer, "layout"));
  }
  return result;
}

}  // namespace attn
