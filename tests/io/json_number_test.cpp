#include "io/json_number.hpp"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>
#include <string>

#include <doctest/doctest.h>

using namespace attn;

namespace {

JsonNumber taken(const std::string& text) {
  return json_number(text.data(), text.data() + text.size());
}

template <class T>
T read(const std::string& text) {
  return nearest<T>(taken(text));
}

// The same bits: a zero has a sign.
bool same(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}
bool same(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

std::string digits(std::mt19937& random, std::size_t count) {
  std::string result;
  for (std::size_t i = 0; i < count; ++i) result += static_cast<char>('0' + random() % 10);
  return result;
}

// A number in one of the forms that JSON has.
std::string random_number(std::mt19937& random) {
  std::string text = random() % 2 == 0 ? "-" : "";
  const std::size_t whole = random() % 4 == 0 ? random() % 25 : 1;
  std::string integer = digits(random, whole);
  integer.erase(0, std::min(integer.find_first_not_of('0'), integer.size()));
  text += integer.empty() ? "0" : integer;
  const bool point = random() % 8 != 0;
  if (point) text += "." + digits(random, 1 + random() % (random() % 8 == 0 ? 60 : 18));
  if (random() % 3 == 0 || !point) {
    text += random() % 2 == 0 ? 'e' : 'E';
    text += std::array<const char*, 3>{"", "+", "-"}[random() % 3];
    text += std::to_string(random() % (random() % 4 == 0 ? 400 : 50));
  }
  return text;
}

}  // namespace

TEST_CASE("numbers of all forms are read to the bit that the C library gives") {
  std::mt19937 random(20261121);
  for (int i = 0; i < 300000; ++i) {
    const std::string text = random_number(random);
    CAPTURE(text);
    REQUIRE(taken(text).end == text.data() + text.size());
    REQUIRE(same(read<float>(text), std::strtof(text.c_str(), nullptr)));
    REQUIRE(same(read<double>(text), std::strtod(text.c_str(), nullptr)));
  }
}

TEST_CASE("every float reads back from its shortest text and from its exact one") {
  std::mt19937 random(7);
  for (int i = 0; i < 200000; ++i) {
    const auto number = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(number) || number == 0) continue;
    char text[200];
    REQUIRE(same(read<float>({text, std::to_chars(text, text + 200, number).ptr}), number));
    std::snprintf(text, sizeof text, "%.150e", static_cast<double>(number));
    REQUIRE(same(read<float>(text), number));
  }
}

TEST_CASE("a float is the nearest to the number, not to the double nearest to it") {
  // As doubles all of these are half-way between two floats.
  CHECK(same(read<float>("7.038531e-26"), 7.038531e-26F));
  CHECK(same(read<float>("1.00000005960464477539062500001"), 0x1.000002p0F));
  CHECK(same(read<float>("1.000000059604644775390625"), 1.0F));
  CHECK(same(read<float>("1.00000005960464477539062499999"), 1.0F));
  CHECK(same(read<float>("16777217"), 16777216.0F));
  CHECK(same(read<float>("16777217.0000000001"), 16777218.0F));
}

TEST_CASE("numbers at the ends of the ranges become the nearest, zeros or infinities") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(same(read<float>("3.4028235677973362e38"), std::numeric_limits<float>::max()));
  CHECK(same(read<float>("3.4028235677973367e38"), infinity));
  CHECK(same(read<float>("-1e39"), -infinity));
  CHECK(same(read<float>("1e-45"), std::numeric_limits<float>::denorm_min()));
  CHECK(same(read<float>("7.0064923216240853e-46"), 0.0F));
  CHECK(same(read<float>("7.0064923216240854e-46"), std::numeric_limits<float>::denorm_min()));
  CHECK(same(read<float>("-1e-999999999999"), -0.0F));
  CHECK(same(read<double>("1e999999999999"), std::numeric_limits<double>::infinity()));
  CHECK(same(read<double>("5e-324"), std::numeric_limits<double>::denorm_min()));
  CHECK(same(read<double>("0." + std::string(400, '0') + "1"), 0.0));
  CHECK(same(read<double>("0." + std::string(400, '0') + "1e401"), 1.0));
  CHECK(same(read<double>("1" + std::string(400, '0')), std::numeric_limits<double>::infinity()));
  CHECK(same(read<double>("1" + std::string(400, '0') + "e-400"), 1.0));
  CHECK(same(read<float>("0e99"), 0.0F));
}

TEST_CASE("a zero has a sign unless it is an integer") {
  CHECK(same(read<float>("-0"), 0.0F));
  CHECK(same(read<float>("-0.0"), -0.0F));
  CHECK(same(read<double>("-0e5"), -0.0));
}

TEST_CASE("what JSON does not call a number is none") {
  for (const char* text : {"", "-", "+1", "01", "-01", "00", ".5", "1.", "1.e5", "1e", "1e+", "e5",
                           "inf", "nan", "0x10", "--1", "-.5"}) {
    CAPTURE(text);
    const std::string whole = text;
    const JsonNumber number = taken(whole);
    // "0x10" is a zero with something behind it.
    CHECK((number.end == nullptr || number.end < whole.data() + whole.size()));
  }
  CHECK(taken("1.").end == nullptr);
  CHECK(taken("01").end == nullptr);
}
