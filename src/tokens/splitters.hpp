#pragma once

#include <functional>
#include <vector>

#include "tokens/aligned_text.hpp"
#include "tokens/stage.hpp"

namespace attn {

/// Cuts the unsettled parts of a text into words, and may change them.
using Splitter = std::function<void(SplitText&)>;

/// The pre-tokenizers of a tokenizer.json in order; a Sequence is its members. Throws Error(input)
/// naming a type or key that is not supported.
std::vector<Splitter> read_splitters(const Stage& stage);

/// White space parts words and is dropped; punctuation marks are words of their own.
void split_as_bert(SplitText& text);

/// GPT-2's: the letters of bytes, and before that, with `use_pattern`, words as its regular
/// expression finds them; with `add_space` each part begins with a space.
void split_bytes(SplitText& text, bool add_space, bool use_pattern);

/// Cuts by a regular expression in Oniguruma's syntax, every match a part of its own.
Splitter isolate(const std::string& pattern);

/// SentencePiece's: spaces become `replacement`, which is put before a part that has none there:
/// never, always, or only where a part begins the text. With `cut` each begins a new part.
struct Metaspace {
  enum class Prepend { never, first, always };
  std::string replacement = "\u2581";
  Prepend prepend = Prepend::always;
  bool cut = true;

  void operator()(SplitText& text) const;
};

/// How a Metaspace, pre-tokenizer or decoder, puts its mark before a text.
Metaspace read_metaspace(const Stage& stage);

}  // namespace attn
