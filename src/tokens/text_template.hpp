#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tokens/stage.hpp"
#include "tokens/token_table.hpp"

namespace attn {

/// What is put around one text and around a pair: in order special tokens and the texts.
struct TextTemplate {
  struct Part {
    int text = -1;          ///< 0 the first text, 1 the second, −1 the special tokens `ids`
    std::int64_t type = 0;  ///< token type
    std::vector<TokenId> ids;
  };
  /// Without a template the texts follow each other as types 0 and 1.
  std::vector<Part> single = {{0, 0, {}}};
  std::vector<Part> pair = {{0, 0, {}}, {1, 1, {}}};
};

/// first A last, and for pairs first A last B last (BERT), of types 0 and 1; with `doubled` first A
/// last last B last, all of type 0 (RoBERTa).
TextTemplate enclosing_template(TokenId first, TokenId last, bool doubled);

/// From the post-processor of a tokenizer.json. Throws Error(input) naming a type, a key or a
/// token that is not supported; ids are below `tokens`.
TextTemplate read_template(const Stage& stage, std::size_t tokens);

}  // namespace attn
