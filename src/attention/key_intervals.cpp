#include "attention/key_intervals.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <limits>
#include <utility>

#include "kernels/attention_kernels.hpp"
#include "support/parallel_for.hpp"

namespace attn {
namespace {

// Queries whose groups of keys are noted together.
constexpr std::size_t queries_together = 16;

std::size_t group_count(std::size_t keys) {
  return (keys + kernels::key_group - 1) / kernels::key_group;
}

std::size_t span_count(std::size_t queries) {
  return (queries + queries_together - 1) / queries_together;
}

}  // namespace

KeyIntervals::KeyIntervals(const Visibility& visibility)
    : visibility_(visibility), whole_(visibility.only_intervals()) {}

KeyIntervals::KeyIntervals(const Visibility& visibility, const Geometry& geometry,
                           std::size_t threads)
    : KeyIntervals(visibility) {
  if (!visibility.has_where()) return;
  queries_ = geometry.queries;
  keys_ = geometry.keys;
  found_heads_ = visibility.differs_by_head() ? geometry.heads : 1;
  const std::size_t maps = geometry.batch * found_heads_, groups = group_count(keys_);
  const std::size_t spans = span_count(queries_);
  std::vector<Visibility::Interval> found(maps * queries_);
  std::vector<std::uint8_t> seen_groups(maps * spans * groups);
  std::atomic<bool> holds = true;
  parallel_for(maps * spans, threads, [&](std::size_t task) {
    const std::size_t at = task / spans, first = task % spans * queries_together;
    const std::size_t end = std::min(queries_, first + queries_together);
    for (std::size_t query = first; query < end; ++query) {
      bool all = true;
      found[at * queries_ + query] = find(at / found_heads_, at % found_heads_, query, all,
                                          std::span(seen_groups).subspan(task * groups, groups));
      if (!all) holds = false;
    }
  });
  found_ = std::move(found);
  holds_ = holds;
  whole_ = holds_ && visibility.only_intervals(false);
  if (!holds_) found_groups_ = std::move(seen_groups);
}

// The first key and the end of those that all parts leave. `holds`: whether `where` hides none
// between them. Notes in which groups they are.
Visibility::Interval KeyIntervals::find(std::size_t batch, std::size_t head, std::size_t query,
                                        bool& holds, std::span<std::uint8_t> groups) const {
  const Visibility::Interval places = visibility_.interval(batch, query);
  std::vector<std::uint8_t> seen(places.end - places.first, 1);
  visibility_.hide(batch, head, query, places.first, seen,
                   {.where = false, .bias = true, .others = true});
  const std::vector<std::uint8_t> otherwise = seen;
  visibility_.hide(batch, head, query, places.first, seen,
                   {.where = true, .bias = false, .others = false});
  const auto first = std::ranges::find(seen, 1);
  if (first == seen.end()) return {places.first, places.first};
  const auto last = std::find(seen.rbegin(), seen.rend(), 1).base();
  holds = std::equal(first, last, otherwise.begin() + (first - seen.begin()));
  for (std::size_t j = 0; j < seen.size();) {
    const std::size_t group = (places.first + j) / kernels::key_group;
    const std::size_t end = std::min((group + 1) * kernels::key_group - places.first, seen.size());
    if (std::memchr(seen.data() + j, 1, end - j) != nullptr) groups[group] = 1;
    j = end;
  }
  return {places.first + static_cast<std::size_t>(first - seen.begin()),
          places.first + static_cast<std::size_t>(last - seen.begin())};
}

Visibility::Interval KeyIntervals::of(std::size_t batch, std::size_t head,
                                      std::size_t query) const {
  if (found_.empty()) return visibility_.interval(batch, query);
  return found_[map(batch, head) * queries_ + query];
}

std::vector<std::uint8_t> KeyIntervals::seen_groups(std::size_t batch, std::size_t head,
                                                    std::size_t first_query,
                                                    std::size_t queries) const {
  if (found_groups_.empty()) return {};
  const std::size_t groups = group_count(keys_), spans = span_count(queries_);
  std::vector<std::uint8_t> seen(groups);
  for (std::size_t span = first_query / queries_together;
       span <= (first_query + queries - 1) / queries_together; ++span) {
    const auto* const own = found_groups_.data() + (map(batch, head) * spans + span) * groups;
    for (std::size_t group = 0; group < groups; ++group) seen[group] |= own[group];
  }
  return seen;
}

template <class T>
void KeyIntervals::add_terms(std::size_t batch, std::size_t head, std::size_t query,
                             std::size_t first, std::span<T> added, const double* terms) const {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  constexpr double most = static_cast<double>(std::numeric_limits<T>::max()) / 128;
  if (const auto [numbers, step] = visibility_.bias_row(batch, head, query); numbers != nullptr) {
    // A bias of −∞ stays and hides its key, so that only the other parts are asked below.
    const double* const bias = numbers + first * step;
    const auto put = [&](const auto& term) {
      for (std::size_t j = 0; j < added.size(); ++j) {
        const double x = term(j);
        added[j] = static_cast<T>(x == hidden ? hidden : std::clamp(x, -most, most));
      }
    };
    if (terms != nullptr) {
      put([&, step = step](std::size_t j) { return bias[j * step] + terms[j]; });
    } else if (step == 1) {
      put([&](std::size_t j) { return bias[j]; });
    } else {
      put([&, step = step](std::size_t j) { return bias[j * step]; });
    }
  } else {
    std::fill(added.begin(), added.end(), T(0));
  }
  const Visibility::Asked asked{.where = visibility_.has_where() && !holds_,
                                .bias = false,
                                .others = visibility_.has_others()};
  if (!asked.where && !asked.others) return;
  std::array<std::uint8_t, 512> seen;
  for (std::size_t done = 0; done < added.size(); done += seen.size()) {
    const std::size_t count = std::min(seen.size(), added.size() - done);
    std::fill_n(seen.begin(), count, std::uint8_t{1});
    visibility_.hide(batch, head, query, first + done, {seen.data(), count}, asked);
    for (std::size_t j = 0; j < count; ++j) {
      added[done + j] = seen[j] ? added[done + j] : static_cast<T>(hidden);
    }
  }
}

void KeyIntervals::add(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
                       std::span<float> added, const double* terms) const {
  add_terms(batch, head, query, first, added, terms);
}

void KeyIntervals::add(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
                       std::span<double> added, const double* terms) const {
  add_terms(batch, head, query, first, added, terms);
}

}  // namespace attn
