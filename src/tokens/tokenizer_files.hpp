#pragma once

#include <string>

#include "tokens/normalizers.hpp"
#include "tokens/tokenizer.hpp"
#include "tokens/tokenizer_parts.hpp"

namespace attn {

/// The tokenizer that the files of a folder tell.
TokenizerParts parts_from_files(const TokenizerFiles& files);

/// As tokenizer_config.json names them, or by their usual names.
SpecialIds special_ids_of(const TokenizerParts& parts, const TokenizerFiles& files);

struct BertSettings {
  BertNormalizer normalizer;
  std::string first = "[CLS]", last = "[SEP]", unknown = "[UNK]";
  bool doubled = false;  ///< two separators between the texts of a pair (MPNet)
};

/// BERT's tokenizer over a vocabulary. Throws Error(input) at `where` if the vocabulary lacks one
/// of the three tokens.
TokenizerParts bert_parts(const Vocabulary& vocabulary, const BertSettings& settings,
                          const std::string& where);

}  // namespace attn
