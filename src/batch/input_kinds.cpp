#include "batch/input_kinds.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <system_error>

#include "attn/error.hpp"

#include "document/document.hpp"
#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

namespace fs = std::filesystem;

bool holds_texts(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().extension() == ".txt") return true;
  }
  return false;
}

bool has_lines(const fs::path& path) {
  return std::ranges::count(endings_of_lines, path.extension().native()) > 0;
}

bool is_picture(const fs::path& path) {
  std::string extension = path.extension().string();
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension == ".png" || extension == ".jpg" || extension == ".jpeg";
}

void refuse_utf_16(std::string_view text, const fs::path& path) {
  const std::string_view begin = text.substr(0, 256);
  const bool marked = begin.starts_with("\xFF\xFE") || begin.starts_with("\xFE\xFF");
  if (!marked && begin.find('\0') == std::string_view::npos) return;
  throw input_error(translated("the file is a text in UTF-16, or not a text"),
                    path == "-" ? "standard input" : path_text(path.native()),
                    translated("save it as UTF-8, one text or document a line"));
}

void refuse_summary(std::string_view text, const fs::path& path) {
  const std::string_view line = text.substr(0, text.find('\n'));
  if (!line.starts_with(R"({"item": ")") || line.find(R"("inputs": {)") == line.npos ||
      line.find(R"("finished": ")") == line.npos)
    return;
  const std::string name = path == "-" ? "summary.jsonl" : path_text(path.native());
  throw input_error(translated("this is the summary of a batch, not documents"),
                    path == "-" ? "standard input" : path_text(path.native()),
                    translated("name its documents, which {1} prints", "jq -r .input " + name));
}

std::string lines_of_spread(std::string_view text, const fs::path& path) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t open = text.find_first_not_of(space);
  const std::size_t end = text.find('\n', open);
  if (open == text.npos || end == text.npos || text[open] != '{') return "";
  const char last = text[text.find_last_not_of(space, end)];
  const std::size_t next = text.find_first_not_of(space, end);
  // Lines of which the first is broken alone fail one by one.
  if (std::string_view("{[,:").find(last) == std::string_view::npos || next == text.npos ||
      text[next] == '{')
    return "";
  if (path == "-") return translated("pass one document per line: jq -c . | attn-cli batch -");
  fs::path lines = path;
  lines.replace_extension(has_lines(path) ? ".lines.jsonl" : ".jsonl");
  return translated("write {1}; a file of one document ends in .json",
                    "jq -c . " + path_text(path.native()) + " > " + path_text(lines.native()));
}

void refuse_other_lines(std::string_view text, const fs::path& path) {
  const std::string array = lines_of_array(text, path), spread = lines_of_spread(text, path);
  if (array.empty() && spread.empty()) return;
  throw input_error(spread.empty()
                        ? translated("the file is one array, not a document on each line")
                        : translated("the file has a document over several lines, not one on each"),
                    path == "-" ? "standard input" : path_text(path.native()), array + spread);
}

bool prepares_pictures(const fs::path& model) {
  std::error_code ignored;
  return fs::exists(model / "preprocessor_config.json", ignored) ||
         fs::exists(model / "processor_config.json", ignored);
}

bool belongs_to_checkpoint(const fs::path& path) {
  constexpr std::string_view names[]{"config.json",
                                     "generation_config.json",
                                     "preprocessor_config.json",
                                     "processor_config.json",
                                     "video_preprocessor_config.json",
                                     "tokenizer.json",
                                     "tokenizer_config.json",
                                     "special_tokens_map.json",
                                     "added_tokens.json",
                                     "vocab.json",
                                     "chat_template.json",
                                     "modules.json",
                                     "adapter_config.json",
                                     "sentence_bert_config.json",
                                     "config_sentence_transformers.json"};
  const std::string name = path.filename().string();
  return std::ranges::count(names, name) > 0 || name.ends_with(".index.json");
}

bool is_checkpoint(const fs::path& folder) {
  constexpr std::string_view beside[]{"model.safetensors", "model.safetensors.index.json",
                                      "pytorch_model.bin", "tokenizer.json"};
  std::error_code ignored;
  return fs::exists(folder / "config.json", ignored) &&
         std::ranges::any_of(
             beside, [&](std::string_view name) { return fs::exists(folder / name, ignored); });
}

bool is_prose(const fs::path& path) {
  constexpr std::string_view endings[]{"", ".md", ".text", ".rst", ".log", ".TXT"};
  std::error_code error;
  if (std::ranges::count(endings, path.extension().string()) == 0 ||
      !fs::is_regular_file(path, error))
    return false;
  std::ifstream file(path, std::ios::binary);
  char first = '\0';
  file >> first;
  return std::isalpha(static_cast<unsigned char>(first)) != 0;
}

std::string call_it_texts(const fs::path& path) {
  const std::string name = fs::path(path).replace_extension(".txt").filename().string();
  return translated("call it {1}, of which each line is a text", in_quotes(name));
}

}  // namespace attn
