#include <cmath>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/heads.hpp"

#include "error_from.hpp"
#include "why/stored_circuits.hpp"

namespace attn {
namespace {

HeadsOptions gradients_of_case(const std::string& name) {
  const StoredCircuits own("gpt2_bare_names");
  HeadsOptions options;
  options.document.model = own.folder.parent_path() / name / "checkpoint";
  options.document.token_ids = {{5, 6, 7, 8, 9, 10}};
  options.analyses = {HeadAnalysis::gradients};
  return options;
}

TEST_CASE("gradients are reported of each text, with what integrated ones are off by") {
  HeadsOptions options = gradients_of_case("gpt2_bare_names");
  options.document.token_ids = {{5, 6, 7, 8}, {9, 10, 11}};
  options.logit = "3";
  options.gradient_steps = 30;
  options.baseline = "7";
  const HeadsOutcome outcome = read_heads(options);
  REQUIRE(outcome.gradients.size() == 2);
  for (std::size_t b = 0; b < 2; ++b) {
    const TextGradients& own = outcome.gradients[b];
    CHECK(own.sample == b);
    CHECK(own.position + 1 == options.document.token_ids[b].size());
    CHECK(own.token == "3");
    CHECK(own.against == "");
    CHECK(own.baseline == "7");
    CHECK(own.inputs.size() == options.document.token_ids[b].size());
    double sum = 0;
    for (const double number : own.integrated) sum += number;
    CHECK(std::abs(sum - (own.value - own.baseline_value) - own.error) < 1e-12);
    CHECK(std::abs(own.error) < 0.01);
  }
  const std::string text = heads_text(outcome);
  CHECK(text.find("\nGradients of the logit of \"3\" at position 3, ") != std::string::npos);
  CHECK(text.find("\nIntegrated gradients begin with \"7\" instead of all tokens, where the "
                  "value is ") != std::string::npos);
}

TEST_CASE("models without a way back are refused with the reason") {
  CHECK(error_from([] { read_heads(gradients_of_case("jamba_mamba")); }) ==
        "there are no gradients through layers that mix tokens without attention weights\n  "
        "where: /model\n  help:  leave gradients out, or patch parts one at a time");
}

}  // namespace
}  // namespace attn
