#include "plot/colour/colour_map.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/plot.hpp"

namespace {

using attn::plot::Colour;
using attn::plot::ColourMap;

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
  try {
    ColourMap map("YlOrR");
    FAIL("no error");
  } catch (const attn::Error& error) {
    CHECK(error.kind() == attn::ErrorKind::usage);
    CHECK(error.problem() + " | " + error.where() + " | " + error.help() ==
          "unknown colour map \"YlOrR\" |  | did you mean \"YlOrRd\"?");
  }
  CHECK_THROWS_AS(ColourMap("_r"), attn::Error);
  CHECK_THROWS_AS(ColourMap(""), attn::Error);
}

}  // namespace
