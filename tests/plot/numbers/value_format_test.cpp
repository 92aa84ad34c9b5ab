#include <limits>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "plot/numbers/matrix.hpp"
#include "plot/numbers/ticks.hpp"

namespace {

using attn::ColorNorm;
using attn::Heatmap;
using attn::Tensor;
using attn::plot::fitting_format;
using attn::plot::Interval;
using attn::plot::Matrix;
using attn::plot::parse_value_format;
using attn::plot::value_text;

std::vector<std::string> texts_of(std::vector<double> values, Interval range,
                                  const ColorNorm& norm = {}) {
  Heatmap heatmap;
  heatmap.weights = Tensor({1, values.size()}, std::vector<double>(values));
  const Matrix matrix(heatmap, "weights");
  const auto format = fitting_format({&matrix, 1}, range, norm);
  std::vector<std::string> texts;
  for (const double value : values) texts.push_back(value_text(value, format));
  return texts;
}

using Texts = std::vector<std::string>;

TEST_CASE("decimals follow the length of the range") {
  CHECK(texts_of({0.25, 0.756}, {0, 1}) == Texts{"0.25", "0.76"});
  CHECK(texts_of({0.025, 0.0756}, {0, 0.1}) == Texts{"0.025", "0.076"});
  CHECK(texts_of({12.5, -80.25}, {-80.25, 80.25}) == Texts{"12.5", "-80.2"});
}

TEST_CASE("whole numbers have no decimals, and very large ones an exponent") {
  CHECK(texts_of({0, 1, 15}, {0, 15}) == Texts{"0", "1", "15"});
  CHECK(texts_of({1e6, 2.5e7}, {0, 2.5e7}) == Texts{"1e6", "2.5e7"});
}

TEST_CASE("no number that is not zero reads as zero") {
  CHECK(texts_of({0.5, 0.004, 0, -0.001}, {0, 1}) == Texts{"0.50", "<.01", "0.00", ">-.01"});
  CHECK(texts_of({0.5, 0.004, 1e-9}, {0, 1}, {ColorNorm::Kind::log}) ==
        Texts{"0.5", "0.004", "1e-9"});
  CHECK(texts_of({40.5, 0.4}, {0, 40.5}) == Texts{"40.5", "0.4"});
  CHECK(texts_of({400.7, 0.4}, {0, 400.7}) == Texts{"401", "<1"});
}

TEST_CASE("small numbers have the power of ten of their bar, or each its own without a bar") {
  Heatmap heatmap;
  heatmap.weights = Tensor({1, 3}, std::vector<double>{1.9e-8, -9.6e-9, 3.4e-12});
  const Matrix matrix(heatmap, "weights");
  const auto text = [&](double value, bool bar) {
    return value_text(value, fitting_format({&matrix, 1}, {-1.9e-8, 1.9e-8}, {}, bar));
  };
  CHECK(text(1.9e-8, true) == "1.9");
  CHECK(text(-9.6e-9, true) == "-1.0");
  CHECK(text(3.4e-12, true) == "<.1");
  CHECK(text(-9.6e-9, false) == "-9.6e-9");
}

TEST_CASE("colours that are not spread evenly have two significant digits") {
  for (const auto kind : {ColorNorm::Kind::log, ColorNorm::Kind::power}) {
    CHECK(texts_of({0.98, 0.0299, 0.0005}, {0.0001, 1}, {kind}) == Texts{"0.98", "0.03", "0.0005"});
  }
}

TEST_CASE("values take the format asked for") {
  CHECK(value_text(0.12345, parse_value_format(".3f")) == "0.123");
  CHECK(value_text(0.12345, parse_value_format(".2g")) == "0.12");
  CHECK(value_text(0.12345, parse_value_format(".1e")) == "1.2e-1");
  CHECK(value_text(0.12345, parse_value_format(".1%")) == "12.3%");
  CHECK(value_text(0.0001, parse_value_format(".2f")) == "0.00");
  CHECK(value_text(std::numeric_limits<double>::quiet_NaN(), parse_value_format(".2f")) == "nan");
}

TEST_CASE("an unknown format of values is refused with those there are") {
  for (const char* text : {"", ".", ".f", ".2", ".2d", ".-1f", ".13f", ".2ff", "%.2f"}) {
    CAPTURE(text);
    CHECK(error_from([&] { parse_value_format(text); }, attn::ErrorKind::usage) ==
          "unknown format of values \"" + std::string(text) +
              "\"\n  where: AnnotationOptions::format\n  help:  give a number of digits and f, g, "
              "e or %, such as .3f, .2g or .1%");
  }
}

}  // namespace
