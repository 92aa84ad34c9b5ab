#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// Nested arrays of numbers in a JSON text, all rows of one length: the text of a tensor. Numbers
/// may be mixed with true, false, "inf", "-inf" and "nan".
struct NumberArray {
  std::string_view text;  ///< from '[' to ']'
  Shape shape;
  /// Where every so many elements start in the text, so that several threads can read it.
  struct Mark {
    std::size_t offset, element;
  };
  std::vector<Mark> marks;
};

/// The number arrays of a JSON text, none inside another, in the order of the text. Only their
/// brackets, commas and words are looked at; whether all else is numbers is told when they are
/// read. Of what is not in them nothing is checked.
std::vector<NumberArray> find_number_arrays(std::string_view text);

/// The elements, or why they cannot be told here.
struct NumberArrayContent {
  /// Absent if a number does not fit the dtype, or is an integer of more than 15 digits.
  Tensor tensor;
  bool valid = true;  ///< whether all are numbers of JSON at all, in the range of doubles
};

/// Reads them on up to `threads` threads (0 = as many as the machine has). Floats are the nearest
/// to the numbers, not to the doubles nearest to them; int64 takes integers alone, booleans 0
/// and 1.
NumberArrayContent read_number_array(const NumberArray& array, DType dtype, std::size_t threads);

}  // namespace attn
