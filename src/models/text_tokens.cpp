#include <algorithm>
#include <filesystem>
#include <optional>

#include "attn/model_list.hpp"

#include "io/json_writer.hpp"
#include "models/model_folder.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

std::vector<std::vector<TextToken>> tokens_of(const CheckpointFolder& folder,
                                              const std::vector<std::string>& texts) {
  const std::filesystem::path path = model_path(folder.path.string(), {}, folder.files);
  std::error_code error;
  std::optional<Tokenizer> tokenizer;
  if (std::filesystem::is_directory(path, error) || path.extension() == ".json") {
    tokenizer = open_tokenizer(path, family_in(path, folder.files), folder.files);
  } else {
    const ModelFolder model = ModelFolder::open(path, folder.architecture, folder.files);
    if (!model.tokenizer) throw *model.no_tokenizer;
    tokenizer = model.tokenizer;
  }
  std::vector<std::vector<TextToken>> tokens;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::string place =
        texts.size() == 1 ? translated("text") : translated("text {1}", i + 1);
    tokens.push_back(tokenizer->encode(texts[i], std::nullopt, true, place));
  }
  return tokens;
}

}  // namespace

std::string tokens_text(const CheckpointFolder& folder, const std::vector<std::string>& texts) {
  std::string text;
  for (const std::vector<TextToken>& tokens : tokens_of(folder, texts)) {
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
           token.text < 0 ? translated("put around the text")
                          : std::to_string(token.begin) + "–" + std::to_string(token.end));
    }
  }
  return text;
}

std::string tokens_json(const CheckpointFolder& folder, const std::vector<std::string>& texts) {
  std::string text = "[";
  for (const std::vector<TextToken>& tokens : tokens_of(folder, texts)) {
    text += text.size() == 1 ? "[" : ",\n[";
    for (std::size_t i = 0; i < tokens.size(); ++i) {
      const TextToken& token = tokens[i];
      text += std::string(i == 0 ? "\n" : ",\n") + "  {\"piece\": " + json_string(token.piece) +
              ", \"id\": " + std::to_string(token.id) +
              ", \"begin\": " + std::to_string(token.begin) +
              ", \"end\": " + std::to_string(token.end) +
              ", \"special\": " + (token.special ? "true" : "false") + "}";
    }
    text += "]";
  }
  return text + "]\n";
}

}  // namespace attn
