#include <chrono>
#include <csignal>
#include <filesystem>
#include <map>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;
using Files = std::map<std::string, std::string>;

// Names and bytes of all files below the folder except the summary, whose seconds differ.
Files files_below(const fs::path& folder) {
  Files files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder);
    if (entry.is_regular_file() && name != "summary.jsonl") files[name] = read_text(entry.path());
  }
  return files;
}

// It does not wait for the disk, which would take most of the time.
pid_t start_batch(const fs::path& lines, const fs::path& out) {
  const pid_t process = fork();
  if (process == 0) {
    execl(tested_program(), "attn-cli", "batch", lines.c_str(), "--out", out.c_str(), "--plots",
          "none", "--tensors", "npz", "--quiet", "--jobs", "2", "--no-sync", nullptr);
    _exit(127);
  }
  return process;
}

// Kills the batch when its summary has grown to that many bytes. Returns its status as waitpid()
// gives it: the batch may have ended before.
int kill_at(std::uintmax_t bytes, pid_t process, const fs::path& summary) {
  std::error_code error;
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    const std::uintmax_t size = fs::file_size(summary, error);
    if (!error && size >= bytes) {
      kill(process, SIGKILL);
      waitpid(process, &status, 0);
      break;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return status;
}

}  // namespace

TEST_CASE(
    "a batch of 200 that is killed at any moment leaves only whole files and can be resumed") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 200; ++i) {
    lines += R"({"attention":"sdpa","seed":)" + std::to_string(i) +
             R"(,"query":{"randn":[3,2]}})"
             "\n";
  }
  const fs::path list = folder.write("l.jsonl", lines);
  const fs::path summary = folder / "r/summary.jsonl";
  int status = 0;
  REQUIRE(waitpid(start_batch(list, folder / "undisturbed"), &status, 0) > 0);
  CHECK(status == 0);
  const Files expected = files_below(folder / "undisturbed");
  CHECK(expected.size() == 200 * 2);
  const std::uintmax_t whole = fs::file_size(folder / "undisturbed/summary.jsonl");

  std::mt19937 random(20);
  for (int time = 0; time < 20; ++time) {
    CAPTURE(time);
    // A size of the summary is a moment within the batch on machines of any speed. A batch that
    // ends before the signal reaches it is started anew.
    const auto moment = std::uniform_int_distribution<std::uintmax_t>(1, whole * 9 / 10)(random);
    int starts = 0;
    do {
      fs::remove_all(folder / "r");
      status = kill_at(moment, start_batch(list, folder / "r"), summary);
    } while (!WIFSIGNALED(status) && ++starts < 100);
    REQUIRE(WIFSIGNALED(status));
    const Files left = files_below(folder / "r");
    CHECK(left.size() < expected.size());
    for (const auto& [name, bytes] : left) {
      const auto known = expected.find(name);
      if (known == expected.end() || known->second != bytes) FAIL(name << " is no whole file");
    }
    const Outcome rest = attn_cli({"batch", list, "--out", folder / "r", "--plots", "none",
                                   "--tensors", "npz", "--quiet", "--no-sync", "--resume"});
    CHECK(rest.exit_code == 0);
    CHECK((files_below(folder / "r") == expected));
  }
}

TEST_CASE("documents that change back between killed batches end with their own results") {
  const TemporaryFolder folder;
  const auto write_documents = [&](int change) {
    std::string lines;
    for (int i = 0; i < 40; ++i) {
      lines += R"({"attention":"sdpa","seed":)" + std::to_string(1000 + i + 500 * change) +
               R"(,"query":{"randn":[3,2]}})"
               "\n";
    }
    folder.write("l.jsonl", lines);
  };
  const std::vector<std::string> resume{"batch",  "l.jsonl",   "--out",   "r",         "--plots",
                                        "none",   "--tensors", "npy",     "--no-sync", "--quiet",
                                        "--jobs", "2",         "--resume"};
  write_documents(0);
  REQUIRE(attn_cli(resume, folder.path()).exit_code == 0);
  const Files expected = files_below(folder / "r");
  std::mt19937 random(5);
  for (int time = 0; time < 6; ++time) {
    CAPTURE(time);
    const std::uintmax_t size = fs::file_size(folder / "r/summary.jsonl");
    write_documents(1);
    const auto more = std::uniform_int_distribution<std::uintmax_t>(0, 12'000)(random);
    const pid_t process = fork();
    if (process == 0) {
      if (chdir(folder.path().c_str()) != 0) _exit(127);
      execl(tested_program(), "attn-cli", "batch", "l.jsonl", "--out", "r", "--plots", "none",
            "--tensors", "npy", "--quiet", "--jobs", "2", "--resume",
            time % 3 == 0 ? nullptr : "--no-sync", nullptr);
      _exit(127);
    }
    kill_at(size + more, process, folder / "r/summary.jsonl");
    write_documents(0);
    CHECK(attn_cli(resume, folder.path()).exit_code == 0);
    CHECK((files_below(folder / "r") == expected));
  }
}
