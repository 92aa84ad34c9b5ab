#include "attention/attention_name.hpp"

#include <string>

#include <doctest/doctest.h>

namespace attn {
namespace {

TEST_CASE("an attention's name is taken apart into stack, layer and part") {
  const AttentionName name("encoder.layers.12.self.");
  CHECK(name.text() == "encoder.layers.12.self");
  CHECK(name.prefix() == "encoder.layers.12.self.");
  CHECK(name.stack() == "encoder");
  CHECK(name.layer() == 12);
  CHECK(name.layer_digits() == 2);
  CHECK(name.part() == "self");
  CHECK(name.is_self());
  CHECK_FALSE(name.is_cross());
  CHECK_FALSE(name.in_decoder());
  CHECK(name.tensor("weights") == "encoder.layers.12.self.weights");
  CHECK(name == AttentionName("encoder", 12, "self"));
}

TEST_CASE("the name of a single attention is empty, and its tensors' names are quantities") {
  const AttentionName name = AttentionName::of_tensor("weights");
  CHECK(name.empty());
  CHECK(name == AttentionName());
  CHECK(name.tensor("weights") == "weights");
  CHECK(name.title().empty());
  CHECK(name.stack_title() == "Attention");
  CHECK_FALSE(name.layer());
}

TEST_CASE("the attention of a tensor is all before the last point of its name") {
  CHECK(AttentionName::of_tensor("layers.3.cross.scores").text() == "layers.3.cross");
  CHECK(AttentionName::of_tensor("layers.3.output").text() == "layers.3");
  CHECK(AttentionName::of_tensor("layers.3.output").layer() == 3);
  CHECK(AttentionName::of_tensor("cross.weights").is_cross());
}

TEST_CASE("names of other programs stay themselves") {
  for (const char* const text : {"layers.foo", "layers.99999999999999999999", "blocks.7.attn",
                                 "mylayers.3.self", "layers", "layers.", "layers.3x.self"}) {
    CAPTURE(text);
    const AttentionName name(text);
    CHECK_FALSE(name.layer());
    CHECK(name.text() + (std::string(text).ends_with('.') ? "." : "") == text);
    CHECK(name.without_layer() == name.text());
    CHECK_FALSE(name.pattern());
    CHECK(name.padded(4) == name.text());
  }
  const AttentionName theirs("model.layers.07.self_attn");
  CHECK(theirs.layer() == 7);
  CHECK(theirs.stack() == "model");
  CHECK(theirs.part() == "self_attn");
  CHECK(theirs.title() == "Layer 7");
}

TEST_CASE("the layers of one stack have a name without a number and a pattern in common") {
  const AttentionName name("decoder.layers.2.cross");
  CHECK(name.without_layer() == "decoder.layers.cross");
  CHECK(name.pattern() == "decoder.layers.{n}.cross");
  CHECK(name.stack_name() == "decoder.cross");
  CHECK(AttentionName("layers.1.self").stack_name() == "self");
  CHECK(name.with_part("self").text() == "decoder.layers.2.self");
  CHECK(AttentionName("self").with_part("cross").text() == "cross");
  CHECK(name.padded(3) == "decoder.layers.002.cross");
  CHECK(layer_prefix("", 3) == "layers.3.");
}

TEST_CASE("titles of attentions count layers from 0 and name the stack") {
  CHECK(AttentionName("layers.1.self").title() == "Layer 1, Self-Attention");
  CHECK(AttentionName("encoder.layers.0.self").title() == "Encoder Layer 0, Self-Attention");
  CHECK(AttentionName("decoder.layers.0.cross").title() == "Decoder Layer 0, Cross-Attention");
  CHECK(AttentionName("cross").title() == "Cross-Attention");
  CHECK(AttentionName("decoder.layers.0.self").stack_title() == "Decoder Self-Attention");
  CHECK(AttentionName("decoder.layers.0.cross").stack_title() == "Cross-Attention");
  CHECK(AttentionName("decoder.layers.0.cross").row_title() == "Decoder Layer 0, Cross");
  CHECK(AttentionName("layers.0.self").row_title() == "Layer 0");
  CHECK(AttentionName("foreign").row_title() == "foreign");
}

TEST_CASE("heads are called by layer and head from 0") {
  CHECK(AttentionName("layers.1.self").head_name(2) == "1.2");
  CHECK(AttentionName("layers.1").head_name(2) == "1.2");
  CHECK(AttentionName("encoder.layers.0.self").head_name(3) == "encoder.0.3");
  CHECK(AttentionName("decoder.layers.4.cross").head_name(0) == "cross.4.0");
  CHECK(AttentionName().head_name(5) == "5");
  CHECK(AttentionName("blocks.7.attn").head_name(1) == "blocks.7.attn.1");
  CHECK(AttentionName("model.layers.7.self_attn").head_name(1) == "model.layers.7.self_attn.1");
}

}  // namespace
}  // namespace attn
