#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "attn/tensor.hpp"

namespace attn {

/// NumPy's own limit; it also bounds the recursion over nested arrays.
constexpr std::size_t most_axes = 32;

/// Throws Error(input) at `where` beyond it.
void check_axes(std::size_t axes, const std::string& where);

/// The types of elements that files of tensors hold.
enum class ElementType : std::uint8_t {
  float16,
  bfloat16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean,
};

/// "float16", "uint8", "bool"…
const char* name(ElementType type) noexcept;

/// Bytes of one element.
std::size_t size_of(ElementType type) noexcept;

/// The type a tensor of such elements has here: widened, never narrowed.
DType widened(ElementType type) noexcept;

/// An array as a file holds it. `bytes` are exactly those of the elements, and `owner` keeps them
/// alive.
struct RawArray {
  Shape shape;
  ElementType type = ElementType::float32;
  bool big_endian = false;
  bool column_major = false;  ///< the first axis runs fastest (Fortran)
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// `count` elements, in the machine's byte order, as other numbers.
void widen(ElementType type, const std::byte* from, std::size_t count, float* to);
void widen(ElementType type, const std::byte* from, std::size_t count, double* to);

/// The array as a tensor: borrowed where the elements are stored as a tensor stores them, converted
/// otherwise. Throws Error(input) for an axis of size 0, for more than 32 axes, for elements that
/// take more than the memory once converted, and for an unsigned integer that int64 cannot hold,
/// whose place is the element's index.
Tensor tensor_from(const RawArray& array);

}  // namespace attn
