#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "attn/cpu.hpp"

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

const std::string good = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";
const std::string bad = R"({"attention":"sdpaa","query":[[1,0],[0,1]]})";

std::size_t lines_in(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

// The line of the seconds, which differ each time, left out.
std::string without_seconds(const std::string& text) {
  const std::size_t begin = text.find("seconds"), end = text.find('\n', begin);
  return begin == std::string::npos ? text : text.substr(0, begin) + text.substr(end + 1);
}

}  // namespace

TEST_CASE("batch prints what became of all items and exits with 1 if some failed") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "docs");
  folder.write("docs/a.json", good);
  folder.write("docs/b.json", bad);
  const Outcome run = attn_cli({"batch", "docs", "--out", "r", "--plots", "none"}, folder.path());
  CHECK(run.exit_code == 1);
  CHECK(without_seconds(run.output) ==
        "items    2\n"
        "done     1\n"
        "failed   1\n"
        "summary  r/summary.jsonl\n"
        "\n"
        "Failed\n"
        "  b  unknown kind of attention \"sdpaa\"\n"
        "     docs/b.json, /attention\n");
  CHECK(run.errors ==
        "attn-cli: b: unknown kind of attention \"sdpaa\"\n  where: docs/b.json, /attention\n"
        "  help:  did you mean \"sdpa\"?\n");
  CHECK(read_text(folder / "r/a/result.json").starts_with("{\n  \"format\": 1,\n"));
  CHECK(lines_in(read_text(folder / "r/summary.jsonl")) == 2);

  folder.write("docs/b.json", good);
  const Outcome resumed =
      attn_cli({"batch", "docs", "--out", "r", "--plots", "none", "--resume"}, folder.path());
  CHECK(resumed.exit_code == 0);
  CHECK(without_seconds(resumed.output) ==
        "items    2\n"
        "done     1\n"
        "skipped  1, finished before\n"
        "failed   0\n"
        "summary  r/summary.jsonl\n");
}

TEST_CASE("batch prints nothing of names and documents that a terminal obeys") {
  const TemporaryFolder folder;
  folder.write("\x1b[2J.json", R"({"attention":"sdpa","query":[[1]],"\u001b]0;x\u0007":1})");
  const Outcome run = attn_cli({"batch", ".", "--out", "r", "--plots", "none"}, folder.path());
  CHECK(run.exit_code == 1);
  CHECK(run.output.find("\n  \\x1b[2J  unknown key \"\\x1b]0;x\\x07\"\n") != std::string::npos);
  CHECK(run.errors.starts_with("attn-cli: \\x1b[2J: unknown key \"\\x1b]0;x\\x07\"\n"));
  CHECK((run.output + run.errors).find('\x1b') == std::string::npos);
}

TEST_CASE("batch draws the pictures that run draws, and takes its flags") {
  const TemporaryFolder folder;
  folder.write("a.json", good);
  CHECK(attn_cli({"run", "a.json", "--out", "r", "--dpi", "60", "--causal"}, folder.path())
            .exit_code == 0);
  CHECK(attn_cli({"batch", "a.json", "--out", "b", "--dpi", "60", "--causal"}, folder.path())
            .exit_code == 0);
  for (const char* file : {"heatmap.png", "dimensions.png"}) {
    CHECK(read_text(folder / "r" / file) == read_text(folder / "b/a" / file));
  }
  std::string result = read_text(folder / "r/result.json");
  const std::string document = "  \"document\": \"../a.json\",\n";
  REQUIRE(result.find(document) != std::string::npos);
  result.erase(result.find(document), document.size());
  CHECK(result == read_text(folder / "b/a/result.json"));
}

TEST_CASE("batch reads documents, and their list, from standard input") {
  const TemporaryFolder folder;
  const Outcome lines = attn_cli({"batch", "-", "--out", "r", "--plots", "none", "--json"},
                                 folder.path(), good + "\n" + good + "\n");
  CHECK(lines.exit_code == 0);
  CHECK(lines.output.starts_with("{\n  \"items\": 2,\n  \"done\": 2,\n  \"skipped\": 0,\n"));
  CHECK(std::filesystem::exists(folder / "r/stdin.000002/result.json"));
  folder.write("a.json", good);
  const Outcome list =
      attn_cli({"batch", "--files-from", "-", "--out", "s", "--plots", "none", "--quiet"},
               folder.path(), "a.json\n");
  CHECK(list.exit_code == 0);
  CHECK(list.output.empty());
  CHECK(list.errors.empty());
  CHECK(std::filesystem::exists(folder / "s/a/result.json"));
}

TEST_CASE("--fail-fast stops at the first failure") {
  const TemporaryFolder folder;
  folder.write("l.jsonl", bad + "\n" + good + "\n" + good + "\n");
  const Outcome run =
      attn_cli({"batch", "l.jsonl", "--out", "r", "--plots", "none", "--fail-fast", "--jobs", "1"},
               folder.path());
  CHECK(run.exit_code == 1);
  CHECK(run.output.find("left     2, to be done with --resume\n") != std::string::npos);
}

TEST_CASE("an interrupted batch finishes what is under way, exits with 130 and can be resumed") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 3000; ++i) lines += good + "\n";
  folder.write("l.jsonl", lines);
  for (const std::string signal : {"INT", "TERM"}) {
    CAPTURE(signal);
    std::filesystem::remove_all(folder / "r");
    // Shells start what runs in the background with SIGINT ignored; env takes that back.
    const Outcome run = shell(
        "env --default-signal=INT \"$ATTN\" batch l.jsonl --out r --dpi 20 & "
        "while ! [ -s r/summary.jsonl ]; do sleep 0.01; done; kill -" +
            signal + " $!; wait $!",
        folder.path());
    CHECK(run.exit_code == 130);
    CHECK(run.output.find("to be done with --resume\n") != std::string::npos);
    CHECK(run.errors.find(
              "\nattn-cli: finishing the current work; interrupt again to stop at once\n") !=
          std::string::npos);
    const std::string summary = read_text(folder / "r/summary.jsonl");
    CHECK(summary.ends_with("}\n"));
    const Outcome whole =
        shell("for d in r/l.*; do [ -f $d/result.json ] || exit 1; done", folder.path());
    CHECK(whole.exit_code == 0);
  }
  const Outcome rest =
      attn_cli({"batch", "l.jsonl", "--out", "r", "--plots", "none", "--resume"}, folder.path());
  CHECK(rest.exit_code == 0);
}

TEST_CASE("the first signal ends a batch that waits for a line, and a later line is not computed") {
  const TemporaryFolder folder;
  folder.write("line.jsonl", good + "\n");
  for (const auto& [out, written] : {std::pair("r", "r/summary.jsonl"), {"-", "answers"}}) {
    for (const std::string signal : {"INT", "TERM"}) {
      const std::string kept = written;  // clang 14 captures no structured binding
      CAPTURE(kept);
      CAPTURE(signal);
      const Outcome run = shell(
          "rm -rf in r answers; mkfifo in; env --default-signal=INT \"$ATTN\" batch - -q --jobs 1 "
          "--plots none --out " +
              std::string(out) +
              " <in >answers & p=$!; exec 3>in; cat line.jsonl >&3; while ! [ -s " + kept +
              " ]; do sleep 0.01; done; sleep 0.3; kill -" + signal +
              " $p; sleep 0.3; cat line.jsonl >&3 2>/dev/null; wait $p; code=$?; wc -l <" + kept +
              "; exit $code",
          folder.path());
      CHECK(run.exit_code == 130);
      CHECK(run.output == "1\n");
      CHECK(run.errors ==
            "\nattn-cli: finishing the current work; interrupt again to stop at once\n");
    }
  }
}

TEST_CASE("a second interrupt ends a batch at once") {
  const TemporaryFolder folder;
  // One document that takes far longer than the test.
  folder.write(
      "slow.json",
      R"({"attention":"additive","dtype":"float64","seed":1,"query":{"randn":[64,2000,32]},)"
      R"("parameters":{"init":"torch","hidden":64}})");
  const Outcome run = shell(
      "env --default-signal=INT \"$ATTN\" batch slow.json --out r --no-weights & p=$!; "
      "while ! [ -f r/summary.jsonl ]; do sleep 0.01; done; sleep 0.3; "
      "kill -INT $p; sleep 0.3; kill -0 $p || exit 1; kill -INT $p; wait $p",
      folder.path());
  CHECK(run.exit_code == 130);
  CHECK(read_text(folder / "r/summary.jsonl").empty());
}

TEST_CASE("wrong uses of batch are told") {
  const TemporaryFolder folder;
  const auto errors = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "batch");
    return refused_with(2, arguments, folder.path());
  };
  CHECK(errors({"a.json", "--shard", "1"}) ==
        "attn-cli: invalid value \"1\" for --shard\n  where: --shard\n"
        "  help:  give the part, from 0, and the number of parts, such as 0/4\n");
  CHECK(errors({"a.json", "--shard", "3/3"}) ==
        "attn-cli: there is no part 3 of 3: parts count from 0\n  where: --shard\n"
        "  help:  give 0/3 for the first of them\n");
  CHECK(errors({"a.json", "--jobs", "0"}) ==
        "attn-cli: invalid value \"0\" for --jobs\n  where: --jobs\n"
        "  help:  give a whole number of at least 1, or leave it out for all cores\n");
  CHECK(errors({"a.json", "--merge", "r"}) ==
        "attn-cli: --merge takes no documents\n  where: --merge\n"
        "  help:  give either documents or --merge DIR\n");
  CHECK(errors({"a.json", "--resum"}) ==
        "attn-cli: unknown flag \"--resum\"\n  where: attn-cli batch\n"
        "  help:  did you mean \"--resume\"?\n");
}

TEST_CASE("limits and the folder of restriction are set by flags") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "in");
  folder.write("a.json", R"({"attention":"sdpa","query":{"file":"q.npy"}})");
  for (const std::string command : {"run", "validate", "explain"}) {
    const Outcome run = attn_cli({command, "a.json", "--restrict", "in"}, folder.path());
    CHECK(run.exit_code == 3);
    CHECK((run.errors + run.output).find("\"q.npy\" is not in the folder \"in\"") !=
          std::string::npos);
  }
  CHECK(refused_with(3, {"run", "-", "--max-file-size", "1k"}, folder.path(),
                     std::string(2000, ' ')) ==
        "attn-cli: standard input is 2 kB large, and the limit is 1 kB\n"
        "  help:  make it smaller, or raise the limit with --max-file-size\n");
  CHECK(attn_cli({"run", "-", "--max-nesting", "10001"}, folder.path()).exit_code == 2);
  CHECK(attn_cli({"run", "-", "--max-elements", "1Q"}, folder.path()).exit_code == 2);
  CHECK(attn_cli({"run", "-", "--max-elements", "1MB"}, folder.path()).exit_code == 2);
  folder.write("small.json", good);
  for (const char* const bytes : {"1kB", "1000B", "1MB"}) {
    CAPTURE(bytes);
    CHECK(
        attn_cli({"validate", "small.json", "--max-file-size", bytes, "--max-unpacked-size", bytes},
                 folder.path())
            .exit_code == 0);
  }
}

TEST_CASE("an item that asks for too much work or time fails, and the batch goes on") {
  const TemporaryFolder folder;
  folder.write("in.jsonl", R"({"attention":"sdpa","query":{"ones":[3000000,1]},"weights":false})"
                           "\n"
                           R"({"attention":"sdpa","query":[[1,0],[0,1]]})"
                           "\n");
  const Outcome strangers = attn_cli(
      {"batch", "in.jsonl", "--restrict", ".", "--plots", "none", "--out", "r"}, folder.path());
  CHECK(strangers.exit_code == 1);
  CHECK(strangers.errors ==
        "attn-cli: in.000001: the document asks for 18T multiply-adds, and the limit is "
        "1T\n  where: in.jsonl:1\n"
        "  help:  make it smaller, or raise the limit with --max-work\n");
  CHECK(std::filesystem::exists(folder / "r/in.000002/result.json"));
  // Many heads: the time is looked at between them.
  folder.write("in.jsonl", R"({"attention":"sdpa","query":{"ones":[100000,200,1]},"weights":false})"
                           "\n"
                           R"({"attention":"sdpa","query":[[1,0],[0,1]]})"
                           "\n");
  const Outcome slow =
      attn_cli({"batch", "in.jsonl", "--max-seconds", "0.05", "--plots", "none", "--out", "s"},
               folder.path());
  CHECK(slow.exit_code == 1);
  CHECK(slow.errors ==
        "attn-cli: in.000001: the document takes longer than 0.05 seconds\n"
        "  where: in.jsonl:1\n"
        "  help:  make it smaller, or raise the limit with --max-seconds\n");
  CHECK(std::filesystem::exists(folder / "s/in.000002/result.json"));
  for (const char* const seconds : {"0", "-1", "a"}) {
    CHECK(attn_cli({"run", "-", "--max-seconds", seconds}, folder.path()).exit_code == 2);
  }
}

TEST_CASE("on a terminal a bar tells how far a batch is, and goes away at its end") {
  if (is_missing("script")) return;  // which makes terminals
  const TemporaryFolder folder;
  folder.write("l.jsonl", good + "\n" + good + "\n");
  const Outcome run =
      shell("script -qec \"$ATTN batch l.jsonl --out r --plots none --jobs 1\" typed </dev/null",
            folder.path());
  CHECK(run.exit_code == 0);
  CHECK(run.output.find("[####################                    ] 1/2  ") != std::string::npos);
  CHECK(run.output.find("/s  1 s left") != std::string::npos);
  CHECK(run.output.find(" left") != std::string::npos);
  CHECK(run.output.find("] 2/2  ") != std::string::npos);
  CHECK(run.output.find("\r\x1b[Kitems    2\r\n") != std::string::npos);
}

TEST_CASE("batches of the same documents into one folder at once leave whole results") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "docs");
  for (const char* name : {"a", "b", "c"})
    folder.write(std::string("docs/") + name + ".json", good);
  const std::vector<std::string> parts{"0/1", "0/2", "1/2"};
  std::string start;
  std::vector<std::string> whole;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string command =
        "\"$ATTN\" batch docs --plots none --tensors npy --stages --quiet "
        "--jobs 1 --no-sync --scale 0." +
        std::to_string(i + 1);
    REQUIRE(shell(command + " --out " + std::to_string(i), folder.path()).exit_code == 0);
    whole.push_back(read_text(folder / std::to_string(i) / "a/weights.npy"));
    start += command + " --out r --shard " + parts[i] + " >/dev/null || echo failed & ";
  }
  for (int round = 0; round < 30; ++round) {
    CAPTURE(round);
    const Outcome outcome = shell(start + "wait", folder.path());
    CHECK(outcome.output == "");
    for (const char* name : {"a", "b", "c"}) {
      const std::filesystem::path item = folder / "r" / name;
      CHECK(attn_cli({"show", item / "result.json"}).exit_code == 0);
      CHECK(std::find(whole.begin(), whole.end(), read_text(item / "weights.npy")) != whole.end());
    }
  }
}

TEST_CASE("summaries are not joined over the one that a batch appends to") {
  const TemporaryFolder folder;
  folder.write("line", good + "\n");
  const Outcome outcome = shell(
      "mkfifo in && exec 3<>in\n"
      "\"$ATTN\" batch - --plots none --quiet --out r <in 3>&- &\n"
      "cat line >&3; while ! [ -s r/summary.jsonl ]; do sleep 0.01; done\n"
      "\"$ATTN\" batch --merge r; echo $?\n"
      "cat line >&3; exec 3>&-; wait $!; echo $?; \"$ATTN\" batch --merge r --quiet; echo $?",
      folder.path());
  CHECK(outcome.output == "4\n0\n0\n");
  CHECK(outcome.errors ==
        "attn-cli: another batch is writing \"r/summary.jsonl\"\n  where: --merge\n"
        "  help:  wait for it to end, or write into another folder\n");
  const std::string summary = read_text(folder / "r/summary.jsonl");
  CHECK(std::count(summary.begin(), summary.end(), '\n') == 2);
}

TEST_CASE("shards of other options or other files are not joined, and the error names them") {
  const TemporaryFolder folder;
  folder.write("docs.jsonl", good + "\n" + good + "\n");
  folder.write("q.json", R"({"q":[[1,0],[0,1]]})");
  folder.write("named.jsonl", R"({"attention":"sdpa","query":{"file":"q.json"}})"
                              "\n"
                              R"({"attention":"sdpa","query":{"file":"q.json"}})"
                              "\n");
  const auto batch = [&](const char* documents, const char* shard,
                         const std::vector<std::string>& flags) {
    std::vector<std::string> words{"batch", documents, "--out",   "r",   "--plots",
                                   "none",  "--quiet", "--shard", shard, "--resume"};
    words.insert(words.end(), flags.begin(), flags.end());
    REQUIRE(attn_cli(words, folder.path()).exit_code == 0);
  };
  const std::string help =
      "  help:  go on with --resume, which computes again what differs, or remove the summaries of "
      "other batches\n";
  const std::vector<std::pair<std::vector<std::string>, std::string>> changes{
      {{"--dtype", "float64"}, "--dtype"},
      {{"--stages", "--scale", "2"}, "--scale, --stages"},
      {{"--tensors", "npy"}, "--tensors"},
      {{"--cpu", std::string(attn::cpu_targets().back())}, "--cpu"}};
  for (const auto& [flags, named] : changes) {
    const auto& shown = named;  // clang 14 captures no structured binding
    CAPTURE(shown);
    batch("docs.jsonl", "0/2", {});
    batch("docs.jsonl", "1/2", flags);
    CHECK(refused_with(3, {"batch", "--merge", "r"}, folder.path()) ==
          "attn-cli: \"docs.000002\" was made with different options than \"docs.000001\": " +
              named + "\n  where: docs.jsonl:2\n" + help);
    CHECK_FALSE(std::filesystem::exists(folder / "r/summary.jsonl"));
  }
  batch("docs.jsonl", "1/2", {});
  CHECK(attn_cli({"batch", "--merge", "r"}, folder.path()).exit_code == 0);
  std::filesystem::remove_all(folder / "r");
  batch("named.jsonl", "0/2", {});
  folder.write("q.json", R"({"q":[[1,0],[0,2]]})");
  batch("named.jsonl", "1/2", {});
  CHECK(refused_with(3, {"batch", "--merge", "r"}, folder.path()) ==
        "attn-cli: \"named.000002\" was made from another version of \"q.json\" than what was "
        "made before it\n  where: named.jsonl:2\n" +
            help);
  batch("named.jsonl", "0/2", {});
  CHECK(attn_cli({"batch", "--merge", "r"}, folder.path()).exit_code == 0);
}

TEST_CASE("batch tells the warnings of its documents at its end, like ones once, unless quiet") {
  const TemporaryFolder folder;
  folder.write("w.jsonl",
               R"({"attention":"sdpa","query":[[[1,0],[0,1]]],"valid_lens":[0]})"
               "\n" +
                   good +
                   "\n"
                   R"({"attention":"sdpa","query":[[[1,0]],[[1,0]],[[1,1]]],"valid_lens":[0,0,0]})"
                   "\n"
                   R"({"attention":"softmax","scores":[[0.5,0.5],[0.25,0.75]]})"
                   "\n");
  const std::string told =
      "attn-cli: warning: 3 documents have warnings; each kind is shown once\n"
      "attn-cli: warning: w.000001 and 1 more: 2 queries have no key left to see: their weights "
      "and output are zero\n"
      "attn-cli: warning: w.000001 and 1 more: valid_lens hides every key from every query: give "
      "the number of leading keys that are seen\n"
      "attn-cli: warning: w.000004: the rows of the scores sum to one: if they are weights "
      "already, draw them with attn-cli plot as {\"weights\": …}\n";
  const std::vector<std::string> words{"batch", "w.jsonl", "--plots", "none", "--out"};
  const auto errors = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = words;
    all.insert(all.end(), more.begin(), more.end());
    return attn_cli(all, folder.path()).errors;
  };
  CHECK(errors({"r"}) == told);
  std::string by_lines = told;
  for (const std::string line : {"1", "1", "4"}) {
    const std::size_t at = by_lines.find("w.00000");
    REQUIRE(at != by_lines.npos);
    by_lines.replace(at, 8, "w.jsonl:" + line);
  }
  CHECK(errors({"-"}) == by_lines);
  CHECK(errors({"s", "--quiet"}) == "");
  CHECK(attn_cli({"batch", "--merge", "s"}, folder.path()).errors == told);
}

TEST_CASE("an older result beside a document that fails is told, in the summary too") {
  const TemporaryFolder folder;
  folder.write("a.json", good);
  const std::vector<std::string> words{"batch", "a.json", "--out", "r", "--plots", "none"};
  REQUIRE(attn_cli(words, folder.path()).exit_code == 0);
  folder.write("a.json", bad);
  const Outcome run = attn_cli(words, folder.path());
  CHECK(run.exit_code == 1);
  CHECK(run.errors ==
        "attn-cli: a: unknown kind of attention \"sdpaa\"\n  where: a.json, /attention\n"
        "  help:  did you mean \"sdpa\"?\n"
        "attn-cli: warning: \"r/summary.jsonl\" of an earlier batch is replaced: --resume goes on "
        "with it\n"
        "attn-cli: warning: 1 document has warnings\n"
        "attn-cli: warning: a: this run failed: the result in \"r/a\" is of an earlier one\n");
  CHECK(
      read_text(folder / "r/summary.jsonl")
          .find(R"("warnings": ["this run failed: the result in \"r/a\" is of an earlier one"])") !=
      std::string::npos);
  std::filesystem::remove(folder / "r/a/result.json");
  CHECK(attn_cli(words, folder.path()).errors.find("this run failed") == std::string::npos);
}

TEST_CASE("--resume tells where there is no earlier batch, and of a near folder that holds one") {
  const TemporaryFolder folder;
  folder.write("a.json", good);
  const auto resumed = [&](const std::string& out) {
    return attn_cli({"batch", "a.json", "--out", out, "--plots", "none", "--resume"},
                    folder.path());
  };
  const auto counts = [](const std::string& out) {
    return "items    1\ndone     1\nskipped  0: \"" + out +
           "\" holds no earlier batch\nfailed   0\nsummary  " + out + "/summary.jsonl\n";
  };
  const Outcome first = resumed("results");
  CHECK(first.errors == "");
  CHECK(without_seconds(first.output) == counts("results"));
  const Outcome mistyped = resumed("resutls");
  CHECK(mistyped.errors ==
        "attn-cli: warning: nothing is skipped, as \"resutls\" holds no earlier batch: did you "
        "mean \"results\"?\n");
  CHECK(without_seconds(mistyped.output) == counts("resutls"));
  CHECK(resumed("results").output.find("skipped  1, finished before\n") != std::string::npos);
}

TEST_CASE("--resume tells of items in the summary that are not among the documents any more") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "docs");
  for (const char* name : {"a", "b", "c"})
    folder.write("docs/" + std::string(name) + ".json", good);
  const std::vector<std::string> words{"batch",   "docs", "--out",   "r",
                                       "--plots", "none", "--resume"};
  CHECK(attn_cli(words, folder.path()).errors == "");
  CHECK(attn_cli(words, folder.path()).errors == "");
  std::filesystem::remove(folder / "docs/b.json");
  CHECK(attn_cli(words, folder.path()).errors ==
        "attn-cli: warning: 1 item of the summary is not among the documents: \"b\"; its line "
        "stays, unless you start without --resume\n");
  std::filesystem::remove(folder / "docs/a.json");
  CHECK(attn_cli(words, folder.path()).errors ==
        "attn-cli: warning: 2 items of the summary are not among the documents, such as \"a\"; "
        "their lines stay, unless you start without --resume\n");
  const std::vector<std::string> lines{"batch", "-", "--out", "s", "--plots", "none", "--resume"};
  CHECK(attn_cli(lines, folder.path(), good + "\n" + good + "\n").errors == "");
  CHECK(attn_cli(lines, folder.path(), good + "\n").errors ==
        "attn-cli: warning: 1 item of the summary is not among the documents: \"stdin.000002\"; "
        "its line stays, unless you start without --resume\n");
}

TEST_CASE("the places of a summary are the same in every language") {
  const TemporaryFolder folder;
  folder.write("a.json", bad);
  folder.write("b.json", "{");
  const auto places = [&](const char* language) {
    const Outcome run = attn_cli({"batch", "a.json", "b.json", "--out", language, "--plots", "none",
                                  "--jobs", "1", "--lang", language},
                                 folder.path());
    CHECK(run.exit_code == 1);
    const std::string summary = read_text(folder / language / "summary.jsonl");
    CHECK(summary.find(R"("where": "a.json, /attention")") != std::string::npos);
    CHECK(summary.find(R"("where": "b.json, line 1, column 2")") != std::string::npos);
    return run.errors;
  };
  CHECK(places("en").find("  where: b.json, line 1, column 2\n") != std::string::npos);
  const std::string chinese = places("zh");
  CHECK(chinese.find("  位置：a.json，/attention\n") != std::string::npos);
  CHECK(chinese.find("  位置：b.json，第 1 行第 2 列\n") != std::string::npos);
}
