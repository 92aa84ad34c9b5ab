#include <charconv>
#include <cmath>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/narrow_number.hpp"

namespace attn {
namespace {

template <class T>
std::string comma_separated(const Tensor& matrix) {
  const std::span<const T> values = matrix.values<T>();
  const std::size_t columns = matrix.shape()[1];
  std::string result;
  char buffer[32];
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T number = values[i];
    char* end = buffer;
    if constexpr (std::is_floating_point_v<T>) {
      // A NaN's sign says nothing.
      end = std::isnan(number)
                ? std::to_chars(buffer, buffer + sizeof buffer, std::fabs(number)).ptr
                : std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    } else {
      end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
    }
    result.append(buffer, static_cast<std::size_t>(end - buffer));
    result += (i + 1) % columns == 0 ? '\n' : ',';
  }
  return result;
}

}  // namespace

std::string csv_text(const Tensor& matrix) {
  if (matrix.rank() != 2 || matrix.size() == 0) {
    throw input_error(translated("a tensor of shape {1} cannot be written as comma-separated "
                                 "values, which hold one matrix",
                                 text(matrix.shape())),
                      "", translated("choose another format, or one matrix of the tensor"));
  }
  const Tensor wide = matrix.converted(widened(matrix.dtype()));
  return with_element_type(wide.dtype(), [&]<class T>() { return comma_separated<T>(wide); });
}

}  // namespace attn
