#include <string>

#include <doctest/doctest.h>

#include "attn/heads.hpp"

#include "heads/heads_table.hpp"

namespace attn {
namespace {

HeadPatches effects() {
  HeadPatches patches{" a", " b", 1, 3, {}, {}, {}};
  patches.sweeps.push_back({PatchedPart::heads, false, {"0", "1"}, {{1.5, 1}, {0.5, 3}}, {}});
  return patches;
}

TEST_CASE("effects of one text have no columns of means, but both differences and the share") {
  HeadPatches patches = effects();
  CHECK(patches_csv(patches) ==
        "part,place,own,source,difference,effect,share\n"
        "heads,0.0,1,3,1.5,0.5,0.25\nheads,0.1,1,3,1,0,0\n"
        "heads,1.0,1,3,0.5,-0.5,-0.25\nheads,1.1,1,3,3,2,1\n");
  patches.sweeps[0].attributed = {{2, 1}, {1, 1}};
  patches.sweeps.push_back({PatchedPart::residual, true, {"2"}, {{2}}, {}});
  CHECK(patches_csv(patches) ==
        "part,place,position,own,source,difference,effect,share,by_gradients\n"
        "heads,0.0,,1,3,1.5,0.5,0.25,1\nheads,0.1,,1,3,1,0,0,0\n"
        "heads,1.0,,1,3,0.5,-0.5,-0.25,0\nheads,1.1,,1,3,3,2,1,0\n"
        "residual,2,0,1,3,2,1,0.5,\n");
  patches.paths = {{"0.1", "1.0", "key", 2}, {"0.1", "logits", "", 1.5}};
  patches.source = 1;
  CHECK(paths_csv(patches) ==
        "from,to,input,own,source,difference,effect,share\n"
        "0.1,1.0,key,1,1,2,1,\n0.1,logits,,1,1,1.5,0.5,\n");
}

TEST_CASE("the table that is printed is the one that was asked for, after named statistics") {
  HeadsOptions options;
  HeadsOutcome outcome;
  const std::string statistics = "layer,stack,head,statistic,value\n";
  CHECK(asked_csv(outcome, options) == statistics);
  outcome.differences = {{"0", 1, " a,b", "\"c\"", 0.5, 0.25, 0.125}};
  const std::string differences =
      "layer,head,likeliest,probability,probability_without,likeliest_without,divergence\n"
      "0,1,\" a,b\",0.5,0.25,\"\"\"c\"\"\",0.125\n";
  CHECK(asked_csv(outcome, options) == differences);
  outcome.patches = effects();
  CHECK(asked_csv(outcome, options) == patches_csv(*outcome.patches) + "\n" + differences);
  options.statistics = {HeadStatistic::previous};
  CHECK(asked_csv(outcome, options) ==
        statistics + "\n" + patches_csv(*outcome.patches) + "\n" + differences);
}

TEST_CASE("the table of heads left out is cut to those without which most changes") {
  HeadsOutcome outcome;
  outcome.differences = {{"0", 0, "a", "a", 0.5, 0.5, 0.25},
                         {"0", 1, "a", "a", 0.5, 0.5, 0.125},
                         {"0", 2, "a", "b", 0.5, 0.25, 0.75}};
  HeadsTable table;
  table.statistics = false;
  const auto names = [&] {
    std::string text = heads_text(outcome, table), found;
    for (const char* name : {"\n  0.0 ", "\n  0.1 ", "\n  0.2 "}) {
      found += std::to_string(text.find(name) != text.npos);
    }
    return found;
  };
  CHECK(names() == "111");
  table.top = 2;
  CHECK(names() == "101");
  CHECK(heads_text(outcome, table)
            .ends_with("\n\nThe first 2 of 3 heads; HeadsTable::top lists more.\n"));
  table.by_layer = true;
  CHECK(names() == "110");
}

}  // namespace
}  // namespace attn
