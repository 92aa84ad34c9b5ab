#include "attention/position_bias.hpp"

#include <vector>

#include <doctest/doctest.h>

namespace attn {
namespace {

TEST_CASE("slopes of ALiBi halve evenly, also where the heads are no power of two") {
  CHECK(alibi_slopes(1) == std::vector<double>{0x1p-8});
  CHECK(alibi_slopes(8) ==
        std::vector<double>{0x1p-1, 0x1p-2, 0x1p-3, 0x1p-4, 0x1p-5, 0x1p-6, 0x1p-7, 0x1p-8});
  CHECK(alibi_slopes(3) == std::vector<double>{0x1p-4, 0x1p-8, 0x1p-2});
  CHECK(alibi_slopes(6) == std::vector<double>{0x1p-2, 0x1p-4, 0x1p-6, 0x1p-8, 0x1p-1, 0x1p-3});
}

// Expected buckets were computed from the formula by a separate script.
TEST_CASE("buckets of distances are exact nearby and logarithmic far away, on each side") {
  const std::vector<std::int64_t> distances{-200, -128, -127, -64, -32, -16, -9, -8, -7,
                                            -1,   0,    1,    7,   8,   11,  12, 16, 23,
                                            32,   45,   64,   90,  91,  128, 500};
  std::vector<std::size_t> found;
  for (const std::int64_t r : distances) found.push_back(relative_bucket(r, 32, 128, true));
  CHECK(found == std::vector<std::size_t>{15, 15, 15, 14, 12, 10, 8,  8,  7,  1,  0,  17, 23,
                                          24, 24, 25, 26, 27, 28, 28, 30, 30, 31, 31, 31});
}

TEST_CASE("buckets of one direction put all later keys into the first") {
  const std::vector<std::int64_t> distances{-200, -128, -113, -64, -32, -17, -16, -15, -1, 0, 1, 5};
  std::vector<std::size_t> found;
  for (const std::int64_t r : distances) found.push_back(relative_bucket(r, 32, 128, false));
  CHECK(found == std::vector<std::size_t>{31, 31, 31, 26, 21, 16, 16, 15, 1, 0, 0, 0});
}

}  // namespace
}  // namespace attn
