#include "statistics/exact_sums.hpp"

#include <charconv>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
namespace {

constexpr std::int64_t limb_size = std::int64_t{1} << 32;
// A number adds less than 2³² to a limb, which holds 2⁶³.
constexpr std::size_t most_waiting = std::size_t{1} << 30;

}  // namespace

void ExactSum::add(double number) {
  if (number == 0) return;
  int exponent = 0;
  // number = mantissa · 2^(exponent − 53), the mantissa being whole.
  const double fraction = std::frexp(number, &exponent);
  const auto mantissa = static_cast<std::int64_t>(std::ldexp(std::abs(fraction), 53));
  std::int32_t bit = exponent - 53 - lowest_exponent;
  std::uint64_t whole = static_cast<std::uint64_t>(mantissa);
  if (bit < 0) {  // below the normal numbers the last bits are zeros
    whole >>= static_cast<unsigned>(-bit);
    bit = 0;
  }
  const auto limb = static_cast<std::size_t>(bit / 32);
  const unsigned shift = static_cast<unsigned>(bit % 32);
  const std::uint64_t low = (whole & 0xffffffffU) << shift, high = (whole >> 32U) << shift;
  const std::int64_t sign = number < 0 ? -1 : 1;
  limbs_[limb] += sign * static_cast<std::int64_t>(low & 0xffffffffU);
  limbs_[limb + 1] += sign * static_cast<std::int64_t>((low >> 32U) + (high & 0xffffffffU));
  limbs_[limb + 2] += sign * static_cast<std::int64_t>(high >> 32U);
  if (++waiting_ >= most_waiting) {
    carry(limbs_);
    waiting_ = 0;
  }
}

void ExactSum::add_square(double number) {
  const double square = number * number;
  add(square);
  add(std::fma(number, number, -square));
}

void ExactSum::add(const ExactSum& other) {
  Limbs added = other.limbs_;
  carry(added);
  carry(limbs_);
  for (std::size_t i = 0; i < count; ++i) limbs_[i] += added[i];
  waiting_ = 2;
}

void ExactSum::carry(Limbs& limbs) {
  for (std::size_t i = 0; i + 1 < count; ++i) {
    const std::int64_t over = limbs[i] >> 32;  // towards −∞
    limbs[i] -= over * limb_size;
    limbs[i + 1] += over;
  }
}

bool ExactSum::negated(Limbs& limbs) {
  carry(limbs);
  if (limbs[count - 1] >= 0) return false;
  for (std::int64_t& limb : limbs) limb = -limb;
  carry(limbs);
  return true;
}

long double ExactSum::value() const {
  Limbs limbs = limbs_;
  const bool negative = negated(limbs);
  long double sum = 0;
  for (std::size_t i = count; i-- > 0;) {
    sum +=
        std::ldexp(static_cast<long double>(limbs[i]), static_cast<int>(i) * 32 + lowest_exponent);
  }
  return negative ? -sum : sum;
}

std::string ExactSum::text() const {
  Limbs limbs = limbs_;
  const bool negative = negated(limbs);
  std::size_t first = 0, end = count;
  while (first < count && limbs[first] == 0) ++first;
  if (first == count) return "0";
  while (limbs[end - 1] == 0) --end;
  std::string text = (negative ? "-" : "+") + std::to_string(first) + ":";
  for (std::size_t i = end; i-- > first;) {
    std::array<char, 8> digits{};
    const auto [stop, error] = std::to_chars(digits.data(), digits.data() + digits.size(),
                                             static_cast<std::uint32_t>(limbs[i]), 16);
    const auto length = static_cast<std::size_t>(stop - digits.data());
    if (i + 1 < end) text.append(digits.size() - length, '0');
    text.append(digits.data(), length);
  }
  return text;
}

ExactSum ExactSum::from_text(std::string_view text) {
  ExactSum sum;
  if (text == "0") return sum;
  const auto refuse = [&] {
    throw input_error(translated("\"{1}\" is not an exact sum", text), "",
                      translated("the file was changed or is incomplete: start again without it"));
  };
  const bool negative = text.starts_with('-');
  const std::size_t colon = text.find(':');
  std::size_t limb = 0;
  if ((!negative && !text.starts_with('+')) || colon == std::string_view::npos) refuse();
  const char* const number_end = text.data() + colon;
  const auto [stop, error] = std::from_chars(text.data() + 1, number_end, limb);
  if (error != std::errc() || stop != number_end) refuse();
  std::string_view digits = text.substr(colon + 1);
  if (digits.empty()) refuse();
  while (!digits.empty()) {
    const std::size_t length = digits.size() < 8 ? digits.size() : 8;
    const std::string_view part = digits.substr(digits.size() - length);
    std::uint32_t value = 0;
    const auto [end, wrong] = std::from_chars(part.data(), part.data() + part.size(), value, 16);
    if (wrong != std::errc() || end != part.data() + part.size() || limb >= count) refuse();
    sum.limbs_[limb++] = negative ? -static_cast<std::int64_t>(value) : value;
    digits.remove_suffix(length);
  }
  return sum;
}

namespace {

constexpr int unit_exponent = -80;
constexpr std::size_t most_digits = 32;

}  // namespace

void WeightSum::add(double weight) {
  sum_ += static_cast<Wide>(std::rint(std::ldexp(weight, -unit_exponent)));
}

double WeightSum::divided_by(std::uint64_t count) const {
  const auto sum = std::ldexp(static_cast<long double>(sum_), unit_exponent);
  return static_cast<double>(sum / static_cast<long double>(count));
}

std::string WeightSum::text() const {
  Wide left = sum_ < 0 ? -sum_ : sum_;
  std::string digits;
  do {
    digits += "0123456789abcdef"[static_cast<std::size_t>(left & 15)];
    left >>= 4;
  } while (left != 0);
  if (sum_ < 0) digits += '-';
  return {digits.rbegin(), digits.rend()};
}

WeightSum WeightSum::from_text(std::string_view text) {
  WeightSum sum;
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  const bool known = !digits.empty() && digits.size() < most_digits &&
                     digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  if (!known) {
    throw input_error(translated("\"{1}\" is not an exact sum", text), "",
                      translated("the file was changed or is incomplete: start again without it"));
  }
  for (const char digit : digits) {
    sum.sum_ = sum.sum_ * 16 + (digit <= '9' ? digit - '0' : digit - 'a' + 10);
  }
  if (negative) sum.sum_ = -sum.sum_;
  return sum;
}

Tensor FirstPositions::weights() const {
  for (const double weight : weights_) {
    if (std::abs(weight) <= WeightSum::most) continue;  // nor NaN
    throw input_error(translated("the weight {1} has no place in a mean map", number_text(weight)),
                      "", translated("leave the mean map out, or the text"));
  }
  return {{length_, length_}, weights_};
}

void MapSums::grow(std::size_t positions) {
  if (positions <= positions_) return;
  MapSums larger(positions);
  for (std::size_t i = 0; i < positions_; ++i) {
    std::copy_n(cells_.data() + i * positions_, positions_, larger.cells_.data() + i * positions);
  }
  *this = std::move(larger);
}

void MapSums::add(const Tensor& weights) {
  const std::size_t count = weights.shape()[0];
  grow(count);
  with_floats(weights, [&](const auto numbers) {
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        cells_[i * positions_ + j].add(static_cast<double>(numbers[i * count + j]));
      }
    }
  });
}

void MapSums::add(const MapSums& other) {
  grow(other.positions_);
  for (std::size_t i = 0; i < other.positions_; ++i) {
    for (std::size_t j = 0; j < other.positions_; ++j) {
      cells_[i * positions_ + j].add(other.cells_[i * other.positions_ + j]);
    }
  }
}

Tensor MapSums::means(const std::vector<std::uint64_t>& texts) const {
  const auto count = static_cast<std::size_t>(std::ranges::find(texts, 0U) - texts.begin());
  std::vector<double> means(count * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      means[i * count + j] = cells_[i * positions_ + j].divided_by(texts[std::max(i, j)]);
    }
  }
  return {{count, count}, std::move(means)};
}

}  // namespace attn
