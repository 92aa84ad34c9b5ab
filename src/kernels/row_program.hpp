#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

// Programs over cells of an attention: each step computes one number for every query and key of a
// piece, in double precision. attention/expression_rows.hpp makes them of expressions.

namespace attn::kernels {

/// Largest number of cells per call: registers of so many stay in the first-level cache, and the
/// choice of each step's operation costs little beside them.
constexpr std::size_t row_piece = 512;
/// A number that all keys share is stored this often, which fills whole vectors on every target.
constexpr std::size_t shared_numbers = 16;

/// Some keys of consecutive queries. Rows of their cells begin at multiples of stride().
struct RowPiece {
  std::size_t first_key, keys;
  std::size_t rows = 1;

  static constexpr std::size_t stride_of(std::size_t keys) {
    return (keys + shared_numbers - 1) / shared_numbers * shared_numbers;
  }
  /// Largest number of rows of so many keys, at most row_piece.
  static constexpr std::size_t most_rows(std::size_t keys) { return row_piece / stride_of(keys); }
  constexpr std::size_t stride() const { return stride_of(keys); }
  constexpr std::size_t distances() const { return keys + rows - 1; }
};

/// a // b and a % b as Python's floats have them: the multiple of b that is nearest to a from below
/// (from above where b < 0), in whole b, and what is left, with the sign of b, also of zero. Unlike
/// ⌊a / b⌋ of the rounded quotient, 1 // 0.1 is 9. Where Python refuses b = 0, a // b is a / b, and
/// a % b is NaN.
inline double floor_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (rest < 0) != (b < 0) ? rest + b : rest;
}
inline double floor_quotient(double a, double b) {
  if (b == 0) return a / b;
  const double rest = std::fmod(a, b);
  // A multiple of b but for its rounding.
  double quotient = (a - rest) / b;
  if (rest != 0 && (rest < 0) != (b < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double whole = std::floor(quotient);
  return quotient - whole > 0.5 ? whole + 1 : whole;
}

/// Operations on numbers a, b, c; truths are 0 and 1.
enum class RowOperation : std::uint8_t {
  keys,            ///< index of the key
  query_less_key,  ///< a − b, where a grows by 1 with each query and b with each key
  key_less_query,  ///< b − a
  negative,
  opposite,  ///< 1 − a
  plus,
  minus,
  times,
  over,
  floor_over,        ///< floor_quotient()
  floor_over_whole,  ///< the same of whole numbers below 2⁵³: ⌊a / b⌋ of the rounded quotient
  remainder,         ///< floor_remainder()
  power,
  exact_power,  ///< that of the standard library
  less,
  at_most,
  equal,
  unequal,
  both,    ///< a and b
  either,  ///< a or b
  choice,  ///< b where a is true, else c
  smaller,
  greater,
  raised,   ///< a, at least b
  lowered,  ///< a, at most b
  outside,  ///< whether a is not an index below b
  absolute,
  exp,
  exp2,
  log,
  log2,
  square_root,
  tanh,
  sin,
  cos,
  floor,
  round,
  sign,
  sigmoid,
  applied,  ///< function(a)
  element,  ///< table[a], [a,b]… of as many indices as operands; NaN outside
  row       ///< the last row of a table [a], [a,b] without its last index, which is the key's
};

/// Operands of a step, and so axes of a table.
constexpr std::size_t most_operands = 4;

struct RowStep {
  RowOperation operation;
  std::uint32_t to = 0;  ///< register of the result
  std::array<std::uint32_t, most_operands> of = {};
  /// The function of one number, where an operation has no vectors or leaves their range.
  double (*function)(double) = nullptr;
  const double* table = nullptr;
  std::array<std::size_t, most_operands> sizes = {};  ///< axes of the table
  std::uint8_t axes = 0;
};

/// Registers of a program, each of row_piece numbers: one per cell, [rows, stride], where it varies
/// by query and key; shared_numbers equal ones per query; one per key; one per distance of key and
/// query, from that of the last query and the first key on; or shared_numbers for all.
struct RowRegisters {
  static constexpr std::uint8_t by_query = 1, by_key = 2, by_distance = 4;
  double* const* numbers;
  const std::uint8_t* varies;
};

/// Computes the steps for a piece. Functions are within 4 units in the last place, powers within
/// 10⁻¹³ of their size and exact for whole numbers.
void run_steps(std::span<const RowStep> steps, const RowRegisters& registers,
               const RowPiece& piece) noexcept;

/// from[r · stride + j] · factor as the cells of a piece.
void widen_rows(const float* from, std::size_t stride, double factor, const RowPiece& piece,
                double* to) noexcept;
void widen_rows(const double* from, std::size_t stride, double factor, const RowPiece& piece,
                double* to) noexcept;

/// Conditions of cells that narrow_rows() writes.
struct RowOutcome {
  bool nan = false, negative_infinity = false;
  bool too_large = false;  ///< a finite number beyond the range of T
};

/// The cells of a piece · factor in T, at to[r · stride + j].
RowOutcome narrow_rows(const double* from, double factor, const RowPiece& piece, float* to,
                       std::size_t stride) noexcept;
RowOutcome narrow_rows(const double* from, double factor, const RowPiece& piece, double* to,
                       std::size_t stride) noexcept;

/// Factors of numbers before and after steps, and the largest size of a number after the last.
struct RowFactors {
  double widen = 1, narrow = 1;
  double most = std::numeric_limits<double>::infinity();
};

/// Replaces the cells of a piece at cells[r · stride + j], in one pass, by the numbers that
/// widen_rows(), one step and narrow_rows() make of them, to the last bit. The step is the sum,
/// difference or product of register 0 and another register, and varies by query and key. Returns
/// false, and leaves the cells as they are, if a number is not finite in T or larger than the most.
bool replace_cells(const RowStep& step, const RowRegisters& registers, const RowFactors& factors,
                   const RowPiece& piece, float* cells, std::size_t stride) noexcept;
bool replace_cells(const RowStep& step, const RowRegisters& registers, const RowFactors& factors,
                   const RowPiece& piece, double* cells, std::size_t stride) noexcept;

/// seen[j] &= truths[j]. Returns whether a truth is NaN.
bool keep_true(const double* truths, std::size_t count, std::uint8_t* seen) noexcept;

/// Products or distances of a query and keys.
enum class RowComparison : std::uint8_t { dot, distance };
void compare_rows(RowComparison comparison, const double* query, const double* const* keys,
                  std::size_t count, std::size_t width, double* to) noexcept;

}  // namespace attn::kernels
