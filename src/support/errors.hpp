#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

namespace attn {

/// Candidate with the smallest edit distance to `name`, ignoring case; an exchange of neighbours is
/// one edit. Empty if that distance is more than 2 and more than a third of the longer name.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> candidates);

/// Whether a word is among those with commas between them.
bool has_word(std::string_view words, std::string_view wanted) noexcept;

/// True if an error's place is a field of a function's options, such as "MapSelection::keys", and
/// not a place in a file.
constexpr bool names_option(std::string_view where) {
  const std::size_t end = where.find("::");
  if (end == std::string_view::npos || end == 0 || where[0] < 'A' || where[0] > 'Z') return false;
  for (const char c : where.substr(0, end)) {
    if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
  }
  return true;
}

/// Positions in a file for Error::where(), the same in every language: "line 3, column 5", "row 2".
std::string line_place(std::size_t line, std::optional<std::size_t> column = std::nullopt);
std::string row_place(std::size_t row);

/// Error::where() in the language of speak(): programs read the one, people the other.
std::string place_for_readers(std::string_view where);

/// Several errors of one input. Caught as Error, it is the first error.
class SeveralErrors : public Error {
 public:
  /// `errors` are not empty.
  explicit SeveralErrors(std::vector<Error> errors)
      : Error(errors.front()), errors_(std::move(errors)) {}

  const std::vector<Error>& errors() const noexcept { return errors_; }

 private:
  std::vector<Error> errors_;
};

/// What to do about a number that is not below `count`: "give 0 to 3", or "give 0" if that is all.
std::string give_below(std::size_t count);

/// Reason for which the operating system refused, `error` being its errno: "No such file or
/// directory", in the language of speak() for the errors that files usually meet.
std::string system_error_text(int error);

}  // namespace attn
