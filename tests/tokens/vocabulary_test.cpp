#include "tokens/vocabulary.hpp"

#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

namespace attn {
namespace {}  // namespace

TEST_CASE("A vocabulary turns tokens into ids and back") {
  const auto vocabulary = Vocabulary::from_list({"[PAD]", "我", "喜欢", ""}, "/v");
  CHECK(vocabulary.size() == 4);
  CHECK(vocabulary.find("喜欢") == 2);
  CHECK(vocabulary.find("") == 3);
  CHECK_FALSE(vocabulary.find("喜").has_value());
  CHECK(vocabulary.token(1) == "我");
  const Vocabulary copy = vocabulary;
  CHECK(copy.find("我") == 1);
  CHECK_THROWS_AS(vocabulary.token(4), Error);
  CHECK_THROWS_AS(vocabulary.token(-1), Error);
}

TEST_CASE("A vocabulary's text has one token a line, however the lines end") {
  for (const char* text :
       {"a\nb \n\n##c", "a\nb \n\n##c\n", "a\r\nb \r\n\r\n##c\r\n", "a\rb \r\r##c",
        "\xEF\xBB\xBF"
        "a\nb \n\n##c\n"}) {
    CAPTURE(text);
    const auto vocabulary = Vocabulary::from_text(text, "vocab.txt");
    CHECK(vocabulary.size() == 4);
    CHECK(vocabulary.token(0) == "a");
    CHECK(vocabulary.token(1) == "b ");
    CHECK(vocabulary.token(2).empty());
    CHECK(vocabulary.token(3) == "##c");
  }
  // Other separators of lines are part of a token.
  CHECK(Vocabulary::from_text("a\xE2\x80\xA8"
                              "b\vc\n",
                              "vocab.txt")
            .size() == 1);
}

TEST_CASE("A vocabulary holds at least one token, each once, in UTF-8") {
  CHECK(error_from([] { Vocabulary::from_list({}, "/embedding/vocabulary"); }) ==
        "the vocabulary is empty\n  where: /embedding/vocabulary\n"
        "  help:  list the tokens in order of their ids");
  CHECK(error_from([] { Vocabulary::from_text("\xEF\xBB\xBF", "vocab.txt"); }) ==
        "the vocabulary is empty\n  where: vocab.txt\n  help:  write one token per line");
  CHECK(error_from([] {
          Vocabulary::from_list({"x", "a\n", "y", "a\n", "x"}, "/v");
        }) ==
        "the vocabulary holds \"a\\n\" twice: at 1 and 3\n  where: /v/3\n"
        "  help:  give every token one id: remove one of the two");
  CHECK(error_from([] { Vocabulary::from_text("a\nb\nc\nb\n", "vocab.txt"); }) ==
        "the vocabulary holds \"b\" twice: on lines 2 and 4\n  where: vocab.txt, line 4\n"
        "  help:  give every token one id: remove one of the two");
  CHECK(error_from([] { Vocabulary::from_text("a\nb\xFF\n", "vocab.txt"); }) ==
        "byte 3 of the text is not UTF-8\n  where: vocab.txt\n  help:  write the text in UTF-8");
  CHECK(error_from([] {
          Vocabulary::from_list({"a", "\xFF"}, "/v");
        }) == "byte 0 of the text is not UTF-8\n  where: /v/1\n  help:  write the text in UTF-8");
}

TEST_CASE("A token the vocabulary lacks is an error that helps") {
  const auto vocabulary = Vocabulary::from_list({"[PAD]", "[UNK]", "喜欢", "是"}, "/v");
  CHECK(vocabulary.id("[UNK]", "/embedding/unknown") == 1);
  CHECK(error_from([&] { vocabulary.id("[pda]", "/embedding/pad"); }) ==
        "token \"[pda]\" is not in the vocabulary\n  where: /embedding/pad\n"
        "  help:  did you mean \"[PAD]\"?");
  CHECK(error_from([&] { vocabulary.id("喜欢你", "/tokens/0/1", "advice"); }) ==
        "token \"喜欢你\" is not in the vocabulary\n  where: /tokens/0/1\n"
        "  help:  did you mean \"喜欢\"? advice");
  // One byte away from 是, and yet not alike.
  CHECK(error_from([&] { vocabulary.id("晰", "/tokens/0/1"); }) ==
        "token \"晰\" is not in the vocabulary\n  where: /tokens/0/1\n"
        "  help:  known: \"[PAD]\", \"[UNK]\", \"喜欢\", \"是\"");

  std::string text;
  for (int i = 0; i < 100; ++i) text += "token-number-" + std::to_string(i) + "\n";
  CHECK(error_from([&] { Vocabulary::from_text(text, "vocab.txt").id("word", "/tokens/0"); }) ==
        "token \"word\" is not in the vocabulary\n  where: /tokens/0\n"
        "  help:  none of the vocabulary's 100 tokens is near it");
}

}  // namespace attn
