#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "attn/io.hpp"

#include "fuzz/fuzz_input.hpp"

namespace attn::fuzz {

/// Touches every element, and writes and reads the tensor back, which must give the same bytes.
inline void check_read_back(const Tensor& tensor) {
  const Tensor doubles = tensor.converted(DType::float64);
  require(doubles.size() == element_count(tensor.shape()));
  const std::string written = npy_bytes(tensor);
  const std::span<const char> characters(written);
  const Tensor again =
      TensorFile::from_memory(std::as_bytes(characters), nullptr, "again").read("");
  require(again.shape() == tensor.shape() && again.dtype() == tensor.dtype());
  const std::size_t bytes = tensor.size() * size_of(tensor.dtype());
  require(bytes == 0 || std::memcmp(again.bytes(), tensor.bytes(), bytes) == 0);
}

}  // namespace attn::fuzz
