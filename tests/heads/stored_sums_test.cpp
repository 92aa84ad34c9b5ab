#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"
#include "heads/corpus_sums.hpp"
#include "io/hashed_files.hpp"

namespace {

using attn::CorpusSums;
using attn::ErrorKind;
using attn::HeadsCorpusOptions;
using attn::Shard;
using attn::TextNumbers;

constexpr Shard second_of_three{1, 3};

// Sums of 4 texts of one attention with two heads, of which one text failed, in a corpus of 12
// lines.
CorpusSums sums(double largest = 0.75) {
  HeadsCorpusOptions options;
  options.reach = 1;
  options.average = 2;
  CorpusSums sums;
  sums.lines = 12;
  sums.lines_hash = "0123456789abcdef0123456789abcdef";
  sums.done = true;
  for (const std::uint64_t line : {2, 5, 8}) {
    TextNumbers numbers{"layers.0.self", {}, {}};
    for (int head = 0; head < 2; ++head) {
      attn::HeadValues values;
      values.fill(line == 5 ? largest : 0.125);
      numbers.values.push_back(values);
      numbers.by_offset.push_back({0.25, 0.5, 0});
      numbers.first.emplace_back(attn::Shape{2, 2}, std::vector<double>{1, 0, 0.25, 0.75});
    }
    sums.add({numbers}, line, options);
  }
  sums.fail(11, {ErrorKind::input, "unknown key \"txt\"", "", ""});
  sums.warn(8, {"a text has 9 tokens"});
  return sums;
}

std::string text(const CorpusSums& sums) {
  return attn::sums_text({sums,
                          second_of_three,
                          {{"DocumentOptions::dtype", "7:float64;"}},
                          {{"model/config.json", "0123456789abcdef0123456789abcdef"}}});
}

// The text with a part replaced by another, and the checksum of that.
std::string edited(std::string text, const std::string& part, const std::string& by) {
  const std::size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  text.replace(at, part.size(), by);
  const std::string key = "\"checksum\": \"";
  const std::size_t sum = text.find(key) + key.size();
  text.replace(sum, 32, std::string(32, '0'));
  return text.replace(sum, 32, attn::content_hash(std::as_bytes(std::span(text))));
}

std::string error_of(const std::string& text) {
  return error_from([&] { attn::read_sums(text); }, ErrorKind::input);
}

std::string impossible(const std::string& place) {
  return "no texts have these sums\n  where: " + place +
         "\n  help:  the file was changed or is incomplete: start again without it";
}

}  // namespace

TEST_CASE("sums of a corpus are read back as they were written") {
  const std::string written = text(sums());
  const attn::StoredSums stored = attn::read_sums(written);
  CHECK(stored.shard.index == 1);
  CHECK(stored.shard.count == 3);
  CHECK(attn::sums_text(stored) == written);
}

TEST_CASE("a text after blank lines keeps its line in the file, and its number is its shard's") {
  CorpusSums after = sums();
  after.warn({14, 3}, {"a text has 99 tokens"});
  const std::string written = text(after);
  const attn::StoredSums stored = attn::read_sums(written);
  REQUIRE(stored.sums.warnings.size() == 2);
  CHECK(stored.sums.warnings[1].at.line == 14);
  CHECK(stored.sums.warnings[1].at.blank == 3);
  CHECK(attn::sums_text(stored) == written);
  CHECK(error_of(edited(written, "\"blank\": 3", "\"blank\": 2")) == impossible("/warnings/1"));
  CHECK(error_of(edited(written, "\"blank\": 3", "\"blank\": 14")) == impossible("/warnings/1"));
}

TEST_CASE("warnings are kept once, with their first text, in whatever order texts are added") {
  std::vector<std::pair<std::uint64_t, std::vector<std::string>>> texts;
  for (std::uint64_t line = 1; line <= 40; ++line) {
    texts.push_back({line, {std::to_string(line % 13), std::to_string(line / 3)}});
  }
  const auto summed = [](const auto& in_order) {
    CorpusSums parts[2], all;
    for (std::size_t i = 0; i < in_order.size(); ++i) {
      parts[i % 2].warn(in_order[i].first, in_order[i].second);
    }
    for (const CorpusSums& part : parts) all.add(part, {});
    CHECK(all.warned == 40);
    return text(all);
  };
  const std::string first = summed(texts);
  CHECK(first.find("\"warning\": \"1\"") == first.rfind("\"warning\": \"1\""));
  std::mt19937 random(3);
  for (int time = 0; time < 50; ++time) {
    std::shuffle(texts.begin(), texts.end(), random);
    CHECK(summed(texts) == first);
  }
}

TEST_CASE("sums of another version are refused, whatever they hold") {
  for (const char* format : {"1", "2"}) {
    CHECK(error_of(edited(text(sums()), "\"format\": 4", std::string("\"format\": ") + format)) ==
          "the sums are those of another version of the program\n  where: /format\n"
          "  help:  start again without the file, or with another folder");
  }
}

TEST_CASE("sums that are damaged in any place are refused") {
  const std::string whole = text(sums());
  std::mt19937 random(8);
  const auto below = [&](std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
  };
  for (int time = 0; time < 300; ++time) {
    CAPTURE(time);
    std::string damaged = whole;
    if (time % 3 == 0) {
      damaged[below(whole.size())] ^= static_cast<char>(1U << below(8));
    } else if (time % 3 == 1) {
      const std::size_t at = whole.find_first_of("0123456789", below(whole.size() - 100));
      damaged[at] = static_cast<char>('0' + (whole[at] - '0' + 1 + below(9)) % 10);
    } else {
      damaged.resize(below(whole.size()));
    }
    CHECK_THROWS_AS(attn::read_sums(damaged), attn::Error);
  }
  CHECK(error_of(whole.substr(0, whole.size() - 1)) ==
        "the sums do not fit their checksum\n"
        "  help:  the file was changed or is incomplete: start again without it");
}

TEST_CASE("sums that no texts have are refused, whatever their checksum") {
  const std::string whole = text(sums());
  const auto error = [&](const std::string& part, const std::string& by) {
    return error_of(edited(whole, part, by));
  };
  CHECK(edited(whole, "\"done\": true", "\"done\": true") == whole);
  // Lines 2, 5, 8 and 11 are the shard's.
  CHECK(error("\"lines\": 12", "\"lines\": 14") == impossible("/texts"));
  CHECK(error("\"texts\": 3", "\"texts\": 4") == impossible("/texts"));
  CHECK(error("\"shard\": [1,3]", "\"shard\": [3,3]") == impossible("/shard"));
  CHECK(error("\"line\": 11", "\"line\": 10") == impossible("/failures/0"));
  CHECK(error("\"line\": 8,\n      \"warning\"", "\"line\": 7,\n      \"warning\"") ==
        impossible("/warnings/0"));
  CHECK(error("\"warned\": 1", "\"warned\": 0") == impossible("/warnings"));
  CHECK(error("\"warned\": 1", "\"warned\": 4") == impossible("/warned"));
  CHECK(error("\"line\": 5", "\"line\": 4") == impossible("/attentions/0/heads/0/previous/most/0"));
  CHECK(error("\"line\": 5", "\"line\": 14") ==
        impossible("/attentions/0/heads/0/previous/most/0"));
  CHECK(error("\"value\": 0.75", "\"value\": 0.0625") ==
        impossible("/attentions/0/heads/0/previous/most/1"));
  CHECK(error("\"value\": 0.75", "\"value\": 1.75") ==
        impossible("/attentions/0/heads/0/previous"));
  CHECK(error("\"count\": 3", "\"count\": 4") == impossible("/attentions/0/heads/0/previous"));
  const auto positions = [&](const std::string& counts) {
    return error("\"texts_by_position\": [\n        3,\n        3\n",
                 "\"texts_by_position\": [\n        " + counts + "\n");
  };
  CHECK(positions("3,4") == impossible("/attentions/0/texts_by_position/1"));
  CHECK(positions("3,0") == impossible("/attentions/0/heads/0/average/2"));
  CHECK(positions("3") == impossible("/attentions/0/heads/0/average/1"));
  CHECK(error("\"sum\": \"+33:40000\"", "\"sum\": \"+33:80000\"") ==
        impossible("/attentions/0/heads/0/previous"));
  // No squared mean is above the mean of the squares.
  const std::string key = "\"squares_by_offset\": ";
  const std::size_t from = whole.find('"', whole.find(key) + key.size());
  const std::string first = whole.substr(from, whole.find('"', from + 1) + 1 - from);
  REQUIRE(first.size() > 3);
  const std::string list = whole.substr(whole.find(key), from + first.size() - whole.find(key));
  CHECK(error(list, list.substr(0, list.size() - first.size()) + "\"0\"") ==
        impossible("/attentions/0/heads/0/squares_by_offset/0"));
}

TEST_CASE("a mean weight that is no weight is refused unless the texts had it") {
  // Weights that an expression makes are bounded by nothing.
  const std::string wide = text(sums(7));
  CHECK(wide.find("\"in_range\": false") != std::string::npos);
  CHECK(attn::read_sums(wide).sums.attentions[0].heads[0].most[0][0].value == 7);
  CHECK(error_of(edited(wide, "\"in_range\": false", "\"in_range\": true")) ==
        impossible("/attentions/0/heads/0/previous"));
}

TEST_CASE("sums with more entropy than the keys of the longest text allow are refused") {
  HeadsCorpusOptions options;
  const auto stored = [&](double entropy, std::size_t keys) {
    CorpusSums sums;
    sums.lines = 1;
    attn::HeadValues values;
    values.fill(0.5);
    values[static_cast<std::size_t>(attn::HeadStatistic::entropy)] = entropy;
    sums.add({TextNumbers{"layers.0.self", {values}, {}, keys}}, 1, options);
    return error_of(attn::sums_text({sums, {}, {}, {}}));
  };
  CHECK(stored(2.0794, 8) == "no error");
  CHECK(stored(2.09, 8) == impossible("/attentions/0/heads/0/entropy"));
  CHECK(stored(2.09, 0) == "no error");
  CHECK(stored(1.05, 2) == "no error");
}
