#include "run/word_pieces.hpp"

#include <doctest/doctest.h>

namespace {

std::string joined(const std::vector<std::string>& tokens) {
  std::string text;
  for (const attn::Word& word : attn::words_of(tokens)) {
    text += word.text + ":" + std::to_string(word.first) + "-" + std::to_string(word.end) + " ";
  }
  return text;
}

TEST_CASE("WordPiece's continued pieces join the word before, special tokens stand alone") {
  CHECK(joined({"[CLS]", "un", "##believ", "##able", "cat", "[SEP]"}) ==
        "[CLS]:0-1 unbelievable:1-4 cat:4-5 [SEP]:5-6 ");
}

TEST_CASE("byte-level BPE begins a word with a space's mark") {
  CHECK(joined({"The", "Ġun", "believ", "able", "Ġcat", "."}) ==
        "The:0-1 unbelievable:1-4 cat.:4-6 ");
}

TEST_CASE("SentencePiece begins a word with its mark, also one that stands alone") {
  CHECK(joined({"<s>", "▁un", "real", "▁", "cat", "</s>"}) ==
        "<s>:0-1 unreal:1-3 cat:3-5 </s>:5-6 ");
}

TEST_CASE("tokens without marks are words") {
  CHECK(joined({"the", "cat"}) == "the:0-1 cat:1-2 ");
}

}  // namespace
