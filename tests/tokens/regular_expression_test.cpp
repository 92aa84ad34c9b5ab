#include "tokens/regular_expression.hpp"

#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "support/printable.hpp"

namespace attn {
namespace {

using Matches = std::vector<std::string>;

// The matches of a pattern in the text.
Matches matches_of(const std::string& pattern, const std::string& text) {
  std::vector<Stretch> stretches;
  MatchBudget budget(text.size());
  RegularExpression(pattern, "/pattern").find(text, budget, stretches);
  Matches matches;
  std::size_t at = 0;
  for (const Stretch& stretch : stretches) {
    CHECK(stretch.begin == at);
    at = stretch.end;
    if (stretch.match) matches.push_back(text.substr(stretch.begin, at - stretch.begin));
  }
  CHECK(at == text.size());
  return matches;
}

TEST_CASE("escapes of patterns have Oniguruma's meaning") {
  struct Escape {
    std::string pattern, text;
    Matches matches;
  };
  for (const Escape& escape : std::vector<Escape>{{R"(\x41+)", "AAB", {"AA"}},
                                                  {R"(\x{1F600})", "a😀b", {"😀"}},
                                                  {R"(\u00e9)", "café", {"é"}},
                                                  {R"(\h+)", "xbeefy09", {"beef", "09"}},
                                                  {R"(\H+)", "beefyz", {"yz"}},
                                                  {R"(\D+)", "12ab٣c", {"ab", "c"}},
                                                  {R"(a\N)", "a\nab", {"ab"}},
                                                  {R"(a\Ob)", "a\nb", {"a\nb"}},
                                                  {R"(\Aa)", "aa", {"a"}},
                                                  {R"(a\z)", "aa", {"a"}},
                                                  {R"((a)\1)", "aaa", {"aa"}},
                                                  {R"(\-)", "a-b", {"-"}},
                                                  {R"([\w]+)", "né_1 -", {"né_1"}},
                                                  {R"([\W]+)", "a -b", {" -"}},
                                                  {R"([\h]+)", "xfay", {"fa"}},
                                                  {R"([\H]+)", "faxy", {"xy"}},
                                                  {R"([\d]+)", "a١2", {"١2"}},
                                                  {R"([\D]+)", "1ab", {"ab"}},
                                                  {R"([^\W]+)", "-ab-", {"ab"}},
                                                  {R"([\b])", "a\b", {"\b"}},
                                                  {R"([[:digit:]]+)", "a12", {"12"}},
                                                  {R"([[:^digit:]]+)", "12ab", {"ab"}},
                                                  {R"(a(?#any)b)", "ab", {"ab"}},
                                                  {R"((?i)ab)", "aBab", {"aB", "ab"}},
                                                  {R"((?<both>ab)+)", "abab", {"abab"}},
                                                  {R"((?>a+)b)", "aab", {"aab"}},
                                                  {R"(a{,2}b)", "aaab", {"aab"}},
                                                  {R"(a\{2)", "a{2", {"a{2"}}}) {
    CAPTURE(escape.pattern);
    CHECK(matches_of(escape.pattern, escape.text) == escape.matches);
  }
}

TEST_CASE("matches are those of the engine that Hugging Face's library uses") {
  CHECK(matches_of(R"((?i:ss))", "SSßſs") == Matches{"SS", "ß", "ſs"});
  CHECK(matches_of(R"((?~b)b)", "aabab") == Matches{"aab", "ab"});
  CHECK(matches_of(R"((?<n>\(\g<n>?\)))", "(())(") == Matches{"(())"});
  CHECK(matches_of(R"(\X)", "e\u0301e") == Matches{"e\u0301", "e"});
}

TEST_CASE("a literal text is found as it is written") {
  MatchBudget budget(6);
  std::vector<Stretch> stretches;
  RegularExpression::literal("a.").find("a.aba.", budget, stretches);
  REQUIRE(stretches.size() == 3);
  CHECK(stretches[1].begin == 2);
  CHECK(stretches[1].end == 4);
  CHECK_FALSE(stretches[1].match);
  stretches.clear();
  RegularExpression::literal("").find("é", budget, stretches);
  CHECK(stretches.size() == 3);  // an empty match on each side of the letter
}

TEST_CASE("a pattern that cannot be compiled is refused with the library's message") {
  struct Refused {
    std::string pattern, what;
  };
  for (const Refused& refused : std::vector<Refused>{
           {"a(b", "end pattern with unmatched parenthesis"},
           {"a(?#", "end pattern in group"},
           {R"(\x{12)", "invalid code point value"},
           {R"(\u12)", "invalid code point value"},
           {R"(\x80)", "invalid code point value"},
           {R"(\p{Unheard})", "invalid character property name {Unheard}"},
           {std::string(300, '(') + std::string(300, ')'), "parse depth limit over"}}) {
    CAPTURE(refused.pattern);
    CHECK(error_from([&] { RegularExpression(refused.pattern, "/pattern"); }) ==
          "the pattern " + in_quotes(refused.pattern) + " cannot be compiled: " + refused.what +
              "\n  where: /pattern\n"
              "  help:  correct the pattern, or use one that Oniguruma can match");
  }
  CHECK(error_from([] { RegularExpression(std::string(70'000, 'a'), "/pattern"); }) ==
        "the pattern has 70000 bytes, more than 65536\n  where: /pattern\n"
        "  help:  give a shorter one");
}

TEST_CASE("patterns with many ways to match end within a budget for the whole text") {
  std::string many_words;
  for (int i = 0; i < 2000; ++i) many_words += "aaaaaaaaaaaaaaaa!";
  struct Slow {
    std::string pattern, text;
  };
  const std::string letters(40'000, 'a');  // more than a second without a limit of time
  for (const Slow& slow :
       std::vector<Slow>{{"(?:a|aa|a+)+c", std::string(40, 'a') + "-c"},
                         {"(?:a|a){1,18}[bc]", std::string(20'000, 'a')},
                         {"(?:a|a){1,16}[bc]|!", many_words},  // few for each match
                         {R"((?=(a|b|aa)*)a)", letters},       // with a match at each
                         {R"((?=(?:(?=(?:(?=(?:a|b)*)a)*)a)*)\d)", letters},
                         {R"((?>(?:[a-y]|\p{L})*)\d)", letters}}) {
    CAPTURE(slow.pattern);
    CHECK(error_from([&] {
            std::vector<Stretch> stretches;
            MatchBudget budget(slow.text.size());
            RegularExpression(slow.pattern, "/pattern").find(slow.text, budget, stretches);
          }) == "the pattern " + in_quotes(slow.pattern) +
                    " of tokenizer.json, /pattern, needs too many steps on this text\n"
                    "  help:  use a pattern with fewer ways to match the same text");
  }
}

TEST_CASE("parts of a text share its budget") {
  MatchBudget budget(20'000);
  const RegularExpression words("(?:a|a){1,16}[bc]|!", "/pattern");
  std::size_t parts = 0;
  CHECK_THROWS_AS(
      [&] {
        for (; parts < 2000; ++parts) {
          std::vector<Stretch> stretches;
          words.find("aaaaaaaaaaaaaaaa!", budget, stretches);
        }
      }(),
      Error);
  // The budget is of time: a part takes about a hundredth of it, more on a slow processor.
  CHECK(parts > 10);
  CHECK(parts < 2000);
}

TEST_CASE("steps of patterns count in the work of a document") {
  const PatternSteps steps(1e5);
  CHECK(matches_of("(?:a|a){1,4}[bc]|!", "aaaa!").size() == 1);
  CHECK(error_from([] { matches_of("(?:a|a){1,16}[bc]", std::string(2000, 'a')); }) ==
        "the texts' patterns take 350k steps or more, and the limit of the document's work is "
        "100k\n  help:  shorten the texts, or raise the limit with Limits::work");
  const PatternSteps endless(std::nullopt);
  CHECK(error_from([] { matches_of("(?:a|a){1,16}[bc]", std::string(20, 'a')); }) == "no error");
}

TEST_CASE("long texts without a match, or with one long match, stay within the budget") {
  const std::string letters(3'000'000, 'a');
  CHECK(matches_of(R"((?:foo|bar|ba|f)\d|\d+)", letters).empty());
  CHECK(matches_of(R"(\s+(?!\S)|\s+)", std::string(3'000'000, ' ') + "a").size() == 2);
  CHECK(matches_of(R"(\p{L}+)", letters).size() == 1);
}

TEST_CASE("characters of words are letters, marks, decimal digits, connectors and joiners") {
  for (const char32_t c : {U'a', U'Z', U'0', U'_', U'é', U'字', U'٣', U'‿', U'\u0301', U'\u200D'}) {
    CAPTURE(static_cast<unsigned>(c));
    CHECK(is_word_character(c));
  }
  for (const char32_t c : {U'-', U' ', U'@', U'[', U'…', U'½', U'\u00A0', U'😀'}) {
    CAPTURE(static_cast<unsigned>(c));
    CHECK_FALSE(is_word_character(c));
  }
}

}  // namespace
}  // namespace attn
