#include "plot/numbers/matrix.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/parallel_for.hpp"
#include "support/translated.hpp"

namespace attn::plot {
namespace {

// 0 and 1 from whatever numbers they are stored as.
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
  throw input_error(
      translated("{1} {2} labels for {3} {4}", labels.size(), of, count,
                 of == std::string("query") ? translated("rows") : translated("columns")),
      where, translated("give one label for each, or none"));
}

constexpr std::size_t part_of_cells = 1 << 20;  // cells a task

constexpr Interval nothing = {std::numeric_limits<double>::infinity(),
                              -std::numeric_limits<double>::infinity()};

Interval united(Interval a, Interval b) {
  return {std::min(a.low, b.low), std::max(a.high, b.high)};
}

template <class Number>
Interval range_of(std::span<const Number> values, bool positive) {
  constexpr Number infinity = std::numeric_limits<Number>::infinity();
  constexpr std::size_t lanes = 16;  // side by side, so that vector instructions take them
  std::array<Number, lanes> low, high;
  low.fill(infinity);
  high.fill(-infinity);
  const Number least = positive ? std::numeric_limits<Number>::denorm_min() : -infinity;
  const auto take = [&](Number value, std::size_t lane) {
    // Comparisons with NaN are false; infinities are no values.
    const bool counts = std::abs(value) < infinity && value >= least;
    low[lane] = counts && value < low[lane] ? value : low[lane];
    high[lane] = counts && value > high[lane] ? value : high[lane];
  };
  std::size_t i = 0;
  for (; i + lanes <= values.size(); i += lanes) {
    for (std::size_t lane = 0; lane < lanes; ++lane) take(values[i + lane], lane);
  }
  for (std::size_t lane = 0; i + lane < values.size(); ++lane) take(values[i + lane], lane);
  return {static_cast<double>(*std::min_element(low.begin(), low.end())),
          static_cast<double>(*std::max_element(high.begin(), high.end()))};
}

Interval range_without_hidden(const Matrix& matrix, std::size_t first, std::size_t end,
                              bool positive) {
  Interval range = nothing;
  for (std::size_t cell = first; cell < end; ++cell) {
    const double value = matrix.at(0, cell);
    if (!std::isfinite(value) || (positive && value <= 0) || !matrix.shown(0, cell)) continue;
    range = united(range, {value, value});
  }
  return range;
}

Interval range_of(const Matrix& matrix, bool without_hidden, bool positive, std::size_t threads) {
  const std::size_t cells = matrix.rows() * matrix.columns();
  std::vector<Interval> parts((cells + part_of_cells - 1) / part_of_cells, nothing);
  parallel_for(parts.size(), threads, [&](std::size_t part) {
    const std::size_t first = part * part_of_cells, end = std::min(cells, first + part_of_cells);
    if (without_hidden && matrix.has_hidden()) {
      parts[part] = range_without_hidden(matrix, first, end, positive);
    } else if (matrix.floats().empty()) {
      parts[part] = range_of(matrix.doubles().subspan(first, end - first), positive);
    } else {
      parts[part] = range_of(matrix.floats().subspan(first, end - first), positive);
    }
  });
  Interval range = nothing;
  for (const Interval part : parts) range = united(range, part);
  return range;
}

// The place is rounded to a 256th of a cell: so does Agg, and an edge between cells falls on the
// same pixel.
PixelShares nearest_share(std::size_t cells, double middle) {
  return {std::min(static_cast<std::size_t>(std::floor(middle * 256 + 0.5)) / 256, cells - 1), {1}};
}

PixelShares mean_shares(std::size_t cells, double start, double end) {
  PixelShares result{std::min(static_cast<std::size_t>(start), cells - 1), {}};
  for (std::size_t i = result.first; i < cells && static_cast<double>(i) < end; ++i) {
    const double cell = static_cast<double>(i);
    result.shares.push_back(std::max(0.0, std::min(end, cell + 1) - std::max(start, cell)));
  }
  return result;
}

// Beyond the first and the last cell, the cells are mirrored.
PixelShares hann_shares(std::size_t cells, double middle, double radius) {
  const auto last = static_cast<long>(cells) - 1;
  const auto from = static_cast<long>(std::ceil(middle - radius - 0.5));
  const auto to = static_cast<long>(std::floor(middle + radius - 0.5));
  const auto mirrored = [last](long i) {
    return std::clamp(i < 0 ? -1 - i : i > last ? 2 * last + 1 - i : i, 0L, last);
  };
  long lowest = last, highest = 0;
  for (long i = from; i <= to; ++i) {
    lowest = std::min(lowest, mirrored(i));
    highest = std::max(highest, mirrored(i));
  }
  PixelShares result{static_cast<std::size_t>(lowest),
                     std::vector<double>(static_cast<std::size_t>(highest - lowest + 1))};
  for (long i = from; i <= to; ++i) {
    const double distance = (static_cast<double>(i) + 0.5 - middle) / radius;
    result.shares[static_cast<std::size_t>(mirrored(i) - lowest)] +=
        0.5 + 0.5 * std::cos(std::numbers::pi * distance);
  }
  return result;
}

}  // namespace

Matrix::Matrix(const Heatmap& heatmap, const std::string& where) {
  const Shape& shape = heatmap.weights.shape();
  if (!heatmap.weights && shape.empty()) {
    throw input_error(translated("there are no weights to draw"), where,
                      translated("give a matrix of weights"));
  }
  if (shape.size() != 2) {
    throw input_error(
        translated("weights of shape {1} cannot be drawn as a heatmap", text(shape)), where,
        translated("choose one sample and head: a heatmap is one matrix, [queries,keys]"));
  }
  if (heatmap.weights.size() == 0) {
    throw input_error(translated("weights of shape {1} have no cells to draw", text(shape)), where,
                      translated("give at least one query and one key"));
  }
  rows_ = shape[0];
  columns_ = shape[1];
  check_labels(heatmap.query_labels, rows_, "query", where);
  check_labels(heatmap.key_labels, columns_, "key", where);
  if (heatmap.allowed && heatmap.allowed.shape() != shape) {
    throw input_error(translated("the mask is of shape {1}, the weights are of shape {2}",
                                 text(heatmap.allowed.shape()), text(shape)),
                      where, translated("both must have the same shape"));
  }
  weights_ = heatmap.weights.dtype() == DType::float32 ? heatmap.weights
                                                       : heatmap.weights.converted(DType::float64);
  flags_tensor_ = as_bytes(heatmap.allowed);
  for (const auto& [tensor, flag] :
       {std::pair(&heatmap.hidden_in_effect, in_effect_flag), {&heatmap.missing, missing_flag}}) {
    if (*tensor) set_flags(*tensor, flag, where);
  }
  if (flags_tensor_) flags_ = flags_tensor_.values<std::uint8_t>();
  if (weights_.dtype() == DType::float32) {
    floats_ = weights_.values<float>();
  } else {
    doubles_ = weights_.values<double>();
  }
}

void Matrix::set_flags(const Tensor& cells, std::uint8_t flag, const std::string& where) {
  if (cells.shape() != weights_.shape()) {
    throw input_error(
        translated("the flags of cells are of shape {1}, the weights are of shape {2}",
                   text(cells.shape()), text(weights_.shape())),
        where, translated("both must have the same shape"));
  }
  const Tensor set = as_bytes(cells);
  std::vector<std::uint8_t> flags(set.size(), 1);
  for (std::size_t i = 0; i < flags.size(); ++i) {
    if (flags_tensor_) flags[i] = flags_tensor_.values<std::uint8_t>()[i];
    const bool seen = flag == missing_flag || flags[i] != 0;
    if (set.values<std::uint8_t>()[i] != 0 && seen) flags[i] = flag;
  }
  flags_tensor_ = Tensor(weights_.shape(), std::move(flags));
}

void Matrix::leave_out(const CellChoice& choice) {
  if (!choice.top && !(choice.threshold > 0)) return;
  constexpr double tied = 1e-6;  // relative difference of values that are equal
  std::vector<std::uint8_t> flags(weights_.size(), 1);
  if (has_hidden()) flags.assign(flags_.begin(), flags_.end());
  std::vector<double> row;
  for (std::size_t i = 0; i < rows_; ++i) {
    row.clear();
    for (std::size_t j = 0; j < columns_; ++j) {
      if (shown(i, j) && !std::isnan(at(i, j))) row.push_back(at(i, j));
    }
    double least = -std::numeric_limits<double>::infinity();
    if (choice.top && row.size() > *choice.top) {
      const auto next = row.begin() + static_cast<std::ptrdiff_t>(*choice.top);
      std::nth_element(row.begin(), next, row.end(), std::greater<>());
      least = *next + tied * std::abs(*next);
    }
    for (std::size_t j = 0; j < columns_; ++j) {
      const double value = at(i, j);
      const bool kept = std::abs(value) >= choice.threshold && value > least;
      if (shown(i, j) && !std::isnan(value) && !kept) flags[i * columns_ + j] = left_out_flag;
    }
  }
  flags_tensor_ = Tensor(weights_.shape(), std::move(flags));
  flags_ = flags_tensor_.values<std::uint8_t>();
  has_left_out_ = true;
}

std::optional<Interval> value_range(std::span<const Matrix> matrices, bool without_hidden,
                                    bool positive, std::size_t threads) {
  Interval range = nothing;
  for (const Matrix& matrix : matrices) {
    range = united(range, range_of(matrix, without_hidden, positive, threads));
  }
  if (range.low > range.high) return std::nullopt;
  const double least = positive ? least_positive_value : -largest_value;
  return Interval{std::clamp(range.low, least, largest_value),
                  std::clamp(range.high, least, largest_value)};
}

SpecialCells special_cells(std::span<const Matrix> matrices) {
  SpecialCells special;
  for (const Matrix& matrix : matrices) {
    const auto look = [&](auto values) {
      for (std::size_t cell = 0; cell < values.size(); ++cell) {
        const auto value = values[cell];
        if (value > 0 && std::abs(value) < std::numeric_limits<double>::infinity() &&
            !matrix.has_hidden()) {
          continue;
        }
        if (matrix.by_mask(0, cell)) {
          special.by_mask = true;
        } else if (matrix.in_effect(0, cell)) {
          special.in_effect = true;
        } else if (matrix.missing(0, cell)) {
          special.missing = true;
        } else if (matrix.left_out(0, cell)) {
          special.left_out = true;
        } else if (std::isnan(value)) {
          special.not_a_number = true;
        } else if (std::isinf(value)) {
          (value > 0 ? special.infinity : special.minus_infinity) = true;
        } else if (value <= 0) {
          special.not_positive = true;
        }
      }
    };
    if (matrix.floats().empty()) {
      look(matrix.doubles());
    } else {
      look(matrix.floats());
    }
  }
  return special;
}

std::vector<PixelShares> pixel_shares(std::size_t cells, std::size_t pixels,
                                      Resampling resampling) {
  std::vector<PixelShares> result;
  result.reserve(pixels);
  const double cells_per_pixel = static_cast<double>(cells) / static_cast<double>(pixels);
  for (std::size_t x = 0; x < pixels; ++x) {
    const double start = static_cast<double>(x) * cells_per_pixel;
    const double middle = (static_cast<double>(x) + 0.5) * cells_per_pixel;
    switch (resampling) {
      case Resampling::nearest:
        result.push_back(nearest_share(cells, middle));
        break;
      case Resampling::mean:
        result.push_back(mean_shares(cells, start, start + cells_per_pixel));
        break;
      case Resampling::hann:
        result.push_back(hann_shares(cells, middle, std::max(1.0, cells_per_pixel)));
        break;
    }
    double sum = 0;
    for (const double share : result.back().shares) sum += share;
    for (double& share : result.back().shares) share /= sum;
  }
  return result;
}

}  // namespace attn::plot
