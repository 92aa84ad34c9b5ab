#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "attention/fast_and_reference.hpp"
#include "attention/random_request.hpp"
#include "kernels/every_target.hpp"

// Heads up to 16 wide: where no product of a query and a key can be large, their kernel takes one
// shift for all rows instead of each row's largest score.

namespace attn::testing {
namespace {

// The numbers with one of them absolute, and that replaced.
Tensor with_positive_column(const Tensor& tensor, std::size_t column) {
  std::vector<double> copy = numbers(tensor);
  for (std::size_t i = column; i < copy.size(); i += tensor.shape().back()) {
    copy[i] = std::abs(copy[i]) + 0.1;
  }
  return doubles(tensor.shape(), std::move(copy)).converted(tensor.dtype());
}

}  // namespace

TEST_CASE("small heads agree with the reference on both sides of the bound of their scores") {
  on_every_target([] {
    RandomRequests random(21);
    for (const double scale : {0.05, 0.35, -0.4, 1.0}) {
      CAPTURE(scale);
      for (const std::size_t width : {1, 3, 8, 16}) {
        AttentionRequest request =
            random_attention(random, {2, 70, width}, {2, 210, width}, 17 - width);
        request.scale = scale;
        check_both_types(request);
        request.softcap = 3;
        check_both_types(request);
        request.softcap.reset();
        request.mask.causal = true;
        request.mask.valid_lens = Tensor({2}, std::vector<std::int64_t>{0, 37});
        check_both_types(request);
        request.sinks = Tensor({1}, std::vector<double>{0.5});
        check_both_types(request);
      }
    }
  });
}

TEST_CASE("rows of small heads that lie apart are packed as those that lie together") {
  on_every_target([] {
    RandomRequests random(22);
    for (const std::size_t width : {2, 4, 5, 6, 8, 12, 16}) {
      AttentionRequest split =
          random_attention(random, {1, 40, 3 * width}, {1, 83, 3 * width}, 3 * width);
      sequences(split).heads = sequences(split).kv_heads = 3;
      check_both_types(split);
    }
  });
}

TEST_CASE("keys and queries of small heads that are not finite give what the reference gives") {
  on_every_target([] {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    RandomRequests random(23);
    AttentionRequest request = random_attention(random, {4, 256, 8}, {4, 512, 8}, 8);
    request.weights = false;
    request.scale = 0.2;
    sequences(request).query = with_positive_column(sequences(request).query, 3);
    sequences(request).key = with_positive_column(sequences(request).key, 3);
    for (const float special : {-infinity, infinity, std::nanf("")}) {
      CAPTURE(special);
      // A key whose every score is not finite, of the second sample.
      AttentionRequest other = request;
      sequences(other).key = with_number(sequences(request).key, (512 + 100) * 8 + 3, special);
      CHECK(near(attend(other).output, exact(other).output, 1));
      // A query that compares so with all keys.
      other = request;
      sequences(other).query = with_number(sequences(request).query, (256 + 100) * 8 + 3, special);
      CHECK(near(attend(other).output, exact(other).output, 1));
    }
  });
}

}  // namespace attn::testing
