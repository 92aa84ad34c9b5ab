#include "statistics/mean_map.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"

namespace attn {
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
