#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "models/changed_checkpoint.hpp"
#include "models/generation.hpp"

namespace attn {
namespace {

using RuleIds = std::vector<std::int64_t>;

constexpr double hidden = -std::numeric_limits<double>::infinity();

/// A text whose first tokens are the prompt.
struct RuledText {
  RuleIds source = {0, 3}, text = {0, 1, 2}, ends = {3};
  std::size_t prompt = 2, most = 4;

  // The logits of the next token by the rules.
  std::vector<double> logits_by(const GenerationRules& rules,
                                std::vector<double> logits = {1, 2, -3, 4}) const {
    rules.apply({source, text, prompt, most, ends}, logits);
    return logits;
  }
};

using Logits = std::vector<double>;

TEST_CASE("a folder without rules leaves logits as they are") {
  CHECK(RuledText().logits_by({}) == Logits{1, 2, -3, 4});
}

TEST_CASE("penalties divide positive logits of tokens that are there and multiply negative ones") {
  CHECK(RuledText().logits_by({.repetition_penalty = 2}) == Logits{0.5, 1, -6, 4});
  CHECK(RuledText().logits_by({.encoder_repetition_penalty = 2}) == Logits{2, 2, -3, 8});
}

TEST_CASE("tokens that would repeat a run of tokens are hidden") {
  const RuledText repeating{.text = {0, 1, 2, 0}};
  CHECK(repeating.logits_by({.no_repeat_ngram_size = 2}) == Logits{1, hidden, -3, 4});
  CHECK(repeating.logits_by({.no_repeat_ngram_size = 3}) == Logits{1, 2, -3, 4});
  CHECK(repeating.logits_by({.no_repeat_ngram_size = 1}) == Logits{hidden, hidden, hidden, 4});
  CHECK(repeating.logits_by({.encoder_no_repeat_ngram_size = 2}) == Logits{1, 2, -3, hidden});
}

TEST_CASE("bad words are not ended, but for the token that ends the answer") {
  CHECK(RuledText().logits_by({.bad_words = {{0}, {2, 1}, {0, 2}, {3}}}) ==
        Logits{hidden, hidden, -3, 4});
}

TEST_CASE("an answer does not end before it has its least length") {
  CHECK(RuledText().logits_by({.min_length = 4})[3] == hidden);
  CHECK(RuledText().logits_by({.min_length = 3})[3] == 4);
  CHECK(RuledText().logits_by({.min_new_tokens = 2})[3] == hidden);
  CHECK(RuledText().logits_by({.min_new_tokens = 1})[3] == 4);
}

TEST_CASE("the first and the last token are forced where a text begins and the answer ends") {
  const GenerationRules rules{.forced_first = {2}, .forced_last = {3, 1}};
  CHECK(RuledText().logits_by(rules) == Logits{1, 2, -3, 4});
  CHECK(RuledText{.text = {0}, .prompt = 1}.logits_by(rules) == Logits{hidden, hidden, 0, hidden});
  CHECK(RuledText{.most = 2}.logits_by(rules) == Logits{hidden, 0, hidden, 0});
}

TEST_CASE("tokens are hidden always, or where the first free token of the answer stands") {
  CHECK(RuledText().logits_by({.suppressed = {1, 9}}) == Logits{1, hidden, -3, 4});
  const GenerationRules first{.suppressed_first = {1}};
  CHECK(RuledText().logits_by(first)[1] == 2);
  CHECK(RuledText{.text = {0, 1}}.logits_by(first)[1] == hidden);
  const GenerationRules behind{.forced_first = {2}, .suppressed_first = {1}};
  CHECK(RuledText{.text = {0, 2}, .prompt = 1}.logits_by(behind)[1] == hidden);
}

TEST_CASE("rules are read from the generation's file or, where there is none, the configuration") {
  ChangedCheckpoint checkpoint("bart_start_token");
  checkpoint.set("forced_bos_token_id", "0").set("no_repeat_ngram_size", "3").set("num_beams", "4");
  const GenerationRules of_config = generation_rules(checkpoint.open(), {});
  CHECK(of_config.forced_first == RuleIds{0});
  CHECK(of_config.no_repeat_ngram_size == 3);
  CHECK(of_config.not_followed == std::vector<std::string>{"\"num_beams\": 4"});
  checkpoint.write("generation_config.json",
                   R"({"repetition_penalty": 1.5, "suppress_tokens": [4, 5], "do_sample": true,
                       "temperature": 0.7, "bad_words_ids": [[1], [2, 3]], "num_beams": 1,
                       "forced_eos_token_id": [1, 2], "stop_strings": [], "min_length": 5})");
  const GenerationRules of_file = generation_rules(checkpoint.open(), {});
  CHECK(of_file.forced_first.empty());
  CHECK(of_file.repetition_penalty == 1.5);
  CHECK(of_file.suppressed == RuleIds{4, 5});
  CHECK(of_file.bad_words == std::vector<RuleIds>{{1}, {2, 3}});
  CHECK(of_file.forced_last == RuleIds{1, 2});
  CHECK(of_file.min_length == 5);
  CHECK(of_file.not_followed == std::vector<std::string>{"\"do_sample\": true"});
}

TEST_CASE("rules of another type are refused where they stand") {
  const ChangedCheckpoint checkpoint("bart_start_token");
  const auto refused = [&](const std::string& member) {
    checkpoint.write("generation_config.json", "{" + member + "}");
    const ModelFolder model = checkpoint.open();
    std::string said = error_from([&] { generation_rules(model, {}); });
    return said.replace(said.find(checkpoint.path()), checkpoint.path().size(), "FOLDER");
  };
  const std::string where = "\n  where: FOLDER/generation_config.json, ";
  CHECK(refused(R"("repetition_penalty": 0)") ==
        "\"repetition_penalty\" is 0, which is not a positive number" + where +
            "/repetition_penalty\n  help:  the states would not be numbers: use the configuration "
            "as published");
  CHECK(refused(R"("suppress_tokens": [1, "x"])") ==
        "expected a number, found a string" + where + "/suppress_tokens/1\n  help:  give a number");
  CHECK(refused(R"("bad_words_ids": [1])") ==
        "expected an array, found a number" + where + "/bad_words_ids/0\n  help:  give an array");
}

}  // namespace
}  // namespace attn
