#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace attn {

/// The slopes of ALiBi (Press et al. 2022, section 3): 2^(−8h/n), h = 1…n, for the largest power of
/// two n ≤ heads, then the first, third, fifth… slope of 2n heads.
std::vector<double> alibi_slopes(std::size_t heads);

/// The bucket of a distance r = key − query (Raffel et al. 2020, section 2.1): each of the nearest
/// distances has its own, then they widen logarithmically up to `max_distance`. With both
/// directions half of the buckets are those of later keys; else later keys share the first.
std::size_t relative_bucket(std::int64_t distance, std::size_t buckets, std::size_t max_distance,
                            bool bidirectional);

}  // namespace attn
