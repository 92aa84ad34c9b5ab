#include "plot/matrix.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attn/error.hpp"

namespace attn::plot {
namespace {

/// 0 and 1 from whatever numbers they are stored as.
Tensor as_bytes(const Tensor& flags) {
  if (!flags || flags.dtype() == DType::boolean) return flags;
  const Tensor numbers = flags.converted(DType::float64);
  std::vector<std::uint8_t> bytes;
  bytes.reserve(numbers.size());
  for (const double number : numbers.values<double>()) bytes.push_back(number != 0 ? 1 : 0);
  return Tensor(flags.shape(), std::move(bytes));
}

void check_labels(const std::vector<std::string>& labels, std::size_t count, const char* of,
                  const std::string& where) {
  if (labels.empty() || labels.size() == count) return;
  throw input_error(std::to_string(labels.size()) + " " + of + " labels for " +
                        std::to_string(count) + " " +
                        (of == std::string("query") ? "rows" : "columns"),
                    where, "give one label for each, or none");
}

// Differences of values up to this size do not overflow.
constexpr double kLargest = std::numeric_limits<double>::max() / 4;

}  // namespace

Matrix::Matrix(const Heatmap& heatmap, const std::string& where) {
  const Shape& shape = heatmap.weights.shape();
  if (!heatmap.weights && shape.empty()) {
    throw input_error("there are no weights to draw", where, "give a matrix of weights");
  }
  if (shape.size() != 2) {
    throw input_error("weights of shape " + text(shape) + " cannot be drawn as a heatmap", where,
                      "choose one sample and head: a heatmap is one matrix, [queries,keys]");
  }
  if (heatmap.weights.size() == 0) {
    throw input_error("weights of shape " + text(shape) + " have no cells to draw", where,
                      "give at least one query and one key");
  }
  rows_ = shape[0];
  columns_ = shape[1];
  check_labels(heatmap.query_labels, rows_, "query", where);
  check_labels(heatmap.key_labels, columns_, "key", where);
  if (heatmap.allowed && heatmap.allowed.shape() != shape) {
    throw input_error("the mask is of shape " + text(heatmap.allowed.shape()) +
                          ", the weights are of shape " + text(shape),
                      where, "both must have the same shape");
  }
  weights_ = heatmap.weights.dtype() == DType::float32 ? heatmap.weights
                                                       : heatmap.weights.converted(DType::float64);
  allowed_ = as_bytes(heatmap.allowed);
  if (weights_.dtype() == DType::float32) {
    floats_ = weights_.values<float>();
  } else {
    doubles_ = weights_.values<double>();
  }
}

Interval value_range(std::span<const Matrix> matrices, bool without_hidden, bool positive) {
  Interval range = {std::numeric_limits<double>::infinity(),
                    -std::numeric_limits<double>::infinity()};
  for (const Matrix& matrix : matrices) {
    for (std::size_t i = 0; i < matrix.rows(); ++i) {
      for (std::size_t j = 0; j < matrix.columns(); ++j) {
        const double value = matrix.at(i, j);
        if (!std::isfinite(value) || (positive && value <= 0) ||
            (without_hidden && matrix.hidden(i, j)))
          continue;
        range.low = std::min(range.low, value);
        range.high = std::max(range.high, value);
      }
    }
  }
  if (range.low > range.high) return {positive ? 0.1 : 0, 1};
  range = {std::max(range.low, -kLargest), std::min(range.high, kLargest)};
  return nonsingular(range, 0.1, 1e-15);
}

}  // namespace attn::plot
