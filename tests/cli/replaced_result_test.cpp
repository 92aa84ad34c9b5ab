#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

// A result that replaces an older one in its folder: whoever ends the program, no reader mixes
// them.

namespace {

namespace fs = std::filesystem;
using Contents = std::map<std::string, std::string>;

const std::string unfinished_result = "{\"format\": 1, \"unfinished\": true}\n";

Contents contents_of(const fs::path& folder) {
  Contents files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files[entry.path().filename()] = read_text(entry.path());
  }
  return files;
}

std::string drawn_document(int seed, int length = 4) {
  return R"({"attention":"sdpa","seed":)" + std::to_string(seed) + R"(,"query":{"randn":[)" +
         std::to_string(length) + R"(,2]}})";
}

Outcome replace(const TemporaryFolder& folder, const std::string& name) {
  return attn_cli({"run", name, "--plots", "none", "--tensors", "npy", "--stages", "--no-sync",
                   "--quiet", "--out", "r"},
                  folder.path());
}

// Starts the run and kills it after a while. Returns whether it was killed before its end.
bool is_killed(const TemporaryFolder& folder, const std::string& name,
               std::chrono::microseconds after) {
  const pid_t process = fork();
  if (process == 0) {
    if (chdir(folder.path().c_str()) != 0) _exit(127);
    execl(tested_program(), "attn-cli", "run", name.c_str(), "--plots", "none", "--tensors", "npy",
          "--stages", "--no-sync", "--quiet", "--out", "r", nullptr);
    _exit(127);
  }
  std::this_thread::sleep_for(after);
  kill(process, SIGKILL);
  int status = 0;
  waitpid(process, &status, 0);
  return WIFSIGNALED(status);
}

}  // namespace

TEST_CASE("a run that is killed over an older result leaves one of the two, or an unfinished one") {
  const TemporaryFolder folder;
  Contents whole[2];
  std::chrono::microseconds duration(0);
  for (int i = 0; i < 2; ++i) {
    folder.write(std::to_string(i) + ".json", drawn_document(i));
    const auto start = std::chrono::steady_clock::now();
    REQUIRE(replace(folder, std::to_string(i) + ".json").exit_code == 0);
    duration = std::chrono::duration_cast<std::chrono::microseconds>(
        std::chrono::steady_clock::now() - start);
    whole[i] = contents_of(folder / "r");
  }
  REQUIRE(whole[0].size() == whole[1].size());
  std::mt19937 random(3);
  int killed = 0;
  for (int time = 0; time < 40; ++time) {
    CAPTURE(time);
    const std::chrono::microseconds after(
        std::uniform_int_distribution<long>(duration.count() / 4, duration.count())(random));
    killed += is_killed(folder, std::to_string(time % 2) + ".json", after) ? 1 : 0;
    const Contents left = contents_of(folder / "r");
    const std::string& result = left.at("result.json");
    if (result == unfinished_result) continue;
    const Contents& expected = result == whole[0].at("result.json") ? whole[0] : whole[1];
    for (const auto& [name, bytes] : expected) {
      if (left.at(name) != bytes) FAIL(name << " belongs to another result");
    }
  }
  CHECK(killed > 0);
}

TEST_CASE("runs into one folder at once leave the whole result of one of them") {
  const TemporaryFolder folder;
  std::string start;
  std::vector<Contents> whole;
  for (int i = 0; i < 3; ++i) {
    const std::string name = std::to_string(i) + ".json";
    folder.write(name, drawn_document(i));
    REQUIRE(replace(folder, name).exit_code == 0);
    whole.push_back(contents_of(folder / "r"));
    start += "\"$ATTN\" run " + name +
             " --plots none --tensors npy --stages --no-sync --quiet --out r || echo failed & ";
  }
  for (int round = 0; round < 100; ++round) {
    CAPTURE(round);
    const Outcome outcome = shell(start + "wait", folder.path());
    REQUIRE(outcome.output == "");
    REQUIRE(outcome.errors == "");
    const Contents left = contents_of(folder / "r");
    REQUIRE(std::find(whole.begin(), whole.end(), left) != whole.end());
  }
}

TEST_CASE("a run that cannot write leaves the older result as it was") {
  const TemporaryFolder folder;
  folder.write("small.json", drawn_document(1));
  folder.write("large.json", drawn_document(2, 300));
  REQUIRE(replace(folder, "small.json").exit_code == 0);
  const Contents before = contents_of(folder / "r");
  // Contents of at most 40 blocks of 512 bytes: the weights take more, the output does not.
  const Outcome failed = shell(
      "trap '' XFSZ; ulimit -f 40; exec \"$ATTN\" run large.json --plots none --tensors npy "
      "--threads 1 --out r",
      folder.path());
  CHECK(failed.exit_code == 4);
  CHECK(failed.errors ==
        "attn-cli: cannot write \"r/weights.npy\": File too large\n  where: --out\n"
        "  help:  raise the limit of file sizes (ulimit -f), or write less\n");
  CHECK((contents_of(folder / "r") == before));
}

TEST_CASE("every command that reads a result refuses one that is unfinished or mixed") {
  const TemporaryFolder folder;
  folder.write("a.json", drawn_document(1));
  REQUIRE(replace(folder, "a.json").exit_code == 0);
  const std::string result = read_text(folder / "r/result.json");
  const std::vector<std::vector<std::string>> commands{
      {"compare", "r/result.json", "r/result.json"},
      {"plot", "heatmap", "r/result.json", "--out", "map.png"},
      {"plot", "grid", "r/result.json", "--out", "map.png"},
      {"plot", "comparison", "r/result.json", "r/result.json", "--out", "map.png"},
      {"show", "r/result.json"},
      {"explain", "r"},
      {"heads", "r/result.json"},
      {"view", "r", "--out", "view.html"},
      {"run", "again.json", "--out", "again", "--plots", "none"},
  };
  folder.write("again.json",
               R"({"attention":"sdpa","query":{"file":"r/result.json","name":"weights"}})");
  const auto check_all = [&](const std::string& problem, const std::string& help) {
    for (const std::vector<std::string>& command : commands) {
      CAPTURE(command[0]);
      const Outcome outcome = attn_cli(command, folder.path());
      CHECK(outcome.exit_code == 3);
      CHECK(outcome.output.empty());
      CHECK(outcome.errors.starts_with("attn-cli: " + problem + "\n  where: "));
      CHECK(outcome.errors.ends_with("\n  help:  " + help + "\n"));
    }
  };
  write_text(folder / "r/result.json", unfinished_result);
  check_all("this result is unfinished: its files were being replaced", "run its document again");
  write_text(folder / "r/result.json", result);
  std::string weights = read_text(folder / "r/weights.npy");
  weights.back() = static_cast<char>(weights.back() ^ 1);
  write_text(folder / "r/weights.npy", weights);
  check_all(
      "the file \"weights.npy\" does not belong to this result: it was written with another one, "
      "or changed since",
      "run the document of the result again, or take \"files\" out of the result if the file was "
      "changed on purpose");
}

TEST_CASE(
    "a run removes what an earlier result in its folder had, if it is unchanged, and says so") {
  const TemporaryFolder folder;
  folder.write("d.json", drawn_document(1));
  const auto run = [&](const std::vector<std::string>& more) {
    std::vector<std::string> words{"run", "d.json", "--no-sync", "--out", "r"};
    words.insert(words.end(), more.begin(), more.end());
    const Outcome outcome = attn_cli(words, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.output;
  };
  CHECK(run({"--tensors", "npy", "--plots", "heatmap,dimensions"}).find("Removed") ==
        std::string::npos);
  folder.write("r/weights.npy", "changed since");
  folder.write("r/heatmap.old.png", "of somebody else");
  std::filesystem::copy(folder / "r/dimensions.png", folder / "elsewhere.png");
  std::filesystem::remove(folder / "r/dimensions.png");
  std::filesystem::create_symlink("../elsewhere.png", folder / "r/dimensions.png");
  CHECK(run({"--plots", "none"})
            .ends_with("\nRemoved, from an earlier result\n"
                       "  r/heatmap.png\n  r/output.npy\n"));
  const Contents left = contents_of(folder / "r");
  CHECK(left.size() == 4);
  for (const char* name : {"result.json", "weights.npy", "heatmap.old.png", "dimensions.png"}) {
    CAPTURE(name);
    CHECK(left.contains(name));
  }
  // The document may read a file of the earlier result.
  run({"--tensors", "npy", "--plots", "none"});
  folder.write("d.json", R"({"attention":"sdpa","query":{"file":"r/output.npy"}})");
  CHECK(run({"--plots", "none"})
            .ends_with("\nRemoved, from an earlier result\n"
                       "  r/weights.npy\n"));
  CHECK(std::filesystem::exists(folder / "r/output.npy"));
}

TEST_CASE("the picture that compared kinds is removed when a later run does not draw it") {
  const TemporaryFolder folder;
  folder.write("two.json", R"({"attention":["sdpa","dot_product"],"query":[[1,0],[0,1]]})");
  folder.write("one.json", drawn_document(1));
  const auto run = [&](const std::vector<std::string>& words) {
    std::vector<std::string> all{"run", "--out", "r", "--dpi", "50"};
    all.insert(all.end(), words.begin(), words.end());
    const Outcome outcome = attn_cli(all, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.output;
  };
  const auto compared = [&](const std::string& name) { return fs::exists(folder / "r" / name); };
  const std::string removed = "\nRemoved, from an earlier result\n";
  run({"two.json"});
  CHECK(compared("comparison.png"));
  // Another format is another file.
  CHECK(run({"two.json", "--format", "svg"}).find("  r/comparison.png\n") != std::string::npos);
  CHECK(!compared("comparison.png"));
  CHECK(compared("comparison.svg"));
  CHECK(run({"one.json"}).ends_with(removed + "  r/comparison.svg\n"));
  CHECK(!compared("comparison.svg"));
  // A picture that somebody has changed is left alone.
  run({"two.json"});
  folder.write("r/comparison.png", "changed");
  CHECK(run({"one.json"}).find("Removed") == std::string::npos);
  CHECK(read_text(folder / "r/comparison.png") == "changed");
}

TEST_CASE("a run over the result of another document says so, and one over its own does not") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "other");
  folder.write("a.json", drawn_document(1));
  folder.write("other/a.json", drawn_document(2));
  const auto warnings = [&](const std::string& document, const std::string& out) {
    const Outcome outcome =
        attn_cli({"run", document, "--plots", "none", "--out", out}, folder.path());
    CHECK(outcome.exit_code == 0);
    return outcome.errors;
  };
  CHECK(warnings("a.json", "r") == "");
  CHECK(warnings("./a.json", "r") == "");
  CHECK(warnings(folder / "a.json", "other/../r") == "");
  folder.write("a.json", drawn_document(3, 5));
  CHECK(warnings("a.json", "r") == "");
  CHECK(warnings("other/a.json", "r") ==
        "attn-cli: warning: the result of another document in \"r\" is replaced: that of "
        "\"a.json\"\n");
  CHECK(warnings("a.json", "r") ==
        "attn-cli: warning: the result of another document in \"r\" is replaced: that of "
        "\"other/a.json\"\n");
  CHECK(shell("\"$ATTN\" run - --plots none --out r < other/a.json", folder.path()).errors ==
        "attn-cli: warning: the result of another document in \"r\" is replaced: that of "
        "\"a.json\"\n");
  // What standard input held is not known.
  CHECK(warnings("a.json", "r") == "");
  CHECK(attn_cli({"run", "other/a.json", "--plots", "none", "--out", "r", "--quiet"}, folder.path())
            .errors == "");
  // It is named from the folder of the result; a batch has a folder for each document.
  CHECK(read_text(folder / "r/result.json").find("\"document\": \"../other/a.json\"") !=
        std::string::npos);
  CHECK(
      attn_cli({"batch", "a.json", "other/a.json", "--plots", "none", "--out", "b"}, folder.path())
          .errors == "");
}
