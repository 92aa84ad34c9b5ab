#include "plot/text/token_labels.hpp"

#include <doctest/doctest.h>

namespace {

using namespace attn;
using Labels = std::vector<std::string>;

Labels shown(const Labels& labels, bool show_spaces = false) {
  return readable_tokens(labels, token_spelling({&labels}), show_spaces);
}

std::string joined(const Labels& labels) {
  std::string text;
  for (const Word& word : words_of(labels, token_spelling({&labels}))) {
    text += word.text + ":" + std::to_string(word.first) + "-" + std::to_string(word.end) + " ";
  }
  return text;
}

TEST_CASE("labels without a tokenizer's signs stay as they are") {
  const Labels labels = {"The", "#", "##", "C#", "Ġorġ", "学习", "K_1"};
  CHECK(shown(labels) == labels);
}

TEST_CASE("labels that would leave no ink have a sign") {
  CHECK(shown({"", " ", "  ", "\u200b", "a"}) == Labels{"∅", "␣", "␣", "\\u200b", "a"});
}

TEST_CASE("special tokens are short, and those of other programs keep their names") {
  CHECK(shown({"<|begin_of_text|>", "<|im_start|>", "<|start_header_id|>", "<s>", "</s>",
               "[CLS]"}) == Labels{"<bos>", "<im_start>", "<start…r_id>", "<s>", "</s>", "[CLS]"});
}

TEST_CASE("tokens that are written as they are read lose the space that begins them") {
  CHECK(shown({"<bos>", "T", "h", "e", " Congress", "es", " ,"}) ==
        Labels{"<bos>", "T", "·h", "·e", "Congress", "·es", ","});
  const Labels layers = {"Layer 0", "Layer 1"}, tokens = {"T", " he"};
  CHECK(readable_tokens(layers, token_spelling({&layers, &tokens}), false) == layers);
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
        Labels{"caf", "·é", "na", "·ïve", "\n", "␣the", "<eos>"});
}

TEST_CASE("a letter cut into byte-level tokens leaves its bytes") {
  CHECK(shown({"Ġhi", "æĪ", "ĳ"}) == Labels{"hi", "\xE6\x88", "\x91"});
}

TEST_CASE("one label that decodes to no text stays as it is among others that do") {
  // Ģ stands for the byte 0x80, five of which are no letter.
  CHECK(shown({"Ġthe", "Ġcat", "Ġsat", "ĠĢĢĢĢĢ", "Ġdown"}) ==
        Labels{"the", "cat", "sat", "ĠĢĢĢĢĢ", "down"});
}

TEST_CASE("special tokens of other letters stand beside byte-level ones") {
  CHECK(shown({"<｜begin▁of▁sentence｜>", "Hello", "Ġworld"}) == Labels{"<bos>", "Hello", "world"});
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

TEST_CASE("SentencePiece's bytes are those they stand for") {
  CHECK(shown({"▁a", "<0x0A>", "<0xZZ>"}) == Labels{"a", "\n", "<0xZZ>"});
}

TEST_CASE("WordPiece's continued pieces join the word before, special tokens stand alone") {
  CHECK(joined({"[CLS]", "un", "##believ", "##able", "cat", "[SEP]"}) ==
        "[CLS]:0-1 unbelievable:1-4 cat:4-5 [SEP]:5-6 ");
}

TEST_CASE("byte-level words begin with a space's mark and are decoded as a whole") {
  CHECK(joined({"The", "Ġun", "believ", "able", "Ġcat", "."}) ==
        "The:0-1 unbelievable:1-4 cat:4-5 .:5-6 ");
  CHECK(joined({"Ġcaf", "Ã©", "ĠæĪ", "ĳ", "Ċ", "<|endoftext|>"}) ==
        "café:0-2 我:2-4 \n:4-5 <|endoftext|>:5-6 ");
}

TEST_CASE("punctuation at either end of a word stands alone, and within it belongs to the word") {
  CHECK(joined({"Ġ(", "Hello", ",", "Ġworld", ").", "\"", "Ġdon", "'", "t"}) ==
        "(:0-1 Hello:1-2 ,:2-3 world:3-4 ).:4-5 \":5-6 don't:6-9 ");
  CHECK(joined({"▁co", "-", "op", ".", "</s>"}) == "co-op:0-3 .:3-4 </s>:4-5 ");
}

TEST_CASE("SentencePiece begins a word with its mark, also one that stands alone") {
  CHECK(joined({"<s>", "▁un", "real", "▁", "cat", "</s>"}) ==
        "<s>:0-1 unreal:1-3 cat:3-5 </s>:5-6 ");
  CHECK(joined({"▁a", "<0xC3>", "<0xA9>"}) == "aé:0-3 ");
}

TEST_CASE("a space begins a word where tokens are written as they are read") {
  CHECK(joined({"<s>", "T", "h", "e", " c", "afé", " 𝄞", "𝄞", "."}) ==
        "<s>:0-1 The:1-4 café:4-6 𝄞:6-8 .:8-9 ");
  CHECK(shown({"T", "he", " cat"}) == Labels{"T", "·he", "cat"});
}

TEST_CASE("tokens without marks are words") {
  CHECK(joined({"the", "cat"}) == "the:0-1 cat:1-2 ");
}

}  // namespace
