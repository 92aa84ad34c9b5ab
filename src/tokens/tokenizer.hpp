#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/vocabulary.hpp"

namespace attn {

class Gguf;
struct TokenizerParts;

/// A token of a text.
struct TextToken {
  std::int64_t id;
  std::int64_t type;       ///< token type, for models that have them
  std::string piece;       ///< as a reader would write it
  int text;                ///< 0 the first text, 1 the second, −1 put around them
  std::size_t begin, end;  ///< bytes of that text that it covers, whole characters; 0 if none
  std::int64_t word;       ///< index of its word, counted through both texts; −1 if none
  bool special;            ///< put around the texts, or a special token that they name
};

/// The files of a checkpoint folder that define its tokenizer, as bytes; absent if not there.
struct TokenizerFiles {
  std::optional<std::string_view> tokenizer_json, tokenizer_config, special_tokens_map,
      added_tokens, vocab_txt, vocab_json, merges_txt, tekken_json;
  /// tokenizer.model, spiece.model, sentencepiece.bpe.model or source.spm, or a file of tiktoken's
  /// form such as tiktoken.model, and its name.
  std::optional<std::string_view> sentencepiece;
  std::string sentencepiece_name = "tokenizer.model";
  /// "model_type" of config.json, which decides how texts are enclosed if tokenizer_config.json
  /// does not.
  std::string model_type;
};

/// Ids of special tokens, as far as they are known.
struct SpecialIds {
  std::optional<std::int64_t> pad, mask, first, last, separator, classifier, unknown;
};

/// A tokenizer of a checkpoint. It gives the tokens that Hugging Face's tokenizers library gives
/// for the same files. Copies share the vocabulary.
class Tokenizer {
 public:
  /// From tokenizer.json; or else from a SentencePiece model, from ranks of tiktoken's form or of
  /// tekken.json, from vocab.json with merges.txt, or from vocab.txt, according to the
  /// tokenizer_class of tokenizer_config.json or the model's type. Throws Error(input) that names
  /// the file, the place in it and what is not supported.
  static Tokenizer from_files(const TokenizerFiles& files);

  /// From the keys of a GGUF file: byte-level BPE, SentencePiece's BPE or Unigram, or WordPiece.
  /// Throws Error(input) at the key.
  static Tokenizer from_gguf(const Gguf& file);

  /// BERT's, from its vocabulary. `lowercase`: lower-case and strip accents, for an uncased
  /// vocabulary. Throws Error(input) at `where` if the vocabulary lacks [UNK], [CLS] or [SEP].
  static Tokenizer wordpiece(const Vocabulary& vocabulary, bool lowercase,
                             const std::string& where);

  /// The tokens of one text or a pair, with `special_tokens` those of the template around them. An
  /// added token that a text names becomes that token. Throws Error(input) at `where` if a text is
  /// not UTF-8 or longer than 4 MiB, if something in it has no token, or if a pattern takes too
  /// long on it.
  std::vector<TextToken> encode(std::string_view text, std::optional<std::string_view> pair,
                                bool special_tokens, std::string_view where) const;

  /// Tokens as a reader would write them: " word" for Ġword and ▁word; a character that is spread
  /// over several tokens whole over each. Ids are below size().
  std::vector<std::string> pieces(std::span<const std::int64_t> ids) const;

  /// One more than the largest id.
  std::size_t size() const noexcept;
  std::optional<std::int64_t> id(std::string_view token) const;
  /// The vocabulary's text of an id below size(); empty if no token has the id.
  std::string_view token(std::int64_t id) const;

  /// Whether the token is put around texts, or is a special one that texts may name.
  bool is_special(std::int64_t id) const;

  const SpecialIds& special_ids() const noexcept { return special_; }

  /// The id that the model gives to what has no token; none if it drops or refuses that.
  std::optional<std::int64_t> unknown() const;

  /// What the files leave open, for reports.
  const std::vector<std::string>& warnings() const noexcept;

  /// "WordPiece", "WordLevel", "BPE", "Unigram" or "SentencePiece".
  std::string_view model() const noexcept;

 private:
  Tokenizer(TokenizerParts parts, SpecialIds special);

  std::shared_ptr<const TokenizerParts> parts_;
  SpecialIds special_;
  std::size_t size_;
};

}  // namespace attn
