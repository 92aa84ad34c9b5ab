#include "kernels/additive_scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include <doctest/doctest.h>

#include "kernels/every_target.hpp"

namespace kernels = attn::kernels;

namespace {

constexpr double half_unit = 0x1p-24;

struct Rows {
  std::size_t queries, keys, units;
  std::vector<float> a, b, w;
};

Rows random_rows(std::size_t queries, std::size_t keys, std::size_t units, float deviation) {
  std::mt19937 random(1);
  std::normal_distribution<float> distribution(0, deviation), unit;
  Rows rows{queries, keys, units, {}, {}, {}};
  const auto within = [&] { return std::clamp(distribution(random), -43.0F, 43.0F); };
  for (std::size_t i = 0; i < queries * units; ++i) rows.a.push_back(within());
  for (std::size_t i = 0; i < keys * units; ++i) rows.b.push_back(within());
  for (std::size_t i = 0; i < units; ++i) rows.w.push_back(unit(random));
  return rows;
}

// All scores by fractions, [queries, keys].
std::vector<float> scores(const Rows& rows, bool capped) {
  const std::size_t row_floats = kernels::additive_row_floats(rows.units);
  const std::size_t panel_keys = kernels::additive_panel_keys();
  std::vector<float> powers(rows.queries * row_floats), w(row_floats);
  std::copy(rows.w.begin(), rows.w.end(), w.begin());
  double sum = 0;
  for (const float weight : rows.w) sum += weight;
  std::vector<const float*> power_rows;
  for (std::size_t i = 0; i < rows.queries; ++i) {
    float* row = powers.data() + i * row_floats;
    CHECK(std::isfinite(
        kernels::additive_query_powers(rows.a.data() + i * rows.units, rows.units, row)));
    power_rows.push_back(row);
  }
  std::vector<float> result(rows.queries * rows.keys);
  std::vector<float> panel(panel_keys * row_floats), block(rows.queries * panel_keys);
  std::vector<std::uint8_t> wide(panel_keys);
  for (std::size_t first = 0; first < rows.keys; first += panel_keys) {
    const std::size_t count = std::min(panel_keys, rows.keys - first);
    kernels::additive_key_powers(rows.b.data() + first * rows.units, rows.units, count, rows.units,
                                 panel.data(), wide.data());
    CHECK(std::count(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(count), 0) ==
          static_cast<std::ptrdiff_t>(count));
    std::vector<float*> score_rows;
    for (std::size_t i = 0; i < rows.queries; ++i) {
      score_rows.push_back(block.data() + i * panel_keys);
    }
    kernels::additive_scores({power_rows.data(), rows.queries, rows.units, w.data(),
                              static_cast<float>(sum), panel.data(), capped, score_rows.data()});
    for (std::size_t i = 0; i < rows.queries; ++i) {
      std::copy_n(score_rows[i], count, result.data() + i * rows.keys + first);
    }
  }
  return result;
}

double exact(const Rows& rows, std::size_t i, std::size_t j) {
  double sum = 0;
  for (std::size_t u = 0; u < rows.units; ++u) {
    sum += static_cast<double>(rows.w[u]) *
           std::tanh(static_cast<double>(rows.a[i * rows.units + u]) + rows.b[j * rows.units + u]);
  }
  return sum;
}

double weight_size(const Rows& rows) {
  double size = 0;
  for (const float w : rows.w) size += std::abs(w);
  return size;
}

// The bound that kernels/additive_scores.hpp states. With u = 2⁻²⁴, half a unit in the last place:
// E and F are within 4 u each, E F with d = 1 + E F then within 9 u; the fractions of two and of
// four units add 2 u each to their numerators and 1 u and 1 u to the divisors, the quotient 4 u,
// the sum 1 u for each four units. Twice that, as the sum is taken twice from Σ w, and 2 u for Σ w
// itself and the difference; the cap is worth 2⁻⁶ u.
void check_bound(const Rows& rows, bool capped) {
  const std::vector<float> found = scores(rows, capped);
  const double bound = (44 + static_cast<double>(rows.units) / 2) * half_unit * weight_size(rows);
  double largest = 0;
  for (std::size_t i = 0; i < rows.queries; ++i) {
    for (std::size_t j = 0; j < rows.keys; ++j) {
      const double error = std::abs(found[i * rows.keys + j] - exact(rows, i, j));
      largest = std::isnan(error) ? HUGE_VAL : std::max(largest, error);
    }
  }
  CHECK(largest <= bound);
}

}  // namespace

TEST_CASE("additive scores are within their bound for every remainder of queries, keys and units") {
  attn::testing::on_every_target([] {
    for (std::size_t queries = 1; queries <= 5; ++queries) {
      check_bound(random_rows(queries, 7, 6, 1), false);
    }
    for (std::size_t keys = 1; keys <= 70; ++keys) check_bound(random_rows(3, keys, 5, 1), true);
    for (std::size_t units = 1; units <= 35; ++units) {
      check_bound(random_rows(3, 9, units, 1), true);
    }
    for (std::size_t units : {127, 128, 129, 255, 256, 257, 600}) {
      check_bound(random_rows(4, 40, units, 1), true);
    }
  });
}

TEST_CASE("additive scores are within their bound for tiny numbers and for large ones up to 43") {
  attn::testing::on_every_target([] {
    for (const float deviation : {1e-30F, 1e-6F, 1e-3F, 0.1F, 5.0F, 20.0F, 100.0F}) {
      CAPTURE(deviation);
      check_bound(random_rows(8, 50, 32, deviation), true);
    }
    // Every pair of these, opposite ones among them.
    const std::vector<float> edge{-43,    -42.999996F, -21.5F, -1,    -1e-38F,    0,
                                  1e-38F, 1,           10.75F, 21.5F, 42.999996F, 43};
    Rows pairs{edge.size(), edge.size(), 1, edge, edge, {1.5F}};
    check_bound(pairs, true);
    pairs.w = {0x1p30F};
    check_bound(pairs, true);
  });
}

TEST_CASE("the cap changes nothing where no product reaches it") {
  attn::testing::on_every_target([] {
    const Rows rows = random_rows(5, 40, 12, 2);
    CHECK(scores(rows, true) == scores(rows, false));
  });
}

TEST_CASE("rows with numbers that powers cannot hold are wide") {
  attn::testing::on_every_target([] {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const std::size_t row_floats = kernels::additive_row_floats(9);
    std::vector<float> powers(row_floats), panel(row_floats * kernels::additive_panel_keys());
    std::vector<std::uint8_t> wide(kernels::additive_panel_keys());
    for (const float odd : {43.000004F, -43.000004F, infinity, -infinity, std::nanf("")}) {
      for (std::size_t at : {0, 4, 8}) {
        std::vector<float> row(9, 0.5F);
        row[at] = odd;
        CHECK(std::isinf(kernels::additive_query_powers(row.data(), 9, powers.data())));
        kernels::additive_key_powers(row.data(), 9, 1, 9, panel.data(), wide.data());
        CHECK(wide[0] == 1);
      }
    }
    const std::vector<float> row{43, -43, 0};
    const float largest = kernels::additive_query_powers(row.data(), 3, powers.data());
    CHECK(largest == doctest::Approx(std::exp(86.0)).epsilon(1e-6));
    CHECK(kernels::additive_key_powers(row.data(), 3, 1, 3, panel.data(), wide.data()) == largest);
    CHECK(wide[0] == 0);
  });
}

// tanh is within 4 half units, and the sum of a and b within one, which is worth less than half a
// unit of the result; every product and sum rounds once.
TEST_CASE("the score of a pair is within its bound, whatever the numbers are") {
  attn::testing::on_every_target([] {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (std::size_t units = 1; units <= 40; ++units) {
      for (const float deviation : {1e-30F, 0.3F, 30.0F}) {
        Rows rows = random_rows(1, 1, units, deviation);
        for (const float large : {0.0F, 44.0F, -1e10F, infinity}) {
          rows.a[units - 1] += large;
          const float found =
              kernels::additive_score(rows.a.data(), rows.b.data(), rows.w.data(), units);
          CHECK(std::abs(found - exact(rows, 0, 0)) <=
                (8 + static_cast<double>(units)) * half_unit * weight_size(rows));
        }
        rows.b[units - 1] = -infinity;
        CHECK(std::isnan(
            kernels::additive_score(rows.a.data(), rows.b.data(), rows.w.data(), units)));
      }
    }
    // Opposite large numbers leave what is between them.
    const float a = 1e4F, b = -9999.5F, w = 2;
    CHECK(kernels::additive_score(&a, &b, &w, 1) ==
          doctest::Approx(2 * std::tanh(0.5)).epsilon(1e-6));
  });
}
