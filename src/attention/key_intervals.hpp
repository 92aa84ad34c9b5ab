#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

namespace attn {

/// A mask without fill as kernels read it: intervals of keys outside of which queries see none, and
/// what is added to the scores within them. Keeps a reference to the visibility.
class KeyIntervals {
 public:
  /// Intervals that window, chunk, causality, prefix and valid lengths leave.
  explicit KeyIntervals(const Visibility& visibility);
  /// Intervals of these and of `where`, which is asked about each of their keys: for many cells.
  KeyIntervals(const Visibility& visibility, const Geometry& geometry, std::size_t threads);

  const Visibility& visibility() const { return visibility_; }

  /// The keys between which the query sees all that it sees.
  Visibility::Interval of(std::size_t batch, std::size_t head, std::size_t query) const;

  /// Whether queries see all keys of their intervals.
  bool whole() const { return whole_; }

  /// Where `where` leaves gaps: whether any of some queries sees a key of each group of
  /// kernels::key_group keys. Empty where all of the intervals may be seen.
  std::vector<std::uint8_t> seen_groups(std::size_t batch, std::size_t head,
                                        std::size_t first_query, std::size_t queries) const;

  /// Writes the terms of the scores of `added.size()` keys of the query's interval from `first` on:
  /// −∞ hides a key, whatever its score is. Biases are bounded by the largest number of the type
  /// divided by 2⁷, which leaves room for a score.
  /// `terms` unless null are further terms of these keys, added in double precision: a bias and a
  /// term that cancel each other leave no rounding.
  void add(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
           std::span<float> added, const double* terms = nullptr) const;
  void add(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
           std::span<double> added, const double* terms = nullptr) const;

 private:
  Visibility::Interval find(std::size_t batch, std::size_t head, std::size_t query, bool& holds,
                            std::span<std::uint8_t> groups) const;
  std::size_t map(std::size_t batch, std::size_t head) const {
    return batch * found_heads_ + (found_heads_ > 1 ? head : 0);
  }
  template <class T>
  void add_terms(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
                 std::span<T> added, const double* terms) const;

  const Visibility& visibility_;
  std::size_t queries_ = 0, keys_ = 0, found_heads_ = 1;
  std::vector<Visibility::Interval> found_;  ///< [batch, heads or 1, queries]; empty = of places
  std::vector<std::uint8_t> found_groups_;   ///< [batch, heads or 1, queries in sixteens, groups]
  bool holds_ = false;  ///< whether `where` hides no key of the intervals that were found
  bool whole_;
};

}  // namespace attn
