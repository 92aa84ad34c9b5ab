#include "attention/visibility.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

namespace {

using attn::Alignment;
using attn::DType;
using attn::Geometry;
using attn::Mask;
using attn::Shape;
using attn::Tensor;
using attn::Visibility;
using attn::Window;

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();

Geometry single(std::size_t queries, std::size_t keys, std::size_t past = 0) {
  Geometry geometry;
  geometry.queries = queries;
  geometry.keys = keys;
  geometry.past = past;
  return geometry;
}

Geometry batched(std::size_t batch, std::size_t queries, std::size_t keys) {
  Geometry geometry = single(queries, keys);
  geometry.batch_axis = true;
  geometry.batch = batch;
  return geometry;
}

Tensor booleans(Shape shape, std::vector<std::uint8_t> elements) {
  return {std::move(shape), std::move(elements)};
}

Tensor integers(Shape shape, std::vector<std::int64_t> elements) {
  return {std::move(shape), std::move(elements)};
}

// "110\n111\n": what each query of one sample sees.
std::string picture(const Mask& mask, const Geometry& geometry, std::size_t batch = 0) {
  const Visibility visibility(mask, geometry, {});
  std::string text;
  for (std::size_t i = 0; i < geometry.queries; ++i) {
    std::vector<std::uint8_t> seen(geometry.keys, 7);
    visibility.see(batch, 0, i, seen);
    for (const std::uint8_t s : seen) text += static_cast<char>('0' + s);
    text += '\n';
  }
  return text;
}

std::string error_of(const Mask& mask, const Geometry& geometry) {
  return error_from([&] { const Visibility visibility(mask, geometry, {}); });
}

TEST_CASE("without a mask every key is seen") {
  CHECK(picture({}, single(2, 3)) == "111\n111\n");
}

TEST_CASE("a causal query sees the keys up to its own position") {
  Mask mask;
  mask.causal = true;
  CHECK(picture(mask, single(3, 3)) == "100\n110\n111\n");
  CHECK(picture(mask, single(2, 4)) == "1000\n1100\n");
  CHECK(picture(mask, single(4, 2)) == "10\n11\n11\n11\n");
}

TEST_CASE("past keys move the causal diagonal to the right") {
  Mask mask;
  mask.causal = true;
  CHECK(picture(mask, single(2, 5, 3)) == "11110\n11111\n");
}

TEST_CASE("lower-right alignment puts the last query at the last key") {
  Mask mask;
  mask.causal = true;
  mask.align = Alignment::lower_right;
  CHECK(picture(mask, single(2, 4)) == "1110\n1111\n");
  // Queries before the first key see nothing.
  CHECK(picture(mask, single(4, 2)) == "00\n00\n10\n11\n");
  // All keys count, the past ones too.
  CHECK(picture(mask, single(2, 5, 3)) == "11110\n11111\n");
}

TEST_CASE("lower-right alignment counts the valid keys of each sample") {
  Mask mask;
  mask.causal = true;
  mask.align = Alignment::lower_right;
  mask.valid_lens = integers({2}, {3, 4});
  CHECK(picture(mask, batched(2, 2, 4), 0) == "1100\n1110\n");
  CHECK(picture(mask, batched(2, 2, 4), 1) == "1110\n1111\n");
}

TEST_CASE("lower-right alignment ends at the last key that is not padding, wherever others stand") {
  Mask mask;
  mask.causal = true;
  mask.align = Alignment::lower_right;
  mask.padding = booleans({1, 4}, {1, 0, 0, 1});
  CHECK(picture(mask, batched(1, 1, 4)) == "0110\n");
  mask.padding = booleans({1, 4}, {1, 0, 1, 0});
  CHECK(picture(mask, batched(1, 2, 4)) == "0100\n0101\n");
  mask.padding = booleans({1, 4}, {1, 1, 1, 1});
  CHECK(picture(mask, batched(1, 2, 4)) == "0000\n0000\n");
}

TEST_CASE("lower-right alignment prefers valid_lens to padding, but only one number a sample") {
  Mask mask;
  mask.causal = true;
  mask.align = Alignment::lower_right;
  mask.padding = booleans({1, 5}, {0, 0, 0, 0, 1});
  mask.valid_lens = integers({1}, {3});
  CHECK(picture(mask, batched(1, 2, 5)) == "11000\n11100\n");
  mask.valid_lens = integers({1, 2}, {3, 3});
  CHECK(picture(mask, batched(1, 2, 5)) == "11100\n11100\n");
}

TEST_CASE("a window reaches left and right of the query's position") {
  Mask mask;
  mask.window = Window{1, 2};
  CHECK(picture(mask, single(3, 6)) == "111000\n111100\n011110\n");
  mask.window = Window{0, 0};
  CHECK(picture(mask, single(3, 3)) == "100\n010\n001\n");
  mask.window = Window{std::nullopt, 0};
  CHECK(picture(mask, single(3, 3)) == "100\n110\n111\n");
  mask.window = Window{0, std::nullopt};
  CHECK(picture(mask, single(3, 3)) == "111\n011\n001\n");
  mask.window = Window{std::nullopt, std::nullopt};
  CHECK(picture(mask, single(2, 3)) == "111\n111\n");
}

TEST_CASE("a window beyond all keys is unbounded, however large its numbers") {
  Mask mask;
  for (const std::size_t reach : {std::size_t{100}, huge / 2, huge / 2 + 1, huge}) {
    mask.window = Window{reach, reach};
    CHECK(picture(mask, single(3, 3)) == "111\n111\n111\n");
    mask.window = Window{reach, 0};
    CHECK(picture(mask, single(3, 3)) == "100\n110\n111\n");
  }
}

TEST_CASE("the window moves with the alignment and may miss all keys") {
  Mask mask;
  mask.window = Window{0, 0};
  mask.align = Alignment::lower_right;
  CHECK(picture(mask, single(4, 2)) == "00\n00\n10\n01\n");
  CHECK(picture(mask, single(2, 4)) == "0010\n0001\n");
  mask.align = Alignment::upper_left;
  CHECK(picture(mask, single(4, 2)) == "10\n01\n00\n00\n");
  mask.window = Window{0, 3};
  mask.align = Alignment::lower_right;
  CHECK(picture(mask, single(5, 2)) == "10\n11\n11\n11\n01\n");
}

TEST_CASE("global positions see all and are seen by all") {
  Mask mask;
  mask.window = Window{0, 0};
  mask.global = {1};
  CHECK(picture(mask, single(4, 4)) == "1100\n1111\n0110\n0101\n");
}

TEST_CASE("a query is global by its position among the keys, past ones counted") {
  Mask mask;
  mask.window = Window{0, 0};
  mask.global = {3};
  CHECK(picture(mask, single(2, 4, 2)) == "0011\n1111\n");
  // Positions before the first key are no key's.
  mask.align = Alignment::lower_right;
  mask.global = {0};
  CHECK(picture(mask, single(3, 2)) == "10\n11\n11\n");
}

TEST_CASE("global positions are subject to the rest of the mask") {
  Mask mask;
  mask.window = Window{0, 0};
  mask.global = {1};
  mask.causal = true;
  CHECK(picture(mask, single(3, 3)) == "100\n110\n011\n");
  mask.valid_lens = integers({1}, {1});
  CHECK(picture(mask, single(3, 3)) == "100\n100\n000\n");
}

TEST_CASE("global positions hide nothing without a window") {
  Mask mask;
  mask.global = {1};
  CHECK(picture(mask, single(2, 2)) == "11\n11\n");
}

TEST_CASE("valid lengths hide the keys behind them, a sample or a query at a time") {
  Mask mask;
  mask.valid_lens = integers({2}, {0, 2});
  CHECK(picture(mask, batched(2, 2, 3), 0) == "000\n000\n");
  CHECK(picture(mask, batched(2, 2, 3), 1) == "110\n110\n");
  mask.valid_lens = integers({2, 2}, {0, 1, 2, 3});
  CHECK(picture(mask, batched(2, 2, 3), 0) == "000\n100\n");
  CHECK(picture(mask, batched(2, 2, 3), 1) == "110\n111\n");
}

TEST_CASE("valid lengths of one sample are repeated") {
  Mask mask;
  mask.valid_lens = integers({1}, {2});
  CHECK(picture(mask, batched(2, 1, 3), 1) == "110\n");
  mask.valid_lens = integers({1, 2}, {1, 2});
  CHECK(picture(mask, batched(3, 2, 3), 2) == "100\n110\n");
}

TEST_CASE("an attention without a batch axis takes valid lengths with or without one") {
  Mask mask;
  mask.valid_lens = integers({}, {2});
  CHECK(picture(mask, single(2, 3)) == "110\n110\n");
  mask.valid_lens = integers({1}, {2});
  CHECK(picture(mask, single(2, 3)) == "110\n110\n");
  mask.valid_lens = integers({2}, {1, 2});
  CHECK(picture(mask, single(2, 3)) == "100\n110\n");
  mask.valid_lens = integers({1, 2}, {1, 2});
  CHECK(picture(mask, single(2, 3)) == "100\n110\n");
}

TEST_CASE("padding is true where a key is not seen") {
  Mask mask;
  mask.padding = booleans({2, 3}, {0, 0, 1, 1, 0, 0});
  CHECK(picture(mask, batched(2, 1, 3), 0) == "110\n");
  CHECK(picture(mask, batched(2, 1, 3), 1) == "011\n");
  mask.padding = booleans({1, 3}, {0, 0, 1});
  CHECK(picture(mask, batched(2, 1, 3), 1) == "110\n");
  CHECK(picture(mask, single(1, 3)) == "110\n");
  mask.padding = booleans({3}, {0, 1, 0});
  CHECK(picture(mask, single(1, 3)) == "101\n");
}

TEST_CASE("allow is true and block false where a key is seen") {
  Mask mask;
  mask.allow = booleans({2, 2}, {1, 0, 0, 1});
  CHECK(picture(mask, single(2, 2)) == "10\n01\n");
  mask.block = booleans({2}, {0, 1});
  CHECK(picture(mask, single(2, 2)) == "10\n00\n");
}

TEST_CASE("masks of numbers count as booleans") {
  Mask mask;
  mask.allow = Tensor({3}, std::vector<float>{0, 1, 2});
  CHECK(picture(mask, single(1, 3)) == "011\n");
  mask.block = integers({3}, {0, 2, 0});
  CHECK(picture(mask, single(1, 3)) == "001\n");
  mask.padding = Tensor({3}, std::vector<double>{0, 0, 0.5});
  CHECK(picture(mask, single(1, 3)) == "000\n");
}

TEST_CASE("a bias of minus infinity hides a key, any other does not") {
  Mask mask;
  mask.bias = Tensor({4}, std::vector<float>{-INFINITY, INFINITY, NAN, -1e30F});
  CHECK(picture(mask, single(1, 4)) == "0111\n");
}

TEST_CASE(
    "the bias is added where a key is seen, and the fill replaces the score where it is not") {
  Mask mask;
  mask.bias = Tensor({4}, std::vector<double>{1, 2, -infinity, -infinity});
  mask.allow = booleans({4}, {1, 0, 1, 0});
  for (const std::optional<double> fill : {std::optional<double>(), std::optional<double>(-1e9)}) {
    mask.fill = fill;
    const Visibility visibility(mask, single(1, 4), {});
    std::vector<std::uint8_t> seen(4);
    visibility.see(0, 0, 0, seen);
    CHECK(seen == std::vector<std::uint8_t>{1, 0, 0, 0});
    std::vector<double> scores{10, nan, nan, 5};
    visibility.mask(0, 0, 0, seen, scores);
    CHECK(scores == std::vector<double>{11, fill.value_or(-infinity), -infinity, -infinity});
  }
}

TEST_CASE("a mask that does not broadcast against the weights is an error") {
  const std::string help =
      "\n  help:  each axis, counted from the last, must be 1 or that of the weights";
  Mask mask;
  mask.allow = booleans({2, 3}, {1, 1, 1, 1, 1, 1});
  CHECK(error_of(mask, single(3, 2)) ==
        "allow [2,3] does not broadcast against the weights [3,2]\n  where: /mask/allow" + help);
  mask = {};
  mask.block = booleans({1, 1, 1}, {0});
  CHECK(error_of(mask, single(3, 2)) ==
        "block [1,1,1] does not broadcast against the weights [3,2]\n  where: /mask/block" + help);
  mask = {};
  mask.bias = Tensor({2, 1, 2}, std::vector<float>(4));
  CHECK(error_of(mask, batched(4, 3, 2)) ==
        "bias [2,1,2] does not broadcast against the weights [4,3,2]\n  where: /mask/bias" + help);
  mask.bias = Tensor({0}, std::vector<float>{});
  CHECK(error_of(mask, single(3, 2)) ==
        "bias [0] does not broadcast against the weights [3,2]\n  where: /mask/bias" + help);
}

TEST_CASE("padding of other sizes is an error") {
  Mask mask;
  mask.padding = booleans({3, 2}, {0, 0, 0, 0, 0, 0});
  CHECK(error_of(mask, batched(2, 4, 3)) ==
        "the padding mask [3,2] does not fit 2 samples of 3 keys\n  where: /mask/padding\n"
        "  help:  give it the shape [2,3], true where a key is padding");
  mask.padding = booleans({3}, {0, 0, 0});
  CHECK(error_of(mask, batched(2, 4, 3)) ==
        "the padding mask [3] does not fit 2 samples of 3 keys\n  where: /mask/padding\n"
        "  help:  give it the shape [2,3], true where a key is padding");
  mask.padding = booleans({2}, {0, 0});
  CHECK(error_of(mask, single(4, 1)) ==
        "the padding mask [2] does not fit 1 sample of 1 key\n  where: /mask/padding\n"
        "  help:  give it the shape [1], true where a key is padding");
}

TEST_CASE("valid lengths of other sizes are an error") {
  Mask mask;
  mask.valid_lens = integers({3}, {1, 1, 1});
  CHECK(error_of(mask, batched(2, 4, 5)) ==
        "valid_lens [3] does not fit 2 samples of 4 queries\n  where: /valid_lens\n"
        "  help:  give one number per sample, [2], or one per query, [2,4]");
  mask.valid_lens = integers({2, 1}, {1, 1});
  CHECK(error_of(mask, batched(2, 4, 5)) ==
        "valid_lens [2,1] does not fit 2 samples of 4 queries\n  where: /valid_lens\n"
        "  help:  give one number per sample, [2], or one per query, [2,4]");
  mask.valid_lens = integers({3}, {1, 1, 1});
  CHECK(error_of(mask, single(4, 5)) ==
        "valid_lens [3] does not fit 1 sample of 4 queries\n  where: /valid_lens\n"
        "  help:  give one number, or one per query, [4]");
}

TEST_CASE("valid lengths beyond the keys are an error at their own place") {
  Mask mask;
  mask.valid_lens = integers({2}, {5, 6});
  CHECK(error_of(mask, batched(2, 4, 5)) ==
        "the valid length 6 is not between 0 and 5\n  where: /valid_lens/1\n"
        "  help:  give the number of leading keys that are valid");
  mask.valid_lens = integers({2, 2}, {0, 5, 5, -1});
  CHECK(error_of(mask, batched(2, 2, 5)) ==
        "the valid length -1 is not between 0 and 5\n  where: /valid_lens/1/1\n"
        "  help:  give the number of leading keys that are valid");
  mask.valid_lens = integers({}, {std::numeric_limits<std::int64_t>::min()});
  CHECK(error_of(mask, single(2, 1)) ==
        "the valid length -9223372036854775808 is not between 0 and 1\n  where: /valid_lens\n"
        "  help:  give the number of leading keys that are valid");
}

TEST_CASE("valid lengths are integers") {
  Mask mask;
  mask.valid_lens = Tensor({1}, std::vector<float>{2});
  CHECK(error_of(mask, single(2, 5)) ==
        "valid_lens holds float32, not int64\n  where: /valid_lens\n  help:  give whole numbers");
}

TEST_CASE("a global position beyond the keys is an error") {
  Mask mask;
  mask.global = {0, 5};
  CHECK(error_of(mask, single(7, 5)) ==
        "the global position 5 is beyond the last key, 4\n  where: /mask/global/1\n"
        "  help:  give positions from 0 to 4");
  mask.global = {huge};
  CHECK(error_of(mask, single(7, 5)) ==
        "the global position 18446744073709551615 is beyond the last key, 4\n"
        "  where: /mask/global/0\n  help:  give positions from 0 to 4");
}

TEST_CASE("a fill is finite") {
  Mask mask;
  for (const double fill : {nan, infinity, -infinity}) {
    mask.fill = fill;
    CHECK(error_of(mask, single(2, 2)) ==
          "the fill is neither a finite number nor -inf\n  where: /mask/fill\n"
          "  help:  give a finite number such as -1e9, or leave it out for -inf");
  }
}

TEST_CASE("a mask knows whether it hides keys or only changes scores") {
  Mask mask;
  CHECK_FALSE(mask.present());
  mask.align = Alignment::lower_right;
  mask.fill = -1e9;
  mask.global = {0};
  CHECK_FALSE(mask.present());
  mask.bias = Tensor({1}, std::vector<float>{1});
  CHECK(mask.present());
  CHECK_FALSE(mask.hides());
  mask.causal = true;
  CHECK(mask.hides());
}

TEST_CASE("every part that hides a key is named, alone and together with others") {
  Mask mask;
  mask.causal = true;
  mask.window = Window{1, 1};
  mask.valid_lens = integers({1}, {3});
  mask.padding = booleans({1, 4}, {0, 0, 0, 1});
  mask.allow = booleans({4}, {1, 1, 0, 1});
  mask.block = booleans({4}, {0, 1, 0, 0});
  mask.bias = Tensor({4}, std::vector<float>{-INFINITY, 0.5F, 0, 0});
  const Visibility visibility(mask, single(2, 4), {});
  using Parts = std::vector<std::string_view>;
  CHECK(visibility.hidden_by(0, 0, 0, 0) == Parts{"bias"});
  CHECK(visibility.hidden_by(0, 0, 0, 1) == Parts{"causal", "block"});
  CHECK(visibility.hidden_by(0, 0, 0, 2) == Parts{"causal", "window", "allow"});
  CHECK(visibility.hidden_by(0, 0, 1, 3) == Parts{"causal", "window", "valid_lens", "padding"});
  CHECK(visibility.bias(0, 0, 0, 1) == 0.5);
  CHECK(Visibility(Mask{}, single(2, 4), {}).bias(0, 0, 0, 1) == 0);
  CHECK(Visibility(Mask{}, single(2, 4), {}).hidden_by(0, 0, 0, 3).empty());
}

}  // namespace
