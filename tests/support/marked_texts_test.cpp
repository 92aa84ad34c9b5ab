#include <algorithm>
#include <cctype>
#include <filesystem>
#include <functional>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "attn/document.hpp"
#include "attn/language.hpp"
#include "attn/pictures.hpp"
#include "attn/statistics.hpp"

#include "chinese.hpp"
#include "document/keys.hpp"
#include "temporary_folder.hpp"

namespace {

/// Rooms of src/ in which every text for readers is marked for translation.
const std::vector<std::string> marked{
    "support/", "tensor/",   "kernels/", "attention/", "statistics/", "io/",       "tokens/",
    "models/",  "document/", "plot/",    "result/",    "maps/",       "pictures/", "run/",
    "explain/", "view/",     "batch/",   "heads/",     "program/",    "compare/",  "cli/"};

/// Sources whose texts shells and roff read, or that are names of fields.
const std::vector<std::string> english{"cli/completion_command.cpp", "cli/manual_command.cpp",
                                       "cli/flags_of_fields.cpp"};

/// Assertions and names.
const std::set<std::string, std::less<>> no_texts{
    R"( and \")",
    R"(\n   /MarkInfo << /Marked true >>)",
    R"(\n   /ViewerPreferences << /DisplayDocTitle true >>)",
    "the first character is the lowest byte",
    "elements are borrowed as little-endian",
    "llama mistral phi3",
    "gpt-2 phi-2 olmo mpt jina-es jina-de jina-v2-es jina-v2-de jais trillion granite-docling "
    "gigachat modern-bert a.x-4.0 mellum exaone4",
    "qwen2 deepseek-r1-qwen kormo megrez stablelm2 hunyuan grok-2",
    "starcoder refact command-r smollm codeshell exaone minerva-7b",
    "version https://git-lfs",
    "if ",
    " else ",
    ", float32, of ",
    ", float64, of ",
    ", float16, of ",
    ", bfloat16, of ",
    "own row",
    "make it smaller",
    "standard input",
    "the sizes of BenchRequest",
    "signal handlers may not wait"};

bool begins_with_one(const std::string& name, const std::vector<std::string>& rooms) {
  return std::any_of(rooms.begin(), rooms.end(),
                     [&](const std::string& room) { return name.starts_with(room); });
}

/// Functions whose arguments are not for readers of translations.
const std::set<std::string, std::less<>> marking{"translated", "translated_count", "to_translate"};

struct Literal {
  std::string text;
  bool is_marked = false;
};

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

/// Whether an apostrophe begins a character, after a prefix if there is one, and parts no digits.
bool begins_character(std::string_view source, std::size_t at) {
  std::size_t first = at;
  while (first > 0 && in_name(source[first - 1])) --first;
  static const std::set<std::string_view, std::less<>> prefixes{"", "u8", "u", "U", "L"};
  return prefixes.contains(source.substr(first, at - first));
}

/// The string literals of a source, those that stand side by side joined, and whether each is an
/// argument of a function that marks it.
std::vector<Literal> literals_of(std::string_view source) {
  std::vector<Literal> found;
  std::vector<bool> inside;  // of each open bracket, whether it belongs to such a function
  std::string name;
  bool joins = false;
  for (std::size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    const std::string_view rest = source.substr(i);
    if (rest.starts_with("//") || c == '#') {
      i = std::min(source.find('\n', i), source.size() - 1);
    } else if (rest.starts_with("R\"(")) {
      // JSON and LaTeX begin otherwise.
      const std::size_t end = source.find(")\"", i);
      const std::string text(source.substr(i + 3, end - i - 3));
      if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') {
        found.push_back({text, !inside.empty() && inside.back()});
      }
      i = end + 1;
    } else if (c == '\'' && begins_character(source, i)) {
      for (++i; source[i] != '\''; ++i) i += source[i] == '\\' ? 1 : 0;
    } else if (c == '"') {
      std::string text;
      for (++i; source[i] != '"'; ++i) {
        text += source[i];
        if (source[i] == '\\') text += source[++i];
      }
      if (joins) {
        found.back().text += text;
      } else {
        found.push_back({text, !inside.empty() && inside.back()});
      }
      joins = true;
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      name.clear();
    } else {
      joins = false;
      if (c == '(' || c == '{') {
        inside.push_back((!inside.empty() && inside.back()) ||
                         (c == '(' && marking.contains(name)));
      } else if ((c == ')' || c == '}') && !inside.empty()) {
        inside.pop_back();
      }
      if (!in_name(c)) name.clear();
      if (in_name(c)) name += c;
    }
  }
  return found;
}

/// Two words of small letters behind each other, but no LaTeX. A command, "attn-cli run", is none.
bool is_prose(std::string_view text) {
  if (text.find("\\\\") != text.npos) return false;
  constexpr std::string_view program = "attn-cli ";
  std::size_t letters = 0, words = 0;
  if (text.starts_with(program)) text.remove_prefix(program.size());
  for (const char c : std::string(text) + " ") {
    if (c >= 'a' && c <= 'z') {
      ++letters;
    } else if (c == ' ' && letters > 1) {
      if (++words == 2) return true;
      letters = 0;
    } else {
      letters = words = 0;
    }
  }
  return false;
}

/// A piece of a sentence that is glued to others: a word of small letters with a space before or
/// behind it where the text begins or ends, as " to " and "layer ".
bool joins_pieces(std::string_view text) {
  const auto word_at = [&](std::size_t first, int step) {
    std::size_t letters = 0;
    for (std::size_t i = first; i < text.size(); i += static_cast<std::size_t>(step), ++letters) {
      if (text[i] == ' ') break;
      if (text[i] < 'a' || text[i] > 'z') return false;
    }
    return letters > 1;
  };
  if (text.size() < 3) return false;
  return (text.front() == ' ' && word_at(1, 1)) ||
         (text.back() == ' ' && word_at(text.size() - 2, -1));
}

/// Pieces that are joined to numbers and names all the same: places of errors in files, which
/// programs read too, parts of masks and options of a measurement as documents and flags call them,
/// what pictures have of their program, and the key of a matrix.
const std::set<std::string, std::less<>> glued{
    "byte ",    "line ",   ", line ", ", column ", "row ",        "tensor ",    "member ",
    "element ", "record ", "where ",  "fill ",     " causal",     " window ",   " rotary",
    " norms",   " alibi",  " sinks",  " weights",  "CPU target ", " transposed"};

/// The literals of the headings that tables of a source are made with.
std::vector<Literal> headings_of(const std::string& source) {
  std::vector<Literal> all;
  for (const std::regex& start : {std::regex(R"(TextTable(::Column>)? \w+\{)"),
                                  std::regex(R"((columns|headings)\.push_back\()")}) {
    for (auto at = std::sregex_iterator(source.begin(), source.end(), start);
         at != std::sregex_iterator(); ++at) {
      const auto first = static_cast<std::size_t>(at->position());
      const std::vector<Literal> own =
          literals_of(source.substr(first, source.find(';', first) - first));
      all.insert(all.end(), own.begin(), own.end());
    }
  }
  return all;
}

/// Headings that are names of statistics and of functions.
const std::set<std::string, std::less<>> names_of_columns{"previous", "duplicate", "induction",
                                                          "cos", "sin"};

/// Whether a text has a word of small letters, not symbols alone.
bool has_word(const std::string& text) {
  return std::regex_search(text, std::regex("[a-z]{3}"));
}

}  // namespace

TEST_CASE("literals are told from what stands around them") {
  const auto literals = literals_of(
      "// \"not this\"\nf(translated(\"a {1}\"\n  \"b\", g(\"c\")), \"d\", '\"', U'\"', 1'000);\n");
  REQUIRE(literals.size() == 3);
  CHECK(literals[0].text == "a {1}b");
  CHECK(literals[0].is_marked);
  CHECK(literals[1].is_marked);
  CHECK(literals[2].text == "d");
  CHECK_FALSE(literals[2].is_marked);
  CHECK(is_prose("give it"));
  CHECK_FALSE(is_prose("DocumentOptions::mask"));
  CHECK(joins_pieces(" to "));
  CHECK(joins_pieces("layer "));
  CHECK(joins_pieces(" and 8 more"));
  CHECK_FALSE(joins_pieces("layer"));
  CHECK_FALSE(joins_pieces(" {1} "));
}

TEST_CASE("every sentence of the marked rooms is marked for translation") {
  const std::filesystem::path root = std::filesystem::path(ATTN_TEST_DATA).parent_path() / "src";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = std::filesystem::relative(entry.path(), root).generic_string();
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    if (!begins_with_one(name, marked) || begins_with_one(name, english)) continue;
    for (const Literal& literal : literals_of(read_text(entry.path()))) {
      if (!is_prose(literal.text) && !joins_pieces(literal.text)) continue;
      if (no_texts.contains(literal.text) || glued.contains(literal.text)) continue;
      if (literal.text.starts_with("attn-cli ") || literal.text.starts_with("--")) continue;
      ++count;
      CAPTURE(name);
      CAPTURE(literal.text);
      CHECK(literal.is_marked);
    }
  }
  CHECK(count > 1400);
}

TEST_CASE("every heading of a table is marked for translation, or the name of a statistic") {
  const std::filesystem::path root = std::filesystem::path(ATTN_TEST_DATA).parent_path() / "src";
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    if (entry.path().extension() != ".cpp") continue;
    CAPTURE(entry.path());
    for (const Literal& heading : headings_of(read_text(entry.path()))) {
      ++count;
      CAPTURE(heading.text);
      CHECK((heading.is_marked || !has_word(heading.text) ||
             names_of_columns.contains(heading.text)));
    }
  }
  CHECK(count > 50);
}

TEST_CASE("every meaning that a public table gives has its Chinese") {
  const Chinese chinese;
  const auto check = [](std::string_view meaning) {
    CAPTURE(std::string(meaning));
    CHECK(attn::is_translated(meaning));
  };
  for (const attn::MaskPart& part : attn::mask_parts()) check(part.meaning);
  for (const attn::ExampleTopic& topic : attn::example_topics()) check(topic.meaning);
  for (const attn::PlotKindInfo& kind : attn::plot_kinds()) check(kind.meaning);
  for (const attn::HeadAnalysisInfo& analysis : attn::head_analyses()) check(analysis.meaning);
  for (const attn::HeadStatisticInfo& statistic : attn::head_statistics()) {
    check(statistic.title);
    check(statistic.meaning);
  }
  for (const attn::DocumentKey& key : attn::document_keys()) check(key.meaning);
}
