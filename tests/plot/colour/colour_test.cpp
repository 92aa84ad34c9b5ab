#include "plot/colour/colour.hpp"

#include <doctest/doctest.h>

#include "attn/error.hpp"

namespace {

using attn::plot::Colour;
using attn::plot::parse_colour;
using attn::plot::readable_on;

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
  try {
    parse_colour("blurple");
  } catch (const attn::Error& error) {
    CHECK(error.kind() == attn::ErrorKind::usage);
    CHECK(error.problem() + " | " + error.where() + " | " + error.help() ==
          "unknown colour \"blurple\" |  | give a CSS colour name such as white or navy, or "
          "#rrggbb");
  }
}

TEST_CASE("text is white on dark colours and black on light ones") {
  CHECK(readable_on({128, 0, 38}) == attn::plot::white);
  CHECK(readable_on({0, 0, 0}) == attn::plot::white);
  CHECK(readable_on({255, 255, 204}) == attn::plot::black);
  CHECK(readable_on({254, 178, 76}) == attn::plot::black);
}

}  // namespace
