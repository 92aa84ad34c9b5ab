#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "attn/tensor.hpp"

#include "io/json_value.hpp"

namespace attn {

/// White space and digits of JSON's grammar (RFC 8259).
constexpr bool is_json_space(char c) noexcept {
  return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}
constexpr bool is_json_digit(char c) noexcept {
  return c >= '0' && c <= '9';
}

/// Nested arrays of numbers in a JSON text, with rows of one length: the text of a tensor. Elements
/// may also be true, false, "inf", "-inf" and "nan".
struct NumberArray {
  std::string_view text;  ///< from '[' to ']'
  Shape shape;
  /// Places of elements at regular distances in the text, from which threads begin to read.
  struct Mark {
    std::size_t offset, element;
  };
  std::vector<Mark> marks;
};

/// Outermost number arrays of a JSON text in its order. Only brackets, commas and words are checked
/// here; read_number_array() checks the numbers. The rest of the text is not checked.
std::vector<NumberArray> find_number_arrays(std::string_view text);

/// Result of reading a number array.
struct NumberArrayContent {
  /// The elements; absent if a number does not fit the dtype or is an integer of over 15 digits.
  Tensor tensor;
  bool valid = true;  ///< whether all elements are numbers of JSON in the range of doubles
};

/// Reads the elements on up to `threads` threads (0 = as many as the machine has). A float is
/// nearest to the number in the text, not to its nearest double. int64 takes integers only, boolean
/// 0 and 1.
NumberArrayContent read_number_array(const NumberArray& array, DType dtype, std::size_t threads);

/// Number array of a JSON text with its elements in one type. Other types and single elements are
/// read from the text on request, also by several threads at once.
class NumberBlock {
 public:
  /// `owner` keeps the array's text alive.
  NumberBlock(NumberArray array, std::shared_ptr<const void> owner);
  ~NumberBlock();
  NumberBlock(const NumberBlock&) = delete;
  NumberBlock& operator=(const NumberBlock&) = delete;

  /// Reads and keeps the elements in this type if all of them fit it. False if some are no numbers
  /// of JSON in the range of doubles; then nothing else may be called.
  bool read(DType dtype, std::size_t threads);

  const Shape& shape() const noexcept { return array_.shape; }
  /// Whether an element may be true, false or a string.
  bool has_words() const noexcept;

  /// Elements in this type; absent if not all of them fit it.
  Tensor as(DType dtype) const;

  /// The array with one value per element.
  const JsonValue& by_element() const;

 private:
  NumberArray array_;
  Tensor elements_;
  std::size_t threads_ = 1;
  std::shared_ptr<const void> owner_;
  mutable std::once_flag split_;
  mutable JsonValue by_element_;
};

/// The whole numbers of an array, or of rows of one length, read without a value for each of them;
/// absent for another array. Throws as expect_integer() does for a number that is not whole or is
/// less than `least`; `place` is the array's own.
Tensor whole_numbers(const JsonValue& array, std::int64_t least, const std::string& place);

}  // namespace attn
