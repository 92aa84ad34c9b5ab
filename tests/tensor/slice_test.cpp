#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "tensor/operations.hpp"

namespace {

// The numbers 0 to 23 as [2,3,4].
attn::Tensor counted() {
  std::vector<double> numbers(24);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return {{2, 3, 4}, std::move(numbers)};
}

struct Part {
  attn::Shape shape;
  std::vector<double> numbers;
  bool operator==(const Part&) const = default;
};
doctest::String toString(const Part& part) {
  std::string text = attn::text(part.shape);
  for (const double number : part.numbers) text += " " + std::to_string(static_cast<int>(number));
  return text.c_str();
}

Part part(const std::string& slice) {
  const attn::Tensor tensor = attn::sliced(counted(), slice, "/slice");
  CHECK(attn::sliced(attn::shape_only({2, 3, 4}), slice, "/slice").shape() == tensor.shape());
  const auto values = tensor.values<double>();
  return {tensor.shape(), {values.begin(), values.end()}};
}

std::string refused(const std::string& slice) {
  return error_from([&] { attn::sliced(counted(), slice, "/slice"); });
}

constexpr const char* help =
    "\n  help:  write one entry per axis, such as \"0, :, 64:128\": a whole number, first:end, "
    "first:end:step, : for the whole axis, or ... for all other axes";

}  // namespace

// Right sides are what NumPy gives for the same index of arange(24).reshape(2, 3, 4).
TEST_CASE("a slice takes what NumPy's basic indexing takes") {
  CHECK(part("1") == Part{{3, 4}, {12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}});
  CHECK(part("-1, -1") == Part{{4}, {20, 21, 22, 23}});
  CHECK(part("0, :, 1:3") == Part{{3, 2}, {1, 2, 5, 6, 9, 10}});
  CHECK(part(":, 1") == Part{{2, 4}, {4, 5, 6, 7, 16, 17, 18, 19}});
  CHECK(part("..., -1") == Part{{2, 3}, {3, 7, 11, 15, 19, 23}});
  CHECK(part("1, ..., ::2") == Part{{3, 2}, {12, 14, 16, 18, 20, 22}});
  CHECK(part("0, ::-1, ::-2") == Part{{3, 2}, {11, 9, 7, 5, 3, 1}});
  CHECK(part("0, 0, -3:-1") == Part{{2}, {1, 2}});
  CHECK(part("0, 0, 5::-3") == Part{{2}, {3, 0}});
  CHECK(part("0:1, 1:2") == Part{{1, 1, 4}, {4, 5, 6, 7}});
  CHECK(part(":, 0:99, 0") == Part{{2, 3}, {0, 4, 8, 12, 16, 20}});
  CHECK(part("...").shape == attn::Shape{2, 3, 4});
}

TEST_CASE("a slice may stand in brackets, with any spaces and a last comma") {
  CHECK(part("[ 0 ,:, 1 : 3, ]") == part("0,:,1:3"));
}

TEST_CASE("elements that lie together are shared, whatever their type") {
  const attn::Tensor halves({2, 3}, std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  const attn::Tensor row = attn::sliced(halves, "1, 1:", "");
  CHECK(row.bytes() == halves.values<std::int64_t>().data() + 4);
  const attn::Tensor flags({2, 2}, std::vector<std::uint8_t>{1, 0, 0, 1});
  const attn::Tensor column = attn::sliced(flags, ":, 1", "");
  CHECK(column.dtype() == attn::DType::boolean);
  CHECK(column.at({1}) == 1);
}

TEST_CASE("a slice that cannot be read or does not fit is refused") {
  CHECK(refused("0, x") == std::string("\"x\" is not an entry of a slice\n  where: /slice") + help);
  CHECK(refused("0,, 1") == std::string("a slice has an empty entry\n  where: /slice") + help);
  CHECK(refused("") == std::string("a slice has an empty entry\n  where: /slice") + help);
  CHECK(refused("1:2:3:4") ==
        std::string("\"1:2:3:4\" is not an entry of a slice\n  where: /slice") + help);
  CHECK(refused("9999999999999999999") ==
        std::string("\"9999999999999999999\" is not an entry of a slice\n  where: /slice") + help);
  CHECK(refused("::0") ==
        "the step of \"::0\" is 0\n  where: /slice\n  help:  give a step of at least 1, or a "
        "negative one to go backwards");
  CHECK(refused("..., ...") ==
        "the slice \"..., ...\" has two ...\n  where: /slice\n  help:  write ... once: it stands "
        "for all axes that are not named");
  CHECK(refused("0, 3") ==
        "the slice takes part 3 of axis 1, which has 3\n  where: /slice\n  help:  give 0 to 2, or "
        "-1 for the last one");
  CHECK(refused(":, 2:1") ==
        std::string("the slice leaves nothing of axis 1, which has 3\n  where: /slice") + help);
  CHECK(refused("0, 0, 0, 0") ==
        "the slice \"0, 0, 0, 0\" names 4 axes, but the tensor [2,3,4] has 3\n  where: /slice\n  "
        "help:  give at most one entry per axis");
  CHECK(refused("0, 0, 0") ==
        "the slice \"0, 0, 0\" leaves one number and no axis of [2,3,4]\n  where: /slice\n  help:  "
        "keep an axis, such as by 0:1 instead of 0");
}
