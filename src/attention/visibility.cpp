#include "attention/visibility.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "attn/error.hpp"

#include "kernels/row_program.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// The number of bits that hidden_by() has for parts.
constexpr std::size_t most_parts = 32;

}  // namespace

struct Visibility::Row : HidingPart {
  /// The keys that the part leaves a query: some by themselves, an interval, or one from key 0 on.
  enum class Leaves { single_keys, interval, leading_keys } leaves;
  bool yields;  ///< whether the prefix shows keys that it hides
  /// The interval outside of which it hides all keys; null where it leaves single keys.
  Interval (*interval)(const Visibility& self, const Keys& keys);
  /// Sets seen[j] = 0 for the keys first + j that it hides in the interval, and keeps the others;
  /// null if it hides none there.
  void (*hide)(const Visibility& self, const Keys& keys, std::span<std::uint8_t> seen);

  // Keys from `first` up to `end`, as far as they exist.
  static Interval clamped(const Visibility& self, std::ptrdiff_t first, std::ptrdiff_t end) {
    const auto key = [&](std::ptrdiff_t at) {
      return static_cast<std::size_t>(
          std::clamp<std::ptrdiff_t>(at, 0, static_cast<std::ptrdiff_t>(self.keys_)));
    };
    return {key(first), key(end)};
  }

  static Interval up_to_query(const Visibility& self, const Keys& keys) {
    return clamped(self, 0, keys.position + 1);
  }

  static Interval in_window(const Visibility& self, const Keys& keys) {
    // No window reaches farther than this from any position, so that the sums cannot overflow.
    const auto reach = [&](std::optional<std::size_t> side) {
      const std::size_t farthest = self.keys_ + self.queries_ + self.past_;
      return static_cast<std::ptrdiff_t>(std::min(side.value_or(farthest), farthest));
    };
    const Window& window = *self.mask_.window;
    return clamped(self, keys.position - reach(window.left),
                   keys.position + reach(window.right) + 1);
  }

  static Interval in_window_or_global(const Visibility& self, const Keys& keys) {
    return self.mask_.global.empty() ? in_window(self, keys) : Interval{0, self.keys_};
  }

  // With global positions, which any query sees.
  static void hide_outside_window(const Visibility& self, const Keys& keys,
                                  std::span<std::uint8_t> seen) {
    if (self.mask_.global.empty() || self.is_global(keys.position)) return;
    const Interval window = in_window(self, keys);
    for (std::size_t j = 0; j < seen.size(); ++j) {
      const std::size_t key = keys.first + j;
      seen[j] &= (key >= window.first && key < window.end) || self.is_global_[key];
    }
  }

  static void hide_between_steps(const Visibility& self, const Keys& keys,
                                 std::span<std::uint8_t> seen) {
    if (self.is_global(keys.position)) return;
    const auto step = static_cast<std::ptrdiff_t>(
        std::min(*self.mask_.dilation, self.keys_ + self.queries_ + self.past_ + 1));
    for (std::size_t j = 0; j < seen.size(); ++j) {
      const std::size_t key = keys.first + j;
      seen[j] &=
          (static_cast<std::ptrdiff_t>(key) - keys.position) % step == 0 || self.is_global_[key];
    }
  }

  static Interval in_chunk(const Visibility& self, const Keys& keys) {
    // A chunk of more keys than there are positions acts like one of all of them.
    const std::size_t size = std::min(*self.mask_.chunk, self.keys_ + self.queries_ + self.past_);
    const auto step = static_cast<std::ptrdiff_t>(size);
    const std::ptrdiff_t first = keys.position - (keys.position % step + step) % step;
    return clamped(self, first, first + step);
  }

  static Interval in_valid_keys(const Visibility& self, const Keys& keys) {
    return {0, self.valid_keys(keys.batch, keys.query)};
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

  static void hide_padding(const Visibility& self, const Keys& keys, std::span<std::uint8_t> seen) {
    const auto padding = self.places_.padding(keys.batch).subspan(keys.first, seen.size());
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

// All that is asked of a part. Its interval is what kernels and hide() both go by.
std::span<const Visibility::Row> Visibility::rows() noexcept {
  using Leaves = Row::Leaves;
  static constexpr auto all = std::to_array<Row>({
      {{"causal", [](const Mask& mask) { return mask.causal; }, true},
       Leaves::leading_keys,
       true,
       &Row::up_to_query,
       nullptr},
      {{"window", [](const Mask& mask) { return mask.window.has_value(); }, false},
       Leaves::interval,
       true,
       &Row::in_window_or_global,
       &Row::hide_outside_window},
      {{"valid_lens", [](const Mask& mask) { return bool(mask.valid_lens); }, false},
       Leaves::leading_keys,
       false,
       &Row::in_valid_keys,
       nullptr},
      {{"padding", [](const Mask& mask) { return bool(mask.padding); }, false},
       Leaves::single_keys,
       false,
       nullptr,
       &Row::hide_padding},
      {{"allow", [](const Mask& mask) { return bool(mask.allow); }, true},
       Leaves::single_keys,
       false,
       nullptr,
       &Row::hide_not_allowed},
      {{"block", [](const Mask& mask) { return bool(mask.block); }, true},
       Leaves::single_keys,
       false,
       nullptr,
       &Row::hide_blocked},
      {{"bias", [](const Mask& mask) { return bool(mask.bias); }, true},
       Leaves::single_keys,
       false,
       nullptr,
       &Row::hide_infinite_bias},
      {{"dilation", [](const Mask& mask) { return mask.dilation.has_value(); }, false},
       Leaves::single_keys,
       true,
       nullptr,
       &Row::hide_between_steps},
      {{"chunk", [](const Mask& mask) { return mask.chunk.has_value(); }, false},
       Leaves::interval,
       true,
       &Row::in_chunk,
       nullptr},
      {{"documents", [](const Mask& mask) { return bool(mask.documents); }, false},
       Leaves::single_keys,
       false,
       nullptr,
       &Row::hide_other_documents},
      {{"where", [](const Mask& mask) { return bool(mask.where); }, true},
       Leaves::single_keys,
       false,
       nullptr,
       &Row::hide_elsewhere},
  });
  static_assert(all.size() <= most_parts);
  static_assert(std::ranges::all_of(all, [](const Row& row) {
    return (row.leaves != Leaves::single_keys) == (row.interval != nullptr) &&
           (row.interval != nullptr || row.hide != nullptr);
  }));
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

bool compares_rows(const Mask& mask, const Geometry& geometry) {
  return mask.where &&
         ExpressionTree(mask.where, ExpressionUse::where, "/mask/where", geometry).reads_rows();
}

Visibility::Visibility(const Mask& mask, const Geometry& geometry)
    : places_(mask, geometry),
      mask_(mask),
      queries_(geometry.queries),
      keys_(geometry.keys),
      past_(geometry.past) {
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
  for (const Row& row : rows()) {
    if (!row.present(mask)) continue;
    present_.push_back(&row);
    has_others_ =
        has_others_ || (row.hide != &Row::hide_infinite_bias && row.hide != &Row::hide_elsewhere);
  }
}

Visibility::Visibility(const Mask& mask, const Geometry& geometry, const Sequences& compared)
    : Visibility(mask, geometry) {
  if (!where_ || !where_->tree.reads_rows()) return;
  if (!compared.query) {
    throw Error(ErrorKind::internal, translated("a mask was not given the rows that it compares"),
                where_->tree.pointer(), "");
  }
  rows_ = std::make_shared<const ComparedRows>(compared, geometry);
}

void Visibility::check(const Mask& mask, const Geometry& geometry) {
  const Visibility checked(mask, geometry);
}

std::size_t Visibility::prefix(std::size_t batch) const {
  if (!mask_.prefix) return 0;
  return static_cast<std::size_t>(mask_.prefix.values<std::int64_t>()[batch * prefix_stride_]);
}

bool Visibility::is_global(std::ptrdiff_t position) const {
  return position >= 0 && position < static_cast<std::ptrdiff_t>(keys_) &&
         is_global_[static_cast<std::size_t>(position)];
}

Visibility::Interval Visibility::interval(std::size_t batch, std::size_t query) const {
  const Keys keys = keys_of(batch, 0, query, 0);
  Interval result{0, keys_};
  const auto narrow = [&](bool yielding) {
    for (const Row* row : present_) {
      if (row->interval == nullptr || row->yields != yielding) continue;
      const Interval own = row->interval(*this, keys);
      result = {std::max(result.first, own.first), std::min(result.end, own.end)};
    }
  };
  narrow(true);
  if (const std::size_t first_keys = prefix(batch); first_keys > 0) {
    const std::size_t end = result.first < result.end ? result.end : 0;
    result = {0, std::max(end, first_keys)};
  }
  narrow(false);
  result.first = std::min(result.first, result.end);
  return result;
}

bool Visibility::only_intervals(bool with_where) const {
  return std::ranges::all_of(present_, [&](const Row* row) {
    if (row->hide == &Row::hide_elsewhere) return !with_where;
    const bool all_seen =
        row->hide == nullptr || (row->hide == &Row::hide_outside_window && mask_.global.empty());
    // A prefix leaves a gap before an interval that begins behind it.
    return all_seen && (!mask_.prefix || !row->yields || row->leaves == Row::Leaves::leading_keys);
  });
}

Visibility::Keys Visibility::keys_of(std::size_t batch, std::size_t head, std::size_t query,
                                     std::size_t first) const {
  return {batch, head, query, static_cast<std::ptrdiff_t>(query) + offset(batch), first};
}

void Visibility::hide(const Row& row, const Keys& keys, std::span<std::uint8_t> seen) const {
  const auto place = [&](std::size_t key) {
    return std::clamp(key, keys.first, keys.first + seen.size()) - keys.first;
  };
  const std::size_t shown = row.yields ? place(prefix(keys.batch)) : 0;
  if (row.interval != nullptr) {
    const Interval left = row.interval(*this, keys);
    const std::size_t first = place(left.first), end = place(left.end);
    for (std::size_t j = shown; j < first; ++j) seen[j] = 0;
    for (std::size_t j = std::max(end, shown); j < seen.size(); ++j) seen[j] = 0;
  }
  if (row.hide == nullptr) return;
  Keys hidden = keys;
  hidden.first += shown;
  row.hide(*this, hidden, seen.subspan(shown));
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

void Visibility::hide(std::size_t batch, std::size_t head, std::size_t query, std::size_t first,
                      std::span<std::uint8_t> seen, const Asked& asked) const {
  const Keys keys = keys_of(batch, head, query, first);
  for (const Row* row : present_) {
    const bool wanted = row->hide == &Row::hide_elsewhere       ? asked.where
                        : row->hide == &Row::hide_infinite_bias ? asked.bias
                                                                : asked.others;
    if (wanted) hide(*row, keys, seen);
  }
}

void Visibility::see(std::size_t batch, std::size_t head, std::size_t query,
                     std::span<std::uint8_t> seen) const {
  std::fill(seen.begin(), seen.end(), std::uint8_t{1});
  hide(batch, head, query, 0, seen, {.where = true, .bias = true, .others = true});
}

std::vector<std::string_view> Visibility::hidden_by(std::size_t batch, std::size_t head,
                                                    std::size_t query, std::size_t key) const {
  std::vector<std::string_view> parts;
  for (const Row* row : present_) {
    std::uint8_t seen = 1;
    hide(*row, keys_of(batch, head, query, key), {&seen, 1});
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
    hide(*row, keys_of(batch, head, query, 0), seen);
    for (std::size_t j = 0; j < parts.size(); ++j) parts[j] |= seen[j] ? 0 : bit;
  }
}

Visibility::BiasRow Visibility::bias_row(std::size_t batch, std::size_t head,
                                         std::size_t query) const {
  if (!bias_.tensor) return {};
  return {bias_.tensor.values<double>().data() + bias_.at(batch, head, query), bias_.key};
}

double Visibility::bias(std::size_t batch, std::size_t head, std::size_t query,
                        std::size_t key) const {
  const BiasRow row = bias_row(batch, head, query);
  return row.first == nullptr ? 0 : row.first[key * row.step];
}

void Visibility::mask(std::size_t batch, std::size_t head, std::size_t query,
                      std::span<const std::uint8_t> seen, std::span<double> scores) const {
  constexpr double hidden = -std::numeric_limits<double>::infinity();
  const double fill = mask_.fill.value_or(hidden);
  const BiasRow bias = bias_row(batch, head, query);
  if (bias.first == nullptr) {
    for (std::size_t j = 0; j < keys_; ++j) scores[j] = seen[j] ? scores[j] : fill;
    return;
  }
  for (std::size_t j = 0; j < keys_; ++j) {
    const double added = bias.first[j * bias.step];
    if (added == hidden) {
      scores[j] = hidden;
    } else {
      scores[j] = seen[j] ? scores[j] + added : fill;
    }
  }
}

}  // namespace attn
