#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {
namespace {

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    std::uint32_t bits = 0;
    const std::string_view own = bytes.substr(at, 3);
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8U | (i < own.size() ? static_cast<unsigned char>(own[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i > own.size() ? '=' : digits[bits >> (18 - 6 * i) & 63U];
    }
  }
  return text;
}

// All bytes, then tokens that are spelled by others in several ways.
std::vector<std::string> ranked() {
  std::vector<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
  for (const char* token : {"bc", "ab", "abcd", "cd", " a", "é", "aa", "aaa"})
    tokens.emplace_back(token);
  return tokens;
}

std::string tiktoken_file() {
  std::string text;
  std::size_t rank = 0;
  for (const std::string& token : ranked()) {
    text += base64(token) + " " + std::to_string(rank++) + "\n";
  }
  return text;
}

std::vector<std::int64_t> ids(const TokenizerFiles& files, std::string_view text,
                              std::optional<std::string_view> pair = std::nullopt) {
  std::vector<std::int64_t> all;
  for (const TextToken& token : Tokenizer::from_files(files).encode(text, pair, true, "/text")) {
    all.push_back(token.id);
  }
  return all;
}

using Ids = std::vector<std::int64_t>;

TEST_CASE("two tokens are merged where what they spell has a rank, the lowest first") {
  const std::string text = tiktoken_file();
  TokenizerFiles files;
  files.sentencepiece = text;
  // A word that is a token is whole; "bc" has a lower rank than "ab" and "cd".
  CHECK(ids(files, "abcd") == Ids{258});
  CHECK(ids(files, "abc") == Ids{'a', 256});
  CHECK(ids(files, "xabcd") == Ids{'x', 'a', 256, 'd'});
  CHECK(ids(files, "ab ab a") == Ids{257, ' ', 257, 260});
  CHECK(ids(files, "é") == Ids{261});
  CHECK(ids(files, "\xE8\xAA\x9E") == Ids{0xE8, 0xAA, 0x9E});
  // Of equal ranks the leftmost; "aaa" is reached from either side.
  CHECK(ids(files, "xaaaa") == Ids{'x', 262, 262});
  const Tokenizer tokenizer = Tokenizer::from_files(files);
  CHECK(tokenizer.model() == "BPE");
  CHECK(tokenizer.pieces(Ids{260, 261}) == std::vector<std::string>{" a", "é"});
}

TEST_CASE("special tokens of ranks are those of the configuration, with reserved ones between") {
  const std::string text = tiktoken_file();
  TokenizerFiles files;
  files.sentencepiece = text;
  files.tokenizer_config =
      R"({"added_tokens_decoder": {"264": {"content": "<|begin|>", "special": true},
          "267": {"content": "<|end|>", "special": true}}, "extra_special_tokens": ["<|more|>"],
          "bos_token": "<|begin|>", "add_bos_token": true})";
  CHECK(ids(files, "ab<|end|>cd<|more|>") == Ids{264, 257, 267, 259, 268});
  CHECK(ids(files, "ab", "cd") == Ids{264, 257, 264, 259});
  const Tokenizer tokenizer = Tokenizer::from_files(files);
  CHECK(tokenizer.token(265) == "<|reserved_token_265|>");
  files.tokenizer_config.reset();
  files.sentencepiece_name = "qwen.tiktoken";
  CHECK(ids(files, "ab<|im_end|>") == Ids{257, 151645});
}

TEST_CASE("a tekken.json has its special tokens before those of its vocabulary") {
  std::string vocabulary;
  std::size_t rank = 0;
  for (const std::string& token : ranked()) {
    vocabulary += (rank == 0 ? "" : ",") + ("{\"rank\":" + std::to_string(rank)) +
                  ",\"token_bytes\":\"" + base64(token) + "\",\"token_str\":null}";
    ++rank;
  }
  const auto file = [&](const std::string& numbers, const std::string& special) {
    return R"({"config":{"pattern":"\\p{L}+| ?\\P{L}","version":"v3")" + numbers + "},\"vocab\":[" +
           vocabulary + "]" + special + "}";
  };
  TokenizerFiles files;
  const std::string named =
      file(R"(,"default_vocab_size":273,"default_num_special_tokens":10)",
           R"(,"special_tokens":[{"rank":0,"token_str":"<unk>"},{"rank":1,"token_str":"<s>"},
          {"rank":2,"token_str":"</s>"},{"rank":3,"token_str":"[INST]"}])");
  files.tekken_json = named;
  CHECK(ids(files, "abcd[INST]ab") == Ids{1, 268, 3, 267});
  CHECK(ids(files, "ab", "cd") == Ids{1, 267, 1, 269});
  CHECK(Tokenizer::from_files(files).token(7) == "<SPECIAL_7>");
  // The last token of the list is not in a vocabulary of this size.
  CHECK(ids(files, "xaaa") == Ids{1, 'x' + 10, 272, 'a' + 10});
  const std::string old = file("", "");
  files.tekken_json = old;
  CHECK(ids(files, "ab[SYSTEM_PROMPT]aaa") == Ids{1, 277, 17, 283});
}

TEST_CASE("files of ranks that are not as published say where") {
  TokenizerFiles files;
  const auto refused = [&](const std::string& text) {
    files.sentencepiece = text;
    return error_from([&] { Tokenizer::from_files(files); });
  };
  const std::string help = "\n  help:  use the file as published";
  CHECK(refused("YQ== 0\nYg== 0\n") ==
        "the file has the token \"b\" or its id 0 twice\n  where: tokenizer.model, line 2" + help);
  CHECK(refused("YQ== 0\nYg=a 1\n") ==
        "expected a token of 1 to 512 bytes in Base64, found \"Yg=a\"\n"
        "  where: tokenizer.model, line 2" +
            help);
  CHECK(refused("YQ== 0\nYg==\n") ==
        "expected a token in Base64 and its rank, found \"Yg==\"\n"
        "  where: tokenizer.model, line 2" +
            help);
  CHECK(refused("YQ== 0\n") == "the byte 0 has no token\n  where: tokenizer.model" + help);
  TokenizerFiles tekken;
  const auto refused_json = [&](const std::string& text) {
    tekken.tekken_json = text;
    return error_from([&] { Tokenizer::from_files(tekken); });
  };
  CHECK(refused_json(R"({"config":{"pattern":"a"},"vocab":[]})") ==
        "the file has no \"vocab\", or no \"pattern\" in its \"config\"\n  where: tekken.json" +
            help);
  CHECK(refused_json(R"({"config":{"pattern":"a"},"vocab":[{"token_bytes":"YQ=="}]})") ==
        "a token has no rank\n  where: tekken.json" + help);
  CHECK(refused_json(R"({"config":{"pattern":"a","default_vocab_size":3,
          "default_num_special_tokens":4},"vocab":[{"rank":0,"token_bytes":"YQ=="}]})") ==
        "4 special tokens do not fit a vocabulary of 3\n  where: tekken.json, /config" + help);
}

}  // namespace
}  // namespace attn
