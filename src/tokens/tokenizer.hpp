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

struct TokenizerParts;

/// A token of a text.
struct TextToken {
  std::int64_t id;
  std::int64_t type;       ///< token type, for models that have them
  std::string piece;       ///< as a reader would write it
  int text;                ///< 0 the first text, 1 the second, −1 put around them
  std::size_t begin, end;  ///< bytes of that text it stands for, whole characters; 0 without
  std::int64_t word;       ///< which word of the texts, counted through both; −1 without
  bool special;            ///< put around the texts, or a special token that they name
};

/// The files of a checkpoint folder that tell its tokenizer, as bytes; those that are not there are
/// absent.
struct TokenizerFiles {
  std::optional<std::string_view> tokenizer_json, tokenizer_config, special_tokens_map,
      added_tokens, vocab_txt, vocab_json, merges_txt;
  /// tokenizer.model, spiece.model, sentencepiece.bpe.model or source.spm, and which of these it
  /// is.
  std::optional<std::string_view> sentencepiece;
  std::string sentencepiece_name = "tokenizer.model";
  /// Of config.json: tells how the texts are enclosed where tokenizer_config.json does not.
  std::string model_type;
};

/// Ids of tokens that models treat by themselves, as far as they are known.
struct SpecialIds {
  std::optional<std::int64_t> pad, mask, first, last, separator, classifier, unknown;
};

/// Cuts texts into the tokens of a checkpoint: what Hugging Face's tokenizers library gives for the
/// same files. Copies share the vocabulary.
class Tokenizer {
 public:
  /// From tokenizer.json; or else from a SentencePiece model, from vocab.json with merges.txt, or
  /// from vocab.txt, as the tokenizer_class of tokenizer_config.json or the model's type says.
  /// Throws Error(input) that names the file, the place in it and what is not supported.
  static Tokenizer from_files(const TokenizerFiles& files);

  /// BERT's, from its vocabulary. `lowercase`: lower-case and strip accents, for an uncased
  /// vocabulary. Throws Error(input) at `where` if the vocabulary lacks [UNK], [CLS] or [SEP].
  static Tokenizer wordpiece(const Vocabulary& vocabulary, bool lowercase,
                             const std::string& where);

  /// The tokens of one text or a pair. `special_tokens`: whether those of the template are put
  /// around them. A token that was added to the vocabulary stands for itself where a text names it.
  /// Throws Error(input) at `where` if a text is no UTF-8 or longer than 4 MiB, or if something in
  /// it has no token.
  std::vector<TextToken> encode(std::string_view text, std::optional<std::string_view> pair,
                                bool special_tokens, std::string_view where) const;

  /// Tokens as a reader would write them: " word" for Ġword and ▁word; a character that is spread
  /// over several tokens whole over each. Ids are below size().
  std::vector<std::string> pieces(std::span<const std::int64_t> ids) const;

  /// One more than the largest id.
  std::size_t size() const noexcept;
  std::optional<std::int64_t> id(std::string_view token) const;
  /// As the vocabulary has it, empty where it has a hole; the id is below size().
  std::string_view token(std::int64_t id) const;

  const SpecialIds& special_ids() const noexcept { return special_; }

  /// "WordPiece", "WordLevel", "BPE", "Unigram" or "SentencePiece".
  std::string_view model() const noexcept;

 private:
  Tokenizer(TokenizerParts parts, SpecialIds special);

  std::shared_ptr<const TokenizerParts> parts_;
  SpecialIds special_;
  std::size_t size_;
};

}  // namespace attn
