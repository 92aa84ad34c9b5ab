#include "plot/numbers/ticks.hpp"

#include <limits>

#include <doctest/doctest.h>

namespace {

using Labels = std::vector<std::string>;
using attn::plot::Interval;
using attn::plot::log_ticks;
using attn::plot::tick_texts;
using attn::plot::tick_values;

struct TickCase {
  double low, high;
  int intervals;
  std::vector<double> values;
  std::vector<std::string> labels;  // with hyphens for minus signs
  std::string offset;
};

// Ticks of matplotlib 3.6.3: MaxNLocator(nbins=intervals, steps=[1, 2, 2.5, 5, 10]) and
// ScalarFormatter().format_ticks(...), get_offset() on an axis that shows low…high.
const TickCase cases[] = {
    {0.0,
     0.67,
     9,
     {0.0, 0.1, 0.2, 0.30000000000000004, 0.4, 0.5, 0.6000000000000001, 0.7000000000000001},
     {"0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7"},
     ""},
    {0.0,
     1.0,
     9,
     {0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0},
     {"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"},
     ""},
    {1e-06,
     0.83,
     9,
     {0.0, 0.1, 0.2, 0.30000000000000004, 0.4, 0.5, 0.6000000000000001, 0.7000000000000001, 0.8,
      0.9},
     {"0.0", "0.1", "0.2", "0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9"},
     ""},
    {-0.5,
     47.5,
     9,
     {-10.0, 0.0, 10.0, 20.0, 30.0, 40.0, 50.0},
     {"-10", "0", "10", "20", "30", "40", "50"},
     ""},
    {-0.5, 9.5, 2, {-5.0, 0.0, 5.0, 10.0}, {"-5", "0", "5", "10"}, ""},
    {-0.5,
     0.5,
     9,
     {-0.6000000000000001, -0.4000000000000001, -0.20000000000000007, 0.0, 0.19999999999999996,
      0.3999999999999999, 0.6000000000000001},
     {"-0.6", "-0.4", "-0.2", "0.0", "0.2", "0.4", "0.6"},
     ""},
    {-0.5,
     2.5,
     9,
     {-0.5, 0.0, 0.5, 1.0, 1.5, 2.0, 2.5},
     {"-0.5", "0.0", "0.5", "1.0", "1.5", "2.0", "2.5"},
     ""},
    {0.0, 5.0, 9, {0.0, 1.0, 2.0, 3.0, 4.0, 5.0}, {"0", "1", "2", "3", "4", "5"}, ""},
    {0.0, 10.0, 9, {0.0, 2.0, 4.0, 6.0, 8.0, 10.0}, {"0", "2", "4", "6", "8", "10"}, ""},
    {0.0,
     2.0,
     9,
     {0.0, 0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0},
     {"0.00", "0.25", "0.50", "0.75", "1.00", "1.25", "1.50", "1.75", "2.00"},
     ""},
    {0.0,
     513.0,
     9,
     {0.0, 100.0, 200.0, 300.0, 400.0, 500.0, 600.0},
     {"0", "100", "200", "300", "400", "500", "600"},
     ""},
    {0.0,
     2049.0,
     9,
     {0.0, 250.0, 500.0, 750.0, 1000.0, 1250.0, 1500.0, 1750.0, 2000.0, 2250.0},
     {"0", "250", "500", "750", "1000", "1250", "1500", "1750", "2000", "2250"},
     ""},
    {0.0,
     1500001.0,
     9,
     {0.0, 200000.0, 400000.0, 600000.0, 800000.0, 1000000.0, 1200000.0, 1400000.0, 1600000.0},
     {"0.0", "0.2", "0.4", "0.6", "0.8", "1.0", "1.2", "1.4", "1.6"},
     "1e6"},
    {0.9,
     1.1,
     9,
     {0.9, 0.925, 0.95, 0.975, 1.0, 1.025, 1.05, 1.075, 1.1},
     {"0.900", "0.925", "0.950", "0.975", "1.000", "1.025", "1.050", "1.075", "1.100"},
     ""},
    {-0.1,
     0.1,
     9,
     {-0.1, -0.07500000000000001, -0.05, -0.024999999999999994, 0.0, 0.024999999999999994,
      0.05000000000000002, 0.07500000000000001, 0.1},
     {"-0.100", "-0.075", "-0.050", "-0.025", "0.000", "0.025", "0.050", "0.075", "0.100"},
     ""},
    {0.0,
     1e-07,
     9,
     {0.0, 2e-08, 4e-08, 6.000000000000001e-08, 8e-08, 1e-07},
     {"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"},
     "1e-7"},
    {2e-06,
     9.5e-06,
     5,
     {2e-06, 4e-06, 6e-06, 8e-06, 9.999999999999999e-06},
     {"2", "4", "6", "8", "10"},
     "1e-6"},
    {100000000.0,
     900000000.0,
     9,
     {100000000.0, 200000000.0, 300000000.0, 400000000.0, 500000000.0, 600000000.0, 700000000.0,
      800000000.0, 900000000.0},
     {"1", "2", "3", "4", "5", "6", "7", "8", "9"},
     "1e8"},
    {100000.0,
     100001.0,
     9,
     {100000.0, 100000.2, 100000.4, 100000.6, 100000.8, 100001.0},
     {"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"},
     "+1e5"},
    {-0.123457,
     -0.123456,
     9,
     {-0.12345700000000001, -0.1234568, -0.1234566, -0.12345640000000001, -0.1234562,
      -0.12345600000000001},
     {"-1.0", "-0.8", "-0.6", "-0.4", "-0.2", "0.0"},
     "1e-6-1.23456e-1"},
    {1.5,
     1.5000001,
     4,
     {1.5, 1.5000000500000001, 1.5000000999999998},
     {"0.0", "0.5", "1.0"},
     "1e-7+1.5"},
    {-3.2,
     8.1,
     6,
     {-4.0, -2.0, 0.0, 2.0, 4.0, 6.0, 8.0, 10.0},
     {"-4", "-2", "0", "2", "4", "6", "8", "10"},
     ""},
    {0.025, 0.2327, 2, {0.0, 0.1, 0.2, 0.30000000000000004}, {"0.0", "0.1", "0.2", "0.3"}, ""},
    {0.0, 0.93, 4, {0.0, 0.25, 0.5, 0.75, 1.0}, {"0.00", "0.25", "0.50", "0.75", "1.00"}, ""},
    {1234.5,
     1234.9,
     7,
     {1234.5, 1234.6, 1234.7, 1234.8, 1234.9},
     {"0.5", "0.6", "0.7", "0.8", "0.9"},
     "+1.234e3"},
    {-1e-300,
     1e-300,
     9,
     {-1e-13, -7.500000000000001e-14, -5e-14, -2.4999999999999994e-14, 0.0, 2.4999999999999994e-14,
      5.0000000000000014e-14, 7.500000000000001e-14, 1e-13},
     {"0.000000000000000", "0.000000000000000", "0.000000000000000", "0.000000000000000",
      "0.000000000000000", "0.000000000000000", "0.000000000000000", "0.000000000000000",
      "0.000000000000000"},
     ""},
    {5.0,
     5.0,
     9,
     {4.9999999999994, 4.9999999999996, 4.9999999999998, 5.0, 5.0000000000002, 5.0000000000004,
      5.0000000000006},
     {"4.9999999999994", "4.9999999999996", "4.9999999999998", "5.0000000000000", "5.0000000000002",
      "5.0000000000004", "5.0000000000006"},
     ""},
    {-1000000000000.0,
     250000000000.0,
     3,
     {-1000000000000.0, -500000000000.0, 0.0, 500000000000.0},
     {"-1.0", "-0.5", "0.0", "0.5"},
     "1e12"},
};

TEST_CASE("ticks stand at matplotlib's values and read as matplotlib's") {
  for (const TickCase& expected : cases) {
    CAPTURE(expected.low);
    CAPTURE(expected.high);
    const Interval view = {expected.low, expected.high};
    const auto values = tick_values(view, expected.intervals);
    CHECK(values == expected.values);
    const auto texts = tick_texts(values, view);
    REQUIRE(texts.labels.size() == expected.labels.size());
    for (std::size_t i = 0; i < texts.labels.size(); ++i) {
      CHECK(texts.labels[i] == attn::plot::with_minus_signs(expected.labels[i]));
    }
    CHECK(texts.offset == attn::plot::with_minus_signs(expected.offset));
  }
}

TEST_CASE("the number of tick intervals follows the room that labels have") {
  CHECK(attn::plot::tick_intervals(400, 10, false) == 9);
  CHECK(attn::plot::tick_intervals(59, 10, true) == 1);
  CHECK(attn::plot::tick_intervals(59, 10, false) == 2);
  CHECK(attn::plot::tick_intervals(1, 10, true) == 1);
}

TEST_CASE("an axis whose length overflows has no ticks") {
  const double largest = std::numeric_limits<double>::max();
  CHECK(tick_values({-largest, largest}, 9).empty());
  CHECK(tick_texts({}, {-largest, largest}).labels.empty());
}

TEST_CASE("an empty interval is spread about its value") {
  const auto about_one = attn::plot::nonsingular({1, 1}, 0.1, 1e-15);
  CHECK(about_one.low == doctest::Approx(0.9));
  CHECK(about_one.high == doctest::Approx(1.1));
  const auto about_zero = attn::plot::nonsingular({0, 0}, 0.1, 1e-15);
  CHECK(about_zero.low == -0.1);
  CHECK(about_zero.high == 0.1);
  const auto unknown =
      attn::plot::nonsingular({std::numeric_limits<double>::quiet_NaN(), 1}, 0.1, 1e-15);
  CHECK(unknown.low == -0.1);
  const auto ordinary = attn::plot::nonsingular({2, 1}, 0.1, 1e-15);
  CHECK(ordinary.low == 1);
  CHECK(ordinary.high == 2);
}

TEST_CASE("a value on the edge of the view is in it despite rounding") {
  CHECK(attn::plot::in_view({0, 0.3}, 0.1 + 0.2));
  CHECK_FALSE(attn::plot::in_view({0, 0.3}, 0.31));
}

TEST_CASE("decades are labelled by powers of ten and parted by minor ticks") {
  const auto ticks = log_ticks({0.0005, 1}, 9);
  CHECK(ticks.labels == Labels{"10⁻³", "10⁻²", "10⁻¹", "10⁰"});
  CHECK(ticks.minor_values.size() == 5 + 3 * 8);
}

TEST_CASE("many decades thin out") {
  const auto ticks = log_ticks({1e-12, 1}, 5);
  CHECK(ticks.labels == Labels{"10⁻¹²", "10⁻⁹", "10⁻⁶", "10⁻³", "10⁰"});
}

TEST_CASE("within a decade round values are shown") {
  const auto ticks = log_ticks({0.2, 0.8}, 4);
  CHECK(ticks.labels == Labels{"0.2", "0.4", "0.6", "0.8"});
  CHECK(ticks.minor_values.empty());
}

TEST_CASE("a narrow range shows its ends") {
  CHECK(log_ticks({1e-8, 5e-8}, 4).labels == Labels{"1e\u221208", "5e\u221208"});
}

}  // namespace
