#include "plot/numbers/matrix.hpp"

#include <doctest/doctest.h>

namespace {

using attn::plot::pixel_shares;
using attn::plot::Resampling;

TEST_CASE("the shares of every pixel sum to one and stay within the cells") {
  for (const auto resampling : {Resampling::nearest, Resampling::mean, Resampling::hann}) {
    for (const std::size_t cells : {1U, 2U, 7U, 100U}) {
      for (const std::size_t pixels : {1U, 2U, 30U, 250U}) {
        const auto all = pixel_shares(cells, pixels, resampling);
        REQUIRE(all.size() == pixels);
        for (const auto& pixel : all) {
          double sum = 0;
          for (const double share : pixel.shares) sum += share;
          CHECK(sum == doctest::Approx(1));
          CHECK(pixel.first + pixel.shares.size() <= cells);
        }
      }
    }
  }
}

TEST_CASE("no cell is dropped where pixels are fewer") {
  const auto all = pixel_shares(1000, 3, Resampling::mean);
  double sum = 0;
  for (const auto& pixel : all) {
    for (const double share : pixel.shares) {
      CHECK(share > 0);
      sum += share;
    }
  }
  CHECK(sum == doctest::Approx(3));
  CHECK(all[0].first == 0);
  CHECK(all[2].first + all[2].shares.size() == 1000);
}

TEST_CASE("a pixel's mean weighs cells by how much of the pixel they cover") {
  const auto all = pixel_shares(3, 2, Resampling::mean);
  REQUIRE(all[0].shares.size() == 2);
  CHECK(all[0].shares[0] == doctest::Approx(2.0 / 3));
  CHECK(all[0].shares[1] == doctest::Approx(1.0 / 3));
}

TEST_CASE("nearest shows the cell under the pixel's middle") {
  const auto all = pixel_shares(2, 5, Resampling::nearest);
  for (std::size_t x = 0; x < 5; ++x) CHECK(all[x].first == (x < 2 ? 0 : 1));
}

TEST_CASE("the raised cosine is symmetric and mirrors the cells at the ends") {
  const auto all = pixel_shares(4, 8, Resampling::hann);
  for (std::size_t x = 0; x < 8; ++x) {
    std::vector<double> left(4), right(4);
    for (std::size_t k = 0; k < all[x].shares.size(); ++k)
      left[all[x].first + k] = all[x].shares[k];
    for (std::size_t k = 0; k < all[7 - x].shares.size(); ++k) {
      right[3 - (all[7 - x].first + k)] = all[7 - x].shares[k];
    }
    for (std::size_t i = 0; i < 4; ++i) CHECK(left[i] == doctest::Approx(right[i]));
  }
  CHECK(all[0].first == 0);
}

}  // namespace
