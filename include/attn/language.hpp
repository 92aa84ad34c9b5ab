#pragma once

#include <concepts>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace attn {

/// From here on texts for readers (explanations, reports, errors, what pictures say) are those of a
/// catalogue, a file as gettext's msgfmt writes it (`attn.mo`), and English where it has none; an
/// empty path: English, as at the start. Numbers, names of keys and of tensors are the same in all
/// languages. No locale is needed or changed. What was said before stays as it is.
///
/// It may be called at any time from any thread; a text that is being made elsewhere meanwhile is
/// of the old language or the new one. Throws Error(file) if the file cannot be read, Error(input)
/// if it is no catalogue.
void speak(const std::filesystem::path& catalogue);

/// Marks a text that is translated where it is used: translated(to_translate("…")) of a table.
/// xgettext finds what is written as an argument of this function and of those below; the words of
/// each language stand in data/translations/.
constexpr const char* to_translate(const char* text) noexcept {
  return text;
}

/// The text in the language that speak() set: of this library's own texts, such as the meanings in
/// kinds(), and of any other that the catalogue has; what it has not is given back as it is.
std::string translated(std::string_view text);
/// The same with values: {1} stands for the first, up to {9}. Other braces are themselves.
std::string translated_with(std::string_view text, std::initializer_list<std::string> values);

/// Whether there is a translation of the text. English texts are none.
bool is_translated(std::string_view text) noexcept;

/// What stands for a value in a text.
inline std::string value_text(std::string_view text) {
  return std::string(text);
}
template <std::integral Number>
std::string value_text(Number number) {
  return std::to_string(number);
}

template <class... Values>
std::string translated(std::string_view text,
                       const Values&... values) requires(sizeof...(values) > 0) {
  return translated_with(text, {value_text(values)...});
}

/// A text that depends on a number, which is {1}: `one` of 1, else `many`. Languages without
/// plurals have one text for both.
template <class... Values>
std::string translated_count(std::size_t count, std::string_view one, std::string_view many,
                             const Values&... values) {
  return translated_with(count == 1 || is_translated(one) ? one : many,
                         {value_text(count), value_text(values)...});
}

}  // namespace attn
