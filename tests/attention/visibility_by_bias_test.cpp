#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/attention.hpp"

#include "attention/visibility.hpp"

namespace {

// The cells of one query over three equal keys that these biases hide in effect, as 0 and 1; "none"
// if there are none.
std::string hidden(std::vector<double> bias, attn::DType dtype, attn::Tensor padding = {}) {
  attn::AttentionOptions options;
  options.dtype = dtype;
  options.mask.bias = attn::Tensor({1, 3}, std::move(bias));
  options.mask.padding = padding;
  const attn::Tensor scores({1, 3}, {0.0F, 0.5F, 0.25F});
  const attn::Tensor weights = attn::attend(attn::GivenScores{scores}, options).weights;
  attn::Geometry geometry;
  geometry.queries = 1;
  geometry.keys = 3;
  const attn::Tensor cells = attn::hidden_in_effect(options.mask, geometry, weights, dtype);
  if (!cells) return "none";
  std::string text;
  for (const std::uint8_t cell : cells.values<std::uint8_t>()) text += cell ? '1' : '0';
  return text;
}

}  // namespace

TEST_CASE("large negative numbers of a bias hide keys in effect, each type by its own range") {
  using attn::DType;
  const double least = std::numeric_limits<float>::lowest();
  CHECK(hidden({0, least, 0}, DType::float32) == "010");
  CHECK(hidden({0, -1e9, -1e4}, DType::float32) == "011");
  CHECK(hidden({0, -100, 0}, DType::float32) == "010");
  CHECK(hidden({0, -100, 0}, DType::float64) == "none");
  CHECK(hidden({0, -1e4, 0}, DType::float64) == "010");
  CHECK(hidden({0, -20, 0}, DType::float32) == "none");
}

TEST_CASE("only what the bias alone makes 0 is hidden by it in effect") {
  using attn::DType;
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(hidden({0, -infinity, 0}, DType::float32) == "none");
  CHECK(hidden({-1e9, -1e9, -1e9}, DType::float32) == "none");
  CHECK(hidden({0, -1e9, 0}, DType::float32,
               attn::Tensor({1, 3}, std::vector<std::uint8_t>{0, 1, 0})) == "none");
}
