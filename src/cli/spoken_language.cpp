#include "cli/spoken_language.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/named.hpp"

#include "cli/flag_values.hpp"
#include "cli/installed_files.hpp"

namespace attn::cli {
namespace {

enum class Language { english, chinese };

constexpr auto languages =
    std::to_array<Named<Language>>({{"en", Language::english}, {"zh", Language::chinese}});

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT: no thread changes the environment
  return value ? value : "";
}

// What --lang says, also where other words could not be understood.
std::optional<Language> asked_for(int count, const char* const* words) {
  constexpr std::string_view flag = "--lang";
  std::optional<Language> found;
  for (int i = 1; i < count && std::string_view(words[i]) != "--"; ++i) {
    const std::string_view word = words[i];
    std::string_view value;
    if (word == flag && i + 1 < count) value = words[i + 1];
    if (word.starts_with("--lang=")) value = word.substr(flag.size() + 1);
    for (const Named<Language>& language : languages) {
      if (language.name == value) found = language.value;
    }
  }
  return found;
}

// As gettext has it: LANGUAGE is a list, and without effect in the locale "C".
bool locale_is_chinese() {
  std::string_view locale;
  for (const char* name : {"LC_ALL", "LC_MESSAGES", "LANG"}) {
    if (locale.empty()) locale = variable(name);
  }
  if (locale.empty() || locale == "C" || locale == "POSIX") return false;
  std::string_view list = variable("LANGUAGE");
  while (!list.empty()) {
    const std::string_view first = list.substr(0, list.find(':'));
    if (first.starts_with("zh")) return true;
    if (first.starts_with("en")) return false;
    list.remove_prefix(std::min(first.size() + 1, list.size()));
  }
  return locale.starts_with("zh");
}

}  // namespace

void choose_language(int count, const char* const* words) {
  const std::optional<Language> asked = asked_for(count, words);
  if (asked ? *asked == Language::english : !locale_is_chinese()) return;
  const std::filesystem::path texts = installed_file("share/locale/zh_CN/LC_MESSAGES/attn.mo");
  std::error_code none;
  if (!asked && !std::filesystem::exists(texts, none)) return;
  speak(texts);
}

void add_language(Flags& flags) {
  const auto names = names_of(languages);
  Flag& flag =
      flags.add("--lang", "LANG",
                alternatives(names) +
                    translated(": language of reports, explanations, pictures and errors (default: "
                               "the locale's)"),
                [](const std::string& text) { chosen("--lang", text, languages); });
  flag.words.assign(names.begin(), names.end());
}

}  // namespace attn::cli
