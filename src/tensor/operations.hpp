#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// The vocabulary of tensors. Unless stated otherwise a function takes tensors of any dtype and
/// keeps it, gives a shape alone for tensors that are one (see shape_only()), and throws
/// Error(internal) where shapes or dtypes do not fit together.

/// A tensor of which only shape and dtype may be read, to check sizes before anything is computed.
/// Its conversions, parts and other shapes are such tensors too; reading its elements throws
/// Error(internal).
Tensor shape_only(Shape shape, DType dtype = DType::float64);
bool is_shape_only(const Tensor& tensor) noexcept;

/// The elements from number `first` on, in row-major order, as a tensor of this shape that shares
/// them.
Tensor part_of(const Tensor& tensor, std::size_t first, Shape shape);

/// Rows `first` … `first` + count − 1: [n,…] → [count,…], shared.
Tensor rows_of(const Tensor& tensor, std::size_t first, std::size_t count);

/// Whether no number of a tensor of float32 or float64, or of an array, is NaN or infinite. Not for
/// shapes alone.
bool all_finite(const Tensor& tensor);
bool all_finite(std::span<const float> numbers);
bool all_finite(std::span<const double> numbers);

/// Numbers that are NaN or infinite.
struct NotFinite {
  std::size_t count = 0;
  std::size_t first = 0;  ///< in row-major order, if there is one

  void add(std::size_t element) {
    if (count++ == 0) first = element;
  }
};

/// Those of a tensor of floats, none of other types; with `hiding` −∞ is none of them. Not for
/// shapes alone. `threads` 0 = as many as the machine has.
NotFinite not_finite(const Tensor& tensor, bool hiding = false, std::size_t threads = 1);

/// The places of the `count` largest numbers, or of all if there are fewer, the largest first; of
/// equal ones the lower place comes first, and NaN last.
std::vector<std::size_t> largest_of(std::span<const double> numbers, std::size_t count);

/// The indices along the axes of the element with that number in row-major order.
Shape index_of(std::size_t element, const Shape& shape);

/// Slices of one axis in the order of `indices`, which may repeat: [n,…] → [indices,…] for axis 0,
/// [b,n,…] → [b,indices,…] for axis 1.
Tensor picked(const Tensor& tensor, std::span<const std::size_t> indices, std::size_t axis = 0);

/// The tensors one after the other along an axis; all other sizes and the dtype are the same.
/// [a,…], [b,…] → [a+b,…] for axis 0.
Tensor concatenated(std::span<const Tensor> tensors, std::size_t axis = 0);

/// Samples [1,…] of one rank and dtype whose other sizes may differ as one tensor [samples,…] of
/// the largest sizes. Zeros fill the end of each axis of a smaller sample. A single sample is
/// shared.
Tensor batched(std::span<const Tensor> samples);

/// The tensor `count` times along its first axis: [n,…] → [count·n,…].
Tensor repeated(const Tensor& tensor, std::size_t count);

/// Axes in another order: axis i of the result is axis order[i] of the tensor.
Tensor permuted(const Tensor& tensor, const Shape& order);

/// a + b in their dtype, float32 or float64, which is the result's. b has the shape of a, or that
/// of a's last axes and is then added to each part of a: [B,L,D] + [L,D]. Not for shapes alone.
/// `threads` 0 = as many as the machine has.
Tensor sum(const Tensor& a, const Tensor& b, std::size_t threads = 1);

/// Each element divided by the number, in float64 whatever the dtype. Not for shapes alone.
Tensor divided(const Tensor& tensor, double divisor);

/// The part of a tensor that NumPy's basic indexing takes: `slice` holds one entry per axis between
/// commas, "0, :, 64:128". A whole number takes one part of its axis, which goes; "first:end:step"
/// takes several, each of the three of which may be left out; negative numbers count from the end,
/// and a negative step goes backwards; one "..." stands for all axes that are not named, which
/// otherwise are the last ones. Brackets around the whole are passed over. Elements are shared
/// where they lie together, else copied; a shape alone stays one. Throws Error(input) at `where`
/// for a slice that cannot be read, does not fit the shape or leaves no element or no axis.
Tensor sliced(const Tensor& tensor, std::string_view slice, const std::string& where);

}  // namespace attn
