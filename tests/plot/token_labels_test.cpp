#include "plot/token_labels.hpp"

#include <doctest/doctest.h>

namespace {

using namespace attn::plot;
using Labels = std::vector<std::string>;

Labels shown(const Labels& labels, bool show_spaces = false) {
  return readable_tokens(labels, token_spelling({&labels}), show_spaces);
}

TEST_CASE("labels without a tokenizer's signs stay as they are") {
  const Labels labels = {"The", "#", "##", "C#", "Ġorġ", "学习", "K_1", ""};
  CHECK(shown(labels) == labels);
}

TEST_CASE("WordPiece's continuations are led by a dot") {
  CHECK(shown({"[CLS]", "play", "##ing", ".", "##"}) == Labels{"[CLS]", "play", "·ing", ".", "##"});
}

TEST_CASE("SentencePiece's words lose their sign, and pieces that go on are led by a dot") {
  CHECK(shown({"<s>", "▁un", "believ", "able", ",", "▁it", "'", "s", "▁"}) ==
        Labels{"<s>", "un", "·believ", "·able", ",", "it", "'", "s", "␣"});
}

TEST_CASE("byte-level tokens are decoded") {
  CHECK(shown({"Ġcaf", "Ã©", "Ġna", "Ã¯ve", "Ċ", "ĠĠthe", "<|endoftext|>"}) ==
        Labels{"caf", "·é", "na", "·ïve", "\n", "␣the", "<|endoftext|>"});
}

TEST_CASE("a letter cut into byte-level tokens leaves its bytes") {
  CHECK(shown({"Ġhi", "æĪ", "ĳ"}) == Labels{"hi", "\xE6\x88", "\x91"});
}

TEST_CASE("special tokens of other letters stand beside byte-level ones") {
  CHECK(shown({"<｜begin▁of▁sentence｜>", "Hello", "Ġworld"}) ==
        Labels{"<｜begin▁of▁sentence｜>", "Hello", "world"});
}

TEST_CASE("scripts without spaces between words have no continuations") {
  CHECK(shown({"▁我", "喜欢", "学习", "▁Hi"}) == Labels{"我", "喜欢", "学习", "Hi"});
}

TEST_CASE("one list tells the spelling of both") {
  const Labels query = {"Ã©"}, key = {"Ġcaf", "Ã©"};
  CHECK(readable_tokens(query, token_spelling({&query, &key}), false) == Labels{"é"});
}

TEST_CASE("spaces can be shown") {
  CHECK(shown({"▁un", "able"}, true) == Labels{"␣un", "able"});
  CHECK(shown({"Ġcaf", "Ã©"}, true) == Labels{"␣caf", "é"});
  CHECK(shown({" the", "a b"}, true) == Labels{"␣the", "a␣b"});
  CHECK(shown({"play", "##ing"}, true) == Labels{"play", "##ing"});
}

}  // namespace
