#pragma once

#include <functional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "io/json_value.hpp"

namespace attn {

/// Whether a value can be a tensor, as far as its first element tells: arrays of names are none.
bool looks_like_tensor(const JsonValue& value);

/// Reads the tensor of a name (which may be empty) from the file of a name.
using OpenTensor = std::function<Tensor(const std::string& file, const std::string& name)>;

/// A tensor as documents, results and files of tensors hold it, in the `dtype` but for those of
/// other files, which keep their own:
/// * nested arrays of numbers, all rows of one length. The strings "inf", "-inf" and "nan" stand
/// for
///   those floats; booleans are 1 and 0. With DType::boolean only true, false, 1 and 0 are taken,
///   with DType::int64 only integers;
/// * {"shape":…,"data":…}, a flat array of such numbers in row-major order;
/// * {"file":…,"name":…}, read by `open`, beside which "shape" and "dtype" may say, as a result of
///   this program does, what tensor stands there.
///
/// Throws Error(input) at the JSON pointer (starting with `pointer`, the value's own) of the first
/// odd row of a ragged array, of an element that is no number, of a number beyond the range of
/// `dtype`, of an axis of size 0, or of what is no tensor at all.
Tensor tensor_from_json(const JsonValue& value, DType dtype, const std::string& pointer,
                        const OpenTensor& open = nullptr);

/// An array of whole numbers from `least` to 2^53, at most 32 of them. Throws Error(input) at the
/// JSON pointer (`pointer` is the array's own) of what is none.
std::vector<std::size_t> sizes_from_json(const JsonValue& value, std::int64_t least,
                                         const std::string& pointer);

/// The same from 1, whose product memory can address.
Shape shape_from_json(const JsonValue& value, const std::string& pointer);

}  // namespace attn
