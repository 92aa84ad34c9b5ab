#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "attn/error.hpp"

#include "io/json_events.hpp"
#include "support/in_quotes.hpp"
#include "support/translated.hpp"
#include "tokens/stage.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {
namespace {

const std::string model_at = "/model", vocabulary_at = "/model/vocab", merges_at = "/model/merges";

Error misshapen(const std::string& wanted, const std::string& where) {
  return input_error(translated("expected {1}", wanted), where,
                     translated("take the file as it was published"));
}

// A score as serde_json reads it, which rounds twice: the digits to a double, and that divided by
// a power of ten. Where two ways to cut a word are the same tokens in another order, the last bit
// of the scores decides. None if it is too large.
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

// The large lists of the model are read as they come; everything else becomes values.
struct ModelFile {
  JsonValue options{JsonValue::Object{}};
  std::shared_ptr<TokenTable> tokens = std::make_shared<TokenTable>();
  std::vector<double> scores;  // of Unigram
  bool has_scores = false, has_merges = false;
  MergeList merges;
};

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text), events_(text) {}

  TokenizerParts read() {
    read_file();
    TokenizerParts parts{model_.tokens, read_model(), {}, {}, {}, {}, {}};
    if (const auto normalizer = stage("normalizer")) {
      parts.normalizers = read_normalizer(*normalizer);
    }
    if (const auto splitter = stage("pre_tokenizer")) parts.splitters = read_splitters(*splitter);
    if (const auto decoder = stage("decoder")) parts.written = read_decoder(*decoder);
    parts.added = read_added(parts.normalizers);
    if (const auto processor = stage("post_processor")) {
      parts.around = read_template(*processor, parts.size());
    }
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
                        translated("take the file as it was published"));
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
    auto& options = std::get<JsonValue::Object>(model_.options.data);
    std::string_view name;
    while (events_.next_member(name)) {
      std::string key(name);
      if (model_.options.find(key) != nullptr) {
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
    // So many, roughly, fit into a file of this size.
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
    expect_no_hole(tokens, vocabulary_at);
  }

  // [["<unk>", 0.0], …], in the order of the ids.
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

  // "a b" or ["a", "b"].
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

  // 2. What the values mean.
  std::optional<Stage> stage(const std::string& key) const {
    const auto found = values_.find(key);
    if (found == values_.end() || found->second.is(JsonValue::Type::null)) return std::nullopt;
    return Stage{found->second, pointer_to("", key)};
  }

  // Files of before 2020 do not say what their model is.
  std::string model_type(const Stage& options) const {
    if (const auto type = options.optional_string("type")) return *type;
    if (model_.has_scores) return "Unigram";
    if (model_.has_merges) return "BPE";
    return options.find("max_input_chars_per_word") ? "WordPiece" : "WordLevel";
  }

  Model read_model() const {
    const Stage options{model_.options, model_at};
    options.need("vocab");
    const std::string type = model_type(options);
    const bool unigram = type == "Unigram";
    if (unigram != model_.has_scores &&
        (unigram || type == "BPE" || type == "WordPiece" || type == "WordLevel")) {
      throw misshapen(unigram ? translated("an array of tokens and scores")
                              : translated("an object of tokens and ids"),
                      vocabulary_at);
    }
    const auto expect_keys = [&](std::initializer_list<std::string_view> keys) {
      for (const JsonMember& member : model_.options.members()) {
        if (member.key == "type" || std::find(keys.begin(), keys.end(), member.key) != keys.end()) {
          continue;
        }
        throw input_error(
            translated("the key {1} of {2} is not supported", in_quotes(member.key), type),
            options.at(member.key),
            translated(
                "leaving it out could give other tokens: remove it only if it does not matter"));
      }
    };
    if (unigram) {
      expect_keys({"unk_id", "vocab", "byte_fallback"});
      std::optional<TokenId> unknown;
      if (options.find("unk_id") != nullptr) {
        unknown = static_cast<TokenId>(
            options.integer("unk_id", static_cast<std::int64_t>(model_.tokens->size()) - 1));
      }
      return UnigramModel(model_.tokens, model_.scores, unknown,
                          options.boolean("byte_fallback", false));
    }
    if (type == "BPE") {
      expect_keys({"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                   "fuse_unk", "byte_fallback", "ignore_merges", "vocab", "merges"});
      return read_byte_pair(options);
    }
    if (type == "WordPiece") {
      expect_keys({"unk_token", "continuing_subword_prefix", "max_input_chars_per_word", "vocab"});
      constexpr std::int64_t most = 1'000'000;
      return WordPieceModel{
          model_.tokens, options.string("unk_token"), options.string("continuing_subword_prefix"),
          static_cast<std::size_t>(options.integer("max_input_chars_per_word", most))};
    }
    if (type == "WordLevel") {
      expect_keys({"unk_token", "vocab"});
      return WordLevelModel{model_.tokens, options.string("unk_token")};
    }
    refuse_type(options, translated("the model"), {"BPE", "Unigram", "WordLevel", "WordPiece"});
  }

  BytePairModel read_byte_pair(const Stage& options) const {
    const JsonValue* dropout = options.find("dropout");
    if (dropout != nullptr && !(dropout->is(JsonValue::Type::number) && dropout->number() == 0)) {
      throw input_error(
          translated("merges are dropped at random, which gives other tokens each time"),
          options.at("dropout"), translated("say \"dropout\": null"));
    }
    BytePairModel model;
    model.tokens = model_.tokens;
    if (const auto unknown = options.optional_string("unk_token")) {
      model.unknown = model_.tokens->find(*unknown);
      if (!model.unknown) {
        throw input_error(
            translated("the unknown token {1} is not in the vocabulary", in_quotes(*unknown)),
            options.at("unk_token"), translated("take the file as it was published"));
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

  AddedTokens read_added(const std::vector<Normalizer>& normalizers) const {
    const std::string at = "/added_tokens";
    const auto list = values_.find("added_tokens");
    if (list == values_.end() || list->second.is(JsonValue::Type::null)) return {};
    std::vector<AddedToken> added;
    std::vector<std::optional<TokenId>> stated;
    const JsonValue& all = expect_list(list->second, at);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const JsonValue element = all.element(i);
      const Stage token{element, pointer_to(at, i)};
      AddedToken one;
      one.content = token.string("content");
      if (one.content.empty()) continue;
      constexpr std::int64_t most = 0x7FFFFFFF;
      stated.emplace_back(static_cast<TokenId>(token.integer("id", most)));
      one.single_word = token.boolean("single_word");
      one.strip_left = token.boolean("lstrip");
      one.strip_right = token.boolean("rstrip");
      one.normalized = token.boolean("normalized");
      one.special = token.boolean("special");
      one.place = token.where;
      added.push_back(std::move(one));
    }
    number_added_tokens(added, *model_.tokens, stated);
    return {std::move(added), normalizers, at};
  }

  std::string_view text_;
  JsonEvents events_;
  std::map<std::string, JsonValue> values_;
  ModelFile model_;
};

}  // namespace

TokenizerParts read_tokenizer_json(std::string_view text) {
  return Reader(text).read();
}

}  // namespace attn
