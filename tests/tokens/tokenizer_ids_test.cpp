#include <array>
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

#include "io/json_value.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {
namespace {

const std::string tokenizers_folder = std::string(ATTN_TEST_DATA) + "/tokens/tokenizers/";

std::string bytes_of(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

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

// FNV-1a, as make_ids.mjs has it.
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
