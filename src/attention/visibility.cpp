#include "attention/visibility.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/attention_kernels.hpp"
#include "support/parallel_for.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The number of bits that hidden_by() has for parts.
constexpr std::size_t most_parts = 32;

}  // namespace

struct Visibility::Row : HidingPart {
  /// Sets seen[j] = 0 for the keys first + j that the part hides, and keeps the others.
  void (*hide)(const Visibility& self, const Keys& keys, std::span<std::uint8_t> seen);

  static void hide_later(const Visibility&, const Keys& keys, std::span<std::uint8_t> seen) {
    const auto own = static_cast<std::size_t>(std::max<std::ptrdiff_t>(keys.position + 1, 0));
    const std::size_t end = std::max(own, keys.prefix);
    for (std::size_t j = end > keys.first ? end - keys.first : 0; j < seen.size(); ++j) seen[j] = 0;
  }

  static void hide_outside_window(const Visibility& self, const Keys& keys,
                                  std::span<std::uint8_t> seen) {
    if (self.is_global(keys.position)) return;
    const Interval window = self.window_of(keys.position);
    for (std::size_t j = 0; j < seen.size(); ++j) {
      const std::size_t key = keys.first + j;
      seen[j] &=
          (key >= window.first && key < window.end) || self.is_global_[key] || key < keys.prefix;
    }
  }

  static void hide_between_steps(const Visibility& self, const Keys& keys,
                                 std::span<std::uint8_t> seen) {
    if (self.is_global(keys.position)) return;
    const auto step = static_cast<std::ptrdiff_t>(
        std::min(*self.mask_.dilation, self.keys_ + self.queries_ + self.past_ + 1));
    for (std::size_t j = 0; j < seen.size(); ++j) {
      const std::size_t key = keys.first + j;
      seen[j] &= (static_cast<std::ptrdiff_t>(key) - keys.position) % step == 0 ||
                 self.is_global_[key] || key < keys.prefix;
    }
  }

  static void hide_other_chunks(const Visibility& self, const Keys& keys,
                                std::span<std::uint8_t> seen) {
    const Interval chunk = self.chunk_of(keys.position);
    for (std::size_t j = 0; j < seen.size(); ++j) {
      const std::size_t key = keys.first + j;
      seen[j] &= (key >= chunk.first && key < chunk.end) || key < keys.prefix;
    }
  }

  static void hide_other_documents(const Visibility& self, const Keys& keys,
                                   std::span<std::uint8_t> seen) {
    const auto ids = self.mask_.documents.values<std::int64_t>().subspan(
        keys.batch * self.documents_stride_, self.keys_);
    if (keys.position < 0 || keys.position >= static_cast<std::ptrdiff_t>(self.keys_)) {
      std::fill(seen.begin(), seen.end(), std::uint8_t{0});
      return;
    }
    const std::int64_t own = ids[static_cast<std::size_t>(keys.position)];
    for (std::size_t j = 0; j < seen.size(); ++j) seen[j] &= ids[keys.first + j] == own;
  }

  static void hide_elsewhere(const Visibility& self, const Keys& keys,
                             std::span<std::uint8_t> seen) {
    self.hide_elsewhere(keys, seen);
  }

  static void hide_invalid(const Visibility& self, const Keys& keys, std::span<std::uint8_t> seen) {
    const std::size_t end = self.valid_keys(keys.batch, keys.query);
    for (std::size_t j = end > keys.first ? end - keys.first : 0; j < seen.size(); ++j) seen[j] = 0;
  }

  static void hide_padding(const Visibility& self, const Keys& keys, std::span<std::uint8_t> seen) {
    const auto padding = self.mask_.padding.values<std::uint8_t>().subspan(
        keys.batch * self.padding_stride_ + keys.first, seen.size());
    for (std::size_t j = 0; j < seen.size(); ++j) seen[j] &= !padding[j];
  }

  static void hide_not_allowed(const Visibility& self, const Keys& keys,
                               std::span<std::uint8_t> seen) {
    const auto allow = self.allow_.tensor.values<std::uint8_t>();
    const std::size_t at =
        self.allow_.at(keys.batch, keys.head, keys.query) + keys.first * self.allow_.key;
    for (std::size_t j = 0; j < seen.size(); ++j) seen[j] &= allow[at + j * self.allow_.key];
  }

  static void hide_blocked(const Visibility& self, const Keys& keys, std::span<std::uint8_t> seen) {
    const auto block = self.block_.tensor.values<std::uint8_t>();
    const std::size_t at =
        self.block_.at(keys.batch, keys.head, keys.query) + keys.first * self.block_.key;
    for (std::size_t j = 0; j < seen.size(); ++j) seen[j] &= !block[at + j * self.block_.key];
  }

  static void hide_infinite_bias(const Visibility& self, const Keys& keys,
                                 std::span<std::uint8_t> seen) {
    const auto bias = self.bias_.tensor.values<double>();
    const std::size_t at =
        self.bias_.at(keys.batch, keys.head, keys.query) + keys.first * self.bias_.key;
    constexpr double hidden = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < seen.size(); ++j)
      seen[j] &= bias[at + j * self.bias_.key] != hidden;
  }
};

// A part that hides single keys needs a row and its function; one that leaves an interval also a
// line in interval().
std::span<const Visibility::Row> Visibility::rows() noexcept {
  static constexpr auto all = std::to_array<Row>({
      {{"causal", [](const Mask& mask) { return mask.causal; }, true}, &Row::hide_later},
      {{"window", [](const Mask& mask) { return mask.window.has_value(); }, true},
       &Row::hide_outside_window},
      {{"valid_lens", [](const Mask& mask) { return bool(mask.valid_lens); }, true},
       &Row::hide_invalid},
      {{"padding", [](const Mask& mask) { return bool(mask.padding); }, false}, &Row::hide_padding},
      {{"allow", [](const Mask& mask) { return bool(mask.allow); }, false}, &Row::hide_not_allowed},
      {{"block", [](const Mask& mask) { return bool(mask.block); }, false}, &Row::hide_blocked},
      {{"bias", [](const Mask& mask) { return bool(mask.bias); }, false}, &Row::hide_infinite_bias},
      {{"dilation", [](const Mask& mask) { return mask.dilation.has_value(); }, false},
       &Row::hide_between_steps},
      {{"chunk", [](const Mask& mask) { return mask.chunk.has_value(); }, true},
       &Row::hide_other_chunks},
      {{"documents", [](const Mask& mask) { return bool(mask.documents); }, false},
       &Row::hide_other_documents},
      {{"where", [](const Mask& mask) { return bool(mask.where); }, false}, &Row::hide_elsewhere},
  });
  static_assert(all.size() <= most_parts);
  return all;
}

std::span<const HidingPart* const> hiding_parts() noexcept {
  static const auto parts = [] {
    std::array<const HidingPart*, most_parts> result{};
    std::ranges::transform(Visibility::rows(), result.begin(),
                           [](const Visibility::Row& row) { return &row; });
    return result;
  }();
  return {parts.data(), Visibility::rows().size()};
}

bool Mask::hides() const noexcept {
  for (const HidingPart* part : hiding_parts()) {
    if (part->present(*this) && part->name != "bias") return true;
  }
  return false;
}

bool Mask::present() const noexcept {
  return hides() || bias;
}

Visibility::Visibility(const Mask& mask, const Geometry& geometry)
    : mask_(mask), queries_(geometry.queries), keys_(geometry.keys), past_(geometry.past) {
  check_numbers();
  adopt_padding(geometry);
  adopt_valid_lens(geometry);
  adopt_documents(geometry);
  adopt_prefix(geometry);
  if (mask.where) {
    where_ = std::make_shared<const CompiledExpression>(mask.where, ExpressionUse::where,
                                                        "/mask/where", geometry);
    registers_ = std::make_shared<RegisterPool>(where_->rows);
    faults_ = std::make_shared<ExpressionFaults>();
  }
  allow_ = broadcast(mask.allow, DType::boolean, geometry, "allow");
  block_ = broadcast(mask.block, DType::boolean, geometry, "block");
  bias_ = broadcast(mask.bias, DType::float64, geometry, "bias");
  adopt_global();
  if (mask.align == Alignment::lower_right && !is_shape_only(mask.padding) &&
      !is_shape_only(mask.valid_lens)) {
    for (std::size_t b = 0; b < geometry.batch; ++b) offsets_.push_back(find_offset(b));
  }
  for (const Row& row : rows()) {
    if (!row.present(mask)) continue;
    present_.push_back(&row);
    only_bias_ = only_bias_ && row.hide == &Row::hide_infinite_bias;
  }
}

std::size_t Visibility::prefix(std::size_t batch) const {
  if (!mask_.prefix) return 0;
  return static_cast<std::size_t>(mask_.prefix.values<std::int64_t>()[batch * prefix_stride_]);
}

std::size_t Visibility::valid_keys(std::size_t batch, std::size_t query) const {
  if (!mask_.valid_lens) return keys_;
  const auto lens = mask_.valid_lens.values<std::int64_t>();
  return static_cast<std::size_t>(lens[batch * lens_batch_stride_ + query * lens_query_stride_]);
}

std::ptrdiff_t Visibility::find_offset(std::size_t batch) const {
  std::size_t last = keys_;
  if (mask_.valid_lens && lens_query_stride_ == 0) {
    last = valid_keys(batch, 0);
  } else if (mask_.padding) {
    const auto padding =
        mask_.padding.values<std::uint8_t>().subspan(batch * padding_stride_, keys_);
    last = static_cast<std::size_t>(std::count(padding.begin(), padding.end(), std::uint8_t{0}));
  }
  return static_cast<std::ptrdiff_t>(last) - static_cast<std::ptrdiff_t>(queries_);
}

bool Visibility::is_global(std::ptrdiff_t position) const {
  return position >= 0 && position < static_cast<std::ptrdiff_t>(keys_) &&
         is_global_[static_cast<std::size_t>(position)];
}

// The keys in the window of a position, without global ones.
Visibility::Interval Visibility::window_of(std::ptrdiff_t position) const {
  if (!mask_.window) return {0, keys_};
  // No window reaches farther than this from any position, so that the sums below cannot overflow.
  const auto reach = [&](std::optional<std::size_t> side) {
    const std::size_t farthest = keys_ + queries_ + past_;
    return static_cast<std::ptrdiff_t>(std::min(side.value_or(farthest), farthest));
  };
  const auto clamped = [this](std::ptrdiff_t key) {
    return static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(key, 0, static_cast<std::ptrdiff_t>(keys_)));
  };
  return {clamped(position - reach(mask_.window->left)),
          clamped(position + reach(mask_.window->right) + 1)};
}

// The keys in the chunk of a position.
Visibility::Interval Visibility::chunk_of(std::ptrdiff_t position) const {
  if (!mask_.chunk) return {0, keys_};
  // A chunk of more keys than there are positions acts like one of all of them.
  const std::size_t size = std::min(*mask_.chunk, keys_ + queries_ + past_);
  const auto step = static_cast<std::ptrdiff_t>(size);
  const std::ptrdiff_t first = (position - (position % step + step) % step);
  const auto clamped = [this](std::ptrdiff_t key) {
    return static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(key, 0, static_cast<std::ptrdiff_t>(keys_)));
  };
  return {clamped(first), clamped(first + step)};
}

// The interval of keys that all parts of the mask but `where` leave.
Visibility::Interval Visibility::places_of(std::size_t batch, std::size_t query) const {
  const std::ptrdiff_t position = static_cast<std::ptrdiff_t>(query) + offset(batch);
  Interval result = mask_.global.empty() ? window_of(position) : Interval{0, keys_};
  const Interval chunk = chunk_of(position);
  result = {std::max(result.first, chunk.first), std::min(result.end, chunk.end)};
  if (mask_.causal) {
    const std::ptrdiff_t after = std::max<std::ptrdiff_t>(position + 1, 0);
    result.end = std::min(result.end, static_cast<std::size_t>(after));
  }
  if (const std::size_t first_keys = prefix(batch); first_keys > 0) {
    const std::size_t end = result.first < result.end ? result.end : 0;
    result = {0, std::max(end, first_keys)};
  }
  result.end = std::min(result.end, valid_keys(batch, query));
  result.first = std::min(result.first, result.end);
  return result;
}

Visibility::Interval Visibility::interval(std::size_t batch, std::size_t head,
                                          std::size_t query) const {
  if (found_.empty()) return places_of(batch, query);
  const std::size_t map = batch * found_heads_ + (found_heads_ > 1 ? head : 0);
  return found_[map * queries_ + query];
}

void Visibility::compare(std::shared_ptr<const ComparedRows> rows) {
  rows_ = std::move(rows);
  if (where_) registers_ = std::make_shared<RegisterPool>(where_->rows);
}

void Visibility::hide_elsewhere(const Keys& keys, std::span<std::uint8_t> seen) const {
  ExpressionCell cell{
      .b = keys.batch, .h = keys.head, .i = keys.query, .offset = offset(keys.batch)};
  auto registers = registers_->take();
  for (std::size_t done = 0; done < seen.size(); done += kernels::row_piece) {
    const auto part = seen.subspan(done, std::min(kernels::row_piece, seen.size() - done));
    const auto truths =
        where_->rows.values(*registers, cell, {keys.first + done, part.size()}, rows_.get());
    std::array<std::uint8_t, kernels::row_piece> before;
    std::copy(part.begin(), part.end(), before.begin());
    if (!kernels::keep_true(truths.data(), part.size(), part.data())) continue;
    // A fault counts for a key that nothing else hides.
    for (std::size_t j = 0; j < part.size(); ++j) {
      if (before[j] == 0 || !std::isnan(truths[j])) continue;
      cell.j = keys.first + done + j;
      constexpr double hidden = -std::numeric_limits<double>::infinity();
      if (bias(cell.b, cell.h, cell.i, cell.j) == hidden) continue;
      if (rows_) rows_->put(cell);
      ExpressionTree::Fault fault;
      where_->tree.value(cell, fault);
      if (!fault.problem.empty()) faults_->note(cell, fault);
    }
  }
  registers_->give_back(std::move(registers));
}

namespace {

// Queries whose groups of keys are noted together.
constexpr std::size_t queries_together = 16;

std::size_t group_count(std::size_t keys) {
  return (keys + kernels::key_group - 1) / kernels::key_group;
}

}  // namespace

void Visibility::find_intervals(const Geometry& geometry, std::size_t threads) {
  if (!where_) return;
  found_heads_ = differs_by_head() || compares_rows() ? geometry.heads : 1;
  const std::size_t maps = geometry.batch * found_heads_, groups = group_count(keys_);
  const std::size_t parts = (queries_ + queries_together - 1) / queries_together;
  std::vector<Interval> found(maps * queries_);
  std::vector<std::uint8_t> seen_groups(maps * parts * groups);
  std::atomic<bool> whole = true;
  parallel_for(maps * parts, threads, [&](std::size_t task) {
    const std::size_t map = task / parts, first = task % parts * queries_together;
    const std::size_t end = std::min(queries_, first + queries_together);
    for (std::size_t query = first; query < end; ++query) {
      bool all = true;
      found[map * queries_ + query] =
          where_interval(map / found_heads_, map % found_heads_, query, all,
                         std::span(seen_groups).subspan(task * groups, groups));
      if (!all) whole = false;
    }
  });
  found_ = std::move(found);
  found_whole_ = whole;
  if (!whole) found_groups_ = std::move(seen_groups);
}

// The first key and the end of those that `where` and the other intervals leave. `whole`: whether
// `where` hides none between them. Notes in which groups they are.
Visibility::Interval Visibility::where_interval(std::size_t batch, std::size_t head,
                                                std::size_t query, bool& whole,
                                                std::span<std::uint8_t> groups) const {
  const Interval places = places_of(batch, query);
  std::vector<std::uint8_t> seen(places.end - places.first, 1);
  std::vector<std::uint8_t> otherwise;
  for (const Row* row : present_) {
    if (row->hide == &Row::hide_elsewhere) otherwise = seen;  // the last part
    row->hide(*this, keys_of(batch, head, query, places.first), seen);
  }
  const auto first = std::ranges::find(seen, 1);
  if (first == seen.end()) return {places.first, places.first};
  const auto last = std::find(seen.rbegin(), seen.rend(), 1).base();
  whole = std::equal(first, last, otherwise.begin() + (first - seen.begin()));
  for (std::size_t j = 0; j < seen.size();) {
    const std::size_t group = (places.first + j) / kernels::key_group;
    const std::size_t end = std::min((group + 1) * kernels::key_group - places.first, seen.size());
    if (std::memchr(seen.data() + j, 1, end - j) != nullptr) groups[group] = 1;
    j = end;
  }
  return {places.first + static_cast<std::size_t>(first - seen.begin()),
          places.first + static_cast<std::size_t>(last - seen.begin())};
}

std::vector<std::uint8_t> Visibility::seen_groups(std::size_t batch, std::size_t head,
                                                  std::size_t first_query,
                                                  std::size_t queries) const {
  if (found_groups_.empty()) return {};
  const std::size_t groups = group_count(keys_);
  const std::size_t parts = (queries_ + queries_together - 1) / queries_together;
  const std::size_t map = batch * found_heads_ + (found_heads_ > 1 ? head : 0);
  std::vector<std::uint8_t> seen(groups);
  for (std::size_t part = first_query / queries_together;
       part <= (first_query + queries - 1) / queries_together; ++part) {
    const auto* const of = found_groups_.data() + (map * parts + part) * groups;
    for (std::size_t group = 0; group < groups; ++group) seen[group] |= of[group];
  }
  return seen;
}

bool Visibility::only_intervals() const {
  const auto is_where = [](const Row* row) { return row->hide == &Row::hide_elsewhere; };
  return std::all_of(present_.begin(), present_.end(),
                     [&](const Row* row) {
                       return row->interval || (is_where(row) && !found_.empty() && found_whole_);
                     }) &&
         (mask_.global.empty() || !mask_.window) &&
         (!mask_.prefix || (!mask_.window && !mask_.chunk));
}

Visibility::Keys Visibility::keys_of(std::size_t batch, std::size_t head, std::size_t query,
                                     std::size_t first) const {
  return {batch, head,         query, static_cast<std::ptrdiff_t>(query) + offset(batch),
          first, prefix(batch)};
}

void Visibility::see(std::size_t batch, std::size_t head, std::size_t query,
                     std::span<std::uint8_t> seen) const {
  std::fill(seen.begin(), seen.end(), std::uint8_t{1});
  for (const Row* row : present_) row->hide(*this, keys_of(batch, head, query, 0), seen);
}

template <class T>
void Visibility::add_terms(std::size_t batch, std::size_t head, std::size_t query,
                           std::size_t first, std::span<T> added, const double* terms) const {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  constexpr double most = static_cast<double>(std::numeric_limits<T>::max()) / 128;
  if (bias_.tensor) {
    // A bias of −∞ stays and hides its key, so that only the other parts are asked below.
    const double* const bias =
        bias_.tensor.values<double>().data() + bias_.at(batch, head, query) + first * bias_.key;
    const auto put = [&](const auto& term) {
      for (std::size_t j = 0; j < added.size(); ++j) {
        const double x = term(j);
        added[j] = static_cast<T>(x == hidden ? hidden : std::clamp(x, -most, most));
      }
    };
    const std::size_t step = bias_.key;
    if (terms != nullptr) {
      put([&](std::size_t j) { return bias[j * step] + terms[j]; });
    } else if (step == 1) {
      put([&](std::size_t j) { return bias[j]; });
    } else {
      put([&](std::size_t j) { return bias[j * step]; });
    }
  } else {
    std::fill(added.begin(), added.end(), T(0));
  }
  if (only_bias_) return;
  std::array<std::uint8_t, 512> seen;
  for (std::size_t done = 0; done < added.size(); done += seen.size()) {
    const std::size_t count = std::min(seen.size(), added.size() - done);
    const Keys keys = keys_of(batch, head, query, first + done);
    std::fill_n(seen.begin(), count, std::uint8_t{1});
    for (const Row* row : present_) {
      // Callers ask for keys of the interval alone, within which `where` may hide none.
      if (row->hide == &Row::hide_elsewhere && found_whole_) continue;
      if (row->hide != &Row::hide_infinite_bias) row->hide(*this, keys, {seen.data(), count});
    }
    for (std::size_t j = 0; j < count; ++j) {
      added[done + j] = seen[j] ? added[done + j] : static_cast<T>(hidden);
    }
  }
}

void Visibility::add(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
                     std::span<float> added, const double* terms) const {
  add_terms(batch, head, query, first, added, terms);
}

void Visibility::add(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
                     std::span<double> added, const double* terms) const {
  add_terms(batch, head, query, first, added, terms);
}

std::vector<std::string_view> Visibility::hidden_by(std::size_t batch, std::size_t head,
                                                    std::size_t query, std::size_t key) const {
  std::vector<std::string_view> parts;
  for (const Row* row : present_) {
    std::uint8_t seen = 1;
    row->hide(*this, keys_of(batch, head, query, key), {&seen, 1});
    if (!seen) parts.push_back(row->name);
  }
  return parts;
}

void Visibility::hidden_by(std::size_t batch, std::size_t head, std::size_t query,
                           std::span<std::uint32_t> parts) const {
  std::fill(parts.begin(), parts.end(), std::uint32_t{0});
  std::vector<std::uint8_t> seen(parts.size());
  for (const Row* row : present_) {
    const std::uint32_t bit = std::uint32_t{1} << static_cast<unsigned>(row - rows().data());
    std::fill(seen.begin(), seen.end(), std::uint8_t{1});
    row->hide(*this, keys_of(batch, head, query, 0), seen);
    for (std::size_t j = 0; j < parts.size(); ++j) parts[j] |= seen[j] ? 0 : bit;
  }
}

double Visibility::bias(std::size_t batch, std::size_t head, std::size_t query,
                        std::size_t key) const {
  if (!bias_.tensor) return 0;
  return bias_.tensor.values<double>()[bias_.at(batch, head, query) + key * bias_.key];
}

void Visibility::mask(std::size_t batch, std::size_t head, std::size_t query,
                      std::span<const std::uint8_t> seen, std::span<double> scores) const {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  const double fill = mask_.fill.value_or(hidden);
  if (!bias_.tensor) {
    for (std::size_t j = 0; j < keys_; ++j) scores[j] = seen[j] ? scores[j] : fill;
    return;
  }
  const auto bias = bias_.tensor.values<double>();
  const std::size_t at = bias_.at(batch, head, query);
  for (std::size_t j = 0; j < keys_; ++j) {
    const double added = bias[at + j * bias_.key];
    if (added == hidden) {
      scores[j] = hidden;
    } else {
      scores[j] = seen[j] ? scores[j] + added : fill;
    }
  }
}

}  // namespace attn
