#include <filesystem>
#include <regex>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string speeches = std::string(ATTN_DATA) + "/speeches";

const std::string maps = R"({"weights":[[[[1,0],[0.5,0.5]],[[0.25,0.75],[1,0]]]],)"
                         R"("labels":{"query":["a","b"],"key":["a","b"]}})";

/// The value of a key of the page's data, as its JSON has it.
std::string page_value(const std::string& page, const std::string& key) {
  const std::size_t at = page.find("\"" + key + "\":");
  if (at == std::string::npos) return "";
  const std::size_t first = at + key.size() + 3;
  return page.substr(first, page.find('\n', first) - first);
}

}  // namespace

TEST_CASE("a result without weights says that its run left them out, and what to run again") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","query":[[1,0],[0,1]]})");
  REQUIRE(
      attn_cli({"run", "d.json", "--no-weights", "--plots", "none", "--out", "r"}, folder.path())
          .exit_code == 0);
  const auto told = [](const std::string& help) {
    return "attn-cli: the result has no weights: its run left them out\n"
           "  where: r/result.json\n  help:  " +
           help + "\n";
  };
  for (const std::string command : {"view", "heads"}) {
    CHECK(refused_with(3, {command, "r"}, folder.path()) ==
          told("compute d.json again without --no-weights, --only and \"weights\": false"));
  }
  REQUIRE(attn_cli({"run", "--model", speeches, "--text", "The peace", "--only", "output",
                    "--plots", "none", "--out", "r"},
                   folder.path())
              .exit_code == 0);
  CHECK(refused_with(3, {"view", "r"}, folder.path()) ==
        told("compute it again without --no-weights, --only and \"weights\": false"));
}

TEST_CASE("view writes one page and says what is in it") {
  const TemporaryFolder folder;
  folder.write("maps.json", maps);
  const Outcome view = attn_cli({"view", "maps.json"}, folder.path());
  CHECK(view.exit_code == 0);
  CHECK(view.errors == "");
  const std::string page = read_text(folder / "view.html");
  CHECK(view.output ==
        "2 maps (1 attention, 8 cells), " + std::to_string(page.size()) + " bytes\n  view.html\n");
  CHECK(page.find("<html lang=\"en\"") != std::string::npos);
  CHECK(page.find("<title>Attention Maps of maps.json</title>") != std::string::npos);
  const Outcome json =
      attn_cli({"view", "-", "--json", "--out", "again.html"}, folder.path(), maps);
  CHECK(json.output.find("\"file\": \"again.html\"") != std::string::npos);
  CHECK(json.output.find("\"maps\": 2") != std::string::npos);
  CHECK(json.output.find("\"notes\": []") != std::string::npos);
  const Outcome quiet =
      attn_cli({"view", "maps.json", "--quiet", "--out", "quiet.html"}, folder.path());
  CHECK(quiet.output == "");
  CHECK(read_text(folder / "quiet.html") == page);
}

TEST_CASE("view gives the page to standard output, and nothing beside it") {
  const Outcome view = attn_cli({"view", "-", "--out", "-", "--title", "<A & B>"}, ".", maps);
  CHECK(view.exit_code == 0);
  CHECK(view.errors == "");
  CHECK(view.output.find("<title>&lt;A &amp; B&gt;</title>") != std::string::npos);
  CHECK(view.output.ends_with("</html>\n"));
  CHECK(refused_with(2, {"view", "-", "--out", "-", "--json"}, ".", maps) ==
        "attn-cli: the report cannot go to standard output together with the page\n"
        "  where: --json\n"
        "  help:  leave out --json, or give attn-cli view a file with --out\n");
}

TEST_CASE("view tells the commands that compute and draw the same") {
  const TemporaryFolder folder;
  const Outcome model =
      attn_cli({"view", "--model", speeches, "--text", "It's peace", "--out", "-"}, folder.path());
  CHECK(page_value(model.output, "commands")
            .find("attn-cli run --model " + speeches +
                  " --text 'It'\\\\''s peace' --plots none --out attention_results\"") !=
        std::string::npos);
  CHECK(model.output.find("\"input\": \"attention_results/result.json\"") != std::string::npos);
  // The other text of paths changes no map.
  const Outcome paths = attn_cli({"view", "--model", speeches, "--text", "The peace", "--patch",
                                  "The people", "--paths", "logits", "--out", "-"},
                                 folder.path());
  CHECK(paths.errors == "");
  CHECK(page_value(paths.output, "commands").find(" --text 'The peace' --plots none") !=
        std::string::npos);
  CHECK(paths.output.find("\"paths\": {\"token\": ") != std::string::npos);
  folder.write("maps.json", maps);
  const Outcome file =
      attn_cli({"view", "maps.json", "--name", "weights", "--axes", "batch,head", "--out", "-"},
               folder.path());
  CHECK(file.output.find("\"before\": [], \"input\": \"maps.json --name weights --axes "
                         "batch,head\"") != std::string::npos);
}

TEST_CASE("view takes a file a layer, chosen layers and chosen heads") {
  const TemporaryFolder folder;
  for (const char* name : {"maps0.json", "maps1.json", "maps2.json"}) folder.write(name, maps);
  const std::string in_order =
      "attn-cli: warning: the files are layers 0 to 1 in the order given; attn-cli plot comparison "
      "shows them under their own names\n";
  folder.write("causal.json", read_text(folder / "maps0.json"));
  folder.write("window.json", read_text(folder / "maps1.json"));
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"view", "causal.json", "window.json", "--out", "order.html"},
        {"plot", "grid", "causal.json", "window.json", "--out", "order.svg"}}) {
    CHECK(attn_cli(words, folder.path()).errors.find(in_order) != std::string::npos);
  }
  CHECK(attn_cli({"plot", "grid", "maps0.json", "maps1.json", "--out", "order.svg"}, folder.path())
            .errors.find("in the order given") == std::string::npos);
  const Outcome view = attn_cli({"view", "maps0.json", "maps1.json", "maps2.json", "--layers",
                                 "0,2", "--heads", "1", "--out", "page.html"},
                                folder.path());
  CHECK(view.errors == "");
  CHECK(view.output.starts_with("2 maps (2 attentions, 8 cells), "));
  const std::string page = read_text(folder / "page.html");
  CHECK(page.find("\"title\": \"Layer 2\"") != std::string::npos);
  CHECK(page.find("\"title\": \"Layer 1\"") == std::string::npos);
  CHECK(page.find("\"numbers\": [1]") != std::string::npos);
}

TEST_CASE("view says what it reduced, and where the steps of the score are not") {
  const TemporaryFolder folder;
  folder.write("maps.json", maps);
  const Outcome view = attn_cli({"view", "maps.json", "--cells", "2", "--stages"}, folder.path());
  CHECK(view.exit_code == 0);
  CHECK(view.errors ==
        "attn-cli: warning: the input holds no steps of the score: compute it with attn-cli run "
        "--stages\n");
  CHECK(view.output.find("\nThe maps have 8 cells in all, and the page keeps at most 2: maps of "
                         "more than 1 queries or keys are reduced to cells that show the largest "
                         "value of several. Of each query the strongest keys, 1 of them, are kept "
                         "with their values.\n  view.html\n") != std::string::npos);
}

TEST_CASE("what view cannot show is an error that leaves no file") {
  const TemporaryFolder folder;
  folder.write("maps.json", maps);
  folder.write("doc.json", R"({"attention":"softmax","scores":[[1,2],[3,4]]})");
  const auto fails = [&](std::vector<std::string> arguments, int code, const std::string& text) {
    arguments.insert(arguments.begin(), "view");
    arguments.insert(arguments.end(), {"--out", "page.html"});
    const Outcome outcome = attn_cli(arguments, folder.path());
    CHECK(outcome.exit_code == code);
    CHECK(outcome.errors == text);
    CHECK_FALSE(std::filesystem::exists(folder / "page.html"));
  };
  fails({}, 2,
        "attn-cli: no input given\n"
        "  where: attn-cli view\n"
        "  help:  name a document, a result or a file of maps, - for standard input, or give "
        "--model and --text\n");
  fails({"doc.json", "maps.json"}, 2,
        "attn-cli: only files of maps can be layers of one stack\n"
        "  where: INPUT\n"
        "  help:  give one document\n");
  fails({"none.json"}, 4,
        "attn-cli: cannot open \"none.json\": No such file or directory\n"
        "  help:  check the name, and the folder it is looked for in\n");
  fails({"doc.json", "--against", "none.json"}, 4,
        "attn-cli: cannot open \"none.json\": No such file or directory\n"
        "  where: --against\n"
        "  help:  check the name, and the folder it is looked for in\n");
  fails({"maps.json", "--name", "weight"}, 3,
        "attn-cli: there is no tensor \"weight\"\n"
        "  where: --name\n"
        "  help:  did you mean \"weights\"?\n");
  fails({"maps.json", "--heads", "2"}, 3,
        "attn-cli: there is no head 2: there are 2 heads\n"
        "  where: --heads\n"
        "  help:  give 0 to 1\n");
  fails({"maps.json", "--color-range", "shared"}, 2,
        "attn-cli: invalid value \"shared\" for --color-range\n"
        "  where: --color-range\n"
        "  help:  give the lowest and highest value, such as 0,1\n");
  fails({"maps.json", "--cells", "0"}, 2,
        "attn-cli: invalid value \"0\" for --cells\n"
        "  where: --cells\n"
        "  help:  give a whole number of at least 1, such as 500000 or 500k, 2M, 2G\n");
}

TEST_CASE("run writes the page beside its pictures, if it is named") {
  const TemporaryFolder folder;
  folder.write("doc.json", R"({"attention":"softmax","scores":[[1,2],[3,4]],)"
                           R"("labels":{"query":["a","b"],"key":["c","d"]}})");
  const Outcome run =
      attn_cli({"run", "doc.json", "--plots", "heatmap,view", "--out", "out"}, folder.path());
  CHECK(run.errors == "");
  CHECK(std::regex_search(run.output, std::regex("Written\n"
                                                 "  out/heatmap\\.png +[0-9.]+ kB\n"
                                                 "  out/view\\.html +[0-9.]+ kB\n"
                                                 "  out/result\\.json +[0-9.]+ (bytes|kB)\n$")));
  const std::string page = read_text(folder / "out" / "view.html");
  CHECK(page.find("\"before\": [], \"input\": \"out/result.json\"") != std::string::npos);
  CHECK(read_text(folder / "out" / "result.json").find("\"view.html\"") != std::string::npos);
  const Outcome result = attn_cli({"view", "out", "--out", "-"}, folder.path());
  CHECK(result.output.find("\"before\": [], \"input\": \"out/result.json\"") != std::string::npos);
  CHECK(result.output.find("<title>Attention Maps of out</title>") != std::string::npos);
  const Outcome all =
      attn_cli({"run", "doc.json", "--plots", "all", "--out", "all"}, folder.path());
  CHECK(all.exit_code == 0);
  CHECK_FALSE(std::filesystem::exists(folder / "all" / "view.html"));
  CHECK(refused_with(2, {"run", "doc.json", "--plots", "view", "--out", "-"}, folder.path()) ==
        "attn-cli: pictures cannot go to standard output together with the result\n"
        "  where: --plots\n"
        "  help:  leave out --plots, or give attn-cli run a folder with --out\n");
}

TEST_CASE("view speaks Chinese if it is asked to") {
  const TemporaryFolder folder;
  folder.write("maps.json", maps);
  const Outcome view =
      attn_cli({"view", "maps.json", "--lang", "zh", "--out", "page.html"}, folder.path());
  CHECK(view.errors == "");
  CHECK(view.output.starts_with("2 张图（1 个注意力，8 个单元格），"));
  CHECK(read_text(folder / "page.html").find("<title>maps.json 的注意力图</title>") !=
        std::string::npos);
}

TEST_CASE("a page that the shell redirects is told to be named, or to go to standard output") {
  if (!std::filesystem::exists("/proc/self/fd")) return;  // which says where output goes
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"sdpa","query":[[1,0],[0,1]]})");
  const Outcome wrong = shell("\"$ATTN\" view d.json > page.html", folder.path());
  CHECK(wrong.exit_code == 2);
  CHECK(wrong.errors ==
        "attn-cli: standard output is \"page.html\", and the page goes into a file of its own\n"
        "  where: attn-cli view\n"
        "  help:  write --out page.html, or --out - for standard output\n");
  CHECK(!std::filesystem::exists(folder / "view.html"));
  CHECK(shell("\"$ATTN\" view d.json --out - > page.html", folder.path()).exit_code == 0);
  CHECK(read_text(folder / "page.html").starts_with("<!"));
  CHECK(shell("\"$ATTN\" view d.json > report.txt", folder.path()).exit_code == 0);
  CHECK(std::filesystem::exists(folder / "view.html"));
}

TEST_CASE("a query of what is computed is answered with the address that opens the page there") {
  const auto told = [](const std::string& query) {
    return attn_cli({"view", "--model", speeches, "--text", "The people of", "--query", query,
                     "--out", "-"})
        .errors;
  };
  CHECK(told("3") ==
        "attn-cli: a page of what is computed has all queries\n  where: --query\n  help:  leave it "
        "out, and write #query=3 after the page's address, which opens it there\n");
  CHECK(told(" of") ==
        "attn-cli: a page of what is computed has all queries\n  where: --query\n  help:  leave it "
        "out, and choose the query in the page, whose address then names it\n");
}
