#pragma once

#include <vector>

#include "attn/compare.hpp"
#include "attn/io.hpp"
#include "attn/tensor.hpp"

#include "temporary_folder.hpp"

/// [2,4,3,2], each number once.
inline attn::Tensor numbered() {
  std::vector<float> numbers(48);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i) / 7;
  return attn::Tensor({2, 4, 3, 2}, std::move(numbers));
}

/// Compares files that hold these tensors.
inline attn::Comparison compare(const TemporaryFolder& folder,
                                const std::vector<attn::NamedTensor>& a,
                                const std::vector<attn::NamedTensor>& b,
                                attn::CompareRequest request = {}) {
  request.a = folder.write("a.npz", attn::npz_bytes(a));
  request.b = folder.write("b.npz", attn::npz_bytes(b));
  return attn::compare(request);
}
