#include <string>

#include <doctest/doctest.h>

#include "attn/heads.hpp"

#include "heads/heads_table.hpp"

namespace attn {
namespace {

// Heads of layer 2 with these induction scores, in a text of 13 queries of which 3 are repeated.
HeadsOutcome outcome_of(const std::vector<double>& scores) {
  HeadsOutcome outcome;
  outcome.statistics = {HeadStatistic::induction_score};
  AttentionHeads& heads = outcome.attentions.emplace_back();
  heads.name = "layers.2.self";
  for (const double score : scores) {
    heads.heads.emplace_back(
        head_statistic_count)[static_cast<std::size_t>(HeadStatistic::induction_score)] = score;
  }
  heads.counted = 13;
  heads.queries = 12;
  heads.repeated = 3;
  return outcome;
}

TEST_CASE("an induction head is told by its weight in the queries that have an earlier copy") {
  HeadsOutcome outcome = outcome_of({0, 0.14});  // 0.14 · 13 / 3 = 0.607
  CHECK(what_stands_out(outcome) ==
        "Head 2.1 looks at what came after an earlier copy of the token: 0.61 of its weight in the "
        "3 of 12 queries that have one.");
  CHECK(what_stands_out(outcome_of({0.2, 0.14})) ==
        "2 heads look at what came after an earlier copy of the token, most of all 2.0: 0.87 of "
        "its weight in the 3 of 12 queries that have one.");
  CHECK(what_stands_out(outcome_of({0, 0.1})).empty());
  outcome.attentions[0].repeated = 2;  // too few
  CHECK(what_stands_out(outcome).empty());
  outcome.attentions[0].repeated = 0;
  CHECK(what_stands_out(outcome).empty());
}

TEST_CASE("heads that copy random tokens are named, the strongest first") {
  HeadsOutcome outcome = outcome_of({0, 0});
  outcome.induction = {{"layers.2.self", {{0, 0, 0.7}, {0, 0, 0.4}, {0, 0, 0.88}}}};
  CHECK(what_stands_out(outcome) ==
        "Induction heads of the test on random tokens: 2.2 (0.88), 2.0 (0.70).");
  outcome.induction.push_back({"layers.3.self", {{0, 0, 1}, {0, 0, 0.5}, {0, 0, 0.63}}});
  CHECK(what_stands_out(outcome) ==
        "Induction heads of the test on random tokens: 3.0 (1.00), 2.2 (0.88), 2.0 (0.70), 3.2 "
        "(0.63) and 1 more.");
}

}  // namespace
}  // namespace attn
