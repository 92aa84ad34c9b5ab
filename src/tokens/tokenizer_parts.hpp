#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "io/json_events.hpp"
#include "tokens/added_tokens.hpp"
#include "tokens/byte_pair.hpp"
#include "tokens/normalizers.hpp"
#include "tokens/piece_text.hpp"
#include "tokens/sentence_piece.hpp"
#include "tokens/splitters.hpp"
#include "tokens/text_template.hpp"
#include "tokens/token_table.hpp"
#include "tokens/unigram.hpp"
#include "tokens/word_piece.hpp"

namespace attn {

using Model =
    std::variant<WordPieceModel, WordLevelModel, BytePairModel, UnigramModel, SentencePieceModel>;

/// All that a tokenizer is made of, whatever files it came from: a text goes through the added
/// tokens, normalizers, added tokens that are found in normalized text, splitters, model, template.
struct TokenizerParts {
  std::shared_ptr<const TokenTable> tokens;  ///< the model's: ids 0, 1, … without a hole
  Model model;
  std::vector<Normalizer> normalizers;
  std::vector<Splitter> splitters;
  AddedTokens added;
  TextTemplate around;
  PieceText written;

  /// The model's tokens and those that were added behind them.
  std::size_t size() const;
  std::optional<TokenId> find(std::string_view token) const;
  /// The token of an id below size().
  std::string_view token(TokenId id) const;
};

/// Gives each token that the model has its id there and numbers the others behind them in order.
/// Throws Error(input) at its place if one says that it has another id.
void number_added_tokens(std::vector<AddedToken>& added, const TokenTable& tokens,
                         const std::vector<std::optional<TokenId>>& stated);

/// Throws Error(input) at `where` if an id below the largest has no token.
void expect_no_hole(const TokenTable& tokens, const std::string& where);

/// The merges of pairs as they come, "a b" each, in the order of their ranks.
class MergeList {
 public:
  void add(std::string_view left, std::string_view right);
  /// The two halves with one space between them; false if it is not so.
  bool add_line(std::string_view both);
  std::size_t size() const noexcept { return ends_.size(); }

  /// The table; each pair and what it becomes is among the tokens. `prefix` of a right half is
  /// dropped where the two are joined. Throws Error(input) at place_of(index) otherwise.
  std::shared_ptr<const MergeTable> table(
      const TokenTable& tokens, std::string_view prefix,
      const std::function<std::string(std::size_t)>& place_of) const;

 private:
  struct Ends {
    std::size_t left, right;  // in `letters_`
  };
  std::string letters_;
  std::vector<Ends> ends_;
};

/// Enters the tokens and ids of the JSON object that comes next. Throws Error(input) at
/// `where`/token for a token or an id given twice and for an id of `most` or more, which leaves
/// holes.
void read_token_ids(JsonEvents& events, TokenTable& tokens, const std::string& where,
                    std::size_t most);

/// The vocabulary of a vocab.json. Throws Error(input) where it is none.
std::shared_ptr<TokenTable> read_vocab_json(std::string_view text);

/// Enters one token. Throws Error(input) at `where`/token if it or its id is there already.
void add_token(TokenTable& tokens, std::string_view token, TokenId id, const std::string& where);

/// The whole of a tokenizer.json. Throws Error(input) with a JSON pointer, or a line and column.
TokenizerParts read_tokenizer_json(std::string_view text);

}  // namespace attn
