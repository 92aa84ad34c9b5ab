#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/heads.hpp"

#include "error_from.hpp"
#include "why/stored_circuits.hpp"

namespace attn {
namespace {

HeadsOptions of_first_text(const StoredCircuits& own) {
  HeadsOptions options;
  options.document.model = own.folder / "checkpoint";
  options.document.token_ids = own.text.ids;
  options.document.dtype = DType::float64;
  return options;
}

TEST_CASE("a named token has the rank and probability that TransformerLens finds in each state") {
  for (const char* name : stored_models) {
    CAPTURE(name);
    const StoredCircuits own(name);
    const double tolerance = std::string(name).starts_with("gpt2") ? 1e-10 : 1e-5;
    HeadsOptions options = of_first_text(own);
    options.analyses = {HeadAnalysis::lens, HeadAnalysis::loss};
    options.logit = "3";
    const HeadsOutcome outcome = read_heads(options);
    const std::vector<TracedState>& states = outcome.trace.value().states;
    const JsonValue& want = *own.numbers.find("states");
    REQUIRE(states.size() == want.size());
    for (std::size_t n = 0; n < states.size(); ++n) {
      CAPTURE(states[n].state);
      const JsonValue state = want.element(n);
      CHECK(std::abs(states[n].logit - state.find("logit")->number()) <= 10 * tolerance);
      CHECK(std::abs(states[n].probability - state.find("probability")->number()) <= tolerance);
      CHECK(static_cast<std::int64_t>(states[n].rank) == state.find("rank")->integer());
    }
    REQUIRE(outcome.losses.size() == 1);
    check_stored(outcome.losses[0], *own.numbers.find("losses"), tolerance);
  }
}

TEST_CASE("with another token the lens has the difference of both logits") {
  const StoredCircuits own("gpt2_bare_names");
  HeadsOptions options = of_first_text(own);
  options.analyses = {HeadAnalysis::lens};
  options.logit = "3";
  options.against_logit = "5";
  const TokenTrace trace = read_heads(options).trace.value();
  CHECK(trace.against == "5");
  CHECK(std::abs(trace.states.back().logit - own.numbers.find("own")->number()) < 1e-12);
}

TEST_CASE("losses are refused where tokens see later ones") {
  HeadsOptions options;
  options.document.model =
      StoredCircuits("gpt2_bare_names").folder.parent_path() / "bert_pairs" / "checkpoint";
  options.document.token_ids = {{5, 6, 7}};
  options.analyses = {HeadAnalysis::loss};
  CHECK(error_from([&] { read_heads(options); }) ==
        "losses are those of models that read from left to right\n  where: HeadsOptions::analyses\n"
        "  help:  leave the loss out");
}

}  // namespace
}  // namespace attn
