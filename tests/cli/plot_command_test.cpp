#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "plot/pdf_text.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string weights =
    R"({"weights":[[0.25,0.75],[1,0]],"labels":{"query":["a","b"],"key":["c","d"]}})";

}  // namespace

TEST_CASE("plot draws the same heatmap from a result as the run that made it") {
  const TemporaryFolder folder;
  attn_cli({"run", std::string(ATTN_DATA) + "/causal.json", "--out", "r"}, folder.path());
  CHECK(attn_cli({"plot", "heatmap", "r/result.json", "--out", "again.png"}, folder.path())
            .exit_code == 0);
  CHECK(read_text(folder / "again.png") == read_text(folder / "r" / "heatmap.png"));
  CHECK(attn_cli({"plot", "dimensions", "r/result.json", "--out", "again.png"}, folder.path())
            .exit_code == 0);
  CHECK(read_text(folder / "again.png") == read_text(folder / "r" / "dimensions.png"));
}

TEST_CASE("a preset names the axes of maps in short, and leaves those of others") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  const auto svg = [&](const std::string& kind) {
    const Outcome drawn = attn_cli(
        {"plot", kind, "w.json", "--preset", "page", "--name", "weights", "--out", "w.svg"},
        folder.path());
    CHECK(drawn.errors == "");
    return read_text(folder / "w.svg");
  };
  CHECK(svg("heatmap").find(">Query<") != std::string::npos);
  CHECK(svg("curves").find(">Position<") != std::string::npos);
  CHECK(svg("curves").find(">Query<") == std::string::npos);
}

TEST_CASE("plot --json reports the file, its size, what it shows and warnings") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  const Outcome drawn =
      attn_cli({"plot", "heatmap", "w.json", "--out", "w.svg", "--json"}, folder.path());
  CHECK(drawn.exit_code == 0);
  const std::string size = std::to_string(std::filesystem::file_size(folder / "w.svg"));
  CHECK(drawn.output.starts_with("{\n  \"file\": \"w.svg\",\n  \"bytes\": " + size +
                                 ",\n  \"description\": "));
  CHECK(drawn.output.ends_with("  \"warnings\": []\n}\n"));
  CHECK(refused_with(2, {"plot", "heatmap", "w.json", "--out", "-", "--json"}, folder.path()) ==
        "attn-cli: the report cannot go to standard output together with the picture\n"
        "  where: --json\n"
        "  help:  leave out --json, or give attn-cli plot a file with --out\n");
}

TEST_CASE("plot writes what the extension says, and PNG to standard output") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  CHECK(attn_cli({"plot", "heatmap", "w.json", "--out", "w.svg"}, folder.path()).exit_code == 0);
  CHECK(read_text(folder / "w.svg").starts_with("<?xml"));
  CHECK(attn_cli({"plot", "heatmap", "w.json", "--out", "w.pdf"}, folder.path()).exit_code == 0);
  CHECK(read_text(folder / "w.pdf").starts_with("%PDF"));
  const Outcome printed =
      attn_cli({"plot", "heatmap", "w.json", "--out", "-", "--dpi", "72"}, folder.path());
  CHECK(printed.exit_code == 0);
  CHECK(png_header(printed.output).dpi == 72);
  const Outcome piped =
      attn_cli({"plot", "heatmap", "-", "--out", "-", "--dpi", "72"}, folder.path(), weights);
  CHECK(piped.output == printed.output);
}

TEST_CASE("plot dimensions takes bare shapes") {
  const TemporaryFolder folder;
  const Outcome plot =
      attn_cli({"plot", "dimensions", "-", "--out", "d.png"}, folder.path(),
               R"({"shapes":{"query":[2,3,4],"key":[2,5,4],"value":[2,5,6],"output":[2,3,6]}})");
  CHECK(plot.exit_code == 0);
  CHECK(plot.output == "d.png\n");
  CHECK(png_header(read_text(folder / "d.png")).dpi == 300);
}

TEST_CASE("names that have no number after layers. are maps by themselves in every command") {
  const TemporaryFolder folder;
  for (const std::string name : {"layers.foo", "layers.99999999999999999999"}) {
    CAPTURE(name);
    folder.write("b.json", "{\"" + name + R"(.weights":[[0.5,0.5],[0.25,0.75]],
        "layers.bar.weights":[[0.5,0.5],[0.25,0.75]]})");
    const Outcome plot = attn_cli({"plot", "grid", "b.json", "--out", "g.png"}, folder.path());
    CHECK(plot.exit_code == 0);
    CHECK(plot.errors ==
          "attn-cli: warning: the picture leaves out \"layers.bar.weights\": name one of them to "
          "draw it\n");
    CHECK(attn_cli({"plot", "heatmap", "b.json", "--out", "b.png"}, folder.path()).exit_code == 0);
    CHECK(attn_cli({"view", "b.json", "--out", "b.html"}, folder.path()).exit_code == 0);
    CHECK(attn_cli({"heads", "b.json"}, folder.path()).output.find(name) != std::string::npos);
    CHECK(attn_cli({"compare", "b.json", "b.json"}, folder.path()).exit_code == 0);
  }
}

TEST_CASE("a picture format that is not known is exit 3") {
  CHECK(refused_with(3, {"plot", "heatmap", "-", "--out", "w.bmp"}, ".", weights) ==
        "attn-cli: unsupported picture format \".bmp\"\n"
        "  where: --out\n"
        "  help:  name a file that ends in .png, .svg or .pdf\n");
}

TEST_CASE("a picture that cannot be written is exit 4 and leaves nothing") {
  const TemporaryFolder folder;
  folder.write("file", "");
  const Outcome plot =
      attn_cli({"plot", "heatmap", "-", "--out", "file/such/w.png"}, folder.path(), weights);
  CHECK(plot.exit_code == 4);
  CHECK(plot.errors.starts_with("attn-cli: cannot write \"file/such/w.png\": Not a directory\n"));
  CHECK(read_text(folder / "file").empty());
  CHECK(shell("\"$ATTN\" plot heatmap - --out - >/dev/full <<'END'\n" + weights + "\nEND\n",
              folder.path())
            .exit_code == 4);
}

TEST_CASE("weights that are not there, or labels that do not fit, are exit 3") {
  CHECK(refused_with(3, {"plot", "heatmap", "-", "--out", "w.png"}, ".",
                     R"({"shapes":{"query":[1,2]}})") ==
        "attn-cli: there are no weights to draw\n"
        "  where: standard input\n"
        "  help:  give a result with weights, {\"weights\": …}, or a file with one tensor\n");
  CHECK(refused_with(3, {"plot", "heatmap", "-", "--out", "w.png"}, ".",
                     R"({"weights":[[0.25,0.75]],"labels":{"query":["a","b"]}})") ==
        "attn-cli: 2 labels for 1 query\n"
        "  where: standard input, /labels/query\n"
        "  help:  give one label each\n");
}

TEST_CASE("scales of colours and sizes of letters that are none are exit 2") {
  const auto errors = [](const std::string& flag, const std::string& value) {
    return refused_with(2, {"plot", "heatmap", "-", "--out", "w.png", flag, value}, ".", weights);
  };
  CHECK(errors("--norm", "power:0") ==
        "attn-cli: invalid value \"power:0\" for --norm\n"
        "  where: --norm\n"
        "  help:  give a power above 0, such as power:0.5\n");
  CHECK(errors("--norm", "lo").starts_with("attn-cli: invalid value \"lo\" for --norm\n"));
  CHECK(errors("--pixels", "min").starts_with("attn-cli: invalid value \"min\" for --pixels\n"));
  CHECK(errors("--font-scale", "0") ==
        "attn-cli: invalid value \"0\" for --font-scale\n"
        "  where: --font-scale\n"
        "  help:  give a number from 0.1 to 20, such as 1.5; --font-size 8 is a size in points\n");
  CHECK(errors("--font-size", "big") ==
        "attn-cli: invalid value \"big\" for --font-size\n"
        "  where: --font-size\n"
        "  help:  give a size from 1 to 200 points, such as 8\n");
  CHECK(refused_with(
            2, {"plot", "heatmap", "-", "--out", "w.png", "--font-scale", "2", "--font-size", "8"},
            ".", weights) ==
        "attn-cli: --font-scale and --font-size both set the size of the letters\n"
        "  where: --font-size\n"
        "  help:  leave one of them out\n");
}

TEST_CASE("pictures say what made them, and equal ones are equal files across processes") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  for (const std::string name : {"w.png", "w.svg", "w.pdf"}) {
    CAPTURE(name);
    attn_cli({"plot", "heatmap", "w.json", "--out", name}, folder.path());
    const std::string first = read_text(folder / name);
    attn_cli({"plot", "heatmap", "w.json", "--out", name}, folder.path());
    CHECK(first == read_text(folder / name));
    CHECK(attn::test::pdf_text(first).find("attn-cli ") != std::string::npos);
  }
}

TEST_CASE("folders of results are drawn, and input documents are told apart from results") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","query":[[1,0],[0,2]]})");
  REQUIRE(attn_cli({"run", "d.json", "--plots", "none", "--tensors", "npy", "--out", "r"},
                   folder.path())
              .exit_code == 0);
  const auto done = [&](const std::vector<std::string>& words) {
    return attn_cli(words, folder.path());
  };
  CHECK(done({"show", "r"}).output == done({"show", "r/result.json"}).output);
  CHECK(done({"plot", "heatmap", "r", "--out", "folder.png"}).exit_code == 0);
  CHECK(done({"plot", "heatmap", "r/result.json", "--out", "file.png"}).exit_code == 0);
  CHECK(read_text(folder / "folder.png") == read_text(folder / "file.png"));
  CHECK(done({"plot", "difference", "r", "r/result.json", "--out", "d.png"}).exit_code == 0);
  // The output of a result is not a map, and its file is known by name.
  CHECK(done({"show", "r/output.npy", "--name", "output"}).exit_code == 0);
  CHECK(done({"show", "r/output.npy"}).output.starts_with("output; "));
  const std::string document =
      "attn-cli: this is an input document, not a result\n"
      "  where: d.json\n"
      "  help:  run it first: attn-cli run d.json\n";
  for (const char* kind : {"heatmap", "grid", "dimensions"}) {
    CAPTURE(kind);
    const Outcome plot = done({"plot", kind, "d.json", "--out", "w.png"});
    CHECK(plot.exit_code == 3);
    CHECK(plot.errors == document);
  }
  CHECK(done({"show", "d.json"}).errors == document);
  const std::string help =
      "  help:  give the document that it was computed from; attn-cli show, plot, explain, view "
      "and "
      "compare read results\n";
  const Outcome file = done({"run", "r/result.json"});
  CHECK(file.exit_code == 3);
  CHECK(file.errors ==
        "attn-cli: this is a result, not an input document\n  where: r/result.json\n" + help);
  const Outcome whole = done({"run", "r"});
  CHECK(whole.exit_code == 3);
  CHECK(whole.errors ==
        "attn-cli: this is the folder of a result, not an input document\n  where: r\n" + help);
  const std::string png = std::string(ATTN_DATA) + "/shapes/red_ring.png";
  CHECK(done({"run", png}).errors ==
        "attn-cli: this is a picture, not an input document\n  where: " + png +
            "\n  help:  name a model that reads pictures, and give this file with --image\n");
  CHECK(done({"validate", "r"})
            .output.starts_with(
                "r/result.json: 1 problem\n\n  this is a result, not an input document\n"));
}

TEST_CASE("heads of a document without samples are heads in its result too") {
  const TemporaryFolder folder;
  folder.write("heads.json", R"({"attention":"scaled_dot_product","heads":2,
    "query":[[1,0,0,1],[0,1,0,1]],"key":[[1,0,0,1],[0,1,0,1]],"value":[[1,0,0,1],[0,1,0,1]]})");
  const Outcome run = attn_cli({"run", "heads.json", "--out", "heads"}, folder.path());
  CHECK(run.output.find("One of 2 heads: --head chooses another.") != std::string::npos);
  const Outcome second = attn_cli({"show", "heads", "--head", "1"}, folder.path());
  CHECK(second.exit_code == 0);
  CHECK(second.output.find("(Head 1)") != std::string::npos);
  CHECK(attn_cli({"show", "heads", "--sample", "1"}, folder.path())
            .errors.find("there is no sample 1") != std::string::npos);
}
