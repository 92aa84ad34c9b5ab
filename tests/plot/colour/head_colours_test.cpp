#include "plot/colour/head_colours.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <doctest/doctest.h>

namespace {

using attn::plot::Colour;
using attn::plot::head_colour;
using attn::plot::head_dashes;
using attn::plot::most_heads_apart;

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

Triple times(const Matrix& matrix, const Triple& vector) {
  Triple product{};
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 3; ++j) product[i] += matrix[i][j] * vector[j];
    product[i] = std::clamp(product[i], 0.0, 1.0);
  }
  return product;
}

Triple linear(Colour colour) {
  const auto channel = [](std::uint8_t value) {
    const double share = value / 255.0;
    return share <= 0.04045 ? share / 12.92 : std::pow((share + 0.055) / 1.055, 2.4);
  };
  return {channel(colour.red), channel(colour.green), channel(colour.blue)};
}

// CIE 1976 L*a*b* under D65.
Triple lab(const Triple& rgb) {
  constexpr Matrix xyz = {{{0.4124564, 0.3575761, 0.1804375},
                           {0.2126729, 0.7151522, 0.0721750},
                           {0.0193339, 0.1191920, 0.9503041}}};
  constexpr Triple light = {0.95047, 1, 1.08883};
  Triple root{};
  for (std::size_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) sum += xyz[i][j] * rgb[j];
    const double share = sum / light[i];
    root[i] = share > 0.008856 ? std::cbrt(share) : 7.787 * share + 16.0 / 116;
  }
  return {116 * root[1] - 16, 500 * (root[0] - root[1]), 200 * (root[1] - root[2])};
}

// Full protanopia, deuteranopia and tritanopia of linear light (Machado et al. 2009).
constexpr std::array<Matrix, 3> deficiencies = {{{{{0.152286, 1.052583, -0.204868},
                                                   {0.114503, 0.786281, 0.099216},
                                                   {-0.003882, -0.048116, 1.051998}}},
                                                 {{{0.367322, 0.860646, -0.227968},
                                                   {0.280085, 0.672501, 0.047413},
                                                   {-0.011820, 0.042940, 0.968881}}},
                                                 {{{1.255528, -0.076749, -0.178779},
                                                   {-0.078411, 0.930809, 0.147602},
                                                   {0.004733, 0.691367, 0.303900}}}}};

TEST_CASE("heads are told apart by colour under three deficiencies, or by their dashes") {
  constexpr double told_apart = 12;  // ΔE*ab
  for (std::size_t a = 0; a < most_heads_apart; ++a) {
    for (std::size_t b = 0; b < a; ++b) {
      CAPTURE(a);
      CAPTURE(b);
      if (head_dashes(a) != head_dashes(b)) continue;
      for (const Matrix& deficiency : deficiencies) {
        const Triple one = lab(times(deficiency, linear(head_colour(a))));
        const Triple other = lab(times(deficiency, linear(head_colour(b))));
        const double distance =
            std::sqrt(std::pow(one[0] - other[0], 2) + std::pow(one[1] - other[1], 2) +
                      std::pow(one[2] - other[2], 2));
        CHECK(distance >= told_apart);
      }
    }
  }
}

}  // namespace
