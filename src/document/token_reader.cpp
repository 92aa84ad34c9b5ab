#include "document/token_reader.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "attn/error.hpp"

#include "document/fields.hpp"
#include "io/number_array.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

const std::string embedding_at = "/embedding", tokenizer_at = "/tokenizer";
constexpr std::array<std::string_view, 3> ways{"tokens", "token_ids", "text"};

constexpr std::array<Field, 1> vocabulary_fields{{{"file", R"("type": "string")", true}}};
constexpr std::array<Field, 2> tokenizer_fields{
    {{"wordpiece", R"("type": "string")", true}, {"lowercase", R"("type": "boolean")"}}};
std::string vocabulary_schema() {
  return R"("oneOf": [{"type": "array", "minItems": 1, "items": {"type": "string"}}, {)" +
         object_schema(vocabulary_fields) + "}]";
}
constexpr std::array<Field, 8> embedding_fields{{
    {"vocabulary", vocabulary_schema},
    {"table", R"("$ref": "#/$defs/tensor")"},
    {"dimension", R"("type": "integer", "minimum": 1)"},
    {"init", R"("const": "torch")"},
    {"pad", R"("$ref": "#/$defs/special")"},
    {"unknown", R"("$ref": "#/$defs/special")"},
    {"position", R"("enum": ["sinusoidal", "none"])"},
    {"recover", R"("type": "boolean")"},
}};

constexpr auto token_schemas = std::to_array<SchemaDefinition>({
    {"names",
     R"("oneOf": [{"type": "array", "minItems": 1, "items": {"type": "string"}},
        {"type": "array", "minItems": 1, "items": {"type": "array", "minItems": 1, "items": {"type": "string"}}}])"},
    {"ids",
     R"("oneOf": [{"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}},
        {"type": "array", "minItems": 1,
         "items": {"type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 0}}}])"},
    {"texts",
     R"("oneOf": [{"type": "string"}, {"type": "array", "minItems": 1, "items": {"type": "string"}}])"},
    {"model_texts",
     R"("oneOf": [{"type": "string"},
        {"type": "array", "minItems": 1,
         "items": {"oneOf": [{"type": "string"},
                             {"type": "array", "minItems": 2, "maxItems": 2, "items": {"type": "string"}}]}}])"},
    {"special", R"("oneOf": [{"type": "string"}, {"type": "integer", "minimum": 0}])"},
    {"embedding", +[] { return object_schema(embedding_fields); }},
    {"tokenizer", +[] { return object_schema(tokenizer_fields); }},
});

const JsonValue& expect_filled_array(const JsonValue& value, const std::string& pointer,
                                     const std::string& expected) {
  if (value.is(JsonValue::Type::array) && value.size() > 0) return value;
  throw input_error(translated("expected {1}, found {2}", expected,
                               value.is(JsonValue::Type::array) ? translated("an empty array")
                                                                : translated(type_text(value))),
                    pointer, translated("give {1}", expected));
}

std::vector<std::string> strings_of(const JsonValue& list, const std::string& pointer) {
  std::vector<std::string> strings;
  for (std::size_t i = 0; i < list.size(); ++i) {
    strings.push_back(expect_string(list.element(i), pointer_to(pointer, i)));
  }
  return strings;
}

Vocabulary read_vocabulary(const JsonValue& value, TensorSource& tensors,
                           const std::string& pointer) {
  if (value.is(JsonValue::Type::object)) {
    expect_known_members(value, known_keys(vocabulary_fields), pointer);
    const JsonValue* name = value.find("file");
    if (!name)
      throw input_error(translated("the vocabulary names no file"), pointer,
                        translated("give a list of tokens or {\"file\": …}"));
    const std::string& file = expect_string(*name, pointer_to(pointer, "file"));
    try {
      return Vocabulary::from_text(tensors.bytes(file)->text(), tensors.path(file).string());
    } catch (const Error& error) {
      throw error.inside(pointer_to(pointer, "file"));
    }
  }
  if (value.is(JsonValue::Type::string) && value.string().find('.') != std::string::npos) {
    throw input_error(translated("expected {1}, found {2}", translated("a list of tokens"),
                                 translated(type_text(value))),
                      pointer,
                      translated("write {1}", "{\"file\": " + in_quotes(value.string()) + "}"));
  }
  expect_filled_array(value, pointer, translated("a list of tokens"));
  return Vocabulary::from_list(strings_of(value, pointer), pointer);
}

Tensor without_batch(const Tensor& tensor, bool bare) {
  if (!bare || !tensor) return tensor;
  return tensor.reshaped({tensor.shape().begin() + 1, tensor.shape().end()});
}

// The error without the index of the row, for a bare sequence, which is read as the only row of a
// batch: "/tokens/0/3" becomes "/tokens/3".
Error without_row(const Error& error, const std::string& pointer) {
  const std::string row = pointer + "/0";
  if (!error.where().starts_with(row + "/")) return error;
  return {error.kind(), error.problem(), pointer + error.where().substr(row.size()), error.help()};
}

// Reads the rows of a batch, or one bare sequence.
template <class Read>
auto read_each(const JsonValue& value, const std::string& pointer, bool bare,
               const std::string& sequence, Read&& read) {
  std::vector<decltype(read(value, pointer))> rows;
  if (bare) {
    rows.push_back(read(value, pointer));
    return rows;
  }
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(pointer, i);
    const JsonValue& row = value.element(i);
    rows.push_back(read(expect_filled_array(row, at, sequence), at));
  }
  return rows;
}

std::vector<std::int64_t> ids_of(const JsonValue& list, const std::string& pointer) {
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < list.size(); ++i)
    ids.push_back(expect_integer(list.element(i), pointer_to(pointer, i), 0));
  return ids;
}

// Whether a token has a name that stands for padding: "<pad>", "[PAD]", "<|pad|>".
bool is_named_padding(const std::string& name) {
  std::string letters;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) != 0)
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters == "pad" && name.size() > letters.size();
}

// "token_ids" of "/tokens", "memory_token_ids" of "/memory_tokens".
std::string key_of_ids(const std::string& place) {
  return place.substr(1, place.size() - 2) + "_ids";
}

// The words of a text as a list of strings, `["the", "cat"]`.
std::string list_of_words(const std::string& text) {
  std::string list;
  constexpr std::string_view space = " \t\r\n";
  for (std::size_t at = text.find_first_not_of(space); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(space, at), text.size());
    list += (list.empty() ? "" : ", ") + in_quotes(text.substr(at, end - at));
    at = text.find_first_not_of(space, end);
  }
  return "[" + list + "]";
}

// Longest text whose words an error repeats as a list.
constexpr std::size_t longest_text = 200;

bool has_several_words(const JsonValue& token) {
  if (!token.is(JsonValue::Type::string) || token.string().size() > longest_text) return false;
  const std::string& text = token.string();
  const std::size_t blank = text.find(' ', text.find_first_not_of(' '));
  return text.find_first_not_of(' ', blank) != std::string::npos;
}

/// Token of several words, "the cat sat", that a vocabulary lacks.
struct SeveralWords {
  std::string token, at, written;  // `written`: what to write in its place
};

// The first one among sequences of tokens; absent if there is none.
std::optional<SeveralWords> several_words(const JsonValue& tokens, const Vocabulary& vocabulary,
                                          const std::string& pointer) {
  bool all = tokens.size() > 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) all = all && has_several_words(tokens.element(i));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const JsonValue& token = tokens.element(i);
    const std::string at = pointer_to(pointer, i);
    if (token.is(JsonValue::Type::array)) {
      if (auto found = several_words(token, vocabulary, at)) return found;
    } else if (has_several_words(token) && !vocabulary.find(token.string())) {
      const std::string list = list_of_words(token.string());
      // Each is a sequence if no string is a word.
      return SeveralWords{token.string(), at, all ? list : list.substr(1, list.size() - 2)};
    }
  }
  return std::nullopt;
}

bool same_tokens(const Vocabulary& a, const Vocabulary& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const auto id = static_cast<std::int64_t>(i);
    if (a.token(id) != b.token(id)) return false;
  }
  return true;
}

std::string at(const char* key) {
  return pointer_to(embedding_at, key);
}

}  // namespace

void check_sample_count(std::size_t samples, const std::string& place) {
  constexpr std::size_t most_samples = 200'000;
  if (samples <= most_samples) return;
  throw input_error(
      translated("{1} samples in one document, and at most {2} are read", samples, most_samples),
      place, translated("give fewer, in several documents of a batch"));
}

bool has_rows(const JsonValue& value) {
  if (!value.is(JsonValue::Type::array)) return false;
  if (const NumberBlock* block = value.block()) return block->shape().size() > 1;
  return value.size() > 0 && value.element(0).is(JsonValue::Type::array);
}

std::vector<std::vector<std::int64_t>> rows_of(const Tensor& numbers) {
  const auto all = numbers.values<std::int64_t>();
  const std::size_t length = numbers.shape().back();
  std::vector<std::vector<std::int64_t>> rows;
  rows.reserve(all.size() / length);
  for (std::size_t i = 0; i < all.size(); i += length) {
    const auto row = all.subspan(i, length);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::vector<std::vector<std::int64_t>> read_ids(const JsonValue& value, const std::string& at) {
  using Ids = std::vector<std::int64_t>;
  check_sample_count(has_rows(value) ? value.size() : 1, at);
  if (const Tensor all = whole_numbers(value, 0, at)) return rows_of(all);
  const auto refuse = [](const JsonValue& found, const std::string& where) {
    throw input_error(translated("expected a list of ids, found {1}",
                                 found.is(JsonValue::Type::array) ? translated("an empty array")
                                                                  : translated(type_text(found))),
                      where, translated("give a list of whole numbers, or one list per sample"));
  };
  if (!value.is(JsonValue::Type::array) || value.size() == 0) refuse(value, at);
  const auto list = [&](const JsonValue& row, const std::string& where) {
    if (!row.is(JsonValue::Type::array) || row.size() == 0) refuse(row, where);
    Ids ids;
    for (std::size_t i = 0; i < row.size(); ++i) {
      ids.push_back(expect_integer(row.element(i), pointer_to(where, i), 0));
    }
    return ids;
  };
  if (!has_rows(value)) return {list(value, at)};
  std::vector<Ids> rows;
  for (std::size_t b = 0; b < value.size(); ++b) {
    rows.push_back(list(value.element(b), pointer_to(at, b)));
  }
  return rows;
}

std::span<const SchemaDefinition> token_definitions() noexcept {
  return token_schemas;
}

std::string TokenReader::key(const JsonValue& root, const std::string& prefix) {
  for (const std::string_view way : ways) {
    if (root.find(prefix + std::string(way))) return prefix + std::string(way);
  }
  return "";
}

TokenReader::TokenReader(const JsonValue& root, DType dtype, TensorSource& tensors) {
  if (const JsonValue* tokenizer = root.find("tokenizer")) read_tokenizer(*tokenizer, tensors);
  const JsonValue* embedding = root.find("embedding");
  const bool named = root.find("query") || root.find("x") || root.find("scores");
  if (!embedding && named && root.find("tokens")) {
    throw input_error(
        translated("tokens take the place of hidden states, and these are given"), "/tokens",
        translated("write \"labels\": {\"query\": […], \"key\": […]} if they name the tokens"));
  }
  if (!embedding) {
    const bool text = !tokenizer_ && (root.find("text") || root.find("memory_text"));
    throw input_error(
        translated("tokens need an embedding to become hidden states"), embedding_at,
        text ? translated("add \"tokenizer\": {\"wordpiece\": \"vocab.txt\"}, \"embedding\": "
                          "{\"dimension\": 8, \"init\": \"torch\"} and \"seed\": 1; without a "
                          "vocabulary file write \"tokens\": [\"the\", \"cat\"] in place of the "
                          "text, with \"vocabulary\": [\"the\", \"cat\"] in \"embedding\"")
             : translated("add \"embedding\": {1} and \"seed\": 1; learned rows are a \"table\" in "
                          "place of \"dimension\" and \"init\"",
                          tokenizer_ ? R"({"dimension": 8, "init": "torch"})"
                                     : R"({"vocabulary": […], "dimension": 8, "init": "torch"})"));
  }
  // Without one the embedding would be asked for a vocabulary, which a text has no use for.
  if (!tokenizer_ && (root.find("text") || root.find("memory_text")))
    throw input_error(translated("text needs a tokenizer"), tokenizer_at,
                      translated("add \"tokenizer\": {\"wordpiece\": \"vocab.txt\"}"));
  read_embedding(*embedding, dtype, tensors);
}

void TokenReader::read_tokenizer(const JsonValue& tokenizer, TensorSource& tensors) {
  expect_object(tokenizer, tokenizer_at, translated("write {1}", R"({"wordpiece": "vocab.txt"})"));
  expect_known_members(tokenizer, known_keys(tokenizer_fields), tokenizer_at);
  const JsonValue* file = tokenizer.find("wordpiece");
  const std::string file_at = pointer_to(tokenizer_at, "wordpiece");
  if (!file)
    throw input_error(translated("the tokenizer has no vocabulary"), file_at,
                      translated("give \"wordpiece\", the name of a vocab.txt"));
  const JsonValue* lowercase = tokenizer.find("lowercase");
  const bool lower =
      !lowercase || expect_boolean(*lowercase, pointer_to(tokenizer_at, "lowercase"));
  const std::string& name = expect_string(*file, file_at);
  const std::string place = tensors.path(name).string();
  try {
    vocabulary_ = Vocabulary::from_text(tensors.bytes(name)->text(), place);
    tokenizer_ = Tokenizer::wordpiece(*vocabulary_, lower, place);
  } catch (const Error& error) {
    throw error.inside(file_at);
  }
}

void TokenReader::read_embedding(const JsonValue& embedding, DType dtype, TensorSource& tensors) {
  expect_object(embedding, embedding_at,
                translated("write {1}", R"({"vocabulary": […], "dimension": 8, "init": "torch"})"));
  expect_known_members(embedding, known_keys(embedding_fields), embedding_at);
  if (const JsonValue* given = embedding.find("vocabulary")) {
    Vocabulary own = read_vocabulary(*given, tensors, at("vocabulary"));
    if (tokenizer_ && !same_tokens(own, *vocabulary_)) {
      throw input_error(translated("the vocabulary is not that of the tokenizer"), at("vocabulary"),
                        translated("leave it out: the tokenizer brings its own"));
    }
    vocabulary_ = std::move(own);
  }
  read_table(embedding, dtype, tensors);
  pad_ = read_special(embedding, "pad");
  unknown_ = read_special(embedding, "unknown");
  if (tokenizer_ && !pad_) pad_ = vocabulary_->find("[PAD]");
  if (const JsonValue* position = embedding.find("position")) {
    constexpr std::array<std::string_view, 2> positions{"sinusoidal", "none"};
    const std::string& name =
        expect_string(*position, at("position"), translated("write {1}", "\"sinusoidal\""));
    if (name != positions[0] && name != positions[1]) {
      throw input_error(translated("unknown position \"{1}\"", name), at("position"),
                        suggestion(name, positions));
    }
    positions_ = name == positions[0];
  }
  if (const JsonValue* recover = embedding.find("recover"))
    recover_ = expect_boolean(*recover, at("recover"));
}

// Reads or draws the table. It is the first random tensor of a document.
void TokenReader::read_table(const JsonValue& embedding, DType dtype, TensorSource& tensors) {
  const std::optional<std::size_t> tokens =
      vocabulary_ ? std::optional(vocabulary_->size()) : std::nullopt;
  const JsonValue *table = embedding.find("table"), *init = embedding.find("init");
  const JsonValue* dimension = embedding.find("dimension");
  const auto width = [&] {
    return static_cast<std::size_t>(expect_integer(*dimension, at("dimension"), 1));
  };
  if (table && init)
    throw input_error(translated("a table cannot be both given and drawn"), embedding_at,
                      translated("leave out \"table\" or \"init\""));
  if (table) {
    const Tensor given = tensors.read(*table, dtype, at("table"));
    check_embedding_table(given, tokens, at("table"));
    if (dimension && width() != given.shape()[1]) {
      throw input_error(
          translated("the dimension is not that of the table {1}", text(given.shape())),
          at("dimension"), translated("leave it out: it follows from the table's second axis"));
    }
    table_ = given.converted(DType::float64);
    return;
  }
  if (!init) {
    throw input_error(translated("the embedding has no table"), embedding_at,
                      translated("give \"table\" [V,E], or \"dimension\" and \"init\": \"torch\""));
  }
  constexpr std::array<std::string_view, 1> inits{"torch"};
  const std::string& way = expect_string(*init, at("init"));
  if (way != inits[0])
    throw input_error(translated("unknown initialization \"{1}\"", way), at("init"),
                      suggestion(way, inits));
  if (!dimension) {
    throw input_error(translated("the embedding has no dimension"), at("dimension"),
                      translated("give \"dimension\", the width of its rows"));
  }
  if (!tokens) {
    throw input_error(translated("the embedding has no vocabulary"), at("vocabulary"),
                      translated("give \"vocabulary\", a list of tokens or {\"file\": …}: it "
                                 "determines how many rows to draw"));
  }
  tensors.check_elements(static_cast<double>(*tokens) * static_cast<double>(width()),
                         translated("the embedding table"), at("dimension"));
  TorchRandom& random = tensors.generator(at("init"), translated("the initialization"));
  table_ = tensors.drawn({*tokens, width()}, DType::float64, at("dimension"), [&] {
    return torch_embedding_table(random, *tokens, width(), at("dimension"))
        .converted(DType::float64);
  });
}

// A token by its name, or by its id, which needs no vocabulary.
std::optional<std::int64_t> TokenReader::read_special(const JsonValue& embedding,
                                                      const char* key) const {
  const JsonValue* value = embedding.find(key);
  if (!value) return std::nullopt;
  if (!value->is(JsonValue::Type::number)) {
    const std::string& name = expect_string(*value, at(key));
    if (!vocabulary_)
      throw input_error(translated("there is no vocabulary to find \"{1}\" in", name), at(key),
                        translated("give its id, or a \"vocabulary\""));
    return vocabulary_->id(name, at(key), translated("else add it to the vocabulary"));
  }
  const std::int64_t id = expect_integer(*value, at(key), 0);
  const std::size_t rows = table_.shape()[0];
  if (static_cast<std::size_t>(id) >= rows) {
    throw input_error(translated("the table {1} has no row {2}", text(table_.shape()), id), at(key),
                      translated("give an id from 0 to {1}", rows - 1));
  }
  return id;
}

TokenRows TokenReader::read_rows(const JsonValue& value, const std::string& way, bool bare,
                                 const std::string& where) const {
  if (way == "tokens") {
    const JsonValue* first = &value;
    while (first->is(JsonValue::Type::array) && first->size() > 0) first = &first->element(0);
    if (first->is(JsonValue::Type::number)) {
      throw input_error(translated("tokens are words, and these are numbers"), where,
                        translated("write {1}", in_quotes(key_of_ids(where))));
    }
    if (!vocabulary_)
      throw input_error(translated("tokens need a vocabulary"), at("vocabulary"),
                        translated("give a list of tokens or {\"file\": …}"));
    if (const auto several = several_words(value, *vocabulary_, where); several && !unknown_)
      throw input_error(translated("token {1} is not in the vocabulary", in_quotes(several->token)),
                        several->at, translated("write {1}", several->written));
    const auto words =
        read_each(value, where, bare, translated("a sequence of tokens"), strings_of);
    return token_rows(words, *vocabulary_, unknown_, where);
  }
  if (way == "token_ids") {
    if (const Tensor all = whole_numbers(value, 0, where)) return rows_of(all);
    return read_each(value, where, bare, translated("a sequence of token ids"), ids_of);
  }
  const auto ids_of_text = [&](const std::string& text, const std::string& text_at) {
    std::vector<std::int64_t> ids;
    for (const TextToken& token : tokenizer_->encode(text, std::nullopt, true, text_at)) {
      ids.push_back(token.id);
    }
    return ids;
  };
  if (bare) return {ids_of_text(value.string(), where)};
  TokenRows rows;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string row_at = pointer_to(where, i);
    rows.push_back(ids_of_text(expect_string(value.element(i), row_at), row_at));
  }
  return rows;
}

// A warning of sequences that end with padding, which nothing hides: only what is put behind
// shorter sequences is hidden. Empty if there are none, or the document's mask has a part that may
// hide it.
std::string TokenReader::padding_doubt(const JsonValue& root, const std::string& prefix,
                                       const TokenRows& rows) const {
  for (const char* key : {"attention_mask", "mask", "valid_lens"}) {
    const JsonValue* const given = root.find(prefix + key);
    if (given == nullptr && !prefix.empty() && root.find(key) != nullptr) return "";
    if (given == nullptr) continue;
    const JsonValue* const causal = given->find("causal");
    if (causal == nullptr || given->members().size() > 1) return "";
  }
  for (const TokenRows::value_type& row : rows) {
    if (row.empty()) continue;
    const std::int64_t last = row.back();
    const bool known = vocabulary_ && static_cast<std::size_t>(last) < vocabulary_->size();
    const std::string shown = known ? vocabulary_->token(last) : std::to_string(last);
    const std::string leave = translated(
        "leave it out at the ends of sequences: shorter ones are padded, and that padding is "
        "hidden");
    if (pad_ == last) {
      return translated("{1} ends a sequence with the pad token \"{2}\", which is seen there: {3}",
                        key(root, prefix), shown, leave);
    }
    if (!pad_ && known && is_named_padding(shown)) {
      return translated(
          "{1} ends a sequence with \"{2}\", which is seen as any other token: write \"pad\": {3} "
          "in "
          "the embedding, and {4}",
          key(root, prefix), shown, in_quotes(shown), leave);
    }
  }
  return "";
}

namespace {

// Throws Error(input) where a sequence is given in another way too than by the member `name`.
void check_one_way(const JsonValue& root, const std::string& prefix, const std::string& name) {
  for (const std::string_view other_way : ways) {
    const std::string other = prefix + std::string(other_way);
    if (other != name && root.find(other))
      throw input_error(translated("a sequence cannot be both \"{1}\" and \"{2}\"", name, other),
                        pointer_to("", other), translated("give one of them"));
  }
}

// Whether the value is one bare sequence, without a batch axis. Throws Error(input) for what holds
// no sequences.
bool is_bare(const JsonValue& value, std::string_view way, const std::string& where) {
  const bool is_text = way == "text", of_tokens = way == "tokens";
  if (is_text && value.is(JsonValue::Type::string)) return true;
  if (of_tokens && value.is(JsonValue::Type::string) && value.string().size() <= longest_text) {
    throw input_error(translated("expected {1}, found {2}", translated("sequences of tokens"),
                                 translated(type_text(value))),
                      where, translated("write {1}", list_of_words(value.string())));
  }
  expect_filled_array(value, where,
                      is_text     ? translated("a text or a list of texts")
                      : of_tokens ? translated("sequences of tokens")
                                  : translated("sequences of token ids"));
  const auto first_is = [&](JsonValue::Type type) { return value.element(0).is(type); };
  const NumberBlock* block = value.block();
  const bool numbers = block != nullptr && !block->has_words();
  const bool bare = !is_text && !has_rows(value) &&
                    (of_tokens ? !numbers && first_is(JsonValue::Type::string)
                               : numbers || first_is(JsonValue::Type::number));
  if (!bare) check_sample_count(value.size(), where);
  return bare;
}

}  // namespace

TokenStates TokenReader::read(const JsonValue& root, const std::string& prefix,
                              TensorSource& tensors) const {
  const std::string name = key(root, prefix);
  check_one_way(root, prefix, name);
  const JsonValue& value = *root.find(name);
  const std::string way = name.substr(prefix.size()), where = pointer_to("", name);
  const bool bare = is_bare(value, way, where);

  // The batch and its hidden states.
  TokenBatch batch;
  Tensor states;
  TokenStates result;
  try {
    const TokenRows rows = read_rows(value, way, bare, where);
    check_ids(rows, table_.shape()[0], where);
    if (std::string doubt = padding_doubt(root, prefix, rows); !doubt.empty())
      result.warnings.push_back(std::move(doubt));
    if (const auto several =
            way == "tokens" ? several_words(value, *vocabulary_, where) : std::nullopt)
      result.warnings.push_back(
          translated("{1}: the token {2} is not in the vocabulary and counts as unknown: write {3}",
                     several->at, in_quotes(several->token), several->written));
    const Shape shape = padded_shape(rows, pad_, where);
    batch.ids = tensors.drawn(shape, DType::int64, where, [&] {
      batch = padded(rows, pad_, where);
      return batch.ids;
    });
    states = tensors.drawn({shape[0], shape[1], table_.shape()[1]}, DType::float64, where,
                           [&] { return embedded(table_, batch.ids, where); });
    // The memory of names counts as eight elements each.
    const double names = vocabulary_ ? (recover_ ? 2 : 1) : 0;
    tensors.add_made(names * 8 * static_cast<double>(batch.ids.size()));
    tensors.check_elements(tensors.read_elements(), translated("what the tokens become"), where);
  } catch (const Error& error) {
    throw bare ? without_row(error, where) : error;
  }
  if (tensors.sketching()) {
    result.ids = without_batch(batch.ids, bare);
    result.embedded = without_batch(states, bare);
    return result;
  }
  if (positions_) {
    result.rows = without_batch(states, bare);
    states = with_sinusoidal_positions(states);
  }

  // Recovered tokens and labels.
  result.ids = without_batch(batch.ids, bare);
  result.embedded = without_batch(states, bare);
  result.padding = without_batch(batch.padding, bare);
  const auto names_of = [&](const Tensor& ids) {
    std::vector<std::vector<std::string>> names(ids.shape()[0]);
    const auto numbers = ids.values<std::int64_t>();
    const std::size_t length = ids.shape()[1];
    for (std::size_t i = 0; i < numbers.size(); ++i)
      names[i / length].push_back(vocabulary_->token(numbers[i]));
    return names;
  };
  if (vocabulary_) result.labels = names_of(batch.ids);
  if (recover_) {
    const Tensor recovered = recovered_ids(table_, batch.ids, 0);
    if (vocabulary_) result.recovered_tokens = names_of(recovered);
    result.recovered = without_batch(recovered, bare);
  }
  return result;
}

Tensor united_padding(const Tensor& given, const Tensor& tokens, std::size_t past) {
  if (!tokens) return given;
  const std::size_t length = tokens.shape().back(), keys = past + length;
  const std::size_t samples = tokens.size() / length;
  if (given && (given.rank() == 0 || given.rank() > 2 || given.shape().back() != keys))
    return given;
  const std::size_t given_samples = given ? given.size() / keys : 1;
  if (given_samples != samples && given_samples != 1 && samples != 1) return given;

  const std::size_t batch = std::max(samples, given_samples);
  const auto own = tokens.values<std::uint8_t>();
  std::vector<std::uint8_t> either(batch * keys, 0);
  for (std::size_t i = 0; i < either.size(); ++i) {
    const std::size_t sample = i / keys, key = i % keys;
    if (key >= past) either[i] = own[sample % samples * length + key - past];
    if (given) either[i] |= given.values<std::uint8_t>()[sample % given_samples * keys + key];
  }
  const bool bare = tokens.rank() == 1 && (!given || given.rank() == 1);
  return {bare ? Shape{keys} : Shape{batch, keys}, std::move(either)};
}

}  // namespace attn
