#include "io/number_block.hpp"

#include <utility>

namespace attn {

NumberBlock::NumberBlock(NumberArray array, std::shared_ptr<const void> owner)
    : array_(std::move(array)), owner_(std::move(owner)) {}

NumberBlock::~NumberBlock() = default;

bool NumberBlock::read(DType dtype, std::size_t threads) {
  threads_ = threads;
  NumberArrayContent content = read_number_array(array_, dtype, threads);
  elements_ = std::move(content.tensor);
  return content.valid;
}

Tensor NumberBlock::as(DType dtype) const {
  if (elements_ && elements_.dtype() == dtype) return elements_;
  return read_number_array(array_, dtype, threads_).tensor;
}

const JsonValue& NumberBlock::by_element() const {
  std::call_once(split_,
                 [&] { by_element_ = parse_json_by_element(array_.text, array_.shape.size()); });
  return by_element_;
}

}  // namespace attn
