#include "batch/summary.hpp"

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temporary_folder.hpp"

using namespace attn;

namespace {

SummaryRecord record(const std::string& name, const std::string& finished) {
  SummaryRecord result;
  result.item.name = name;
  result.item.input = "docs/" + name + ".json";
  result.item.seconds = 0.25;
  result.items = 3;
  result.options = {{"DocumentOptions::causal", "1;"}};
  result.inputs = {{"docs/" + name + ".json", "abcd"}, {"q \"1\".npy", "ef"}};
  result.files = {{"self/result.json", 123, "fe"}};
  result.finished = finished;
  return result;
}

std::vector<std::string> lines_of(const Summaries& summaries) {
  std::vector<std::string> lines;
  summaries.for_each([&](const std::string& line) { lines.push_back(line); });
  return lines;
}

}  // namespace

TEST_CASE("a line of a summary is one line of JSON that reads back") {
  SummaryRecord written = record("a", "2024-01-01T00:00:00.000000Z");
  written.item.warnings = {"one", "two\nlines"};
  const std::string line = record_line(written);
  CHECK(
      line ==
      R"({"item": "a", "input": "docs/a.json", "status": 0, "seconds": 0.25, )"
      R"("warnings": ["one", "two\nlines"], "files": {"self/result.json": {"bytes": 123, "xxh128": "fe"}}, )"
      R"("inputs": {"docs/a.json": "abcd", "q \"1\".npy": "ef"}, "options": {"DocumentOptions::causal": "1;"}, "items": 3, )"
      R"("finished": "2024-01-01T00:00:00.000000Z"})"
      "\n");
  CHECK(record_line(read_record(line)) == line);
  written.item.error = Error(ErrorKind::file, "gone", "here", "look");
  const std::string failed = record_line(written);
  CHECK(failed.find(R"("status": 4, )") != std::string::npos);
  CHECK(failed.find(R"("error": {"problem": "gone", "where": "here", "help": "look"}, )") !=
        std::string::npos);
  CHECK(record_line(read_record(failed)) == failed);
}

TEST_CASE("the summaries of a folder hold the last line of each item in any file") {
  const TemporaryFolder folder;
  const std::string old_a = record_line(record("a", "2024-01-01T00:00:01.000000Z"));
  const std::string new_a = record_line(record("a", "2024-01-01T00:00:03.000000Z"));
  const std::string b = record_line(record("b", "2024-01-01T00:00:02.000000Z"));
  folder.write("summary.0-of-2.jsonl", new_a);
  folder.write("summary.jsonl", b + old_a);
  folder.write("other.jsonl", "no summary");
  const Summaries summaries = Summaries::read(folder.path());
  CHECK(summaries.size() == 2);
  CHECK(summaries.find("a")->finished == "2024-01-01T00:00:03.000000Z");
  CHECK(!summaries.find("c"));
  CHECK(lines_of(summaries) ==
        std::vector{new_a.substr(0, new_a.size() - 1), b.substr(0, b.size() - 1)});
}

TEST_CASE("a last line that was cut off is left out when read and taken away when written on") {
  const TemporaryFolder folder;
  const std::string a = record_line(record("a", "2024-01-01T00:00:01.000000Z"));
  const auto path = folder.write("summary.jsonl", a + a.substr(0, 20));
  CHECK(Summaries::read(folder.path()).size() == 1);
  SummaryFile(path, true).append("next\n");
  CHECK(read_text(path) == a + "next\n");
  SummaryFile(path, false).append("new\n");
  CHECK(read_text(path) == "new\n");
}

TEST_CASE("a malformed line of a summary is left out, with a warning of its file and number") {
  const TemporaryFolder folder;
  const std::string a = record_line(record("a", "2024-01-01T00:00:01.000000Z"));
  const std::string b = record_line(record("b", "2024-01-01T00:00:02.000000Z"));
  const std::string path =
      folder.write("summary.jsonl", a + "{\"item\": 3}\n" + a.substr(0, 30) + b + b + "{}\n");
  const Summaries summaries = Summaries::read(folder.path());
  CHECK(summaries.find("a"));
  CHECK(summaries.find("b"));
  const std::string left_out = " is left out, and its item counts as not done: ";
  REQUIRE(summaries.warnings().size() == 3);
  CHECK(summaries.warnings()[0] == path + ":2" + left_out + "expected a string, found a number");
  CHECK(summaries.warnings()[1].starts_with(path + ":3" + left_out));
  CHECK(summaries.warnings()[2] == path + ":5" + left_out + "the line has no \"item\"");

  std::string lines;
  for (int i = 0; i < 30; ++i) lines += "{}\n";
  folder.write("summary.jsonl", lines);
  const Summaries many = Summaries::read(folder.path());
  REQUIRE(many.warnings().size() == 11);
  CHECK(many.warnings()[10] == "20 more lines of summaries are left out");
}

TEST_CASE("a summary of many pieces has the last line of each item") {
  const TemporaryFolder folder;
  std::string lines;
  for (int time = 1; time <= 2; ++time) {
    for (int i = 0; i < 4000; ++i) {
      lines += record_line(record("item" + std::to_string(i),
                                  "2024-01-01T00:00:0" + std::to_string(time) + ".000000Z"));
    }
  }
  REQUIRE(lines.size() > 2 << 20);
  folder.write("summary.jsonl", lines);
  const Summaries summaries = Summaries::read(folder.path());
  CHECK(summaries.size() == 4000);
  CHECK(summaries.warnings().empty());
  for (const int i : {0, 1, 1999, 3999}) {
    const std::string name = "item" + std::to_string(i);
    REQUIRE(summaries.find(name));
    CHECK(summaries.find(name)->item.name == name);
    CHECK(summaries.find(name)->finished == "2024-01-01T00:00:02.000000Z");
  }
}

TEST_CASE("a line that cannot be written whole is not there, and none follows it") {
  const TemporaryFolder folder;
  const std::string path = folder / "summary.jsonl";
  // The limit of file sizes holds for the process that sets it.
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    SummaryFile file(path, false);
    const rlimit limit{20, 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    int failed = 0;
    for (const char* line : {"0123456789\n", "0123456789\n", "x\n"}) {
      try {
        file.append(line);
      } catch (const Error& error) {
        failed += error.problem() == "cannot write \"" + path + "\": File too large";
      }
    }
    _exit(failed);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 2);
  CHECK(read_text(path) == "0123456789\n");
}

TEST_CASE("a summary can be cut down to the last line of each item") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "summary.jsonl";
  SummaryRecord failed = record("a", "2024-01-01T00:00:01.000000Z");
  failed.item.error = Error(ErrorKind::input, "wrong", "", "");
  const std::string again = record_line(record("a", "2024-01-01T00:00:03.000000Z"));
  const std::string b = record_line(record("b", "2024-01-01T00:00:02.000000Z"));
  folder.write("summary.jsonl", record_line(failed) + b);
  SummaryFile summary(path, true);
  summary.append(again);
  summary.keep_last_lines();
  CHECK(read_text(path) == b + again);
}

TEST_CASE("links and pipes in the place of a summary are replaced") {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "summary.jsonl";
  const auto other = folder.write("other", "kept\n");
  for (const bool keep : {false, true}) {
    CAPTURE(keep);
    std::filesystem::remove(path);
    std::filesystem::create_symlink(other, path);
    CHECK(Summaries::read(folder.path()).size() == 0);
    SummaryFile(path, keep).append("a\n");
    CHECK(read_text(path) == "a\n");
    std::filesystem::remove(path);
    REQUIRE(mkfifo(path.c_str(), 0600) == 0);
    CHECK(Summaries::read(folder.path()).size() == 0);
    SummaryFile(path, keep).append("b\n");
    CHECK(read_text(path) == "b\n");
    std::filesystem::remove(path);
    std::filesystem::create_hard_link(other, path);
    SummaryFile(path, keep).append("c\n");
    CHECK(read_text(path) == (keep ? "kept\nc\n" : "c\n"));
  }
  CHECK(read_text(other) == "kept\n");
}

TEST_CASE("two batches cannot write one summary") {
  const TemporaryFolder folder;
  const SummaryFile first(folder / "summary.jsonl", false);
  const std::string path = folder / "summary.jsonl";
  CHECK_THROWS_WITH_AS(SummaryFile(path, true),
                       ("another batch is writing \"" + path +
                        "\"\n  help:  wait for it to end, or write into another folder")
                           .c_str(),
                       Error);
}

TEST_CASE("shards have summaries of their own") {
  CHECK(attn::summary_files.name({}) == "summary.jsonl");
  CHECK(attn::summary_files.name({2, 8}) == "summary.2-of-8.jsonl");
}
