#pragma once

#include <cstddef>
#include <cstdint>

namespace attn::kernels {

/// Largest number of rows of x for which packing W takes longer than the products.
constexpr std::size_t few_product_rows = 3;

/// Types of the numbers of W that products read where they are stored.
enum class StoredNumber : std::uint8_t { float32, float64, bfloat16, float16 };

/// Bytes of a number.
constexpr std::size_t size_of(StoredNumber type) noexcept {
  return type == StoredNumber::float64 ? 8 : type == StoredNumber::float32 ? 4 : 2;
}

/// y = x Wᵀ + b for x [rows,width] of up to few_product_rows rows, with a W that is read once, as
/// it is stored: y [rows,count], b [count] or null. Strides count numbers of x and y between rows.
/// Sums do not depend on which other rows or columns are computed with them.
template <class T>
struct FewRowProduct {
  const T* x;
  std::size_t rows, width;
  StoredNumber stored;
  std::size_t count;
  const T* bias;
  T* y;
  std::size_t y_stride;
};

/// The product with rows of W [width], wherever they are; aligned for their type. T is float for
/// all types but float64.
void multiply_few_rows(const FewRowProduct<float>& product, const std::byte* const* w) noexcept;
void multiply_few_rows(const FewRowProduct<double>& product, const std::byte* const* w) noexcept;

/// The product with a W whose rows are columns of lines [count] in memory, `stride` bytes apart.
void multiply_few_columns(const FewRowProduct<float>& product, const std::byte* w,
                          std::size_t stride) noexcept;

}  // namespace attn::kernels
