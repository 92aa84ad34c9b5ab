#include <filesystem>
#include <map>
#include <random>
#include <string>

#include <doctest/doctest.h>

#include "cli/program.hpp"
#include "temporary_folder.hpp"

namespace {

namespace fs = std::filesystem;

// The bytes of every file below the folder, but for the summary, in which the seconds differ.
std::map<std::string, std::string> files_below(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().lexically_relative(folder);
    if (entry.is_regular_file() && name != "summary.jsonl") files[name] = read_text(entry.path());
  }
  return files;
}

}  // namespace

TEST_CASE(
    "a batch of 2000 that is killed at any moment leaves only whole files and can be resumed") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 2000; ++i) {
    lines += R"({"attention":"sdpa","seed":)" + std::to_string(i) +
             R"(,"query":{"randn":[3,2]}})"
             "\n";
  }
  folder.write("l.jsonl", lines);
  const std::string batch =
      "\"$ATTN\" batch l.jsonl --plots none --tensors npy --quiet --jobs 2 --out ";
  CHECK(shell(batch + "undisturbed", folder.path()).exit_code == 0);
  const auto expected = files_below(folder / "undisturbed");
  CHECK(expected.size() == 2000 * 3);

  std::mt19937 random(20);
  for (int time = 0; time < 20; ++time) {
    CAPTURE(time);
    fs::remove_all(folder / "r");
    // The moment is a number of items, so that it lies within the batch on machines of any speed.
    const unsigned lines_before = std::uniform_int_distribution<unsigned>(1, 1900)(random);
    CAPTURE(lines_before);
    const Outcome killed =
        shell(batch + "r & p=$!; while [ $(wc -l <r/summary.jsonl 2>/dev/null || echo 0) -lt " +
                  std::to_string(lines_before) + " ]; do :; done; kill -9 $p; wait $p",
              folder.path());
    CHECK(killed.exit_code == 128 + 9);
    for (const auto& [name, bytes] : files_below(folder / "r")) {
      // Hidden files are whole as well, but they have no name yet.
      if (fs::path(name).filename().native().starts_with(".attn-")) continue;
      const auto known = expected.find(name);
      REQUIRE(known != expected.end());
      CHECK(known->second == bytes);
    }
    CHECK(shell(batch + "r --resume", folder.path()).exit_code == 0);
    CHECK(files_below(folder / "r") == expected);
  }
}
