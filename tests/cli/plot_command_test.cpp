#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
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
  CHECK(plot.output.empty());
  CHECK(png_header(read_text(folder / "d.png")).dpi == 300);
}

TEST_CASE("a picture format that is not known is exit 3") {
  const Outcome plot = attn_cli({"plot", "heatmap", "-", "--out", "w.bmp"}, ".", weights);
  CHECK(plot.exit_code == 3);
  CHECK(plot.errors ==
        "attn-cli: unsupported picture format \".bmp\"\n"
        "  where: --out\n"
        "  help:  name a file that ends in .png, .svg or .pdf\n");
}

TEST_CASE("a picture that cannot be written is exit 4 and leaves nothing") {
  const TemporaryFolder folder;
  const Outcome plot =
      attn_cli({"plot", "heatmap", "-", "--out", "no/such/w.png"}, folder.path(), weights);
  CHECK(plot.exit_code == 4);
  CHECK(plot.errors.starts_with(
      "attn-cli: cannot write \"no/such/w.png\": No such file or directory\n"));
  CHECK_FALSE(std::filesystem::exists(folder / "no"));
  CHECK(shell("\"$ATTN\" plot heatmap - --out - >/dev/full <<'END'\n" + weights + "\nEND\n",
              folder.path())
            .exit_code == 4);
}

TEST_CASE("weights that are not there, or labels that do not fit, are exit 3") {
  const Outcome none =
      attn_cli({"plot", "heatmap", "-", "--out", "w.png"}, ".", R"({"shapes":{"query":[1,2]}})");
  CHECK(none.exit_code == 3);
  CHECK(none.errors ==
        "attn-cli: there are no weights to draw\n"
        "  where: standard input\n"
        "  help:  give a result with weights, {\"weights\": …}, or a file with one tensor\n");
  const Outcome labels = attn_cli({"plot", "heatmap", "-", "--out", "w.png"}, ".",
                                  R"({"weights":[[0.25,0.75]],"labels":{"query":["a","b"]}})");
  CHECK(labels.exit_code == 3);
  CHECK(labels.errors ==
        "attn-cli: 2 labels for 1 query\n"
        "  where: standard input, /labels/query\n"
        "  help:  give one label each\n");
}
