#include "io/json_tensor.hpp"

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "attn/error.hpp"

#include "io/number_block.hpp"
#include "support/in_quotes.hpp"
#include "support/number_text.hpp"

namespace attn {
namespace {

// NumPy's own limit; it also bounds the recursion over nested arrays.
constexpr std::size_t most_axes = 32;

// What an array so many axes deep is called.
struct Noun {
  const char *one, *many;
};
Noun noun(std::size_t axes) {
  constexpr Noun nouns[] = {{"number", "numbers"}, {"row", "rows"}, {"matrix", "matrices"}};
  return axes < std::size(nouns) ? nouns[axes] : Noun{"block", "blocks"};
}

// "4 numbers", "1 row"
std::string counted(std::size_t count, std::size_t axes) {
  return std::to_string(count) + " " + (count == 1 ? noun(axes).one : noun(axes).many);
}

const double* special_number(const std::string& text) {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double minus_infinity = -infinity;
  static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return &infinity;
  if (text == "-inf") return &minus_infinity;
  if (text == "nan") return &not_a_number;
  return nullptr;
}

std::string described(const JsonValue& value) {
  if (value.is(JsonValue::Type::string)) return "the string " + in_quotes(value.string());
  if (value.is(JsonValue::Type::number)) return "the number " + number_text(value.number());
  return std::string(type_text(value));
}

template <class T>
class Reader {
 public:
  explicit Reader(Shape shape, std::string pointer)
      : shape_(std::move(shape)), pointer_(std::move(pointer)) {}

  // `size` is that of the text, so it is no more than the text can hold.
  Tensor read(const JsonValue& value, std::size_t size) {
    elements_.reserve(size);
    read_axis(value, 0);
    return Tensor(shape_, std::move(elements_));
  }

 private:
  void read_axis(const JsonValue& value, std::size_t axis) {
    check_row(value, axis);
    const bool innermost = axis + 1 == shape_.size();
    if (value.is_packed()) {
      std::size_t i = 0;
      for (const double number : value.numbers()) {
        index_[axis] = i++;
        elements_.push_back(converted(number));
      }
      return;
    }
    std::size_t i = 0;
    for (const JsonValue& element : value.elements()) {
      index_[axis] = i++;
      if (innermost) {
        elements_.push_back(leaf(element, axis + 1));
      } else {
        read_axis(element, axis + 1);
      }
    }
  }

  // Throws if the value at `axis` steps below the top is no array of shape_[axis] elements.
  void check_row(const JsonValue& value, std::size_t axis) {
    if (!value.is(JsonValue::Type::array)) throw_not_a_row(value, axis);
    if (value.size() == 0) throw_empty(place(axis));
    const std::size_t axes = shape_.size() - axis;
    if (value.is_packed() && axes > 1) {
      index_[axis] = 0;
      throw_not_a_row(value.element(0), axis + 1);
    }
    if (value.size() == shape_[axis]) return;
    bool second = index_[axis - 1] == 1;
    for (std::size_t i = 0; i + 1 < axis; ++i) second = second && index_[i] == 0;
    throw input_error(std::string(noun(axes).one) + " " + std::to_string(index_[axis - 1]) +
                          " has " + counted(value.size(), axes - 1) + ", but the " +
                          (second ? noun(axes).one : noun(axes).many) + " before it " +
                          (second ? "has " : "have ") + std::to_string(shape_[axis]),
                      place(axis), "give all rows of a tensor the same length");
  }

  [[noreturn]] void throw_not_a_row(const JsonValue& value, std::size_t axis) const {
    const std::size_t axes = shape_.size() - axis;
    throw input_error(described(value) + " stands where a " + noun(axes).one + " of " +
                          counted(shape_[axis], axes - 1) + " should",
                      place(axis), "nest all parts of a tensor equally deep");
  }

  T leaf(const JsonValue& value, std::size_t axis) const {
    if (value.is(JsonValue::Type::number)) {
      if constexpr (std::is_same_v<T, std::int64_t>) {
        if (value.is_integer()) return value.integer();
      }
      return converted(value.number());
    }
    if (value.is(JsonValue::Type::boolean)) return static_cast<T>(value.boolean());
    if (value.is(JsonValue::Type::array)) {
      throw input_error("an array stands where a number should", place(axis),
                        "nest all parts of a tensor equally deep");
    }
    if (value.is(JsonValue::Type::string)) {
      if (const double* number = special_number(value.string())) {
        if constexpr (std::is_floating_point_v<T>) return static_cast<T>(*number);
      }
    }
    throw input_error(described(value) + " stands where a number should", place(axis),
                      std::is_floating_point_v<T>
                          ? R"(numbers, true, false, "inf", "-inf" and "nan" can stand in a tensor)"
                      : std::is_same_v<T, std::int64_t>
                          ? "integers alone can stand here"
                          : "true, false, 1 and 0 alone can stand here");
  }

  T converted(double number) const {
    if constexpr (std::is_same_v<T, double>) {
      return number;
    } else if constexpr (std::is_same_v<T, float>) {
      const float rounded = static_cast<float>(number);
      if (std::isinf(rounded)) {
        throw input_error("the number " + number_text(number) + " is beyond the range of float32",
                          place(shape_.size()),
                          R"(use the dtype "float64", or write "inf" and "-inf" for infinities)");
      }
      return rounded;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (!(number >= -0x1p63 && number < 0x1p63)) {
        throw input_error("the number " + number_text(number) + " is beyond the range of int64",
                          place(shape_.size()), "integers alone can stand here");
      }
      if (std::trunc(number) != number) {
        throw input_error("the number " + number_text(number) + " is no integer",
                          place(shape_.size()), "integers alone can stand here");
      }
      return static_cast<std::int64_t>(number);
    } else {
      if (number != 0 && number != 1) {
        throw input_error("the number " + number_text(number) + " is neither true nor false",
                          place(shape_.size()), "true, false, 1 and 0 alone can stand here");
      }
      return number == 1;
    }
  }

  // The pointer to the value under read, `axis` steps below the top.
  std::string place(std::size_t axis) const {
    std::string result = pointer_;
    for (std::size_t i = 0; i < axis; ++i) result = pointer_to(result, index_[i]);
    return result;
  }

 public:
  [[noreturn]] static void throw_empty(const std::string& pointer) {
    throw input_error("an array is empty: no axis of a tensor may have the size 0", pointer, "");
  }

 private:
  Shape shape_;
  std::string pointer_;
  std::vector<T> elements_;
  std::size_t index_[most_axes] = {};
};

template <class T>
Tensor read_as(const JsonValue& value, Shape shape, std::size_t size, const std::string& pointer) {
  return Reader<T>(std::move(shape), pointer).read(value, size);
}

Tensor read_as(DType dtype, const JsonValue& value, Shape shape, std::size_t size,
               const std::string& pointer) {
  switch (dtype) {
    case DType::float32:
      return read_as<float>(value, std::move(shape), size, pointer);
    case DType::float64:
      return read_as<double>(value, std::move(shape), size, pointer);
    case DType::int64:
      return read_as<std::int64_t>(value, std::move(shape), size, pointer);
    case DType::boolean:
      return read_as<std::uint8_t>(value, std::move(shape), size, pointer);
  }
  return {};
}

void check_axes(std::size_t axes, const std::string& pointer) {
  if (axes <= most_axes) return;
  throw input_error("the tensor has more than " + std::to_string(most_axes) + " axes", pointer, "");
}

// The shape that the first of each array's elements give; the rest are checked against it while
// they are read.
Shape shape_of(const JsonValue& value, const std::string& pointer) {
  Shape shape;
  std::string place = pointer;
  const JsonValue* inner = &value;
  while (inner->is(JsonValue::Type::array)) {
    if (inner->size() == 0) Reader<double>::throw_empty(place);
    shape.push_back(inner->size());
    check_axes(shape.size(), pointer);
    if (inner->is_packed()) break;
    inner = &inner->elements()[0];
    place = pointer_to(place, std::size_t{0});
  }
  return shape;
}

// Elements the text really holds: of a ragged array, fewer than the product of its first sizes
// claims.
std::size_t count_leaves(const JsonValue& value, std::size_t axes) {
  if (!value.is(JsonValue::Type::array)) return 0;
  if (axes <= 1 || value.is_packed()) return value.size();
  std::size_t count = 0;
  for (const JsonValue& element : value.elements()) count += count_leaves(element, axes - 1);
  return count;
}

}  // namespace

Tensor tensor_from_json(const JsonValue& value, DType dtype, const std::string& pointer) {
  if (const NumberBlock* block = value.block()) {
    if (Tensor tensor = block->as(dtype)) return tensor;
  }
  if (!value.is(JsonValue::Type::array)) {
    throw input_error(described(value) + " is no tensor", pointer,
                      "give nested arrays of numbers, such as [[1,2],[3,4]]");
  }
  Shape shape = shape_of(value, pointer);
  const std::size_t size = count_leaves(value, shape.size());
  return read_as(dtype, value, std::move(shape), size, pointer);
}

Shape shape_from_json(const JsonValue& value, const std::string& pointer) {
  constexpr const char* help = "a shape is an array of integers from 1, such as [2,3,4]";
  if (!value.is(JsonValue::Type::array)) {
    throw input_error(described(value) + " is no shape", pointer, help);
  }
  check_axes(value.size(), pointer);
  Shape shape;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const JsonValue element = value.element(i);
    double size = 0;
    if (element.is(JsonValue::Type::number)) size = element.number();
    if (!(size >= 1) || std::trunc(size) != size) {
      throw input_error(described(element) + " is no size of an axis", pointer_to(pointer, i),
                        help);
    }
    // Larger sizes are beyond any memory; element_count says so with the whole shape.
    shape.push_back(element.is_integer() ? static_cast<std::size_t>(element.integer())
                    : size < 0x1p63      ? static_cast<std::size_t>(size)
                                         : std::numeric_limits<std::size_t>::max());
  }
  try {
    element_count(shape);
  } catch (const Error& error) {
    throw error.inside(pointer);
  }
  return shape;
}

Tensor tensor_from_flat_json(const JsonValue& shape, const JsonValue& data, DType dtype,
                             const std::string& pointer) {
  Shape wanted = shape_from_json(shape, pointer_to(pointer, "shape"));
  const std::string data_pointer = pointer_to(pointer, "data");
  if (!data.is(JsonValue::Type::array)) {
    throw input_error(described(data) + " stands where a flat array of numbers should",
                      data_pointer, "");
  }
  const std::size_t count = element_count(wanted);
  if (data.size() != count) {
    throw input_error("the shape " + text(wanted) + " takes " + counted(count, 0) + ", but there " +
                          (data.size() == 1 ? "is " : "are ") + std::to_string(data.size()),
                      data_pointer,
                      "make the product of the sizes equal to the number of elements");
  }
  const NumberBlock* block = data.block();
  Tensor flat = block != nullptr && block->shape().size() == 1 ? block->as(dtype) : Tensor();
  if (!flat) flat = read_as(dtype, data, {count}, count, data_pointer);
  return flat.reshaped(std::move(wanted));
}

void check_stated(const JsonValue& reference, const Tensor& tensor, const std::string& pointer) {
  constexpr const char* help = "name the file that was written with this entry, or leave this out";
  if (const JsonValue* shape = reference.find("shape")) {
    const std::string at = pointer_to(pointer, "shape");
    const Shape stated = shape_from_json(*shape, at);
    if (stated != tensor.shape()) {
      throw input_error(
          "the tensor in the file has the shape " + text(tensor.shape()) + ", not " + text(stated),
          at, help);
    }
  }
  if (const JsonValue* dtype = reference.find("dtype")) {
    const std::string at = pointer_to(pointer, "dtype");
    if (!dtype->is(JsonValue::Type::string)) {
      throw input_error(described(*dtype) + " is no type of elements", at,
                        "the types are \"float32\", \"float64\", \"int64\" and \"bool\"");
    }
    if (dtype->string() != name(tensor.dtype())) {
      throw input_error("the tensor in the file is of " + std::string(name(tensor.dtype())) +
                            ", not " + in_quotes(dtype->string()),
                        at, help);
    }
  }
}

}  // namespace attn
