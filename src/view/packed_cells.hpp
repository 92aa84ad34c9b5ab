#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "view/map_rows.hpp"
#include "view/page_input.hpp"

namespace attn {

/// Types of cells in the page: values, or codes of their shares of the largest value
/// of their row.
enum class CellType { float32, float64, uint8, uint16 };
std::string_view name(CellType type) noexcept;
constexpr bool is_exact(CellType type) noexcept {
  return type == CellType::float32 || type == CellType::float64;
}

/// The codes of one type: 0 … highest are shares, the others values that have none.
struct Codes {
  std::uint32_t highest, minus_infinity, infinity, not_a_number, hidden;
};
Codes codes_of(CellType type) noexcept;

/// A matrix as the bytes of a block, little endian.
struct CellBytes {
  std::string cells;
  std::string hidden;  ///< a bit per cell, lowest bit first; empty if none is, or codes say so
  double error = 0;    ///< the largest difference of a cell and its value
};

/// Makes them row by row. Of code types a float32 for each row goes before all codes: the value of
/// the highest code. Of a `diverging` matrix code 0 is its negative, else 0.
class CellRows {
 public:
  CellRows(CellType type, bool diverging) noexcept : type_(type), diverging_(diverging) {}

  /// Adds a row: a value and a 0 or 1 of `hidden` for each column.
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

/// Plan by which all maps of a page stay within its budget of cells.
struct CellPlan {
  /// Whether values are kept as they are; else as codes of this type.
  bool exact = true;
  CellType codes = CellType::uint16;
  std::size_t all = 0;             ///< cells before anything is reduced
  std::size_t side = 0;            ///< queries and keys beyond this number are pooled; 0 = none are
  std::size_t strongest_keys = 0;  ///< kept of each query of a pooled map

  /// Number of rows or columns that a map keeps of `positions`: the number of equal bins.
  std::size_t kept(std::size_t positions) const noexcept;
};

/// The plan for maps of these sizes: values as they are while they are few, else codes.
CellPlan cell_plan(std::span<const ViewedInput::Sizes> sizes, std::size_t budget);

/// A raw deflate stream of the bytes, as base64. Equal bytes give equal text.
std::string packed_block(std::string_view bytes);

/// A map as blocks of the page.
struct PackedMap {
  CellType type = CellType::float32;
  std::size_t rows = 0, columns = 0;
  std::string cells, hidden, strongest;  ///< packed; the last two may be empty
  std::size_t strongest_keys = 0;
  double error = 0;
};

/// `range` is that of the map's values; `exact_type` what they are stored as where the plan keeps
/// them.
PackedMap packed_map(const MapRows& map, const FiniteRange& range, const CellPlan& plan,
                     CellType exact_type, bool diverging);

/// Small pictures of all heads, as codes of the range that is known when all are there.
class Thumbnails {
 public:
  static constexpr std::size_t side = 32;

  static ReducedMap of(const MapRows& map, bool diverging);

  void add(const ReducedMap& map, bool diverging);

  /// The codes of all: weights are coded relative to [least, most], diverging maps to
  /// [−furthest, furthest].
  std::string codes(double least, double most, double furthest) const;

 private:
  struct Map {
    std::size_t first, end;
    bool diverging;
  };
  std::vector<Map> maps_;
  std::vector<float> values_;
  std::vector<std::uint8_t> hidden_;
};

}  // namespace attn
