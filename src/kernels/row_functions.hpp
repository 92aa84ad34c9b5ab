#pragma once

#include <cstddef>

// Functions of single rows of numbers: activations, sums of weights, norms and rotations of heads.

namespace attn::kernels {

/// Activations of a feed-forward: max(0, x); x·Φ(x); its approximation by tanh,
/// ½x(1 + tanh(constant·(x + 0.044715 x³))); x / (1 + e^(−constant·x)).
enum class Curve { relu, gelu, gelu_by_tanh, sigmoid };

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

}  // namespace attn::kernels
