#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "document/labels.hpp"
#include "io/json_value.hpp"
#include "maps/selected_map.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Number of the word of each position; nothing for a position that stands alone.
using WordNumbers = std::vector<std::optional<std::size_t>>;

constexpr const char* field = "MapSelection::words";

// Text of a label without the marks and spaces of its tokenizer.
std::string text_of_piece(const std::string& label, TokenSpelling spelling) {
  std::string text = words_of({label}, spelling)[0].text;
  if (spelling == TokenSpelling::wordpiece && text.starts_with("##")) text.erase(0, 2);
  std::erase(text, ' ');
  return text;
}

bool begins_with(std::string_view text, std::string_view start) {
  const auto lower = [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  return text.size() >= start.size() &&
         std::equal(start.begin(), start.end(), text.begin(),
                    [&](char a, char b) { return lower(a) == lower(b); });
}

// Finds the words whose letters the pieces spell, one after the other; special tokens belong to no
// word. Sets `problem` where a piece does not go on with its word.
WordNumbers numbers_by_letters(const std::vector<std::string>& words, const ShownAxis& axis,
                               TokenSpelling spelling, std::string& problem) {
  WordNumbers numbers(axis.count);
  if (axis.labels.empty()) {
    problem = translated("there are no labels whose letters could be those of the words");
    return numbers;
  }
  std::size_t word = 0, used = 0;
  for (std::size_t i = 0; i < axis.count; ++i) {
    const std::string piece = text_of_piece(axis.labels[i], spelling);
    if (is_special_token(axis.labels[i]) || piece.empty()) continue;
    if (word == words.size()) {
      problem = translated("the words end before the token \"{1}\", number {2}", axis.labels[i], i);
      return numbers;
    }
    if (!begins_with(std::string_view(words[word]).substr(used), piece)) {
      problem = translated("the token \"{1}\", number {2}, does not go on with the word \"{3}\"",
                           axis.labels[i], i, words[word]);
      return numbers;
    }
    numbers[i] = word;
    used += piece.size();
    if (used == words[word].size()) {
      ++word;
      used = 0;
    }
  }
  if (word < words.size())
    problem = translated("the tokens end within the word \"{1}\"", words[word]);
  return numbers;
}

WordNumbers numbers_by_positions(const PieceWords& given, const ShownAxis& axis,
                                 std::string& problem) {
  WordNumbers numbers(axis.count);
  for (std::size_t word = 0; word < given.pieces.size(); ++word) {
    const auto [first, end] = given.pieces[word];
    if (end > axis.count) {
      problem = translated("the word {1} goes up to token {2} of {3}", word, end, axis.count);
      return numbers;
    }
    for (std::size_t i = first; i < end; ++i) numbers[i] = word;
  }
  return numbers;
}

WordNumbers numbers_of(const PieceWords& given, const ShownAxis& axis, TokenSpelling spelling,
                       std::string& problem) {
  return given.words.empty() ? numbers_by_positions(given, axis, problem)
                             : numbers_by_letters(given.words, axis, spelling, problem);
}

std::vector<Word> grouped(const WordNumbers& numbers, const ShownAxis& axis,
                          TokenSpelling spelling) {
  std::vector<Word> words;
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < axis.positions.size(); ++i) {
    const std::size_t position = axis.positions[i];
    const auto number = numbers[position];
    const std::string& label = axis.labels.empty() ? std::string() : axis.labels[position];
    const std::string text = label.empty() ? label : text_of_piece(label, spelling);
    if (number && number == before) {
      words.back().text += text;
      words.back().end = i + 1;
    } else {
      words.push_back({text, i, i + 1});
    }
    before = number;
  }
  return words;
}

// Words by the marks of all labels: where the start of a word is not shown, its other pieces do not
// go on with the word before it.
std::vector<Word> marked(const ShownAxis& axis, TokenSpelling spelling) {
  std::vector<Word> words;
  const std::vector<std::size_t>& shown = axis.positions;
  if (axis.labels.empty()) {
    for (std::size_t i = 0; i < shown.size(); ++i) words.push_back({"", i, i + 1});
    return words;
  }
  std::size_t first = 0;
  for (const Word& whole : words_of(axis.labels, spelling)) {
    std::vector<std::string> pieces;
    for (std::size_t i = first; i < shown.size() && shown[i] < whole.end; ++i)
      pieces.push_back(axis.labels[shown[i]]);
    for (Word& word : words_of(pieces, spelling))
      words.push_back({std::move(word.text), first + word.first, first + word.end});
    first += pieces.size();
  }
  return words;
}

constexpr const char* expected = to_translate(
    "give a list of words, of [first, end] positions, or for each token of the number of its word "
    "or null");

// Positions of each word, from the number of the word that each piece has.
PieceWords by_numbers(const JsonValue& list) {
  PieceWords words;
  std::optional<std::int64_t> before;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonValue& element = list.element(i);
    std::optional<std::int64_t> number;
    if (!element.is(JsonValue::Type::null)) {
      number = expect_integer(element, pointer_to("", i), 0);
    }
    if (number && number == before) {
      words.pieces.back().second = i + 1;
    } else if (number) {
      words.pieces.emplace_back(i, i + 1);
    }
    before = number;
  }
  return words;
}

PieceWords by_positions(const JsonValue& list) {
  PieceWords words;
  std::size_t before = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const JsonValue& pair = list.element(i);
    const std::string at = pointer_to("", i);
    if (!pair.is(JsonValue::Type::array) || pair.size() != 2) {
      throw input_error(translated("expected [first, end], found {1}", translated(type_text(pair))),
                        at, translated(expected));
    }
    const auto first =
        static_cast<std::size_t>(expect_integer(pair.element(0), pointer_to(at, 0), 0));
    const auto end =
        static_cast<std::size_t>(expect_integer(pair.element(1), pointer_to(at, 1), 0));
    if (end <= first || first < before) {
      throw input_error(
          translated("the positions {1} up to {2} do not follow those of the word before", first,
                     end),
          at, translated("give the words in their order, each at least one token long"));
    }
    words.pieces.emplace_back(first, end);
    before = end;
  }
  return words;
}

PieceWords words_in(std::string_view text, const FileAccess& access) {
  if (!begins_like_json(text)) return {lines_of(text), {}};
  const JsonValue list = parse_json(text, {.depth = access.limits.nesting});
  if (!list.is(JsonValue::Type::array) || list.size() == 0) {
    throw input_error(translated("expected a list, found {1}", list.is(JsonValue::Type::array)
                                                                   ? translated("an empty array")
                                                                   : translated(type_text(list))),
                      "", translated(expected));
  }
  const JsonValue& first = list.element(0);
  if (first.is(JsonValue::Type::array)) return by_positions(list);
  if (!first.is(JsonValue::Type::string)) return by_numbers(list);
  PieceWords words;
  for (std::size_t i = 0; i < list.size(); ++i) {
    words.words.push_back(expect_string(list.element(i), pointer_to("", i)));
  }
  return words;
}

}  // namespace

WordsOfAxes merged_words(const std::optional<PieceWords>& given, const ShownAxis& queries,
                         const ShownAxis& keys) {
  if (!given && queries.labels.empty() && keys.labels.empty()) {
    throw input_error(translated("there are no labels that show which pieces make a word"),
                      "MapSelection::merge_pieces",
                      translated("give the tokens as labels: {\"query\": […], \"key\": […]}"));
  }
  const auto spelling = token_spelling({&queries.labels, &keys.labels});
  if (!given) return {marked(queries, spelling), marked(keys, spelling)};
  std::string of_queries, of_keys;
  const WordNumbers query_numbers = numbers_of(*given, queries, spelling, of_queries);
  const WordNumbers key_numbers = numbers_of(*given, keys, spelling, of_keys);
  if (!of_queries.empty() && !of_keys.empty()) {
    throw input_error(of_keys, field,
                      translated("give the words of the text in their order, special tokens left "
                                 "out, or the positions of their tokens"));
  }
  return {
      of_queries.empty() ? grouped(query_numbers, queries, spelling) : marked(queries, spelling),
      of_keys.empty() ? grouped(key_numbers, keys, spelling) : marked(keys, spelling)};
}

PieceWords read_piece_words(const std::filesystem::path& path, const FileAccess& access) {
  const auto file = MappedFile::open(FileName::by_user(path), access);
  try {
    PieceWords words = words_in(file->text(), access);
    if (words.words.empty() && words.pieces.empty())
      throw input_error(translated("no word"), "", translated(expected));
    return words;
  } catch (const Error& error) {
    throw error.inside(path == "-" ? translated("standard input") : path.string());
  }
}

}  // namespace attn
