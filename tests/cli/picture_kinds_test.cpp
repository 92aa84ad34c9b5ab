#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string causal = std::string(ATTN_DATA) + "/causal.json";

int plot(const TemporaryFolder& folder, std::vector<std::string> words, const std::string& out) {
  words.insert(words.begin(), "plot");
  words.insert(words.end(), {"--out", out, "--dpi", "72"});
  return attn_cli(words, folder.path()).exit_code;
}

}  // namespace

TEST_CASE("run draws every kind of picture, and stages without writing them") {
  const TemporaryFolder folder;
  CHECK(attn_cli({"run", causal, "--out", "r", "--plots", "all", "--dpi", "72"}, folder.path())
            .exit_code == 0);
  for (const char* name : {"heatmap", "dimensions", "grid", "mask", "stages", "lines"}) {
    CAPTURE(name);
    CHECK(png_header(read_text(folder / "r" / (std::string(name) + ".png"))).dpi == 72);
  }
  CHECK(read_text(folder / "r" / "result.json").find("\"scores\"") == std::string::npos);
}

TEST_CASE("plot draws a document's mask as run does, nothing computed") {
  const TemporaryFolder folder;
  attn_cli({"run", causal, "--out", "r", "--plots", "mask", "--dpi", "72"}, folder.path());
  CHECK(plot(folder, {"mask", causal}, "m.png") == 0);
  CHECK(read_text(folder / "m.png") == read_text(folder / "r" / "mask.png"));
  CHECK(plot(folder, {"mask", "r/result.json"}, "known.png") == 0);
  CHECK(read_text(folder / "m.png") != read_text(folder / "known.png"));
}

TEST_CASE("plot draws stages only of a result that has them") {
  const TemporaryFolder folder;
  attn_cli({"run", causal, "--out", "r", "--plots", "none"}, folder.path());
  const Outcome none =
      attn_cli({"plot", "stages", "r/result.json", "--out", "s.png"}, folder.path());
  CHECK(none.exit_code == 3);
  CHECK(none.errors ==
        "attn-cli: there are no stages to draw\n"
        "  where: r/result.json\n"
        "  help:  compute the result with attn-cli run --stages, or draw them with attn-cli run "
        "--plots stages\n");
  attn_cli({"run", causal, "--out", "r", "--plots", "none", "--stages"}, folder.path());
  CHECK(plot(folder, {"stages", "r/result.json"}, "s.png") == 0);
}

TEST_CASE("plot compares files, takes any tensor and names the nearest of an unknown one") {
  const TemporaryFolder folder;
  attn_cli({"run", causal, "--out", "r", "--plots", "none"}, folder.path());
  CHECK(plot(folder, {"comparison", "r/result.json", "r/result.json"}, "c.png") == 0);
  CHECK(plot(folder, {"heatmap", "r/result.json", "--name", "output"}, "o.png") == 0);
  const Outcome unknown = attn_cli(
      {"plot", "heatmap", "r/result.json", "--name", "outputs", "--out", "o.png"}, folder.path());
  CHECK(unknown.exit_code == 3);
  CHECK(unknown.errors ==
        "attn-cli: there is no tensor \"outputs\"\n"
        "  where: --name\n"
        "  help:  did you mean \"output\"?\n");
  CHECK(attn_cli({"plot", "comparison", "r/result.json", "--out", "c.png"}, folder.path())
            .exit_code == 2);
}

TEST_CASE("labels that do not fit a tensor that is no map neither stop nor break its pictures") {
  const TemporaryFolder folder;
  folder.write("r.json", R"({"tensors":{"weights":[[0.2,0.8],[0.5,0.5]],
    "output":[[1,2,3,4,5,6],[1,2,3,4,5,6]],"x_weights":[[1,2,3,4],[5,6,7,8]],
    "allowed":[[true,true],[true,true]]},"labels":{"query":["a","b"],"key":["c","d"]}})");
  CHECK(plot(folder, {"comparison", "r.json", "r.json", "--name", "output", "--keys", "4:6"},
             "c.png") == 0);
  CHECK(plot(folder, {"heatmap", "r.json", "--name", "output", "--keys", "4:6"}, "h.png") == 0);
  CHECK(plot(folder, {"heatmap", "r.json", "--name", "x_weights"}, "x.png") == 0);
  for (const char* kind : {"mask", "stages", "lines", "grid"}) {
    CAPTURE(kind);
    const Outcome refused =
        attn_cli({"plot", kind, "r.json", "--name", "x_weights", "--keys", "3:4", "--out", "m.png"},
                 folder.path());
    CHECK(refused.exit_code == 3);
    CHECK(refused.errors ==
          "attn-cli: \"x_weights\" is no map of queries and keys\n"
          "  where: --name\n"
          "  help:  draw it as a heatmap, or say with --axes that it is a map\n");
  }
}

TEST_CASE("a grid shows layers × heads of a stack, samples × heads, or one sample's heads") {
  const TemporaryFolder folder;
  folder.write("layers.json", R"({"attention":"encoder_layer","seed":1,"heads":2,"layers":4,
    "feed_forward":8,"x":{"randn":[1,5,4]},"parameters":{"init":"torch"}})");
  CHECK(attn_cli({"run", "layers.json", "--out", "r", "--plots", "grid", "--dpi", "72"},
                 folder.path())
            .exit_code == 0);
  const PngHeader layers = png_header(read_text(folder / "r" / "grid.png"));
  CHECK(layers.height > layers.width);

  folder.write("w.json", R"({"weights":[[[[0.5,0.5]],[[1,0]]],[[[0.1,0.9]],[[0,1]]]]})");
  CHECK(plot(folder, {"grid", "w.json"}, "all.png") == 0);
  CHECK(plot(folder, {"grid", "w.json", "--sample", "1"}, "one.png") == 0);
  CHECK(png_header(read_text(folder / "one.png")).height <
        png_header(read_text(folder / "all.png")).height);
}

TEST_CASE("what is no head and no range is refused with what the flag takes") {
  const Outcome head =
      attn_cli({"plot", "heatmap", "x.json", "--out", "x.png", "--head", "meen"}, ".");
  CHECK(head.exit_code == 2);
  CHECK(head.errors ==
        "attn-cli: \"meen\" is not what --head takes\n"
        "  where: --head\n"
        "  help:  give a whole number, mean, max or all; did you mean \"mean\"?\n");
  const Outcome range =
      attn_cli({"plot", "heatmap", "x.json", "--out", "x.png", "--keys", "3"}, ".");
  CHECK(range.exit_code == 2);
  CHECK(
      range.errors ==
      "attn-cli: \"3\" is not what --keys takes\n"
      "  where: --keys\n"
      "  help:  give the first position and the one behind the last, such as 10:40, 10: or :40\n");
}
