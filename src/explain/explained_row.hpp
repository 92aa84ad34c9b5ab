#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "explain/explained_query.hpp"
#include "explain/explanation.hpp"

namespace attn {

/// A query's row of a map of weights that somebody computed.
struct MapRow {
  std::size_t query = 0;
  std::vector<double> weights;        ///< [Lk]
  std::vector<std::uint8_t> allowed;  ///< [Lk], 0 = a mask hides the key; empty = not known
  bool same_positions = false;        ///< queries and keys are the same tokens
  PositionNames query_names, key_names;
};

/// The steps that a row alone can tell: the weights and their sum, the largest in order, how much
/// the query's own position and those beside it have, how spread the weights are (the Shannon
/// entropy in nats), and what is hidden.
void explain_row(const MapRow& row, Explanation& explanation);

}  // namespace attn
