#pragma once

#include <cstddef>
#include <memory>

#include "attn/tensor.hpp"

namespace attn {

/// What is shown of maps that are not kept. They stand in one block: small ones among those of the
/// layers would leave gaps that the next layer's do not fit.
class ShownMatrices {
 public:
  /// Of so many maps.
  explicit ShownMatrices(std::size_t count = 0);

  /// The elements by themselves, and not as a part of a larger tensor that is kept for them.
  Tensor copied(const Tensor& matrix);

 private:
  std::size_t count_, size_ = 0, used_ = 0;
  std::shared_ptr<std::byte> room_;
};

}  // namespace attn
