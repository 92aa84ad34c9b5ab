#include "support/path_text.hpp"

#include "support/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view digits = "0123456789abcdef";
constexpr std::size_t escape_size = 4;

bool starts_with_escape(std::string_view text) {
  return text.size() >= escape_size && text.starts_with("\\x") &&
         digits.find(text[2]) != std::string_view::npos &&
         digits.find(text[3]) != std::string_view::npos;
}

}  // namespace

std::string path_text(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::size_t length = utf8_length(path);
    if (length == 0 || starts_with_escape(path)) {
      const auto byte = static_cast<unsigned char>(path[0]);
      text += {'\\', 'x', digits[byte >> 4U], digits[byte & 15U]};
    } else {
      text += path.substr(0, length);
    }
    path.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

std::string path_of_text(std::string_view text) {
  std::string path;
  while (!text.empty()) {
    const bool escaped = starts_with_escape(text);
    path +=
        escaped ? static_cast<char>(digits.find(text[2]) << 4U | digits.find(text[3])) : text[0];
    text.remove_prefix(escaped ? escape_size : 1);
  }
  return path;
}

}  // namespace attn
