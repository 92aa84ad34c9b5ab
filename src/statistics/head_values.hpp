#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "attn/heads.hpp"
#include "attn/tensor.hpp"

namespace attn {

/// The positions of one side of a map, as far as they are known.
struct MapTokens {
  std::vector<std::int64_t> ids;                 ///< equal for equal tokens; empty = not known
  std::vector<std::uint8_t> special, separator;  ///< 0 or 1; empty = none is
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

}  // namespace attn
