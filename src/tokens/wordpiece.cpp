#include "tokens/wordpiece.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "tokens/bert_normalizer.hpp"
#include "tokens/utf8.hpp"

namespace attn {
namespace {

constexpr std::string_view continuation = "##";

}  // namespace

WordPiece::WordPiece(Vocabulary vocabulary, bool lowercase, const std::string& where)
    : vocabulary_(std::move(vocabulary)), lowercase_(lowercase) {
  constexpr std::string_view advice =
      "WordPiece needs [UNK], [CLS] and [SEP], as BERT's vocab.txt has them";
  unknown_ = vocabulary_.id("[UNK]", where, advice);
  start_ = vocabulary_.id("[CLS]", where, advice);
  end_ = vocabulary_.id("[SEP]", where, advice);
  for (const std::string_view name : {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}) {
    if (const auto id = vocabulary_.find(name)) {
      special_.push_back({characters_of(name, where), *id});
    }
  }
}

Pieces WordPiece::encode(std::string_view utf8, std::string_view where) const {
  const std::u32string characters = characters_of(utf8, where);
  const std::u32string_view text = characters;
  Pieces pieces;
  append(pieces, start_);
  std::size_t done = 0;
  for (std::size_t i = text.find(U'['); i != std::u32string_view::npos; i = text.find(U'[', i)) {
    const auto special = std::find_if(special_.begin(), special_.end(), [&](const Special& s) {
      return text.substr(i).starts_with(s.text);
    });
    if (special == special_.end()) {
      ++i;
      continue;
    }
    append_text(pieces, text.substr(done, i - done));
    append(pieces, special->id);
    i += special->text.size();
    done = i;
  }
  append_text(pieces, text.substr(done));
  append(pieces, end_);
  return pieces;
}

void WordPiece::append(Pieces& pieces, std::int64_t id) const {
  pieces.ids.push_back(id);
  pieces.texts.push_back(vocabulary_.token(id));
}

void WordPiece::append_text(Pieces& pieces, std::u32string_view text) const {
  const std::u32string normalized = bert_normalized(text, lowercase_);
  const auto special = std::find_if(special_.begin(), special_.end(),
                                    [&](const Special& s) { return normalized == s.text; });
  if (special != special_.end()) return append(pieces, special->id);
  const std::u32string_view rest = normalized;
  for (std::size_t i = 0; i < rest.size();) {
    if (rest[i] == U' ') {
      ++i;
      continue;
    }
    std::size_t end = i + 1;
    if (!is_bert_punctuation(rest[i])) {
      while (end < rest.size() && rest[end] != U' ' && !is_bert_punctuation(rest[end])) ++end;
    }
    append_word(pieces, rest.substr(i, end - i));
    i = end;
  }
}

void WordPiece::append_word(Pieces& pieces, std::u32string_view word) const {
  constexpr std::size_t most_characters = 100;
  if (word.size() > most_characters) return append(pieces, unknown_);

  // "##" and the word in UTF-8. A piece is a stretch of it; later pieces get their "##" written
  // over the two bytes before them, which are done with.
  std::string marked(continuation);
  std::vector<std::size_t> starts = {marked.size()};  // in `marked`, of each character, and its end
  for (const char32_t c : word) {
    append_utf8(marked, c);
    starts.push_back(marked.size());
  }

  std::vector<std::int64_t> found;
  for (std::size_t next = 0; next < word.size();) {
    std::size_t from = starts[next];
    if (next > 0) {
      from -= continuation.size();
      marked.replace(from, continuation.size(), continuation);
    }
    std::optional<std::int64_t> id;
    std::size_t end = word.size();
    for (; end > next; --end) {
      const std::size_t bytes = starts[end] - from;
      if (bytes <= vocabulary_.longest()) {
        id = vocabulary_.find(std::string_view(marked).substr(from, bytes));
      }
      if (id) break;
    }
    if (!id) return append(pieces, unknown_);
    found.push_back(*id);
    next = end;
  }
  for (const std::int64_t id : found) append(pieces, id);
}

}  // namespace attn
