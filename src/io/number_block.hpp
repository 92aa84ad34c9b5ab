#pragma once

#include <cstddef>
#include <memory>
#include <mutex>

#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "io/number_array.hpp"

namespace attn {

/// A number array of a JSON text with its elements as one type. Other types, and its elements one
/// by one, are read from the text when they are asked for. Several threads may ask at once.
class NumberBlock {
 public:
  /// `owner` keeps the text alive.
  NumberBlock(NumberArray array, std::shared_ptr<const void> owner);
  ~NumberBlock();
  NumberBlock(const NumberBlock&) = delete;
  NumberBlock& operator=(const NumberBlock&) = delete;

  /// Reads the elements, to be kept as that type if all of them fit it. Whether they are numbers of
  /// JSON at all and in the range of doubles; nothing else is to be asked otherwise.
  bool read(DType dtype, std::size_t threads);

  const Shape& shape() const noexcept { return array_.shape; }

  /// The elements. Absent if not all of them fit the type.
  Tensor as(DType dtype) const;

  /// The array with a value an element.
  const JsonValue& by_element() const;

 private:
  NumberArray array_;
  Tensor elements_;
  std::size_t threads_ = 1;
  std::shared_ptr<const void> owner_;
  mutable std::once_flag split_;
  mutable JsonValue by_element_;
};

}  // namespace attn
