#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "attn/document.hpp"
#include "attn/error.hpp"

#include "document/document.hpp"
#include "io/gguf.hpp"
#include "io/json_writer.hpp"
#include "models/model_folder.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"
#include "tokens/text_slips.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

using Texts = std::vector<std::vector<TextToken>>;

// The tokenizer of a folder, of a file of its own, or of a model in one file.
Tokenizer tokenizer_from(const fs::path& path, const DocumentOptions& options) {
  std::error_code error;
  const bool is_file = fs::is_regular_file(path, error);
  const bool model =
      is_file &&
      looks_like_gguf(MappedFile::open(FileName::by_document(path), options.files)->bytes());
  if ((is_file && !model) || fs::is_directory(path, error)) {
    return open_tokenizer(path, family_in(path, options.files), options.files);
  }
  const ModelFolder folder = ModelFolder::open(path, options.architecture, options.files);
  if (!folder.tokenizer) throw *folder.no_tokenizer;
  return *folder.tokenizer;
}

// BERT's tokenizer, which a document without a model names by its vocabulary.
Tokenizer own_tokenizer(const JsonValue& tokenizer, const Document& document) {
  const std::string at = "/tokenizer/wordpiece";
  const JsonValue* const file = expect_object(tokenizer, "/tokenizer").find("wordpiece");
  if (file == nullptr) {
    throw input_error(translated("the tokenizer has no vocabulary"), at,
                      translated("give \"wordpiece\", the name of a vocab.txt"));
  }
  const JsonValue* const lowercase = tokenizer.find("lowercase");
  const FileName name = FileName::by_document(document.folder(), expect_string(*file, at));
  const auto text = MappedFile::open(name, document.access());
  return Tokenizer::wordpiece(
      Vocabulary::from_text(text->text(), name.path().string()),
      lowercase == nullptr || expect_boolean(*lowercase, "/tokenizer/lowercase"),
      name.path().string());
}

Tokenizer tokenizer_of(const Document& document, const DocumentOptions& options) {
  if (const JsonValue* const model = document.root().find("model")) {
    return tokenizer_from(
        model_path(expect_string(*model, "/model"), document.folder(), document.access()), options);
  }
  if (const JsonValue* const own = document.root().find("tokenizer")) {
    return own_tokenizer(*own, document);
  }
  throw input_error(translated("the document names no model"), "/model",
                    translated("add \"model\", the folder of a checkpoint"));
}

std::vector<TextToken> tokens_of(const JsonValue& text, const std::string& at,
                                 const Tokenizer& tokenizer, bool special) {
  if (!text.is(JsonValue::Type::array)) {
    return tokenizer.encode(expect_string(text, at), std::nullopt, special, at);
  }
  if (text.size() != 2) {
    throw input_error(translated("expected a pair, found {1}",
                                 translated_count(text.size(), "{1} text", "{1} texts")),
                      at, translated("give a string, or a pair [first, second]"));
  }
  return tokenizer.encode(expect_string(text.element(0), pointer_to(at, 0)),
                          expect_string(text.element(1), pointer_to(at, 1)), special, at);
}

Texts read_texts(const Document& document, const DocumentOptions& options,
                 std::vector<std::string>* warnings) {
  const JsonValue* const text = document.root().find("text");
  if (text == nullptr) {
    throw input_error(translated("the document has no text"), "/text",
                      translated("give \"text\", or DocumentOptions::texts"));
  }
  const JsonValue* const flag = document.root().find("special_tokens");
  const bool special = flag == nullptr || expect_boolean(*flag, "/special_tokens");
  const Tokenizer tokenizer = tokenizer_of(document, options);
  if (warnings != nullptr) *warnings = tokenizer.warnings();
  const auto note = [&](const JsonValue& own, const std::vector<TextToken>& tokens) {
    if (warnings == nullptr || !own.is(JsonValue::Type::string)) return;
    for (std::string& slip : text_slips(tokenizer, own.string(), tokens, false)) {
      if (std::ranges::count(*warnings, slip) == 0) warnings->push_back(std::move(slip));
    }
  };
  if (!text->is(JsonValue::Type::array)) {
    Texts only{tokens_of(*text, "/text", tokenizer, special)};
    note(*text, only.front());
    return only;
  }
  Texts texts;
  for (std::size_t i = 0; i < text->size(); ++i) {
    texts.push_back(tokens_of(text->element(i), pointer_to("/text", i), tokenizer, special));
    note(text->element(i), texts.back());
  }
  return texts;
}

Texts texts_of(const DocumentOptions& options, std::vector<std::string>* warnings) {
  const Document document = open_document(options);
  try {
    return read_texts(document, options, warnings);
  } catch (const Error& error) {
    // Files of a tokenizer have their own paths.
    if (error.where().empty() || error.where().front() != '/' || options.input.empty()) {
      throw document.placed(error);
    }
    std::error_code none;
    if (fs::exists(error.where(), none)) throw;
    throw document.placed(error);
  }
}

std::string place_of(const TextToken& token) {
  if (token.text < 0) return translated("put around the text");
  const std::string bytes = std::to_string(token.begin) + "–" + std::to_string(token.end);
  return token.text == 0 ? bytes : translated("{1} of the second text", bytes);
}

}  // namespace

std::string tokens_text(const DocumentOptions& options, std::vector<std::string>* warnings) {
  std::string text;
  for (const std::vector<TextToken>& tokens : texts_of(options, warnings)) {
    if (!text.empty()) text += "\n";
    std::size_t widest = display_width(translated("piece"));
    for (const TextToken& token : tokens) {
      widest = std::max(widest, display_width(printable(token.piece)) + 2);
    }
    const auto line = [&](const std::string& position, const std::string& piece,
                          const std::string& id, const std::string& bytes) {
      text += padded_left(position, 6) + "  " + padded_right(piece, widest) + "  " +
              padded_left(id, 8) + "  " + bytes + "\n";
    };
    line("", translated("piece"), "id", translated("bytes"));
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const TextToken& token = tokens[i];
      line(std::to_string(i), "\"" + printable(token.piece) + "\"", std::to_string(token.id),
           place_of(token));
    }
  }
  return text;
}

std::string tokens_json(const DocumentOptions& options, std::vector<std::string>* warnings) {
  std::string text = "[";
  for (const std::vector<TextToken>& tokens : texts_of(options, warnings)) {
    text += text.size() == 1 ? "[" : ",\n[";
    const bool pair = std::ranges::any_of(tokens, [](const auto& one) { return one.text > 0; });
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const TextToken& token = tokens[i];
      text += std::string(i == 0 ? "\n" : ",\n") + "  {\"piece\": " + json_string(token.piece) +
              ", \"id\": " + std::to_string(token.id) +
              ", \"begin\": " + std::to_string(token.begin) +
              ", \"end\": " + std::to_string(token.end) +
              ", \"special\": " + (token.special ? "true" : "false");
      if (pair) {
        text += ", \"text\": " + (token.text < 0 ? "null" : std::to_string(token.text)) +
                ", \"type\": " + std::to_string(token.type);
      }
      text += "}";
    }
    text += "]";
  }
  return text + "]\n";
}

}  // namespace attn
