#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "attn/tensor.hpp"

#include "io/raw_array.hpp"

namespace attn {

constexpr std::string_view npy_magic = "\x93NUMPY";

/// A whole .npy file of version 1, 2 or 3 (numpy.lib.format). Objects, structures, complex numbers,
/// strings and dates are refused by name. Throws Error(input) whose place is "byte 12" where the
/// fault can be pointed at. `type`, if given, gets what its elements are.
Tensor parse_npy(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                 ElementType* type = nullptr);

/// What stands before the elements in a .npy file of version 1; the elements follow in row-major
/// order, little-endian.
std::string npy_header(const Shape& shape, DType dtype);

}  // namespace attn
