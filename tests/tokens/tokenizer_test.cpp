#include "tokens/tokenizer.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "io/json_value.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

std::string file(const std::string& name) {
  return bytes_of(std::string(ATTN_TEST_DATA) + "/tokens/wordpiece/" + name);
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

// Replaces the escapes \\ and \u{hex} of make_ids.mjs.
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

const std::string tokenizers_folder = std::string(ATTN_TEST_DATA) + "/tokens/tokenizers/";

std::vector<std::string> rows_of(const std::string& path) {
  std::istringstream text(bytes_of(path));
  std::vector<std::string> rows;
  for (std::string row; std::getline(text, row);) rows.push_back(row);
  return rows;
}

const std::vector<std::string>& lines() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> all;
    for (const std::string& row : rows_of(tokenizers_folder + "lines.jsonl")) {
      all.push_back(parse_json_by_element(row, 1).string());
    }
    return all;
  }();
  return texts;
}

std::string joined(const std::vector<TextToken>& tokens, std::int64_t TextToken::*number) {
  std::string text;
  for (const TextToken& token : tokens) {
    text += (text.empty() ? "" : " ") + std::to_string(token.*number);
  }
  return text;
}

// The FNV-1a hash of make_ids.mjs.
std::string fingerprint(const std::vector<TextToken>& tokens) {
  std::uint32_t hash = 0x811c9dc5;
  for (const char byte : joined(tokens, &TextToken::id) + "/" + joined(tokens, &TextToken::type)) {
    hash = (hash ^ static_cast<unsigned char>(byte)) * 0x01000193;
  }
  std::array<char, 9> digits{};
  std::snprintf(digits.data(), digits.size(), "%08x", hash);
  return digits.data();
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

TEST_CASE("WordPiece rejects text that is not UTF-8") {
  CHECK(error_from([] { lower_casing().encode("[CLS]ab\xE9", std::nullopt, true, "/text/0"); }) ==
        "byte 7 of the text is not UTF-8\n  where: /text/0\n  help:  write the text in UTF-8");
  // A surrogate, an overlong form, a character cut off, one beyond U+10FFFF.
  for (const char* text : {"\xED\xA0\x80", "\xC0\xAF", "\xE4\xBD", "\xF4\x90\x80\x80"}) {
    CHECK(error_from([&] { lower_casing().encode(text, std::nullopt, true, "/text/1"); }) ==
          "byte 0 of the text is not UTF-8\n  where: /text/1\n  help:  write the text in UTF-8");
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

TEST_CASE("tokenizers of every kind give the ids of Hugging Face's library") {
  std::size_t tokenizers = 0;
  REQUIRE(lines().size() > 1300);
  for (const auto& entry : std::filesystem::directory_iterator(tokenizers_folder + "small")) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem().string();
    CAPTURE(name);
    const std::string json = bytes_of(entry.path().string());
    TokenizerFiles files;
    files.tokenizer_json = json;
    const Tokenizer tokenizer = Tokenizer::from_files(files);
    const auto expected = rows_of(tokenizers_folder + "small/" + name + ".ids");
    REQUIRE(expected.size() == lines().size() + 100);
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::size_t first = i < lines().size() ? i : i - lines().size();
      std::optional<std::string_view> second;
      if (first != i) second = lines()[first + 1];
      CAPTURE(lines()[first]);
      CHECK(fingerprint(tokenizer.encode(lines()[first], second, true, "/text")) == expected[i]);
    }
    ++tokenizers;
  }
  CHECK(tokenizers == 30);
}

TEST_CASE("tokenizers of released models give the ids of Hugging Face's library") {
  const char* folder = std::getenv("ATTN_REAL_TOKENIZERS");
  if (folder == nullptr) {
    MESSAGE("left out: ATTN_REAL_TOKENIZERS is not set; tests/tokens/check-real sets it");
    return;
  }
  for (const std::string name :
       {"bert", "bert_cased", "gpt2", "llama2", "llama3", "qwen3", "gemma3"}) {
    CAPTURE(name);
    std::array<std::string, 5> contents;
    const auto read = [&](std::size_t i, const char* file) -> std::optional<std::string_view> {
      const std::string path = folder + ("/" + name) + "/" + file;
      if (!std::filesystem::exists(path)) return std::nullopt;
      contents[i] = bytes_of(path);
      return contents[i];
    };
    TokenizerFiles files;
    files.tokenizer_json = read(0, "tokenizer.json");
    files.tokenizer_config = read(1, "tokenizer_config.json");
    files.vocab_txt = read(2, "vocab.txt");
    files.vocab_json = read(3, "vocab.json");
    files.merges_txt = read(4, "merges.txt");
    const Tokenizer tokenizer = Tokenizer::from_files(files);
    const auto expected = rows_of(tokenizers_folder + "real/" + name + ".ids");
    REQUIRE(expected.size() == lines().size());
    std::size_t equal = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const auto tokens = tokenizer.encode(lines()[i], std::nullopt, true, "/text");
      CAPTURE(lines()[i]);
      CHECK(joined(tokens, &TextToken::id) == expected[i]);
      equal += joined(tokens, &TextToken::id) == expected[i] ? 1U : 0U;
    }
    MESSAGE(name << ": " << equal << " of " << expected.size() << " texts as the library has them");
  }
}

}  // namespace attn
