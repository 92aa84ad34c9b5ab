#include "io/raw_array.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include <doctest/doctest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "tensor_is.hpp"

using namespace attn;

namespace {

template <class T>
RawArray array_of(Shape shape, ElementType type, std::vector<T> elements) {
  const auto owner = std::make_shared<const std::vector<T>>(std::move(elements));
  RawArray array;
  array.shape = std::move(shape);
  array.type = type;
  array.bytes = std::as_bytes(std::span(*owner));
  array.owner = owner;
  return array;
}

// A matrix [2,2] of these numbers, stored columns first and the highest byte of each first.
template <class Stored>
RawArray turned_matrix(ElementType type, const std::array<Stored, 4>& numbers) {
  std::vector<std::byte> bytes;
  for (const std::size_t i : {0, 2, 1, 3}) {
    auto number = std::bit_cast<std::array<std::byte, sizeof(Stored)>>(numbers[i]);
    std::ranges::reverse(number);
    bytes.insert(bytes.end(), number.begin(), number.end());
  }
  RawArray array = array_of<std::byte>({2, 2}, type, std::move(bytes));
  array.big_endian = array.column_major = true;
  return array;
}

// Elements as they follow one another in memory, widened.
template <class To, class Stored>
std::vector<To> widened_numbers(ElementType type, const std::array<Stored, 4>& numbers) {
  std::vector<To> result(4);
  widen(type, std::as_bytes(std::span(numbers)).data(), 4, result.data());
  return result;
}

template <class Stored, class Element = std::int64_t>
void check_every_way(ElementType type, const std::array<Stored, 4>& stored,
                     const std::vector<double>& wanted) {
  CAPTURE(name(type));
  CHECK(tensor_is(tensor_from(turned_matrix(type, stored)), {2, 2},
                  std::vector<Element>(wanted.begin(), wanted.end())));
  CHECK(widened_numbers<double>(type, stored) == wanted);
  CHECK(widened_numbers<float>(type, stored) == std::vector<float>(wanted.begin(), wanted.end()));
}

float from_half(std::uint16_t bits) {
  return tensor_from(array_of<std::uint16_t>({1}, ElementType::float16, {bits})).values<float>()[0];
}

}  // namespace

TEST_CASE("every float16 becomes the float32 of the same value") {
  for (unsigned bits = 0; bits <= 0xFFFF; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 0x1F);
    const int fraction = static_cast<int>(bits & 0x3FF);
    const float found = from_half(static_cast<std::uint16_t>(bits));
    bool right = std::signbit(found) == (bits >> 15 != 0);
    if (exponent == 31) {
      right = right && (fraction == 0 ? std::isinf(found) : std::isnan(found));
    } else {
      const double magnitude =
          exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
      right = right && std::fabs(static_cast<double>(found)) == magnitude;
    }
    if (!right) {
      CAPTURE(bits);
      CHECK(right);
    }
  }
  CHECK(from_half(0x3555) == 0.333251953125F);
}

TEST_CASE("a bfloat16 is the upper half of a float32") {
  const Tensor tensor = tensor_from(
      array_of<std::uint16_t>({4}, ElementType::bfloat16, {0x3F80, 0x8000, 0x0001, 0xFF80}));
  CHECK(tensor_is<float>(
      tensor, {4},
      {1, -0.0F, std::bit_cast<float>(0x00010000U), -std::numeric_limits<float>::infinity()}));
}

TEST_CASE("elements stored as a tensor stores them are borrowed") {
  const auto floats = array_of<float>({2, 1}, ElementType::float32, {1, 2});
  CHECK(tensor_from(floats).bytes() == floats.bytes.data());
  const auto doubles = array_of<double>({2}, ElementType::float64, {1, 2});
  CHECK(tensor_from(doubles).bytes() == doubles.bytes.data());
  const auto integers = array_of<std::int64_t>({2}, ElementType::int64, {1, 2});
  CHECK(tensor_from(integers).bytes() == integers.bytes.data());
  const auto booleans = array_of<std::uint8_t>({2}, ElementType::boolean, {1, 0});
  CHECK(tensor_from(booleans).bytes() == booleans.bytes.data());
}

TEST_CASE("borrowed elements outlive the array") {
  Tensor tensor;
  {
    const auto array = array_of<float>({3}, ElementType::float32, {1, 2, 3});
    tensor = tensor_from(array);
  }
  CHECK(tensor_is<float>(tensor, {3}, {1, 2, 3}));
}

TEST_CASE("booleans other than 0 and 1 are converted, as NumPy reads them") {
  const auto array = array_of<std::uint8_t>({4}, ElementType::boolean, {2, 0, 255, 1});
  CHECK(tensor_is<std::uint8_t>(tensor_from(array), {4}, {1, 0, 1, 1}));
}

TEST_CASE("elements that are not aligned are copied") {
  auto array = array_of<std::uint8_t>({1}, ElementType::float32, {0, 0, 0, 0x80, 0x3F});
  array.bytes = array.bytes.subspan(1);
  CHECK(tensor_is<float>(tensor_from(array), {1}, {1}));
}

TEST_CASE("big-endian elements are turned around") {
  auto array = array_of<std::uint8_t>({2}, ElementType::int16, {0xFF, 0xFE, 0x01, 0x02});
  array.big_endian = true;
  CHECK(tensor_is<std::int64_t>(tensor_from(array), {2}, {-2, 258}));
}

TEST_CASE("column-major elements are put in row-major order") {
  // The element at (i, j, k) is 100 i + 10 j + k.
  std::vector<std::int32_t> stored;
  std::vector<std::int64_t> wanted;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 2; ++i) stored.push_back(100 * i + 10 * j + k);
    }
  }
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 3; ++j) {
      for (int k = 0; k < 4; ++k) wanted.push_back(100 * i + 10 * j + k);
    }
  }
  auto array = array_of<std::int32_t>({2, 3, 4}, ElementType::int32, stored);
  array.column_major = true;
  CHECK(tensor_is(tensor_from(array), {2, 3, 4}, wanted));

  auto scalar = array_of<float>({}, ElementType::float32, {5});
  scalar.column_major = true;
  CHECK(tensor_is<float>(tensor_from(scalar), {}, {5}));
}

TEST_CASE("an unsigned integer beyond int64 is an error at its element") {
  const auto array = array_of<std::uint64_t>({2, 1}, ElementType::uint64,
                                             {9223372036854775807U, 9223372036854775808U});
  CHECK_THROWS_WITH_AS(tensor_from(array),
                       "the number 9223372036854775808 is beyond the range of int64\n"
                       "  where: element 1\n"
                       "  help:  save it as float64",
                       Error);
}

TEST_CASE("elements that would take more than the memory once widened are refused before") {
  const auto memory = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) *
                      static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t count = memory / 4;
  // Addresses alone: a single element that is read ends the program.
  void* const elements =
      mmap(nullptr, count, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(elements != MAP_FAILED);
  RawArray array;
  array.shape = {count};
  array.type = ElementType::uint8;
  array.bytes = {static_cast<const std::byte*>(elements), count};
  const std::string error = error_from([&] { tensor_from(array); });
  munmap(elements, count);
  CHECK(error.starts_with("the tensor [" + std::to_string(count) + "] would take "));
  CHECK(error.ends_with("\n  help:  make it smaller"));
}

TEST_CASE("shapes that no tensor has are errors") {
  CHECK_THROWS_WITH_AS(tensor_from(array_of<float>({2, 0}, ElementType::float32, {})),
                       "the shape [2,0] has an axis of size 0\n"
                       "  help:  sizes of axes are 1 or more: check what was saved",
                       Error);
  CHECK_THROWS_WITH_AS(tensor_from(array_of<float>(Shape(33, 1), ElementType::float32, {1})),
                       "the tensor has more than 32 axes", Error);
  CHECK(tensor_from(array_of<float>(Shape(32, 1), ElementType::float32, {1})).rank() == 32);
  CHECK_THROWS_WITH_AS(tensor_from(array_of<float>({2}, ElementType::float32, {1})),
                       "the bytes of an array are not those of its shape", Error);
  // So many elements that their number of bytes would wrap around to the 0 that are there.
  CHECK_THROWS_WITH_AS(
      tensor_from(array_of<double>({std::size_t{1} << 61}, ElementType::float64, {})),
      "the shape [2305843009213693952] has more elements than memory can address\n"
      "  help:  check the shape for a misplaced digit",
      Error);
}

TEST_CASE("elements of every type keep their numbers in the other order of bytes and of axes") {
  check_every_way<std::uint16_t, float>(ElementType::float16, {0x3C00, 0x8000, 0xC200, 0x3800},
                                        {1, -0.0, -3, 0.5});
  check_every_way<std::uint16_t, float>(ElementType::bfloat16, {0x3F80, 0x8000, 0xC040, 0x3F00},
                                        {1, -0.0, -3, 0.5});
  check_every_way<float, float>(ElementType::float32, {1, -0.0F, -3, 0.5F}, {1, -0.0, -3, 0.5});
  check_every_way<double, double>(ElementType::float64, {1, -0.0, -3, 0.5}, {1, -0.0, -3, 0.5});
  check_every_way<std::int8_t>(ElementType::int8, {1, 0, -128, 127}, {1, 0, -128, 127});
  check_every_way<std::int16_t>(ElementType::int16, {1, 0, -32768, 258}, {1, 0, -32768, 258});
  check_every_way<std::int32_t>(ElementType::int32, {1, 0, -65538, 258}, {1, 0, -65538, 258});
  check_every_way<std::int64_t>(ElementType::int64, {1, 0, -4294967296, 258},
                                {1, 0, -4294967296, 258});
  check_every_way<std::uint8_t>(ElementType::uint8, {1, 0, 255, 2}, {1, 0, 255, 2});
  check_every_way<std::uint16_t>(ElementType::uint16, {1, 0, 65535, 258}, {1, 0, 65535, 258});
  check_every_way<std::uint32_t>(ElementType::uint32, {1, 0, 4294967295, 258},
                                 {1, 0, 4294967295, 258});
  check_every_way<std::uint64_t>(ElementType::uint64, {1, 0, 4294967296, 258},
                                 {1, 0, 4294967296, 258});
  check_every_way<std::uint8_t, std::uint8_t>(ElementType::boolean, {1, 0, 255, 2}, {1, 0, 1, 1});
}

TEST_CASE("an element that cannot be kept is named by its place in the tensor, not in the file") {
  auto array =
      array_of<std::uint64_t>({2, 2}, ElementType::uint64, {1, 18446744073709551615U, 2, 3});
  array.column_major = true;
  CHECK_THROWS_WITH_AS(tensor_from(array),
                       "the number 18446744073709551615 is beyond the range of int64\n"
                       "  where: element 2\n"
                       "  help:  save it as float64",
                       Error);
}
