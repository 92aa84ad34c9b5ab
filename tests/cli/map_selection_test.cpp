#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

/// Weights [2,3,4,4] of two layers whose rows sum to 1, all different. `turn` sets files apart.
std::string maps(double turn) {
  std::string tensors;
  double number = turn;
  for (const std::string layer : {"0", "1"}) {
    std::string all = "[";
    for (int map = 0; map < 6; ++map) {
      if (map == 0 || map == 3) all += map == 0 ? "[" : "],[";
      all += map % 3 == 0 ? "[" : ",[";
      for (int i = 0; i < 4; ++i) {
        number += 0.37;
        const double a = 0.1 + 0.2 * (number - static_cast<int>(number)), b = 0.2, c = 0.15;
        all += (i > 0 ? ",[" : "[") + std::to_string(a) + "," + std::to_string(b) + "," +
               std::to_string(c) + "," + std::to_string(1 - a - b - c) + "]";
      }
      all += "]";
    }
    tensors += (layer == "0" ? "" : ",") + ("\"layers." + layer + ".self.weights\":" + all) + "]]";
  }
  return R"({"format":1,"attention":"model","tensors":{)" + tensors +
         R"(},"labels":{"query":["▁a","b","▁c","d"],"key":["▁a","b","▁c","d"]}})";
}

std::string without_space(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\n'; });
  return text;
}

}  // namespace

TEST_CASE(
    "each flag that selects maps changes what show, view, heads and compare answer, or is "
    "refused") {
  const TemporaryFolder folder;
  folder.write("a.json", maps(0));
  folder.write("b.json", maps(0.5));
  folder.write("names.txt", "[CLS]\ntwo\n[SEP]\nfour\n");
  const std::vector<std::vector<std::string>> commands{
      {"show", "a.json", "--json"},
      {"view", "a.json", "--out", "-"},
      {"heads", "a.json", "--json"},
      {"compare", "a.json", "b.json", "--json", "--plot", "d.svg"}};
  const std::vector<std::vector<std::string>> flags{{"--name", "layers.1.self.weights"},
                                                    {"--axes", "batch,head,key,query"},
                                                    {"--reshape", "3,2,4,4"},
                                                    {"--slice", ":,:,::-1"},
                                                    {"--layers", "1"},
                                                    {"--head", "2"},
                                                    {"--head", "1:3,mean"},
                                                    {"--sample", "1"},
                                                    {"--sample", "mean"},
                                                    {"--query", "▁c"},
                                                    {"--queries", "1:3"},
                                                    {"--keys", "1:3"},
                                                    {"--drop", "b"},
                                                    {"--drop-first", "1"},
                                                    {"--renormalize", "--drop-first", "1"},
                                                    {"--labels", "names.txt"},
                                                    {"--merge-pieces"}};
  for (const std::vector<std::string>& command : commands) {
    const auto answer = [&](const std::vector<std::string>& more) {
      std::vector<std::string> words = command;
      words.insert(words.end(), more.begin(), more.end());
      const Outcome outcome = attn_cli(words, folder.path());
      const bool compares = command[0] == "compare";
      CAPTURE(outcome.errors);
      CHECK((outcome.exit_code == 0 || (compares && outcome.exit_code == 1)));
      return outcome.output + outcome.errors + (compares ? read_text(folder / "d.svg") : "");
    };
    const std::string plain = answer({});
    for (const std::vector<std::string>& flag : flags) {
      CAPTURE(command[0]);
      CAPTURE(flag[0]);
      CAPTURE(flag.back());
      CHECK(answer(flag) != plain);
    }
  }
}

TEST_CASE("what chooses among existing maps is refused for a document") {
  const TemporaryFolder folder;
  const std::string causal = std::string(ATTN_DATA) + "/causal.json";
  CHECK(refused_with(2, {"heads", causal, "--queries", "0:2"}, folder.path()) ==
        "attn-cli: a document is computed, and --queries chooses among existing maps\n"
        "  where: --queries\n"
        "  help:  leave it out, or give a result or a file of maps\n");
  CHECK(refused_with(2, {"view", causal, "--slice", "0", "--out", "v.html"}, folder.path()) ==
        "attn-cli: a document is computed, and --slice chooses among existing maps\n"
        "  where: --slice\n"
        "  help:  leave it out, or give a result or a file of maps\n");
}

TEST_CASE(
    "a label of two queries, a vector and a flag of other pictures are refused with what to do") {
  const TemporaryFolder folder;
  folder.write("w.json",
               R"({"weights":[[0.5,0.5],[1,0]],"labels":{"query":["x","x"],"key":["x","y"]}})");
  folder.write("v.json", R"({"weights":[0.5,0.5]})");
  CHECK(refused_with(3, {"show", "w.json", "--query", "x"}, folder.path()) ==
        "attn-cli: 2 queries are called \"x\": 0 and 1\n"
        "  where: --query\n"
        "  help:  give the position of one of them, such as 1\n");
  CHECK(refused_with(2, {"plot", "lines", "w.json", "--cmap", "Blues", "--out", "l.png"},
                     folder.path()) ==
        "attn-cli: a picture of the kind lines has no use for --cmap\n"
        "  where: --cmap\n"
        "  help:  leave it out: it is for heatmap, grid, stages, strip, overlay, positions, steps, "
        "parts, "
        "contributions, comparison, difference, animation, card\n");
  // A flag that has its usual value is refused too.
  CHECK(attn_cli({"plot", "lines", "w.json", "--annotate", "auto", "--out", "l.png"}, folder.path())
            .exit_code == 2);
  CHECK(attn_cli({"show", "v.json"}, folder.path()).errors.find("--reshape 1,2") !=
        std::string::npos);
}

TEST_CASE("labels name the positions that are drawn, and numbers are names") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[0.5,0.5,0],[1,0,0],[0,0,1]]})");
  folder.write("labels.json", R"({"query":["p","q"],"key":[0.5,12]})");
  const Outcome shown = attn_cli(
      {"show", "w.json", "--queries", "0:2", "--keys", "0:2", "--labels", "labels.json", "--json"},
      folder.path());
  CHECK(shown.errors == "");
  CHECK(without_space(shown.output).find(R"("query":["p","q"],"key":["0.5","12"])") !=
        std::string::npos);
}

TEST_CASE("one map of several says of how many and what shows another") {
  const TemporaryFolder folder;
  folder.write("a.json", maps(0));
  CHECK(attn_cli({"show", "a.json", "--json"}, folder.path()).errors ==
        "attn-cli: warning: this is layer 0 of 2: --layers 1 shows another, mean all of them "
        "together\n"
        "attn-cli: warning: this is sample 0 of 2 and head 0 of 3: --sample 1 and --head 1 show "
        "others, mean their mean; pictures also take all\n");
  CHECK(attn_cli({"show", "a.json", "--json", "--layers", "0", "--sample", "1", "--head", "mean"},
                 folder.path())
            .errors == "");
}

TEST_CASE("steps of generation are one map a layer over prompt and answer") {
  const TemporaryFolder folder;
  folder.write("g.json", R"({"tensors":{
    "0.0":[[[[1,0],[0.5,0.5]]]],"0.1":[[[[1,0],[0.25,0.75]]]],
    "1.0":[[[[0.2,0.3,0.5]]]],"1.1":[[[[0.1,0.1,0.8]]]]}})");
  folder.write("text.txt", "the\nend\nis\nnear\n");
  const Outcome shown = attn_cli(
      {"show", "g.json", "--layers", "1", "--labels", "text.txt", "--json"}, folder.path());
  CHECK(shown.errors == "");
  const std::string json = without_space(shown.output);
  CHECK(json.find(R"("query":["the","end","is"])") != std::string::npos);
  CHECK(json.find("[[1,0,0],[0.25,0.75,0],[0.1,0.1,0.8]]") != std::string::npos);
  CHECK(attn_cli({"plot", "steps", "g.json", "--name", "{n}.1", "--out", "s.svg"}, folder.path())
            .exit_code == 0);
  CHECK(read_text(folder / "s.svg").find("Heatmap of 3 queries × 3 keys") != std::string::npos);
  const Outcome heads = attn_cli({"heads", "g.json", "--csv"}, folder.path());
  CHECK(heads.exit_code == 0);
  CHECK(heads.output.find("\n1,") != std::string::npos);
}

TEST_CASE("--heads splits the tensors of a document, and chooses a head of existing maps") {
  const TemporaryFolder folder;
  folder.write("document.json", R"({"attention":"sdpa","query":{"randn":[1,5,8]},"seed":1})");
  folder.write("maps.json", maps(0));
  for (const std::string command : {"heads", "explain"}) {
    CAPTURE(command);
    const auto answer = [&](const std::string& file, const std::vector<std::string>& flags) {
      std::vector<std::string> words{command, file};
      words.insert(words.end(), flags.begin(), flags.end());
      return attn_cli(words, folder.path());
    };
    const Outcome split = answer("document.json", {"--heads", "2"});
    CHECK(split.exit_code == 0);
    CHECK(split.output != answer("document.json", {"--heads", "4"}).output);
    const std::string second = answer("maps.json", {"--head", "2"}).output;
    CHECK(answer("maps.json", {"--heads", "2"}).output == second);
    CHECK(answer("maps.json", {"--heads", "1"}).output != second);
  }
}

TEST_CASE("the JSON of plot names flags in warnings, as standard error does") {
  const TemporaryFolder folder;
  folder.write("maps.json", maps(0));
  const Outcome drawn = attn_cli(
      {"plot", "heatmap", "maps.json", "--layers", "0", "--out", "m.svg", "--json"}, folder.path());
  CHECK(drawn.output.find("--head 1") != std::string::npos);
  CHECK(drawn.output.find("MapSelection") == std::string::npos);
}
