#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/gguf.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {
namespace {

// Byte-level BPE: what cuts a text into words, by "tokenizer.ggml.pre".

#define CONTRACTIONS "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
#define SPACES R"(\s*[\r\n]+|\s+(?!\S)|\s+)"
#define UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"
#define WORD_START R"([^\r\n\p{L}\p{N}]?)"

constexpr const char* gpt2_words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr const char* llama3_words =
    CONTRACTIONS "|" WORD_START R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES;
constexpr const char* qwen2_words =
    CONTRACTIONS "|" WORD_START R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES;
constexpr const char* o200k_words =
    WORD_START UPPER "*" LOWER "+" CONTRACTIONS "?|" WORD_START UPPER "+" LOWER "*" CONTRACTIONS
                     R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES;
constexpr const char* tekken_words = WORD_START UPPER
    "*" LOWER "+|" WORD_START UPPER "+" LOWER R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES;
constexpr const char* qwen35_words =
    CONTRACTIONS "|" WORD_START R"([\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|)" SPACES;
constexpr const char* seed_coder_words =
    CONTRACTIONS "|" WORD_START R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|)" SPACES;
constexpr const char* bailing_words =
    "'(?i:[sdmt]|ll|ve|re)|" WORD_START
    R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* exaone_moe_words = CONTRACTIONS
    "|" WORD_START R"((?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?)"
    R"(|\s*[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* jais2_words = CONTRACTIONS
    "|" WORD_START R"(\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S))"
    R"(|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s)";
constexpr const char* youtu_words =
    WORD_START UPPER "*" LOWER "+" CONTRACTIONS "?|" WORD_START UPPER "+" LOWER "*" CONTRACTIONS
                     R"(?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" SPACES;
constexpr const char* ufakzeka_words =
    WORD_START R"(\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES;
constexpr const char* kimi_words =
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"([\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?)"
    R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*)"
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)" SPACES;
// Words of DeepSeek V3 up to the punctuation.
#define DEEPSEEK3                                       \
  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|)" \
  R"([^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+)"
constexpr const char* deepseek3_words = DEEPSEEK3 R"([\r\n]*|)" SPACES;
constexpr const char* spark_words = DEEPSEEK3 R"(|[\r\n]|\s+(?!\S)|\s+)";
constexpr const char* up_to_three_digits = R"(\p{N}{1,3})";
// Groups of three from the right.
constexpr const char* thousands = R"(\d{1,3}(?=(?:\d{3})*(?!\d)))";
constexpr const char* digit = R"(\p{N})";
constexpr const char* three_digits = "[0-9][0-9][0-9]";
constexpr const char* bloom_words = " ?[^(\\s|.,!?\u2026\u3002\uFF0C\u3001\u0964\u06D4\u060C)]+";

// Letters of scripts with upper and lower case, and marks and letters of Chinese, Japanese and
// Korean, as DeepSeek's tokenizers list them.
constexpr const char* cased_words =
    "\\s?[A-Za-z\u00B5\u00C0-\u00D6\u00D8-\u00F6\u00F8-\u01BA\u01BC-\u01BF\u01C4-\u0293"
    "\u0295-\u02AF\u0370-\u0373\u0376\u0377\u037B-\u037D\u037F\u0386\u0388-\u038A\u038C"
    "\u038E-\u03A1\u03A3-\u03F5\u03F7-\u0481\u048A-\u052F\u0531-\u0556\u10A0-\u10C5\u13A0-\u13F5"
    "\u13F8-\u13FD\u1C90-\u1CBA\u1CBD-\u1CBF\u1D00-\u1D2B\u1D6B-\u1D77\u1D79-\u1D9A\u1E00-\u1F15"
    "\u1F18-\u1F1D\u1F20-\u1F45\u1F48-\u1F4D\u1F50-\u1F57\u1F59\u1F5B\u1F5D\u1F5F-\u1F7D"
    "\u1F80-\u1FB4\u1FB6-\u1FBC\u1FBE\u1FC2-\u1FC4\u1FC6-\u1FCC\u1FD0-\u1FD3\u1FD6-\u1FDB"
    "\u1FE0-\u1FEC\u1FF2-\u1FF4\u1FF6-\u1FFC\u2102\u2107\u210A-\u2113\u2115\u2119-\u211D\u2124"
    "\u2126\u2128\u212A-\u212D\u212F-\u2134\u2139\u213C-\u213F\u2145-\u2149\u214E\u2183\u2184"
    "\u2C00-\u2C7B\u2C7E-\u2CE4\u2CEB-\u2CEE\u2CF2\u2CF3\uA640-\uA66D\uA680-\uA69B\uA722-\uA76F"
    "\uA771-\uA787\uA78B-\uA78E\uAB70-\uABBF\uFB00-\uFB06\uFB13-\uFB17\uFF21-\uFF3A\uFF41-\uFF5A"
    "\U00010400-\U0001044F\U000104B0-\U000104D3\U000104D8-\U000104FB\U00010C80-\U00010CB2"
    "\U00010CC0-\U00010CF2\U000118A0-\U000118DF\U0001E900-\U0001E943]+";
constexpr const char* deepseek_marks =
    "\\s?[!-/:-~\uFF01-\uFF0F\uFF1A-\uFF5E\u2018-\u201F\u3000-\u3002]+";
constexpr const char* east_asian_words = "[\u4E00-\u9FA5\u0800-\u4E00\uAC00-\uD7FF]+";
constexpr const char* chinese_and_kana_words = "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
// Korean, the punctuation of Chinese, its phonetic letters, then the same.
constexpr const char* scripts_of_youtu =
    "[\uAC00-\uD7A3\u3131-\u318E]+"
    "|[\uFF01\u2026\u201C\u201D\u2018\u2019\u2014\uFF1A\uFF1B\uFF0C\u3001-\u303F\uFE30-\uFE4F]+"
    "|[\u3105-\u312F]+|[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";

/// Meanings of the names in llama.cpp's list (llama_vocab::impl::load in src/llama-vocab.cpp).
struct Pre {
  std::vector<std::string_view> names;
  std::vector<const char*> patterns;  ///< each cuts the parts that the one before left
  bool whole_first = false;           ///< a word that is a token is not merged
  bool begin = false, end = false;    ///< special tokens around texts, if no key says
};

const std::vector<Pre>& pre_table() {
  static const std::vector<Pre> table{
      {{"gpt-2", "phi-2", "olmo", "mpt", "jina-es", "jina-de", "jina-v2-es", "jina-v2-de", "jais",
        "trillion", "granite-docling", "gigachat", "modern-bert", "a.x-4.0", "mellum", "exaone4"},
       {gpt2_words}},
      {{"roberta-bpe", "jina-v1-en", "jina-v2-code"}, {gpt2_words}, false, false, true},
      {{"llama3", "llama-v3", "llama-bpe", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2",
        "jina-v5-nano"},
       {llama3_words},
       true,
       true},
      {{"dbrx", "smaug-bpe", "chatglm-bpe", "glm4"}, {llama3_words}},
      {{"qwen2", "deepseek-r1-qwen", "kormo", "f2llmv2", "megrez", "stablelm2", "hunyuan", "grok-2",
        "solar-open"},
       {qwen2_words}},
      {{"starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b",
        "mellum2"},
       {digit, gpt2_words}},
      {{"gpt-4o", "llama4", "minimax-m2", "kanana2", "talkie"}, {o200k_words}},
      {{"granite-embed-multi-97m"}, {o200k_words}, true},
      {{"tiny_aya", "cohere2moe"}, {R"(\d{1,3}(?=(?:\d{3})*\b))", o200k_words}},
      {{"qwen35"}, {qwen35_words}},
      {{"kimi-k2"}, {kimi_words}},
      {{"seed-coder"}, {seed_coder_words}},
      {{"bailingmoe", "bailingmoe2", "llada-moe"}, {bailing_words}},
      {{"exaone-moe"}, {exaone_moe_words}},
      {{"ufakzeka"}, {ufakzeka_words}},
      {{"laguna"}, {R"([^\n]+|[\n]+)", qwen2_words}},
      {{"chameleon"},
       {"<sentinel:[0-9]+>", "IMGIMG[A-I]{1,4}Z", R"([\t\n]|    |  )", digit,
        R"([\p{P}!-/:-@\[-`{-~])", gpt2_words},
       false,
       true},
      {{"tekken"}, {tekken_words}, true, true},
      {{"bloom", "poro-chat", "gpt3-finnish"}, {bloom_words}},
      {{"viking"}, {bloom_words, digit}},
      {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", gpt2_words, three_digits}},
      {{"deepseek-llm"},
       {"[\r\n]", cased_words, deepseek_marks, R"(\s+$)", east_asian_words, R"(\p{N}+)"}},
      {{"deepseek-coder"}, {"[\r\n]", R"(\s?\p{L}+)", R"(\s?\p{P}+)", east_asian_words, digit}},
      {{"deepseek-v3", "hunyuan-dense", "joyai-llm", "hy_v4"},
       {up_to_three_digits, chinese_and_kana_words, deepseek3_words}},
      {{"spark2_5"}, {up_to_three_digits, chinese_and_kana_words, spark_words, digit}},
      {{"minicpm5"}, {up_to_three_digits, llama3_words}, true},
      {{"youtu"}, {scripts_of_youtu, youtu_words}, true},
      {{"jais-2"}, {jais2_words}},
      {{"superbpe"}, {R"(\p{N}+)", thousands}},
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", gpt2_words, R"(\p{N}+)", three_digits}}};
  return table;
}

/// Names of the same list whose words are not computed, and why.
struct UnreadPre {
  std::string_view name, reason;
};
constexpr std::string_view not_by_bytes =
    to_translate("its tokens are letters, not bytes, and are not merged word by word");
constexpr auto unread_pres =
    std::to_array<UnreadPre>({{"gemma4", not_by_bytes},
                              {"granite-embed-multi-311m", not_by_bytes},
                              {"sarvam-moe", not_by_bytes},
                              {"whitespace", not_by_bytes},
                              {"afmoe", to_translate("no pattern describes how it cuts numbers")}});

#undef DEEPSEEK3
#undef CONTRACTIONS
#undef SPACES
#undef UPPER
#undef LOWER
#undef WORD_START

const Pre& pre_of(std::string_view name) {
  std::vector<std::string_view> known;
  for (const Pre& pre : pre_table()) {
    for (const std::string_view own : pre.names) {
      if (own == name) return pre;
      known.push_back(own);
    }
  }
  for (const UnreadPre& unread : unread_pres) {
    if (unread.name != name) continue;
    throw input_error(translated("words of the kind {1} are not read: {2}", in_quotes(name),
                                 translated(unread.reason)),
                      "tokenizer.ggml.pre",
                      translated("name the model's own folder with its tokenizer.json, or give "
                                 "token ids"));
  }
  throw input_error(translated("words of the kind {1} are not known", in_quotes(name)),
                    "tokenizer.ggml.pre", suggestion(name, known));
}

}  // namespace

std::string words_of_gguf(std::string_view pre) {
  return pre_of(pre).patterns.front();
}

namespace {

// A message of protobuf (protobuf.dev/programming-guides/encoding).
class Message {
 public:
  void number(unsigned field, std::uint64_t value) {
    varying(field << 3U);
    varying(value);
  }
  void real(unsigned field, float value) {
    varying(field << 3U | 5U);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  void text(unsigned field, std::string_view value) {
    varying(field << 3U | 2U);
    varying(value.size());
    bytes_ += value;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void varying(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7U) bytes_ += static_cast<char>(value | 0x80U);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

/// Reads the keys "tokenizer.ggml.…".
class TokenizerReader {
 public:
  explicit TokenizerReader(const Gguf& file)
      : file_(file), texts_(file.texts("tokenizer.ggml.tokens")) {
    for (const double type : file.numbers("tokenizer.ggml.token_type")) {
      types_.push_back(static_cast<int>(type));
    }
    types_.resize(texts_.size(), normal);
  }

  TokenizerParts read() {
    const std::string model(file_.text("tokenizer.ggml.model").value_or(""));
    if (texts_.empty()) {
      throw input_error(translated("the file has no tokens"), "tokenizer.ggml.tokens",
                        translated("give token ids, or another file of the model"));
    }
    if (model == "gpt2") return byte_pairs();
    if (model == "llama") return sentence_pieces(false);
    if (model == "t5") return sentence_pieces(true);
    if (model == "bert") return word_pieces();
    throw input_error(translated("tokenizers of the kind {1} are not read", in_quotes(model)),
                      "tokenizer.ggml.model", translated("known: gpt2, llama, t5, bert"));
  }

  SpecialIds special_ids() const {
    SpecialIds ids;
    const auto read = [&](std::optional<std::int64_t>& to, const char* name) {
      if (const auto id = special(name)) to = *id;
    };
    read(ids.pad, "padding_token_id");
    read(ids.mask, "mask_token_id");
    read(ids.first, "bos_token_id");
    read(ids.last, "eos_token_id");
    read(ids.classifier, "cls_token_id");
    read(ids.separator, "seperator_token_id");
    if (!ids.separator) read(ids.separator, "separator_token_id");
    read(ids.unknown, "unknown_token_id");
    return ids;
  }

 private:
  // Numbers of "tokenizer.ggml.token_type".
  enum : int { normal = 1, unknown_type = 2, control = 3, user_defined = 4 };

  static std::string key(std::string_view name) { return "tokenizer.ggml." + std::string(name); }

  // An id below the number of tokens.
  std::optional<TokenId> special(std::string_view name) const {
    const auto id = file_.number(key(name));
    if (!id || !(*id >= 0) || *id >= static_cast<double>(texts_.size())) return std::nullopt;
    return static_cast<TokenId>(*id);
  }

  TokenId needed(std::initializer_list<const char*> names) const {
    for (const char* name : names) {
      if (const auto id = special(name)) return *id;
    }
    throw input_error(translated("the file does not say the id of this token"), key(*names.begin()),
                      translated("give token ids, or another file of the model"));
  }

  bool flag(std::string_view name, bool otherwise) const {
    return file_.boolean(key(name)).value_or(otherwise);
  }

  std::shared_ptr<TokenTable> table() const {
    auto tokens = std::make_shared<TokenTable>();
    std::size_t bytes = 0;
    for (const std::string_view text : texts_) bytes += text.size();
    tokens->reserve(texts_.size(), bytes);
    // Models have rows for tokens without a text, or with that of another: no text becomes them.
    for (std::size_t id = 0; id < texts_.size(); ++id) {
      if (!tokens->add(texts_[id], static_cast<TokenId>(id))) {
        tokens->add("[" + std::to_string(id) + "]", static_cast<TokenId>(id));
      }
    }
    return tokens;
  }

  AddedTokens added(const std::vector<Normalizer>& normalizers) const {
    std::vector<AddedToken> all;
    for (std::size_t id = 0; id < texts_.size(); ++id) {
      const int type = types_[id];
      if (type != control && type != user_defined && type != unknown_type) continue;
      if (texts_[id].empty()) continue;
      AddedToken token;
      token.content = texts_[id];
      token.id = static_cast<TokenId>(id);
      token.special = type != user_defined;
      all.push_back(std::move(token));
    }
    return {std::move(all), normalizers, key("tokens")};
  }

  // Tokens before and behind each text, as the keys say.
  TextTemplate around(bool begin, bool end, bool each_of_pair) const {
    std::vector<TextTemplate::Part> before, after;
    if (flag("add_bos_token", begin))
      before.push_back({-1, 0, {needed({"bos_token_id", "cls_token_id"})}});
    if (flag("add_eos_token", flag("add_sep_token", end))) {
      after.push_back(
          {-1, 0, {needed({"eos_token_id", "seperator_token_id", "separator_token_id"})}});
    }
    TextTemplate result;
    result.single = before;
    result.single.push_back({0, 0, {}});
    result.single.insert(result.single.end(), after.begin(), after.end());
    result.pair = result.single;
    if (each_of_pair) result.pair.insert(result.pair.end(), before.begin(), before.end());
    result.pair.push_back({1, 0, {}});
    result.pair.insert(result.pair.end(), after.begin(), after.end());
    return result;
  }

  TokenizerParts byte_pairs() const {
    const Pre& pre = pre_of(file_.text(key("pre")).value_or("default"));
    BytePairModel model;
    const auto tokens = table();
    model.tokens = tokens;
    model.ignore_merges = pre.whole_first;
    MergeList merges;
    const std::vector<std::string_view> lines = file_.texts(key("merges"));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (merges.add_line(lines[i])) continue;
      throw input_error(translated("expected two tokens with a space between them, found {1}",
                                   in_quotes(lines[i])),
                        key("merges") + ", " + std::to_string(i),
                        translated("download the file again"));
    }
    if (lines.empty()) {
      throw input_error(translated("the file has no merges"), key("merges"),
                        translated("give token ids, or another file of the model"));
    }
    model.merges = merges.table(
        *tokens, "", [](std::size_t i) { return key("merges") + ", " + std::to_string(i); });
    TokenizerParts parts{tokens, std::move(model)};
    for (const char* pattern : pre.patterns) parts.splitters.push_back(isolate(pattern));
    parts.splitters.push_back(split_bytes(false, false));
    parts.written.letters_of_bytes = true;
    parts.added = added(parts.normalizers);
    parts.around = around(pre.begin, pre.end, true);
    return parts;
  }

  // A model of SentencePiece of the pieces and their scores (sentencepiece_model.proto), which its
  // library cuts texts by.
  TokenizerParts sentence_pieces(bool unigram) const {
    const std::vector<double> scores = file_.numbers(key("scores"));
    if (scores.size() != texts_.size()) {
      throw input_error(
          translated("there are {1} scores for {2} tokens", scores.size(), texts_.size()),
          key("scores"), translated("download the file again"));
    }
    const auto tokens = table();
    const std::size_t unknown = special("unknown_token_id").value_or(0);
    bool bytes = false;
    Message model;
    for (std::size_t id = 0; id < texts_.size(); ++id) {
      constexpr int byte = 6, unused = 5;
      int type = types_[id];
      if (id == unknown) type = unknown_type;
      if (id != unknown && type == unknown_type) type = unused;
      bytes = bytes || type == byte;
      Message piece;
      piece.text(1, tokens->token(static_cast<TokenId>(id)));
      piece.real(2, static_cast<float>(scores[id]));
      piece.number(3, static_cast<std::uint64_t>(type));
      model.text(1, piece.bytes());
    }
    Message trainer;
    trainer.number(3, unigram ? 1 : 2);
    if (bytes) trainer.number(35, 1);
    model.text(2, trainer.bytes());
    const bool space = flag("add_space_prefix", true);
    Message normalizer;
    normalizer.text(1, "identity");
    const std::string table_of_characters = charsmap();
    if (!table_of_characters.empty()) normalizer.text(2, table_of_characters);
    normalizer.number(3, space ? 1 : 0);
    normalizer.number(4, flag("remove_extra_whitespaces", false) ? 1 : 0);
    normalizer.number(5, 1);
    model.text(3, normalizer.bytes());
    SentencePieceModel own(model.bytes());
    std::vector<TokenId> ids(texts_.size());
    for (std::size_t id = 0; id < ids.size(); ++id) ids[id] = static_cast<TokenId>(id);
    own.number_pieces(std::move(ids));
    TokenizerParts parts{tokens, std::move(own)};
    parts.written.byte_tokens = true;
    parts.written.drops_first_space = space;
    parts.written.replacements.push_back({RegularExpression::literal("\u2581"), " "});
    parts.added = added(parts.normalizers);
    parts.around = around(!unigram, unigram, !unigram);
    return parts;
  }

  // The bytes of an array of numbers.
  std::string charsmap() const {
    std::string bytes;
    for (const double byte : file_.numbers(key("precompiled_charsmap"))) {
      bytes += static_cast<char>(static_cast<int>(byte));
    }
    return bytes;
  }

  // WordPiece, whose vocabulary has a mark before the first piece of a word and none before others.
  TokenizerParts word_pieces() const {
    constexpr std::string_view mark = "\u2581";
    std::vector<std::string> tokens;
    for (std::size_t id = 0; id < texts_.size(); ++id) {
      const std::string_view text = texts_[id];
      const bool whole = types_[id] != normal || (text.starts_with('[') && text.ends_with(']'));
      tokens.push_back(text.starts_with(mark) ? std::string(text.substr(mark.size()))
                       : whole                ? std::string(text)
                                              : "##" + std::string(text));
    }
    const TokenId first = needed({"cls_token_id", "bos_token_id"});
    const TokenId last = needed({"seperator_token_id", "separator_token_id", "eos_token_id"});
    BertSettings settings;
    settings.first = tokens[first];
    settings.last = tokens[last];
    settings.unknown = tokens[needed({"unknown_token_id"})];
    TokenizerParts parts =
        bert_parts(Vocabulary::from_list(tokens, key("tokens")), settings, key("tokens"));
    std::vector<AddedToken> all;
    for (std::size_t id = 0; id < tokens.size(); ++id) {
      if (types_[id] != control || tokens[id].empty()) continue;
      AddedToken token;
      token.content = tokens[id];
      token.id = static_cast<TokenId>(id);
      token.special = true;
      all.push_back(std::move(token));
    }
    parts.added = AddedTokens(std::move(all), parts.normalizers, key("tokens"));
    return parts;
  }

  const Gguf& file_;
  std::vector<std::string_view> texts_;
  std::vector<int> types_;
};

}  // namespace

Tokenizer Tokenizer::from_gguf(const Gguf& file) {
  TokenizerReader reader(file);
  TokenizerParts parts = reader.read();
  return {std::move(parts), reader.special_ids()};
}

}  // namespace attn
