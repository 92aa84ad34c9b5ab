#include "attn/tensor.hpp"

#include <cmath>
#include <limits>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Address of the elements of tensors of size 0. A null pointer marks an absent tensor.
constexpr std::uint64_t no_elements = 0;

// Address that marks a tensor with a shape alone.
constexpr std::uint64_t unknown_elements = 0;

template <class From>
std::int64_t nearest_integer(From number) {
  // The limits are powers of two, which are exact in both types. A conversion beyond them would be
  // undefined.
  if (std::isnan(number)) return 0;
  if (number >= From{0x1p63}) return std::numeric_limits<std::int64_t>::max();
  if (number < From{-0x1p63}) return std::numeric_limits<std::int64_t>::min();
  return static_cast<std::int64_t>(std::nearbyint(number));
}

template <class To, class From>
Tensor convert(const Tensor& from) {
  const auto values = from.values<From>();
  std::vector<To> elements(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_same_v<To, std::uint8_t>) {
      elements[i] = values[i] != From{0};
    } else if constexpr (std::is_same_v<To, std::int64_t> && std::is_floating_point_v<From>) {
      elements[i] = nearest_integer(values[i]);
    } else {
      elements[i] = static_cast<To>(values[i]);
    }
  }
  return Tensor(from.shape(), std::move(elements));
}

// to[i] = convert(from[i]) in new memory, which is not set to zero first.
template <class To, class From, class Convert>
std::shared_ptr<To[]> each(const From* from, std::size_t count, const Convert& convert) {
  auto to = std::make_shared_for_overwrite<To[]>(count);
  To* const out = to.get();
  for (std::size_t i = 0; i < count; ++i) out[i] = convert(from[i]);
  return to;
}

// Numbers of a 16-bit type as float32, which holds them exactly.
Tensor widened_numbers(const Tensor& half) {
  const auto* bits = static_cast<const std::uint16_t*>(half.bytes());
  const auto numbers =
      half.dtype() == DType::bfloat16
          ? each<float>(bits, half.size(), [](std::uint16_t x) { return bfloat16_number(x); })
          : each<float>(bits, half.size(), [](std::uint16_t x) { return float16_number(x); });
  return Tensor::borrowed(half.shape(), DType::float32, numbers.get(), numbers);
}

Tensor rounded_to_half(const Tensor& from, DType dtype) {
  std::shared_ptr<std::uint16_t[]> bits;
  if (from.dtype() == DType::float32) {
    const float* const numbers = from.values<float>().data();
    bits = dtype == DType::bfloat16
               ? each<std::uint16_t>(numbers, from.size(), [](float x) { return bfloat16_bits(x); })
               : each<std::uint16_t>(numbers, from.size(), [](float x) { return float16_bits(x); });
  } else {
    const Tensor numbers = from.converted(DType::float64);
    bits = each<std::uint16_t>(numbers.values<double>().data(), from.size(),
                               [dtype](double x) { return half_bits(x, dtype); });
  }
  return Tensor::borrowed(from.shape(), dtype, bits.get(), bits);
}

}  // namespace

const char* name(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return "float32";
    case DType::float64:
      return "float64";
    case DType::int64:
      return "int64";
    case DType::boolean:
      return "bool";
    case DType::bfloat16:
      return "bfloat16";
    case DType::float16:
      return "float16";
  }
  return "";
}

std::size_t size_of(DType dtype) noexcept {
  switch (dtype) {
    case DType::float32:
      return sizeof(float);
    case DType::float64:
      return sizeof(double);
    case DType::int64:
      return sizeof(std::int64_t);
    case DType::boolean:
      return sizeof(std::uint8_t);
    case DType::bfloat16:
    case DType::float16:
      return sizeof(std::uint16_t);
  }
  return 0;
}

std::size_t element_count(const Shape& shape) {
  // The widest element has eight bytes, and a signed difference of pointers must span all bytes.
  constexpr std::size_t most =
      static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / 8;
  bool empty = false;
  for (const std::size_t size : shape) empty = empty || size == 0;
  if (empty) return 0;
  std::size_t count = 1;
  for (const std::size_t size : shape) {
    if (count > most / size) {
      throw input_error(
          translated("the shape {1} has more elements than memory can address", text(shape)), "",
          translated("check the shape for a misplaced digit"));
    }
    count *= size;
  }
  return count;
}

std::string text(const Shape& shape) {
  std::string result = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) result += ',';
    result += std::to_string(shape[i]);
  }
  return result + "]";
}

Tensor Tensor::borrowed(Shape shape, DType dtype, const void* elements,
                        std::shared_ptr<const void> owner) {
  Tensor tensor;
  const std::size_t count = element_count(shape);
  tensor.adopt(std::move(shape), dtype, elements, count, std::move(owner));
  return tensor;
}

Tensor Tensor::converted(DType dtype) const {
  if (!*this || dtype == dtype_) return *this;
  if (is_shape_only(*this)) return shape_only(shape_, dtype);
  if (is_half(dtype_)) return widened_numbers(*this).converted(dtype);
  if (is_half(dtype)) return rounded_to_half(*this, dtype);
  return with_element_type(dtype, [&]<class To>() {
    return with_element_type(dtype_, [&]<class From>() { return convert<To, From>(*this); });
  });
}

double Tensor::at(std::initializer_list<std::size_t> index) const {
  const Shape place(index);
  std::size_t element = 0;
  bool inside = place.size() == rank();
  for (std::size_t axis = 0; inside && axis < rank(); ++axis) {
    inside = place[axis] < shape_[axis];
    element = element * shape_[axis] + place[axis];
  }
  if (!inside || !*this) {
    throw Error(ErrorKind::usage,
                translated("a tensor {1} has no element {2}", text(shape_), text(place)), "",
                translated("give an index per axis, each below the size of its axis"));
  }
  return part_of(*this, element, {1}).converted(DType::float64).values<double>()[0];
}

Tensor Tensor::reshaped(Shape shape) const {
  if (!*this)
    throw Error(ErrorKind::internal, translated("an absent tensor was given a shape"), "", "");
  Tensor result;
  result.adopt(std::move(shape), dtype_, elements_, size_, owner_);
  return result;
}

void Tensor::adopt(Shape shape, DType dtype, const void* elements, std::size_t count,
                   std::shared_ptr<const void> owner) {
  if (element_count(shape) != count) {
    throw Error(ErrorKind::usage,
                translated("{1} elements cannot have the shape {2}", count, text(shape)), "",
                translated("give {1}",
                           translated_count(element_count(shape), "{1} element", "{1} elements")));
  }
  shape_ = std::move(shape);
  dtype_ = dtype;
  size_ = count;
  elements_ = elements == nullptr && count == 0 ? &no_elements : elements;
  owner_ = std::move(owner);
}

void Tensor::check_stored(DType dtype) const {
  if (dtype != dtype_) {
    throw Error(ErrorKind::usage,
                translated("a tensor of {1} was read as {2}", name(dtype_), name(dtype)), "",
                translated("read it as it is stored, or convert it first"));
  }
  if (is_shape_only(*this)) {
    throw Error(
        ErrorKind::internal,
        translated("the elements of {1} were read, of which only the shape is known", text(shape_)),
        "", "");
  }
}

void refuse_element_type(DType dtype) {
  throw Error(ErrorKind::internal,
              translated("elements of {1} cannot be computed with", name(dtype)), "", "");
}

Tensor shape_only(Shape shape, DType dtype) {
  return Tensor::borrowed(std::move(shape), dtype, &unknown_elements, nullptr);
}

bool is_shape_only(const Tensor& tensor) noexcept {
  return tensor.bytes() == &unknown_elements;
}

}  // namespace attn
