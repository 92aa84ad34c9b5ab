#pragma once

#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// Kind of an error, as far as a caller can act on it. The values are the program's exit codes.
enum class ErrorKind {
  usage = 2,      ///< the request is wrong whatever the input holds
  input = 3,      ///< the input is malformed, inconsistent or beyond a limit
  file = 4,       ///< a file cannot be opened, read or written
  internal = 70,  ///< a broken promise of this library
};

/// The only exception that the library throws: what is wrong, where, and what to do about it.
///
/// problem() is a sentence without a full stop. where() names a file, byte, line, JSON pointer or a
/// field of a function's options ("MapSelection::keys"); help() says what the user can do; both may
/// be empty.
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string problem, std::string where, std::string help);

  ErrorKind kind() const noexcept { return kind_; }
  const std::string& problem() const noexcept { return problem_; }
  const std::string& where() const noexcept { return where_; }
  const std::string& help() const noexcept { return help_; }

  /// All parts that are not empty, a line each: "problem\n  where: …\n  help:  …". Characters that
  /// a terminal would obey are escaped, such as \x1b.
  const char* what() const noexcept override { return text_.c_str(); }

  /// This error with the place in a container: "q.npy" and "byte 12" give "q.npy, byte 12".
  Error inside(const std::string& container) const;

 private:
  ErrorKind kind_;
  std::string problem_, where_, help_, text_;
};

/// Error of the kind `input`, the most frequent one.
Error input_error(std::string problem, std::string where, std::string help);

/// All problems of one input, each as the function that uses the input would throw it.
struct Validation {
  std::string input;            ///< its name: a path, or "standard input"
  std::vector<Error> problems;  ///< empty = the input is valid
};

/// Help for an unknown name: "did you mean \"causal\"?" or, if no known name is near, "known: a, b,
/// c".
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

}  // namespace attn
