#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tokens/aligned_text.hpp"
#include "tokens/regular_expression.hpp"
#include "tokens/stage.hpp"

namespace attn {

/// Changes a text before it is cut into words.
using Normalizer = std::function<void(AlignedText&)>;

/// The normalizers of a tokenizer.json in order; a Sequence is its members. Throws Error(input)
/// naming a type or key that is not supported.
std::vector<Normalizer> read_normalizer(const Stage& stage);

/// BERT's: control and replacement characters are dropped and all white space becomes U+0020
/// (`clean`); spaces are put around Chinese characters; letters lose their accents, by canonical
/// decomposition; every character is lower-cased by itself.
struct BertNormalizer {
  bool clean = true, chinese = true, strip_accents = true, lowercase = true;

  void operator()(AlignedText& text) const;
};

/// Unicode's normalization forms: NFC, NFD, NFKC, NFKD (UAX #15).
struct UnicodeForm {
  bool compatibility, composed;

  void operator()(AlignedText& text) const;
};

/// Replaces each match by `content`.
struct Replace {
  RegularExpression pattern;
  std::string content;

  void operator()(AlignedText& text) const;
};

/// Puts `content` before a text that is not empty.
void prepend(AlignedText& text, std::string_view content);

/// Each byte as the letter that stands for it.
void spell_bytes(AlignedText& text);

/// A pattern, {"String": …} or {"Regex": …}.
RegularExpression read_pattern(const JsonValue& value, const std::string& where);

}  // namespace attn
