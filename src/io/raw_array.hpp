#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attn/tensor.hpp"

#include "tensor/block_numbers.hpp"

namespace attn {

/// Most axes of a tensor, as in NumPy. Also bounds the recursion over nested arrays.
constexpr std::size_t most_axes = 32;

/// Throws Error(input) at `where` for more than `most_axes`.
void check_axes(std::size_t axes, const std::string& where);

/// Why a tensor with an axis of size 0 is none.
std::string empty_reason(const Shape& shape);

/// Throws Error(input) at `where` if a tensor, or `what`, has more elements than `most`, which is
/// Limits::elements. Called before they are made.
void check_element_limit(std::size_t count, std::uint64_t most, const std::string& where);
void check_element_limit(double count, std::uint64_t most, const std::string& what,
                         const std::string& where);

/// Types of elements in files of tensors.
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

/// Name of the type: "float16", "uint8", "bool"…
const char* name(ElementType type) noexcept;

/// Bytes of one element.
std::size_t size_of(ElementType type) noexcept;

/// Type of tensors with such elements, which holds all their numbers: float16 → float32…
DType widened(ElementType type) noexcept;

/// Array as it is stored in a file. `bytes` are the elements alone, and `owner` keeps them alive.
struct RawArray {
  Shape shape;
  ElementType type = ElementType::float32;
  bool big_endian = false;
  bool column_major = false;  ///< the first axis runs fastest (Fortran)
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
  /// Makes row `row` of [rows, last axis] of numbers that are stored in blocks or with scales, and
  /// `type` is float32; `bytes` are empty then. Called by several threads at once.
  std::function<void(std::size_t row, float* to)> make_row;
  BlockRows in_blocks;         ///< the same rows where they are stored, if they are ggml's blocks
  std::string_view stored_as;  ///< the name of that way of storing, "Q4_K"
};

/// Name of the type of the stored numbers.
std::string_view stored_type(const RawArray& array) noexcept;

/// Converts `count` elements, stored in the machine's byte order.
void widen(ElementType type, const std::byte* from, std::size_t count, float* to);
void widen(ElementType type, const std::byte* from, std::size_t count, double* to);

/// Tensor of the array. Refers to the stored elements if a tensor stores them in the same way, else
/// converts them. Throws Error(input) for an axis of size 0, for more than 32 axes, for converted
/// elements that take more than the memory, and for an unsigned integer beyond int64 at its index.
Tensor tensor_from(const RawArray& array);

}  // namespace attn
