#include <charconv>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "support/utf8.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {
namespace {

std::string file(const std::string& name) {
  std::ifstream stream(std::string(ATTN_TEST_DATA) + "/tokens/wordpiece/" + name, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

const Vocabulary& uncased() {
  static const Vocabulary vocabulary = Vocabulary::from_text(file("vocab.txt"), "vocab.txt");
  return vocabulary;
}

const Tokenizer& lower_casing() {
  static const Tokenizer tokenizer = Tokenizer::wordpiece(uncased(), true, "/tokenizer/wordpiece");
  return tokenizer;
}

Vocabulary small() {
  return Vocabulary::from_list(
      {"[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "##a", "able", "##", "x"}, "/v");
}

// \\ and \u{hex}, as make_ids.mjs reads them.
std::string unescaped(std::string_view line) {
  std::string text;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (line[i] != '\\') {
      text += line[i];
    } else if (line[i + 1] == '\\') {
      text += line[++i];
    } else {
      const std::size_t end = line.find('}', i);
      unsigned code = 0;
      std::from_chars(line.data() + i + 3, line.data() + end, code, 16);
      append_utf8(text, code);
      i = end;
    }
  }
  return text;
}

std::string ids(const Tokenizer& tokenizer, const std::string& text) {
  std::string joined;
  for (const TextToken& token : tokenizer.encode(text, std::nullopt, true, "/text/0")) {
    joined += (joined.empty() ? "" : " ") + std::to_string(token.id);
  }
  return joined;
}

std::vector<std::string> texts(const std::string& text) {
  std::vector<std::string> pieces;
  for (const TextToken& token : lower_casing().encode(text, std::nullopt, true, "/text/0")) {
    pieces.push_back(token.piece);
  }
  return pieces;
}

}  // namespace

TEST_CASE("WordPiece gives the ids of Hugging Face's library") {
  const Tokenizer case_keeping = Tokenizer::wordpiece(uncased(), false, "/tokenizer/wordpiece");
  std::istringstream cases(file("cases.txt"));
  std::size_t compared = 0;
  for (std::string row; std::getline(cases, row); ++compared) {
    const std::size_t first = row.find('\t'), second = row.find('\t', first + 1);
    REQUIRE(second != std::string::npos);
    const std::string text = unescaped(row.substr(0, first));
    CAPTURE(row);
    CHECK(ids(lower_casing(), text) == row.substr(first + 1, second - first - 1));
    CHECK(ids(case_keeping, text) == row.substr(second + 1));
  }
  CHECK(compared == 1074);
}

TEST_CASE("WordPiece names its pieces") {
  CHECK(texts("Unaffable, naïve!") ==
        std::vector<std::string>{"[CLS]", "una", "##ffa", "##ble", ",", "naive", "!", "[SEP]"});
  CHECK(texts("a𝒳 [MASK]") == std::vector<std::string>{"[CLS]", "[UNK]", "[MASK]", "[SEP]"});
  CHECK(texts("") == std::vector<std::string>{"[CLS]", "[SEP]"});
}

TEST_CASE("WordPiece takes the longest piece and gives a word up as a whole") {
  const Tokenizer tokenizer = Tokenizer::wordpiece(small(), true, "/v");
  CHECK(ids(tokenizer, "unaffable") == "1 3 4 5 2");
  CHECK(ids(tokenizer, "able") == "1 7 2");
  CHECK(ids(tokenizer, "unable unaffx") == "1 3 5 0 2");
  // "##" alone is an ordinary token, never the piece of no characters.
  CHECK(ids(tokenizer, "xx") == "1 0 2");
}

TEST_CASE("WordPiece reads a special token only where the vocabulary has it") {
  const Tokenizer tokenizer = Tokenizer::wordpiece(small(), true, "/v");
  CHECK(ids(tokenizer, "x[SEP]x") == "1 9 2 9 2");
  CHECK(ids(tokenizer, "x[MASK]x") == "1 9 0 0 0 9 2");
}

TEST_CASE("WordPiece rejects text that is no UTF-8") {
  CHECK(error_from([] { lower_casing().encode("[CLS]ab\xE9", std::nullopt, true, "/text/0"); }) ==
        "byte 7 of the text is no UTF-8\n  where: /text/0\n  help:  write the text in UTF-8");
  // A surrogate, an overlong form, a character cut off, one beyond U+10FFFF.
  for (const char* text : {"\xED\xA0\x80", "\xC0\xAF", "\xE4\xBD", "\xF4\x90\x80\x80"}) {
    CHECK(error_from([&] { lower_casing().encode(text, std::nullopt, true, "/text/1"); }) ==
          "byte 0 of the text is no UTF-8\n  where: /text/1\n  help:  write the text in UTF-8");
  }
}

TEST_CASE("WordPiece needs its special tokens in the vocabulary") {
  const auto vocabulary = Vocabulary::from_list({"[UNK]", "[CLS]", "SEP", "a"}, "/v");
  CHECK(
      error_from([&] { Tokenizer::wordpiece(vocabulary, true, "vocab.txt"); }) ==
      "token \"[SEP]\" is not in the vocabulary\n  where: vocab.txt\n"
      "  help:  did you mean \"SEP\"? WordPiece needs [UNK], [CLS] and [SEP], as BERT's vocab.txt "
      "has them");
}

TEST_CASE("WordPiece takes time in proportion to the text") {
  // Many marks on one letter, many sigmas, many brackets, words without any piece.
  std::string marks = "a", sigmas, brackets(200'000, '['), words;
  for (int i = 0; i < 100'000; ++i) marks += i % 2 == 0 ? "\xCC\x81" : "\xCC\xA3";
  for (int i = 0; i < 50'000; ++i) sigmas += "\xCE\xA3'";
  for (int i = 0; i < 200'000; ++i) words += i % 100 == 99 ? ' ' : 'q';
  CHECK(texts(marks).size() == 3);
  CHECK(texts(sigmas).size() == 100'002);
  CHECK(texts(brackets).size() == 200'002);
  CHECK(texts(words).size() == 2 + 2000 * 99);
}

}  // namespace attn
