#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "attn/attention.hpp"
#include "attn/statistics.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// Numbers of the scores of one head, over the pairs that its mask lets see; NaN without a
/// pair, and where a score is infinite or NaN.
struct ScoreValues {
  double largest = std::numeric_limits<double>::quiet_NaN();
  /// The 0.5 and 0.99 quantiles, between two scores in proportion (Hyndman & Fan 1996, type 7).
  double median = largest, high = largest;
};

/// Scores of a request of scaled dot products of one sample without a past, whose mask is causality
/// and window: products times the scale, before softcap and terms of positions. One for each head.
/// Rows with a 1 in `left_out` [Lq] do not count; empty = all do. Exact, in memory of 2²² scores a
/// thread at most.
std::vector<ScoreValues> score_values(const AttentionRequest& request,
                                      const std::vector<std::uint8_t>& left_out);

/// Tokens of one side of a map, one per row or per column.
struct MapTokens {
  std::vector<std::int64_t> ids;                 ///< equal for equal tokens; empty = unknown
  std::vector<std::uint8_t> special, separator;  ///< 0 or 1; empty = none is
};

/// Sizes, tokens and positions of a matrix of weights [rows,columns], without its numbers.
struct MapPositions {
  std::size_t rows = 0, columns = 0;
  const MapTokens *queries = nullptr, *keys = nullptr;  ///< null = unknown
  bool square = false;  ///< whether row i and column i are one position
  bool sinks = false;   ///< whether a sink logit has what a row's weights lack of 1
  /// The nearest earlier position with the same token, one per position; `rows` = none. Empty if
  /// tokens are unknown or the map is not square.
  std::vector<std::size_t> same_before;

  MapPositions() = default;
  /// `same_positions`: see CountedMap. Keeps the pointers.
  MapPositions(std::size_t row_count, std::size_t column_count, const MapTokens* query_tokens,
               const MapTokens* key_tokens, bool same_positions);
};

/// A matrix of weights [n,m] to compute statistics of.
struct CountedMap {
  Tensor weights;                 ///< float32 or float64
  std::vector<std::size_t> seen;  ///< keys that each row's query sees; empty = those with weight
  const MapTokens *queries = nullptr, *keys = nullptr;  ///< null = unknown
  bool same_positions = false;  ///< whether row i and column i are one position if n = m
  ScoreValues scores;           ///< that the weights come from
};

/// One number per row of head_statistics(), in its order; NaN where a statistic is undefined for
/// the map.
using HeadValues = std::array<double, head_statistic_count>;

/// Statistics of a map A, each a mean over the rows that count:
///  * previous, next, self, first: A[i,i−1], A[i,i+1], A[i,i], A[i,0], over the rows that have such
///    a key; separators: Σ A[i,j] over separators j (Clark et al. 2019, section 3).
///  * entropy: −Σ A ln A in nats; entropy_share: the same divided by the logarithm of the number of
///    keys seen, over the rows that see more than one.
///  * distance: Σ A·|i−j| / Σ A over all rows (Vig & Belinkov 2019, section 4).
///  * confidence: max A[i,·] (Voita et al. 2019, section 4).
///  * sink: 1 if `first` exceeds the threshold, else 0 (Gu et al. 2024, section 3).
///  * scores of patterns: Σ A·P / Σ A, P being 1 on the cells of a pattern: the key before the
///  query;
///    earlier keys of the query's token; keys after such ones (TransformerLens, head_detector).
///  * score_largest, score_median, score_p99: the map's ScoreValues.
///  * sink_share: 1 − Σ A[i,·], what a sink logit takes (Agarwal et al. 2025, section 2).
HeadValues head_values(const CountedMap& map, const HeadCounting& counting);
/// Statistics of one of several maps that share their positions.
HeadValues head_values(const CountedMap& map, const MapPositions& positions,
                       const HeadCounting& counting);

/// The head of a sample of weights [B,H,Lq,Lk] that tells most about the text: whose rows are
/// farthest, in total variation, from what the key alone, or the distance of the key alone, gives.
/// Either is the mean weight of the key or distance over the rows, scaled to a row's sum; of the
/// two the nearer one counts, so that neither a head of the first token nor one of the previous
/// token tells much. At most 32 rows count, evenly spaced. `allowed`: seen keys [B,1 or H,Lq,Lk],
/// or absent; `same_positions`: query i and key i are one position. The first of equal ones.
std::size_t telling_head(const Tensor& weights, const Tensor& allowed, std::size_t sample,
                         bool same_positions, std::size_t threads = 1);

/// Statistics of a matrix whose rows arrive one after the other, each once, from the first on.
class HeadReading {
 public:
  /// Keeps references to both.
  HeadReading(const MapPositions& positions, const HeadCounting& counting);

  /// Takes the next row, `columns` numbers, and the number of keys that its query sees; absent =
  /// those with weight.
  void add(const float* row, std::optional<std::size_t> seen);
  void add(const double* row, std::optional<std::size_t> seen);
  void add(const ScoreValues& scores) { scores_ = scores; }

  HeadValues values() const;

 private:
  struct Row;
  // A mean over the rows that have a number to add.
  struct Mean {
    double sum = 0;
    std::size_t count = 0;

    void add(double number);
    double value() const;  // NaN without numbers
  };
  // Weights on the cells of a pattern.
  struct Pattern {
    double all = 0, on = 0, difference = 0;
    std::size_t rows = 0;

    // Adds a row: the sum of its weights, the sum of those on the pattern, and its pattern's cells.
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
  std::size_t row_ = 0;             // the next one
  std::optional<double> for_next_;  // the last row's weight on the next position
  Mean previous_, next_, self_, first_, separators_, entropy_, entropy_share_, confidence_;
  double all_ = 0, distance_ = 0;
  Pattern previous_pattern_, duplicates_, inductions_;
  Mean sink_share_;
  ScoreValues scores_;
};

/// The mean weight of a map [n,n] at each offset key − query from −reach to reach, over the rows
/// that have such a key.
class OffsetMeans {
 public:
  OffsetMeans(std::size_t length, std::size_t reach);

  /// Takes the next row, `length` numbers.
  void add(const float* row);
  void add(const double* row);

  /// 2·reach + 1 numbers, the one of offset 0 in the middle; NaN where no row has such a key.
  std::vector<double> means() const;

 private:
  template <class T>
  void read(const T* row);

  std::size_t length_, reach_, row_ = 0;
  std::vector<double> sums_;
};

}  // namespace attn
