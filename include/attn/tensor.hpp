#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace attn {

/// Sizes of the axes, outermost first; [] is the shape of a single number.
using Shape = std::vector<std::size_t>;

/// Types of elements. The 16-bit types are bfloat16, the upper half of a float32, and float16, IEEE
/// 754's binary16: they are stored and converted, but results in them are computed in float32.
enum class DType : std::uint8_t { float32, float64, int64, boolean, bfloat16, float16 };

/// "float32", "float64", "int64", "bool", "bfloat16" or "float16".
const char* name(DType dtype) noexcept;

/// Bytes of one element; 1 for a boolean.
std::size_t size_of(DType dtype) noexcept;

/// Number of elements, the product of the sizes. Throws Error(input) with the shape if the number
/// or its bytes are more than memory can address.
std::size_t element_count(const Shape& shape);

/// Text of a shape: "[2,3,4]".
std::string text(const Shape& shape);

/// DType that stores elements of the C++ type T; a boolean is one std::uint8_t, 0 or 1.
template <class T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>) {
    return DType::float32;
  } else if constexpr (std::is_same_v<T, double>) {
    return DType::float64;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return DType::int64;
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>,
                  "a tensor holds float, double, int64_t or uint8_t");
    return DType::boolean;
  }
}

/// Dense row-major array. Elements are immutable and shared: copies are cheap, and a memory-mapped
/// file can be a tensor. A default-constructed tensor is absent, unlike a tensor with an axis of
/// size 0; both have size() 0.
class Tensor {
 public:
  Tensor() = default;

  /// Takes the elements over. Throws Error(usage) if their number is not element_count(shape).
  template <class T>
  Tensor(Shape shape, std::vector<T> elements) {  // NOLINT(performance-*): moved
    auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
    adopt(std::move(shape), dtype_of<T>(), owner->data(), owner->size(), owner);
  }

  /// A few float32 numbers: Tensor({2, 2}, {1, 0, 0, 1}).
  Tensor(Shape shape, std::initializer_list<float> elements)
      : Tensor(std::move(shape), std::vector<float>(elements)) {}

  /// Refers to elements that live elsewhere, aligned for their type, and keeps their `owner`.
  /// Throws Error(input) as element_count() does.
  static Tensor borrowed(Shape shape, DType dtype, const void* elements,
                         std::shared_ptr<const void> owner);

  explicit operator bool() const noexcept { return elements_ != nullptr; }
  const Shape& shape() const noexcept { return shape_; }
  std::size_t rank() const noexcept { return shape_.size(); }
  std::size_t size() const noexcept { return size_; }
  DType dtype() const noexcept { return dtype_; }
  const void* bytes() const noexcept { return elements_; }

  /// Elements in row-major order. Throws Error(usage) if dtype() is not dtype_of<T>(): converted()
  /// gives a tensor of another type.
  template <class T>
  std::span<const T> values() const {
    check_stored(dtype_of<T>());
    return {static_cast<const T*>(elements_), size_};
  }

  /// The element at an index per axis, of any type, as a double: weights.at({0, 2}). Throws
  /// Error(usage) for another number of indices, or one beyond the end of its axis.
  double at(std::initializer_list<std::size_t> index) const;

  /// This tensor's numbers in another dtype; shares the elements if it is the same. Floats are
  /// rounded to nearest, halves to even. As int64, numbers beyond the range become its ends and NaN
  /// becomes 0; as booleans, all numbers but 0 are true. An absent tensor stays absent.
  Tensor converted(DType dtype) const;

  /// These elements, shared, in another shape. Throws Error(usage) if it has another number of
  /// elements.
  Tensor reshaped(Shape shape) const;

 private:
  void adopt(Shape shape, DType dtype, const void* elements, std::size_t count,
             std::shared_ptr<const void> owner);
  void check_stored(DType dtype) const;

  Shape shape_;
  DType dtype_ = DType::float32;
  std::size_t size_ = 0;
  const void* elements_ = nullptr;
  std::shared_ptr<const void> owner_;
};

}  // namespace attn
