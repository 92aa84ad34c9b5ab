#pragma once

#include <string>

#include "attn/tensor.hpp"

#include "io/json_value.hpp"

namespace attn {

/// Nested arrays of numbers, all rows of one length, as a tensor of `dtype`. The strings "inf",
/// "-inf" and "nan" stand for those floats; booleans are 1 and 0. With DType::boolean only true,
/// false, 1 and 0 are taken, with DType::int64 only integers. A bare number is no tensor.
///
/// Throws Error(input) at the JSON pointer (starting with `pointer`, the value's own) of the first
/// odd row of a ragged array, of an element that is no number, of a number beyond the range of
/// `dtype`, or of an axis of size 0.
Tensor tensor_from_json(const JsonValue& value, DType dtype, const std::string& pointer);

/// The tensor {"shape": shape, "data": data} at `pointer`: `data` is a flat array in row-major
/// order, of as many numbers as the shape has elements. An empty shape takes one number.
Tensor tensor_from_flat_json(const JsonValue& shape, const JsonValue& data, DType dtype,
                             const std::string& pointer);

/// An array of integers from 1, at most 32 of them, whose product memory can address. Throws
/// Error(input) at the JSON pointer (`pointer` is the array's own) of what is none.
Shape shape_from_json(const JsonValue& value, const std::string& pointer);

/// {"file":…} at `pointer` may say, as a result of this program does, what tensor stands there.
/// Throws Error(input) if it says another "shape" or "dtype" than the tensor's.
void check_stated(const JsonValue& reference, const Tensor& tensor, const std::string& pointer);

}  // namespace attn
