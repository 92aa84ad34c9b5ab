#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "io/gguf.hpp"
#include "io/json_value.hpp"

namespace attn {

/// The keys of a GGUF file under the name of its architecture, which remember what was read.
class GgufKeys {
 public:
  /// Keeps a reference to the file.
  GgufKeys(const Gguf& file, std::string architecture)
      : file_(file), architecture_(std::move(architecture)) {}

  /// The whole key that ends so: "llama.block_count".
  std::string key(std::string_view end) const { return architecture_ + "." + std::string(end); }

  /// Values; absent if there is no such key. Throw Error(input) at the key for a value of another
  /// type.
  std::optional<double> number(std::string_view end);
  std::optional<bool> boolean(std::string_view end);
  std::optional<std::string> text(std::string_view end);
  /// Numbers or truths (1 and 0) of the layers: one for all of them, or a list.
  std::vector<double> numbers(std::string_view end);

  /// The number that must be there. Throws Error(input) at the key otherwise.
  double needed(std::string_view end);
  /// A number that may be given for each layer. Throws Error(input) at the key if they differ.
  std::optional<double> same_number(std::string_view end);

  /// Throws Error(input) at a key that no number() or its like has asked for and that changes what
  /// llama.cpp computes for other architectures. Returns the other keys under "attention." and
  /// "rope." that nobody has asked for and that are not known to change nothing.
  std::vector<std::string> check_unread() const;

 private:
  bool has(std::string_view end);

  const Gguf& file_;
  std::string architecture_;
  std::set<std::string, std::less<>> read_;
};

/// Configuration and tokenizer of a GGUF file, in the words of checkpoint folders.
struct GgufModel {
  JsonValue config;  ///< config.json
  JsonValue row;     ///< row of the table of families with the names of the file's tensors
  std::vector<std::string> tensors;   ///< names of those that the configuration was made of
  std::vector<std::string> warnings;  ///< for reports
};

/// Reads the keys by the architecture of the file. The row says what its converter changed.
/// Throws Error(input) at the key for an architecture that is not known and for values that are
/// missing or not supported.
GgufModel read_gguf_model(const Gguf& file);

}  // namespace attn
