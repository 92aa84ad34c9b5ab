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

/// Sizes of the axes, outermost first. An empty shape is a single number.
using Shape = std::vector<std::size_t>;

/// The narrow types are those of 16 bits: bfloat16, the upper half of a float, and float16, IEEE
/// 754's binary16. Their elements are stored and converted, but never computed with.
enum class DType : std::uint8_t { float32, float64, int64, boolean, bfloat16, float16 };

/// "float32", "float64", "int64", "bool", "bfloat16" or "float16".
const char* name(DType dtype) noexcept;

/// Bytes of one element; a boolean takes one.
std::size_t size_of(DType dtype) noexcept;

/// The number of elements. Throws Error(input) naming the shape if it (or its size in bytes)
/// overflows.
std::size_t element_count(const Shape& shape);

/// "[2,3,4]"
std::string text(const Shape& shape);

/// The DType that stores elements of type T; a boolean is stored as one std::uint8_t, 0 or 1.
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

/// A dense row-major array. The elements are immutable and shared, so that copies are cheap and a
/// memory-mapped file can be one. A default-constructed tensor is absent, which is not the same as
/// one with an axis of size 0; both have the size 0.
class Tensor {
 public:
  Tensor() = default;

  /// Takes the elements over. Throws Error(internal) if their number is not that of the shape.
  template <class T>
  Tensor(Shape shape, std::vector<T> elements) {  // NOLINT(performance-*): moved
    auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
    adopt(std::move(shape), dtype_of<T>(), owner->data(), owner->size(), owner);
  }

  /// The same of a few float32 numbers: Tensor({2, 2}, {1, 0, 0, 1}).
  Tensor(Shape shape, std::initializer_list<float> elements)
      : Tensor(std::move(shape), std::vector<float>(elements)) {}

  /// Elements that live elsewhere, aligned for their type, as long as `owner` is kept.
  static Tensor borrowed(Shape shape, DType dtype, const void* elements,
                         std::shared_ptr<const void> owner);

  explicit operator bool() const noexcept { return elements_ != nullptr; }
  const Shape& shape() const noexcept { return shape_; }
  std::size_t rank() const noexcept { return shape_.size(); }
  std::size_t size() const noexcept { return size_; }
  DType dtype() const noexcept { return dtype_; }
  const void* bytes() const noexcept { return elements_; }

  /// The elements in row-major order. Throws Error(internal) if T is not what is stored.
  template <class T>
  std::span<const T> values() const {
    check_stored(dtype_of<T>());
    return {static_cast<const T*>(elements_), size_};
  }

  /// The same numbers as another type; shares the elements if nothing changes. Rounds to nearest,
  /// halves to even; a whole number beyond the range of int64 becomes the end of the range, NaN 0.
  /// As booleans all numbers but 0 are true. An absent tensor stays absent.
  Tensor converted(DType dtype) const;

  /// The same elements in another shape. Throws Error(internal) if that has another size.
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
