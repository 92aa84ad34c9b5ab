#include <filesystem>
#include <regex>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string data = ATTN_DATA;
const std::string small = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";

std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

}  // namespace

TEST_CASE("tensors from a pipe are computed, and their page is titled by what it shows") {
  const TemporaryFolder folder;
  std::vector<attn::NamedTensor> tensors;
  for (const char* name : {"query", "key", "value"}) {
    tensors.push_back({name, attn::Tensor({2, 2}, std::vector<float>{1, 0, 0, 1})});
  }
  for (const std::string& bytes : {attn::npz_bytes(tensors), attn::safetensors_bytes(tensors)}) {
    const std::vector<std::string> run{"run",     "-",       "--causal", "--scale", "0",
                                       "--plots", "heatmap", "--out",    "out"};
    const Outcome piped = attn_cli(run, folder.path(), bytes);
    CHECK(piped.errors ==
          "attn-cli: warning: \"scale\" is 0: all scores are 0 before biases are added\n");
    CHECK(piped.output.starts_with(
        "scaled_dot_product attention, float32, of standard input\n\nShapes\n  query    [2,2]\n"));
    CHECK(piped.output.find("  0  1.00  0.00\n  1  0.50  0.50\n") != std::string::npos);
    CHECK(attn_cli({"validate", "-"}, folder.path(), bytes)
              .output.starts_with("standard input: valid"));
    const Outcome page = attn_cli({"view", "-", "--out", "-"}, folder.path(), bytes);
    CHECK(page.output.find("<title>Attention Maps of scaled_dot_product</title>") !=
          std::string::npos);
  }
}

TEST_CASE("run writes the result and both pictures into the folder of the results") {
  const TemporaryFolder folder;
  const Outcome run = attn_cli({"run", data + "/four_dimensions.json"}, folder.path());
  CHECK(run.exit_code == 0);
  CHECK(run.errors.empty());
  const auto out = folder / "attention_results";
  const PngHeader heatmap = png_header(read_text(out / "heatmap.png"));
  CHECK(heatmap.dpi == 300);
  CHECK(heatmap.width > 1900);
  CHECK(png_header(read_text(out / "dimensions.png")).dpi == 300);
  CHECK(read_text(out / "result.json")
            .starts_with("{\n  \"format\": 1,\n  \"attention\": \"scaled_dot_product\",\n"));
  CHECK(files_in(out) == 3);
}

TEST_CASE("the report is readable: shapes, a table of weights, the mask, the files") {
  const TemporaryFolder folder;
  const Outcome run = attn_cli({"run", data + "/causal.json", "--out", "r"}, folder.path());
  const std::size_t written = run.output.find("Written\n");
  REQUIRE(written != std::string::npos);
  CHECK(run.output.substr(0, written) ==
        "scaled_dot_product attention, float32, of " + data + R"(/causal.json
Causal attention
Each word sees itself and the words before it, as in a language model.

Shapes
  query    [1,6,8]
  key      [1,6,8]
  value    [1,6,8]
  weights  [1,6,6]
  output   [1,6,8]

Weights of sample 0, head 0 (rows: queries, columns: keys)
              the   cat   sat    on   the   mat
                0     1     2     3     4     5
  "the" (0)  1.00  0.00  0.00  0.00  0.00  0.00
  "cat" (1)  0.94  0.06  0.00  0.00  0.00  0.00
  "sat" (2)  0.14  0.35  0.52  0.00  0.00  0.00
  "on" (3)   0.13  0.12  0.13  0.63  0.00  0.00
  "the" (4)  0.06  0.23  0.18  0.22  0.30  0.00
  "mat" (5)  0.05  0.03  0.01  0.15  0.06  0.70

Mask: causal; 15 of 36 weights hidden (41.7 %)

Output of sample 0 (rows: queries, columns: components)
                  0        1        2        3         4        5         6        7
  "the" (0)  0.4498  -0.5506  -0.8203    1.126    -1.238   -1.788     1.011  -0.9982
  "cat" (1)  0.5524  -0.4896   -0.872    1.148     -1.22   -1.558    0.9943  -0.9138
  "sat" (2)   1.203  -0.3489  -0.5151  -0.8071      -1.4   -1.066    0.4288   0.1491
  "on" (3)   0.6503   -1.549  -0.6904   0.4818   -0.3818  0.04487   -0.5138   0.6572
  "the" (4)  0.4661  -0.8832  -0.1575   0.6542   -0.6914   0.1516    0.4004   0.1021
  "mat" (5)  0.5282   0.1963    0.568    1.266  -0.05123   -0.748  -0.06076  -0.1629

)");
  CHECK(
      std::regex_match(run.output.substr(written), std::regex("Written\n"
                                                              "  r/heatmap\\.png +[0-9.]+ kB\n"
                                                              "  r/dimensions\\.png +[0-9.]+ kB\n"
                                                              "  r/result\\.json +[0-9.]+ kB\n")));
}

TEST_CASE("a picture that cannot be made leaves the others, and its error says which it is") {
  const TemporaryFolder folder;
  const std::string error =
      "attn-cli: the picture would be 42225 × 39726 pixels large\n"
      "  where: heatmap.png\n"
      "  help:  ask for a smaller figure size or fewer dots per inch\n";
  const Outcome run =
      attn_cli({"run", "-", "--figsize", "55x55", "--dpi", "900", "--quiet"}, folder.path(), small);
  CHECK(run.exit_code == 3);
  CHECK(run.errors == error);
  const auto out = folder / "attention_results";
  CHECK(files_in(out) == 2);
  CHECK(read_text(out / "result.json").find("\"dimensions.png\"") != std::string::npos);
  const Outcome report =
      attn_cli({"run", "-", "--figsize", "55x55", "--dpi", "900", "--json"}, folder.path(), small);
  CHECK(report.exit_code == 3);
  CHECK(report.output.find("\"failed_pictures\": [") != std::string::npos);
  const Outcome batch = attn_cli({"batch", "-", "--figsize", "55x55", "--dpi", "900", "--out", "b"},
                                 folder.path(), small);
  CHECK(batch.exit_code == 1);
  CHECK(batch.output.find("heatmap.png") != std::string::npos);
  // Options that are wrong for any picture leave nothing.
  CHECK(
      attn_cli({"run", "-", "--cmap", "nosuch", "--out", "none"}, folder.path(), small).exit_code ==
      2);
  CHECK_FALSE(std::filesystem::exists(folder / "none"));
}

TEST_CASE("small weights are told from zero, and files that hold another type are named") {
  const TemporaryFolder folder;
  const Outcome run = attn_cli({"run", "-", "--plots", "none", "--out", "r"}, folder.path(),
                               R"({"attention":"softmax","scores":[[0,-7,-12],[0,0,"-inf"]]})");
  CHECK(run.output.find("          0       1       2\n"
                        "  0  0.9991  0.0009  <.0001\n"
                        "  1  0.5000  0.5000  0.0000\n") != std::string::npos);
  attn_cli({"run", "-", "--plots", "none", "--tensors", "npy", "--out", "wide"}, folder.path(),
           R"({"attention":"sdpa","dtype":"float64","query":[[1,0],[0,1]]})");
  const Outcome file = attn_cli({"run", "-", "--plots", "none", "--out", "f"}, folder.path(),
                                R"({"attention":"sdpa","query":{"file":"wide/output.npy"}})");
  CHECK(file.output.find("\nShapes\n  query    [2,2]  float64 file\n  key      [2,2]\n") !=
        std::string::npos);
}

TEST_CASE("Chinese headings stand above their columns") {
  const TemporaryFolder folder;
  const Outcome run =
      attn_cli({"run", data + "/chinese_padding.json", "--plots", "none"}, folder.path());
  CHECK(run.output.find("                 我  喜欢  学习  [PAD]  [PAD]\n"
                        "                  0     1     2      3      4\n"
                        "  \"我\" (0)     0.70  0.11  0.20   0.00   0.00\n") != std::string::npos);
}

TEST_CASE("--quiet prints nothing, --json one object") {
  const TemporaryFolder folder;
  const Outcome quiet = attn_cli({"run", "-", "--quiet"}, folder.path(), small);
  CHECK(quiet.exit_code == 0);
  CHECK(quiet.output.empty());
  CHECK(quiet.errors.empty());
  const Outcome json =
      attn_cli({"run", "-", "--json", "--plots", "none", "--out", "r"}, folder.path(), small);
  CHECK(json.output ==
        "{\n"
        "  \"document\": \"standard input\",\n"
        "  \"attention\": \"scaled_dot_product\",\n"
        "  \"dtype\": \"float32\",\n"
        "  \"shapes\": {\n"
        "    \"query\": [2,2],\n"
        "    \"key\": [2,2],\n"
        "    \"value\": [2,2],\n"
        "    \"weights\": [2,2],\n"
        "    \"output\": [2,2]\n"
        "  },\n"
        "  \"output\": [\n"
        "    [0.66976154, 0.33023846],\n"
        "    [0.33023846, 0.66976154]\n"
        "  ],\n"
        "  \"sample\": 0,\n"
        "  \"head\": 0,\n"
        "  \"weights\": [\n"
        "    {\n"
        "      \"name\": \"weights\",\n"
        "      \"query_labels\": [\n"
        "        \"0\",\n"
        "        \"1\"\n"
        "      ],\n"
        "      \"key_labels\": [\n"
        "        \"0\",\n"
        "        \"1\"\n"
        "      ],\n"
        "      \"values\": [\n"
        "        [0.66976154, 0.33023846],\n"
        "        [0.33023846, 0.66976154]\n"
        "      ]\n"
        "    }\n"
        "  ],\n"
        "  \"warnings\": [],\n"
        "  \"files\": [\n"
        "    \"r/result.json\"\n"
        "  ]\n"
        "}\n");
}

TEST_CASE("the same input gives the same bytes, whatever the threads") {
  const TemporaryFolder folder;
  for (const std::string threads : {"1", "2", "3", "7"}) {
    const Outcome run = attn_cli({"run", data + "/four_dimensions.json", "--quiet", "--stages",
                                  "--threads", threads, "--out", "t" + threads},
                                 folder.path());
    REQUIRE(run.exit_code == 0);
    for (const std::string name : {"result.json", "heatmap.png", "dimensions.png"}) {
      CHECK(read_text(folder / "t1" / name) == read_text(folder / ("t" + threads) / name));
    }
  }
}

TEST_CASE("flags go before the document") {
  const TemporaryFolder folder;
  const Outcome run =
      attn_cli({"run", "-", "--causal", "--valid-lens", "1", "--scale", "2", "--dtype", "float64",
                "--attention", "dot_product", "--plots", "none", "--out", "r"},
               folder.path(), small);
  CHECK(run.exit_code == 0);
  CHECK(run.output.starts_with("dot_product attention, float64, of standard input\n"));
  CHECK(run.output.find("Mask: causal, valid_lens; 2 of 4 weights hidden (50.0 %)") !=
        std::string::npos);
}

TEST_CASE("a query with no key left is warned of, counted, on standard error and in the result") {
  const TemporaryFolder folder;
  const Outcome run = attn_cli({"run", "-", "--valid-lens", "0", "--plots", "none", "--out", "r"},
                               folder.path(), small);
  CHECK(run.exit_code == 0);
  const std::string warning =
      "2 queries have no key left to see: their weights and output are zero";
  CHECK(
      run.errors ==
      "attn-cli: warning: valid_lens hides every key from every query: give the number of leading "
      "keys that are seen\nattn-cli: warning: " +
          warning + "\n");
  CHECK(read_text(folder / "r" / "result.json").find(warning) != std::string::npos);
}

TEST_CASE("--no-weights leaves the weights out, --plots none the pictures") {
  const TemporaryFolder folder;
  attn_cli({"run", "-", "--no-weights", "--plots", "none", "--out", "r"}, folder.path(), small);
  const std::string result = read_text(folder / "r" / "result.json");
  CHECK(result.find("\"output\": [\n") != std::string::npos);
  CHECK(result.find("\"weights\": [\n") == std::string::npos);
  CHECK(files_in(folder / "r") == 1);
}

TEST_CASE("bad input is exit 3: nothing on standard output, nothing written") {
  const TemporaryFolder folder;
  CHECK(refused_with(3, {"run", "-", "--out", "r"}, folder.path(),
                     R"({"attention":"sdpa","query":[[1,2],[3]]})") ==
        "attn-cli: row 1 has 1 number, but the row before it has 2\n"
        "  where: standard input, /query/1\n"
        "  help:  give all rows of a tensor the same length\n");
  CHECK_FALSE(std::filesystem::exists(folder / "r"));
}

TEST_CASE("a sample or head that is not there is exit 3 and names what is") {
  const TemporaryFolder folder;
  CHECK(refused_with(3, {"run", data + "/four_dimensions.json", "--head", "2", "--out", "r"},
                     folder.path()) ==
        "attn-cli: there is no head 2: the weights have 2 heads\n"
        "  where: --head\n"
        "  help:  give 0 to 1\n");
  CHECK_FALSE(std::filesystem::exists(folder / "r"));
}

TEST_CASE("a document that is not there is exit 4") {
  CHECK(refused_with(4, {"run", "missing.json"}) ==
        "attn-cli: cannot open \"missing.json\": No such file or directory\n"
        "  help:  check the name, and the folder it is looked for in\n");
}

TEST_CASE("results that cannot be written are exit 4 and leave nothing half written") {
  const TemporaryFolder folder;
  folder.write("file", "");
  CHECK(refused_with(4, {"run", "-", "--out", "file/such"}, folder.path(), small) ==
        "attn-cli: cannot create the folder \"file/such\": Not a directory\n"
        "  where: --out\n"
        "  help:  name a folder in one that can be written to\n");
  CHECK(attn_cli({"run", "-", "--out", "file"}, folder.path(), small).exit_code == 4);
  CHECK(read_text(folder / "file").empty());

  std::filesystem::create_directory(folder / "r");
  std::filesystem::create_directory(folder / "r" / "result.json");
  const Outcome blocked =
      attn_cli({"run", "-", "--out", "r", "--plots", "none"}, folder.path(), small);
  CHECK(blocked.exit_code == 4);
  CHECK(files_in(folder / "r") == 1);
}

TEST_CASE("a full disk is exit 4 and leaves no partial file") {
  const TemporaryFolder folder;
  // A file size limit stops the write as a full disk does.
  folder.write("doc.json", R"({"attention":"sdpa","query":{"ones":[64,64]}})");
  const Outcome run = shell(
      "ulimit -f 1; trap '' XFSZ; \"$ATTN\" run doc.json --plots none --out r", folder.path());
  CHECK(run.exit_code == 4);
  CHECK(run.output.empty());
  CHECK_FALSE(std::filesystem::exists(folder / "r"));
}

TEST_CASE("a closed standard output ends the printing, not the work") {
  const TemporaryFolder folder;
  folder.write("doc.json", small);
  const Outcome run = shell(
      "{ \"$ATTN\" run doc.json --out r; echo $? >code; } | true; "
      "\"$ATTN\" run doc.json --out closed >&-; echo $? >code2",
      folder.path());
  CHECK(read_text(folder / "code") == "0\n");
  CHECK(read_text(folder / "code2") == "0\n");
  CHECK(files_in(folder / "r") == 3);
  CHECK(files_in(folder / "closed") == 3);
  CHECK(run.errors.empty());
}

TEST_CASE("every example in data runs as it is") {
  const TemporaryFolder folder;
  std::size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(data)) {
    if (entry.path().extension() != ".json") continue;
    const std::string name = entry.path().stem();
    CAPTURE(name);
    const Outcome run = attn_cli({"run", entry.path(), "--out", name}, folder.path());
    CHECK(run.exit_code == 0);
    CHECK(run.errors.empty());
    CHECK(png_header(read_text(folder / name / "heatmap.png")).width > 0);
    CHECK(read_text(data + "/README.md").find("`" + name + ".json`") != std::string::npos);
    ++count;
  }
  CHECK(count >= 8);
}

TEST_CASE("nothing in a report commands the terminal") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"softmax","scores":[[0,1]],"title":"t\u001b[31m",
    "description":"two\nlines\u0007","labels":{"query":["q\u001b[0m"],"key":["a\nb","\u009bm"]}})");
  const Outcome run = attn_cli({"run", "d.json", "--out", "r", "--plots", "none"}, folder.path());
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("t\\x1b[31m\ntwo\nlines\\x07\n") != std::string::npos);
  CHECK(run.output.find("                  a\\nb  \\x9bm\n                     0      1\n"
                        "  \"q\\x1b[0m\" (0)  0.27   0.73\n") != std::string::npos);
  CHECK(run.output.find('\x1b') == std::string::npos);
}

TEST_CASE("weights that are no numbers are shown as such, without a sign") {
  const TemporaryFolder folder;
  folder.write("document.json", R"({"attention": "softmax", "scores": [[1, "inf"], [0, 0]]})");
  const Outcome outcome =
      attn_cli({"run", "document.json", "--plots", "none", "--show"}, folder.path());
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("  0   nan   nan\n  1  0.50  0.50\n") != std::string::npos);
  CHECK(outcome.output.find("-nan") == std::string::npos);
}
