#include "batch/names.hpp"

#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace attn {
namespace {

std::string without_extension(std::string name) {
  for (const std::string_view extension : {".jsonl", ".json"}) {
    if (name.size() > extension.size() && name.ends_with(extension) &&
        name[name.size() - extension.size() - 1] != '/') {
      name.resize(name.size() - extension.size());
      break;
    }
  }
  return name;
}

bool is_summary(std::string_view name) {
  return name.starts_with("summary.") && name.ends_with(".jsonl") &&
         name.find('/') == std::string_view::npos;
}

}  // namespace

std::vector<std::string> unlike_names(const std::vector<NameChoice>& choices) {
  // 1. Short names, and whole ones where they meet.
  std::unordered_map<std::string, std::size_t> met;
  for (const NameChoice& choice : choices) ++met[without_extension(choice.below) + choice.line];
  std::vector<const std::string*> chosen;
  std::vector<std::string> names;
  for (const NameChoice& choice : choices) {
    names.push_back(without_extension(choice.below) + choice.line);
    chosen.push_back(&choice.below);
    if (met[names.back()] > 1) {
      names.back() = without_extension(choice.whole) + choice.line;
      chosen.back() = &choice.whole;
    }
  }
  // 2. The folders above the names; below, only the last parts of names change.
  std::unordered_set<std::string> taken;
  for (const std::string& name : names) {
    for (std::size_t slash = name.find('/'); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      taken.insert(name.substr(0, slash));
    }
  }
  // 3. Whoever comes first has the name.
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto is_free = [&](const std::string& name) {
      return !is_summary(name) && taken.insert(name).second;
    };
    if (is_free(names[i])) continue;
    const std::string full = *chosen[i] + choices[i].line;
    std::string name = full;
    for (std::size_t number = 2; !is_free(name); ++number) {
      name = full + "~" + std::to_string(number);
    }
    names[i] = name;
  }
  return names;
}

}  // namespace attn
