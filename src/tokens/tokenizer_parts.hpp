#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/json_events.hpp"
#include "tokens/added_tokens.hpp"
#include "tokens/stages.hpp"
#include "tokens/token_models.hpp"
#include "tokens/tokenizer.hpp"

namespace attn {

/// All parts of a tokenizer, whatever files it came from. A text goes through the added tokens,
/// normalizers, added tokens that are found in normalized text, splitters, model and template.
struct TokenizerParts {
  std::shared_ptr<const TokenTable> tokens;  ///< the model's; ids may have holes
  Model model;
  std::vector<Normalizer> normalizers{};
  std::vector<Splitter> splitters{};
  AddedTokens added{};
  TextTemplate around{};
  PieceText written{};
  bool splits_special = false;  ///< special tokens that a text names are cut as other text is
  std::vector<std::string> warnings{};

  /// One more than the largest id of the model's and the added tokens.
  std::size_t size() const;
  std::optional<TokenId> find(std::string_view token) const;
  /// The token of an id below size().
  std::string_view token(TokenId id) const;
};

// Vocabularies in files of JSON.

/// Throws Error(input) at `where` if there are no tokens.
void expect_tokens(const TokenTable& tokens, const std::string& where);

/// Enters a token. Throws Error(input) at `where`/token if it or its id is in the table.
void add_token(TokenTable& tokens, std::string_view token, TokenId id, const std::string& where);

/// Enters the tokens and ids of the JSON object that comes next. Throws Error(input) at
/// `where`/token for a token or an id given twice and for an id of `most` or more.
void read_token_ids(JsonEvents& events, TokenTable& tokens, const std::string& where,
                    std::size_t most);

/// The vocabulary of a vocab.json. Throws Error(input) if it is none.
std::shared_ptr<TokenTable> read_vocab_json(std::string_view text);

// Tokenizers from files.

/// The tokenizer of a folder's files, whichever there are.
TokenizerParts parts_from_files(const TokenizerFiles& files);

class TokenizerChanges;

/// The tokenizer of a tokenizer.json, with what files beside it change. Throws Error(input) with a
/// JSON pointer, or a line and column.
TokenizerParts read_tokenizer_json(std::string_view text, TokenizerChanges changes);

/// The tokenizer of a folder with a SentencePiece model. The tokenizer_class of
/// tokenizer_config.json, or the type of the folder's model, decides how pieces are numbered and
/// what is put around a text. None if there is no such model, or if the class is that of other
/// files which are there.
std::optional<TokenizerParts> parts_from_sentence_piece(const TokenizerFiles& files);

/// Whether a file has the form of tiktoken's: lines of a token in Base64 and its rank.
bool holds_ranks(std::string_view text);

/// The tokenizer of such a file, which is in `files` as the SentencePiece model is. A known name,
/// or the class of tokenizer_config.json, says what its words are; else they are Llama 3's.
TokenizerParts parts_from_tiktoken(const TokenizerFiles& files);

/// The tokenizer of a tekken.json, Mistral's form of such a file.
TokenizerParts parts_from_tekken(const TokenizerFiles& files);

/// The first pattern of words that a name of "tokenizer.ggml.pre" stands for.
std::string words_of_gguf(std::string_view pre);

struct BertSettings {
  BertNormalizer normalizer;
  std::string first = "[CLS]", last = "[SEP]", unknown = "[UNK]";
  bool doubled = false;  ///< two separators between the texts of a pair (MPNet)
};

/// BERT's tokenizer over a vocabulary. Throws Error(input) at `where` if the vocabulary lacks one
/// of the three tokens.
TokenizerParts bert_parts(const Vocabulary& vocabulary, const BertSettings& settings,
                          const std::string& where);

/// The special tokens that tokenizer_config.json names, or those with usual names.
SpecialIds special_ids_of(const TokenizerParts& parts, const TokenizerFiles& files);

}  // namespace attn
