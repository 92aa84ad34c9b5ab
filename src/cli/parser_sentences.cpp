#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/language.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

// Sentences of CLI11 about errors that our command lines can have.
constexpr auto sentences = std::to_array<const char*>({
    to_translate("{1}: {2} required {3} missing"),
    to_translate("{1}: At Most {2} required but received {3}"),
    to_translate("Could not convert: {1} = {2}"),
});

// The values of {1}, {2}… in a text made of that sentence; nothing for another text.
std::optional<std::vector<std::string>> values_in(std::string_view text,
                                                  std::string_view sentence) {
  std::vector<std::string> values;
  while (true) {
    const std::size_t value = std::min(sentence.find('{'), sentence.size());
    if (!text.starts_with(sentence.substr(0, value))) return std::nullopt;
    text.remove_prefix(value);
    sentence.remove_prefix(value);
    if (sentence.empty()) break;
    sentence.remove_prefix(std::string_view("{1}").size());
    const std::string_view between = sentence.substr(0, sentence.find('{'));
    const std::size_t end = between.empty() ? text.size() : text.find(between);
    if (end == std::string_view::npos) return std::nullopt;
    values.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  if (!text.empty()) return std::nullopt;
  return values;
}

}  // namespace

std::string in_words_of_ours(std::string_view text) {
  for (const char* sentence : sentences) {
    if (auto values = values_in(text, sentence)) {
      values->resize(3);
      return translated(sentence, (*values)[0], (*values)[1], (*values)[2]);
    }
  }
  return std::string(text);
}

}  // namespace attn::cli
