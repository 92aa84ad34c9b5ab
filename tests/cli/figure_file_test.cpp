#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string weights =
    R"({"weights":[[1,0,0],[0.25,0.75,0],[0.1,0.2,0.7]],"labels":{"query":["a","b","c"],"key":["a","b","c"]}})";

// The number of times that a text holds another.
std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
    ++found;
  return found;
}

// What the first group of a pattern holds wherever it is found, without matches that hold a word.
std::set<std::string> all_of(const std::string& text, const std::string& pattern,
                             const std::string& without = "\n") {
  std::set<std::string> found;
  const std::regex wanted(pattern);
  for (auto at = std::sregex_iterator(text.begin(), text.end(), wanted);
       at != std::sregex_iterator(); ++at) {
    if ((*at)[0].str().find(without) == std::string::npos) found.insert((*at)[1]);
  }
  return found;
}

std::string refused(const std::string& figure) {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  folder.write("f.json", figure);
  return refused_with(3, {"plot", "figure", "f.json", "--out", "f.svg"}, folder.path());
}

}  // namespace

TEST_CASE("plot figure draws panels of several kinds, with letters, as wide as a preset says") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  folder.write("in/w.json", weights);
  folder.write("in/f.json", R"({"preset": "nature-double", "cmap": "Greens", "rows": [
    [{"plot": "heatmap", "file": "w.json", "width": 2}, {"plot": "lines", "file": "w.json"}],
    [{"plot": "arcs", "file": "w.json", "title": "Above a line"}]]})");
  const Outcome drawn = attn_cli({"plot", "figure", "in/f.json", "--out", "f.svg"}, folder.path());
  CHECK(drawn.errors == "");
  REQUIRE(drawn.exit_code == 0);
  const std::string svg = read_text(folder / "f.svg");
  // 183 mm in points.
  CHECK(svg.find("width=\"518.74") != std::string::npos);
  for (const std::string letter : {"a", "b", "c"})
    CHECK(std::regex_search(svg, std::regex("font-weight=\"bold\"[^>]*>" + letter + "</text>")));
  CHECK(count(svg, "font-weight=\"bold\"") == 3);
  CHECK(svg.find(">Above a line<") != std::string::npos);
  // One size of letters for all names of tokens; arcs have theirs a fifth larger.
  CHECK(all_of(svg, "font-size=\"([0-9.]+)\"[^>]*>[abc]</text>", "bold") ==
        std::set<std::string>{"5.8", "6.96"});
  attn_cli({"plot", "figure", "in/f.json", "--out", "f.png", "--dpi", "100"}, folder.path());
  CHECK(png_header(read_text(folder / "f.png")).width == 720);
  attn_cli({"plot", "figure", "in/f.json", "--out", "f.pdf"}, folder.path());
  CHECK(read_text(folder / "f.pdf").starts_with("%PDF"));
}

TEST_CASE("panels of a row are alike though one of them alone has a title") {
  const TemporaryFolder folder;
  // 13 queries and keys, so that names need their room.
  std::string rows, names;
  for (int i = 0; i < 13; ++i) {
    std::string row;
    for (int j = 0; j < 13; ++j) row += (j == 0 ? "" : ",") + std::to_string((i * 5 + j * 3) % 7);
    rows += (i == 0 ? "[" : ",[") + row + "]";
    names += (i == 0 ? "" : ",") + ("\"token" + std::to_string(i) + "\"");
  }
  folder.write("w.json", R"({"values": [)" + rows + R"(], "labels": [)" + names + "]}");
  const std::string panel = R"({"plot": "heatmap", "file": "w.json", "axes": "query,key")";
  folder.write("f.json", R"({"rows": [[)" + panel + "}, " + panel + R"(, "title": "Named"}], [)" +
                             panel + "}]]}");
  CHECK(attn_cli({"plot", "figure", "f.json", "--out", "f.svg"}, folder.path()).exit_code == 0);
  const std::string svg = read_text(folder / "f.svg");
  CHECK(count(svg, ">Query<") == 3);
  CHECK(count(svg, ">Key<") == 3);
  CHECK(count(svg, ">token3<") == 6);
  CHECK(all_of(svg, "font-size=\"([0-9.]+)\"[^>]*>token[0-9]+</text>").size() == 1);
  CHECK(all_of(svg, "y=\"([0-9.]+)\" [^>]*>Key</text>").size() == 2);
}

TEST_CASE("the title of a figure stands once above its panels, which keep their own") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  const std::string panel = R"({"plot": "heatmap", "file": "w.json")";
  folder.write("f.json", R"({"preset": "nature", "title": "Above all", "rows": [[)" + panel +
                             "}, " + panel + R"(, "title": "Own"}]]})");
  const auto drawn = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words{"plot", "figure", "f.json", "--out", "f.svg"};
    words.insert(words.end(), flags.begin(), flags.end());
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
    return read_text(folder / "f.svg");
  };
  const std::string svg = drawn({});
  CHECK(count(svg, ">Above all</text>") == 1);
  CHECK(count(svg, ">Own</text>") == 1);
  const auto above = all_of(svg, "y=\"([0-9.]+)\" [^>]*>Above all</text>"),
             own = all_of(svg, "y=\"([0-9.]+)\" [^>]*>Own</text>");
  REQUIRE(above.size() == 1);
  REQUIRE(own.size() == 1);
  CHECK(std::stod(*above.begin()) < std::stod(*own.begin()));
  CHECK(count(drawn({"--title", "Another"}), ">Another</text>") == 1);
}

TEST_CASE("a panel whose tokens have no names beside one with names is warned of") {
  const TemporaryFolder folder;
  std::string rows, names;
  for (int i = 0; i < 13; ++i) {
    std::string row;
    for (int j = 0; j < 13; ++j)
      row += (j == 0 ? "" : ",") + std::string(j == i * 5 % 13 ? "1" : "0");
    rows += (i == 0 ? "[" : ",[") + row + "]";
  }
  for (const char* name : {"The", "animal", "did", "not", "cross", "the", "street", "because", "it",
                           "was", "too", "tired", "."}) {
    names += (names.empty() ? "\"" : ",\"") + std::string(name) + "\"";
  }
  folder.write("w.json", R"({"weights": [)" + rows + R"(], "labels": [)" + names + "]}");
  const std::string panel = R"({"plot": "heatmap", "file": "w.json")";
  const auto warnings = [&](const std::string& more) {
    folder.write("f.json", R"({"preset": "nature-double", "rows": [[)" + panel +
                               R"(, "width": 3}, )" + panel + "}]]" + more + "}");
    return attn_cli({"plot", "figure", "f.json", "--out", "f.svg"}, folder.path()).errors;
  };
  CHECK(warnings("") ==
        "attn-cli: warning: panel b has no room for the names of its tokens, unlike others: put "
        "fewer panels into its row, or give it more \"width\"\n");
  CHECK(warnings(R"(, "ticks": "index")") == "");
}

TEST_CASE("numbers of columns are answered by what panels and figures have") {
  const std::string panel = R"({"plot": "grid", "file": "w.json")";
  CHECK(refused(R"({"cols": 2, "rows": [[)" + panel + "}]]}") ==
        "attn-cli: unknown key \"cols\"\n"
        "  where: f.json, /cols\n"
        "  help:  each list within \"rows\" is a row of panels\n");
  CHECK(refused(R"({"rows": [[)" + panel + R"(, "ncols": 2}]]})") ==
        "attn-cli: unknown key \"ncols\"\n"
        "  where: f.json, /rows/0/0/ncols\n"
        "  help:  write \"columns\"\n");
}

TEST_CASE("a figure of several rows keeps to the height and the preset of the command line") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  const std::string panel = R"({"plot": "heatmap", "file": "w.json"})";
  const std::string row = "[" + panel + ", " + panel + "]";
  folder.write("f.json", R"({"preset": "page", "rows": [)" + row + ", " + row + "]}");
  const auto drawn = [&](const std::string& preset) {
    CHECK(
        attn_cli({"plot", "figure", "f.json", "--preset", preset, "--out", "f.svg"}, folder.path())
            .exit_code == 0);
    return read_text(folder / "f.svg");
  };
  CHECK(drawn("column").find("width=\"234pt\"") != std::string::npos);
  const std::string slide = drawn("slide");
  CHECK(slide.find("width=\"960pt\" height=\"540pt\"") != std::string::npos);
  const std::set<std::string> places = all_of(slide, "y=\"([0-9.]+)\" [^>]*>Key</text>");
  CHECK(places.size() == 2);
  for (const std::string& place : places) CHECK(std::stod(place) < 540);
}

TEST_CASE("--font-scale scales the letters of a preset, in whatever order they are written") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  const auto size = [&](const std::vector<std::string>& flags) {
    std::vector<std::string> words{"plot", "heatmap", "w.json", "--out", "w.svg"};
    words.insert(words.end(), flags.begin(), flags.end());
    CHECK(attn_cli(words, folder.path()).exit_code == 0);
    const auto sizes =
        all_of(read_text(folder / "w.svg"), "font-size=\"([0-9.]+)\"[^>]*>Key</text>");
    REQUIRE(sizes.size() == 1);
    return std::stod(*sizes.begin());
  };
  // Files have three decimals of a point.
  const auto larger = doctest::Approx(1.3 * size({"--preset", "slide"})).epsilon(1e-3);
  CHECK(size({"--preset", "slide", "--font-scale", "1.3"}) == larger);
  CHECK(size({"--font-scale", "1.3", "--preset", "slide"}) == larger);
}

TEST_CASE("--font-size is the size of tick labels in points, whatever the preset and the width") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  folder.write("f.json", R"({"preset": "page", "font-size": 6.5,
    "rows": [[{"plot": "heatmap", "file": "w.json"}, {"plot": "heatmap", "file": "w.json"}]]})");
  const auto sizes = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"plot", "heatmap", "w.json", "--out", "w.svg"};
    words.insert(words.end(), more.begin(), more.end());
    CHECK(attn_cli(words, folder.path()).errors == "");
    return all_of(read_text(folder / "w.svg"), "font-size=\"([0-9.]+)\"[^>]*>[abc]</text>");
  };
  const std::set<std::string> seven{"7"};
  CHECK(sizes({"--font-size", "7", "--preset", "slide"}) == seven);
  CHECK(sizes({"--preset", "nature", "--font-size", "7pt"}) == seven);
  CHECK(sizes({"--figsize", "9cm", "--font-size", "7"}) == seven);
  CHECK(attn_cli({"plot", "figure", "f.json", "--out", "f.svg"}, folder.path()).errors == "");
  // The letters a and b of the panels are bold.
  CHECK(all_of(read_text(folder / "f.svg"), "font-size=\"([0-9.]+)\"[^>]*>[abc]</text>", "bold") ==
        std::set<std::string>{"6.5"});
}

TEST_CASE("differences keep their colours, white at zero, beside weights on one scale") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  folder.write("v.json",
               R"({"weights":[[0.5,0.5,0],[0.25,0.75,0],[0.1,0.2,0.7]],"labels":["a","b","c"]})");
  folder.write("f.json", R"({"one-scale": true, "rows": [[
    {"plot": "heatmap", "file": "w.json"},
    {"plot": "difference", "file": ["w.json", "v.json"]}]]})");
  CHECK(attn_cli({"plot", "figure", "f.json", "--out", "f.svg"}, folder.path()).exit_code == 0);
  const std::string svg = read_text(folder / "f.svg");
  // The ends of both bars.
  for (const std::string end : {">1.0<", ">−0.5<", ">0.5<"}) CHECK(count(svg, end) == 1);
}

TEST_CASE("panels share one scale of colours where a figure says so") {
  const TemporaryFolder folder;
  folder.write("small.json", R"({"values": [[0.1, 0.2], [0.2, 0.3]]})");
  folder.write("large.json", R"({"values": [[1, 2], [2, 3]]})");
  const auto bars = [&](const std::string& scale) {
    folder.write("f.json", R"({)" + scale + R"("rows": [[
      {"plot": "heatmap", "file": "small.json", "axes": "query,key"},
      {"plot": "heatmap", "file": "large.json", "axes": "query,key"}]]})");
    CHECK(attn_cli({"plot", "figure", "f.json", "--out", "f.svg"}, folder.path()).exit_code == 0);
    return count(read_text(folder / "f.svg"), ">3.0<");
  };
  CHECK(bars("") == bars("\"one-scale\": false,"));
  CHECK(bars("\"one-scale\": true,") > bars(""));
}

TEST_CASE("panels share one bar of colours where a figure says so") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  const auto labels = [&](const std::string& bar) {
    folder.write("f.json", R"({)" + bar + R"("one-scale": true, "rows": [[
      {"plot": "heatmap", "file": "w.json"}, {"plot": "heatmap", "file": "w.json"}]]})");
    const Outcome drawn = attn_cli({"plot", "figure", "f.json", "--out", "f.svg"}, folder.path());
    CHECK(drawn.errors == "");
    return count(read_text(folder / "f.svg"), ">Attention");
  };
  CHECK(labels("") == 2);
  CHECK(labels("\"colorbar\": \"shared\",") == 1);
}

TEST_CASE("plot figure refuses what it does not know, with the place and the cure") {
  CHECK(refused(R"({"rows": [[{"plot": "heatmap", "file": "w.json", "haed": 2}]]})") ==
        "attn-cli: unknown key \"haed\"\n"
        "  where: f.json, /rows/0/0/haed\n"
        "  help:  did you mean \"head\"?\n");
  CHECK(refused(R"({"row": []})") ==
        "attn-cli: there are no panels\n"
        "  where: f.json, /rows\n"
        "  help:  give {\"rows\": [[{\"plot\": \"heatmap\", \"file\": \"result.json\"}]]}\n");
  CHECK(refused(R"({"panels": []})") ==
        "attn-cli: unknown key \"panels\"\n"
        "  where: f.json, /panels\n"
        "  help:  give {\"rows\": [[{\"plot\": \"heatmap\", \"file\": \"result.json\"}]]}\n");
  const std::string one = R"({"plot": "heatmap", "file": "w.json", "head": 1})";
  const std::string two = one + R"(, {"plot": "mask", "file": "w.json"})";
  CHECK(refused("{\"rows\": [" + two + "]}") ==
        "attn-cli: expected an array, found an object\n"
        "  where: f.json, /rows/0\n"
        "  help:  give {\"rows\": [[" +
            two + "]]}\n");
  CHECK(refused("{\"panels\": [" + two + "]}") ==
        "attn-cli: unknown key \"panels\"\n"
        "  where: f.json, /panels\n"
        "  help:  give {\"rows\": [[" +
            two + "]]}\n");
  CHECK(refused(one) ==
        "attn-cli: there are no panels\n"
        "  where: f.json, /rows\n"
        "  help:  give {\"rows\": [[" +
            one + "]]}\n");
  CHECK(refused(R"({"letters": false, "rows": [[{"plot": "heatmap", "file": "w.json"}]]})") ==
        "attn-cli: invalid value \"false\" for \"letters\"\n"
        "  where: f.json, /letters\n"
        "  help:  write \"panel-letters\": false\n");
  CHECK(refused(R"({"norm": true, "rows": [[{"plot": "heatmap", "file": "w.json"}]]})") ==
        "attn-cli: invalid value \"true\" for --norm\n"
        "  where: f.json, /norm\n"
        "  help:  known: linear, log, power\n");
  for (const std::string key : {"preset", "figsize", "panel-letters"}) {
    CAPTURE(key);
    CHECK(refused(R"({"rows": [[{"plot": "heatmap", "file": "w.json", ")" + key +
                  R"(": "column"}]]})") == "attn-cli: \"" + key +
                                               "\" is of the whole figure, not of a panel\n"
                                               "  where: f.json, /rows/0/0/" +
                                               key +
                                               "\n"
                                               "  help:  write it beside \"rows\"\n");
  }
  CHECK(refused(R"({"rows": [[{"plot": "heatmep", "file": "w.json"}]]})") ==
        "attn-cli: unknown kind of picture \"heatmep\"\n"
        "  where: f.json, /rows/0/0/plot\n"
        "  help:  did you mean \"heatmap\"?\n");
  CHECK(refused(R"({"rows": [[{"plot": "heatmap"}]]})") ==
        "attn-cli: \"file\" is missing\n"
        "  where: f.json, /rows/0/0\n"
        "  help:  give {\"plot\": \"heatmap\", \"file\": \"result.json\"}\n");
  CHECK(refused(R"({"rows": [[{"plot": "heatmap", "file": "w.json", "head": "x"}]]})")
            .find("  where: f.json, /rows/0/0/head\n") != std::string::npos);
}

TEST_CASE("a file that a panel names and that is not there is an error with its panel") {
  const TemporaryFolder folder;
  folder.write("f.json", R"({"rows": [[{"plot": "heatmap", "file": "none.json"}]]})");
  CHECK(refused_with(4, {"plot", "figure", "f.json", "--out", "f.svg"}, folder.path()) ==
        "attn-cli: cannot open \"none.json\": No such file or directory\n"
        "  where: f.json, /rows/0/0\n"
        "  help:  check the name, and the folder it is looked for in\n");
}

TEST_CASE("a figure whose rows cannot fit into its height says so") {
  const TemporaryFolder folder;
  folder.write("w.json", weights);
  std::string rows;
  for (int row = 0; row < 26; ++row)
    rows += std::string(row == 0 ? "" : ", ") + R"([{"plot": "heatmap", "file": "w.json"}])";
  folder.write("f.json", R"({"preset": "slide", "rows": [)" + rows + "]}");
  const Outcome drawn = attn_cli({"plot", "figure", "f.json", "--out", "f.svg"}, folder.path());
  CHECK(drawn.exit_code == 0);
  CHECK(drawn.errors ==
        "attn-cli: warning: the panels do not fit into the height of the figure: put fewer rows "
        "into it, or ask for a higher one\n");
}
