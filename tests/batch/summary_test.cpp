#include "batch/summary.hpp"

#include <cstdlib>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "temporary_folder.hpp"

using namespace attn;

namespace {

SummaryRecord record(const std::string& name, const std::string& finished) {
  SummaryRecord result;
  result.item.name = name;
  result.item.input = "docs/" + name + ".json";
  result.item.seconds = 0.25;
  result.items = 3;
  result.options = "0123";
  result.inputs = {{"docs/" + name + ".json", "abcd"}, {"q \"1\".npy", "ef"}};
  result.files = {{"self/result.json", 123}};
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
  CHECK(line ==
        R"({"item": "a", "input": "docs/a.json", "status": 0, "seconds": 0.25, )"
        R"("warnings": ["one", "two\nlines"], "files": {"self/result.json": 123}, )"
        R"("inputs": {"docs/a.json": "abcd", "q \"1\".npy": "ef"}, "options": "0123", "items": 3, )"
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

TEST_CASE("the summaries of a folder are the last line of each item, in whatever file it is") {
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

TEST_CASE("a line that is none of a summary is named with its file and number") {
  const TemporaryFolder folder;
  const std::string a = record_line(record("a", "2024-01-01T00:00:01.000000Z"));
  const std::string path = folder.write("summary.jsonl", a + "{\"item\": 3}\n");
  const auto message = [&] {
    try {
      Summaries::read(folder.path());
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  CHECK(message() == "expected a string, found a number\n  where: " + path +
                         ":2, /item\n  help:  give a string");
  write_text(path, "{}\n");
  CHECK(message() == "the line has no \"item\"\n  where: " + path +
                         ":1\n  help:  this is no summary of a batch");
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
  CHECK(summary_name({}) == "summary.jsonl");
  CHECK(summary_name({2, 8}) == "summary.2-of-8.jsonl");
}
