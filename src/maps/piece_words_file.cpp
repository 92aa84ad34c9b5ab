#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "attn/error.hpp"
#include "attn/run.hpp"

#include "document/labels.hpp"
#include "io/json_object.hpp"
#include "io/json_value.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

constexpr const char* expected = to_translate(
    "give a list of words, of [first, end] positions, or for each token of the number of its word "
    "or null");

// The positions of each word, of the number that each piece has.
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

PieceWords read_piece_words(const std::filesystem::path& path, const FileAccess& access) {
  FileAccess anywhere = access;
  anywhere.restrict_to.reset();  // what the user names may stand anywhere
  const auto file = MappedFile::open(path, anywhere);
  try {
    PieceWords words = words_in(file->text(), anywhere);
    if (words.words.empty() && words.pieces.empty())
      throw input_error(translated("no word"), "", translated(expected));
    return words;
  } catch (const Error& error) {
    throw error.inside(path == "-" ? translated("standard input") : path.string());
  }
}

}  // namespace attn
