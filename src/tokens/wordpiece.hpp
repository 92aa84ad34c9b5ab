#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokens/vocabulary.hpp"

namespace attn {

/// A text cut into pieces of a vocabulary, and their ids: two lists of one length.
struct Pieces {
  std::vector<std::int64_t> ids;
  std::vector<std::string> texts;
};

/// BERT's tokenizer (Devlin et al. 2018; Hugging Face's BertTokenizer): the text is normalized,
/// split at white space and around punctuation, and each word becomes the longest pieces the
/// vocabulary has, from left to right, all but the first with "##" before them. A word without such
/// pieces, or of more than 100 characters, is [UNK].
class WordPiece {
 public:
  /// `lowercase`: lower-case and strip accents, for an uncased vocabulary. Throws Error(input) at
  /// `where` if the vocabulary lacks [UNK], [CLS] or [SEP].
  WordPiece(Vocabulary vocabulary, bool lowercase, const std::string& where);

  /// [CLS], the text's pieces, [SEP]. A special token ([PAD] [UNK] [CLS] [SEP] [MASK], as far as
  /// the vocabulary has it) that is written out in the text stands for itself, wherever it is; so
  /// does a stretch between two of them that normalization turns into one, as in
  /// @huggingface/tokenizers. Throws Error(input) at `where` if the text is no UTF-8.
  Pieces encode(std::string_view utf8, std::string_view where) const;

  const Vocabulary& vocabulary() const noexcept { return vocabulary_; }

 private:
  struct Special {
    std::u32string text;
    std::int64_t id;
  };

  void append(Pieces& pieces, std::int64_t id) const;
  void append_text(Pieces& pieces, std::u32string_view text) const;
  void append_word(Pieces& pieces, std::u32string_view word) const;

  Vocabulary vocabulary_;
  bool lowercase_;
  std::int64_t unknown_, start_, end_;
  std::vector<Special> special_;
};

}  // namespace attn
