#pragma once

#include <cstddef>

#include "tokens/token_table.hpp"

namespace attn {

/// A token that a model cut from a word, and the bytes of the word that it stands for.
struct ModelToken {
  TokenId id;
  std::size_t begin, end;
};

}  // namespace attn
