#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <span>
#include <utility>

#include "compare/compared_tensors.hpp"
#include "result/tensor_names.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

std::string_view last_part(std::string_view name) {
  return name.substr(name.rfind('.') + 1);  // all of it without a point, as npos + 1 is 0
}

// The rows of any head: [B,H,L] → [B,L], unseen where no head sees a key.
UnseenRows of_all_heads(const UnseenRows& rows) {
  const std::size_t rank = rows.shape.size();
  const std::size_t heads = rows.shape[rank - 2], queries = rows.shape[rank - 1];
  const std::size_t samples = rows.unseen.size() / (heads * queries);
  UnseenRows together{rows.shape, std::vector<char>(samples * queries, 1)};
  together.shape.erase(together.shape.end() - 2);
  for (std::size_t i = 0; i < rows.unseen.size(); ++i) {
    char& unseen = together.unseen[i / (heads * queries) * queries + i % queries];
    unseen = static_cast<char>(unseen != 0 && rows.unseen[i] != 0);
  }
  return together;
}

// The rows once for each of the heads, if they are the same for all of them.
UnseenRows for_heads(const UnseenRows& rows, std::size_t heads) {
  const std::size_t rank = rows.shape.size();
  if (rank < 2 || rows.shape[rank - 2] != 1) return rows;
  const auto queries = static_cast<std::ptrdiff_t>(rows.shape[rank - 1]);
  UnseenRows result{rows.shape, {}};
  result.shape[rank - 2] = heads;
  for (auto row = rows.unseen.begin(); row != rows.unseen.end(); row += queries) {
    for (std::size_t head = 0; head < heads; ++head) {
      result.unseen.insert(result.unseen.end(), row, row + queries);
    }
  }
  return result;
}

bool begins_with(const Shape& shape, const Shape& start) {
  return shape.size() >= start.size() && std::equal(start.begin(), start.end(), shape.begin());
}

}  // namespace

UnseenRows unseen_rows(const Tensor& tensor, std::string_view quantity) {
  const bool sums = quantity == "lse";
  UnseenRows rows{tensor.shape(), {}};
  if (!sums) rows.shape.pop_back();
  const std::size_t width = sums ? 1 : tensor.shape().back();
  with_elements(tensor, [&]<class T>(std::span<const T> numbers) {
    for (std::size_t first = 0; first < numbers.size(); first += width) {
      const auto row = numbers.subspan(first, width);
      rows.unseen.push_back(static_cast<char>(std::ranges::all_of(row, [sums](T number) {
        const auto value = static_cast<double>(number);
        return sums ? value == -std::numeric_limits<double>::infinity()
                    : value == 0 || std::isnan(value);
      })));
    }
  });
  return rows;
}

UnseenRows unseen_in_either(const UnseenRows& a, const UnseenRows& b) {
  if (a.unseen.empty() || b.unseen.empty()) return a.unseen.empty() ? b : a;
  if (a.shape.size() != b.shape.size()) return a;
  const std::size_t rank = a.shape.size();
  const std::size_t heads = rank < 2 ? 1 : std::max(a.shape[rank - 2], b.shape[rank - 2]);
  UnseenRows either = for_heads(a, heads);
  const UnseenRows other = for_heads(b, heads);
  if (either.shape != other.shape) return a;
  for (std::size_t i = 0; i < either.unseen.size(); ++i) {
    either.unseen[i] = static_cast<char>(either.unseen[i] != 0 || other.unseen[i] != 0);
  }
  return either;
}

Cleared without_unseen(const Tensor& tensor, std::string_view name, const UnseenRows& rows) {
  if (rows.unseen.empty()) return {tensor, 0, 0};
  const std::size_t rank = rows.shape.size();
  const bool by_row = last_part(name) == "lse" ? tensor.rank() == rank : tensor.rank() == rank + 1;
  UnseenRows fitting;
  if (by_row) {
    fitting = rank < 2 ? rows : for_heads(rows, tensor.shape()[rank - 2]);
  } else if (tensor.rank() == rank && rank >= 2 && !is_map(name)) {
    fitting = of_all_heads(rows);
  } else {
    return {tensor, 0, 0};
  }
  if (!begins_with(tensor.shape(), fitting.shape)) return {tensor, 0, 0};
  const auto count = static_cast<std::size_t>(std::ranges::count(fitting.unseen, 1));
  if (count == 0) return {tensor, 0, 0};
  const std::size_t width = tensor.size() / fitting.unseen.size();
  const std::size_t bytes = width * size_of(tensor.dtype());
  const auto* const from = static_cast<const std::byte*>(tensor.bytes());
  auto elements =
      std::make_shared<std::vector<std::byte>>(from, from + fitting.unseen.size() * bytes);
  for (std::size_t i = 0; i < fitting.unseen.size(); ++i) {
    if (fitting.unseen[i] != 0) std::memset(elements->data() + i * bytes, 0, bytes);
  }
  const std::byte* const start = elements->data();
  return {Tensor::borrowed(tensor.shape(), tensor.dtype(), start, std::move(elements)), count,
          count * width};
}

}  // namespace attn
