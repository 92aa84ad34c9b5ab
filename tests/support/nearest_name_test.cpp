#include "support/nearest_name.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

using namespace attn;

namespace {
constexpr std::array<std::string_view, 4> masks = {"causal", "padding", "window", "allow"};
}

TEST_CASE("the nearest name takes the fewest edits") {
  CHECK(nearest_name("casual", masks) == "causal");  // neighbours exchanged
  CHECK(nearest_name("paddin", masks) == "padding");
  CHECK(nearest_name("widnow", masks) == "window");
  CHECK(nearest_name("alow", masks) == "allow");
  CHECK(nearest_name("cauusal", masks) == "causal");
}

TEST_CASE("case does not count as an edit") {
  CHECK(nearest_name("CAUSAL", masks) == "causal");
  CHECK(nearest_name("PadDing", masks) == "padding");
}

TEST_CASE("a name that resembles nothing has no nearest name") {
  CHECK(nearest_name("temperature", masks) == "");
  CHECK(nearest_name("xyz", masks) == "");
  CHECK(nearest_name("", masks) == "");
  CHECK(nearest_name("causal", {}) == "");
}

TEST_CASE("short names are not taken for any other short name") {
  constexpr std::array<std::string_view, 2> names = {"q", "k"};
  CHECK(nearest_name("v", names) == "");
  CHECK(nearest_name("Q", names) == "q");
}

TEST_CASE("the first of equally near names wins") {
  constexpr std::array<std::string_view, 2> names = {"head1", "head2"};
  CHECK(nearest_name("head3", names) == "head1");
}

TEST_CASE("a name too long to be a slip is not compared") {
  CHECK(nearest_name(std::string(100000, 'a'), masks) == "");
}

TEST_CASE("a suggestion names the nearest name, or else those that there are") {
  CHECK(suggestion("casual", masks) == "did you mean \"causal\"?");
  CHECK(suggestion("temperature", masks) == "known: causal, padding, window, allow");
  const std::vector<std::string_view> many(400, "h.0.attn.bias");
  std::string known = "known: h.0.attn.bias";
  for (int i = 1; i < 50; ++i) known += ", h.0.attn.bias";
  CHECK(suggestion("no name at all", many) == known + " and 350 more");
}
