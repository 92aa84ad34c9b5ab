#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "io/gguf.hpp"
#include "support/utf8.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {
namespace {

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

std::string written(const std::string& text) {
  return raw(std::uint64_t{text.size()}) + text;
}

/// The keys of a GGUF file without tensors.
class Keys {
 public:
  Keys& text(const std::string& name, const std::string& value) {
    return add(name, raw(8U) + written(value));
  }
  Keys& number(const std::string& name, std::uint32_t value) {
    return add(name, raw(4U) + raw(value));
  }
  Keys& boolean(const std::string& name, bool value) { return add(name, raw(7U) + raw(value)); }
  Keys& texts(const std::string& name, const std::vector<std::string>& values) {
    std::string bytes = raw(9U) + raw(8U) + raw(std::uint64_t{values.size()});
    for (const std::string& value : values) bytes += written(value);
    return add(name, bytes);
  }
  template <class T>
  Keys& numbers(const std::string& name, std::uint32_t type, const std::vector<T>& values) {
    std::string bytes = raw(9U) + raw(type) + raw(std::uint64_t{values.size()});
    for (const T value : values) bytes += raw(value);
    return add(name, bytes);
  }

  Tokenizer tokenizer() const {
    const auto bytes = std::make_shared<const std::string>(
        "GGUF" + raw(3U) + raw(std::uint64_t{0}) + raw(count_) + keys_);
    return Tokenizer::from_gguf(Gguf(std::as_bytes(std::span(*bytes)), bytes));
  }

 private:
  Keys& add(const std::string& name, const std::string& value) {
    keys_ += written("tokenizer.ggml." + name) + value;
    ++count_;
    return *this;
  }

  std::string keys_;
  std::uint64_t count_ = 0;
};

// The letters that stand for the 256 bytes, the bytes that are no letters behind the others.
std::vector<std::string> byte_letters() {
  std::vector<std::string> letters;
  char32_t next = 256;
  for (char32_t byte = 0; byte < 256; ++byte) {
    const bool shown = (byte >= 33 && byte <= 126) || (byte >= 161 && byte != 173);
    append_utf8(letters.emplace_back(), shown ? byte : next++);
  }
  return letters;
}

Keys byte_pairs(const std::string& pre) {
  std::vector<std::string> tokens = byte_letters();
  tokens.emplace_back("\u0120a");  // a space and a
  tokens.emplace_back("<s>");
  tokens.emplace_back("</s>");
  tokens.emplace_back("ab");
  std::vector<std::int32_t> types(tokens.size(), 1);
  types[257] = types[258] = 3;
  Keys keys;
  keys.text("model", "gpt2").texts("tokens", tokens).numbers("token_type", 5, types);
  keys.texts("merges", {"\u0120 a"}).number("bos_token_id", 257).number("eos_token_id", 258);
  if (!pre.empty()) keys.text("pre", pre);
  return keys;
}

// The words that a text is cut into, with bars between them.
std::string words(const Tokenizer& tokenizer, const std::string& text) {
  std::string result;
  std::size_t end = 0;
  std::int64_t word = 0;
  for (const TextToken& token : tokenizer.encode(text, std::nullopt, false, "")) {
    if (token.word != word) result += text.substr(end, token.begin - end) + "|";
    if (token.word != word) end = token.begin;
    word = token.word;
  }
  return result + text.substr(end);
}

std::vector<std::int64_t> ids(const Tokenizer& tokenizer, const std::string& text) {
  std::vector<std::int64_t> result;
  for (const TextToken& token : tokenizer.encode(text, std::nullopt, true, "")) {
    result.push_back(token.id);
  }
  return result;
}

}  // namespace

TEST_CASE("words of byte-level BPE are those that the names of llama.cpp stand for") {
  const std::string text = "I'LL we've 12345 xY, (ok)...\n\nEND";
  for (const auto& [name, expected] : std::vector<std::pair<std::string, std::string>>{
           {"gpt-2", "I|'|LL| we|'ve| 12345| xY|,| (|ok|)...|\n|\n|END"},
           {"llama-bpe", "I|'LL| we|'ve| |123|45| xY|,| (|ok|)...\n\n|END"},
           {"qwen2", "I|'LL| we|'ve| |1|2|3|4|5| xY|,| (|ok|)...\n\n|END"},
           {"smollm", "I|'|LL| we|'ve| |1|2|3|4|5| xY|,| (|ok|)...|\n|\n|END"},
           {"gpt-4o", "I'LL| we've| |123|45| x|Y|,| (|ok|)...\n\n|END"},
           {"tekken", "I|'LL| we|'ve| |1|2|3|4|5| x|Y|,| (|ok|)...\n\n|END"},
           {"bloom", "I'LL| we've| 12345| xY|, (|ok|)...\n\n|END"},
           {"falcon", "I|'|LL| we|'|ve| |123|45| xY|,| |(|ok|)...|\n|\n|END"},
           {"deepseek-llm", "I|'|LL| we|'|ve| |12345| xY|,| (|ok|)...|\n|\n|END"},
           {"deepseek-v3", "I|'LL| we|'ve| |123|45| xY|,| (|ok|)...\n\n|END"},
           {"f2llmv2", "I|'LL| we|'ve| |1|2|3|4|5| xY|,| (|ok|)...\n\n|END"},
           {"joyai-llm", "I|'LL| we|'ve| |123|45| xY|,| (|ok|)...\n\n|END"},
           {"spark2_5", "I|'LL| we|'ve| |1|2|3|4|5| xY|,| (|ok|)...|\n|\n|END"},
           {"minicpm5", "I|'LL| we|'ve| |123|45| xY|,| (|ok|)...\n\n|END"},
           {"youtu", "I'LL| we've| |1|2|3|4|5| x|Y|,| (|ok|)...\n\n|END"},
           {"jais-2", "I|'LL| we|'ve| |123|45| xY|,| (|ok|)...\n\n|END"},
           {"superbpe", "I'LL we've |12|345| xY, (ok)...\n\nEND"},
           {"", "I|'|LL| we|'|ve| |123|45| xY|,| |(|ok|)...|\n|\n|END"}}) {
    const std::string pre = name;  // clang captures no structured binding
    CAPTURE(pre);
    CHECK(words(byte_pairs(pre).tokenizer(), text) == expected);
  }
}

TEST_CASE("every name of the list of words is read") {
  for (const char* pre : {"roberta-bpe", "dbrx", "stablelm2", "starcoder", "viking",
                          "deepseek-coder", "poro-chat", "default", "hunyuan-dense"}) {
    CAPTURE(pre);
    CHECK(byte_pairs(pre).tokenizer().encode("a b", std::nullopt, false, "").size() == 3);
  }
  CHECK(error_from([] { byte_pairs("gpt-22").tokenizer(); }) ==
        "words of the kind \"gpt-22\" are not known\n  where: tokenizer.ggml.pre\n"
        "  help:  did you mean \"gpt-2\"?");
  CHECK(error_from([] { byte_pairs("gemma4").tokenizer(); }) ==
        "words of the kind \"gemma4\" are not read: its tokens are letters, not bytes, and are not "
        "merged word by word\n  where: tokenizer.ggml.pre\n"
        "  help:  name the model's own folder with its tokenizer.json, or give token ids");
  CHECK(error_from([] { byte_pairs("afmoe").tokenizer(); }) ==
        "words of the kind \"afmoe\" are not read: no pattern describes how it cuts "
        "numbers\n  where: tokenizer.ggml.pre\n"
        "  help:  name the model's own folder with its tokenizer.json, or give token ids");
}

TEST_CASE("spaces are halved again and again by Jais 2, and scripts are cut apart by Youtu") {
  CHECK(words(byte_pairs("jais-2").tokenizer(), "a" + std::string(11, ' ') + "b") ==
        "a|        |  | b");
  CHECK(words(byte_pairs("youtu").tokenizer(), "a\u4E2D\uAC00b") == "a|\u4E2D|\uAC00|b");
  CHECK(words(byte_pairs("superbpe").tokenizer(), "1234567 12") == "1|234|567| |12");
}

TEST_CASE("special tokens are put around texts as the keys of a GGUF file say") {
  CHECK(ids(byte_pairs("gpt-2").tokenizer(), "a a") == std::vector<std::int64_t>{97, 256});
  CHECK(ids(byte_pairs("llama-bpe").tokenizer(), "a") == std::vector<std::int64_t>{257, 97});
  // A word that is a token is not merged, even if no merge makes it.
  CHECK(ids(byte_pairs("llama-bpe").tokenizer(), "ab") == std::vector<std::int64_t>{257, 259});
  CHECK(ids(byte_pairs("gpt-2").tokenizer(), "ab") == std::vector<std::int64_t>{97, 98});
  CHECK(ids(byte_pairs("roberta-bpe").tokenizer(), "a") == std::vector<std::int64_t>{97, 258});
  CHECK(ids(byte_pairs("gpt-2")
                .boolean("add_bos_token", true)
                .boolean("add_eos_token", true)
                .tokenizer(),
            "a</s>") == std::vector<std::int64_t>{257, 97, 258, 258});
}

TEST_CASE("SentencePiece in GGUF keys merges the pair of the best score first") {
  std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
  std::vector<float> scores{0, 0, 0};
  std::vector<std::int32_t> types{2, 3, 3};
  for (int byte = 0; byte < 256; ++byte) {
    constexpr std::string_view digits = "0123456789ABCDEF";
    tokens.push_back("<0x" + std::string(1, digits[static_cast<std::size_t>(byte / 16)]) +
                     digits[static_cast<std::size_t>(byte % 16)] + ">");
    scores.push_back(0);
    types.push_back(6);
  }
  const auto piece = [&](const std::string& text, float score) {
    tokens.push_back(text);
    scores.push_back(score);
    types.push_back(1);
  };
  for (const char* one : {"\u2581", "a", "b", "c"}) piece(one, -10);  // 259 to 262
  piece("ab", -2);                                                    // 263
  piece("bc", -1);
  piece("\u2581a", -3);
  Keys keys;
  keys.text("model", "llama").texts("tokens", tokens).numbers("scores", 6, scores);
  keys.numbers("token_type", 5, types).number("bos_token_id", 1).number("eos_token_id", 2);
  keys.number("unknown_token_id", 0);
  const Keys no_space =
      Keys(keys).boolean("add_space_prefix", false).boolean("add_bos_token", false);
  CHECK(ids(keys.tokenizer(), "abc") == std::vector<std::int64_t>{1, 265, 264});
  CHECK(ids(no_space.tokenizer(), "abc") == std::vector<std::int64_t>{260, 264});
  // Characters that are no pieces become their bytes.
  CHECK(ids(no_space.tokenizer(), "\u00e9") == std::vector<std::int64_t>{3 + 0xC3, 3 + 0xA9});
}

TEST_CASE("Unigram in GGUF keys takes the likeliest pieces, and ends a text") {
  Keys keys;
  keys.text("model", "t5")
      .texts("tokens", {"<pad>", "</s>", "<unk>", "\u2581", "a", "b", "ab", "\u2581a"});
  keys.numbers<float>("scores", 6, {0, 0, 0, -2, -3, -3, -3.5F, -4});
  keys.numbers<std::int32_t>("token_type", 5, {3, 3, 2, 1, 1, 1, 1, 1});
  keys.number("eos_token_id", 1).number("unknown_token_id", 2).number("padding_token_id", 0);
  const Tokenizer tokenizer = keys.tokenizer();
  CHECK(ids(tokenizer, "ab") == std::vector<std::int64_t>{3, 6, 1});
  CHECK(ids(tokenizer, "a") == std::vector<std::int64_t>{7, 1});
  CHECK(ids(tokenizer, "x") == std::vector<std::int64_t>{3, 2, 1});
  CHECK(tokenizer.special_ids().pad == 0);
}

TEST_CASE("WordPiece in GGUF keys has marks before the first pieces of words") {
  Keys keys;
  keys.text("model", "bert");
  keys.texts("tokens", {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "\u2581play", "ing", "\u2581ing"});
  keys.numbers<std::int32_t>("token_type", 5, {3, 3, 3, 3, 1, 1, 1});
  keys.number("cls_token_id", 2).number("seperator_token_id", 3).number("unknown_token_id", 1);
  const Tokenizer tokenizer = keys.tokenizer();
  CHECK(ids(tokenizer, "Playing \u00cfng x") == std::vector<std::int64_t>{2, 4, 5, 6, 1, 3});
  CHECK(tokenizer.model() == "WordPiece");
}

TEST_CASE("a GGUF file whose tokenizer is not read says which key is at fault") {
  CHECK(error_from([] { Keys().text("model", "rwkv").texts("tokens", {"a"}).tokenizer(); }) ==
        "tokenizers of the kind \"rwkv\" are not read\n  where: tokenizer.ggml.model\n"
        "  help:  known: gpt2, llama, t5, bert");
  CHECK(error_from([] { Keys().text("model", "gpt2").tokenizer(); }) ==
        "the file has no tokens\n  where: tokenizer.ggml.tokens\n"
        "  help:  give token ids, or another file of the model");
  CHECK(error_from([] { Keys().text("model", "llama").texts("tokens", {"a"}).tokenizer(); }) ==
        "there are 0 scores for 1 tokens\n  where: tokenizer.ggml.scores\n"
        "  help:  download the file again");
}

}  // namespace attn
