// What is printed as the number of a place is what is typed to select it: docs/counting.md.
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

using Numbers = std::set<std::size_t>;
using Words = std::vector<std::string>;

// Two samples, two heads, three queries of named tokens.
constexpr const char* document = R"({"attention":"multi_head","heads":2,"seed":1,
  "query":{"randn":[2,3,4]},"parameters":{"init":"torch"},"mask":{"causal":true},
  "labels":{"query":["a","b","c"],"key":["a","b","c"]}})";
const std::map<std::string, std::size_t> document_counts{{"sample", 2}, {"head", 2}, {"query", 3}};

const std::string model = (std::filesystem::path(ATTN_DATA) / "speeches").string();
const Words of_model{"--model", model, "--text", "The people", "--text", "The state"};
const std::map<std::string, std::size_t> model_counts{
    {"sample", 2}, {"layer", 4}, {"head", 4}, {"query", 5}};

// The numbers that a text prints of samples, heads, layers, and queries or keys.
std::map<std::string, Numbers> places_in(const std::string& text) {
  static const std::vector<std::pair<std::string, std::regex>> kinds{
      {"sample", std::regex("\\b[Ss]ample (\\d+)")},
      {"head", std::regex("\\b[Hh]ead (?:\\d+\\.)?(\\d+)")},
      {"layer", std::regex("(?:\\b[Ll]ayer |\\blayers\\.|\\bhead (?=\\d+\\.))(\\d+)")},
      {"query",
       std::regex("(?:\" \\(|&quot; \\(|\\b[Qq]uery |\\b[Kk]ey |\\bkeys up to key )(\\d+)\\b")}};
  std::map<std::string, Numbers> places;
  for (const auto& [kind, pattern] : kinds) {
    for (std::sregex_iterator found(text.begin(), text.end(), pattern), end; found != end; ++found)
      places[kind].insert(std::stoul((*found)[1]));
  }
  return places;
}

// Output of a command, and the file that it writes, if any.
std::string printed(const Words& words, const std::filesystem::path& folder,
                    const std::string& file) {
  const Outcome outcome = attn_cli(words, folder);
  CAPTURE(outcome.errors);
  REQUIRE(outcome.exit_code == 0);
  return outcome.output + (file.empty() ? "" : read_text(folder / file));
}

struct Printing {
  Words words;
  std::vector<std::string> chosen;  // kinds of places, each with a flag
  std::string file = {};            // that holds what is printed, in place of standard output
};

// Chooses the first of each place and the last: what counts from 1 prints another number of the
// first, and one that is not there of the last.
void check(const std::vector<Printing>& commands, const std::map<std::string, std::size_t>& counts,
           const std::filesystem::path& folder) {
  for (const Printing& command : commands) {
    for (const bool last : {false, true}) {
      Words words = command.words;
      for (const std::string& kind : command.chosen) {
        const std::size_t number = last ? counts.at(kind) - 1 : 0;
        words.insert(words.end(), {"--" + kind, std::to_string(number)});
      }
      std::string line;
      for (const std::string& word : words) line += word + " ";
      CAPTURE(line);
      const auto places = places_in(printed(words, folder, command.file));
      for (const auto& [kind, count] : counts) {
        const auto& shown = kind;  // clang 14 captures no structured binding
        CAPTURE(shown);
        const auto found = places.find(kind);
        const bool chosen = std::ranges::count(command.chosen, kind) > 0;
        if (chosen) REQUIRE(found != places.end());
        if (chosen) CHECK(found->second.contains(last ? count - 1 : 0));
        if (found != places.end()) CHECK(*found->second.rbegin() < count);
      }
    }
  }
}

}  // namespace

TEST_CASE("what is printed as the number of a place is typed to select it: documents") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  REQUIRE(attn_cli({"run", "d.json", "--out", "r", "--plots", "none"}, folder.path()).exit_code ==
          0);
  check({{{"run", "d.json", "--out", "o", "--plots", "none"}, {"sample", "head"}},
         {{"run", "d.json", "--out", "o", "--plots", "none", "--show"}, {"sample", "head"}},
         {{"show", "r"}, {"sample", "head"}},
         {{"explain", "d.json"}, {"sample", "head", "query"}},
         {{"explain", "r"}, {"sample", "head", "query"}}},
        document_counts, folder.path());
}

TEST_CASE("what is printed as the number of a place is typed to select it: models") {
  const TemporaryFolder folder;
  Words run{"run", "--out", "r", "--plots", "none"}, explain{"explain"};
  run.insert(run.end(), of_model.begin(), of_model.end());
  explain.insert(explain.end(), of_model.begin(), of_model.end());
  REQUIRE(attn_cli(run, folder.path()).exit_code == 0);
  Words why = explain;
  why.push_back("--why");
  const Words drawn{"plot", "heatmap", "r", "--out", "m.svg"};
  const Words strip{"plot", "strip", "r", "--out", "m.svg"};
  check({{run, {"sample", "head"}},
         {{"show", "r"}, {"sample", "layer", "head"}},
         {explain, {"sample", "layer", "head", "query"}},
         {{"explain", "r"}, {"sample", "layer", "head", "query"}},
         {drawn, {"sample", "layer", "head"}, "m.svg"},
         {strip, {"sample", "layer", "head", "query"}, "m.svg"},
         {why, {"sample", "layer", "head", "query"}}},
        model_counts, folder.path());
}

TEST_CASE("the rows of a report are typed to select their queries and keys") {
  const TemporaryFolder folder;
  Words run{"run", "--out", "r", "--plots", "none"};
  run.insert(run.end(), of_model.begin(), of_model.end());
  const std::string report = printed(run, folder.path(), "");
  const std::regex row("\n  (\".*\" \\((\\d+)\\)) ");
  std::size_t rows = 0;
  for (std::sregex_iterator found(report.begin(), report.end(), row), end; found != end; ++found) {
    const std::string name = (*found)[1], index = (*found)[2];
    CAPTURE(name);
    CHECK(index == std::to_string(rows++));
    const std::string choice = "\"query\": " + index + ",";
    for (const std::string& typed : {name, index}) {
      Words explain{"explain", "--json", "--query", typed};
      explain.insert(explain.end(), of_model.begin(), of_model.end());
      CHECK(printed(explain, folder.path(), "").find(choice) != std::string::npos);
      CHECK(printed({"explain", "r", "--json", "--query", typed}, folder.path(), "").find(choice) !=
            std::string::npos);
    }
    std::string quoted = name;  // as lists are quoted
    for (std::size_t at = 0; (at = quoted.find('"', at)) != std::string::npos; at += 2)
      quoted.insert(at, "\"");
    const auto without = [&](const std::string& key) {
      const std::string map = printed({"show", "r", "--json", "--drop", key}, folder.path(), "");
      return map.substr(map.find("\"labels\""));
    };
    CHECK(without('"' + quoted + '"') == without(index));
  }
  CHECK(rows == model_counts.at("query"));
}

TEST_CASE("a split's query and key are typed as it prints them") {
  Words why{"explain", "--model", model, "--text", "The people of the people", "--why", "2.0"};
  Words by_index = why, by_name = why;
  by_index.insert(by_index.end(), {"--query", "4", "--key", "1"});
  const std::string text = printed(by_index, ".", "");
  std::smatch named;
  REQUIRE(std::regex_search(
      text, named, std::regex("Why head 2\\.0 looks from (\".*\" \\(4\\)) at (\".*\" \\(1\\))")));
  by_name.insert(by_name.end(), {"--query", named[1], "--key", named[2]});
  CHECK(printed(by_name, ".", "") == text);
}

TEST_CASE("the ticks of a tutorial's picture select their queries and keys") {
  const TemporaryFolder folder;
  folder.write("d.json", R"({"attention":"softmax","scores":[[1,2],[3,4],[5,6]]})");
  REQUIRE(attn_cli({"run", "d.json", "--out", "r", "--format", "svg"}, folder.path()).exit_code ==
          0);
  const std::string picture = read_text(folder / "r/heatmap.svg");
  CHECK(picture.find("(Sample 1, Head 1)") != std::string::npos);
  CHECK(picture.find(">Q_3<") != std::string::npos);
  const std::string explained = printed({"explain", "r", "--query", "Q_3"}, folder.path(), "");
  CHECK(explained == printed({"explain", "r", "--query", "2"}, folder.path(), ""));
  CHECK(explained.find("query 2 of 3,") != std::string::npos);
  CHECK(printed({"show", "r", "--drop", "K_1"}, folder.path(), "").find("0.27") ==
        std::string::npos);
}

TEST_CASE("a number that a tutorial's picture counts from 1 is told where it is typed from 0") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  REQUIRE(attn_cli({"run", "d.json", "--out", "r", "--plots", "none"}, folder.path()).exit_code ==
          0);
  const std::string rest =
      ": pictures of documents count from 1, as in tutorials, and all else from 0; --title gives "
      "another title\n";
  const Words drawn{"plot", "heatmap", "r", "--out", "m.svg", "--sample", "0", "--head"};
  const auto warnings = [&](const Words& more) {
    Words words = drawn;
    words.insert(words.end(), more.begin(), more.end());
    return attn_cli(words, folder.path()).errors;
  };
  CHECK(warnings({"1"}) ==
        "attn-cli: warning: the picture calls sample 0, head 1 \"Sample 1, Head 2\"" + rest);
  CHECK(read_text(folder / "m.svg").find("(Sample 1, Head 2)") != std::string::npos);
  CHECK(warnings({"0"}) == "");
  CHECK(warnings({"mean"}) == "");
  CHECK(warnings({"1", "--title", "Head 1 of d"}) == "");
  CHECK(attn_cli({"run", "d.json", "--out", "o", "--head", "1", "--format", "svg"}, folder.path())
            .errors == "attn-cli: warning: the picture calls head 1 \"Head 2\"" + rest);
  for (const std::string input : {"d.json", "r"}) {
    CAPTURE(input);
    CHECK(attn_cli({"plot", "mask", input, "--sample", "1", "--out", "n.svg"}, folder.path())
              .errors.find("attn-cli: warning: the picture calls sample 1 \"Sample 2\"" + rest) !=
          std::string::npos);
    CHECK(read_text(folder / "n.svg").find("Attention Mask (Sample 2") != std::string::npos);
  }
  CHECK(attn_cli({"run", "d.json", "--out", "o", "--head", "1", "--plots", "none"}, folder.path())
            .errors == "");
}

TEST_CASE("differences, pieces, pages and statistics name places as flags do") {
  const TemporaryFolder folder;
  folder.write("a.json", R"({"weights":[[[[1,0],[0,1]]],[[[1,0],[0,1]]]]})");
  folder.write("b.json", R"({"weights":[[[[1,0],[0,1]]],[[[1,0],[1,0]]]]})");
  const Outcome compared = attn_cli({"compare", "a.json", "b.json"}, folder.path());
  CHECK(compared.exit_code == 1);
  CHECK(compared.output.find("only in sample 1 of 2") != std::string::npos);
  CHECK(compared.output.find("query 1 of 2") != std::string::npos);
  CHECK(attn_cli({"compare", "a.json", "b.json", "--sample", "1"}, folder.path()).exit_code == 1);
  CHECK(attn_cli({"compare", "a.json", "b.json", "--sample", "0"}, folder.path()).exit_code == 0);
  CHECK(attn_cli({"compare", "a.json", "b.json", "--query", "0"}, folder.path()).exit_code == 0);

  REQUIRE(attn_cli({"view", "a.json", "--out", "p.html"}, folder.path()).exit_code == 0);
  const std::string page = read_text(folder / "p.html");
  CHECK(page.find("\"Sample 0\"") != std::string::npos);
  CHECK(page.find("\"Sample 1\"") != std::string::npos);
  CHECK(page.find("\"Sample 2\"") == std::string::npos);

  const std::string pieces = printed({"tokens", "--model", model, "--text", "The people"}, ".", "");
  CHECK(std::regex_search(pieces, std::regex("\n +0  \"")));
  CHECK_FALSE(std::regex_search(pieces, std::regex("\n +6  \"")));

  Words run{"run", "--out", "r", "--plots", "none"};
  run.insert(run.end(), of_model.begin(), of_model.end());
  REQUIRE(attn_cli(run, folder.path()).exit_code == 0);
  const Words heads{"heads", "r", "--csv"};
  const std::string all = printed(heads, folder.path(), "");
  Words one = heads;
  one.insert(one.end(), {"--layers", "3", "--head", "2"});
  const std::string chosen = printed(one, folder.path(), "");
  const std::string row = chosen.substr(chosen.find('\n') + 1);
  CHECK(row.starts_with("3,self,2,"));
  CHECK(all.find(row) != std::string::npos);
}

TEST_CASE("parts of a batch count from 0, and its items as lines of their file from 1") {
  const TemporaryFolder folder;
  const std::string good = R"({"attention":"softmax","scores":[[1,2],[3,4]]})";
  folder.write("d.jsonl", good +
                              "\n"
                              R"({"attention":"softmax","scores":[[1,2],[3,"x"]]})"
                              "\n" +
                              good + "\n");
  Numbers items;
  for (std::size_t part = 0; part < 3; ++part) {
    CAPTURE(part);
    const Outcome outcome = attn_cli({"batch", "d.jsonl", "--out", "b", "--plots", "none",
                                      "--shard", std::to_string(part) + "/3"},
                                     folder.path());
    CHECK(outcome.output.starts_with("shard    " + std::to_string(part) +
                                     " of 3, counted from 0\nitems    1\n"));
    const std::string summary =
        read_text(folder / ("b/summary." + std::to_string(part) + "-of-3.jsonl"));
    std::smatch item;
    REQUIRE(std::regex_search(summary, item, std::regex("\"item\": \"d\\.0*(\\d+)\"")));
    CHECK(summary.find("\"input\": \"d.jsonl:" + item[1].str() + "\"") != std::string::npos);
    items.insert(std::stoul(item[1]));
    // The second line fails at the second row's second number.
    const bool failed = item[1] == "2";
    CHECK(outcome.exit_code == (failed ? 1 : 0));
    CHECK((outcome.errors.find("where: d.jsonl:2, /scores/1/1\n") != std::string::npos) == failed);
  }
  CHECK(items == Numbers{1, 2, 3});
  CHECK(attn_cli({"batch", "d.jsonl", "--out", "b", "--shard", "3/3"}, folder.path()).exit_code ==
        2);
}

TEST_CASE("a model's description lists its layers as --layers counts them") {
  const std::string folder =
      (std::filesystem::path(ATTN_TEST_DATA) / "models/cases/gpt_neo_local/checkpoint").string();
  const std::string described = printed({"model", folder, "--json"}, ".", "");
  std::smatch windows;
  REQUIRE(std::regex_search(described, windows, std::regex("\"windows\": \\[([^\\]]*)\\]")));
  const std::string list = windows[1];
  const std::regex one("null|\\d+");
  std::size_t layers = 0, windowed = 0;
  const TemporaryFolder results;
  for (std::sregex_iterator found(list.begin(), list.end(), one), end; found != end; ++found) {
    const std::string layer = std::to_string(layers++);
    CAPTURE(layer);
    const bool window = found->str() != "null";
    windowed += window ? 1 : 0;
    const std::string report = printed({"run", "--model", folder, "--ids", "1,2,3", "--layers",
                                        layer, "--plots", "none", "--out", "r"},
                                       results.path(), "");
    CHECK(report.find("layers." + layer + ".self.weights of sample 0, head 0") !=
          std::string::npos);
    CHECK((report.find("window") != std::string::npos) == window);
  }
  CHECK(windowed > 0);
  CHECK(windowed < layers);
  CHECK(attn_cli({"run", "--model", folder, "--ids", "1,2,3", "--layers", std::to_string(layers)})
            .exit_code == 3);
}

TEST_CASE("descriptions of models and timings print sizes alone, no numbers of places") {
  for (const Words& words : {Words{"model", model}, Words{"bench", "--shape", "1,2,3,3,4"},
                             Words{"bench", "--shape", "1,2,3,3,4", "--json"}, Words{"list"}}) {
    CAPTURE(words.back());
    CHECK(places_in(printed(words, ".", "")).empty());
  }
}

TEST_CASE("an error's range of places is what is taken") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  for (const auto& [kind, count] : document_counts) {
    const auto& shown = kind;  // clang 14 captures no structured binding
    CAPTURE(shown);
    const Outcome refused =
        attn_cli({"explain", "d.json", "--" + kind, std::to_string(count)}, folder.path());
    CHECK(refused.exit_code == 3);
    CHECK(refused.errors.find("give 0 to " + std::to_string(count - 1)) != std::string::npos);
  }
}
