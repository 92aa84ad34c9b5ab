#include "tokens/token_batch.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"

#include "error_from.hpp"

namespace attn {
namespace {

const Vocabulary& words() {
  static const auto vocabulary =
      Vocabulary::from_list({"[PAD]", "[UNK]", "weather", "today"}, "/embedding/vocabulary");
  return vocabulary;
}

}  // namespace

TEST_CASE("Words become ids, unknown ones the unknown token's") {
  CHECK(token_rows({{"today", "rain"}, {}, {"weather"}}, words(), 1, "/tokens") ==
        TokenRows{{3, 1}, {}, {2}});
  CHECK(token_rows({{"today"}}, words(), std::nullopt, "/tokens") == TokenRows{{3}});
}

TEST_CASE("An unknown word without an unknown token is an error at its place") {
  CHECK(error_from([] {
          token_rows({{"today"}, {"today", "wether"}}, words(), std::nullopt, "/tokens");
        }) ==
        "token \"wether\" is not in the vocabulary\n  where: /tokens/1/1\n"
        "  help:  did you mean \"weather\"? or name an \"unknown\" token in the embedding");
}

TEST_CASE("Shorter rows are padded to the longest") {
  const TokenBatch batch = padded({{5, 6}, {7, 0, 9}, {}}, 0, "/token_ids");
  CHECK(batch.ids.shape() == Shape{3, 3});
  const auto ids = batch.ids.values<std::int64_t>();
  CHECK(std::vector<std::int64_t>(ids.begin(), ids.end()) ==
        std::vector<std::int64_t>{5, 6, 0, 7, 0, 9, 0, 0, 0});
  CHECK(batch.padding.shape() == Shape{3, 3});
  CHECK(batch.padding.dtype() == DType::boolean);
  const auto padding = batch.padding.values<std::uint8_t>();
  CHECK(std::vector<std::uint8_t>(padding.begin(), padding.end()) ==
        std::vector<std::uint8_t>{0, 0, 1, 0, 0, 0, 1, 1, 1});
}

TEST_CASE("Rows of one length need no pad token and give no padding") {
  const TokenBatch batch = padded({{5, 6}, {7, 8}}, std::nullopt, "/token_ids");
  CHECK(batch.ids.shape() == Shape{2, 2});
  CHECK_FALSE(batch.padding);
}

TEST_CASE("Rows that make no batch are errors") {
  CHECK(error_from([] {
          padded({{1}, {2}, {3, 4}}, std::nullopt, "/token_ids");
        }) ==
        "rows of 1 and of 2 tokens, and no pad token\n  where: /token_ids/2\n"
        "  help:  name a \"pad\" token in the embedding, or give rows of one length");
  for (const TokenRows& rows : {TokenRows{}, TokenRows{{}, {}}}) {
    CHECK(error_from([&] { padded(rows, 0, "/tokens"); }) ==
          "there are no tokens\n  where: /tokens\n  help:  give one row of tokens a sample");
  }
}

}  // namespace attn
