#include "statistics/head_values.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <span>
#include <utility>

#include "attention/attention_steps.hpp"
#include "attention/geometry.hpp"
#include "attention/visibility.hpp"
#include "kernels/row_functions.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// The nearest earlier position with the same token, one per position; `ids.size()` = none.
std::vector<std::size_t> last_with_same(const std::vector<std::int64_t>& ids) {
  std::map<std::int64_t, std::size_t> last;
  std::vector<std::size_t> before;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto [found, is_new] = last.try_emplace(ids[i], i);
    before.push_back(is_new ? ids.size() : found->second);
    found->second = i;
  }
  return before;
}

constexpr std::array<HeadStatisticInfo, head_statistic_count> statistics{{
    {HeadStatistic::previous, "previous", to_translate("Weight on the Previous Token"),
     to_translate("mean weight of a query on the key before it"), true, HeadNeeds::positions,
     to_translate("the previous token")},
    {HeadStatistic::next, "next", to_translate("Weight on the Next Token"),
     to_translate("mean weight of a query on the key after it"), true, HeadNeeds::positions,
     to_translate("the next token")},
    {HeadStatistic::self, "self", to_translate("Weight on the Token Itself"),
     to_translate("mean weight of a query on its own key"), true, HeadNeeds::positions,
     to_translate("the token itself")},
    {HeadStatistic::first, "first", to_translate("Weight on the First Token"),
     to_translate("mean weight of a query on the first key"), true, HeadNeeds::nothing,
     to_translate("the first token")},
    {HeadStatistic::separators, "separators", to_translate("Weight on Separators"),
     to_translate("mean weight of a query on separators such as [SEP]"), true, HeadNeeds::tokens,
     to_translate("separators")},
    {HeadStatistic::entropy, "entropy", to_translate("Entropy in Nats"),
     to_translate("mean entropy of a query's weights, in nats"), false},
    {HeadStatistic::entropy_share, "entropy_share", to_translate("Entropy as Share of the Largest"),
     to_translate("mean entropy of a query's weights, divided by the largest possible over the "
                  "keys it sees"),
     true},
    {HeadStatistic::distance, "distance", to_translate("Mean Distance in Tokens"),
     to_translate("mean distance of keys from their query, weighted"), false, HeadNeeds::positions},
    {HeadStatistic::confidence, "confidence", to_translate("Mean Largest Weight"),
     to_translate("mean largest weight of a query"), true},
    {HeadStatistic::sink, "sink", to_translate("Attention Sink"),
     to_translate(
         "1 if the mean weight on the first key is above the threshold, else 0; a mean is a rate"),
     true},
    {HeadStatistic::previous_score, "previous_score", to_translate("Previous-Token Score"),
     to_translate("share of all weights that lies on the key before the query"), true,
     HeadNeeds::positions},
    {HeadStatistic::duplicate_score, "duplicate_score", to_translate("Duplicate-Token Score"),
     to_translate("share of all weights that lies on earlier keys of the query's token"), true,
     HeadNeeds::tokens_and_positions, to_translate("earlier occurrences of its token")},
    {HeadStatistic::induction_score, "induction_score", to_translate("Induction Score"),
     to_translate(
         "share of all weights that lies on keys just after earlier ones of the query's token"),
     true, HeadNeeds::tokens_and_positions, to_translate("what followed its token before")},
    {HeadStatistic::score_largest, "score_largest", to_translate("Largest Score"),
     to_translate("largest score of a query and a key that it sees, before softcap; of several "
                  "samples the largest of all"),
     false, HeadNeeds::scores},
    {HeadStatistic::score_median, "score_median", to_translate("Median Score"),
     to_translate("median of the scores of all queries and the keys that they see"), false,
     HeadNeeds::scores},
    {HeadStatistic::score_p99, "score_p99", to_translate("0.99 Quantile of Scores"),
     to_translate("0.99 quantile of the scores of all queries and the keys that they see"), false,
     HeadNeeds::scores},
    {HeadStatistic::sink_share, "sink_share", to_translate("Weight on the Sink Logit"),
     to_translate("mean weight of a query that its head's sink logit takes"), true,
     HeadNeeds::sinks},
}};

// Whether row i of a table is that of statistic i.
template <class Rows, class Statistic>
constexpr bool in_order(const Rows& rows, Statistic statistic_of) {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(statistic_of(rows[i])) != i) return false;
  }
  return true;
}
static_assert(in_order(statistics, [](const HeadStatisticInfo& row) { return row.statistic; }));
static_assert(std::all_of(statistics.begin(), statistics.end(),
                          [](const HeadStatisticInfo& row) { return !row.name.empty(); }));

constexpr std::array<HeadAnalysisInfo, static_cast<std::size_t>(HeadAnalysis::last) + 1> analyses{{
    {HeadAnalysis::rollout, "rollout",
     to_translate("how much of each input token arrives at each position, layer by layer"), false},
    {HeadAnalysis::norms, "norms",
     to_translate("lengths of the vectors that an attention adds up, and how much of other tokens "
                  "is mixed in; for models"),
     true},
    {HeadAnalysis::lens, "lens", to_translate("what each layer's states would predict; for models"),
     true},
    {HeadAnalysis::distances, "distances",
     to_translate("how different the heads are, and their positions on a map"), false},
    {HeadAnalysis::induction, "induction",
     to_translate("what heads look at in random tokens that are repeated; for models"), true},
    {HeadAnalysis::contacts, "contacts",
     to_translate("which residues of a protein touch each other; for ESM's models"), true},
    {HeadAnalysis::loss, "loss",
     to_translate("the loss of each token after those before it; for models that read from left "
                  "to right"),
     true},
    {HeadAnalysis::gradients, "gradients",
     to_translate("what each head and token gives a logit, by its gradients; for models"), true},
}};

}  // namespace

std::span<const HeadStatisticInfo> head_statistics() noexcept {
  return statistics;
}

std::span<const HeadAnalysisInfo> head_analyses() noexcept {
  return analyses;
}

MapPositions::MapPositions(std::size_t row_count, std::size_t column_count,
                           const MapTokens* query_tokens, const MapTokens* key_tokens,
                           bool same_positions)
    : rows(row_count),
      columns(column_count),
      queries(query_tokens),
      keys(key_tokens),
      square(same_positions && row_count == column_count) {
  if (square && queries != nullptr && queries->ids.size() == rows) {
    same_before = last_with_same(queries->ids);
  }
}

void HeadReading::Mean::add(double number) {
  sum += number;
  ++count;
}

double HeadReading::Mean::value() const {
  return count == 0 ? undefined : sum / static_cast<double>(count);
}

void HeadReading::Pattern::add(double row_sum, double row_on, std::size_t cells) {
  all += row_sum;
  on += row_on;
  difference += row_sum - row_on + (static_cast<double>(cells) - row_on);
  ++rows;
}

double HeadReading::Pattern::score(HeadCounting::Measure measure) const {
  if (rows == 0 || !(all > 0)) return undefined;
  return measure == HeadCounting::Measure::share ? on / all
                                                 : 1 - difference / static_cast<double>(rows);
}

HeadReading::HeadReading(const MapPositions& positions, const HeadCounting& counting)
    : map_(positions), counting_(counting) {}

void HeadReading::add(const float* row, std::optional<std::size_t> seen) {
  read(row, seen);
}

void HeadReading::add(const double* row, std::optional<std::size_t> seen) {
  read(row, seen);
}

bool HeadReading::counts() const {
  return !counting_.ignore_special || map_.queries == nullptr ||
         row_ >= map_.queries->special.size() || map_.queries->special[row_] == 0;
}

template <class T>
void HeadReading::read(const T* row, std::optional<std::size_t> seen) {
  const std::optional<double> for_this = std::exchange(for_next_, std::nullopt);
  // A position with weights is not padding, so that the row before it has a next token.
  if (for_this && std::any_of(row, row + map_.columns, [](T number) { return number != 0; })) {
    next_.add(*for_this);
  }
  const std::size_t i = row_;
  if (!counts()) {
    ++row_;
    return;
  }
  const kernels::RowSums sums = kernels::row_sums(row, map_.columns, static_cast<double>(i));
  if (sums.sum != 0) {  // 0: padding, or a query that sees nothing
    all_ += sums.sum;
    distance_ += sums.distance;
    entropy_.add(sums.entropy);
    const std::size_t keys = seen.value_or(sums.positive);
    if (keys > 1) entropy_share_.add(sums.entropy / std::log(static_cast<double>(keys)));
    confidence_.add(sums.largest);
    if (map_.sinks) sink_share_.add(std::max(0.0, 1 - sums.sum));
    first_.add(row[0]);
    if (map_.keys != nullptr && !map_.keys->separator.empty()) {
      double sum = 0;
      for (std::size_t j = 0; j < map_.columns; ++j) {
        if (map_.keys->separator[j] != 0) sum += row[j];
      }
      separators_.add(sum);
    }
    if (map_.square) {
      self_.add(row[i]);
      if (i > 0) previous_.add(row[i - 1]);
      if (i + 1 < map_.columns) for_next_ = row[i + 1];
      read_patterns(row, sums.sum);
    }
  }
  ++row_;
}

template <class T>
void HeadReading::read_patterns(const T* row, double sum) {
  const std::size_t i = row_, rows = map_.rows;
  const auto left_out = [&](std::size_t j) {
    return (counting_.without_first_key && j == 0) || (counting_.without_self && j == i);
  };
  if (counting_.without_first_key) sum -= row[0];
  if (counting_.without_self && !(counting_.without_first_key && i == 0)) sum -= row[i];
  double on = 0;
  std::size_t cells = 0;
  const auto take = [&](std::size_t j) {
    if (left_out(j)) return;
    on += row[j];
    ++cells;
  };
  if (i > 0) take(i - 1);
  previous_pattern_.add(sum, on, cells);
  const std::vector<std::size_t>& before = map_.same_before;
  if (before.empty()) return;
  on = 0, cells = 0;
  for (std::size_t j = before[i]; j < rows; j = before[j]) take(j);
  duplicates_.add(sum, on, cells);
  on = 0, cells = 0;
  for (std::size_t j = before[i]; j < rows; j = before[j]) take(j + 1);
  inductions_.add(sum, on, cells);
}

// The number of each statistic, at the place of its name: a statistic without a row does not
// compile.
struct HeadReading::Row {
  HeadStatistic statistic;
  double (*value)(const HeadReading& reading);
};

HeadValues HeadReading::values() const {
  using Reading = const HeadReading&;
  using enum HeadStatistic;
  static constexpr std::array<Row, head_statistic_count> rows{{
      {previous, [](Reading r) { return r.previous_.value(); }},
      {next, [](Reading r) { return r.next_.value(); }},
      {self, [](Reading r) { return r.self_.value(); }},
      {first, [](Reading r) { return r.first_.value(); }},
      {separators, [](Reading r) { return r.separators_.value(); }},
      {entropy, [](Reading r) { return r.entropy_.value(); }},
      {entropy_share, [](Reading r) { return r.entropy_share_.value(); }},
      {distance,
       [](Reading r) { return r.map_.square && r.all_ > 0 ? r.distance_ / r.all_ : undefined; }},
      {confidence, [](Reading r) { return r.confidence_.value(); }},
      {sink,
       [](Reading r) {
         if (r.first_.count == 0 || std::isnan(r.first_.sum)) return undefined;
         return r.first_.value() > r.counting_.sink_threshold ? 1.0 : 0.0;
       }},
      {previous_score, [](Reading r) { return r.previous_pattern_.score(r.counting_.measure); }},
      {duplicate_score, [](Reading r) { return r.duplicates_.score(r.counting_.measure); }},
      {induction_score, [](Reading r) { return r.inductions_.score(r.counting_.measure); }},
      {score_largest, [](Reading r) { return r.scores_.largest; }},
      {score_median, [](Reading r) { return r.scores_.median; }},
      {score_p99, [](Reading r) { return r.scores_.high; }},
      {sink_share, [](Reading r) { return r.sink_share_.value(); }},
  }};
  static_assert(in_order(rows, [](const Row& row) { return row.statistic; }));
  static_assert(
      std::all_of(rows.begin(), rows.end(), [](const Row& row) { return row.value != nullptr; }));
  HeadValues values{};
  for (std::size_t i = 0; i < rows.size(); ++i) values[i] = rows[i].value(*this);
  return values;
}

HeadValues head_values(const CountedMap& map, const HeadCounting& counting) {
  const std::size_t rows = map.weights.shape()[0], columns = map.weights.shape()[1];
  const MapPositions positions(rows, columns, map.queries, map.keys, map.same_positions);
  return head_values(map, positions, counting);
}

HeadValues head_values(const CountedMap& map, const MapPositions& positions,
                       const HeadCounting& counting) {
  HeadReading reading(positions, counting);
  reading.add(map.scores);
  with_floats(map.weights, [&](const auto numbers) {
    for (std::size_t i = 0; i < positions.rows; ++i) {
      reading.add(numbers.data() + i * positions.columns,
                  map.seen.empty() ? std::nullopt : std::optional(map.seen[i]));
    }
  });
  return reading.values();
}

OffsetMeans::OffsetMeans(std::size_t length, std::size_t reach)
    : length_(length), reach_(reach), sums_(2 * reach + 1) {}

void OffsetMeans::add(const float* row) {
  read(row);
}

void OffsetMeans::add(const double* row) {
  read(row);
}

template <class T>
void OffsetMeans::read(const T* row) {
  const std::size_t first = row_ - std::min(row_, reach_);
  const std::size_t end = std::min(length_, row_ + reach_ + 1);
  double* const sums = sums_.data() + (first + reach_ - row_);
  for (std::size_t j = first; j < end; ++j) sums[j - first] += static_cast<double>(row[j]);
  ++row_;
}

std::vector<double> OffsetMeans::means() const {
  std::vector<double> means(sums_.size(), undefined);
  for (std::size_t at = 0; at < means.size(); ++at) {
    const std::size_t away = at < reach_ ? reach_ - at : at - reach_;
    if (away < length_) means[at] = sums_[at] / static_cast<double>(length_ - away);
  }
  return means;
}

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
