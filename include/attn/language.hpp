#pragma once

#include <concepts>
#include <cstddef>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <string_view>

namespace attn {

/// Sets the language of texts for readers (explanations, reports, errors, pictures) to that of a
/// catalogue, a file that gettext's msgfmt writes (`attn.mo`). Texts that the catalogue lacks are
/// English; an empty path sets English, the language at the start. Numbers and names of keys and
/// tensors do not depend on the language. No locale is needed or changed, and texts made earlier
/// stay.
///
/// May be called at any time from any thread; a text that another thread makes meanwhile is in the
/// old language or the new one. Throws Error(file) if the file cannot be read, Error(input) if it
/// is no catalogue.
void speak(const std::filesystem::path& catalogue);

/// Marks a text of a table that is translated where it is used. xgettext finds the arguments of
/// this function and of the functions below; data/translations/ has the texts of each language.
constexpr const char* to_translate(const char* text) noexcept {
  return text;
}

/// Text in the language that speak() set, for texts of this library such as the meanings in kinds()
/// and for all others that the catalogue has. A text that it lacks is returned unchanged.
std::string translated(std::string_view text);
/// Translated text with values in the places of {1} to {9}. Other braces stay.
std::string translated_with(std::string_view text, std::initializer_list<std::string> values);

/// True if the current catalogue has the text; false in English.
bool is_translated(std::string_view text) noexcept;

/// Text of a value in the place of {1} to {9}.
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

/// Translated text that depends on a number, its {1}: `one` for 1, else `many`. Languages without
/// plurals have one text for both. `values` are {2} and so on.
template <class... Values>
std::string translated_count(std::size_t count, std::string_view one, std::string_view many,
                             const Values&... values) {
  return translated_with(count == 1 || is_translated(one) ? one : many,
                         {value_text(count), value_text(values)...});
}

}  // namespace attn
