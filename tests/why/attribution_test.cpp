#include "why/attribution.hpp"

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "why/stored_circuits.hpp"

namespace attn {
namespace {

std::vector<std::int64_t> other_of(const StoredCircuits& own) {
  std::vector<std::int64_t> other = own.text.ids.front();
  for (std::size_t i = 0; i + 1 < other.size(); ++i) other[i] = (other[i] + 3) % 20;
  return other;
}

constexpr double tolerance = 1e-10;

TEST_CASE("gradients of heads and tokens are those of torch's autograd") {
  for (const char* name : stored_models) {
    CAPTURE(name);
    const StoredCircuits own(name);
    const JsonValue numbers = stored_numbers("gradients", name);
    for (const bool of_token : {false, true}) {
      const JsonValue& integrated = *numbers.find(of_token ? "from_token" : "from_zeros");
      GradientChoice choice{{3, 5}, std::nullopt, 8, std::nullopt};
      if (of_token) choice.baseline = 7;
      const LogitAttribution all = attribute(own.pass(), choice);
      CHECK(std::abs(all.value - numbers.find("own")->number()) <= tolerance);
      CHECK(all.position + 1 == own.text.ids.front().size());
      REQUIRE(all.heads.size() == numbers.find("heads")->size());
      for (std::size_t n = 0; n < all.heads.size(); ++n) {
        check_stored(all.heads[n], numbers.find("heads")->element(n), tolerance);
      }
      check_stored(all.inputs, *numbers.find("inputs"), tolerance);
      check_stored(all.integrated, *integrated.find("tokens"), tolerance);
      CHECK(std::abs(all.baseline_value - integrated.find("value")->number()) <= tolerance);
    }
  }
}

TEST_CASE("attribution patching is that of torch's autograd") {
  for (const char* name : stored_models) {
    CAPTURE(name);
    StoredCircuits own(name);
    const JsonValue numbers = stored_numbers("gradients", name);
    own.options.patch = Patch{other_of(own), {}};
    const SweepChoice choice{{PatchedPart::before, PatchedPart::heads, PatchedPart::patterns},
                             true};
    const SweepEffects effects = attributed_sweep(own.pass(), choice, {3, 5});
    for (const SweptPart& part : effects.parts) {
      const std::string word(info(part.part).name);
      CAPTURE(word);
      const JsonValue& rows = *numbers.find("sweeps")->find(word);
      REQUIRE(part.patched.size() == rows.size());
      for (std::size_t n = 0; n < rows.size(); ++n) {
        check_stored(part.patched[n], rows.element(n), tolerance);
      }
    }
  }
}

TEST_CASE(
    "attribution patching has the places of the sweep, and heads the sums of their positions") {
  StoredCircuits own("llama_grouped");
  own.options.patch = Patch{other_of(own), {}};
  SweepChoice choice;
  choice.parts.clear();
  for (const PatchedPartInfo& info : patched_parts()) choice.parts.push_back(info.part);
  const SweepEffects exact = sweep(own.pass(), choice, {3, 5}),
                     whole = attributed_sweep(own.pass(), choice, {3, 5});
  choice.by_position = true;
  const SweepEffects single = attributed_sweep(own.pass(), choice, {3, 5});
  CHECK(std::abs(exact.own - whole.own) < 1e-12);
  CHECK(std::abs(exact.source - whole.source) < 1e-12);
  for (std::size_t p = 0; p < exact.parts.size(); ++p) {
    CHECK(whole.parts[p].layers == exact.parts[p].layers);
    CHECK(whole.parts[p].units == exact.parts[p].units);
    REQUIRE(whole.parts[p].patched.size() == exact.parts[p].patched.size());
    if (whole.parts[p].by_position) continue;
    std::size_t row = 0;
    for (const std::vector<double>& units : whole.parts[p].patched) {
      for (const double together : units) {
        double sum = whole.own;
        for (const double one : single.parts[p].patched[row]) sum += one - whole.own;
        CHECK(std::abs(together - sum) < 1e-12);
        ++row;
      }
    }
  }
}

TEST_CASE("integrated gradients add up to the logit's change as steps grow") {
  const StoredCircuits own("gpt2_bare_names");
  double before = 0;
  for (const std::size_t steps : {20, 40, 80}) {
    const LogitAttribution all = attribute(own.pass(), {{3, {}}, 4, steps, 7});
    const double sum = std::accumulate(all.integrated.begin(), all.integrated.end(), 0.0);
    CHECK(std::abs(sum - (all.value - all.baseline_value) - all.error) < 1e-12);
    CHECK(all.position == 4);
    CHECK(all.token == 3);
    // Midpoints err by the square of a step.
    if (before != 0) CHECK(std::abs(all.error) < std::abs(before) / 3);
    before = all.error;
  }
  CHECK(std::abs(before) < 1e-3);
}

}  // namespace
}  // namespace attn
