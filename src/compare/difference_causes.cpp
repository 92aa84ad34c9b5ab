#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <span>
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

namespace {

// Whether all numbers of a row of a are those of b times one positive factor.
bool is_multiple(std::span<const double> a, std::span<const double> b, Tolerances allowed) {
  double products = 0, squares = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    products += a[i] * b[i];
    squares += b[i] * b[i];
  }
  const double factor = squares > 0 ? products / squares : 0;
  if (!std::isfinite(factor) || factor <= 0) return false;
  return std::ranges::equal(a, b, [&](double x, double y) {
    return std::abs(x - factor * y) <= allowed.atol + allowed.rtol * std::abs(factor * y);
  });
}

}  // namespace

bool are_multiples_by_row(const Tensor& a, const Tensor& b, Tolerances allowed) {
  // Narrower rows are multiples of each other by chance.
  constexpr std::size_t least_width = 3, least_rows = 3;
  if (a.shape() != b.shape() || a.rank() < 2) return false;
  const std::size_t width = a.shape().back(), rows = a.size() / width;
  if (width < least_width || rows < least_rows) return false;
  for (std::size_t row = 0; row < rows; ++row) {
    // Most tensors are none by their first row: no more of them is copied.
    const auto numbers = [&](const Tensor& of) {
      return part_of(of, row * width, {width}).converted(DType::float64);
    };
    const Tensor one = numbers(a), other = numbers(b);
    if (!is_multiple(one.values<double>(), other.values<double>(), allowed)) return false;
  }
  return true;
}

bool are_nan_for_zero(const Tensor& a, const Tensor& b, Tolerances allowed) {
  if (a.shape() != b.shape()) return false;
  const Tensor of_a = a.converted(DType::float64), of_b = b.converted(DType::float64);
  const auto x = of_a.values<double>(), y = of_b.values<double>();
  bool any = false;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const bool nan = std::isnan(x[i]) ? y[i] == 0 : std::isnan(y[i]) && x[i] == 0;
    any = any || nan;
    if (nan || (std::isnan(x[i]) && std::isnan(y[i])) || x[i] == y[i]) continue;
    if (!(std::abs(x[i] - y[i]) <= allowed.atol + allowed.rtol * std::abs(y[i]))) return false;
  }
  return any;
}

std::optional<double> factor_of_lone_key(const Tensor& a, const Tensor& b) {
  constexpr double close = 1e-4;
  constexpr std::size_t least = 3;  // log-sum-exps of a query
  if (a.shape() != b.shape() || a.rank() < 2) return {};
  const std::size_t queries = a.shape().back(), others = a.size() / queries;
  if (others < least) return {};
  const Tensor of_a = a.converted(DType::float64), of_b = b.converted(DType::float64);
  const auto x = of_a.values<double>(), y = of_b.values<double>();
  for (std::size_t query = 0; query < queries; ++query) {
    const double factor = x[query] / y[query];
    bool same = std::isfinite(factor) && factor > 0 && std::abs(factor - 1) > close;
    for (std::size_t i = query; same && i < x.size(); i += queries)
      same = std::abs(x[i] / y[i] / factor - 1) < close;
    if (same) return factor;
  }
  return {};
}

namespace {

// Whether each row of the last two axes ends, at its last number that is not zero, where a causal
// mask does that begins at this corner.
bool ends_causally(const Tensor& map, bool lower_right) {
  const std::size_t queries = map.shape()[map.rank() - 2], keys = map.shape().back();
  const Tensor exact = map.converted(DType::float64);
  const auto numbers = exact.values<double>();
  for (std::size_t row = 0; row * keys < numbers.size(); ++row) {
    const auto of_row = numbers.subspan(row * keys, keys);
    std::size_t end = keys, seen = row % queries + 1 + (lower_right ? keys : 0);
    while (end > 0 && of_row[end - 1] == 0) --end;
    seen = lower_right ? seen - std::min(seen, queries) : std::min(seen, keys);
    if (end != seen) return false;
  }
  return true;
}

}  // namespace

std::optional<bool> aligned_otherwise(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.rank() < 2 || a.shape()[a.rank() - 2] == a.shape().back())
    return {};
  for (const bool lower_right : {true, false}) {
    if (ends_causally(a, lower_right) && ends_causally(b, !lower_right)) return lower_right;
  }
  return {};
}

}  // namespace attn
