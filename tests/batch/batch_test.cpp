#include "attn/batch.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "attn/io.hpp"
#include "attn/run.hpp"

#include "batch/batch_options.hpp"
#include "batch/items.hpp"
#include "error_from.hpp"
#include "temporary_folder.hpp"

using namespace attn;

namespace {

namespace fs = std::filesystem;

const std::string good = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";
const std::string bad = R"({"attention":"sdpaa","query":[[1,0],[0,1]]})";

void write_documents(const TemporaryFolder& folder) {
  fs::create_directories(folder / "docs/sub");
  folder.write("docs/a.json", good);
  folder.write("docs/sub/b.json", good);
  folder.write("docs/lines.jsonl", good + "\n\n" + good + "\r\n" + bad);
}

std::vector<std::string> names_of(const BatchOptions& options) {
  std::vector<std::string> names;
  const DocumentList documents(options);
  for (std::size_t i = 0; i < documents.size(); ++i) names.push_back(documents[i].name);
  return names;
}

std::set<std::string> results_below(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == "result.json") {
      names.insert(entry.path().parent_path().lexically_relative(folder));
    }
  }
  return names;
}

std::string error_of(const BatchOptions& options) {
  return error_from([&] { run_batch(options); }, std::nullopt);
}

}  // namespace

TEST_CASE("a batch computes each document into a folder that mirrors where it is") {
  const TemporaryFolder folder;
  write_documents(folder);
  const BatchOutcome outcome = run_batch(options_for(folder, {"docs"}));
  CHECK(outcome.counts.items == 5);
  CHECK(outcome.counts.done == 4);
  CHECK(outcome.counts.failed == 1);
  CHECK(outcome.counts.left() == 0);
  CHECK(!outcome.interrupted);
  CHECK(results_below(folder / "out") ==
        std::set<std::string>{"a", "sub/b", "lines.000001", "lines.000003"});
  REQUIRE(outcome.failures.size() == 1);
  CHECK(outcome.failures[0].name == "lines.000004");
  CHECK(outcome.failures[0].status() == 3);
  CHECK(std::string(outcome.failures[0].error->what()) ==
        "unknown kind of attention \"sdpaa\"\n  where: " + (folder / "docs/lines.jsonl").string() +
            ":4, /attention\n  help:  did you mean \"sdpa\"?");
}

TEST_CASE("files of lines have any of their usual endings") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "docs");
  for (const char* name : {"a.jsonl", "b.ndjson", "c.jsonlines", "d.ldjson"})
    folder.write("docs/" + std::string(name), good + "\n" + good + "\n");
  CHECK(names_of(options_for(folder, {"docs"})) ==
        std::vector<std::string>{"a.000001", "a.000002", "b.000001", "b.000002", "c.000001",
                                 "c.000002", "d.000001", "d.000002"});
  CHECK(names_of(options_for(folder, {"docs/b.ndjson"})) ==
        std::vector<std::string>{"b.000001", "b.000002"});
}

TEST_CASE("the result of an item is that of run") {
  const TemporaryFolder folder;
  write_documents(folder);
  run_batch(options_for(folder, {"docs"}));
  RunOptions single;
  single.document.input = folder / "docs/a.json";
  single.out = folder / "single";
  single.plots = {};
  run(single);
  const std::string expected = read_text(folder / "single/result.json");
  CHECK(read_text(folder / "out/a/result.json") == expected);
  CHECK(read_text(folder / "out/lines.000001/result.json") == expected);
}

TEST_CASE(
    "inputs are listed in one order: as given, files of folders by name, hidden ones left out") {
  const TemporaryFolder folder;
  write_documents(folder);
  folder.write("docs/.hidden.json", good);
  folder.write("docs/notes.txt", "no document");
  fs::create_directories(folder / "docs/.git");
  folder.write("docs/.git/c.json", good);
  const std::vector<std::string> all{"a", "lines.000001", "lines.000003", "lines.000004", "sub/b"};
  CHECK(names_of(options_for(folder, {"docs"})) == all);
  CHECK(names_of(options_for(folder, {"docs/"})) == all);
  CHECK(names_of(options_for(folder, {"docs", "docs/a.json", "docs/../docs/a.json"})) == all);
  CHECK(names_of(options_for(folder, {"docs/sub/b.json", "docs/a.json"})) ==
        std::vector<std::string>{"b", "a"});
  CHECK(names_of(options_for(folder, {"missing/"})) == std::vector<std::string>{"missing"});
}

TEST_CASE("a pattern names its matches from its first part that varies") {
  const TemporaryFolder folder;
  write_documents(folder);
  CHECK(names_of(options_for(folder, {"docs/*.json"})) == std::vector<std::string>{"a"});
  CHECK(names_of(options_for(folder, {"d*s/s?b/[a-c].json"})) ==
        std::vector<std::string>{"docs/sub/b"});
  CHECK(names_of(options_for(folder, {"docs/s*"})) == std::vector<std::string>{"sub/b"});
  folder.write("docs/[a].json", good);
  CHECK(names_of(options_for(folder, {"docs/[a].json"})) == std::vector<std::string>{"[a]"});
  const std::string pattern = folder / "docs/*.yaml";
  CHECK(error_of(options_for(folder, {"docs/*.yaml"})) ==
        "no document: nothing matches \"" + pattern + "\"\n  help:  check the pattern");
  CHECK(error_of(options_for(folder, {"dosc/*.json"})) ==
        "no document: nothing matches \"" + (folder / "dosc/*.json").string() +
            "\"\n  help:  did you mean \"" + (folder / "docs/*.json").string() + "\"?");
}

TEST_CASE("names of matches lack the backslashes of their pattern") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "abcdefgh");
  folder.write("abcdefgh/a.json", good);
  fs::create_directories(folder / "my folder/sub");
  folder.write("my folder/b.json", good);
  folder.write("my folder/sub/c.json", good);
  fs::create_directories(folder / "what?");
  folder.write("what?/d.json", good);
  const auto names = [&](const char* pattern) { return names_of(options_for(folder, {pattern})); };
  CHECK(names(R"(\a\b\c\d\e\f\g\h/*.json)") == std::vector<std::string>{"a"});
  CHECK(names(R"(my\ folder/*.json)") == std::vector<std::string>{"b"});
  CHECK(names(R"(my\ folder//s*/*.json)") == std::vector<std::string>{"sub/c"});
  CHECK(names(R"(my\ f*/b.json)") == std::vector<std::string>{"my folder/b"});
  CHECK(names(R"(what\?/*.json)") == std::vector<std::string>{"d"});
}

TEST_CASE("a list names inputs a line, or ended by zero bytes") {
  const TemporaryFolder folder;
  write_documents(folder);
  const std::string a = folder / "docs/a.json", sub = folder / "docs/sub";
  BatchOptions options = options_for(folder, {});
  options.files_from = folder.write("list", a + "\r\n\n" + sub + "\n");
  CHECK(names_of(options) == std::vector<std::string>{"a", "b"});
  options.files_from = folder.write("list", a + '\0' + sub + '\0');
  CHECK(names_of(options) == std::vector<std::string>{"a", "b"});
}

TEST_CASE("the results of an earlier batch inside an input are no documents") {
  const TemporaryFolder folder;
  write_documents(folder);
  BatchOptions options = options_for(folder, {"docs"});
  options.run.out = folder / "docs/out";
  run_batch(options);
  CHECK(run_batch(options).counts.items == 5);
}

TEST_CASE("a batch without documents is an error") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "empty");
  CHECK(
      error_of(options_for(folder, {"empty"})) ==
      "there are no documents in what was given\n  where: BatchOptions::inputs\n"
      "  help:  documents end in .json, files with one document per line in .jsonl, files with one "
      "text per line in .txt");
  CHECK(
      error_of(options_for(folder, {})) ==
      "no input documents given\n  where: BatchOptions::inputs\n  help:  name documents, folders, "
      "patterns or .jsonl files, or a list with BatchOptions::files_from");
  BatchOptions twice = options_for(folder, {});
  twice.inputs = {"-"};
  twice.files_from = "-";
  CHECK(error_of(twice) ==
        "standard input is given both as documents and as their list\n  where: "
        "BatchOptions::files_from\n"
        "  help:  leave one of them out");
}

TEST_CASE("a document that is not there fails alone") {
  const TemporaryFolder folder;
  write_documents(folder);
  const BatchOutcome outcome = run_batch(options_for(folder, {"docs/none.json", "docs/a.json"}));
  CHECK(outcome.counts.done == 1);
  REQUIRE(outcome.failures.size() == 1);
  CHECK(outcome.failures[0].status() == 4);
}

TEST_CASE("shards share the items without overlap, and their summaries join to that of one batch") {
  const TemporaryFolder folder;
  write_documents(folder);
  std::size_t items = 0;
  for (std::size_t index = 0; index < 3; ++index) {
    BatchOptions options = options_for(folder, {"docs"});
    options.shard = {index, 3};
    items += run_batch(options).counts.items;
    if (index == 1) {
      const BatchOutcome early = merge_summaries(folder / "out");
      CHECK(early.counts.items == 5);
      CHECK(early.counts.left() == 1);
      CHECK(early.warnings ==
            std::vector<std::string>{"there is no summary of BatchOptions::shard 2/3: compute that "
                                     "first, and merge again"});
    }
  }
  CHECK(items == 5);
  const BatchOutcome merged = merge_summaries(folder / "out");
  CHECK(merged.counts.items == 5);
  CHECK(merged.counts.done == 4);
  CHECK(merged.counts.failed == 1);
  CHECK(merged.counts.left() == 0);
  const std::string summary = read_text(folder / "out/summary.jsonl");
  CHECK(std::count(summary.begin(), summary.end(), '\n') == 5);
  CHECK(merge_summaries(folder / "out").counts.items == 5);
  CHECK(read_text(folder / "out/summary.jsonl") == summary);
}

TEST_CASE("a shard that has no items is done at once, and one that cannot be is refused") {
  const TemporaryFolder folder;
  folder.write("a.json", good);
  BatchOptions options = options_for(folder, {"a.json"});
  options.shard = {1, 4};
  CHECK(run_batch(options).counts.items == 0);
  options.shard = {4, 4};
  CHECK(error_of(options) ==
        "there is no part 4 of 4: parts count from 0\n  where: BatchOptions::shard\n  help:  give "
        "0/4 for the "
        "first of them");
}

TEST_CASE("resuming computes items that are new, changed, failed, incomplete or of other options") {
  const TemporaryFolder folder;
  write_documents(folder);
  folder.write("q.npy", npy_bytes(Tensor({2, 2}, std::vector<float>{1, 2, 3, 4})));
  folder.write("docs/file.json", R"({"attention":"sdpa","query":{"file":"../q.npy"}})");
  BatchOptions options = options_for(folder, {"docs"});
  CHECK(run_batch(options).counts.done == 5);
  options.resume = true;
  const auto done_again = [&] {
    std::set<std::string> names;
    run_batch(options, [&](const BatchItem& item, const BatchCounts&) {
      if (!item.skipped) names.insert(item.name);
    });
    return names;
  };
  using Names = std::set<std::string>;
  CHECK(done_again() == Names{"lines.000004"});
  folder.write("docs/a.json", good + " ");
  CHECK(done_again() == Names{"a", "lines.000004"});
  folder.write("q.npy", npy_bytes(Tensor({2, 2}, std::vector<float>{1, 2, 3, 5})));
  CHECK(done_again() == Names{"file", "lines.000004"});
  fs::remove(folder / "out/sub/b/result.json");
  CHECK(done_again() == Names{"sub/b", "lines.000004"});
  fs::resize_file(folder / "out/sub/b/result.json", 10);
  CHECK(done_again() == Names{"sub/b", "lines.000004"});
  folder.write("docs/new.json", good);
  CHECK(done_again() == Names{"new", "lines.000004"});
  options.run.document.causal = true;
  CHECK(done_again().size() == 7);
  CHECK(done_again() == Names{"lines.000004"});
}

TEST_CASE(
    "resuming computes a document again whose files are those of another one in the same size") {
  const TemporaryFolder folder;
  const std::string other = R"({"attention":"sdpa","query":[[1,0],[0,2]]})";
  BatchOptions options = options_for(folder, {"a.json"});
  options.run.tensors = TensorFormat::npy;
  const fs::path result = folder / "out/a/result.json", weights = folder / "out/a/weights.npy";
  folder.write("a.json", good);
  run_batch(options);
  const std::string good_result = read_text(result), good_weights = read_text(weights);
  // The document is changed, computed by a batch that is killed before its line, and changed back.
  folder.write("a.json", other);
  RunOptions run_options = options.run;
  run_options.document.input = folder / "a.json";
  run_options.out = folder / "out/a";
  run(run_options);
  CHECK(read_text(weights) != good_weights);
  CHECK(fs::file_size(weights) == good_weights.size());
  CHECK(fs::file_size(result) == good_result.size());
  folder.write("a.json", good);
  options.resume = true;
  CHECK(run_batch(options).counts.done == 1);
  CHECK(read_text(weights) == good_weights);
  CHECK(read_text(result) == good_result);
  CHECK(run_batch(options).counts.skipped == 1);
  // One file alone.
  write_text(weights, read_text(weights).replace(good_weights.size() - 1, 1, "x"));
  CHECK(run_batch(options).counts.done == 1);
  CHECK(read_text(weights) == good_weights);
}

TEST_CASE("a batch without waiting for the disk writes the same bytes") {
  const TemporaryFolder folder;
  write_documents(folder);
  BatchOptions options = options_for(folder, {"docs"});
  const BatchOutcome synced = run_batch(options);
  const std::string result = read_text(folder / "out/a/result.json");
  options.run.sync = false;
  options.run.out = folder / "hurried";
  const BatchOutcome hurried = run_batch(options);
  CHECK(hurried.counts.done == synced.counts.done);
  CHECK(read_text(folder / "hurried/a/result.json") == result);
  // What is there counts as done whether it was waited for or not.
  options.run.sync = true;
  options.resume = true;
  CHECK(run_batch(options).counts.skipped == 4);
}

TEST_CASE("resuming with other shards skips items of the former ones") {
  const TemporaryFolder folder;
  write_documents(folder);
  BatchOptions options = options_for(folder, {"docs"});
  options.shard = {0, 2};
  const std::size_t done = run_batch(options).counts.done;
  options.shard = {};
  options.resume = true;
  CHECK(run_batch(options).counts.skipped == done);
}

TEST_CASE("hidden files of a killed program are removed") {
  const TemporaryFolder folder;
  folder.write("a.json", good);
  fs::create_directories(folder / "out/a");
  folder.write("out/a/.attn-0011223344556677.part", "half");
  BatchOptions options = options_for(folder, {"a.json"});
  options.resume = true;
  run_batch(options);
  CHECK(!fs::exists(folder / "out/a/.attn-0011223344556677.part"));
  CHECK(fs::exists(folder / "out/a/result.json"));
}

TEST_CASE("with fail_fast no item is begun after one has failed") {
  const TemporaryFolder folder;
  std::string lines = bad + "\n";
  for (int i = 0; i < 20; ++i) lines += good + "\n";
  folder.write("lines.jsonl", lines);
  BatchOptions options = options_for(folder, {"lines.jsonl"});
  options.jobs = 1;
  options.fail_fast = true;
  const BatchOutcome outcome = run_batch(options);
  CHECK(outcome.counts.failed == 1);
  CHECK(outcome.counts.left() == 20);
  CHECK(!outcome.interrupted);
}

TEST_CASE("a batch of standard input that is stopped before its first line writes nothing") {
  const TemporaryFolder folder;
  BatchOptions options = options_for(folder, {});
  options.inputs = {"-"};
  const std::atomic<bool> stop = true;
  const BatchOutcome outcome = run_batch(options, {}, &stop);
  CHECK(outcome.interrupted);
  CHECK(outcome.counts.items == 0);
  CHECK(batch_text(outcome).find("summary") == std::string::npos);
  CHECK(batch_json(outcome).find("\"summary\"") == std::string::npos);
  CHECK(fs::is_empty(folder.path()));
}

TEST_CASE("a stopped batch begins no new item and can be resumed") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 50; ++i) lines += good + "\n";
  folder.write("lines.jsonl", lines);
  BatchOptions options = options_for(folder, {"lines.jsonl"});
  std::atomic<bool> stop{false};
  const BatchOutcome outcome = run_batch(
      options, [&](const BatchItem&, const BatchCounts&) { stop = true; }, &stop);
  CHECK(outcome.interrupted);
  CHECK(outcome.counts.done >= 1);
  CHECK(outcome.counts.done <= 2 * 2);
  CHECK(results_below(folder / "out").size() == outcome.counts.done);
  options.resume = true;
  const BatchOutcome rest = run_batch(options);
  CHECK(rest.counts.skipped == outcome.counts.done);
  CHECK(rest.counts.left() == 0);
  CHECK(results_below(folder / "out").size() == 50);
}

TEST_CASE("the bytes of a batch with pictures do not depend on the number of jobs") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 1; i <= 6; ++i) {
    lines += R"({"attention":"self","seed":)" + std::to_string(i) +
             R"(,"x":{"randn":[1,4,6]},"labels":{"query":["我","b","c","d"]},)" +
             R"("parameters":{"init":"torch"}})" + "\n";
  }
  folder.write("lines.jsonl", lines);
  BatchOptions options = options_for(folder, {"lines.jsonl"});
  options.run.plots = {PlotKind::heatmap, PlotKind::dimensions, PlotKind::lines};
  options.run.plot.figure.dpi = 50;
  options.jobs = 4;
  run_batch(options);
  options.jobs = 1;
  options.run.out = folder / "one";
  run_batch(options);
  for (int i = 1; i <= 6; ++i) {
    const std::string item = "lines.00000" + std::to_string(i);
    for (const char* file : {"/heatmap.png", "/dimensions.png", "/lines.png", "/result.json"}) {
      CAPTURE(item + file);
      const std::string bytes = read_text(folder / "out" / (item + file));
      CHECK(!bytes.empty());
      CHECK(bytes == read_text(folder / "one" / (item + file)));
    }
  }
}

TEST_CASE("summaries that are not there cannot be merged") {
  const TemporaryFolder folder;
  const std::string name = folder.path();
  CHECK_THROWS_WITH_AS(merge_summaries(folder.path()),
                       ("there is no summary of a batch in \"" + name +
                        "\"\n  where: merge_summaries()\n  help:  name the folder that was "
                        "RunOptions::out of the batch")
                           .c_str(),
                       Error);
}

TEST_CASE("validation takes the inputs of a batch and lists each document's problems") {
  const TemporaryFolder folder;
  write_documents(folder);
  std::vector<std::string> told;
  validate_batch(options_for(folder, {"docs"}), [&](const Validation& validation) {
    told.push_back(fs::path(validation.input).filename().string() + " " +
                   std::to_string(validation.problems.size()));
  });
  CHECK(told == std::vector<std::string>{"a.json 0", "lines.jsonl:1 0", "lines.jsonl:3 0",
                                         "lines.jsonl:4 1", "b.json 0"});
  told.clear();
  BatchOptions listed = options_for(folder, {});
  listed.files_from = folder.write("list.txt", (folder / "docs/a.json").string() + "\n");
  validate_batch(listed, [&](const Validation& validation) { told.push_back(validation.input); });
  CHECK(told == std::vector<std::string>{(folder / "docs/a.json").string()});
}

TEST_CASE(
    "a batch of a model of pictures runs each picture of a folder, and those that are named") {
  const TemporaryFolder folder;
  const fs::path model =
      fs::path(ATTN_TEST_DATA) / "models" / "pictures" / "dinov2_registers_antialiased";
  fs::create_directories(folder / "pictures");
  fs::copy_file(model / "picture.png", folder / "pictures/a.png");
  fs::copy_file(model / "picture.png", folder / "pictures/b.PNG");
  folder.write("pictures/notes.txt", "not a picture");
  BatchOptions options = options_for(folder, {"pictures"});
  options.run.document.model = model / "checkpoint";
  const BatchOutcome outcome = run_batch(options);
  CHECK(outcome.counts.failed == 0);
  CHECK(results_below(folder / "out") == std::set<std::string>{"a.png", "b.PNG"});
  CHECK(names_of(options_for(folder, {"pictures/a.png"})) == std::vector<std::string>{"a.png"});
  // Without a model, or with one of texts, pictures of a folder are left alone.
  options.run.document.model = folder / "pictures";
  CHECK(error_from([&] { DocumentList{options}; }, ErrorKind::file) ==
        "there are no documents in what was given\n"
        "  where: BatchOptions::inputs\n"
        "  help:  write '" +
            (folder / "pictures").string() + "/*.txt'");
}
