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

}  // namespace attn
