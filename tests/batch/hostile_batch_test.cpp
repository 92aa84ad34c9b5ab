#include <filesystem>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attn/batch.hpp"

#include "batch/batch_options.hpp"
#include "batch/items.hpp"
#include "batch/summary.hpp"
#include "error_from.hpp"
#include "temporary_folder.hpp"

// Inputs and folders that something is wrong with: the items they stand for fail, all others are
// done.

using namespace attn;

namespace {

namespace fs = std::filesystem;

const std::string two_by_two = R"({"attention":"sdpa","query":[[1,0],[0,1]]})";

std::string failure_of(const BatchOutcome& outcome, const std::string& name) {
  for (const BatchItem& item : outcome.failures) {
    if (item.name == name) return item.error->what();
  }
  return "no failure of " + name;
}

}  // namespace

TEST_CASE("an input that cannot be read is one failed item") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "docs/locked");
  folder.write("docs/a.json", two_by_two);
  folder.write("docs/lines.jsonl", two_by_two + "\n");
  fs::create_symlink("nowhere.jsonl", folder / "docs/dangling.jsonl");
  fs::create_symlink("circle.json", folder / "docs/circle.json");
  fs::permissions(folder / "docs/locked", fs::perms::none);
  BatchOptions options = options_for(folder, {"docs", "missing.jsonl"});
  const bool root = geteuid() == 0;  // who may read every folder
  const BatchOutcome outcome = run_batch(options);
  fs::permissions(folder / "docs/locked", fs::perms::owner_all);
  CHECK(outcome.counts.done == 2);
  CHECK(outcome.counts.failed == (root ? 3 : 4));
  const std::string docs = folder / "docs";
  CHECK(failure_of(outcome, "dangling") ==
        "cannot open \"" + docs +
            "/dangling.jsonl\": No such file or directory\n"
            "  help:  check the name, and the folder it is looked for in");
  CHECK(
      failure_of(outcome, "circle").starts_with("cannot open \"" + docs + "/circle.json\": Too "));
  CHECK(failure_of(outcome, "missing").starts_with("cannot open "));
  if (!root) {
    CHECK(failure_of(outcome, "locked") == "cannot read the folder \"" + docs +
                                               "/locked\": Permission denied\n"
                                               "  help:  check its permissions");
  }

  fs::remove(folder / "docs/dangling.jsonl");
  folder.write("docs/dangling.jsonl", two_by_two);
  options.resume = true;
  CHECK(run_batch(options).counts.skipped == 2);
  CHECK(fs::exists(folder / "out/dangling.000001/result.json"));
}

TEST_CASE("documents whose names lead out of the folder of the results stay inside") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "docs/a");
  fs::create_directories(folder / "docs/b");
  const std::vector<std::string> names{"...json",   "..json",     "a/...json", "b/..json",
                                       "a/...json", "...jsonl",   "....json",  ".json",
                                       "b/.jsonl",  "b/...jsonl", "a/~1.json"};
  for (const std::string& name : names) folder.write("docs/" + name, two_by_two + "\n");
  folder.write("result.json", "the parent's");
  BatchOptions options = options_for(folder, {});
  options.files_from = folder / "list";
  std::string list;
  for (const std::string& name : names) list += (folder / "docs" / name).string() + "\n";
  folder.write("list", list + (folder / "docs/a/..").string() + "\n");
  const BatchOutcome outcome = run_batch(options);
  CHECK(outcome.counts.failed == 0);
  CHECK(read_text(folder / "result.json") == "the parent's");
  CHECK_FALSE(fs::exists(folder / "out/result.json"));
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 4);
}

TEST_CASE("matches of a pattern that lead out of the folder of the results stay inside") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "top/docs/sub");
  folder.write("top/docs/sub/a.json", two_by_two);
  folder.write("top/docs/b.json", two_by_two);
  folder.write("top/c.json", two_by_two);
  BatchOptions options =
      options_for(folder, {"top/docs/*/../../c.json", "top/docs/sub/.?/b.json", "top/docs/sub/.?"});
  options.run.out = folder / "results/of/all";
  const BatchOutcome outcome = run_batch(options);
  CHECK(outcome.counts.failed == 0);
  CHECK(outcome.counts.done == 3);
  for (const char* name : {"c", "b", "sub/a"}) {
    CHECK(fs::exists(folder / "results/of/all" / name / "result.json"));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path()), {}) == 2);
  CHECK(std::distance(fs::directory_iterator(folder / "results"), {}) == 1);
  CHECK(std::distance(fs::directory_iterator(folder / "results/of"), {}) == 1);
}

TEST_CASE("a file of lines that is too large is one failed item") {
  const TemporaryFolder folder;
  folder.write("a.json", two_by_two);
  folder.write("lines.jsonl", std::string(1000, '\n') + two_by_two);
  BatchOptions options = options_for(folder, {"lines.jsonl", "a.json"});
  options.run.document.files.limits.file_bytes = 100;
  const BatchOutcome outcome = run_batch(options);
  CHECK(outcome.counts.done == 1);
  CHECK(failure_of(outcome, "lines").find("and the limit is 100 bytes") != std::string::npos);
}

TEST_CASE("a line is read from where it stands, and not if its file was written anew") {
  const TemporaryFolder folder;
  const auto path = folder.write("lines.jsonl", "first\n\n" + std::string(10'000, 'x') + "\nlast");
  const DocumentList documents(options_for(folder, {"lines.jsonl"}));
  REQUIRE(documents.size() == 3);
  CHECK(documents.text(0, {}).text == "first");
  CHECK(documents.text(1, {}).text == std::string(10'000, 'x'));
  CHECK(documents.text(2, {}).text == "last");
  CHECK(documents[2].place() == path.string() + ":4");
  const auto changed = [&](const std::string& place) {
    return "\"" + path.string() +
           "\" was changed while the batch was reading it\n  where: " + path.string() + place +
           "\n  help:  run the batch again when no other program writes the file";
  };
  folder.write("lines.jsonl", "another first\n" + std::string(10'000, 'x') + "\nlast");
  CHECK(documents.text(0, {}).text == "another first");
  CHECK(error_from([&] { documents.text(1, {}); }, ErrorKind::file) == changed(":3"));
  folder.write("lines.jsonl", "");
  CHECK(error_from([&] { documents.text(0, {}); }, ErrorKind::file) == changed(":1"));
  fs::remove(path);
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  CHECK(error_from([&] { documents.text(0, {}); }, ErrorKind::file).find("cannot read") == 0);
}

TEST_CASE("files whose names are no UTF-8 are items of their own, and done once") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "docs");
  folder.write("docs/a\xff.json", two_by_two);
  folder.write("docs/a\xfe.json", two_by_two);
  folder.write(R"(docs/a\xfe.json)", R"({"attention":"sdpa","query":{"file":"q.json"}})");
  fs::create_directory(folder / "docs/\xc3");
  folder.write("docs/\xc3/b.json", R"({"attention":"sdpa","query":{"file":"q.json"}})");
  folder.write("docs/q.json", "[[1,2]]");
  folder.write("docs/\xc3/q.json", "[[1,2]]");
  BatchOptions options = options_for(folder, {"docs"});
  options.run.provenance = true;
  const BatchOutcome outcome = run_batch(options);
  CHECK(outcome.counts.failed == 2);  // the two that are no documents
  for (const char* name : {R"(a\xff)", R"(a\xfe)", R"(a\x5cxfe)", R"(\xc3/b)"}) {
    CAPTURE(name);
    CHECK(fs::exists(folder / "out" / name / "result.json"));
  }
  options.resume = true;
  CHECK(run_batch(options).counts.skipped == 4);
}

TEST_CASE("resuming waits for no pipe and reads nothing outside the allowed folder") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "docs");
  folder.write("q.json", "[[1,2]]");
  folder.write("docs/a.json", R"({"attention":"sdpa","query":{"file":"../q.json"}})");
  BatchOptions options = options_for(folder, {"docs"});
  CHECK(run_batch(options).counts.done == 1);
  options.resume = true;
  options.run.document.files.restrict_to = folder / "docs";
  const BatchOutcome restricted = run_batch(options);
  CHECK(restricted.counts.failed == 1);
  CHECK(failure_of(restricted, "a").find("to which FileAccess::restrict_to confines") !=
        std::string::npos);

  options.resume = false;
  options.run.document.files.restrict_to.reset();
  CHECK(run_batch(options).counts.done == 1);
  fs::remove(folder / "q.json");
  REQUIRE(mkfifo((folder / "q.json").c_str(), 0600) == 0);
  options.resume = true;
  options.run.document.files.restrict_to = folder.path();
  CHECK(failure_of(run_batch(options), "a").find("is not a regular file") != std::string::npos);
}

TEST_CASE("a pipe among documents is one failed item, found in a folder or by a pattern") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "docs");
  folder.write("docs/a.json", two_by_two);
  const fs::path pipe = folder / "docs/pipe.json", lines = folder / "docs/lines.jsonl";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  REQUIRE(mkfifo(lines.c_str(), 0600) == 0);
  for (const char* input : {"docs", "docs/*"}) {
    CAPTURE(input);
    const BatchOutcome outcome = run_batch(options_for(folder, {input}));
    CHECK(outcome.counts.done == 1);
    CHECK(outcome.counts.failed == 2);
    for (const auto& [name, path] : {std::pair("pipe", pipe), std::pair("lines", lines)}) {
      CHECK(failure_of(outcome, name) == "\"" + path.string() +
                                             "\" is not a regular file\n"
                                             "  help:  name a regular file");
    }
  }
}

TEST_CASE("links among documents that lead out of the allowed folder are failed items") {
  const TemporaryFolder folder;
  fs::create_directories(folder / "docs/files");
  folder.write("docs/a.json", two_by_two);
  folder.write("docs/files/b.json", two_by_two);
  folder.write("secret.json", two_by_two);
  folder.write("secret.jsonl", two_by_two + "\n");
  fs::create_symlink("../secret.json", folder / "docs/there.json");
  fs::create_symlink(folder / "nothing.json", folder / "docs/missing.json");
  fs::create_symlink("../secret.jsonl", folder / "docs/lines.jsonl");
  fs::create_symlink("files/b.json", folder / "docs/inside.json");
  fs::create_directory_symlink("..", folder / "docs/up");
  BatchOptions options = options_for(folder, {"docs"});
  options.run.document.files.restrict_to = folder / "docs/files";
  const std::string docs = folder / "docs";
  const auto refused = [&](const BatchOutcome& outcome, const std::string& name,
                           const std::string& file) {
    CHECK(failure_of(outcome, name) ==
          "the link \"" + docs + "/" + file + "\" leads out of the folder \"" + docs +
              "/files\", to which FileAccess::restrict_to confines the files of documents\n"
              "  help:  put a copy of the document in its place");
  };
  for (const char* input : {"docs", "docs/*"}) {
    CAPTURE(input);
    const bool pattern = std::string(input) == "docs/*";
    options.inputs = {(folder / input).string()};
    const BatchOutcome outcome = run_batch(options);
    CHECK(outcome.counts.done == 3);
    CHECK(outcome.counts.failed == (pattern ? 4 : 3));
    refused(outcome, "there", "there.json");
    refused(outcome, "missing", "missing.json");
    refused(outcome, "lines", "lines.jsonl");
    if (pattern) refused(outcome, "up", "up");
  }
  options.inputs = {(folder / "docs/*/secret.json").string()};
  refused(run_batch(options), "up/secret", "up");
  // A document is looked at again when its turn comes.
  options.inputs = {docs};
  const DocumentList documents(options);
  REQUIRE(documents[0].name == "a");
  fs::remove(folder / "docs/a.json");
  fs::create_symlink("../secret.json", folder / "docs/a.json");
  CHECK(error_from([&] {
          documents.text(0, {});
        }).starts_with("the link \"" + docs + "/a.json\" leads out of the folder "));
  // What the user names is followed.
  options.inputs = {(folder / "docs/there.json").string()};
  CHECK(run_batch(options).counts.done == 1);
}

TEST_CASE("a broken line of a summary is a warning when resuming, and its item is computed again") {
  const TemporaryFolder folder;
  folder.write("lines.jsonl", two_by_two + "\n" + two_by_two + "\n" + two_by_two + "\n");
  BatchOptions options = options_for(folder, {"lines.jsonl"});
  options.jobs = 1;
  run_batch(options);
  const fs::path path = folder / "out/summary.jsonl";
  std::string summary = read_text(path);
  summary.erase(summary.find('\n') + 5, 20);
  write_text(path, summary);
  options.resume = true;
  const BatchOutcome resumed = run_batch(options);
  CHECK(resumed.counts.skipped == 2);
  CHECK(resumed.counts.done == 1);
  REQUIRE(resumed.warnings.size() == 1);
  CHECK(resumed.warnings[0].starts_with(path.string() + ":2 is left out, and its item counts as "));
  const BatchOutcome merged = merge_summaries(folder / "out");
  CHECK(merged.counts.done == 3);
  CHECK(merged.warnings.empty());  // the resumed batch has left one line per item
}

TEST_CASE("no file is written through links that were put into the folder of the results") {
  const TemporaryFolder folder;
  fs::create_directory(folder / "docs");
  folder.write("docs/a.json", two_by_two);
  folder.write("docs/b.json", two_by_two);
  fs::create_directories(folder / "docs/sub");
  folder.write("docs/sub/c.json", two_by_two);
  folder.write("docs/d.json", R"({"attention":["softmax","sdpa"],"scores":[[1]],"query":[[1]]})");
  fs::create_directories(folder / "elsewhere");
  fs::create_directories(folder / "out/b");
  fs::create_directories(folder / "out/d");
  fs::create_directory_symlink("../elsewhere", folder / "out/a");
  fs::create_directory_symlink("../elsewhere", folder / "out/sub");
  fs::create_directory_symlink("../../elsewhere", folder / "out/d/softmax");
  fs::create_symlink("../../elsewhere/x", folder / "out/b/result.json");
  const BatchOutcome outcome = run_batch(options_for(folder, {"docs"}));
  CHECK(outcome.counts.done == 1);
  CHECK(outcome.counts.failed == 3);
  CHECK(failure_of(outcome, "a") ==
        "the folder \"" + (folder / "out/a").string() +
            "\" is a symbolic link\n  where: RunOptions::out\n"
            "  help:  remove it: below the folder of the results, links are not followed");
  CHECK(fs::is_empty(folder / "elsewhere"));
  CHECK(fs::symlink_status(folder / "out/b/result.json").type() == fs::file_type::regular);
}
