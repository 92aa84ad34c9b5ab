#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_events.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/characters.hpp"
#include "tokens/tokenizer_config.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {
namespace {

// Byte-pair encoding by ranks: two neighbouring tokens are merged if what they spell is a token,
// the one of the lowest rank first. Files list the tokens' bytes in Base64.

// The bytes of a text in Base64 (RFC 4648); none if it is malformed.
std::optional<std::string> bytes_of_base64(std::string_view text) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  if (text.size() % 4 != 0) return std::nullopt;
  for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  std::string bytes;
  std::uint32_t bits = 0;
  unsigned count = 0;
  for (const char letter : text) {
    const std::size_t digit = digits.find(letter);
    if (digit == std::string_view::npos) return std::nullopt;
    bits = bits << 6U | static_cast<std::uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    bytes += static_cast<char>(bits >> count & 0xFFU);
  }
  return bytes;
}

/// The tokens of such a file, spelled by the letters of their bytes.
class RankedTokens {
 public:
  explicit RankedTokens(std::size_t tokens, std::size_t bytes) { tokens_->reserve(tokens, bytes); }

  /// Enters a token. Throws Error(input) at `place`.
  void add(std::string_view base64, TokenId id, const std::string& place) {
    // All ways to cut a token in two are tried.
    constexpr std::size_t longest = 512;
    const auto bytes = bytes_of_base64(base64);
    if (!bytes || bytes->empty() || bytes->size() > longest) {
      throw input_error(translated("expected a token of 1 to {1} bytes in Base64, found {2}",
                                   longest, in_quotes(base64.substr(0, 4 * longest))),
                        place, translated("use the file as published"));
    }
    std::string letters;
    for (const char byte : *bytes) {
      append_utf8(letters, letter_of_byte(static_cast<unsigned char>(byte)));
    }
    if (!tokens_->has(id) && tokens_->add(letters, id)) return;
    throw input_error(
        translated("the file has the token {1} or its id {2} twice", in_quotes(letters), id), place,
        translated("use the file as published"));
  }

  /// The tokenizer of these tokens, whose words are the matches of a pattern. Throws Error(input)
  /// if a byte has no token.
  TokenizerParts parts(const std::string& pattern, const std::string& place) const {
    for (unsigned byte = 0; byte < 256; ++byte) {
      std::string letter;
      append_utf8(letter, letter_of_byte(static_cast<unsigned char>(byte)));
      if (tokens_->find(letter)) continue;
      throw input_error(translated("the byte {1} has no token", byte), "",
                        translated("use the file as published"));
    }
    BytePairModel model;
    model.tokens = tokens_;
    model.merges = merges();
    model.ignore_merges = true;
    TokenizerParts parts{tokens_, std::move(model)};
    parts.splitters.push_back(split_pattern({pattern, place}, SplitBehavior::isolated, false));
    parts.splitters.push_back(split_bytes(false, false));
    parts.written.letters_of_bytes = true;
    return parts;
  }

 private:
  std::shared_ptr<const MergeTable> merges() const {
    struct Way {
      TokenId left, right, both;
    };
    std::vector<Way> ways;
    for (TokenId id = 0; id < tokens_->size(); ++id) {
      if (!tokens_->has(id)) continue;
      const std::string_view token = tokens_->token(id);
      for_each_character(token, [&](char32_t, std::size_t, std::size_t end) {
        if (end == token.size()) return;
        const auto left = tokens_->find(token.substr(0, end));
        if (!left) return;
        if (const auto right = tokens_->find(token.substr(end)))
          ways.push_back({*left, *right, id});
      });
    }
    auto table = std::make_shared<MergeTable>(ways.size());
    for (const Way& way : ways) table->add(way.left, way.right, {way.both, way.both});
    return table;
  }

  std::shared_ptr<TokenTable> tokens_ = std::make_shared<TokenTable>();
};

AddedToken special_token(std::string_view content) {
  AddedToken token;
  token.content = content;
  token.special = true;
  return token;
}

// Puts the tokens that the configuration asks for before and behind each text.
void put_around(const TokenizerConfig& config, std::string_view first, bool begins,
                TokenizerParts& parts) {
  using Part = TextTemplate::Part;
  const auto token = [&](std::string_view key, bool otherwise, std::string_view usual) {
    std::vector<Part> own;
    const std::string flag = "add_" + std::string(key);
    const bool wanted =
        in_file(tokenizer_config_name, [&] { return config.boolean(flag, otherwise); });
    const auto id = parts.find(config.token(key).value_or(std::string(usual)));
    if (wanted && id) own.push_back({-1, 0, {*id}});
    return own;
  };
  const std::vector<Part> before = token("bos_token", begins, first),
                          after = token("eos_token", false, "</s>");
  for (auto* around : {&parts.around.single, &parts.around.pair}) {
    std::vector<Part> all;
    for (const Part& text : *around) {
      all.insert(all.end(), before.begin(), before.end());
      all.push_back(text);
      all.insert(all.end(), after.begin(), after.end());
    }
    *around = std::move(all);
  }
}

// tiktoken.

/// A vocabulary that a file's name tells of: the words of its pattern, as GGUF files name them or
/// as a pattern, and its special tokens.
struct NamedRanks {
  std::string_view file, words;
  std::vector<std::pair<std::string_view, TokenId>> special;
};

constexpr const char* cl100k_words =
    R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+\z|)"
    R"(\s*[\r\n]|\s+(?!\S)|\s)";
const std::vector<NamedRanks>& named_ranks() {
  static const std::vector<NamedRanks> all{
      {"r50k_base.tiktoken", "gpt-2", {{"<|endoftext|>", 50256}}},
      {"p50k_base.tiktoken", "gpt-2", {{"<|endoftext|>", 50256}}},
      {"cl100k_base.tiktoken",
       cl100k_words,
       {{"<|endoftext|>", 100257},
        {"<|fim_prefix|>", 100258},
        {"<|fim_middle|>", 100259},
        {"<|fim_suffix|>", 100260},
        {"<|endofprompt|>", 100276}}},
      {"o200k_base.tiktoken", "gpt-4o", {{"<|endoftext|>", 199999}, {"<|endofprompt|>", 200018}}},
      {"qwen.tiktoken",
       "qwen2",
       {{"<|endoftext|>", 151643}, {"<|im_start|>", 151644}, {"<|im_end|>", 151645}}}};
  return all;
}

// The tokens of the lines "BASE64 RANK".
RankedTokens read_tiktoken(std::string_view text) {
  constexpr TokenId most = 1U << 24U;
  RankedTokens tokens(text.size() / 16, text.size());
  std::size_t number = 0;
  while (!text.empty()) {
    ++number;
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    const std::size_t space = line.find(' ');
    TokenId rank = 0;
    const std::string place = "line " + std::to_string(number);
    if (space == std::string_view::npos || !parse_number(line.substr(space + 1), rank) ||
        rank >= most) {
      throw input_error(translated("expected a token in Base64 and its rank, found {1}",
                                   in_quotes(line.substr(0, 80))),
                        place, translated("use the file as published"));
    }
    tokens.add(line.substr(0, space), rank, place);
  }
  return tokens;
}

// Special tokens of the configuration. Ids behind the ranks that it leaves out are reserved ones,
// as transformers has it.
void add_configured(const TokenizerConfig& config, const TokenTable& ranked,
                    std::map<TokenId, AddedToken>& added) {
  std::map<TokenId, AddedToken> listed;
  TokenizerConfig::Added own = config.added();
  for (std::size_t i = 0; i < own.tokens.size(); ++i) {
    if (own.ids[i]) listed.emplace(*own.ids[i], std::move(own.tokens[i]));
  }
  constexpr TokenId most_reserved = 1U << 16U;
  auto next = static_cast<TokenId>(ranked.size());
  if (!listed.empty() && listed.rbegin()->first >= next &&
      listed.rbegin()->first - next < most_reserved) {
    for (const TokenId last = listed.rbegin()->first; next <= last; ++next) {
      const std::string name = "<|reserved_token_" + std::to_string(next) + "|>";
      added.insert_or_assign(next, special_token(name));
    }
  }
  for (auto& [id, token] : listed) added.insert_or_assign(id, std::move(token));
  for (AddedToken& token : config.special_tokens()) {
    const bool known =
        ranked.find(token.content) || std::ranges::any_of(added, [&](const auto& one) {
          return one.second.content == token.content;
        });
    if (known) continue;
    const TokenId id = added.empty() ? next : std::max(next, added.rbegin()->first + 1);
    added.emplace(id, std::move(token));
  }
}

}  // namespace

bool holds_ranks(std::string_view text) {
  const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size()));
  const std::size_t space = line.find(' ');
  TokenId rank = 0;
  return space != std::string_view::npos && space > 0 && bytes_of_base64(line.substr(0, space)) &&
         parse_number(
             line.substr(space + 1, line.size() - space - 1 - (line.ends_with('\r') ? 1 : 0)),
             rank);
}

TokenizerParts parts_from_tiktoken(const TokenizerFiles& files) {
  const TokenizerConfig config(files);
  const std::string& name = files.sentencepiece_name;
  const auto named = std::ranges::find(named_ranks(), name, &NamedRanks::file);
  const bool is_named = named != named_ranks().end();
  std::string pattern = is_named ? std::string(named->words) : "llama-bpe";
  if (is_one_of(config.class_name(), {"TikTokenTokenizer", "TikTokenV3"})) pattern = "kimi-k2";
  if (pattern.find('\\') == std::string::npos) pattern = words_of_gguf(pattern);
  RankedTokens tokens = in_file(name, [&] { return read_tiktoken(*files.sentencepiece); });
  TokenizerParts parts = in_file(name, [&] { return tokens.parts(pattern, ""); });
  std::map<TokenId, AddedToken> added;
  if (is_named) {
    for (const auto& [token, id] : named->special) added.emplace(id, special_token(token));
  }
  add_configured(config, *parts.tokens, added);
  std::vector<AddedToken> all;
  for (auto& [id, token] : added) {
    token.id = id;
    all.push_back(std::move(token));
  }
  parts.added = {std::move(all), parts.normalizers, tokenizer_config_name};
  put_around(config, "<|begin_of_text|>", false, parts);
  return parts;
}

namespace {

// tekken.json.

struct TekkenEntry {
  std::string bytes, text;  // Base64; of special tokens their text
  TokenId rank = 0;
};

TekkenEntry read_entry(JsonEvents& events) {
  TekkenEntry entry;
  bool ranked = false;
  std::string_view key;
  events.enter();
  while (events.next_member(key)) {
    const bool bytes = key == "token_bytes", text = key == "token_str";
    if ((bytes || text) && events.peek() == JsonValue::Type::string) {
      (bytes ? entry.bytes : entry.text) = events.string();
    } else if (key == "rank") {
      ranked = events.small_integer(entry.rank);
      if (!ranked) break;
    } else {
      events.value();
    }
  }
  if (ranked) return entry;
  throw input_error(translated("a token has no rank"), "", translated("use the file as published"));
}

/// A tekken.json: `vocab`, the tokens by their ranks, behind special tokens, whose number `config`
/// says.
struct Tekken {
  std::string pattern;
  std::optional<std::size_t> size, special_count;
  std::vector<TekkenEntry> tokens, special;
};

// The special tokens of files that list none (mistral-common's Tekkenizer).
constexpr std::array old_special = {"<unk>",
                                    "<s>",
                                    "</s>",
                                    "[INST]",
                                    "[/INST]",
                                    "[AVAILABLE_TOOLS]",
                                    "[/AVAILABLE_TOOLS]",
                                    "[TOOL_RESULTS]",
                                    "[/TOOL_RESULTS]",
                                    "[TOOL_CALLS]",
                                    "[IMG]",
                                    "<pad>",
                                    "[IMG_BREAK]",
                                    "[IMG_END]",
                                    "[PREFIX]",
                                    "[MIDDLE]",
                                    "[SUFFIX]",
                                    "[SYSTEM_PROMPT]",
                                    "[/SYSTEM_PROMPT]",
                                    "[TOOL_CONTENT]"};

Tekken read_tekken(std::string_view text) {
  Tekken file;
  JsonEvents events(text);
  const auto read_list = [&](std::vector<TekkenEntry>& to) {
    events.enter();
    while (events.next_element()) to.push_back(read_entry(events));
  };
  std::string_view key;
  events.enter();
  while (events.next_member(key)) {
    const JsonValue::Type type = events.peek();
    if (key == "vocab" && type == JsonValue::Type::array) {
      read_list(file.tokens);
    } else if (key == "special_tokens" && type == JsonValue::Type::array) {
      read_list(file.special);
    } else if (key == "config" && type == JsonValue::Type::object) {
      const JsonValue config = events.value(std::size_t{1} << 20U);
      const JsonObject own(config, "/config", {.null_is_absent = true});
      file.pattern = own.string("pattern");
      const auto number = [&](const char* name) {
        return own.find(name) == nullptr ? std::nullopt : std::optional(own.count(name));
      };
      file.size = number("default_vocab_size");
      file.special_count = number("default_num_special_tokens");
    } else {
      events.value();
    }
  }
  if (file.pattern.empty() || file.tokens.empty()) {
    throw input_error(translated("the file has no \"vocab\", or no \"pattern\" in its \"config\""),
                      "", translated("use the file as published"));
  }
  if (file.special.empty()) {
    for (std::size_t i = 0; i < old_special.size(); ++i) {
      file.special.push_back({"", old_special[i], static_cast<TokenId>(i)});
    }
  }
  return file;
}

}  // namespace

TokenizerParts parts_from_tekken(const TokenizerFiles& files) {
  constexpr std::size_t most = 1U << 24U, most_special = 1U << 16U;
  const Tekken file = read_tekken(*files.tekken_json);
  const std::size_t special = file.special_count.value_or(file.special.size());
  const std::size_t size = file.size.value_or(special + file.tokens.size());
  if (special > std::min(size, most_special) || size > most || file.special.size() > special) {
    throw input_error(
        translated("{1} special tokens do not fit a vocabulary of {2}", special, size), "/config",
        translated("use the file as published"));
  }
  // 1. The tokens, behind the special ones; those that a smaller vocabulary has not are left out.
  RankedTokens tokens(size, files.tekken_json->size() / 4);
  const std::size_t count = std::min(file.tokens.size(), size - special);
  for (std::size_t i = 0; i < count; ++i) {
    tokens.add(file.tokens[i].bytes, static_cast<TokenId>(special + i), pointer_to("/vocab", i));
  }
  TokenizerParts parts = tokens.parts(file.pattern, "/config/pattern");
  // 2. Special tokens; unnamed ones have their numbers.
  std::vector<AddedToken> all;
  for (TokenId id = 0; id < special; ++id) {
    all.push_back(special_token("<SPECIAL_" + std::to_string(id) + ">"));
    all.back().id = id;
  }
  for (const TekkenEntry& own : file.special) {
    if (own.rank < all.size() && !own.text.empty()) all[own.rank].content = own.text;
  }
  parts.added = {std::move(all), parts.normalizers, "/special_tokens"};
  put_around(TokenizerConfig(files), "<s>", true, parts);
  return parts;
}

}  // namespace attn
