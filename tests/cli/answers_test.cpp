#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string fine = R"({"attention":"sdpa","query":[[1,0],[0,1]],"title":"T"})";
const std::string faulty = R"({"attention":"sdpaa","query":[[1,0],[0,1]]})";

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = text.find('\n', start);
    lines.push_back(text.substr(start, end - start));
    start = end == std::string::npos ? text.size() : end + 1;
  }
  return lines;
}

}  // namespace

TEST_CASE("run --out - writes the result to standard output and nothing else anywhere") {
  const TemporaryFolder folder;
  const Outcome run = attn_cli({"run", "-", "--out", "-", "--only", "output"}, folder.path(), fine);
  CHECK(run.exit_code == 0);
  CHECK(run.errors.empty());
  CHECK(run.output ==
        "{\n"
        "  \"format\": 1,\n"
        "  \"attention\": \"scaled_dot_product\",\n"
        "  \"title\": \"T\",\n"
        "  \"dtype\": \"float32\",\n"
        "  \"shapes\": {\n"
        "    \"query\": [2,2],\n"
        "    \"key\": [2,2],\n"
        "    \"value\": [2,2],\n"
        "    \"output\": [2,2]\n"
        "  },\n"
        "  \"tensors\": {\n"
        "    \"output\": [\n"
        "      [0.66976154, 0.33023846],\n"
        "      [0.33023846, 0.66976154]\n"
        "    ]\n"
        "  },\n"
        "  \"warnings\": [],\n"
        "  \"pictures\": []\n"
        "}\n");
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("what is written to standard output is a result that show and plot read") {
  const TemporaryFolder folder;
  folder.write("doc.json", fine);
  const Outcome run =
      shell("\"$ATTN\" run doc.json --out - | \"$ATTN\" plot heatmap - --out - --format svg",
            folder.path());
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("<svg") != std::string::npos);
  const Outcome several = shell(
      "\"$ATTN\" run doc.json --attention dot_product --attention sdpa --out - | grep -c format",
      folder.path());
  CHECK(several.output == "2\n");
}

TEST_CASE("what cannot stand beside the result on standard output is refused") {
  const auto errors = [](std::vector<std::string> flags) {
    flags.insert(flags.begin(), {"run", "-", "--out", "-"});
    return attn_cli(flags, ".", fine).errors;
  };
  CHECK(
      errors({"--plots", "grid"}) ==
      "attn-cli: pictures cannot go to standard output together with the result\n  where: --plots\n"
      "  help:  leave out --plots, or give attn-cli run a folder with --out\n");
  CHECK(errors({"--tensors", "npy"}) ==
        "attn-cli: files of tensors cannot go to standard output together with the result\n"
        "  where: --tensors\n"
        "  help:  leave out --tensors, or give attn-cli run a folder with --out\n");
  CHECK(errors({"--json"}) ==
        "attn-cli: the report cannot go to standard output together with the result\n  where: "
        "--json\n"
        "  help:  leave out --json, or give attn-cli run a folder with --out\n");
  CHECK(errors({"--show"}) ==
        "attn-cli: --show and --out - cannot both write to standard output\n  where: --show\n"
        "  help:  leave one of them out\n");
}

TEST_CASE("--only limits the tensors of a result, by whole names or by their last parts") {
  const TemporaryFolder folder;
  const std::string layers =
      R"({"attention":"encoder_layer","heads":2,"layers":2,"feed_forward":8,"x":{"randn":[3,4]},"seed":1,)"
      R"("parameters":{"init":"torch"}})";
  const auto names = [&](const std::string& only) {
    REQUIRE(attn_cli({"run", "-", "--out", "r", "--plots", "none", "--only", only}, folder.path(),
                     layers)
                .exit_code == 0);
    return attn::TensorFile::open(folder / "r" / "result.json").names();
  };
  CHECK(names("layers.1.self.weights,output") ==
        std::vector<std::string>{"layers.1.self.weights", "output"});
  CHECK(names("weights") ==
        std::vector<std::string>{"layers.0.self.weights", "layers.1.self.weights"});
  CHECK(attn_cli({"run", "-", "--out", "r", "--only", "wieghts"}, folder.path(), fine).errors ==
        "attn-cli: the result has no tensor \"wieghts\"\n  where: --only\n"
        "  help:  did you mean \"weights\"?\n");
}

TEST_CASE("--only cannot name weights of a result without them, whatever is drawn") {
  const TemporaryFolder folder;
  for (const char* plots : {"none", "heatmap"}) {
    CHECK(
        attn_cli({"run", "-", "--out", "r", "--no-weights", "--only", "weights", "--plots", plots},
                 folder.path(), fine)
            .errors ==
        "attn-cli: --only asks for weights, and --no-weights leaves them out\n  where: --only\n"
        "  help:  leave one of them out\n");
  }
}

TEST_CASE("a report as JSON has the output") {
  const TemporaryFolder folder;
  const Outcome run =
      attn_cli({"run", "-", "--out", "r", "--plots", "none", "--json"}, folder.path(), fine);
  CHECK(run.output.find("  \"output\": [\n    [0.66976154, 0.33023846],\n") != std::string::npos);
}

TEST_CASE("batch - --out - answers each document with one line, errors too, in order") {
  const TemporaryFolder folder;
  std::string input;
  for (int i = 0; i < 40; ++i) {
    input += R"({"attention":"sdpa","title":")" + std::to_string(i) + R"(","query":{"ones":[)" +
             std::to_string(i % 7 == 0 ? 200 : 2) + ",2]}}\n";
    if (i == 20) input += "\n" + faulty + "\r\n";
  }
  const Outcome run = attn_cli({"batch", "-", "--out", "-", "--only", "output", "--jobs", "4"},
                               folder.path(), input);
  CHECK(run.exit_code == 1);
  const std::vector<std::string> lines = split_lines(run.output);
  REQUIRE(lines.size() == 41);
  std::size_t next = 0;
  for (const std::string& line : lines) {
    if (line.find("\"error\"") != line.npos) {
      CHECK(line ==
            R"({"item": "stdin.000023", "input": "standard input:23", )"
            R"("error": {"problem": "unknown kind of attention \"sdpaa\"", )"
            R"("where": "standard input:23, /attention", "help": "did you mean \"sdpa\"?", )"
            R"("exit_code": 3}})");
      CHECK(next == 21);
    } else {
      const std::string number = std::to_string(next + (next < 21 ? 1 : 3));
      CHECK(line.starts_with("{\"item\": \"stdin." + std::string(6 - number.size(), '0') + number +
                             "\", \"input\": \"standard input:" + number + "\", \"format\": 1, "));
      CHECK(line.find("\"title\": \"" + std::to_string(next++) + "\"") != std::string::npos);
    }
  }
  CHECK(next == 40);
  CHECK(std::filesystem::is_empty(folder.path()));
}

TEST_CASE("a line is answered before the next one comes") {
  const TemporaryFolder folder;
  const Outcome run = shell(
      "mkfifo to from; \"$ATTN\" batch - --out - --only output < to > from & exec 3> to 4< from; "
      "for i in 1 2 3; do echo '" +
          fine +
          "' >&3; read -r answer <&4; echo \"$i ${#answer}\"; "
          "done; exec 3>&-; wait $!; echo $?",
      folder.path());
  CHECK(run.output.starts_with("1 "));
  CHECK(split_lines(run.output).size() == 4);
  CHECK(run.output.ends_with("\n0\n"));
}

TEST_CASE("documents of files are answered on standard output too") {
  const TemporaryFolder folder;
  folder.write("a.json", fine);
  folder.write("b.jsonl", fine + "\n" + fine + "\n");
  const Outcome run = attn_cli({"batch", "a.json", "b.jsonl", "--out", "-"}, folder.path());
  CHECK(run.exit_code == 0);
  CHECK(split_lines(run.output).size() == 3);
  const Outcome shard =
      attn_cli({"batch", "a.json", "b.jsonl", "--out", "-", "--shard", "1/2"}, folder.path());
  CHECK(split_lines(shard.output).size() == 1);
}

TEST_CASE("batch --out - stops at the first failure if asked, and has nothing to go on with") {
  const std::string input = fine + "\n" + faulty + "\n" + fine + "\n";
  const Outcome fast =
      attn_cli({"batch", "-", "--out", "-", "--fail-fast", "--jobs", "1"}, ".", input);
  CHECK(fast.exit_code == 1);
  CHECK(split_lines(fast.output).size() == 2);
  CHECK(fast.errors ==
        "attn-cli: unknown kind of attention \"sdpaa\"\n  where: standard input:2, /attention\n"
        "  help:  did you mean \"sdpa\"?\n");
  CHECK(attn_cli({"batch", "-", "--out", "-", "--resume"}, ".", input).errors ==
        "attn-cli: answers on standard output leave nothing to continue from\n  where: --resume\n"
        "  help:  leave it out, or name a folder with --out\n");
}

TEST_CASE("many failures of answers are told by their lines alone") {
  std::string input;
  for (int i = 0; i < 25; ++i) input += faulty + "\n";
  const Outcome run = attn_cli({"batch", "-", "--out", "-"}, ".", input);
  CHECK(split_lines(run.output).size() == 25);
  CHECK(
      run.errors.ends_with("  where: standard input:20, /attention\n"
                           "  help:  did you mean \"sdpa\"?\n"
                           "attn-cli: further failures are on standard output alone\n"));
}

TEST_CASE("with --json an error is JSON on standard output too") {
  const Outcome run = attn_cli({"run", "-", "--json"}, ".", faulty);
  CHECK(run.exit_code == 3);
  CHECK(
      run.output ==
      R"({"error": {"problem": "unknown kind of attention \"sdpaa\"", )"
      R"("where": "standard input, /attention", "help": "did you mean \"sdpa\"?", "exit_code": 3}})"
      "\n");
  CHECK(run.errors.starts_with("attn-cli: unknown kind of attention"));
  CHECK(attn_cli({"run", "--json", "--nonsense"}).output.starts_with("{\"error\": {\"problem\":"));
}

TEST_CASE("validate takes one document on standard input, or one a line") {
  const TemporaryFolder folder;
  const std::string right = R"({"attention":"sdpa","query":[[1,2]]})";
  CHECK(attn_cli({"validate", "-"}, folder.path(), "{\"attention\":\"sdpa\",\n\"query\":[[1,2]]}\n")
            .output == "standard input: valid\n  about 39 bytes of tensors will be written\n");
  const Outcome lines =
      attn_cli({"validate", "-"}, folder.path(), right + "\n\n{\"attention\":\"sdpaa\"}\n");
  CHECK(lines.exit_code == 3);
  CHECK(lines.output.ends_with("\n2 documents, 1 with problems\n"));
  CHECK(lines.output.starts_with(
      "standard input:3: 1 problem\n\n"
      "  unknown kind of attention \"sdpaa\"\n    where: standard input:3, /attention\n"));
}

TEST_CASE("titles and keys with commas stand in quotes") {
  const TemporaryFolder folder;
  folder.write("w.json", R"({"weights":[[[[0.5,0.5]],[[1,0]]]],"labels":{"key":["a,b","c"]}})");
  CHECK(attn_cli({"plot", "grid", "w.json", "--titles", R"("left, first",right)", "--out", "g.svg"},
                 folder.path())
            .exit_code == 0);
  CHECK(read_text(folder / "g.svg").find("left, first") != std::string::npos);
  CHECK(attn_cli({"show", "w.json", "--drop", R"("a,b")"}, folder.path())
            .output.starts_with("Attention Weight Heatmap (Head 0, without a,b)"));
  CHECK(refused_with(2, {"plot", "grid", "w.json", "--titles", "\"left", "--out", "g.svg"},
                     folder.path()) ==
        "attn-cli: invalid value \"\"left\" for --titles\n"
        "  where: --titles\n"
        "  help:  give texts whose quotes are closed\n");
}
