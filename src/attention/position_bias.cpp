#include "attention/position_bias.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace attn {
namespace {

std::vector<double> power_of_two_slopes(std::size_t heads) {
  std::vector<double> slopes;
  for (std::size_t h = 1; h <= heads; ++h) {
    slopes.push_back(std::exp2(-8 * static_cast<double>(h) / static_cast<double>(heads)));
  }
  return slopes;
}

}  // namespace

std::vector<double> alibi_slopes(std::size_t heads) {
  const std::size_t whole = std::bit_floor(heads);
  std::vector<double> slopes = power_of_two_slopes(whole);
  const std::vector<double> finer = power_of_two_slopes(2 * whole);
  for (std::size_t i = 0; slopes.size() < heads; i += 2) slopes.push_back(finer[i]);
  return slopes;
}

std::size_t relative_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance,
                            bool bidirectional) {
  std::size_t first = 0;
  if (bidirectional) {
    buckets /= 2;
    if (distance > 0) first = buckets;
    distance = std::abs(distance);
  } else {
    distance = std::max<std::int64_t>(-distance, 0);
  }
  const std::size_t exact = buckets / 2;
  const auto away = static_cast<std::size_t>(distance);
  if (away < exact) return first + away;
  const double grown = std::log(static_cast<double>(away) / static_cast<double>(exact)) /
                       std::log(static_cast<double>(max_distance) / static_cast<double>(exact)) *
                       static_cast<double>(buckets - exact);
  const std::size_t bucket = exact + static_cast<std::size_t>(grown);
  return first + std::min(bucket, buckets - 1);
}

}  // namespace attn
