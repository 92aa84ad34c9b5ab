#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

// Programs over rows of cells of an attention: each step computes one number for every key of a
// piece of a row, in double precision. attention/expression_rows.hpp makes them of expressions.

namespace attn::kernels {

/// Largest number of keys per call.
constexpr std::size_t row_piece = 384;
/// Numbers of a register: a piece, or one whole vector of a number that all keys share.
constexpr std::size_t shared_numbers = 16;

/// Operations on numbers a, b, c; truths are 0 and 1.
enum class RowOperation : std::uint8_t {
  keys,  ///< index of the key
  negative,
  opposite,  ///< 1 − a
  plus,
  minus,
  times,
  over,
  floor_over,  ///< ⌊a / b⌋
  remainder,   ///< a − b ⌊a / b⌋
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
  element,  ///< table[a], [a,b] or [a,b,c]; NaN outside
  row       ///< the last row of a table [a], [a,b] without its last index, which is the key's
};

struct RowStep {
  RowOperation operation;
  std::uint32_t to = 0;  ///< register of the result
  std::array<std::uint32_t, 3> of = {};
  /// The function of one number, where an operation has no vectors or leaves their range.
  double (*function)(double) = nullptr;
  const double* table = nullptr;
  std::array<std::size_t, 3> sizes = {};  ///< axes of the table
  std::uint8_t axes = 0;
};

/// Registers of a program. A register that `varies` has row_piece numbers, with whole vectors
/// behind the last key, else shared_numbers equal ones.
struct RowRegisters {
  double* const* numbers;
  const std::uint8_t* varies;
};

/// Computes the steps for the keys `first_key` … `first_key + count` − 1. Functions are within 4
/// units in the last place, powers within 10⁻¹³ of their size and exact for whole numbers.
void run_steps(std::span<const RowStep> steps, const RowRegisters& registers, std::size_t first_key,
               std::size_t count) noexcept;

/// from[j] · factor.
void widen_row(const float* from, double factor, std::size_t count, double* to) noexcept;
void widen_row(const double* from, double factor, std::size_t count, double* to) noexcept;

/// Conditions of a row that narrow_row() writes.
struct RowOutcome {
  bool nan = false, negative_infinity = false;
  bool too_large = false;  ///< a finite number beyond the range of T
};

/// from[j] · factor in T.
RowOutcome narrow_row(const double* from, double factor, std::size_t count, float* to) noexcept;
RowOutcome narrow_row(const double* from, double factor, std::size_t count, double* to) noexcept;

/// seen[j] &= truths[j]. Returns whether a truth is NaN.
bool keep_true(const double* truths, std::size_t count, std::uint8_t* seen) noexcept;

/// Products or distances of a query and keys.
enum class RowComparison : std::uint8_t { dot, distance };
void compare_rows(RowComparison comparison, const double* query, const double* const* keys,
                  std::size_t count, std::size_t width, double* to) noexcept;

}  // namespace attn::kernels
