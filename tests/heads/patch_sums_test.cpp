#include <cmath>
#include <string>

#include <doctest/doctest.h>

#include "attn/error.hpp"
#include "attn/heads.hpp"

#include "error_from.hpp"
#include "heads/corpus_sums.hpp"

namespace attn {
namespace {

// Effects of two states of a layer, and of two heads.
HeadPatches patches_of(double own, double first, double second) {
  HeadPatches patches{" a", " b", own, own + 2, {}, {}, {}};
  patches.sweeps.push_back({PatchedPart::residual, true, {"0"}, {{own + first, own + second}}, {}});
  patches.sweeps.push_back({PatchedPart::heads, false, {"1"}, {{own + second, own - first}}, {}});
  patches.sweeps.back().attributed = {{own + 2 * second, own}};
  patches.paths = {{"0.1", "1.0", "key", own + first}, {"0.1", "logits", "", own + second}};
  return patches;
}

TEST_CASE("a table of paths tells query heads from the key and value heads that they share") {
  HeadsOutcome outcome;
  outcome.patches = patches_of(1, 0, 0);
  outcome.patches->sweeps.clear();
  outcome.patches->source = 2;
  outcome.patches->paths = {{"0.1", "1.0", "query", 3},
                            {"0.1", "1.0", "key", 4},
                            {"0.0", "1.1", "value", 2},
                            {"0.0", "logits", "", 1.5}};
  HeadsTable table;
  table.statistics = false;
  CHECK(
      heads_text(outcome, table) ==
      "\nDirect paths patched from the other text, one at a time, all other heads and "
      "feed-forwards unchanged up to their ends: the logit of \" a\" minus that of \" b\", 1.0000 "
      "in the text and 2.0000 in the other\n\n"
      "  from  to              logit difference  effect    share\n"
      "  0.1   key head 1.0              4.0000  3.0000  300.0 %\n"
      "  0.1   query head 1.0            3.0000  2.0000  200.0 %\n"
      "  0.0   value head 1.1            2.0000  1.0000  100.0 %\n"
      "  0.0   logits                    1.5000  0.5000   50.0 %\n");
}

TEST_CASE("effects of patches have means and standard errors, whatever the order of the texts") {
  const HeadPatches texts[]{patches_of(1, 0.25, 3), patches_of(5, 0.5, 1), patches_of(-2, 3, 2)};
  PatchSums all, later;
  for (const HeadPatches& text : texts) all.add(text);
  later.add(texts[2]);
  later.add(texts[0]);
  PatchSums joined;
  joined.add(texts[1]);
  joined.add(later);
  for (const PatchSums* sums : {&all, &joined}) {
    const HeadPatches means = sums->means();
    CHECK(means.texts == 3);
    CHECK(means.own == doctest::Approx(4.0 / 3).epsilon(1e-15));
    CHECK(means.source == doctest::Approx(4.0 / 3 + 2).epsilon(1e-15));
    REQUIRE(means.sweeps.size() == 2);
    const double effect = means.sweeps[0].patched[0][0] - means.own;
    CHECK(effect == doctest::Approx(1.25).epsilon(1e-14));
    CHECK(means.sweeps[0].errors[0][0] ==
          doctest::Approx(std::sqrt((1.0 + 0.5625 + 3.0625) / 6)).epsilon(1e-14));
    CHECK(patches_csv(*sums).starts_with(
        "part,place,position,effect,standard_error,deviation,texts,by_gradients,"
        "by_gradients_error\nresidual,0,0,1.25,"));
    CHECK(patches_csv(*sums).find("\nheads,1.1,,-1.25,") != std::string::npos);
    CHECK(patches_csv(*sums).find(",3,4,") !=
          std::string::npos);  // of head 1.0: the mean of 6, 2, 4
    CHECK(means.sweeps[0].attributed.empty());
    CHECK(means.sweeps[1].attributed[0][0] - means.own == doctest::Approx(4).epsilon(1e-14));
    REQUIRE(means.paths.size() == 2);
    CHECK(means.paths[0].difference - means.own == doctest::Approx(1.25).epsilon(1e-14));
    CHECK(means.paths[1].error.value() == doctest::Approx(std::sqrt(1.0 / 3)).epsilon(1e-14));
    CHECK(paths_csv(*sums).starts_with(
        "from,to,input,effect,standard_error,deviation,texts\n0.1,1.0,key,1.25,"));
    CHECK(paths_csv(*sums).find("\n0.1,logits,,2,") != std::string::npos);
  }
  CHECK(patches_csv(all) == patches_csv(joined));
  CHECK(paths_csv(all) == paths_csv(joined));
}

TEST_CASE("longer texts add positions, and other parts are refused") {
  PatchSums sums;
  sums.add(patches_of(1, 2, 3));
  HeadPatches longer = patches_of(1, 2, 3);
  longer.sweeps[0].patched[0].push_back(7);
  sums.add(longer);
  CHECK(sums.means().sweeps[0].patched[0].size() == 3);
  CHECK(sums.sweeps[0].effects[0][2].count == 1);
  HeadPatches other = patches_of(1, 2, 3);
  other.sweeps[1].part = PatchedPart::keys;
  const std::string refused =
      "other parts of the model were patched than in the texts before\n  where: /patch\n  help:  "
      "give texts for one model, and patches without a part";
  CHECK(error_from([&] { sums.add(other); }) == refused);
  other = patches_of(1, 2, 3);
  other.paths[0].to = "1.1";
  CHECK(error_from([&] { sums.add(other); }) == refused);
  other = patches_of(1, 2, 3);
  other.sweeps[1].attributed.clear();
  CHECK(error_from([&] { sums.add(other); }) == refused);
}

TEST_CASE("files of sums keep the effects of patches") {
  StoredSums stored;
  stored.sums.lines = stored.sums.texts = 2;
  stored.sums.done = true;
  stored.shard = {0, 1};
  stored.sums.patches.add(patches_of(1, 0.25, 3));
  stored.sums.patches.add(patches_of(5, 0.5, 1));
  const StoredSums read = read_sums(sums_text(stored));
  CHECK(patches_csv(read.sums.patches) == patches_csv(stored.sums.patches));
  CHECK(paths_csv(read.sums.patches) == paths_csv(stored.sums.patches));
  CHECK(read.sums.patches.own.mean() == stored.sums.patches.own.mean());
  CHECK(sums_text(read) == sums_text(stored));
}

}  // namespace
}  // namespace attn
