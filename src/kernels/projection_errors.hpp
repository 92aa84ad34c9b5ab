#pragma once

#include <array>
#include <cstddef>

// Rounding errors of products y = x Wᵀ + b in single precision.

namespace attn::kernels {

/// Σ x² of rows, in single precision.
struct RowSquares {
  /// An upper bound of the finite ones, from 8 rows at a time: a fifth to a third above the largest
  /// for numbers of one distribution. Rows next to one that is not finite are summed exactly.
  float largest = 0;
  bool finite = true;  ///< whether all are
};
/// The sums of `count` rows of `width` numbers one after the other.
RowSquares row_squares(const float* rows, std::size_t count, std::size_t width) noexcept;

/// Number of vectors v of random signs that errors are measured with.
constexpr std::size_t error_probes = 4;

/// Products of signs v with W [outputs,width] and b [outputs].
struct ErrorProbes {
  std::size_t width, outputs;
  const float* signs;                         ///< v: [error_probes,outputs], ±1
  double* mixed;                              ///< vᵀW: [error_probes,width]
  std::array<double, error_probes> constant;  ///< v·b
};

/// Writes columns `first` … `first + count` − 1 of `mixed`.
void mix_columns(const float* W, const ErrorProbes& probes, std::size_t first,
                 std::size_t count) noexcept;

/// Estimates |y − x Wᵀ − b| of `count` rows x [count,width] and y [count,outputs]: the root of the
/// mean of (v·y − vᵀW·x − v·b)² over the signs v, whose expectation is the square of that length
/// (Freivalds 1977). Not finite if a number of the row is not. With y null: the root of the mean of
/// (vᵀW·x)². Over the rows x of W itself the squares of that add up to |W Wᵀ v|².
void measure_errors(const ErrorProbes& probes, const float* x, const float* y, std::size_t count,
                    double* errors) noexcept;

}  // namespace attn::kernels
