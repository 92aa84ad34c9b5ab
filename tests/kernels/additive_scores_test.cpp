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

// u: half a unit in the last place of 1.
template <class T>
constexpr double half_unit = static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;

// The largest number whose powers are used.
constexpr double widest = 34;

template <class T>
struct Rows {
  std::size_t queries, keys, units;
  std::vector<T> a, b, w;
};

template <class T>
Rows<T> random_rows(std::size_t queries, std::size_t keys, std::size_t units, double deviation) {
  std::mt19937 random(1);
  std::normal_distribution<double> distribution(0, deviation), unit;
  Rows<T> rows{queries, keys, units, {}, {}, {}};
  const auto within = [&] {
    return static_cast<T>(std::clamp(distribution(random), -widest, widest));
  };
  for (std::size_t i = 0; i < queries * units; ++i) rows.a.push_back(within());
  for (std::size_t i = 0; i < keys * units; ++i) rows.b.push_back(within());
  for (std::size_t i = 0; i < units; ++i) rows.w.push_back(static_cast<T>(unit(random)));
  return rows;
}

// Units that may share a division, as far as the weights allow it.
enum class Sharing { as_fits, pairs, none };

// All scores by fractions, [queries, keys].
template <class T>
std::vector<T> scores(const Rows<T>& rows, Sharing sharing) {
  const std::size_t row_count = kernels::additive_row_count<T>(rows.units);
  const std::size_t panel_keys = kernels::additive_panel_keys<T>();
  std::vector<T> powers(rows.queries * row_count), inverses(row_count);
  kernels::AdditiveWeights<T> weights{};
  CHECK(kernels::additive_weights(rows.w.data(), rows.units, inverses.data(), weights));
  std::vector<const T*> power_rows;
  T largest = 0;
  for (std::size_t i = 0; i < rows.queries; ++i) {
    T* row = powers.data() + i * row_count;
    largest = std::max(largest, kernels::additive_query_powers(rows.a.data() + i * rows.units,
                                                               rows.units, inverses.data(), row));
    power_rows.push_back(row);
  }
  CHECK(std::isfinite(largest));
  std::vector<T> result(rows.queries * rows.keys);
  std::vector<T> panel(panel_keys * row_count), block(rows.queries * panel_keys);
  std::vector<std::uint8_t> wide(panel_keys);
  for (std::size_t first = 0; first < rows.keys; first += panel_keys) {
    const std::size_t count = std::min(panel_keys, rows.keys - first);
    T product =
        largest * kernels::additive_key_powers(rows.b.data() + first * rows.units, rows.units,
                                               count, rows.units, panel.data(), wide.data());
    CHECK(std::count(wide.begin(), wide.begin() + static_cast<std::ptrdiff_t>(count), 0) ==
          static_cast<std::ptrdiff_t>(count));
    if (sharing == Sharing::pairs) product = std::max(product, weights.most[0] / 2);
    if (sharing == Sharing::none) product = std::numeric_limits<T>::infinity();
    std::vector<T*> score_rows;
    for (std::size_t i = 0; i < rows.queries; ++i) {
      score_rows.push_back(block.data() + i * panel_keys);
    }
    kernels::additive_scores({power_rows.data(), rows.queries, rows.units, &weights, panel.data(),
                              product, score_rows.data()});
    for (std::size_t i = 0; i < rows.queries; ++i) {
      std::copy_n(score_rows[i], count, result.data() + i * rows.keys + first);
    }
  }
  return result;
}

template <class T>
long double exact(const Rows<T>& rows, std::size_t i, std::size_t j) {
  long double sum = 0;
  for (std::size_t u = 0; u < rows.units; ++u) {
    const long double a = rows.a[i * rows.units + u], b = rows.b[j * rows.units + u];
    sum += static_cast<long double>(rows.w[u]) * std::tanh(a + b);
  }
  return sum;
}

template <class T>
double weight_size(const Rows<T>& rows) {
  double size = 0;
  for (const T w : rows.w) size += std::abs(static_cast<double>(w));
  return size;
}

// The bound that kernels/additive_scores.hpp states. With x = E F, c and d in units of their power
// of two, and u half a unit in the last place of 1:
// 1. E and F are within 4 u each, their product with c's rounding and its own within 10 u; this
//    moves 1/(1 + x) by at most x/(1 + x)² of that, a quarter.
// 2. c is within 1 u, and so is the sum d: 2 u of 1/d.
// 3. A numerator of two is within 1 u, of four within 4 u, of eight within 9 u (term by term, so
//    that nothing cancels); their divisors within 1, 3 and 7 u; the quotient 1 u more: at most 17
//    u.
// 4. Fractions are added one after the other, one for each 4 units at most, or for each 8 where
//    eight share a division: 1 u for each but the first. Where fewer units share one, four are
//    added first, which takes less than sharing does.
// 5. All this twice, as the sum is taken twice from Σ w, and 1 u each for Σ w and the difference.
// With four: 2 (2.5 + 2 + 8 + units/4) + 2 = 27 + units/2; with eight 2 (2.25 + 2 + 17 − 1 +
// (units + 7)/8) + 2 = 44.25 + units/4. Weights that count as 2⁻⁴⁰ of the largest add nothing to
// this, nor do those behind the last unit.
template <class T>
void check_bound(const Rows<T>& rows, Sharing sharing) {
  const std::vector<T> found = scores(rows, sharing);
  const double bound =
      (44 + static_cast<double>(rows.units) / 2) * half_unit<T> * weight_size(rows);
  long double largest = 0;
  for (std::size_t i = 0; i < rows.queries; ++i) {
    for (std::size_t j = 0; j < rows.keys; ++j) {
      const long double error = std::abs(found[i * rows.keys + j] - exact(rows, i, j));
      largest = std::isnan(error) ? HUGE_VALL : std::max(largest, error);
    }
  }
  CHECK(largest <= bound);
}

template <class T>
void check_every_sharing(const Rows<T>& rows) {
  for (const Sharing sharing : {Sharing::as_fits, Sharing::pairs, Sharing::none}) {
    CAPTURE(static_cast<int>(sharing));
    check_bound(rows, sharing);
  }
}

}  // namespace

TEST_CASE_TEMPLATE(
    "additive scores are within their bound for every remainder of queries, keys and units", T,
    float, double) {
  attn::testing::on_every_target([] {
    for (std::size_t queries = 1; queries <= 5; ++queries) {
      check_every_sharing(random_rows<T>(queries, 7, 6, 1));
    }
    for (std::size_t keys = 1; keys <= 70; ++keys) {
      check_bound(random_rows<T>(3, keys, 5, 1), Sharing::as_fits);
    }
    for (std::size_t units = 1; units <= 35; ++units) {
      check_every_sharing(random_rows<T>(3, 9, units, 1));
    }
    for (std::size_t units : {127, 128, 129, 255, 256, 257, 600}) {
      check_bound(random_rows<T>(4, 40, units, 1), Sharing::as_fits);
    }
  });
}

TEST_CASE_TEMPLATE(
    "additive scores are within their bound for tiny numbers and for large ones up to 34", T, float,
    double) {
  attn::testing::on_every_target([] {
    for (const double deviation : {1e-30, 1e-6, 1e-3, 0.1, 3.0, 5.0, 8.0, 20.0, 100.0}) {
      CAPTURE(deviation);
      check_every_sharing(random_rows<T>(8, 50, 32, deviation));
    }
    // Every pair of these, opposite ones among them.
    const auto below = static_cast<T>(std::nextafter(34.0F, 0.0F));
    const std::vector<T> edge{-34,      -below, T(-21.5), -1,      T(-1e-37), 0,
                              T(1e-37), 1,      T(10.75), T(21.5), below,     34};
    Rows<T> pairs{edge.size(), edge.size(), 1, edge, edge, {T(1.5)}};
    check_every_sharing(pairs);
    pairs.w = {T(0x1p90)};
    check_every_sharing(pairs);
  });
}

TEST_CASE_TEMPLATE("weights of very different sizes leave additive scores within their bound", T,
                   float, double) {
  attn::testing::on_every_target([] {
    for (const double deviation : {0.5, 4.0, 15.0}) {
      Rows<T> rows = random_rows<T>(4, 20, 48, deviation);
      // From 1 down to numbers below the normal ones, and zeros.
      for (std::size_t u = 0; u < rows.units; ++u) {
        rows.w[u] = std::ldexp(rows.w[u], -static_cast<int>(u * u) / 12);
      }
      check_every_sharing(rows);
      rows.w[20] = rows.w[21] = rows.w[22] = rows.w[23] = 0;
      check_every_sharing(rows);
      for (T& w : rows.w) w = std::ldexp(w, -90);
      check_every_sharing(rows);
    }
    Rows<T> nothing = random_rows<T>(2, 3, 9, 1);
    std::fill(nothing.w.begin(), nothing.w.end(), T(0));
    for (const T score : scores(nothing, Sharing::as_fits)) CHECK(std::abs(score) <= T(1e-11));
  });
}

TEST_CASE_TEMPLATE("weights that fractions cannot take are reported", T, float, double) {
  attn::testing::on_every_target([] {
    std::vector<T> inverses(kernels::additive_row_count<T>(3));
    kernels::AdditiveWeights<T> weights{};
    const T most = std::numeric_limits<T>::max(), least = std::numeric_limits<T>::min();
    const T infinity = std::numeric_limits<T>::infinity();
    for (const T odd : {most, infinity, -infinity, std::numeric_limits<T>::quiet_NaN()}) {
      const std::vector<T> w{1, odd, 1};
      CHECK(!kernels::additive_weights(w.data(), 3, inverses.data(), weights));
    }
    const std::vector<T> tiny{least, 0, -least}, usual{1, least, 0};
    CHECK(!kernels::additive_weights(tiny.data(), 3, inverses.data(), weights));
    CHECK(kernels::additive_weights(usual.data(), 3, inverses.data(), weights));
  });
}

TEST_CASE_TEMPLATE("rows with numbers that powers cannot hold are wide", T, float, double) {
  attn::testing::on_every_target([] {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    const std::size_t row_count = kernels::additive_row_count<T>(9);
    const std::vector<T> ones(row_count, 1);
    std::vector<T> powers(row_count), panel(row_count * kernels::additive_panel_keys<T>());
    std::vector<std::uint8_t> wide(kernels::additive_panel_keys<T>());
    const T above = std::nextafter(T(widest), infinity);
    for (const T odd : {above, -above, infinity, -infinity, std::numeric_limits<T>::quiet_NaN()}) {
      for (std::size_t at : {0, 4, 8}) {
        std::vector<T> row(9, T(0.5));
        row[at] = odd;
        CHECK(
            std::isinf(kernels::additive_query_powers(row.data(), 9, ones.data(), powers.data())));
        kernels::additive_key_powers(row.data(), 9, 1, 9, panel.data(), wide.data());
        CHECK(wide[0] == 1);
      }
    }
    const std::vector<T> row{34, -34, 0};
    const T largest = kernels::additive_query_powers(row.data(), 3, ones.data(), powers.data());
    CHECK(largest == doctest::Approx(std::exp(68.0)).epsilon(8 * half_unit<T>));
    CHECK(kernels::additive_key_powers(row.data(), 3, 1, 3, panel.data(), wide.data()) == largest);
    CHECK(wide[0] == 0);
  });
}

// tanh is within 4 half units, and the sum of a and b within one, which is worth less than half a
// unit of the result; every product and sum rounds once.
TEST_CASE_TEMPLATE("the score of a pair is within its bound, whatever the numbers are", T, float,
                   double) {
  attn::testing::on_every_target([] {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    for (std::size_t units = 1; units <= 40; ++units) {
      for (const double deviation : {1e-30, 0.3, 30.0}) {
        Rows<T> rows = random_rows<T>(1, 1, units, deviation);
        for (const T large : {T(0), T(44), T(-1e10), infinity}) {
          rows.a[units - 1] += large;
          const T found =
              kernels::additive_score(rows.a.data(), rows.b.data(), rows.w.data(), units);
          CHECK(std::abs(found - exact(rows, 0, 0)) <=
                (8 + static_cast<double>(units)) * half_unit<T> * weight_size(rows));
        }
        rows.b[units - 1] = -infinity;
        CHECK(std::isnan(
            kernels::additive_score(rows.a.data(), rows.b.data(), rows.w.data(), units)));
      }
    }
    // Opposite large numbers leave what is between them.
    const T a = T(1e4), b = T(-9999.5), w = 2;
    CHECK(kernels::additive_score(&a, &b, &w, 1) ==
          doctest::Approx(2 * std::tanh(0.5)).epsilon(1e-6));
  });
}
