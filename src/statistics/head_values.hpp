#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "attn/heads.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The positions of one side of a map, as far as they are known.
struct MapTokens {
  std::vector<std::int64_t> ids;                 ///< equal for equal tokens; empty = not known
  std::vector<std::uint8_t> special, separator;  ///< 0 or 1; empty = none is
};

/// What is known of a matrix of weights [rows,columns] beside its numbers.
struct MapPositions {
  std::size_t rows = 0, columns = 0;
  const MapTokens *queries = nullptr, *keys = nullptr;  ///< null = not known
  bool square = false;  ///< whether row i and column i are one position
  /// Of each position the one before it that has the same token, `rows` = none; empty = not known.
  std::vector<std::size_t> same_before;

  MapPositions() = default;
  /// `same_positions`: as CountedMap has it.
  MapPositions(std::size_t row_count, std::size_t column_count, const MapTokens* query_tokens,
               const MapTokens* key_tokens, bool same_positions);
};

/// A matrix of weights [n,m] of which statistics are told.
struct CountedMap {
  Tensor weights;                 ///< float32 or float64
  std::vector<std::size_t> seen;  ///< keys that a row's query may see; empty = those with weight
  const MapTokens *queries = nullptr, *keys = nullptr;  ///< null = not known
  bool same_positions = false;  ///< whether row i and column i are one position
};

/// One number for each of head_statistics(); NaN where one has no meaning for the map.
using HeadValues = std::array<double, head_statistic_count>;

/// Each is a mean over the rows that count, of A[i,·]:
///  * previous, next, self, first: of A[i,i−1], A[i,i+1], A[i,i], A[i,0], so far as there is such a
///    key; separators: of Σ A[i,j] over separators j (Clark et al. 2019, section 3).
///  * entropy: of −Σ A ln A in nats; entropy_share: of the same divided by the logarithm of the
///    number of keys seen, where that is more than one.
///  * distance: Σ A·|i−j| / Σ A over all rows (Vig & Belinkov 2019, section 4).
///  * confidence: of max A[i,·] (Voita et al. 2019, section 4).
///  * sink: 1 if `first` is larger than the threshold, else 0 (Gu et al. 2024, section 3).
///  * the scores: Σ A·P / Σ A, where P is 1 on a pattern's cells: the key before the query; earlier
///    keys of the query's token; keys after such ones (TransformerLens, head_detector).
HeadValues head_values(const CountedMap& map, const HeadCounting& counting);
/// The same where the positions of several maps are known already.
HeadValues head_values(const CountedMap& map, const MapPositions& positions,
                       const HeadCounting& counting);

/// The same of a matrix whose rows come one after the other, each but once.
class HeadReading {
 public:
  /// Keeps references to both.
  HeadReading(const MapPositions& positions, const HeadCounting& counting);

  /// The next row and how many keys its query may see; absent = those with weight.
  void add(const float* row, std::optional<std::size_t> seen);
  void add(const double* row, std::optional<std::size_t> seen);

  HeadValues values() const;

 private:
  // A mean over the rows that have something to add.
  struct Mean {
    double sum = 0;
    std::size_t count = 0;

    void add(double number);
    double value() const;  // NaN of none
  };
  // How the weights lie on the cells of a pattern.
  struct Pattern {
    double all = 0, on = 0, difference = 0;
    std::size_t rows = 0;

    // A row with the sum of its weights, those of them on the pattern, and how many cells that has.
    void add(double row_sum, double row_on, std::size_t cells);
    double score(HeadCounting::Measure measure) const;
  };

  template <class T>
  void read(const T* row, std::optional<std::size_t> seen);
  template <class T>
  void read_patterns(const T* row, double sum);
  bool counts() const;

  const MapPositions& map_;
  const HeadCounting& counting_;
  std::size_t row_ = 0;             // that comes next
  std::optional<double> for_next_;  // the last row's weight on this one
  Mean previous_, next_, self_, first_, separators_, entropy_, entropy_share_, confidence_;
  double all_ = 0, distance_ = 0;
  Pattern previous_pattern_, duplicates_, inductions_;
};

}  // namespace attn
