#include "support/translated.hpp"

#include <cctype>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "attn/language.hpp"

#include "chinese.hpp"
#include "error_from.hpp"
#include "support/reader_text.hpp"
#include "support/utf8.hpp"
#include "temporary_folder.hpp"

namespace {

std::set<std::string> placeholders(std::string_view text) {
  std::set<std::string> found;
  for (std::size_t i = 0; i + 2 < text.size(); ++i) {
    if (text[i] == '{' && text[i + 1] >= '1' && text[i + 1] <= '9' && text[i + 2] == '}')
      found.emplace(text.substr(i, 3));
  }
  return found;
}

}  // namespace

TEST_CASE("a text without a translation is itself, with its values put in") {
  CHECK(attn::translated("of {2} only {1}, {1}", 1, std::string("three")) == "of three only 1, 1");
  CHECK(attn::translated("write {{1}: …} or {\"a\": {9}}", "\"b\"") ==
        "write {\"b\": …} or {\"a\": {9}}");
  CHECK(attn::translated("{1}", "{1}") == "{1}");
}

TEST_CASE("a count of one has a text of its own in English") {
  CHECK(attn::translated_count(1, "{1} key", "{1} keys") == "1 key");
  CHECK(attn::translated_count(0, "{1} key of {2}", "{1} keys of {2}", 3) == "0 keys of 3");
}

TEST_CASE("texts are Chinese once a Chinese catalogue is spoken, and English again after that") {
  {
    const Chinese chinese;
    CHECK(attn::translated("The weighted sum of the values") == "值的加权和");
    CHECK(attn::translated("no such text of {1}", 2) == "no such text of 2");
    CHECK(attn::translated_count(1, "{2} of {1} key can be seen.", "{2} of {1} keys can be seen.",
                                 0) == "1 个键中有 0 个可见。");
  }
  CHECK(attn::translated("The weighted sum of the values") == "The weighted sum of the values");
}

TEST_CASE("each Chinese text has the values of the English one") {
  const attn::Catalogue catalogue(read_text(ATTN_CHINESE), ATTN_CHINESE);
  CHECK(catalogue.entries().size() > 300);
  for (const attn::Catalogue::Entry& entry : catalogue.entries()) {
    if (entry.english.empty()) continue;
    CAPTURE(entry.english);
    CAPTURE(entry.text);
    std::set<std::string> english = placeholders(entry.english);
    english.merge(placeholders(entry.plural));
    CHECK(placeholders(entry.text) == english);
    CHECK(entry.text.ends_with('\n') == entry.english.ends_with('\n'));
  }
}

TEST_CASE("Chinese texts leave a space before and after Latin letters and digits") {
  const attn::Catalogue catalogue(read_text(ATTN_CHINESE), ATTN_CHINESE);
  const auto latin = [](char32_t character) {
    return character < 0x80 && std::isalnum(static_cast<unsigned char>(character)) != 0;
  };
  const auto chinese = [](char32_t character) {
    return character >= 0x4E00 && character <= 0x9FFF;
  };
  for (const attn::Catalogue::Entry& entry : catalogue.entries()) {
    CAPTURE(entry.text);
    const std::u32string characters = attn::characters_of(entry.text, "attn.mo");
    for (std::size_t i = 1; i < characters.size(); ++i) {
      const char32_t before = characters[i - 1], after = characters[i];
      CHECK(!((chinese(before) && latin(after)) || (latin(before) && chinese(after))));
    }
  }
}

TEST_CASE("English texts use none of the turns that readers stumble over") {
  // Each with what is written instead.
  const std::map<std::string, std::string> turns{{" is no ", "is not a"},
                                                 {" are no ", "are not"},
                                                 {"behind", "after"},
                                                 {"by itself", "automatically, alone"},
                                                 {" tells ", "says, shows"},
                                                 {" told ", "reported"},
                                                 {"again for several", "repeatable"},
                                                 {"is not what", "invalid value"},
                                                 {" stands where ", "expected"},
                                                 {"in the place of", "instead of"},
                                                 {" number a ", "number per"},
                                                 {" numbers a ", "numbers per"},
                                                 {" row a ", "row per"},
                                                 {" line a ", "line per"},
                                                 {" list a ", "list per"},
                                                 {"strangers", "untrusted"},
                                                 {" as they were ", "as published"}};
  const attn::Catalogue catalogue(read_text(ATTN_CHINESE), ATTN_CHINESE);
  for (const attn::Catalogue::Entry& entry : catalogue.entries()) {
    for (const auto& [turn, better] : turns) {
      const std::string instead = better;  // clang captures no structured binding
      CAPTURE(entry.english);
      CAPTURE(instead);
      const std::size_t at = entry.english.find(turn);
      const bool there = at != entry.english.npos && entry.english.substr(0, at).ends_with("here");
      CHECK((at == entry.english.npos || there));
    }
  }
}

TEST_CASE("a value that meets Chinese letters has a space where it is Latin, and none elsewhere") {
  const Chinese chinese;
  CHECK(attn::translated("{1} of sample {2}, head {3} (rows: queries, columns: keys)",
                         "self.weights", 1,
                         2) == "样本 1、头 2 的 self.weights（行：查询，列：键）");
  CHECK(attn::translated("{1} of sample {2}, head {3} (rows: queries, columns: keys)", "权重", 1,
                         2) == "样本 1、头 2 的权重（行：查询，列：键）");
}

TEST_CASE("a space stays between Chinese letters and a value with a bracket or a dot at its end") {
  const Chinese chinese;
  CHECK(attn::translated("name a file that ends in {1}", ".png") == "请给以 .png 结尾的文件名");
  CHECK(attn::translated("there is no {1}", "the (2)") == "没有 the (2)");
  CHECK(attn::name_separator() == "、");
}

TEST_CASE("what is made in English is known to the reader in the language, with its values") {
  const Chinese chinese;
  {
    const attn::InEnglish english(true);
    const std::string keys = attn::translated_count(3, "{1} key", "{1} keys");
    const std::string text = attn::translated("there is no {1}", keys);
    CHECK(text == "there is no 3 keys");
    CHECK(attn::for_reader(text) == "没有 3 个键");
    CHECK(attn::for_reader("no text of the program") == "no text of the program");
  }
  CHECK(attn::for_reader("there is no 3 keys") == "there is no 3 keys");
}

TEST_CASE("what is no catalogue is refused, and the language stays") {
  const TemporaryFolder folder;
  const std::string whole = read_text(ATTN_CHINESE);
  for (const std::string& bytes :
       {std::string(), std::string("no catalogue at all, but long enough for its header"),
        whole.substr(0, 27), whole.substr(0, whole.size() / 2)}) {
    const auto file = folder.write("attn.mo", bytes);
    CHECK(error_from([&] { attn::speak(file); }) ==
          "the file is not a catalogue of translations\n  where: " + file.string() +
              "\n  help:  make it with msgfmt, or install the program again");
  }
  CHECK(attn::translated("The weighted sum of the values") == "The weighted sum of the values");
}
