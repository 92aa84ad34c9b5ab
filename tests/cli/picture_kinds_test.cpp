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
  for (const char* name :
       {"heatmap", "dimensions", "grid", "mask", "stages", "lines", "shapes", "strip"}) {
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
  CHECK(refused_with(3, {"plot", "heatmap", "r/result.json", "--name", "outputs", "--out", "o.png"},
                     folder.path()) ==
        "attn-cli: there is no tensor \"outputs\"\n"
        "  where: --name\n"
        "  help:  did you mean \"output\"?\n");
  CHECK(
      refused_with(3, {"plot", "heatmap", "r/result.json", "--name", "scores", "--out", "o.png"},
                   folder.path()) ==
      "attn-cli: there is no tensor \"scores\"\n"
      "  where: --name\n"
      "  help:  the result holds no steps of the score: attn-cli run with --stages writes them\n");
  CHECK(refused_with(2, {"plot", "lens", "r/result.json", "--out", "o.png"}, folder.path()) ==
        "attn-cli: invalid value \"lens\" for plot\n"
        "  where: plot\n"
        "  help:  write attn-cli heads --model M --text TEXT --analyses lens --plots all\n");
  CHECK(attn_cli({"plot", "comparison", "r/result.json", "--out", "c.png"}, folder.path())
            .exit_code == 2);
}

TEST_CASE("plot draws a difference of two maps, and tells how many files a kind takes") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"weights":[[0.25,0.75],[1,0]]})");
  folder.write("b.json", R"({"weights":[[0.5,0.5],[1,0]]})");
  folder.write("wide.json", R"({"weights":[[0.5,0.25,0.25]]})");
  CHECK(plot(folder, {"difference", "a.json", "b.json", "--cmap", "coolwarm"}, "d.svg") == 0);
  const std::string drawn = read_text(folder / "d.svg");
  CHECK(drawn.find("<title>Difference a − b (Sample 1, Head 1)</title>") != std::string::npos);
  CHECK(drawn.find("Values from −0.25 to 0.25, coloured from −0.25 to 0.25.") != std::string::npos);
  const Outcome of_one_side =
      attn_cli({"plot", "difference", "a.json", "b.json", "--cmap", "YlOrRd", "--out", "d.svg"},
               folder.path());
  CHECK(of_one_side.exit_code == 0);
  CHECK(of_one_side.errors ==
        "attn-cli: warning: --cmap YlOrRd does not tell differences below zero from those above "
        "it: leave it out, or give a map of two sides, such as RdBu_r\n");
  CHECK(refused_with(2, {"plot", "heatmap", "a.json", "--titles", "none", "--out", "d.svg"},
                     folder.path()) ==
        "attn-cli: --titles is for several maps side by side, not for one\n"
        "  where: --titles\n"
        "  help:  write --title TEXT, or --title \"\" for none; --head all draws several\n");
  CHECK(
      refused_with(3, {"plot", "difference", "a.json", "wide.json", "--out", "d.png"},
                   folder.path()) ==
      "attn-cli: the weights have the shape [1,3], those of a.json have [2,2]\n"
      "  where: wide.json\n"
      "  help:  give maps of one shape, or choose equal parts, such as --queries 0:1 --keys 0:2\n");
  CHECK(plot(folder, {"difference", "a.json", "wide.json", "--queries", "0:1", "--keys", "0:2"},
             "d.svg") == 0);
  folder.write("heads.json", R"({"weights":[[[[0.25,0.75],[1,0]],[[0.5,0.5],[1,0]]]]})");
  CHECK(refused_with(
            3, {"plot", "difference", "a.json", "heads.json", "--head", "all", "--out", "d.png"},
            folder.path()) ==
        "attn-cli: 2 maps here, and 1 map in a.json\n"
        "  where: heads.json\n"
        "  help:  choose as many maps of each, such as --head 0\n");
  CHECK(refused_with(2, {"plot", "difference", "a.json", "b.json", "a.json", "--out", "d.png"},
                     folder.path()) ==
        "attn-cli: a difference takes two files\n"
        "  where: attn-cli plot\n"
        "  help:  write attn-cli plot difference A B --out PICTURE\n");
}

TEST_CASE("plot draws the difference of two heads, samples or layers of one file") {
  const TemporaryFolder folder;
  folder.write("heads.json", R"({"weights":[[[[0.25,0.75],[1,0]],[[0.5,0.5],[1,0]]]]})");
  folder.write("samples.json", R"({"weights":[[[0.25,0.75],[1,0]],[[0.5,0.5],[1,0]]]})");
  folder.write("layers.json", R"({"tensors":{"layers.0.self.weights":[[0.25,0.75],[1,0]],
    "layers.1.self.weights":[[0.5,0.5],[1,0]],"layers.2.self.weights":[[1,0],[1,0]]}})");
  const auto drawn = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "difference");
    REQUIRE(plot(folder, words, "d.svg") == 0);
    const std::string picture = read_text(folder / "d.svg");
    CHECK(picture.find("Values from −0.25 to 0.25, coloured from −0.25 to 0.25.") !=
          std::string::npos);
    const std::size_t start = picture.find("<title>") + 7;
    return picture.substr(start, picture.find("</title>") - start);
  };
  CHECK(drawn({"heads.json", "--head", "0,1"}) == "Difference Head 1 − Head 2 (Sample 1)");
  CHECK(drawn({"samples.json", "--sample", "all"}) == "Difference Sample 1 − Sample 2 (Head 1)");
  CHECK(drawn({"layers.json", "--layers", "0,1"}) ==
        "Difference Layer 0, Self-Attention − Layer 1, Self-Attention (Head 0)");
  const auto refused = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all{"plot", "difference", "heads.json", "--out", "d.png"};
    all.insert(all.end(), words.begin(), words.end());
    return refused_with(3, all, folder.path());
  };
  CHECK(refused({}) ==
        "attn-cli: a difference is of two maps, not of 1\n"
        "  where: heads.json\n"
        "  help:  give two files, or two heads, samples or layers of one, such as --head 0,1\n");
  CHECK(refused_with(2, {"plot", "difference", "heads.json:0", "heads.json:1", "--out", "d.png"},
                     folder.path()) ==
        "attn-cli: there is no file \"heads.json:0\"\n"
        "  where: attn-cli plot difference\n"
        "  help:  write attn-cli plot difference heads.json --head 0,1 --out PICTURE\n");
  CHECK(refused_with(2, {"plot", "comparison", "heads.json:0", "heads.json:1", "--out", "d.png"},
                     folder.path()) ==
        "attn-cli: there is no file \"heads.json:0\"\n"
        "  where: attn-cli plot comparison\n"
        "  help:  write attn-cli plot heatmap heads.json --head 0,1 --out PICTURE\n");
  CHECK(refused_with(2, {"plot", "comparison", "heads.json", "--head", "0,1", "--out", "d.png"},
                     folder.path()) ==
        "attn-cli: a comparison takes at least two files\n"
        "  where: attn-cli plot\n"
        "  help:  write attn-cli plot heatmap heads.json --head 0,1 --out PICTURE\n");
  CHECK(refused_with(2, {"plot", "heatmap", "heads.json:1", "--out", "d.png"}, folder.path()) ==
        "attn-cli: there is no file \"heads.json:1\"\n"
        "  where: attn-cli plot heatmap\n"
        "  help:  write heads.json --head 1\n");
}

TEST_CASE("steps of several files, or of one, stand below each other, what is not there apart") {
  const TemporaryFolder folder;
  folder.write("1.json", R"({"weights":[[1]],"labels":{"query":["<s>"],"key":["<s>"]}})");
  folder.write("2.json", R"({"weights":[[0.5,0.5]],"labels":{"query":["to"],"key":["<s>","to"]}})");
  folder.write("all.json", R"({"tensors":{"steps.10.weights":[[0.2,0.3,0.5]],
    "steps.9.weights":[[0.5,0.5]],"layers.1.weights":[[1]]}})");
  CHECK(plot(folder, {"steps", "1.json", "2.json"}, "s.svg") == 0);
  const std::string drawn = read_text(folder / "s.svg");
  CHECK(drawn.find("<title>Decoding Steps (Sample 1, Head 1)</title>") != std::string::npos);
  CHECK(drawn.find("Heatmap of 2 queries × 2 keys. Values from 0.5 to 1, coloured from 0 to 1. "
                   "Marked separately: does not exist.") != std::string::npos);
  // In the order of their numbers: the step with two keys comes first.
  CHECK(plot(folder, {"steps", "all.json"}, "all.svg") == 0);
  CHECK(read_text(folder / "all.svg").find("Heatmap of 2 queries × 3 keys.") != std::string::npos);
  CHECK(plot(folder, {"steps", "all.json", "--queries", "0:1"}, "first.svg") == 0);
  CHECK(read_text(folder / "first.svg").find("Values from 0.5 to 0.5") != std::string::npos);
  CHECK(
      refused_with(2, {"plot", "steps", "all.json", "--renormalize", "--out", "n.png"},
                   folder.path()) ==
      "attn-cli: a picture of the kind steps has no use for --renormalize\n"
      "  where: --renormalize\n"
      "  help:  leave it out: it is for heatmap, grid, stages, lines, strip, overlay, comparison, "
      "difference, animation, card\n");
}

TEST_CASE("heads and layers from the end get the number to write, where the input is known") {
  const std::vector<std::string> text{"--model", std::string(ATTN_DATA) + "/speeches", "--text",
                                      "The"};
  const auto refused_last = [&](std::vector<std::string> words, const std::string& flag,
                                const std::string& value) {
    words.insert(words.end(), text.begin(), text.end());
    words.insert(words.end(), {flag, value});
    return refused_with(2, words);
  };
  const auto told = [](const std::string& flag, const std::string& value, const std::string& help) {
    return "attn-cli: " + flag + " counts from 0: " + value + " is below\n  where: " + flag +
           "\n  help:  " + help + "\n";
  };
  CHECK(refused_last({"run", "--out", "r"}, "--head", "-1") ==
        told("--head", "-1", "write --head 3"));
  CHECK(refused_last({"run", "--out", "r"}, "--head", "-2") ==
        told("--head", "-2", "write --head 2"));
  CHECK(refused_last({"run", "--out", "r"}, "--head", "-9") == told("--head", "-9", "give 0 to 3"));
  CHECK(refused_last({"explain"}, "--head", "-1") == told("--head", "-1", "write --head 3"));
  CHECK(refused_last({"explain"}, "--layers", "-1") == told("--layers", "-1", "write --layers 3"));
}

TEST_CASE("a patch beyond a picture gets the range of its rows and columns") {
  const std::string shapes = std::string(ATTN_DATA) + "/shapes";
  CHECK(refused_with(3, {"run", "--model", shapes, "--image", shapes + "/red_ring.png", "--query",
                         "8,8", "--out", "r"}) ==
        "attn-cli: no query is called \"8,8\"\n  where: --query\n"
        "  help:  give a row from 0 to 7 and a column from 0 to 7, such as 7,7\n");
}

TEST_CASE("run counts samples and heads from 0, as its report names them by number") {
  const TemporaryFolder folder;
  folder.write("d.json",
               R"({"attention":"scaled_dot_product","query":[[1]],"key":[[1]],"value":[[1]]})");
  for (const std::string flag : {"--sample", "--head"}) {
    CHECK(refused_with(2, {"run", "d.json", flag, "-1", "--out", "r"}, folder.path()) ==
          "attn-cli: " + flag + " counts from 0: -1 is below\n  where: " + flag +
              "\n  help:  write " + flag + " 0\n");
  }
}

TEST_CASE("arcs, cells above a threshold and keys that go upwards are drawn of any map") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[0.7,0.2,0.1],[0.1,0.8,0.1],[0.3,0.3,0.4]],
    "labels":["it","was","tired"]})");
  CHECK(plot(folder, {"arcs", "w.json"}, "a.svg") == 0);
  CHECK(read_text(folder / "a.svg").find("Arcs from 3 queries to 3 keys for 1 head") !=
        std::string::npos);
  CHECK(
      attn_cli({"plot", "heatmap", "w.json", "--threshold", "0.3", "--out", "t.svg"}, folder.path())
          .errors == "attn-cli: warning: values below --threshold 0.3 are left blank\n");
  CHECK(read_text(folder / "t.svg").find("Marked separately: below 0.3.") != std::string::npos);
  CHECK(plot(folder, {"heatmap", "w.json", "--top", "1"}, "top.svg") == 0);
  CHECK(read_text(folder / "top.svg").find("Marked separately: not the largest.") !=
        std::string::npos);
  CHECK(plot(folder, {"heatmap", "w.json", "--keys-upwards"}, "up.svg") == 0);
  CHECK(read_text(folder / "up.svg") != read_text(folder / "t.svg"));
  CHECK(refused_with(2, {"plot", "lines", "w.json", "--keys-upwards", "--smooth", "--out", "l.png"},
                     folder.path()) ==
        "attn-cli: a picture of the kind lines has no use for --smooth, --keys-upwards\n"
        "  where: --smooth\n"
        "  help:  leave them out\n");
  CHECK(refused_with(2, {"plot", "lines", "w.json", "--keys-upwards", "--out", "l.png"},
                     folder.path()) ==
        "attn-cli: a picture of the kind lines has no use for --keys-upwards\n"
        "  where: --keys-upwards\n"
        "  help:  leave it out: it is for heatmap, grid, comparison, difference\n");
}

TEST_CASE("a caption is printed, in the report and in the language that is spoken") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[0.7,0.2,0.1],[0.1,0.8,0.1],[0.3,0.3,0.4]],
    "labels":["it","was","tired"]})");
  const std::vector<std::string> plot_it{"plot",      "heatmap", "w.json",
                                         "--caption", "--out",   "c.png"};
  const Outcome printed = attn_cli(plot_it, folder.path());
  CHECK(printed.output ==
        "Attention of 3 queries × 3 keys: the strongest weight is 0.8 from \"was\" (1) to \"was\" "
        "(1). A "
        "query's "
        "largest weight is 0.633 on average, where a uniform one would be 0.333.\n"
        "A map of attention of 3 queries × 3 keys, darker for larger weights. On average "
        "63 % of a query's weight is on the token itself.\n");
  std::vector<std::string> with = plot_it;
  with.push_back("--json");
  CHECK(attn_cli(with, folder.path()).output.find("\"caption\": \"Attention of 3 queries") !=
        std::string::npos);
  with.back() = "--lang";
  with.push_back("zh");
  CHECK(attn_cli(with, folder.path()).output.find("最强的权重为 0.8") != std::string::npos);
}

TEST_CASE("a rollout is called one, whatever its axes are called") {
  const TemporaryFolder folder;
  folder.write("r.json", R"({"format":1,"tensors":{
    "layers.0.rollout":[[[1,0],[0.4,0.6]]],"layers.0.allowed":[[[[1,0],[1,1]]]]}})");
  for (const bool axes : {false, true}) {
    CAPTURE(axes);
    std::vector<std::string> words{"heatmap", "r.json", "--name", "layers.0.rollout"};
    if (axes) words.insert(words.end(), {"--axes", "batch,query,key"});
    CHECK(plot(folder, words, "r.svg") == 0);
    const std::string drawn = read_text(folder / "r.svg");
    CHECK(drawn.find("<title>Attention Rollout (Layer 0)</title>") != std::string::npos);
    CHECK(drawn.find("Share of the Input Token") != std::string::npos);
  }
}

TEST_CASE("the positions of a document are drawn as a map and as curves") {
  const TemporaryFolder folder;
  const std::string text = std::string(ATTN_DATA) + "/text.json";
  CHECK(plot(folder, {"positions", text}, "p.svg") == 0);
  CHECK(read_text(folder / "p.svg").find("Heatmap of 13 positions × 16 dimensions. Values from") !=
        std::string::npos);
  CHECK(plot(folder, {"curves", text, "--keys", "0:4"}, "c.svg") == 0);
  CHECK(
      read_text(folder / "c.svg").find("Curves over 13 positions of the dimensions 0, 1, 2, 3.") !=
      std::string::npos);
  folder.write("table.json", "[[0,1,2],[3,4,5]]");
  CHECK(plot(folder, {"curves", "table.json"}, "t.svg") == 0);
  CHECK(read_text(folder / "t.svg").find("Curves over 2 positions of the dimensions 0, 1, 2.") !=
        std::string::npos);
  CHECK(plot(folder, {"curves", "table.json", "--titles", "one,\"two, or three\",four"}, "n.svg") ==
        0);
  const std::string named = read_text(folder / "n.svg");
  for (const char* name : {">one<", ">two, or three<", ">four<"}) {
    CHECK(named.find(name) != std::string::npos);
  }
  CHECK(named.find("dimension 0") == std::string::npos);
  CHECK(refused_with(2, {"plot", "curves", "table.json", "--titles", "one,two", "--out", "f.svg"},
                     folder.path()) ==
        "attn-cli: 2 titles for 3 columns\n  where: --titles\n"
        "  help:  give one title for each column, or none\n");
  const std::string models = std::string(ATTN_TEST_DATA) + "/models/cases/";
  CHECK(plot(folder, {"positions", models + "gpt2_bare_names/input.json"}, "l.svg") == 0);
  CHECK(read_text(folder / "l.svg").find("<title>Learned Positions</title>") != std::string::npos);
  CHECK(plot(folder, {"curves", models + "marian_own_tables/input.json"}, "m.svg") == 0);
  CHECK(read_text(folder / "m.svg").find("<title>Sinusoidal Positions") != std::string::npos);
  const Outcome none = attn_cli({"plot", "positions", causal, "--out", "n.png"}, folder.path());
  CHECK(none.exit_code == 3);
  CHECK(
      none.errors ==
      "attn-cli: the document adds no positions to its tokens: it has no embedding\n"
      "  where: " +
          causal +
          "\n"
          "  help:  give its \"embedding\" a \"position\": \"sinusoidal\", or a file with a tensor "
          "[L,D]\n");
}

TEST_CASE("a picture of positions warns where embeddings are in it, and only there") {
  const TemporaryFolder folder;
  const std::string text = std::string(ATTN_DATA) + "/text.json";
  const auto warnings = [&](std::vector<std::string> words) {
    words.insert(words.begin(), {"plot", "positions", "--out", "p.svg"});
    return attn_cli(words, folder.path()).errors;
  };
  CHECK(warnings({text}) == "");
  REQUIRE(attn_cli({"run", text, "--out", "r", "--plots", "none"}, folder.path()).exit_code == 0);
  const std::string others =
      "attn-cli: warning: this is sample 0 of 2: --sample 1 shows another, mean their mean; "
      "pictures also take all\n";
  CHECK(warnings({"r"}) ==
        "attn-cli: warning: \"embedded\" has the embeddings of the tokens, with positions added "
        "where the document asks for them: the document instead of its result draws positions "
        "alone\n" +
            others);
  CHECK(warnings({"r", "--name", "embedded"}) == others);
}

TEST_CASE("a strip frames the query that is chosen, and shows what all give otherwise") {
  const TemporaryFolder folder;
  folder.write("w.json",
               R"({"weights":[[0.25,0.75],[1,0]],"labels":{"query":["a","b"],"key":["a","b"]}})");
  CHECK(plot(folder, {"strip", "w.json", "--queries", "1:2"}, "one.svg") == 0);
  CHECK(read_text(folder / "one.svg")
            .find("<title>What &quot;b&quot; Looks At (Sample 1, Head 1)</title>") !=
        std::string::npos);
  CHECK(plot(folder, {"strip", "w.json"}, "all.svg") == 0);
  CHECK(read_text(folder / "all.svg").find("Values from 0.375 to 0.625") != std::string::npos);
}

TEST_CASE("a strip's mean is that of the queries that see a token and are no padding") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[1,0,0],[0.5,0.5,0],[0.1,0.9,0]],
    "allowed":[[true,false,false],[true,true,false],[true,true,false]],
    "labels":{"query":["a","b","[PAD]"],"key":["a","b","[PAD]"]}})");
  CHECK(plot(folder, {"strip", "w.json"}, "all.svg") == 0);
  const std::string svg = read_text(folder / "all.svg");
  CHECK(svg.find("Mean Weight of the Queries that See Each Token") != std::string::npos);
  CHECK(svg.find("Values from 0.5 to 0.75") != std::string::npos);
}

TEST_CASE("a model's pictures are the same from its result as from its run") {
  const TemporaryFolder folder;
  const std::string model = std::string(ATTN_DATA) + "/speeches";
  const auto run = [&](const std::string& plots, const std::string& out,
                       const std::vector<std::string>& more) {
    std::vector<std::string> words{"run",    "--model",       model,     "--text", "The state.",
                                   "--text", "Of the Union.", "--plots", plots,    "--dpi",
                                   "72",     "--out",         out};
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path()).exit_code;
  };
  CHECK(run("grid", "grid", {}) == 0);
  CHECK(plot(folder, {"grid", "grid/result.json"}, "p.png") == 0);
  CHECK(read_text(folder / "p.png") == read_text(folder / "grid/grid.png"));
  CHECK(run("heatmap,strip", "first", {"--head", "0"}) == 0);
  for (const std::string kind : {"heatmap", "strip"}) {
    CAPTURE(kind);
    CHECK(plot(folder, {kind, "first/result.json"}, "p.png") == 0);
    CHECK(read_text(folder / "p.png") ==
          read_text(folder / "first" / (kind + ".layers.0.self.png")));
  }
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
    CHECK(refused_with(
              3, {"plot", kind, "r.json", "--name", "x_weights", "--keys", "3:4", "--out", "m.png"},
              folder.path()) ==
          "attn-cli: \"x_weights\" is not a map of queries and keys\n"
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
  CHECK(refused_with(2, {"plot", "heatmap", "x.json", "--out", "x.png", "--head", "meen"}, ".") ==
        "attn-cli: invalid value \"meen\" for --head\n"
        "  where: --head\n"
        "  help:  give a whole number, mean, max or all; did you mean \"mean\"?\n");
  CHECK(refused_with(2, {"plot", "heatmap", "x.json", "--out", "x.png", "--keys", "3"}, ".") ==
        "attn-cli: invalid value \"3\" for --keys\n"
        "  where: --keys\n"
        "  help:  write --keys 3:4\n");
}

TEST_CASE("maps of different sizes stand side by side, each with its own axes, on one scale") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"weights":[[0.25,0.75],[1,0]]})");
  folder.write("wide.json", R"({"weights":[[0.5,0.25,0.25]]})");
  REQUIRE(plot(folder, {"comparison", "a.json", "wide.json"}, "c.svg") == 0);
  const std::string drawn = read_text(folder / "c.svg");
  CHECK(drawn.find("Heatmaps in 1 row and 2 columns: 2 queries × 2 keys; 1 query × 3 keys.") !=
        std::string::npos);
  CHECK(drawn.find("Panels: a, wide.") != std::string::npos);
  // Heads of different numbers follow each other.
  folder.write("heads.json", R"({"weights":[[[[1,0],[0,1]],[[0.5,0.5],[0,1]]]]})");
  REQUIRE(plot(folder, {"comparison", "a.json", "heads.json", "--head", "all"}, "h.svg") == 0);
  CHECK(read_text(folder / "h.svg").find("Panels: a, heads: Head 1, heads: Head 2.") !=
        std::string::npos);
}

TEST_CASE("a document of several kinds gives its memory to those that need it") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":["self","multi_head","cross"],"seed":1,"heads":2,
    "parameters":{"init":"torch"},
    "x":{"randn":[1,3,4]},"memory":{"randn":[1,2,4]},
    "labels":{"query":["a","b","c"],"key":["d","e"]}})");
  const Outcome run = attn_cli(
      {"run", "d.json", "--plots", "heatmap", "--format", "svg", "--out", "r"}, folder.path());
  CHECK(run.errors == "");
  CHECK(run.exit_code == 0);
  const auto shape = [&](const std::string& kind) {
    const std::string result = read_text(folder / "r" / kind / "result.json");
    const std::size_t at = result.find("\"weights\": [");
    return at == std::string::npos ? "" : result.substr(at, result.find(']', at) - at + 1);
  };
  CHECK(shape("self") == "\"weights\": [1,3,3]");
  CHECK(shape("multi_head") == "\"weights\": [1,2,3,3]");
  CHECK(shape("cross") == "\"weights\": [1,3,2]");
  const std::string drawn = read_text(folder / "r/comparison.svg");
  CHECK(drawn.find("Heatmaps in 1 row and 3 columns: 3 queries × 3 keys; 3 queries × 3 keys; "
                   "3 queries × 2 keys.") != std::string::npos);
  CHECK(attn_cli({"plot", "comparison", "r/self", "r/multi_head", "r/cross", "--out", "c.png"},
                 folder.path())
            .exit_code == 0);
  // Without a kind that needs it, the memory is multi_head's.
  folder.write("d.json", R"({"attention":["self","multi_head"],"seed":1,"heads":2,
    "parameters":{"init":"torch"},
    "x":{"randn":[1,3,4]},"memory":{"randn":[1,2,4]}})");
  REQUIRE(attn_cli({"run", "d.json", "--plots", "none", "--out", "m"}, folder.path()).exit_code ==
          0);
  CHECK(read_text(folder / "m/multi_head/result.json").find("\"weights\": [1,2,3,2]") !=
        std::string::npos);
}

TEST_CASE("a card says where a head looks beside chance, over a corpus with its error") {
  const TemporaryFolder folder;
  const std::string text = "The peace of the world. The peace of the";
  attn_cli({"run", "--model", std::string(ATTN_DATA) + "/speeches", "--text", text, "--plots",
            "none", "--out", "r"},
           folder.path());
  const auto card = [&](std::vector<std::string> more) {
    more.insert(more.begin(),
                {"plot", "card", "r", "--layers", "1", "--head", "1", "--out", "c.svg"});
    const Outcome drawn = attn_cli(more, folder.path());
    CHECK(drawn.errors == "");
    return read_text(folder / "c.svg");
  };
  const std::string one = card({});
  CHECK(one.find(">Head 1.1 looks at the previous token<") != std::string::npos);
  CHECK(one.find(" of its weight; by chance 0.") != std::string::npos);
  CHECK(one.find(">chance<") != std::string::npos);
  folder.write("texts.txt", text + "\nThe people of the United States.\n");
  attn_cli({"heads", "--model", std::string(ATTN_DATA) + "/speeches", "--corpus", "texts.txt",
            "--out", "corpus", "--quiet"},
           folder.path());
  const std::string many = card({"--corpus", "corpus"});
  CHECK(many.find(" \u00b1 ") != std::string::npos);
  CHECK(many.find(" of its weight in 2 texts; by chance 0.") != std::string::npos);
  CHECK(one.find("Bands: one standard error") == std::string::npos);
  CHECK(many.find("Bands: one standard error on both sides.") != std::string::npos);
  CHECK(refused_with(4,
                     {"plot", "card", "r", "--layers", "1", "--head", "1", "--corpus", "none",
                      "--out", "c.svg"},
                     folder.path())
            .find("no statistics of a corpus in \"none\"") != std::string::npos);
}

TEST_CASE("shares of an answer are drawn from a result of heads and of run as heads draws them") {
  const TemporaryFolder folder;
  const std::vector<std::string> asked{"--model",    std::string(ATTN_DATA) + "/speeches",
                                       "--text",     "The peace of the world. The peace of the",
                                       "--generate", "3",
                                       "--parts",    "start=0:9",
                                       "--dpi",      "72"};
  const auto ask = [&](std::vector<std::string> words, const std::vector<std::string>& more) {
    words.insert(words.end(), asked.begin(), asked.end());
    words.insert(words.end(), more.begin(), more.end());
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
  };
  ask({"heads"}, {"--plots", "all", "--out", "h", "--quiet"});
  CHECK(
      attn_cli({"plot", "shares", "h", "--dpi", "72", "--out", "s.png"}, folder.path()).exit_code ==
      0);
  CHECK(read_text(folder / "s.png") == read_text(folder / "h/shares.png"));
  ask({"run"}, {"--plots", "none", "--out", "r", "--quiet"});
  CHECK(
      attn_cli({"plot", "shares", "r", "--dpi", "72", "--out", "r.png"}, folder.path()).exit_code ==
      0);
  CHECK(read_text(folder / "r.png") == read_text(folder / "s.png"));
  folder.write("w.json", R"({"weights":[[1]]})");
  CHECK(refused_with(3, {"plot", "shares", "w.json", "--out", "w.png"}, folder.path()) ==
        "attn-cli: the result holds no shares of an answer\n"
        "  where: w.json\n"
        "  help:  compute it with --generate and --parts\n");
}

TEST_CASE("curves of weights are named by their keys, and those of positions by dimensions") {
  const TemporaryFolder folder;
  const auto svg = [&](const std::string& labels) {
    folder.write("w.json", R"({"weights":[[0.7,0.3],[0.1,0.9]])" + labels + "}");
    CHECK(attn_cli({"plot", "curves", "w.json", "--out", "c.svg"}, folder.path()).exit_code == 0);
    return read_text(folder / "c.svg");
  };
  CHECK(svg(R"(,"labels":["the","the"])").find(">&quot;the&quot; (1)<") != std::string::npos);
  CHECK(svg("").find(">key 1<") != std::string::npos);
  CHECK(svg(R"(,"labels":{"query":["1","2"],"key":["slow","fast"]})").find(">fast<") !=
        std::string::npos);
}

TEST_CASE("the heads of one map are the same picture as a grid and as a heatmap of all") {
  const TemporaryFolder folder;
  attn_cli({"run", std::string(ATTN_DATA) + "/animal_layer1.json", "--plots", "none", "--out", "r"},
           folder.path());
  CHECK(plot(folder, {"grid", "r"}, "g.png") == 0);
  CHECK(plot(folder, {"heatmap", "r", "--head", "all"}, "h.png") == 0);
  CHECK(read_text(folder / "g.png") == read_text(folder / "h.png"));
}

TEST_CASE("a grid of the best heads has these alone, and dots for all") {
  const TemporaryFolder folder;
  attn_cli({"run", "--model", std::string(ATTN_DATA) + "/speeches", "--text",
            "The peace of the world. The peace of the", "--plots", "none", "--out", "r"},
           folder.path());
  CHECK(plot(folder, {"grid", "r", "--best", "2"}, "b.svg") == 0);
  const std::string best = read_text(folder / "b.svg");
  CHECK(best.find(">The 2 of 16 Heads that Look Most beyond Chance<") != std::string::npos);
  CHECK(best.find(">1.1: the previous token<") != std::string::npos);
  CHECK(best.find(">Dot: share of a head's weight in one place beyond that of even weights<") !=
        std::string::npos);
  CHECK(best.find("16 dots, of which ") != std::string::npos);
}

TEST_CASE("a preset of a journal is exactly as wide as its column, without a title") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[0.7,0.3],[0.1,0.9]],"labels":["it","was"]})");
  const auto width = [&](const std::string& preset) {
    attn_cli({"plot", "heatmap", "w.json", "--preset", preset, "--out", "p.svg"}, folder.path());
    const std::string svg = read_text(folder / "p.svg");
    CHECK(svg.find("Attention Weight Heatmap<") == std::string::npos);
    return std::stod(svg.substr(svg.find("width=\"") + 7));
  };
  CHECK(width("nature") == doctest::Approx(89 / 25.4 * 72));
  CHECK(width("nature-double") == doctest::Approx(183 / 25.4 * 72));
  CHECK(width("neurips") == doctest::Approx(5.5 * 72));
  CHECK(width("column") == doctest::Approx(3.25 * 72));
}

TEST_CASE("what does not differ is as dark as a dark background, and light on a white one") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"weights":[[0.5,0.5],[1,0]]})");
  folder.write("b.json", R"({"weights":[[0.5,0.5],[0.25,0.75]]})");
  const std::vector<std::string> words = {"difference", "a.json", "b.json"};
  const auto with = [&](const std::string& background) {
    std::vector<std::string> all = words;
    all.insert(all.end(), {"--background", background});
    CHECK(plot(folder, all, background + ".svg") == 0);
    return read_text(folder / (background + ".svg"));
  };
  // The middle of RdBu_r, and of the map that begins at the dark ground.
  const std::string light = "rgb(96.862745%", dark = "rgb(12.941176%";
  CHECK(with("white").find(light) != std::string::npos);
  CHECK(with("dark").find(light) == std::string::npos);
  CHECK(with("dark").find(dark) != std::string::npos);
}

TEST_CASE("the key of a mask says of dilations and conditions why they hide") {
  const TemporaryFolder folder;
  folder.write("m.json", R"({"attention":"softmax","scores":{"zeros":[9,9]},
    "mask":{"window":{"left":4,"right":4},"dilation":2,"where":"j >= 2"}})");
  CHECK(plot(folder, {"mask", "m.json"}, "m.svg") == 0);
  const std::string drawn = read_text(folder / "m.svg");
  CHECK(drawn.find(">skipped by dilation<") != std::string::npos);
  CHECK(drawn.find(">condition not met<") != std::string::npos);
}
