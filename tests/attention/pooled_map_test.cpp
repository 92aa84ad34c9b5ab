#include "attention/pooled_map.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

using namespace attn;

namespace {

Tensor random_tensor(std::mt19937& random, Shape shape) {
  std::normal_distribution<float> normal;
  std::vector<float> values(element_count(shape));
  for (float& value : values) value = normal(random);
  return Tensor(std::move(shape), std::move(values));
}

// Bin by bin from the definition: position i of L stands in bin ⌊i·N/L⌋.
std::vector<double> pooled(const Tensor& weights, std::size_t size, bool largest) {
  const Tensor wide = weights.converted(DType::float64);
  const auto values = wide.values<double>();
  const std::size_t rank = weights.rank();
  const std::size_t queries = weights.shape()[rank - 2], keys = weights.shape()[rank - 1];
  const std::size_t rows = std::min(size, queries), columns = std::min(size, keys);
  const std::size_t maps = values.size() / (queries * keys);
  std::vector<double> cells(maps * rows * columns, 0), counts(cells.size(), 0);
  for (std::size_t m = 0; m < maps; ++m) {
    for (std::size_t i = 0; i < queries; ++i) {
      for (std::size_t j = 0; j < keys; ++j) {
        const std::size_t cell = (m * rows + i * rows / queries) * columns + j * columns / keys;
        const double weight = values[(m * queries + i) * keys + j];
        cells[cell] = largest ? std::max(cells[cell], weight) : cells[cell] + weight;
        counts[cell] += 1;
      }
    }
  }
  if (!largest) {
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] /= counts[i];
  }
  return cells;
}

double farthest(const Tensor& tensor, const std::vector<double>& expected) {
  const Tensor wide = tensor.converted(DType::float64);
  const auto values = wide.values<double>();
  REQUIRE(values.size() == expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    largest = std::max(largest, std::abs(values[i] - expected[i]));
  }
  return largest;
}

AttentionRequest request_of(std::mt19937& random, std::size_t queries, std::size_t keys) {
  AttentionRequest request;
  request.score = attn::ScaledDotProduct{{random_tensor(random, {2, 2, queries, 8}),
                                          random_tensor(random, {2, 1, keys, 8}),
                                          random_tensor(random, {2, 1, keys, 5})}};
  return request;
}

}  // namespace

TEST_CASE("the cells of a pooled map are the means or the largest of the weights in their bins") {
  std::mt19937 random(4);
  // Fewer and more queries than a block takes, bins of one and of several sizes, more bins than
  // positions.
  for (const auto& sizes : std::vector<std::array<std::size_t, 3>>{{7, 5, 3},
                                                                   {300, 411, 7},
                                                                   {513, 200, 2},
                                                                   {250, 250, 64},
                                                                   {90, 60, 100},
                                                                   {1, 300, 10},
                                                                   {400, 1, 3}}) {
    const auto queries = sizes[0], keys = sizes[1], size = sizes[2];
    for (const DType dtype : {DType::float32, DType::float64}) {
      for (const bool largest : {false, true}) {
        CAPTURE(queries);
        CAPTURE(keys);
        CAPTURE(size);
        CAPTURE(largest);
        AttentionRequest request = request_of(random, queries, keys);
        request.dtype = dtype;
        const AttentionResult whole = attend(request);
        request.pool = {size, largest ? Pooling::Reduction::max : Pooling::Reduction::mean};
        const AttentionResult result = attend(request);
        CHECK_FALSE(result.weights);
        CHECK_FALSE(result.pooled_allowed);
        CHECK(result.pooled.dtype() == dtype);
        CHECK(result.pooled.shape() == Shape{2, 2, std::min(size, queries), std::min(size, keys)});
        CHECK(result.pooled_from == Shape{queries, keys});
        // Both sum the same weights, in float32 rounded once: 6e-8.
        CHECK(farthest(result.pooled, pooled(whole.weights, size, largest)) <= 1e-7);
        const Tensor output = whole.output.converted(DType::float64);
        const auto values = output.values<double>();
        CHECK(farthest(result.output, {values.begin(), values.end()}) <= 1e-6);
      }
    }
  }
}

TEST_CASE("a pooled map has the same bits on any number of threads") {
  std::mt19937 random(5);
  AttentionRequest request = request_of(random, 700, 300);
  request.mask.causal = true;
  request.pool = {3, Pooling::Reduction::mean};
  request.threads = 1;
  const Tensor one = attend(request).pooled;
  request.threads = 5;
  const Tensor five = attend(request).pooled;
  const auto a = one.values<float>(), b = five.values<float>();
  CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
}

TEST_CASE("masks hold in a pooled map, and a cell is allowed if any of its weights is") {
  std::mt19937 random(6);
  for (const bool intervals : {true, false}) {
    for (const DType dtype : {DType::float32, DType::float64}) {
      CAPTURE(intervals);
      AttentionRequest request = request_of(random, 250, 200);
      request.dtype = dtype;
      request.mask.causal = true;
      request.mask.window = Window{40, 3};
      if (!intervals) {
        std::vector<std::uint8_t> padding(2 * 200);
        for (std::size_t j = 30; j < 70; ++j) padding[j] = 1;
        request.mask.padding = Tensor({2, 200}, std::move(padding));
      }
      const AttentionResult whole = attend(request);
      request.pool = {9, Pooling::Reduction::mean};
      const AttentionResult result = attend(request);
      CHECK(result.empty_rows == whole.empty_rows);
      CHECK(farthest(result.pooled, pooled(whole.weights, 9, false)) <= 1e-7);
      REQUIRE(result.pooled_allowed);
      CHECK(farthest(result.pooled_allowed, pooled(whole.allowed, 9, true)) == 0);
    }
  }
}

TEST_CASE("a NaN shows in its cell of a pooled map, whatever is compared with it") {
  Geometry geometry;
  geometry.queries = geometry.keys = 4;
  for (const std::size_t at : {0UL, 1UL, 5UL}) {
    PooledMap map({2, Pooling::Reduction::max}, geometry, 3);
    std::vector<float> weights(16, 0.5F);
    weights[at] = std::nanf("");
    for (std::size_t block = 0; block < map.blocks().size(); ++block) {
      map.add(0, block, weights.data() + map.blocks()[block].first * 4);
    }
    const Tensor cells = map.weights(DType::float32);
    CHECK(std::isnan(cells.values<float>()[0]));
    CHECK(cells.values<float>()[1] == 0.5F);
    CHECK(cells.values<float>()[3] == 0.5F);
  }
}

TEST_CASE("blocks of a pooled map are whole bins, or parts of one, and none is too long") {
  for (const auto& [queries, size, most] : std::vector<std::array<std::size_t, 3>>{
           {1000, 10, 96}, {1000, 300, 96}, {7, 7, 3}, {96, 1, 96}, {97, 1, 96}, {5, 100, 2}}) {
    Geometry geometry;
    geometry.queries = queries;
    geometry.keys = 3;
    const PooledMap map({size, {}}, geometry, most);
    std::size_t next = 0;
    for (const PooledMap::Block& block : map.blocks()) {
      CHECK(block.first == next);
      CHECK(block.count >= 1);
      CHECK(block.count <= most);
      next += block.count;
      CHECK(map.query_bin(block.first) == block.first_bin);
      CHECK(map.query_bin(next - 1) == block.first_bin + block.bins - 1);
      if (block.bins > 1) CHECK(map.first_query(block.first_bin + block.bins) == next);
    }
    CHECK(next == queries);
  }
}
