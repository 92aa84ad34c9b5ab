#include "plot/colour/colour.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/plot.hpp"

#include "error_from.hpp"

namespace {

using attn::plot::Colour;
using attn::plot::ColourMap;
using attn::plot::head_colour;
using attn::plot::head_dashes;
using attn::plot::most_heads_apart;
using attn::plot::parse_colour;
using attn::plot::readable_on;
using namespace attn::plot;

TEST_CASE("colours are CSS names and hexadecimal numbers") {
  CHECK(parse_colour("white") == Colour{255, 255, 255});
  CHECK(parse_colour("skyblue") == Colour{135, 206, 235});
  CHECK(parse_colour("green") == Colour{0, 128, 0});
  CHECK(parse_colour("#ff8000") == Colour{255, 128, 0});
  CHECK(parse_colour("#f80") == Colour{255, 136, 0});
}

TEST_CASE("another text is no colour") {
  for (const std::string text : {"", "blurple", "#12", "white ", "#gggggg"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_colour(text), attn::Error);
  }
  CHECK(error_from([] { parse_colour("blurple"); }, attn::ErrorKind::usage) ==
        "unknown colour \"blurple\"\n  where: AnnotationOptions::color\n  help:  give a CSS colour "
        "name such as white or navy, or "
        "#rrggbb");
}

TEST_CASE("text is white on dark colours and black on light ones") {
  CHECK(readable_on({128, 0, 38}) == attn::plot::white);
  CHECK(readable_on({0, 0, 0}) == attn::plot::white);
  CHECK(readable_on({255, 255, 204}) == attn::plot::black);
  CHECK(readable_on({254, 178, 76}) == attn::plot::black);
}

struct MapSum {
  std::string name;
  std::uint64_t sum;  // FNV-1a over the 256 × 3 bytes
  Colour first, middle;
};

// From matplotlib 3.6.3: colormaps[name](i, bytes=True) for i in 0…255.
const MapSum sums[] = {
    {"YlOrRd", 0xfcd06d4d1327a52d, {255, 255, 204}, {252, 140, 59}},
    {"YlOrRd_r", 0x3e68f9cd9e319a11, {128, 0, 38}, {253, 141, 60}},
    {"Reds", 0x084229f64ac1d992, {255, 245, 240}, {250, 105, 73}},
    {"Reds_r", 0x7b7e1c924af4c6e8, {103, 0, 12}, {251, 106, 74}},
    {"Blues", 0xb45d22e41bc2e108, {247, 251, 255}, {106, 173, 213}},
    {"Blues_r", 0xbf30e4261ed7a127, {8, 48, 107}, {107, 174, 214}},
    {"Greens", 0x05a769c29dbe0547, {247, 252, 245}, {115, 195, 117}},
    {"Greens_r", 0x86695cc40535fe7b, {0, 68, 27}, {116, 196, 118}},
    {"viridis", 0x90c6ad65c23a4182, {68, 1, 84}, {32, 144, 140}},
    {"viridis_r", 0xe342ddd77143b6c8, {253, 231, 36}, {32, 143, 140}},
    {"magma", 0x31dde46d7e819339, {0, 0, 3}, {182, 54, 121}},
    {"magma_r", 0x059934453d4ae019, {251, 252, 191}, {181, 54, 121}},
    {"plasma", 0xf6c435109a1ec502, {12, 7, 134}, {203, 71, 119}},
    {"plasma_r", 0x40cd9b4b594c5810, {239, 248, 33}, {202, 70, 120}},
    {"cividis", 0x4ba40aeb8cf0b6c5, {0, 34, 77}, {124, 123, 120}},
    {"cividis_r", 0x8d3d30a28bf295f9, {253, 231, 55}, {123, 123, 119}},
    {"coolwarm", 0x83429c8f4f39167e, {58, 76, 192}, {221, 220, 219}},
    {"coolwarm_r", 0x042115f3ea3a0718, {179, 3, 38}, {220, 220, 221}},
    {"RdBu", 0xdcfe4dcf92ee5385, {103, 0, 31}, {246, 246, 246}},
    {"RdBu_r", 0xce158ba067f687e9, {5, 48, 97}, {247, 246, 246}},
    {"gray", 0x32980c901ef4f3d5, {0, 0, 0}, {128, 128, 128}},
    {"gray_r", 0x8a9280878dc75f2d, {255, 255, 255}, {127, 127, 127}},
    {"inferno", 0x6141c43a197621e9, {0, 0, 3}, {187, 55, 84}},
    {"inferno_r", 0x100a07b460cc616d, {252, 254, 164}, {186, 54, 85}},
    {"Greys", 0x3083aeeefcac300d, {255, 255, 255}, {149, 149, 149}},
    {"Greys_r", 0xdb4d006f2e34c4b9, {0, 0, 0}, {150, 150, 150}},
    {"Purples", 0x7e101f2d49355ec4, {252, 251, 253}, {157, 153, 199}},
    {"Purples_r", 0xd2b18d1ff9ba50fe, {63, 0, 125}, {158, 154, 200}},
    {"Oranges", 0xb5c0c67802bab4ac, {255, 245, 235}, {252, 140, 59}},
    {"Oranges_r", 0x4af60653056ee0e3, {127, 39, 4}, {253, 141, 60}},
    {"YlGnBu", 0x9f6d30ad685cd7a7, {255, 255, 217}, {64, 181, 195}},
    {"YlGnBu_r", 0xddf341ec4a29b136, {8, 29, 88}, {65, 182, 195}},
    {"PuBu", 0x54b7fc0f39712dc5, {255, 247, 251}, {115, 168, 206}},
    {"PuBu_r", 0xb14ca29daf508332, {2, 56, 88}, {116, 169, 207}},
    {"BuPu", 0xa3b0066366f4726d, {247, 252, 253}, {140, 149, 197}},
    {"BuPu_r", 0xfeb6cdbee17e484d, {77, 0, 75}, {140, 150, 198}},
    {"GnBu", 0xecc84807dfefc47c, {247, 252, 240}, {122, 203, 196}},
    {"GnBu_r", 0x97323a86c0d47c6e, {8, 64, 129}, {123, 204, 195}},
    {"OrRd", 0xfe648c33d36393f9, {255, 247, 236}, {251, 140, 88}},
    {"OrRd_r", 0x3f6a9b40ddd434fd, {127, 0, 0}, {252, 141, 89}},
    {"YlGn", 0xa5f9f9fedf069530, {255, 255, 229}, {119, 197, 120}},
    {"YlGn_r", 0x24bdd566529a97a2, {0, 69, 41}, {120, 198, 121}},
    {"PuOr", 0xab426b208ef1395b, {127, 59, 8}, {246, 246, 246}},
    {"PuOr_r", 0x99c8e82951ef02d3, {45, 0, 75}, {247, 246, 245}},
    {"bwr", 0x0690d6a77c1dc271, {0, 0, 255}, {255, 254, 254}},
    {"bwr_r", 0x771aa82e948fdfd1, {255, 0, 0}, {254, 254, 255}},
};

std::uint64_t sum_of(const ColourMap& map) {
  std::uint64_t sum = 0xcbf29ce484222325U;
  for (std::size_t i = 0; i < ColourMap::size(); ++i) {
    for (const std::uint8_t byte : {map[i].red, map[i].green, map[i].blue}) {
      sum = (sum ^ byte) * 0x100000001b3U;
    }
  }
  return sum;
}

TEST_CASE("every colour map has matplotlib's 256 colours") {
  CHECK(attn::colour_maps().size() == std::size(sums));
  for (const MapSum& expected : sums) {
    CAPTURE(expected.name);
    const ColourMap map(expected.name);
    CHECK(map[0] == expected.first);
    CHECK(map[128] == expected.middle);
    CHECK(sum_of(map) == expected.sum);
  }
}

TEST_CASE("every listed colour map can be had") {
  for (const auto name : attn::colour_maps()) {
    CHECK_NOTHROW(ColourMap{std::string(name)});
  }
}

TEST_CASE("positions beyond the ends take the ends' colours") {
  const ColourMap map("viridis");
  CHECK(map.at(-1) == map[0]);
  CHECK(map.at(0) == map[0]);
  CHECK(map.at(0.5) == map[128]);
  CHECK(map.at(1) == map[255]);
  CHECK(map.at(7) == map[255]);
  CHECK(map.at(std::numeric_limits<double>::quiet_NaN()) == map[0]);
}

TEST_CASE("an unknown colour map names the nearest") {
  CHECK(error_from([] { ColourMap map("YlOrR"); }, attn::ErrorKind::usage) ==
        "unknown colour map \"YlOrR\"\n  help:  did you mean \"YlOrRd\"?");
  CHECK_THROWS_AS(ColourMap("_r"), attn::Error);
  CHECK_THROWS_AS(ColourMap(""), attn::Error);
}

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

TEST_CASE("hidden cells look like no value of any colour map, on white and on dark paper") {
  for (const attn::Background background : {attn::Background::white, attn::Background::dark}) {
    attn::FigureOptions options;
    options.background = background;
    for (const std::string_view name : attn::colour_maps()) {
      CAPTURE(name);
      const ColourMap map{std::string(name)};
      const Colour hidden = beside(paper_of(options), map).hidden;
      int nearest = 255;
      for (std::size_t i = 0; i < ColourMap::size(); ++i) {
        nearest = std::min(nearest, std::max({std::abs(map[i].red - hidden.red),
                                              std::abs(map[i].green - hidden.green),
                                              std::abs(map[i].blue - hidden.blue)}));
      }
      CHECK(nearest >= 24);
    }
  }
}

TEST_CASE("hidden cells keep their light grey beside the usual map") {
  const Paper paper = paper_of({});
  CHECK(beside(paper, ColourMap("YlOrRd")).hidden == paper.hidden);
  CHECK_FALSE(beside(paper, ColourMap("RdBu_r")).hidden == paper.hidden);
}

}  // namespace
