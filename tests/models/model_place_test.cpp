#include "models/model_place.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace attn {
namespace {

TEST_CASE("each name of a place is read back as it is written") {
  using Stack = ModelPlace::Stack;
  using Part = ModelPlace::Part;
  const std::vector<std::pair<std::string, ModelPlace>> places{
      {"2", {.layer = 2}},
      {"2.1", {.layer = 2, .head = 1}},
      {"2.1:3,4", {.layer = 2, .head = 1, .positions = {3, 4}}},
      {"0.feed_forward", {.part = Part::feed_forward}},
      {"7.mixer", {.layer = 7, .part = Part::mixer}},
      {"12.residual:0", {.layer = 12, .part = Part::residual, .positions = {0}}},
      {"encoder.2.1", {Stack::encoder, 2, Part::self, 1}},
      {"decoder.2", {Stack::decoder, 2}},
      {"decoder.2.feed_forward", {Stack::decoder, 2, Part::feed_forward}},
      {"cross.2", {Stack::decoder, 2, Part::cross}},
      {"cross.2.1:5", {Stack::decoder, 2, Part::cross, 1, {5}}},
      {"encoder.output", {.stack = Stack::encoder, .part = Part::output}},
      {"embedding", {.part = Part::embedding}},
      {"position", {.part = Part::position}},
      {"token_type", {.part = Part::token_type}},
      {"bias", {.part = Part::bias}}};
  for (const auto& [name, place] : places) {
    const auto& shown = name;  // clang 14 captures no structured binding
    CAPTURE(shown);
    CHECK(place.text() == name);
    CHECK(ModelPlace::parse(name) == place);
  }
}

TEST_CASE("a text that names no place is not read as one") {
  for (const char* text : {"",
                           ".",
                           "2.",
                           ".1",
                           "2.x",
                           "2.1.0",
                           "-1.0",
                           "2 .1",
                           "x.1",
                           "2.1:",
                           "2.1:3,",
                           "2.1:a",
                           ":3",
                           "encoder",
                           "encoder.",
                           "cross",
                           "cross.2.feed_forward",
                           "cross.output",
                           "decoder.bias",
                           "2.embedding",
                           "feed_forward",
                           "self.2",
                           "layers.2.self",
                           "middle.0",
                           "encoder.encoder.0"}) {
    CAPTURE(text);
    CHECK_FALSE(ModelPlace::parse(text));
  }
}

TEST_CASE("a place knows its attention") {
  const auto attention = [](const char* name) {
    return ModelPlace::parse(name).value().attention().text();
  };
  CHECK(attention("2.1") == "layers.2.self");
  CHECK(attention("encoder.0.feed_forward") == "encoder.layers.0.self");
  CHECK(attention("cross.3.1") == "decoder.layers.3.cross");
  const ModelPlace cross = ModelPlace::parse("cross.3").value();
  const std::vector<ModelPlace> heads{cross.with_head(4), ModelPlace::parse("decoder.3.1").value(),
                                      cross.with_head(0)};
  CHECK(heads_in(cross, heads) == std::vector<std::size_t>{4, 0});
  CHECK(heads_in(ModelPlace::parse("decoder.3").value(), heads) == std::vector<std::size_t>{1});
}

}  // namespace
}  // namespace attn
