#include "run/token_reader.hpp"

#include <array>
#include <string_view>

#include "attn/error.hpp"

#include "model/embedding.hpp"
#include "model/token_batch.hpp"
#include "run/document_object.hpp"
#include "support/mapped_file.hpp"
#include "support/nearest_name.hpp"

namespace attn {
namespace {

const std::string embedding_at = "/embedding", tokenizer_at = "/tokenizer";
constexpr std::array<std::string_view, 3> ways{"tokens", "token_ids", "text"};

const JsonValue& expect_filled_array(const JsonValue& value, const std::string& pointer,
                                     const std::string& expected) {
  if (value.is(JsonValue::Type::array) && value.size() > 0) return value;
  throw input_error(
      "expected " + expected + ", found " +
          std::string(value.is(JsonValue::Type::array) ? "an empty array" : type_text(value)),
      pointer, "give " + expected);
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
    constexpr std::array<std::string_view, 1> known{"file"};
    expect_known_keys(value, known, pointer);
    const JsonValue* name = value.find("file");
    if (!name)
      throw input_error("the vocabulary names no file", pointer,
                        "give a list of tokens or {\"file\": …}");
    const std::filesystem::path path =
        tensors.path(expect_string(*name, pointer_to(pointer, "file")));
    try {
      return Vocabulary::from_text(MappedFile::open(path)->text(), path.string());
    } catch (const Error& error) {
      throw error.inside(pointer_to(pointer, "file"));
    }
  }
  expect_filled_array(value, pointer, "a list of tokens");
  return Vocabulary::from_list(strings_of(value, pointer), pointer);
}

Tensor without_batch(const Tensor& tensor, bool bare) {
  if (!bare || !tensor) return tensor;
  return tensor.reshaped({tensor.shape().begin() + 1, tensor.shape().end()});
}

}  // namespace

bool TokenReader::gives(const JsonValue& root, const std::string& prefix) {
  for (const std::string_view way : ways) {
    if (root.find(prefix + std::string(way))) return true;
  }
  return false;
}

TokenReader::TokenReader(const JsonValue& root, DType dtype, TensorSource& tensors) {
  if (const JsonValue* tokenizer = root.find("tokenizer")) {
    constexpr std::array<std::string_view, 2> known{"wordpiece", "lowercase"};
    expect_known_keys(*tokenizer, known, tokenizer_at);
    const JsonValue* file = tokenizer->find("wordpiece");
    const std::string at = pointer_to(tokenizer_at, "wordpiece");
    if (!file)
      throw input_error("the tokenizer has no vocabulary", at,
                        "give \"wordpiece\", the name of a vocab.txt");
    const JsonValue* lowercase = tokenizer->find("lowercase");
    const bool lower =
        !lowercase || expect_boolean(*lowercase, pointer_to(tokenizer_at, "lowercase"));
    const std::filesystem::path path = tensors.path(expect_string(*file, at));
    try {
      vocabulary_ = Vocabulary::from_text(MappedFile::open(path)->text(), path.string());
      tokenizer_.emplace(*vocabulary_, lower, path.string());
    } catch (const Error& error) {
      throw error.inside(at);
    }
  }
  const JsonValue* embedding = root.find("embedding");
  if (!embedding) {
    throw input_error("tokens need an embedding to become hidden states", embedding_at,
                      "add \"embedding\" with a \"vocabulary\" and a \"table\", or \"dimension\" "
                      "and \"init\": \"torch\"");
  }
  read_embedding(*embedding, dtype, tensors);
}

void TokenReader::read_embedding(const JsonValue& embedding, DType dtype, TensorSource& tensors) {
  constexpr std::array<std::string_view, 8> known{"vocabulary", "table",   "dimension", "init",
                                                  "pad",        "unknown", "position",  "recover"};
  expect_known_keys(embedding, known, embedding_at);
  const auto at = [](const char* key) { return pointer_to(embedding_at, key); };
  if (const JsonValue* vocabulary = embedding.find("vocabulary")) {
    vocabulary_ = read_vocabulary(*vocabulary, tensors, at("vocabulary"));
  }
  const std::optional<std::size_t> tokens =
      vocabulary_ ? std::optional(vocabulary_->size()) : std::nullopt;

  // 1. The table, given or drawn: the first draw of a document.
  const JsonValue *table = embedding.find("table"), *init = embedding.find("init");
  const JsonValue* dimension = embedding.find("dimension");
  if (table && init)
    throw input_error("a table cannot be both given and drawn", embedding_at,
                      "leave out \"table\" or \"init\"");
  if (table) {
    table_ = tensors.read(*table, dtype, at("table"));
    check_embedding_table(table_, tokens, at("table"));
    if (dimension && static_cast<std::size_t>(expect_integer(*dimension, at("dimension"), 1)) !=
                         table_.shape()[1]) {
      throw input_error("the dimension is not that of the table " + text(table_.shape()),
                        at("dimension"), "leave it out: the table's second axis tells it");
    }
  } else {
    constexpr std::array<std::string_view, 1> inits{"torch"};
    if (!init) {
      throw input_error("the embedding has no table", embedding_at,
                        "give \"table\" [V,E], or \"dimension\" and \"init\": \"torch\"");
    }
    const std::string& way = expect_string(*init, at("init"));
    if (way != inits[0])
      throw input_error("unknown initialisation \"" + way + "\"", at("init"),
                        suggestion(way, inits));
    if (!dimension) {
      throw input_error("the embedding has no dimension", at("dimension"),
                        "give \"dimension\", the width of its rows");
    }
    if (!tokens) {
      throw input_error(
          "the embedding has no vocabulary", at("vocabulary"),
          "give \"vocabulary\", a list of tokens or {\"file\": …}: it tells how many rows to draw");
    }
    const auto width = static_cast<std::size_t>(expect_integer(*dimension, at("dimension"), 1));
    table_ = torch_embedding_table(tensors.generator(at("init")), *tokens, width, at("dimension"));
  }
  table_ = table_.converted(DType::float64);

  // 2. Special tokens, by name or, without a vocabulary, by id.
  const auto special = [&](const char* key) -> std::optional<std::int64_t> {
    const JsonValue* value = embedding.find(key);
    if (!value) return std::nullopt;
    if (value->is(JsonValue::Type::number)) return expect_integer(*value, at(key), 0);
    const std::string& name = expect_string(*value, at(key));
    if (!vocabulary_)
      throw input_error("there is no vocabulary to find \"" + name + "\" in", at(key),
                        "give its id, or a \"vocabulary\"");
    return vocabulary_->id(name, at(key));
  };
  pad_ = special("pad");
  unknown_ = special("unknown");
  if (tokenizer_ && !pad_) pad_ = vocabulary_->find("[PAD]");

  // 3. Options.
  if (const JsonValue* position = embedding.find("position")) {
    constexpr std::array<std::string_view, 2> positions{"sinusoidal", "none"};
    const std::string& name = expect_string(*position, at("position"));
    if (name != positions[0] && name != positions[1]) {
      throw input_error("unknown position \"" + name + "\"", at("position"),
                        suggestion(name, positions));
    }
    positions_ = name == positions[0];
  }
  if (const JsonValue* recover = embedding.find("recover"))
    recover_ = expect_boolean(*recover, at("recover"));
}

TokenStates TokenReader::read(const JsonValue& root, const std::string& prefix) const {
  // 1. Exactly one of the three ways.
  std::string key;
  for (const std::string_view way : ways) {
    const std::string name = prefix + std::string(way);
    if (!root.find(name)) continue;
    if (!key.empty())
      throw input_error("a sequence cannot be both \"" + key + "\" and \"" + name + "\"",
                        pointer_to("", name), "give one of them");
    key = name;
  }
  const JsonValue& value = *root.find(key);
  const std::string at = pointer_to("", key);

  // 2. Rows of ids. A bare sequence has no batch axis.
  TokenRows rows;
  bool bare = false;
  if (key == prefix + "tokens") {
    if (!vocabulary_)
      throw input_error("tokens need a vocabulary", pointer_to(embedding_at, "vocabulary"),
                        "give a list of tokens or {\"file\": …}");
    expect_filled_array(value, at, "sequences of tokens");
    bare = value.element(0).is(JsonValue::Type::string);
    std::vector<std::vector<std::string>> words;
    if (bare) {
      words.push_back(strings_of(value, at));
    } else {
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string row_at = pointer_to(at, i);
        words.push_back(strings_of(
            expect_filled_array(value.element(i), row_at, "a sequence of tokens"), row_at));
      }
    }
    rows = token_rows(words, *vocabulary_, unknown_, at);
  } else if (key == prefix + "token_ids") {
    expect_filled_array(value, at, "sequences of token ids");
    bare = value.element(0).is(JsonValue::Type::number);
    const auto ids_of = [](const JsonValue& list, const std::string& list_at) {
      std::vector<std::int64_t> ids;
      for (std::size_t i = 0; i < list.size(); ++i)
        ids.push_back(expect_integer(list.element(i), pointer_to(list_at, i), 0));
      return ids;
    };
    if (bare) {
      rows.push_back(ids_of(value, at));
    } else {
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string row_at = pointer_to(at, i);
        rows.push_back(ids_of(
            expect_filled_array(value.element(i), row_at, "a sequence of token ids"), row_at));
      }
    }
  } else {
    if (!tokenizer_)
      throw input_error("text needs a tokenizer", tokenizer_at,
                        "add \"tokenizer\": {\"wordpiece\": \"vocab.txt\"}");
    bare = value.is(JsonValue::Type::string);
    if (bare) {
      rows.push_back(tokenizer_->encode(value.string(), at).ids);
    } else {
      expect_filled_array(value, at, "a text or a list of texts");
      for (std::size_t i = 0; i < value.size(); ++i) {
        const std::string row_at = pointer_to(at, i);
        rows.push_back(tokenizer_->encode(expect_string(value.element(i), row_at), row_at).ids);
      }
    }
  }

  // 3. One batch, its hidden states, and the way back.
  const TokenBatch batch = padded(rows, pad_, at);
  Tensor states = embedded(table_, batch.ids, at);
  if (positions_) states = with_sinusoidal_positions(states);
  TokenStates result;
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

}  // namespace attn
