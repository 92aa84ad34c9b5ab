#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// An output never takes the place of a file from which it is made.

namespace {

namespace fs = std::filesystem;

const std::string document = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";
const std::string tensors = R"({"weights":[[1,0],[0,1]]})";

// All files below a folder with their bytes.
std::vector<std::pair<std::string, std::string>> contents(const TemporaryFolder& folder) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path())) {
    if (entry.is_regular_file()) all.emplace_back(entry.path(), read_text(entry.path()));
  }
  std::sort(all.begin(), all.end());
  return all;
}

std::string refusal(const std::string& output, const std::string& input) {
  return "attn-cli: the output \"" + output + "\" would replace \"" + input +
         "\", from which it is made\n  help:  write to another file or folder\n";
}

struct Case {
  std::vector<std::string> arguments;
  std::string output, input;
};

}  // namespace

TEST_CASE("no command writes over a file that it reads, by whatever name") {
  const TemporaryFolder folder;
  folder.write("v.json", tensors);
  folder.write("w.json", R"({"weights":[[0,1],[1,0]]})");
  folder.write("result.json", document);
  folder.write("l.jsonl", document + "\n");
  CHECK(attn_cli({"run", "result.json", "--tensors", "npy", "--out", "made", "--plots", "none"},
                 folder.path())
            .exit_code == 0);
  fs::copy_file(folder / "made/weights.npy", folder / "weights.npy");
  folder.write("scores.json", R"({"attention":"softmax","scores":{"file":"weights.npy"},)"
                              R"("value":[[1],[1]]})");
  fs::create_symlink("v.json", folder / "link.png");
  fs::create_symlink("v.json", folder / "link");
  fs::create_hard_link(folder / "w.json", folder / "hard.png");
  fs::create_directory(folder / "batch");
  fs::create_symlink("../l.jsonl", folder / "batch/summary.jsonl");
  fs::create_directory(folder / "heads");
  folder.write("heads/heads.json", tensors);
  folder.write("heads/against.json", tensors);
  fs::create_directory(folder / "corpus");
  for (const char* name :
       {"result.json", "heads.entropy.svg", "average.svg", "corpus.json", "corpus.0-of-2.json"}) {
    folder.write(std::string("corpus/") + name, "The people of the world.\n");
  }
  const std::string model = std::string(ATTN_DATA) + "/speeches";
  const auto over_corpus = [&](const std::string& name, const std::vector<std::string>& flags) {
    Case one{{"heads", "--model", model, "--corpus", "corpus/" + name, "--out", "corpus"},
             "corpus/" + name,
             "corpus/" + name};
    one.arguments.insert(one.arguments.end(), flags.begin(), flags.end());
    return one;
  };
  const auto before = contents(folder);
  const std::vector<Case> cases = {
      {{"view", "v.json", "--out", "v.json"}, "v.json", "v.json"},
      {{"view", "v.json", "--out", "./link"}, "./link", "v.json"},
      {{"run", "result.json", "--out", ".", "--plots", "none"}, "./result.json", "result.json"},
      {{"run", "scores.json", "--tensors", "npy", "--out", ".", "--plots", "none"},
       "./weights.npy",
       "weights.npy"},
      {{"plot", "heatmap", "v.json", "--out", "link.png"}, "link.png", "v.json"},
      {{"plot", "heatmap", "w.json", "--out", "hard.png"}, "hard.png", "w.json"},
      {{"compare", "v.json", "w.json", "--plot", "link.png"}, "link.png", "v.json"},
      {{"heads", "heads/heads.json", "--out", "heads"}, "heads/heads.json", "heads/heads.json"},
      {{"heads", "heads/against.json", "--against", "v.json", "--out", "heads"},
       "heads/against.json",
       "heads/against.json"},
      {{"heads", "v.json", "--against", "heads/against.json", "--out", "heads"},
       "heads/against.json",
       "heads/against.json"},
      over_corpus("corpus.json", {}),
      over_corpus("corpus.0-of-2.json", {"--shard", "0/2"}),
      over_corpus("result.json", {"--average"}),
      over_corpus("average.svg", {"--average", "--plots", "heads", "--format", "svg"}),
      over_corpus("heads.entropy.svg", {"--plots", "heads", "--format", "svg"}),
      {{"batch", "l.jsonl", "--out", "batch", "--plots", "none"},
       "batch/summary.jsonl",
       "l.jsonl"}};
  for (const Case& one : cases) {
    CAPTURE(one.arguments[0]);
    CAPTURE(one.output);
    CHECK(refused_with(2, one.arguments, folder.path()) == refusal(one.output, one.input));
    CHECK(contents(folder) == before);
  }
}

TEST_CASE("sums and tables of a corpus replace no file that its documents name") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "out");
  for (const std::string name : {"corpus.json", "heads.csv"}) {
    CAPTURE(name);
    folder.write("out/" + name, tensors);
    folder.write("docs.jsonl",
                 R"({"attention":"softmax","value":[[1],[1]],"scores":{"file":"out/)" + name +
                     R"(","name":"weights"}})" + "\n");
    CHECK(refused_with(2, {"heads", "--corpus", "docs.jsonl", "--out", "out"}, folder.path()) ==
          refusal("out/" + name, "out/" + name));
    CHECK(read_text(folder / "out" / name) == tensors);
  }
}

TEST_CASE("a batch writes over no document that it has still to read") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "docs/a");
  folder.write("docs/a.json", document);
  folder.write("docs/a/result.json", document);
  const Outcome outcome = attn_cli(
      {"batch", "docs/a.json", "docs/a/result.json", "--out", "docs", "--plots", "none", "--quiet"},
      folder.path());
  CHECK(outcome.exit_code == 1);
  CHECK(read_text(folder / "docs/a/result.json") == document);
  CHECK(
      read_text(folder / "docs/summary.jsonl")
          .find("the output \\\"docs/a/result.json\\\" would replace \\\"docs/a/result.json\\\"") !=
      std::string::npos);
}

TEST_CASE("every command makes the folders that are missing above its output, or none") {
  const TemporaryFolder folder;
  folder.write("d.json", document);
  folder.write("v.json", tensors);
  folder.write("same.json", tensors);
  folder.write("wrong.json", R"({"attention":"sdpa"})");
  folder.write("t.txt", "The people of the world.\n");
  const std::string model = std::string(ATTN_DATA) + "/speeches";
  const std::vector<std::pair<std::vector<std::string>, std::string>> outputs{
      {{"run", "d.json", "--plots", "none", "--out"}, ""},
      {{"run", "d.json", "--attention", "sdpa", "--attention", "dot_product", "--plots", "none",
        "--out"},
       ""},
      {{"batch", "d.json", "--plots", "none", "--out"}, ""},
      {{"heads", "d.json", "--out"}, ""},
      {{"heads", "v.json", "--against", "v.json", "--out"}, ""},
      {{"heads", "--model", model, "--corpus", "t.txt", "--out"}, ""},
      {{"plot", "heatmap", "v.json", "--out"}, "/map.svg"},
      {{"plot", "animation", "v.json", "--out"}, ""},
      {{"view", "v.json", "--out"}, "/page.html"},
      {{"compare", "v.json", "same.json", "--plot"}, "/difference.svg"}};
  int number = 0;
  for (auto [words, file] : outputs) {
    const std::string top = "new" + std::to_string(++number);
    words.push_back(top + "/sub/deep" + file);
    const auto& shown = words[0];  // clang 14 captures no structured binding
    CAPTURE(shown);
    const Outcome outcome = attn_cli(words, folder.path());
    CHECK(outcome.errors == "");
    CHECK(outcome.exit_code == 0);
    CHECK_FALSE(fs::is_empty(folder / (top + "/sub/deep")));
  }
  for (const std::vector<std::string>& words :
       {std::vector<std::string>{"run", "wrong.json", "--out", "none/sub/deep"},
        {"heads", "wrong.json", "--out", "none/sub/deep"},
        {"view", "wrong.json", "--out", "none/sub/page.html"}}) {
    CAPTURE(words[0]);
    CHECK(attn_cli(words, folder.path()).exit_code == 3);
    CHECK_FALSE(fs::exists(folder / "none"));
  }
}
