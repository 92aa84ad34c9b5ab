#include "plot/text/token_spans.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

namespace {

using namespace attn;
using Labels = std::vector<std::string>;
using Spans = std::vector<AxisSpan>;

TEST_CASE(
    "turns of a chat begin at special tokens, and have the roles that follow or that these name") {
  CHECK(turns_of({"<|im_start|>", "user", "\u010a", "Hi", "<|im_end|>", "\u010a", "<|im_start|>",
                  "assistant", "\u010a", "Hello", "\u0120there"}) ==
        Spans{{"user", 0, 6}, {"assistant", 6, 11}});
  CHECK(turns_of({"<s>", "[INST]", "\u2581Hi", "[/INST]", "\u2581Hello", ""}) ==
        Spans{{"user", 1, 3}, {"assistant", 3, 5}});
  // Pieces of a role are one name.
  CHECK(turns_of({"<start_of_turn>", "us", "er", "\n", " a", "<start_of_turn>", "mod", "el",
                  "\n"}) == Spans{{"user", 0, 5}, {"model", 5, 9}});
}

TEST_CASE("a text without two turns has none") {
  CHECK(turns_of({"<|im_start|>", "user", "\u010a", "Hi"}).empty());
  CHECK(turns_of({"The", " animal"}).empty());
  CHECK(turns_of({}).empty());
}

TEST_CASE("segments stand between separators") {
  CHECK(segments_of({"[CLS]", "a", "b", "[SEP]", "c", "[SEP]", "[PAD]"}) ==
        Spans{{"segment 0", 1, 3}, {"segment 1", 4, 5}});
  CHECK(segments_of({"[CLS]", "a", "b", "[SEP]", "[PAD]"}).empty());
}

TEST_CASE("sentences end at full stops before words, and have their own texts as names") {
  CHECK(sentences_of({"<s>", "\u2581The", "\u2581fox", ".", "\u2581It", "\u2581is", "\u2581red",
                      "!", ""}) == Spans{{"The fox.", 1, 4}, {"It is red!", 4, 8}});
  CHECK(sentences_of({"[CLS]", "it", "is", "red", ".", "so", "?", "[SEP]"}) ==
        Spans{{"it is red.", 1, 5}, {"so?", 5, 7}});
}

TEST_CASE("full stops within numbers, of initials and before small letters end no sentence") {
  CHECK(sentences_of({" It", " is", " 3", ".", "14", "."}) == Spans{{"It is 3.14.", 0, 6}});
  CHECK(sentences_of({" J", ".", " Smith", " wrote", "."}) == Spans{{"J. Smith wrote.", 0, 5}});
  CHECK(sentences_of({" We", " saw", " etc", ".", " and", " left", "."}).size() == 1);
}

TEST_CASE("closing quotes belong to the sentence before them, and lines end sentences") {
  CHECK(sentences_of({"\"", "Go", "!", "\"", " He", " went", "."}) ==
        Spans{{"\"Go!\"", 0, 4}, {"He went.", 4, 7}});
  CHECK(sentences_of({"A", " title", "\n", "The", " text"}) ==
        Spans{{"A title", 0, 3}, {"The text", 3, 5}});
}

TEST_CASE("sentences of scripts without spaces end at their own full stops") {
  CHECK(sentences_of({"\u6211", "\u6765", "\u3002", "\u4f60", "\u53bb", "\u3002"}).size() == 2);
}

}  // namespace
