#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace attn {

/// The tokens of a model, numbered from 0. Copies share the tokens.
class Vocabulary {
 public:
  /// The tokens in order of their ids. Throws Error(input) if there are none, if one is not UTF-8
  /// or given twice (naming both indices); `where` is the list's JSON pointer.
  static Vocabulary from_list(std::vector<std::string> tokens, const std::string& where);

  /// One token per line, the first with id 0, as Hugging Face's load_vocab reads a vocab.txt: lines
  /// end in \n, \r\n or \r, the last one may lack its end, blanks belong to the token and an empty
  /// line is the empty token. A byte order mark is skipped. Throws Error(input) if the text is
  /// empty or not UTF-8, or if a token is given twice (naming both lines, counted from 1); `where`
  /// names the file.
  static Vocabulary from_text(std::string_view text, const std::string& where);

  std::size_t size() const noexcept;

  /// The token of an id in 0…size() − 1; throws Error(internal) for any other.
  const std::string& token(std::int64_t id) const;

  std::optional<std::int64_t> find(std::string_view token) const;

  /// The id of a token that the input names. Throws Error(input) at `where` if the vocabulary lacks
  /// it; the help is the nearest known token followed by `advice`, if there is any.
  std::int64_t id(std::string_view token, std::string_view where,
                  std::string_view advice = {}) const;

 private:
  struct Index;

  explicit Vocabulary(std::shared_ptr<const Index> index) : index_(std::move(index)) {}

  std::shared_ptr<const Index> index_;
};

}  // namespace attn
