#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/json_value.hpp"
#include "tokens/aligned_text.hpp"
#include "tokens/regular_expression.hpp"

// Stages of a tokenizer as a tokenizer.json lists them: normalizers change a text, pre-tokenizers
// cut it into words, a post-processor puts special tokens around it, decoders write tokens as text.

namespace attn {

/// Names of keys or types.
using Names = std::vector<std::string_view>;

/// An object of a tokenizer.json with a "type". Each function throws Error(input) at the JSON
/// pointer of the key that is absent or holds another type.
class Stage : public JsonObject {
 public:
  Stage(const JsonValue& value, std::string place);

  /// The value of "type".
  const std::string& type() const;

  /// Throws Error(input) at the first key that is neither among `keys` nor "type": ignoring it
  /// could give other tokens. `type` names the stage in the error.
  void expect_keys(const Names& keys, const std::string& type) const;

  /// The value of a key; null if it is absent or null.
  const JsonValue* find(std::string_view key) const noexcept;

  using JsonObject::boolean;
  bool boolean(std::string_view key, bool otherwise) const;
  std::optional<std::string> optional_string(std::string_view key) const;
  /// An integer from 0 to `most`.
  std::int64_t integer(std::string_view key, std::int64_t most) const;
  /// A string of one character.
  char32_t character(std::string_view key) const;
};

/// A type of stage: its name, its keys besides "type" (any if absent), and its reading.
template <class Result>
struct StageType {
  std::string_view name;
  std::optional<Names> keys;
  std::function<Result(const Stage&)> read;
};

/// Throws Error(input) for a type that is none of `known`; `noun` is what they name.
[[noreturn]] void refuse_type(const Stage& stage, const std::string& noun, const Names& known);

/// Throws Error(input) for one more stage than a tokenizer may have; `before` is the number of
/// those before it. Each stage goes over the whole text.
void check_stage_count(std::size_t before, const Stage& stage);

/// Reads a stage by a table of types. A Sequence is read as its members, which the key `members`
/// lists. Calls use(result, stage) for each. Throws Error(input) for a type that is not in the
/// table, named by `noun`, and for a key that is not in the type's row.
template <class Result, class Use>
void read_stages(const Stage& stage, const std::string& noun, std::string_view members,
                 const std::vector<StageType<Result>>& types, Use&& use) {
  const std::string& type = stage.type();
  if (type == "Sequence") {
    stage.expect_keys({members}, type);
    stage.each(members, [&](const JsonValue& value, const std::string& place) {
      read_stages(Stage(value, place), noun, members, types, use);
    });
    return;
  }
  const auto row = std::find_if(types.begin(), types.end(),
                                [&](const StageType<Result>& known) { return known.name == type; });
  if (row == types.end()) {
    Names known = {"Sequence"};
    for (const StageType<Result>& one : types) known.push_back(one.name);
    std::sort(known.begin(), known.end());
    refuse_type(stage, noun, known);
  }
  if (row->keys) stage.expect_keys(*row->keys, type);
  use(row->read(stage), stage);
}

/// A step that changes a text, within the text's budget of matching if it has patterns.
template <class Text>
class TextStep {
 public:
  /// From a callable of (Text&) or (Text&, MatchBudget&).
  template <class Change>
  TextStep(Change change) {
    if constexpr (std::invocable<const Change&, Text&>) {
      change_ = [own = std::move(change)](Text& text, MatchBudget&) { own(text); };
    } else {
      change_ = std::move(change);
    }
  }

  void operator()(Text& text, MatchBudget& budget) const { change_(text, budget); }

 private:
  std::function<void(Text&, MatchBudget&)> change_;
};

/// A change of a text before it is cut into words.
using Normalizer = TextStep<AlignedText>;
/// A cut of the unsettled parts of a text into words, which may also change them.
using Splitter = TextStep<SplitText>;

/// The normalizers of a tokenizer.json in order. Throws Error(input) naming a type or key that is
/// not supported, as all functions here that read.
std::vector<Normalizer> read_normalizer(const Stage& stage);

/// The pre-tokenizers of a tokenizer.json in order.
std::vector<Splitter> read_splitters(const Stage& stage);

/// A pattern, {"String": …} or {"Regex": …}.
RegularExpression read_pattern(const Stage& stage, std::string_view key);

// Normalizers.

/// BERT's: with `clean` control and replacement characters are dropped and all white space becomes
/// U+0020; Chinese characters get spaces around them; letters lose their accents by canonical
/// decomposition; each character is lower-cased by itself.
struct BertNormalizer {
  bool clean = true, chinese = true, strip_accents = true, lowercase = true;

  void operator()(AlignedText& text) const;
};

/// Unicode's normalization forms NFC, NFD, NFKC and NFKD (UAX #15).
struct UnicodeForm {
  bool compatibility, composed;

  void operator()(AlignedText& text) const;
};

/// Replaces each match by `content`.
struct Replace {
  RegularExpression pattern;
  std::string content;

  void operator()(AlignedText& text, MatchBudget& budget) const;
};

/// Puts `content` before a text that is not empty.
void prepend(AlignedText& text, std::string_view content);

/// Replaces each byte by the letter that stands for it.
void spell_bytes(AlignedText& text);

/// SentencePiece's compiled table of replacements of characters (nmt_nfkc and others): a
/// double-array trie over the replaced characters, and the replacements.
class PrecompiledMap {
 public:
  /// `bytes`: the trie's size in four bytes, the trie, the replacements, each ended by a zero.
  /// Throws Error(input) at `where` if they do not fit together.
  PrecompiledMap(std::string_view bytes, const std::string& where);

  /// Checks the table for readers without checks of their own: throws Error(input) unless every
  /// text leads to places within the trie and the replacements.
  void check_every_way() const;

  /// Replaces whole grapheme clusters of fewer than six bytes if the table has an entry with which
  /// one begins, and otherwise single characters, as Hugging Face's library does.
  void normalize(AlignedText& text) const;

 private:
  std::optional<std::string_view> find(std::string_view text) const;

  std::vector<std::uint32_t> trie_;
  std::string replacements_;
  std::string where_;
};

// Pre-tokenizers.

/// BERT's: white space parts words and is dropped; punctuation marks are words of their own.
void split_as_bert(SplitText& text);

/// GPT-2's: with `add_space` each part begins with a space; with `use_pattern` words are matches of
/// its regular expression; bytes become the letters that stand for them.
Splitter split_bytes(bool add_space, bool use_pattern);

/// Cuts by a pattern; `invert`: by what lies between its matches.
Splitter split_pattern(const RegularExpression& pattern, SplitBehavior behavior, bool invert);
/// Cuts by a regular expression in Oniguruma's syntax, every match a part of its own.
Splitter isolate(const std::string& pattern);

/// SentencePiece's: spaces become `replacement`, which is put before a part that does not begin
/// with it: never, always, or only where a part begins the text. With `cut` each one begins a part.
struct Metaspace {
  enum class Prepend { never, first, always };
  std::string replacement = "\u2581";
  Prepend prepend = Prepend::always;
  bool cut = true;

  void operator()(SplitText& text) const;
};

/// The settings of a Metaspace, pre-tokenizer or decoder, and their keys.
Metaspace read_metaspace(const Stage& stage);
inline const Names metaspace_keys = {"replacement", "prepend_scheme", "split", "add_prefix_space",
                                     "str_rep"};

// Post-processors.

/// Special tokens around one text and around a pair, in order with the texts.
struct TextTemplate {
  struct Part {
    int text = -1;          ///< 0 the first text, 1 the second, −1 the special tokens `ids`
    std::int64_t type = 0;  ///< token type
    std::vector<TokenId> ids;
  };
  /// Without a template the texts follow each other, of types 0 and 1.
  std::vector<Part> single = {{0, 0, {}}};
  std::vector<Part> pair = {{0, 0, {}}, {1, 1, {}}};
  bool takes_pairs = true;  ///< whether there is a way to put two texts together
};

/// first A last, and for pairs first A last B last (BERT), of types 0 and 1; with `doubled` first A
/// last last B last, all of type 0 (RoBERTa).
TextTemplate enclosing_template(TokenId first, TokenId last, bool doubled);

/// The template of a post-processor. Throws Error(input) for an id that is not below `tokens`.
TextTemplate read_template(const Stage& stage, std::size_t tokens);

// Decoders.

/// The writing of tokens for readers: marks of spaces become spaces, letters of bytes characters.
/// WordPiece's ## stays, as it distinguishes pieces from words.
struct PieceText {
  bool letters_of_bytes = false;  ///< GPT-2's
  bool byte_tokens = false;       ///< <0xE2> and the like
  std::vector<Replace> replacements;
  std::string end_suffix;  ///< becomes a space
  bool drops_first_space = false;

  /// The text of each token. A character that is spread over several tokens stands whole over each
  /// of them; bytes that make no character are written <0xE2>. `begins_text`: with
  /// `drops_first_space` the first token loses its first space, which no text had.
  std::vector<std::string> pieces(std::span<const std::string_view> tokens, bool begins_text,
                                  MatchBudget& budget) const;

 private:
  std::string bytes_of(std::string_view token, MatchBudget& budget) const;
};

/// The writing that the decoders of a tokenizer.json describe.
PieceText read_decoder(const Stage& stage);

}  // namespace attn
