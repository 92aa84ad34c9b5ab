#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/spec.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

// The number of "w.json:1"; empty for other words. In other files a number may name a tensor.
std::string number_of_map(const std::string& word) {
  const std::size_t colon = word.rfind(':');
  if (colon == word.npos || !is_digits(word.substr(colon + 1))) return "";
  const std::filesystem::path file = word.substr(0, colon);
  std::error_code none;
  const bool result = file.extension() == ".json" || std::filesystem::is_directory(file, none);
  return result && is_file(file.string()) ? word.substr(colon + 1) : "";
}

// The cure for the number of a map behind its file, and of others behind the same file.
std::string file_and_numbers(const Command& command, const std::vector<std::string>& words,
                             std::size_t at) {
  const std::string file = words[at].substr(0, words[at].rfind(':'));
  std::string numbers;
  for (const std::string& word : words) {
    const std::string number = number_of_map(word);
    if (number.empty() || word != file + ":" + number) continue;
    numbers += (numbers.empty() ? "" : ",") + number;
  }
  const std::string chosen = file + " --head " + numbers;
  const bool pair = command.words.name == "FILE FILE";
  if (numbers == number_of_map(words[at]) || (at == 0 && !pair)) return chosen;
  const std::string kind = pair ? "difference" : words[0] == "comparison" ? "heatmap" : words[0];
  return "attn-cli plot " + kind + " " + chosen + " --out PICTURE";
}

// The cure for a file and a part of it in one word, "w.npz:attn" or "w.npy[0,1]";
// empty for other words.
std::string file_and_part(const Command& command, const std::vector<std::string>& words,
                          std::size_t at) {
  const auto takes = [&](const char* flag) {
    return std::ranges::find(command.flags, flag, &Flag::name) != command.flags.end();
  };
  const std::string& word = words[at];
  const std::size_t colon = word.rfind(':'), bracket = word.find('[');
  if (takes("--head") && !number_of_map(word).empty()) return file_and_numbers(command, words, at);
  if (colon != word.npos && takes("--name") && is_file(word.substr(0, colon)))
    return word.substr(0, colon) + " --name " + word.substr(colon + 1);
  if (bracket != word.npos && word.ends_with(']') && takes("--slice") &&
      is_file(word.substr(0, bracket))) {
    return word.substr(0, bracket) + " --slice " +
           word.substr(bracket + 1, word.size() - bracket - 2);
  }
  return "";
}

// The cure for a word that is no file at `at` and may be meant as something else; empty for others.
std::string meant_word(const Command& command, const std::vector<std::string>& words,
                       std::size_t at, bool has_model) {
  const auto takes = [&](const char* flag) {
    return std::ranges::find(command.flags, flag, &Flag::name) != command.flags.end();
  };
  const std::string& word = words[at];
  const std::string call = "attn-cli " + command.name;
  const bool plain = word.find_first_of("./*?{[\"") == word.npos;
  if (has_curly_quotes(word) && is_file(without_curly_quotes(word)))
    return translated("write {1}", without_curly_quotes(word));
  if (word.find_first_of("*?") != word.npos && !takes("--files-from") && !takes("--attention"))
    return translated("write it without quotes: the shell opens patterns");
  if (!takes("--attention")) {
    const auto is_kind = [&](const std::string& name) {
      return std::ranges::count(command.words.known, name) > 0;
    };
    if (is_kind(word) && !is_kind(words[0])) return "";  // the kind does not come first
    if (is_kind(word)) return translated("draw one kind at a time: {1}", call + " " + word + " …");
    const bool one_file = takes("--head") && command.words.name != "FILE FILE";
    if (one_file && at > 0 && plain && is_file(words[at - 1]))
      return translated("write {1}", "--name " + word);
    return "";
  }
  if (plain && find_kind(word) != nullptr) {
    return translated("write {1}", "attn-cli example " + word + " | " + call + " -");
  }
  const bool text = !has_model && words.size() == 1 && !takes("--files-from");
  if (plain && text && takes("--text") && word.find(' ') != word.npos)
    return translated("give a text with {1}", "--model DIR --text \"" + word + '"');
  if (const std::string example = name_in_examples(word); !example.empty())
    return translated("write {1}", call + " " + example);
  return "";
}

// Whether a file has the name that weights of checkpoints have, or a format that they alone have.
bool is_named_as_weights(const std::filesystem::path& path) {
  constexpr std::string_view formats[]{".ckpt", ".h5", ".msgpack", ".onnx"};
  constexpr std::string_view names[]{"model.safetensors", "adapter_model.safetensors",
                                     "pytorch_model.bin", "consolidated.safetensors"};
  return std::ranges::count(formats, path.extension()) > 0 ||
         std::ranges::count(names, path.filename()) > 0;
}

// What --model takes for a word in the place of a document beside a text: a folder, a file, or the
// name that a hub has, "Qwen/Qwen2.5-0.5B"; empty for other words.
std::string meant_model(const std::string& word, bool reads_folders) {
  const std::filesystem::path path(word);
  std::error_code none;
  if (std::filesystem::is_directory(path, none)) {
    // Folders of results and of checkpoints have answers of their own.
    const bool known = reads_folders || std::filesystem::exists(path / "result.json", none) ||
                       std::filesystem::exists(path / "config.json", none);
    return known ? "" : word;
  }
  if (path.extension() == ".gguf") return word;
  if (is_named_as_weights(path))
    return path.has_parent_path() ? path.parent_path().string() : std::string(".");
  constexpr std::string_view signs = "-_./";
  const bool is_name = std::ranges::all_of(word, [&](unsigned char c) {
    return std::isalnum(c) != 0 || signs.find(static_cast<char>(c)) != signs.npos;
  });
  const std::string ending = path.extension().string();
  const bool is_version = ending.size() > 1 && std::isdigit(static_cast<unsigned char>(ending[1]));
  return is_name && (ending.empty() || is_version) && !is_file(word) ? word : "";
}

}  // namespace

void check_inputs(const Command& command, const std::vector<std::string>& words, bool has_model,
                  bool has_text) {
  const bool kind = !words.empty() && std::ranges::count(command.words.known, words[0]) > 0;
  const std::string call = "attn-cli " + command.name + (kind ? " " + words[0] : std::string());
  const bool of_batch =
      std::ranges::find(command.flags, "--files-from", &Flag::name) != command.flags.end();
  for (std::size_t i = kind ? 1 : 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const auto refuse = [&](const std::string& problem, const std::string& help) {
      throw Error(ErrorKind::usage, problem, call, help);
    };
    if (const std::string model =
            words.size() == 1 && has_text && !has_model ? meant_model(word, of_batch) : "";
        !model.empty()) {
      refuse(translated("there is no document \"{1}\"", word),
             translated("a model is given with {1}", "--model " + model));
    }
    if (word.size() > 1 && is_file(word)) {
      const std::filesystem::path path(word);
      if (path.extension() == ".gz") {
        refuse(translated("\"{1}\" is compressed", word),
               translated("write {1}", "gunzip -c " + word + " | " + call + " -"));
      }
      if (path.extension() == ".html" && command.name == "view") {
        refuse(translated("\"{1}\" is a page already", word), translated("open it with a browser"));
      }
      continue;
    }
    if (const std::string meant = file_and_part(command, words, i); !meant.empty())
      refuse(translated("there is no file \"{1}\"", word), translated("write {1}", meant));
    if (const std::string help = meant_word(command, words, i, has_model);
        !help.empty() && !is_file(word))
      refuse(translated("there is no file \"{1}\"", word), help);
    if (of_batch && word.starts_with('@') && is_file(word.substr(1))) {
      refuse(translated("there is no file \"{1}\"", word),
             translated("write {1}", "--files-from " + word.substr(1)));
    }
    if (of_batch && word.find('{') < word.find(',') && word.find(',') < word.find('}') &&
        word.find('}') != word.npos && word.find('"') == word.npos) {
      refuse(translated("there is no file \"{1}\"", word),
             translated("write it without quotes, so that the shell opens the braces"));
    }
  }
}

}  // namespace attn::cli
