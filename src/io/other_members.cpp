#include "io/other_members.hpp"

#include <algorithm>

#include "io/json_members.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

std::string others_text(std::span<const OtherMember> others) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(others.size(), most); ++i) {
    text += text.empty() ? "" : translated("; ");
    text += others[i].name.empty()
                ? others[i].reason
                : translated("{1}: {2}", in_quotes(others[i].name), others[i].reason);
  }
  if (others.size() > most) text += translated(" and {1} more", others.size() - most);
  return text;
}

Error not_a_tensor(const OtherMember& other) {
  return input_error(translated("{1} is not a tensor: {2}", in_quotes(other.name), other.reason),
                     "",
                     translated("name another member, or save this one as an array of numbers"));
}

Error no_tensors(std::span<const OtherMember> others) {
  return input_error(
      translated("the file holds no tensor that can be read: {1}", others_text(others)), "",
      translated("save maps as arrays of numbers"));
}

std::vector<std::vector<std::string>> texts_of_list(std::string_view text) {
  if (text.starts_with('[')) {
    try {
      return texts_of(parse_json(text));
    } catch (const Error&) {
      return {};
    }
  }
  std::vector<std::string> words;
  constexpr std::string_view space = " \t\r\n";
  for (std::size_t at = text.find_first_not_of(space); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(space, at), text.size());
    words.push_back(printable(text.substr(at, end - at)));
    at = text.find_first_not_of(space, end);
  }
  if (words.size() < 2) return {};
  return {std::move(words)};
}

}  // namespace attn
