#include "statistics/head_values.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "kernels/row_sums.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr double undefined = std::numeric_limits<double>::quiet_NaN();

// A mean over the rows that have something to add.
struct Mean {
  double sum = 0;
  std::size_t count = 0;

  void add(double number) {
    sum += number;
    ++count;
  }
  double value() const { return count == 0 ? undefined : sum / static_cast<double>(count); }
};

// The cells of a pattern, row by row, and how the weights lie on them.
class Pattern {
 public:
  explicit Pattern(HeadCounting::Measure measure) : measure_(measure) {}

  // A row with the sum of its weights, those of them on the pattern, and how many cells that has.
  void add(double all, double on, std::size_t cells) {
    all_ += all;
    on_ += on;
    difference_ += all - on + (static_cast<double>(cells) - on);
    ++rows_;
  }
  double score() const {
    if (rows_ == 0 || !(all_ > 0)) return undefined;
    return measure_ == HeadCounting::Measure::share ? on_ / all_
                                                    : 1 - difference_ / static_cast<double>(rows_);
  }

 private:
  HeadCounting::Measure measure_;
  double all_ = 0, on_ = 0, difference_ = 0;
  std::size_t rows_ = 0;
};

// Of each position the one before it that has the same token; `ids.size()` = none.
std::vector<std::size_t> same_before(const std::vector<std::int64_t>& ids) {
  std::map<std::int64_t, std::size_t> last;
  std::vector<std::size_t> before;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto [found, is_new] = last.try_emplace(ids[i], i);
    before.push_back(is_new ? ids.size() : found->second);
    found->second = i;
  }
  return before;
}

// One map of numbers of a type.
template <class T>
class MapReader {
 public:
  MapReader(const CountedMap& map, const HeadCounting& counting)
      : map_(map),
        counting_(counting),
        numbers_(map.weights.template values<T>()),
        rows_(map.weights.shape()[0]),
        columns_(map.weights.shape()[1]),
        square_(map.same_positions && rows_ == columns_),
        previous_pattern_(counting.measure),
        duplicates_(counting.measure),
        inductions_(counting.measure) {
    if (square_ && map.queries != nullptr && map.queries->ids.size() == rows_) {
      before_ = same_before(map.queries->ids);
    }
  }

  HeadValues read() {
    for (std::size_t i = 0; i < rows_; ++i) {
      if (counts(i)) read_row(i);
    }
    HeadValues values;
    const auto put = [&](HeadStatistic statistic, double value) {
      values[static_cast<std::size_t>(statistic)] = value;
    };
    put(HeadStatistic::previous, previous_.value());
    put(HeadStatistic::next, next_.value());
    put(HeadStatistic::self, self_.value());
    put(HeadStatistic::first, first_.value());
    put(HeadStatistic::separators, separators_.value());
    put(HeadStatistic::entropy, entropy_.value());
    put(HeadStatistic::entropy_share, entropy_share_.value());
    put(HeadStatistic::distance, square_ && all_ > 0 ? distance_ / all_ : undefined);
    put(HeadStatistic::confidence, confidence_.value());
    put(HeadStatistic::sink, first_.count == 0 || std::isnan(first_.sum) ? undefined
                             : first_.value() > counting_.sink_threshold ? 1
                                                                         : 0);
    put(HeadStatistic::previous_score, previous_pattern_.score());
    put(HeadStatistic::duplicate_score, duplicates_.score());
    put(HeadStatistic::induction_score, inductions_.score());
    return values;
  }

 private:
  bool counts(std::size_t i) const {
    return !counting_.ignore_special || map_.queries == nullptr ||
           i >= map_.queries->special.size() || map_.queries->special[i] == 0;
  }

  // Whether a position is no padding.
  bool is_there(std::size_t i) const {
    const T* row = numbers_.data() + i * columns_;
    return std::any_of(row, row + columns_, [](T number) { return number != 0; });
  }

  void read_row(std::size_t i) {
    const T* row = numbers_.data() + i * columns_;
    const kernels::RowSums sums = kernels::row_sums(row, columns_, static_cast<double>(i));
    if (sums.sum == 0) return;  // padding, or a query that sees nothing
    all_ += sums.sum;
    distance_ += sums.distance;
    entropy_.add(sums.entropy);
    const std::size_t seen = map_.seen.empty() ? sums.positive : map_.seen[i];
    if (seen > 1) entropy_share_.add(sums.entropy / std::log(static_cast<double>(seen)));
    confidence_.add(sums.largest);
    first_.add(row[0]);
    if (map_.keys != nullptr && !map_.keys->separator.empty()) {
      double sum = 0;
      for (std::size_t j = 0; j < columns_; ++j) sum += map_.keys->separator[j] != 0 ? row[j] : 0;
      separators_.add(sum);
    }
    if (!square_) return;
    self_.add(row[i]);
    if (i > 0) previous_.add(row[i - 1]);
    if (i + 1 < columns_ && is_there(i + 1)) next_.add(row[i + 1]);
    read_patterns(row, i, sums.sum);
  }

  void read_patterns(const T* row, std::size_t i, double sum) {
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
    if (before_.empty()) return;
    on = 0, cells = 0;
    for (std::size_t j = before_[i]; j < rows_; j = before_[j]) take(j);
    duplicates_.add(sum, on, cells);
    on = 0, cells = 0;
    for (std::size_t j = before_[i]; j < rows_; j = before_[j]) take(j + 1);
    inductions_.add(sum, on, cells);
  }

  const CountedMap& map_;
  const HeadCounting& counting_;
  std::span<const T> numbers_;
  std::size_t rows_, columns_;
  bool square_;
  std::vector<std::size_t> before_;
  Mean previous_, next_, self_, first_, separators_, entropy_, entropy_share_, confidence_;
  double all_ = 0, distance_ = 0;
  Pattern previous_pattern_, duplicates_, inductions_;
};

constexpr std::array<HeadStatisticInfo, head_statistic_count> statistics{{
    {HeadStatistic::previous, "previous", to_translate("Weight on the Previous Token"),
     to_translate("mean weight of a query on the key before it")},
    {HeadStatistic::next, "next", to_translate("Weight on the Next Token"),
     to_translate("mean weight of a query on the key after it")},
    {HeadStatistic::self, "self", to_translate("Weight on the Token Itself"),
     to_translate("mean weight of a query on its own key")},
    {HeadStatistic::first, "first", to_translate("Weight on the First Token"),
     to_translate("mean weight of a query on the first key")},
    {HeadStatistic::separators, "separators", to_translate("Weight on Separators"),
     to_translate("mean weight of a query on separators such as [SEP]")},
    {HeadStatistic::entropy, "entropy", to_translate("Entropy in Nats"),
     to_translate("mean entropy of a query's weights, in nats")},
    {HeadStatistic::entropy_share, "entropy_share", to_translate("Entropy as Share of the Largest"),
     to_translate("mean entropy of a query's weights, divided by the largest possible over the "
                  "keys it sees")},
    {HeadStatistic::distance, "distance", to_translate("Mean Distance in Tokens"),
     to_translate("mean distance of keys from their query, weighted")},
    {HeadStatistic::confidence, "confidence", to_translate("Mean Largest Weight"),
     to_translate("mean largest weight of a query")},
    {HeadStatistic::sink, "sink", to_translate("Attention Sink"),
     to_translate(
         "1 if the mean weight on the first key is above the threshold, else 0; a mean is a rate")},
    {HeadStatistic::previous_score, "previous_score",
     to_translate("Score of the Previous-Token Pattern"),
     to_translate("share of all weights that lies on the key before the query")},
    {HeadStatistic::duplicate_score, "duplicate_score",
     to_translate("Score of the Duplicate-Token Pattern"),
     to_translate("share of all weights that lies on earlier keys of the query's token")},
    {HeadStatistic::induction_score, "induction_score",
     to_translate("Score of the Induction Pattern"),
     to_translate(
         "share of all weights that lies on keys just after earlier ones of the query's token")},
}};

}  // namespace

std::span<const HeadStatisticInfo> head_statistics() noexcept {
  return statistics;
}

HeadValues head_values(const CountedMap& map, const HeadCounting& counting) {
  return map.weights.dtype() == DType::float32 ? MapReader<float>(map, counting).read()
                                               : MapReader<double>(map, counting).read();
}

}  // namespace attn
