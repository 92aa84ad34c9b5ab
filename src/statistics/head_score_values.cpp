#include <algorithm>
#include <array>
#include <bit>
#include <span>

#include "attention/geometry.hpp"
#include "attention/score_products.hpp"
#include "attention/visibility.hpp"
#include "statistics/head_values.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

// Groups of scores whose floats share their leading bits: sign, exponent and 2 or, where there are
// many scores, 7 bits behind it. The numbers of the groups rise with the scores.
class Grouping {
 public:
  explicit Grouping(std::size_t scores) : bits_(scores < (std::size_t{1} << 16U) ? 11 : 16) {}

  std::size_t count() const { return std::size_t{1} << bits_; }
  template <class T>
  std::uint32_t of(T score) const {
    const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(score));
    return (bits ^ ((bits >> 31U) != 0 ? 0xFFFFFFFFU : 0x80000000U)) >> (32U - bits_);
  }
  /// Whether the group is one of infinities and NaN, whose exponent is the largest.
  bool is_outside(std::size_t group) const {
    const std::size_t own = count() >> 9U;  // groups of one sign and exponent
    return group < own || group >= count() - own;
  }

 private:
  unsigned bits_;
};

/// Scores of one group that holds a score of a wanted rank, and how many scores lie before it.
template <class T>
struct Group {
  std::uint64_t before;
  std::vector<T> scores;
};

/// Values of up to `most_scores` scores that `each_row(take)` hands over as spans, twice the same
/// ones: counted by groups first, then picked from the groups that hold what is wanted.
template <class T, class EachRow>
ScoreValues values_of_rows(std::size_t most_scores, const EachRow& each_row) {
  const Grouping grouping(most_scores);
  // In turns, as neighbours are often of one group.
  std::vector<std::uint64_t> counts(grouping.count()), others(grouping.count());
  each_row([&](std::span<const T> row) {
    for (std::size_t j = 0; j + 1 < row.size(); j += 2) {
      ++counts[grouping.of(row[j])];
      ++others[grouping.of(row[j + 1])];
    }
    if (row.size() % 2 == 1) ++counts[grouping.of(row.back())];
  });
  std::uint64_t count = 0;
  for (std::size_t number = 0; number < counts.size(); ++number) {
    counts[number] += others[number];
    count += counts[number];
    // Before and behind the groups of numbers are infinities and NaN.
    if (counts[number] > 0 && grouping.is_outside(number)) return {};
  }
  if (count == 0) return {};

  const auto place = [&](double share) { return share * static_cast<double>(count - 1); };
  const auto rank_of = [&](double share) { return static_cast<std::uint64_t>(place(share)); };
  const auto next = [&](std::uint64_t rank) { return std::min(rank + 1, count - 1); };
  const std::uint64_t middle = rank_of(0.5), high = rank_of(0.99);
  const std::array ranks{middle, next(middle), high, next(high), count - 1};
  std::vector<Group<T>> groups;
  std::vector<std::uint8_t> slots(grouping.count());  // of each group, from 1; 0 = not wanted
  std::uint64_t before = 0;
  for (std::size_t number = 0; before < count; ++number) {
    const std::uint64_t end = before + counts[number];
    if (end > before &&
        std::ranges::any_of(ranks, [&](std::uint64_t r) { return r >= before && r < end; })) {
      groups.push_back({before, {}});
      groups.back().scores.reserve(counts[number]);
      slots[number] = static_cast<std::uint8_t>(groups.size());
    }
    before = end;
  }
  each_row([&](std::span<const T> row) {
    for (const T score : row) {
      const std::uint8_t slot = slots[grouping.of(score)];
      if (slot != 0) groups[slot - 1U].scores.push_back(score);
    }
  });
  const auto ranked = [&](std::uint64_t rank) {
    Group<T>& group = *(std::ranges::upper_bound(groups, rank, {}, &Group<T>::before) - 1);
    const auto at = group.scores.begin() + static_cast<std::ptrdiff_t>(rank - group.before);
    std::nth_element(group.scores.begin(), at, group.scores.end());
    return static_cast<double>(*at);
  };
  const auto quantile = [&](double share, std::uint64_t rank) {
    const double below = ranked(rank), above = ranked(next(rank));
    return below + (place(share) - static_cast<double>(rank)) * (above - below);
  };
  return {ranked(count - 1), quantile(0.5, middle), quantile(0.99, high)};
}

template <class T>
std::vector<ScoreValues> values_of_products(const AttentionRequest& request,
                                            const std::vector<std::uint8_t>& left_out) {
  constexpr std::size_t held = std::size_t{1} << 22U;  // scores
  const Geometry geometry = check_geometry(request);
  const Visibility visibility(request.mask, geometry, {});
  const ScoreProducts<T> products(request, geometry, visibility.places());
  const std::size_t rows = geometry.queries, keys = geometry.keys;
  const std::size_t block = std::clamp<std::size_t>(held / keys, 1, rows);
  std::vector<ScoreValues> values(geometry.heads);
  parallel_for(geometry.heads, request.threads, [&](std::size_t h) {
    const auto packed = products.packed(0, h);
    const auto scores = new_elements<T>(block * keys);
    std::size_t computed = rows;  // the first row of the block that is held
    values[h] = values_of_rows<T>(rows * keys, [&](const auto& take) {
      for (std::size_t first = 0; first < rows; first += block) {
        const std::size_t count = std::min(block, rows - first);
        if (computed != first) products.multiply(packed, first, count, scores.get());
        computed = first;
        for (std::size_t i = first; i < first + count; ++i) {
          if (!left_out.empty() && left_out[i] != 0) continue;
          const T* const row = scores.get() + (i - first) * keys;
          const auto [begin, end] = visibility.interval(0, i);
          take(std::span<const T>(row + begin, end - begin));
        }
      }
    });
  });
  return values;
}

}  // namespace

std::vector<ScoreValues> score_values(const AttentionRequest& request,
                                      const std::vector<std::uint8_t>& left_out) {
  return request.dtype == DType::float64 ? values_of_products<double>(request, left_out)
                                         : values_of_products<float>(request, left_out);
}

}  // namespace attn
