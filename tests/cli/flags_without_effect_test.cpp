#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string document = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";

}  // namespace

TEST_CASE("a flag that has no effect without another one is refused with that one") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  struct Alone {
    std::vector<std::string> words;
    std::string flag, others, first;
  };
  for (const auto& [words, flag, others, first] :
       {Alone{{"run", "d.json", "--width", "40"}, "--width", "--show", "--show"},
        Alone{{"run", "d.json", "--color", "never"}, "--color", "--show", "--show"},
        Alone{{"run", "d.json", "--key", "1"}, "--key", "--why", "--why"},
        Alone{{"explain", "d.json", "--key", "1"}, "--key", "--why", "--why"},
        Alone{{"explain", "d.json", "--csv"}, "--csv", "--why or --logit", "--why"},
        Alone{{"heads", "d.json", "--residual", "0.4"}, "--residual", "--analyses", "--analyses"},
        Alone{{"heads", "d.json", "--resume"}, "--resume", "--corpus", "--corpus"},
        Alone{{"heads", "d.json", "--kept", "4"}, "--kept", "--corpus or --merge", "--corpus"},
        Alone{{"heads", "d.json", "--dpi", "50"}, "--dpi", "--plots", "--plots"},
        Alone{{"compare", "d.json", "d.json", "--dpi", "50"}, "--dpi", "--plot", "--plot"}}) {
    CHECK(refused_with(2, words, folder.path()) ==
          "attn-cli: " + flag + " has no effect without " + others + "\n  where: " + flag +
              "\n  help:  add " + first + ", or leave it out\n");
  }
}

TEST_CASE("flags of pictures that change nothing of what is drawn are told") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  const auto told = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"run", "d.json", "--out", "r"});
    const Outcome outcome = attn_cli(flags, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.errors;
  };
  const std::string warning = "attn-cli: warning: ";
  CHECK(told({"--plots", "heatmap", "--columns", "2"}) ==
        warning + "--columns has no effect on what is drawn: heatmap\n");
  CHECK(told({"--plots", "heatmap", "--titles", "a,b"}) ==
        warning + "--titles has no effect on what is drawn: heatmap\n");
  CHECK(told({"--plots", "heatmap", "--letters", "outlines"}) ==
        warning + "--letters has no effect: a PNG has pixels in place of letters\n");
  CHECK(told({"--plots", "heatmap", "--letters", "outlines", "--format", "svg"}) == "");
  CHECK(told({"--plots", "none", "--format", "svg"}) ==
        warning + "--format has no effect: no picture is drawn\n");
  CHECK(told({"--plots", "none", "--show", "--dpi", "100"}) ==
        warning + "--dpi has no effect: no picture is drawn\n");
  CHECK(told({"--plots", "none", "--show", "--cmap", "Blues"}) == "");
  CHECK(told({"--plots", "heatmap", "--annotate", "off", "--annotate-format", ".3f"}) ==
        warning + "--annotate-format has no effect: the cells have no values\n");
  CHECK(told({"--plots", "none", "--head", "all"}) ==
        warning + "--head all has no effect: no picture is drawn\n");
  CHECK(attn_cli({"plot", "heatmap", "r", "--letters", "outlines", "--out", "x.png"}, folder.path())
            .errors ==
        "attn-cli: --letters has no effect: a PNG has pixels in place of letters\n"
        "  where: --letters\n  help:  leave it out, or draw an SVG or a PDF\n");
}

TEST_CASE("a head that is not meant, an empty text and bins that reduce nothing are told") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  folder.write("m.json", R"({"attention":"multi_head","seed":1,"x":{"randn":[1,3,4]},
    "parameters":{"init":"torch"}})");
  const std::string speeches = std::string(ATTN_DATA) + "/speeches";
  const auto told = [&](std::vector<std::string> flags) {
    flags.insert(flags.begin(), "run");
    flags.insert(flags.end(), {"--plots", "none", "--out", "r"});
    const Outcome outcome = attn_cli(flags, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.errors;
  };
  CHECK(told({"m.json"}) ==
        "attn-cli: warning: multi_head without \"heads\" has one head: write \"heads\" with their "
        "number\n");
  CHECK(told({"m.json", "--heads", "1"}) == "");
  CHECK(told({"--model", speeches, "--text", ""}) ==
        "attn-cli: warning: a text is empty: the model reads its special tokens alone\n");
  CHECK(told({"d.json", "--pool", "8"}) ==
        "attn-cli: warning: pooling to 8 bins reduces nothing: there are 2 queries and 2 keys\n");
  CHECK(told({"d.json", "--pool", "1"}) == "");
}
