#include "tensor/block_numbers.hpp"

#include <bit>
#include <cmath>
#include <limits>

#include "kernels/row_functions.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

// Numbers are computed in the order of operations that llama.cpp's dequantize_row_… has, each
// rounded to a float (ggml/src/ggml-quants.c describes the formats). Kernels do so for the types
// that most checkpoints have.

using Bytes = const std::uint8_t*;

// A number of 16 bits that need not be aligned.
std::uint16_t bits_at(Bytes at) {
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

float half_at(Bytes at) {
  return float16_number(bits_at(at));
}

int low(std::uint8_t byte) {
  return byte & 0xF;
}
int high(std::uint8_t byte) {
  return byte >> 4;
}

void q4_1(Bytes block, float* to) {
  const float d = half_at(block), m = half_at(block + 2);
  const Bytes q = block + 4;
  for (std::size_t j = 0; j < 16; ++j) {
    to[j] = static_cast<float>(low(q[j])) * d + m;
    to[j + 16] = static_cast<float>(high(q[j])) * d + m;
  }
}

// The fifth bits of 32 numbers.
std::uint32_t fifth_bits(Bytes at) {
  return bits_at(at) | static_cast<std::uint32_t>(bits_at(at + 2)) << 16U;
}

void q5_0(Bytes block, float* to) {
  const float d = half_at(block);
  const std::uint32_t fifth = fifth_bits(block + 2);
  const Bytes q = block + 6;
  for (std::size_t j = 0; j < 16; ++j) {
    const int first = low(q[j]) | static_cast<int>(fifth >> j & 1U) << 4;
    const int second = high(q[j]) | static_cast<int>(fifth >> (j + 16) & 1U) << 4;
    to[j] = static_cast<float>(first - 16) * d;
    to[j + 16] = static_cast<float>(second - 16) * d;
  }
}

void q5_1(Bytes block, float* to) {
  const float d = half_at(block), m = half_at(block + 2);
  const std::uint32_t fifth = fifth_bits(block + 4);
  const Bytes q = block + 8;
  for (std::size_t j = 0; j < 16; ++j) {
    const int first = low(q[j]) | static_cast<int>(fifth >> j & 1U) << 4;
    const int second = high(q[j]) | static_cast<int>(fifth >> (j + 16) & 1U) << 4;
    to[j] = static_cast<float>(first) * d + m;
    to[j + 16] = static_cast<float>(second) * d + m;
  }
}

void q2_k(Bytes block, float* to) {
  const Bytes scales = block, q = block + 16;
  const float d = half_at(block + 80), m = half_at(block + 82);
  for (std::size_t group = 0; group < 16; ++group) {
    // Groups of 16: two share 32 bytes and two bits, four pairs share the bytes.
    const float scale = d * static_cast<float>(low(scales[group]));
    const float least = m * static_cast<float>(high(scales[group]));
    const Bytes own = q + group / 8 * 32 + group % 2 * 16;
    const std::size_t shift = group % 8 / 2 * 2;
    for (std::size_t l = 0; l < 16; ++l) {
      to[group * 16 + l] = scale * static_cast<float>(own[l] >> shift & 3) - least;
    }
  }
}

void q3_k(Bytes block, float* to) {
  const Bytes high_bits = block, q = block + 32, scales = block + 96;
  const float d = half_at(block + 108);
  for (std::size_t group = 0; group < 16; ++group) {
    const int four = group < 8 ? low(scales[group]) : high(scales[group - 8]);
    const int two = scales[8 + group % 4] >> (group / 4 * 2) & 3;
    const float scale = d * static_cast<float>((four | two << 4) - 32);
    const Bytes own = q + group / 8 * 32 + group % 2 * 16;
    const Bytes bits = high_bits + group % 2 * 16;
    const std::size_t shift = group % 8 / 2 * 2, bit = group / 2;
    for (std::size_t l = 0; l < 16; ++l) {
      const int number = (own[l] >> shift & 3) - ((bits[l] >> bit & 1) != 0 ? 0 : 4);
      to[group * 16 + l] = scale * static_cast<float>(number);
    }
  }
}

constexpr std::array<std::int8_t, 16> uneven_steps{-127, -104, -83, -65, -49, -35, -22, -10,
                                                   1,    13,   25,  38,  53,  69,  89,  113};

// Sixteen bytes of numbers of a table: elements 0 to 15, and 16 to 31.
void table_numbers(const std::array<std::int8_t, 16>& table, Bytes q, float scale, float* to) {
  for (std::size_t j = 0; j < 16; ++j) {
    to[j] = scale * static_cast<float>(table[static_cast<std::size_t>(low(q[j]))]);
    to[j + 16] = scale * static_cast<float>(table[static_cast<std::size_t>(high(q[j]))]);
  }
}

void iq4_nl(Bytes block, float* to) {
  table_numbers(uneven_steps, block + 2, half_at(block), to);
}

void iq4_xs(Bytes block, float* to) {
  const float d = half_at(block);
  const unsigned highs = bits_at(block + 2);
  const Bytes lows = block + 4;
  for (std::size_t group = 0; group < 8; ++group) {
    const int four = lows[group / 2] >> (group % 2 * 4) & 0xF;
    const int two = static_cast<int>(highs >> 2 * group & 3U);
    const float scale = d * static_cast<float>((four | two << 4) - 32);
    table_numbers(uneven_steps, block + 8 + 16 * group, scale, to + 32 * group);
  }
}

void mxfp4(Bytes block, float* to) {
  // 2^(e − 128), of which the first two are subnormal.
  const std::uint32_t e = block[0];
  const float scale = std::bit_cast<float>(e < 2 ? std::uint32_t{0x00200000} << e : (e - 1) << 23U);
  table_numbers(twice_e2m1, block + 1, scale, to);
}

// Types of one to three bits: groups of numbers are rows of a grid, which a number names. A grid
// holds some of the rows whose numbers are digits 0, 1, … (the first counts least), in their order;
// a set has a bit for each row, four in a letter, the first in its lowest bit
// (ggml/src/ggml-common.h lists the grids themselves).
constexpr std::string_view iq1_set =
    "555241580a2024158054138a6802a82aa180a20241580541280244545251500a20280288810080280a30a20a88bb"
    "aaa009aab0002200a0aac8280a80041580541288080541241580a80380890a8008a2805412415802842455805410"
    "c22c0a02a86200a2428aaa2a802efa80808282000a202482aa82028a0802a0b9809bab8a02acea982aeaaaa3c7be"
    "aeabbb28e08b22abac3de02920220022028aa8aba028208000a2a40e2ab32202b22a00180418aaa8828022104158"
    "0551280290541245580a8020328aa302482802452415802a028059054120a2808b8a28080a84200280282a862a20"
    "82baa280580280280380540400541241580a002415005410922800a828a2801a0341500541288280541241580220"
    "2002aaa20002211ba8ea828aab1aaa8a070028a080208222204800280084080aae0ba2aa2c02b8ab22aead7ab8b8"
    "e68a290ba2aa27b8a844c0a20284480482a8a280aa028ccc2a222afaa90a8e8a20002000a28a880002080ab82a2a"
    "82ab0a082823a0abeb8babefbe2a0ab22a80a8a082ae2a001a2320c0af4aaeedfeb28ae2d8ebe7beaf7ff7fb6ed7"
    "abed96bf72fffb62af219e1ea82201aaebe048aa802b8ab028eaffab429e38084026c2862f8aa04ab20020a28080"
    "2eaa21002028a2a06a029c2898092882002a00c808310028808000c6a8aaaabb206aeba80aac2008b679e20d2b9e"
    "012801e2aaed82511d5a4000a02800a8280280101a0228aa93ab2223480a90088100a82a262018414415005412ca"
    "280541241580aa0282aa78a021a280541241500a80241580541002200a042a22008800802a80a6a8e68baaaa0800"
    "02a0282e8c221280440541241590a8025158054168a080aaa2a20800a024158054128a0005412415802e028828a0"
    "8128a280aa2aaaa80bb820a0a2aa02822808aaa0828082009a8820220aebb0828b80a8abb42beaffab4a8feaaa02"
    "2582866b0a036e08a020828022a6260802a020aaaab2aaae2a9a0a2a808001020aa8220028e000541241580aa004"
    "158054129a6000a4aa20805a0001d044412882805412415000802828ca2f02000000aaa082a0ab02ae2a20002884"
    "90829e410011b454150054108a2005412415808842808882a0048000541041500a20041580541";
constexpr std::string_view iq2_xxs_set =
    "55514155014414140040414400010000004004004100040000000040000005010414110010414004054004000100"
    "00500100000500001000000400001441400441410000400000400000400000000000004001000000000000000041"
    "40010100040040110040100100040400100000000000104000000000000140044004000040000000000100000001"
    "00000004000100000000000000005010004000000400000011000000000000000010000000000400000000004140"
    "00001000105000000000000101000000000005000000000000000000041400001004000000000400000040000400"
    "00000000000000000000040000040040000000000040000000000000000000000000000000100000000000050144"
    "14010110414000010004000000404400000404000004040010000004010010000000010001000040010000000000"
    "00001000000000000000000041400001100000000000400000000001104000000000000040000000400001440500"
    "00000040100000100000400000000000100000000000000004000000000000000000041000001000000000000000"
    "00400000000010000000004001400000004000000000000004000000000000004000000000000000000014000010"
    "00001000000400000000040000000000000400000001000000001100000000000000000000410000000000400000"
    "00000000000000000000000000001000000000000000000000000000000000000000000000000000041400004000"
    "00040000004004004000000000000000400000000000000000414400010004000000004000000040000000010000"
    "40000400001000000004000000000000000000001000000000000000000000100000000000000000401001400000"
    "00000010000400000000040000000000000010000000000040000400100000000000000000000010000000000000"
    "00000000000000000000000000000001000000000010000000000000000000000000000000000040000000010000"
    "40000000100000000000000000400000000000000000000000400000000000000000000000000000000000000000"
    "0000000000000000000000004000000000004";
constexpr std::string_view iq2_xs_set =
    "55555515555414515410455555055414015010004515010414400010100005555414515110414000055414005010"
    "40400000041400015000000400000455501141401001000404501000400000040100001000401000000000011045"
    "55150554140450100045150104140000100500051100040000100000000554140054100140000004140000100000"
    "00000004004000001000000000005050004004000040000011000000000040000000000000000400000000005555"
    "01041400001000400501000401000100000001000010000000400000441400041000000000000400000040010000"
    "00010010001000000000000001141040000010000100400000000000000100100000100100000000441000055554"
    "14555011414000055414005010004400040414100410000000000004515410414000010010005010014000000000"
    "04001010000401000000000041400001101010000000400100001400040000000400000000000000000005541401"
    "50100040000004144000500000000000040000000100000000000450104040000104000010140000000000040100"
    "00000001000000010000404004000404000000001000000104100000000000000000000000000400000414000010"
    "01010010000500000000000000000000000001004000000010001004000000000000000000400001100000000001"
    "00000000000000000000010000000000001000000000004000000000000000400000000101000000045150105140"
    "00050000055110004001400000000010004000000004100014414500010004000400004000000010000000000400"
    "00400000000010000001400040000010410000404000000000000000000000004000000001404001501000400010"
    "00100000100001000000100000000000000000400004000044000000140100000000000000010000000041000000"
    "00001000000000000000000000400000000040000000001000000000000001000000010000000054104040000000"
    "00001000000000040100000004411000010000001000400000000400000000040000000000000000000000000000"
    "00000004000040000400540000000000040140000000000000500000000000500000000010001";
constexpr std::string_view iq2_s_set =
    "55555515555455515011555515055455415051414515010555400011110105555455555551455415055555415555"
    "41451501045540001541400501000451551155551501101004505540441501040400001041015001000000040045"
    "55151554555151154145555554555150554100054114144050004140000554554155554145150104555150554140"
    "05010004415010414000010000045515404515010410000055414005010001000040014000010040000000004515"
    "51151450401011004505140450501041400001010015401000005000445541505541400501000441501041400011"
    "00000050100040004000000000114100050100000400005140000000000000010000400400000040041000055555"
    "54555551414415055455505555414515010414514015414005000004555555455515055414005555414515010514"
    "00005541400501000400000141551505541400401000451501041400001004000501000400000000000005545551"
    "55554145150004555150554140050100044150104140004100000055554145150104140000554140050100040000"
    "00414000110000000000004515010414040010000005010004000000000000010001000000000400004454515015"
    "41400401000451501041400001000100401000400010000000101541400501000400000041400001010001004000"
    "40000000000000000100050100000000010000100100000400000000000000000000400000000004045154114145"
    "11011410005455414515000414000411510005010000000000455511055414005010004515010414000010100005"
    "01000500000000000001141000501000000004041000001000040000000000004000005004000010545501451501"
    "04140000114100050101000000004140000100000000000445150104140000100400050100040000000000110100"
    "00000100010000000414000110000000000005000000001100000000000000000000000004000011110145010000"
    "00004010000001000040000000014004410000004410001501000400000000100401000100000000000000000000"
    "00004000000000000400040000000000001000000000040000400000041041100000000100001";
constexpr std::string_view iq3_xxs_set =
    "51a8502040000082a050225020010010512050a80028000228500200000000100080000801080082280000400040"
    "000000000002000001000015000080002000a050a051081000005020500000000000a05020100000004050001020"
    "04000400220000000010000000001100040000200200000000000000000040001000000050a0542040000000a250"
    "20100000881050285008100200002011000000000011000000020080000080000800200000010000000000000000"
    "a0040000020000002050a000001002405000102005000000a0100200004000400020008000000000000000100800"
    "00401400400000020000000100040000800000000080000010000108000a00880000000000000000000100001008"
    "10001400080000000200000001000000002001000000020080000010000000000000000002500010000000000040"
    "00002000001014000400000200000001004000000040400000000080000000108800000000404000002000000000"
    "00000000001000000000010040000000000001000500010000002000000020000008000000000100000000140000"
    "000000000000010000000200000000400000000000800000000080002000000000008a1000400040000000000400"
    "1000000000400000024000001002008000001000000020002000000050000100000000000000001";
constexpr std::string_view iq3_s_set =
    "7a7532805aa0502971329822010022403a9422114aa00090802250a4015008221088214090200010410054802a00"
    "048004a0002000400020510054800011000071ba502500052040b411209020500014104a11409002104029902811"
    "20004010824100a04411000020902050002000000000190005000000a050200220004010ba55a850a25008925098"
    "4221402000002900a01820880021522041a040100400280090422000004201204008108000105800200000022000"
    "022004108010000040aa40a249208020a201a0001000104410401041001000002011a810a8020080802440200040"
    "110020500240010400800004000020000000a000500200000000114019402010001048a0401280220000a0122080"
    "1008401001a050220000000050000108100000200a00200000004000008000010000100000120010802000004011"
    "400019400401a2402040000000401020801400800000481008000120028021001040040000000040040000a00000"
    "0000000040000000410040000000000000a200a00000100010001800000001000040000140024010100120001000"
    "000000000200800040009000000100001000020000001000000000a0000000000000190050041001400040200100"
    "82000000211420100020000040000042008000002280100000100000000040004000000040000020000000001";

template <std::size_t rows, std::size_t digits>
using Grid = std::array<std::array<float, digits>, rows>;

template <std::size_t rows, std::size_t digits, std::size_t base>
Grid<rows, digits> grid_of(std::string_view set, const std::array<float, base>& numbers) {
  Grid<rows, digits> grid{};
  std::size_t row = 0;
  for (std::size_t bit = 0; bit < 4 * set.size() && row < rows; ++bit) {
    const char letter = set[bit / 4];
    const int four = letter <= '9' ? letter - '0' : letter - 'a' + 10;
    if ((four >> bit % 4 & 1) == 0) continue;
    std::size_t rest = bit;
    for (float& number : grid[row]) {
      number = numbers[rest % base];
      rest /= base;
    }
    ++row;
  }
  return grid;
}

constexpr std::array<float, 3> thirds{-1, 0, 1}, steps_of_iq2{8, 25, 43};
constexpr std::array<float, 8> steps_of_iq3_xxs{4, 12, 20, 28, 36, 44, 52, 62},
    steps_of_iq3_s{1, 3, 5, 7, 9, 11, 13, 15};

// Puts scale · number of a row, with the sign that each bit gives.
template <std::size_t digits>
void signed_row(const std::array<float, digits>& row, float scale, unsigned signs, float* to) {
  for (std::size_t k = 0; k < digits; ++k) {
    to[k] = scale * row[k] * ((signs >> k & 1U) != 0 ? -1.0F : 1.0F);
  }
}

// The signs of eight numbers, of which seven bits are stored: their number is even.
unsigned even_signs(unsigned seven) {
  return seven | static_cast<unsigned>(std::popcount(seven) & 1) << 7U;
}

std::uint32_t word_at(Bytes at) {
  return bits_at(at) | static_cast<std::uint32_t>(bits_at(at + 2)) << 16U;
}

float nibble_of(Bytes at, std::size_t i) {
  return static_cast<float>(at[i / 2] >> (i % 2 * 4) & 0xF);
}

void iq2_xxs(Bytes block, float* to) {
  static const auto grid = grid_of<256, 8>(iq2_xxs_set, steps_of_iq2);
  const float d = half_at(block);
  for (std::size_t group = 0; group < 8; ++group) {
    const Bytes own = block + 2 + 8 * group;
    const std::uint32_t signs = word_at(own + 4);
    const float scale = d * (0.5F + static_cast<float>(signs >> 28U)) * 0.25F;
    for (std::size_t l = 0; l < 4; ++l) {
      signed_row(grid[own[l]], scale, even_signs(signs >> 7 * l & 127U), to + 32 * group + 8 * l);
    }
  }
}

void iq2_xs(Bytes block, float* to) {
  static const auto grid = grid_of<512, 8>(iq2_xs_set, steps_of_iq2);
  const float d = half_at(block);
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned own = bits_at(block + 2 + 2 * i);
    const float scale = d * (0.5F + nibble_of(block + 66, i / 2)) * 0.25F;
    signed_row(grid[own & 511U], scale, even_signs(own >> 9U), to + 8 * i);
  }
}

void iq2_s(Bytes block, float* to) {
  static const auto grid = grid_of<1024, 8>(iq2_s_set, steps_of_iq2);
  const float d = half_at(block);
  const Bytes q = block + 2, signs = block + 34, highs = block + 66;
  for (std::size_t i = 0; i < 32; ++i) {
    const std::size_t row = q[i] | (highs[i / 4] >> (i % 4 * 2) & 3U) << 8U;
    const float scale = d * (0.5F + nibble_of(block + 74, i / 2)) * 0.25F;
    signed_row(grid[row], scale, signs[i], to + 8 * i);
  }
}

void iq3_xxs(Bytes block, float* to) {
  static const auto grid = grid_of<256, 4>(iq3_xxs_set, steps_of_iq3_xxs);
  const float d = half_at(block);
  for (std::size_t group = 0; group < 8; ++group) {
    const std::uint32_t signs = word_at(block + 66 + 4 * group);
    const float scale = d * (0.5F + static_cast<float>(signs >> 28U)) * 0.5F;
    for (std::size_t i = 0; i < 8; ++i) {
      const unsigned own = even_signs(signs >> 7 * (i / 2) & 127U) >> i % 2 * 4;
      signed_row(grid[block[2 + 8 * group + i]], scale, own, to + 32 * group + 4 * i);
    }
  }
}

void iq3_s(Bytes block, float* to) {
  static const auto grid = grid_of<512, 4>(iq3_s_set, steps_of_iq3_s);
  const float d = half_at(block);
  const Bytes q = block + 2, highs = block + 66, signs = block + 74;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t row = q[i] | (highs[i / 8] >> i % 8 & 1U) << 8U;
    const float scale = d * (1 + 2 * nibble_of(block + 106, i / 8));
    signed_row(grid[row], scale, static_cast<unsigned>(signs[i / 2]) >> i % 2 * 4, to + 4 * i);
  }
}

const Grid<2048, 8>& grid_of_iq1() {
  static const auto grid = grid_of<2048, 8>(iq1_set, thirds);
  return grid;
}

// Puts scale · (number of a row ± 1/8).
void shifted_row(std::size_t row, float scale, bool less, float* to) {
  const float delta = less ? -0.125F : 0.125F;
  for (std::size_t k = 0; k < 8; ++k) to[k] = scale * (grid_of_iq1()[row][k] + delta);
}

void iq1_s(Bytes block, float* to) {
  const float d = half_at(block);
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned own = bits_at(block + 34 + i / 4 * 2);
    const float scale = d * static_cast<float>(2 * (own >> 12U & 7U) + 1);
    shifted_row(block[2 + i] | (own >> i % 4 * 3 & 7U) << 8U, scale, (own & 0x8000U) != 0,
                to + 8 * i);
  }
}

void iq1_m(Bytes block, float* to) {
  const Bytes highs = block + 32, scales = block + 48;
  // Each of four words has four bits of the common scale, and four scales of three bits.
  unsigned half = 0;
  for (std::size_t i = 0; i < 4; ++i) half |= (bits_at(scales + 2 * i) >> 12U & 0xFU) << 4 * i;
  const float d = float16_number(static_cast<std::uint16_t>(half));
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned three = bits_at(scales + i / 8 * 2) >> i / 2 % 4 * 3 & 7U;
    const unsigned high = highs[i / 2] >> i % 2 * 4 & 0xFU;
    shifted_row(block[i] | (high & 7U) << 8U, d * static_cast<float>(2 * three + 1),
                (high & 8U) != 0, to + 8 * i);
  }
}

// One of the five numbers −1, 0 and 1 that a byte holds: its digits in base 3, as a fraction of
// 256.
float third_of(std::uint8_t byte, std::size_t digit) {
  constexpr std::array<unsigned, 5> powers{1, 3, 9, 27, 81};
  const auto shifted = static_cast<std::uint8_t>(byte * powers[digit]);
  return static_cast<float>((shifted * 3 >> 8) - 1);
}

void tq1_0(Bytes block, float* to) {
  const float d = half_at(block + 52);
  // Runs of 32, 16 and 4 bytes.
  constexpr std::array<std::array<std::size_t, 3>, 3> runs{{{0, 32, 5}, {32, 16, 5}, {48, 4, 4}}};
  for (const auto& [first, bytes, digits] : runs) {
    for (std::size_t digit = 0; digit < digits; ++digit) {
      for (std::size_t j = 0; j < bytes; ++j) *to++ = d * third_of(block[first + j], digit);
    }
  }
}

void tq2_0(Bytes block, float* to) {
  const float d = half_at(block + 64);
  for (std::size_t i = 0; i < 256; ++i) {
    const int two = block[i / 128 * 32 + i % 32] >> i % 128 / 32 * 2 & 3;
    to[i] = d * static_cast<float>(two - 1);
  }
}

void nvfp4(Bytes block, float* to) {
  for (std::size_t group = 0; group < 4; ++group) {
    // E4M3 without its sign, of which the largest is no number; half of it, as numbers are doubled.
    const std::uint8_t own = block[group];
    const int exponent = own >> 3 & 0xF, fraction = own & 7;
    float scale = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -10)
                                : std::ldexp(static_cast<float>(8 + fraction), exponent - 11);
    if (own == 0x7F) scale = 0;
    const Bytes q = block + 4 + 8 * group;
    for (std::size_t j = 0; j < 8; ++j) {
      to[16 * group + j] =
          scale * static_cast<float>(twice_e2m1[static_cast<std::size_t>(low(q[j]))]);
      to[16 * group + j + 8] =
          scale * static_cast<float>(twice_e2m1[static_cast<std::size_t>(high(q[j]))]);
    }
  }
}

template <void (*numbers)(Bytes block, float* to), std::size_t elements, std::size_t bytes>
constexpr BlockForm block_form(std::string_view name) {
  return {name,
          elements,
          bytes,
          [](const std::byte* from, std::size_t blocks, float* to) {
            for (std::size_t i = 0; i < blocks; ++i) {
              numbers(reinterpret_cast<Bytes>(from) + i * bytes, to + i * elements);
            }
          },
          {}};
}

using Stored = kernels::StoredNumber;

constexpr std::array<BlockForm, 23> forms{{{"Q4_0", 32, 18, kernels::widen_q4_0, Stored::q4_0},
                                           block_form<q4_1, 32, 20>("Q4_1"),
                                           block_form<q5_0, 32, 22>("Q5_0"),
                                           block_form<q5_1, 32, 24>("Q5_1"),
                                           {"Q8_0", 32, 34, kernels::widen_q8_0, Stored::q8_0},
                                           block_form<q2_k, 256, 84>("Q2_K"),
                                           block_form<q3_k, 256, 110>("Q3_K"),
                                           {"Q4_K", 256, 144, kernels::widen_q4_k, Stored::q4_k},
                                           {"Q5_K", 256, 176, kernels::widen_q5_k, Stored::q5_k},
                                           {"Q6_K", 256, 210, kernels::widen_q6_k, Stored::q6_k},
                                           block_form<iq4_nl, 32, 18>("IQ4_NL"),
                                           block_form<iq4_xs, 256, 136>("IQ4_XS"),
                                           block_form<mxfp4, 32, 17>("MXFP4"),
                                           block_form<iq1_s, 256, 50>("IQ1_S"),
                                           block_form<iq1_m, 256, 56>("IQ1_M"),
                                           block_form<iq2_xxs, 256, 66>("IQ2_XXS"),
                                           block_form<iq2_xs, 256, 74>("IQ2_XS"),
                                           block_form<iq2_s, 256, 82>("IQ2_S"),
                                           block_form<iq3_xxs, 256, 98>("IQ3_XXS"),
                                           block_form<iq3_s, 256, 110>("IQ3_S"),
                                           block_form<tq1_0, 256, 54>("TQ1_0"),
                                           block_form<tq2_0, 256, 66>("TQ2_0"),
                                           block_form<nvfp4, 64, 36>("NVFP4")}};
static_assert(forms.size() == static_cast<std::size_t>(BlockType::nvfp4) + 1);

}  // namespace

const BlockForm& form(BlockType type) noexcept {
  return forms[static_cast<std::size_t>(type)];
}

namespace {

std::array<float, 256> table(int digits, int bias, bool infinities) {
  std::array<float, 256> numbers{};
  const int exponents = 7 - digits, last = (1 << exponents) - 1, ones = (1 << digits) - 1;
  for (int byte = 0; byte < 256; ++byte) {
    const int exponent = byte >> digits & last, fraction = byte & ones;
    // Subnormal numbers have the step of the first normal ones.
    float number = exponent == 0 ? std::ldexp(static_cast<float>(fraction), 1 - bias - digits)
                                 : std::ldexp(static_cast<float>(fraction + ones + 1),
                                              exponent - bias - digits);
    if (exponent == last && infinities) {
      number = fraction == 0 ? std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::quiet_NaN();
    } else if (exponent == last && fraction == ones) {
      number = std::numeric_limits<float>::quiet_NaN();
    }
    numbers[static_cast<std::size_t>(byte)] = byte < 128 ? number : -number;
  }
  return numbers;
}

}  // namespace

const std::array<float, 256>& byte_numbers(ByteNumber type) noexcept {
  static const std::array<float, 256> e4m3 = table(3, 7, false), e5m2 = table(2, 15, true);
  return type == ByteNumber::e4m3 ? e4m3 : e5m2;
}

}  // namespace attn
