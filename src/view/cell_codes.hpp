#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// How the page holds cells: as they are, or as codes of a row that stand for shares of the row's
/// largest value.
enum class CellType { float32, float64, uint8, uint16 };
std::string_view name(CellType type) noexcept;
constexpr bool is_exact(CellType type) noexcept {
  return type == CellType::float32 || type == CellType::float64;
}

/// The codes of one type: 0 … highest stand for shares, those above for what has none.
struct Codes {
  std::uint32_t highest, minus_infinity, infinity, not_a_number, hidden;
};
Codes codes_of(CellType type) noexcept;

/// The code of a share, 0 … 1, cut at these.
std::uint32_t code_of_share(double share, const Codes& codes) noexcept;

/// The code of what has no share; 0 of finite values that are not hidden.
std::uint32_t code_apart(double value, bool hidden, const Codes& codes) noexcept;

/// A matrix as the bytes of a block, little endian.
struct CellBytes {
  std::string cells;
  std::string hidden;  ///< a bit a cell, lowest bit first; empty if none is, or codes tell
  double error = 0;    ///< the largest difference of a cell and what it stands for
};

/// Makes them row by row. Of code types a float32 for each row goes before all codes: the value of
/// the highest code. Of a `diverging` matrix code 0 is its negative, else 0.
class CellRows {
 public:
  CellRows(CellType type, bool diverging) noexcept : type_(type), diverging_(diverging) {}

  /// As many places each as there are columns; hidden is 0 or 1.
  void add(std::span<const double> values, std::span<const std::uint8_t> hidden);
  CellBytes finish() &&;

 private:
  void add_codes(std::span<const double> values, std::span<const std::uint8_t> hidden);

  CellType type_;
  bool diverging_;
  std::string scales_;
  CellBytes bytes_;
  std::size_t count_ = 0;
  bool hides_ = false;
};

/// Appends the bytes of a number, little endian.
void append_float(std::string& bytes, float number);
void append_double(std::string& bytes, double number);
void append_word(std::string& bytes, std::uint32_t number);

}  // namespace attn
