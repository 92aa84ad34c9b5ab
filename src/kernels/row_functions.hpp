#pragma once

#include <array>
#include <cstddef>

// Functions of single rows of numbers: activations, sums of weights, norms and rotations of heads.

namespace attn::kernels {

/// Activations of a feed-forward: max(0, x); its square; x·Φ(x); its approximation by tanh,
/// ½x(1 + tanh(constant·(x + 0.044715 x³))); x / (1 + e^(−constant·x)).
enum class Curve { relu, relu_squared, gelu, gelu_by_tanh, sigmoid };

/// y[i] = f(x[i]), times up[i] unless `up` is null; y may be x. Single precision: within 1e-7·|x|
/// and 3 units in the last place.
void activate(Curve curve, float constant, const float* x, const float* up, std::size_t count,
              float* y) noexcept;

/// Sums over a row of weights a for statistics of heads.
struct RowSums {
  double sum = 0;            ///< Σ a
  double entropy = 0;        ///< −Σ a ln a in nats, with 0 ln 0 = 0
  double distance = 0;       ///< Σ a·|position − j|
  double largest = 0;        ///< max a; NaN if any number is
  std::size_t positive = 0;  ///< numbers above 0
};

/// The sums of `count` weights of the query at that position, in double precision.
RowSums row_sums(const float* row, std::size_t count, double position) noexcept;
RowSums row_sums(const double* row, std::size_t count, double position) noexcept;

/// (x − mean) / √(mean of squares + eps) · weight + bias for rows of `width` numbers, with the
/// row's mean, or 0 for an RMS norm. A null weight is 1, a null bias 0.
struct RowNorm {
  const double *weight, *bias;
  double eps;
  bool subtracts_mean;
};

/// Norms of `count` rows that lie one after the other, in double precision and rounded once. No row
/// changes the numbers of another.
void normalise_rows(const float* x, std::size_t count, std::size_t width, const RowNorm& norm,
                    float* to) noexcept;
void normalise_rows(const double* x, std::size_t count, std::size_t width, const RowNorm& norm,
                    double* to) noexcept;

/// Cosines and sines, [rows,pairs] each, of rotations of pairs of columns: columns n and n + pairs,
/// or 2n and 2n + 1 if interleaved.
struct RowTurns {
  const double *cos, *sin;
  std::size_t pairs;
  bool interleaved;
};

/// Norms and turns `count` rows of queries or keys, `stride` numbers apart in `from` and `to`. Each
/// step is in double precision and rounded to float. Norm and turns may be null.
void prepare_rows(const float* from, std::size_t count, std::size_t width, std::size_t stride,
                  const RowNorm* norm, const RowTurns* turns, float* to) noexcept;

// Rounding errors of products y = x Wᵀ + b in single precision.

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

/// Keys whose quadratic forms are computed together, one per lane.
constexpr std::size_t form_keys = 8;

/// Distance between vectors for pair_products(), in numbers; those beyond the width are 0.
constexpr std::size_t padded_width(std::size_t width) noexcept {
  return (width + form_keys - 1) / form_keys * form_keys;
}

/// The products of `count` vectors with each other: that of vectors g and h ≤ g goes to
/// products[(g (g + 1) / 2 + h) · form_keys]. `padded` is padded_width() of their width.
void pair_products(const double* vectors, std::size_t count, std::size_t padded,
                   double* products) noexcept;

/// Quadratic forms sums[k] = Σ_g Σ_{h≤g} a_g a_h products[g,h] of form_keys keys, with a_h of key k
/// at weights[h · stride + k]. Products of two different vectors are doubled beforehand. `scratch`
/// holds count · form_keys numbers. Returns false, without sums, if all weights are 0.
template <class T>
struct QuadraticForms {
  const T* weights;
  std::size_t stride, count;
  const double* products;
  double *sums, *scratch;
};
bool quadratic_forms(const QuadraticForms<float>& task) noexcept;
bool quadratic_forms(const QuadraticForms<double>& task) noexcept;

// Numbers stored in blocks of a few bits with a common scale (llama.cpp's ggml), made floats: the
// types that most checkpoints have. tensor/block_numbers.hpp lists all types with their sizes.

/// Make the numbers of `blocks` blocks that lie one after the other; `from` need not be aligned.
/// Blocks of 32 numbers in 18 and 34 bytes.
void widen_q4_0(const std::byte* from, std::size_t blocks, float* to) noexcept;
void widen_q8_0(const std::byte* from, std::size_t blocks, float* to) noexcept;
/// Blocks of 256 numbers in 144, 176 and 210 bytes.
void widen_q4_k(const std::byte* from, std::size_t blocks, float* to) noexcept;
void widen_q5_k(const std::byte* from, std::size_t blocks, float* to) noexcept;
void widen_q6_k(const std::byte* from, std::size_t blocks, float* to) noexcept;

}  // namespace attn::kernels
