#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "attn/error.hpp"

#include "io/json_events.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tokens/tokenizer_config.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {
namespace {

const std::string model_at = "/model", vocabulary_at = "/model/vocab", merges_at = "/model/merges";

Error misshapen(const std::string& wanted, const std::string& where) {
  return input_error(translated("expected {1}", wanted), where,
                     translated("use the file as published"));
}

// A score as serde_json reads it, rounded twice: the digits to a double, and the double divided by
// a power of ten. If two ways to cut a word are the same tokens in another order, the last bit of
// the scores decides. None if it is too large.
std::optional<double> score_of(std::string_view written) {
  const bool negative = written.starts_with('-');
  if (negative) written.remove_prefix(1);
  std::uint64_t digits = 0;
  std::int64_t exponent = 0;
  bool fraction = false, full = false;
  std::size_t i = 0;
  for (; i < written.size() && written[i] != 'e' && written[i] != 'E'; ++i) {
    if (written[i] == '.') {
      fraction = true;
      continue;
    }
    const auto digit = static_cast<std::uint64_t>(written[i] - '0');
    constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
    full = full || digits > most / 10 || (digits == most / 10 && digit > most % 10);
    if (!full) digits = digits * 10 + digit;
    exponent += full ? (fraction ? 0 : 1) : (fraction ? -1 : 0);
  }
  if (i < written.size()) {
    std::int64_t given = 0;
    const bool plus = written[i + 1] == '+';
    const auto [end, error] = std::from_chars(written.data() + i + 1 + (plus ? 1 : 0),
                                              written.data() + written.size(), given);
    constexpr std::int64_t farthest = 1'000'000;
    exponent += error == std::errc() ? std::clamp(given, -farthest, farthest)
                                     : (written[i + 1] == '-' ? -farthest : farthest);
  }
  auto score = static_cast<double>(digits);
  constexpr int largest = 308;
  while (exponent < -largest && score != 0) {
    score /= 1e308;
    exponent += largest;
  }
  if (score != 0 && exponent > largest) return std::nullopt;
  // Powers of ten are correctly rounded.
  const auto power = [](std::int64_t ten) {
    return std::strtod(("1e" + std::to_string(ten)).c_str(), nullptr);
  };
  if (score != 0) score = exponent >= 0 ? score * power(exponent) : score / power(-exponent);
  if (std::isinf(score)) return std::nullopt;
  return negative ? -score : score;
}

// The model of a file: its large lists, read as they come, and its other keys as values.
struct ModelFile {
  JsonValue options{JsonValue::Object{}};
  std::shared_ptr<TokenTable> tokens = std::make_shared<TokenTable>();
  std::vector<double> scores;  // of Unigram, by id
  bool has_scores = false, has_merges = false;
  MergeList merges;
};

class Reader {
 public:
  Reader(std::string_view text, TokenizerChanges& changes)
      : text_(text), events_(text), changes_(changes) {}

  TokenizerParts read() {
    read_file();
    values_["normalizer"] = changes_.normalizer(values_["normalizer"]);
    values_["pre_tokenizer"] = changes_.splitter(values_["pre_tokenizer"]);
    TokenizerParts parts{model_.tokens, read_model()};
    if (const auto normalizer = stage("normalizer")) {
      parts.normalizers = read_normalizer(*normalizer);
    }
    if (const auto splitter = stage("pre_tokenizer")) parts.splitters = read_splitters(*splitter);
    if (const auto decoder = stage("decoder")) parts.written = read_decoder(*decoder);
    parts.added = read_added(parts.normalizers);
    if (const auto processor = stage("post_processor")) {
      parts.around = read_template(*processor, parts.size());
    }
    parts.splits_special = changes_.splits_special();
    changes_.compare(parts);
    parts.warnings = changes_.warnings();
    return parts;
  }

 private:
  // 1. The file's keys, as they come.
  void read_file() {
    if (events_.peek() != JsonValue::Type::object) throw misshapen(translated("an object"), "");
    events_.enter();
    std::string_view name;
    while (events_.next_member(name)) {
      const std::string key(name);
      if (values_.contains(key)) {
        throw input_error(translated("the key {1} is given twice", in_quotes(key)),
                          pointer_to("", key), translated("remove one of the two"));
      }
      if (key == "model") {
        values_[key];
        read_model_file();
      } else {
        values_[key] = events_.value();
      }
    }
    events_.expect_end();
    if (!values_.contains("model")) {
      throw input_error(translated("there is no model"), model_at,
                        translated("use the file as published"));
    }
    for (const auto& [key, value] : values_) {
      constexpr std::array<std::string_view, 9> known = {
          "version",       "truncation",     "padding", "added_tokens", "normalizer",
          "pre_tokenizer", "post_processor", "decoder", "model"};
      if (std::find(known.begin(), known.end(), key) == known.end()) {
        throw input_error(
            translated("the key {1} is not supported", in_quotes(key)), pointer_to("", key),
            translated(
                "leaving it out could give other tokens: remove it only if it does not matter"));
      }
    }
    const JsonValue version = values_["version"];
    if (version.is(JsonValue::Type::string) && version.string() != "1.0") {
      throw input_error(translated("version {1} is not supported", in_quotes(version.string())),
                        "/version", translated("give a file of version 1.0"));
    }
  }

  void read_model_file() {
    if (events_.peek() != JsonValue::Type::object)
      throw misshapen(translated("an object"), model_at);
    events_.enter();
    auto& options = *std::get<JsonValue::Object>(model_.options.data);
    std::set<std::string, std::less<>> known;
    std::string_view name;
    while (events_.next_member(name)) {
      std::string key(name);
      if (!known.insert(key).second) {
        throw input_error(translated("the key {1} is given twice", in_quotes(key)),
                          pointer_to(model_at, key), translated("remove one of the two"));
      }
      JsonValue value;
      if (key == "vocab") {
        read_vocabulary();
      } else if (key == "merges" && events_.peek() == JsonValue::Type::array) {
        read_merges();
      } else {
        value = events_.value();
      }
      options.push_back({std::move(key), std::move(value)});
    }
  }

  void read_vocabulary() {
    TokenTable& tokens = *model_.tokens;
    // Rough sizes of the vocabulary in a file of this size.
    tokens.reserve(text_.size() / 64, text_.size() / 4);
    const JsonValue::Type type = events_.peek();
    if (type == JsonValue::Type::array) {
      model_.has_scores = true;
      read_scored();
    } else if (type == JsonValue::Type::object) {
      read_token_ids(events_, tokens, vocabulary_at, text_.size());
    } else {
      throw misshapen(translated("an object of tokens and ids"), vocabulary_at);
    }
    expect_tokens(tokens, vocabulary_at);
  }

  // Reads [["<unk>", 0.0], …] in the order of the ids.
  void read_scored() {
    events_.enter();
    for (TokenId id = 0; events_.next_element(); ++id) {
      const std::string where = pointer_to(vocabulary_at, id);
      const auto expect = [&](bool holds) {
        if (!holds) throw misshapen(translated("a token and its score"), where);
      };
      expect(events_.peek() == JsonValue::Type::array);
      events_.enter();
      expect(events_.next_element() && events_.peek() == JsonValue::Type::string);
      add_token(*model_.tokens, events_.string(), id, vocabulary_at);
      expect(events_.next_element() && events_.peek() == JsonValue::Type::number);
      const auto score = score_of(events_.number());
      if (!score) throw misshapen(translated("a score within the range of a double"), where);
      model_.scores.push_back(*score);
      expect(!events_.next_element());
    }
  }

  // Reads merges "a b" or ["a", "b"].
  void read_merges() {
    model_.has_merges = true;
    events_.enter();
    for (std::size_t i = 0; events_.next_element(); ++i) {
      const auto refuse = [&] {
        throw misshapen(translated("two tokens"), pointer_to(merges_at, i));
      };
      if (events_.peek() == JsonValue::Type::string) {
        const std::string_view both = events_.string();
        if (both.starts_with("#version")) continue;
        if (!model_.merges.add_line(both)) refuse();
        continue;
      }
      if (events_.peek() != JsonValue::Type::array) refuse();
      events_.enter();
      if (!events_.next_element() || events_.peek() != JsonValue::Type::string) refuse();
      const std::string left(events_.string());
      if (!events_.next_element() || events_.peek() != JsonValue::Type::string) refuse();
      model_.merges.add(left, events_.string());
      if (events_.next_element()) refuse();
    }
  }

  // 2. The meaning of the values.
  std::optional<Stage> stage(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end() || found->second.is(JsonValue::Type::null)) return std::nullopt;
    return Stage(found->second, pointer_to("", key));
  }

  // The type of the model, which files from before 2020 do not state.
  std::string model_type(const Stage& options) const {
    if (const auto type = options.optional_string("type")) return *type;
    if (model_.has_scores) return "Unigram";
    if (model_.has_merges) return "BPE";
    return options.find("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
  }

  Model read_model() const {
    const std::vector<StageType<Model>> types = {
        {"BPE",
         Names{"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
               "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"},
         [&](const Stage& options) { return read_byte_pair(options); }},
        {"Unigram", Names{"unk_id", "vocab", "byte_fallback"},
         [&](const Stage& options) { return read_unigram(options); }},
        {"WordLevel", Names{"unk_token", "vocab"},
         [&](const Stage& options) {
           return WordLevelModel{model_.tokens, options.string("unk_token")};
         }},
        {"WordPiece",
         Names{"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"},
         [&](const Stage& options) { return read_word_piece(options); }}};
    const Stage options(model_.options, model_at);
    options.member("vocab");
    const std::string type = model_type(options);
    const auto row = std::find_if(types.begin(), types.end(), [&](const StageType<Model>& known) {
      return known.name == type;
    });
    if (row == types.end()) {
      refuse_type(options, translated("the model"), {"BPE", "Unigram", "WordLevel", "WordPiece"});
    }
    const bool unigram = type == "Unigram";
    if (unigram != model_.has_scores) {
      throw misshapen(unigram ? translated("an array of tokens and scores")
                              : translated("an object of tokens and ids"),
                      vocabulary_at);
    }
    options.expect_keys(*row->keys, type);
    return row->read(options);
  }

  UnigramModel read_unigram(const Stage& options) const {
    std::optional<TokenId> unknown;
    if (options.find("unk_id") != nullptr) {
      unknown = static_cast<TokenId>(
          options.integer("unk_id", static_cast<std::int64_t>(model_.tokens->size()) - 1));
    }
    return {model_.tokens, model_.scores, unknown, options.boolean("byte_fallback", false)};
  }

  WordPieceModel read_word_piece(const Stage& options) const {
    constexpr std::int64_t most = 1'000'000;
    return {model_.tokens, options.string("unk_token"), options.string("continuing_subword_prefix"),
            static_cast<std::size_t>(options.integer("max_input_chars_per_word", most))};
  }

  BytePairModel read_byte_pair(const Stage& options) const {
    const JsonValue* dropout = options.find("dropout");
    if (dropout != nullptr && !(dropout->is(JsonValue::Type::number) && dropout->number() == 0)) {
      throw input_error(
          translated("merges are dropped at random, which gives other tokens each time"),
          options.place("dropout"), translated("write \"dropout\": null"));
    }
    BytePairModel model;
    model.tokens = model_.tokens;
    if (const auto unknown = options.optional_string("unk_token")) {
      model.unknown = model_.tokens->find(*unknown);
      if (!model.unknown) {
        throw input_error(
            translated("the unknown token {1} is not in the vocabulary", in_quotes(*unknown)),
            options.place("unk_token"), translated("use the file as published"));
      }
    }
    model.fuse_unknown = options.boolean("fuse_unk", false);
    model.byte_fallback = options.boolean("byte_fallback", false);
    model.ignore_merges = options.boolean("ignore_merges", false);
    model.continuing_prefix = options.optional_string("continuing_subword_prefix").value_or("");
    model.end_suffix = options.optional_string("end_of_word_suffix").value_or("");
    model.bytes = byte_tokens(*model.tokens);
    if (!model_.has_merges) throw misshapen(translated("an array of merges"), merges_at);
    model.merges = model_.merges.table(*model.tokens, model.continuing_prefix,
                                       [](std::size_t i) { return pointer_to(merges_at, i); });
    return model;
  }

  AddedTokens read_added(const std::vector<Normalizer>& normalizers) {
    const std::string at = "/added_tokens";
    const auto list = values_.find("added_tokens");
    std::vector<AddedToken> added;
    std::vector<std::optional<TokenId>> stated;
    if (list != values_.end() && !list->second.is(JsonValue::Type::null)) {
      const JsonValue& all = expect_array(
          list->second, at, translated("use the file as published, or write it again"));
      for (std::size_t i = 0; i < all.size(); ++i) {
        const Stage entry(all.element(i), pointer_to(at, i));
        AddedToken token = read_added_token(entry, true);
        if (token.content.empty()) continue;
        token.place = entry.place();
        constexpr std::int64_t most = 0x7FFFFFFF;
        stated.emplace_back(static_cast<TokenId>(entry.integer("id", most)));
        added.push_back(std::move(token));
      }
    }
    changes_.change(added, stated, *model_.tokens);
    stated.resize(added.size());
    number_added_tokens(added, *model_.tokens, stated);
    return {std::move(added), normalizers, at};
  }

  std::string_view text_;
  JsonEvents events_;
  TokenizerChanges& changes_;
  std::map<std::string, JsonValue> values_;
  ModelFile model_;
};

}  // namespace

TokenizerParts read_tokenizer_json(std::string_view text, TokenizerChanges changes) {
  return Reader(text, changes).read();
}

}  // namespace attn
