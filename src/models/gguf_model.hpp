#pragma once

#include "io/gguf.hpp"
#include "io/json_value.hpp"

namespace attn {

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
