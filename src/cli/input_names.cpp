#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

// The cure for a file and a part of it in one word, "w.npz:attn" or "w.npy[0,1]";
// empty for other words.
std::string file_and_part(const Command& command, const std::string& word) {
  const auto takes = [&](const char* flag) {
    return std::ranges::find(command.flags, flag, &Flag::name) != command.flags.end();
  };
  const std::size_t colon = word.rfind(':'), bracket = word.find('[');
  if (colon != word.npos && takes("--name") && is_file(word.substr(0, colon)))
    return word.substr(0, colon) + " --name " + word.substr(colon + 1);
  if (bracket != word.npos && word.ends_with(']') && takes("--slice") &&
      is_file(word.substr(0, bracket))) {
    return word.substr(0, bracket) + " --slice " +
           word.substr(bracket + 1, word.size() - bracket - 2);
  }
  return "";
}

}  // namespace

void check_inputs(const Command& command, const std::vector<std::string>& words) {
  const bool kind = !words.empty() && std::ranges::count(command.words.known, words[0]) > 0;
  const std::string call = "attn-cli " + command.name + (kind ? " " + words[0] : std::string());
  const bool of_batch =
      std::ranges::find(command.flags, "--files-from", &Flag::name) != command.flags.end();
  for (const std::string& word : words) {
    const auto refuse = [&](const std::string& problem, const std::string& help) {
      throw Error(ErrorKind::usage, problem, call, help);
    };
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
    if (const std::string meant = file_and_part(command, word); !meant.empty())
      refuse(translated("there is no file \"{1}\"", word), translated("write {1}", meant));
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
