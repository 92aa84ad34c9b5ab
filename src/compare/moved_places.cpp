#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "attn/compare.hpp"

#include "compare/compared_tensors.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The tensor with that axis before all others.
Tensor with_first(const Tensor& tensor, std::size_t axis) {
  std::vector<std::size_t> order{axis};
  for (std::size_t other = 0; other < tensor.rank(); ++other) {
    if (other != axis) order.push_back(other);
  }
  return permuted(tensor, order);
}

// For each position of the first axis of b, the one of a that agrees with it, each of them once;
// nothing if one has none. A position that agrees where it is stays there.
std::optional<std::vector<std::size_t>> order_of(const Tensor& a, const Tensor& b,
                                                 Tolerances allowed) {
  const std::size_t count = a.shape()[0];
  const Shape part(a.shape().begin() + 1, a.shape().end());
  const std::size_t size = a.size() / count;
  const auto agree = [&](std::size_t of_a, std::size_t of_b) {
    return element_differences(part_of(a, of_a * size, part), part_of(b, of_b * size, part),
                               allowed, 1)
               .beyond == 0;
  };
  std::vector<std::size_t> order(count, count);
  std::vector<char> used(count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (!agree(i, i)) continue;
    order[i] = i;
    used[i] = 1;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (order[i] < count) continue;
    std::size_t from = 0;
    while (from < count && (used[from] != 0 || !agree(from, i))) ++from;
    if (from == count) return {};
    order[i] = from;
    used[from] = 1;
  }
  return order;
}

}  // namespace

std::optional<TensorComparison::Moved> moved_places(const Tensor& a, const Tensor& b,
                                                    Tolerances allowed) {
  constexpr std::size_t most_elements = 100'000'000;
  if (a.shape() != b.shape()) return {};
  for (std::size_t axis = 0; axis < a.rank(); ++axis) {
    const std::size_t count = a.shape()[axis];
    if (count < 2 || count > most_elements / a.size()) continue;
    const auto order = order_of(with_first(a, axis), with_first(b, axis), allowed);
    if (order) return TensorComparison::Moved{"", axis, *order};
  }
  return {};
}

}  // namespace attn
