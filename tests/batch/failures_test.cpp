#include "batch/failures.hpp"

#include <string>

#include <doctest/doctest.h>

#include "attn/batch.hpp"

#include "batch/batch_options.hpp"
#include "temporary_folder.hpp"

using namespace attn;

namespace {

BatchItem failed(const std::string& name, const std::string& problem) {
  BatchItem item;
  item.name = name;
  item.error = Error(ErrorKind::input, problem, name + ".json, /key", "");
  return item;
}

}  // namespace

TEST_CASE("failures stand in the order of the items, and equal problems in one line") {
  Failures failures;
  failures.add(9, failed("nine", "worse"));
  failures.add(4, failed("four", "bad"));
  failures.add(2, failed("two", "bad"));
  failures.add(7, failed("seven", "bad"));
  BatchOutcome outcome;
  failures.tell(outcome);
  outcome.counts.items = outcome.counts.failed = 4;
  std::string names;
  for (const BatchItem& item : outcome.failures) names += item.name + " ";
  CHECK(names == "two four seven nine ");
  const std::string text = batch_text(outcome);
  CHECK(text.substr(text.find("\nFailed")) ==
        "\nFailed\n"
        "  two   3 × bad\n"
        "        the first: two.json, /key\n"
        "  nine  worse\n"
        "        nine.json, /key\n");
}

TEST_CASE("beyond ten problems, failures are counted") {
  Failures failures;
  BatchOutcome outcome;
  for (std::size_t i = 2000; i > 0; --i) {
    failures.add(i, failed("d", "problem " + std::to_string((i + 1) / 2)));
    ++outcome.counts.failed;
  }
  failures.tell(outcome);
  outcome.counts.items = outcome.counts.failed;
  CHECK(outcome.failures.size() == 10);
  REQUIRE(outcome.reasons.size() == 10);
  CHECK(outcome.reasons[0].items == 2);
  CHECK(outcome.reasons[0].first.error->problem() == "problem 1");
  CHECK(batch_text(outcome).ends_with("\n  … and 1980 more, in the summary\n"));
}

TEST_CASE("a batch tells its first failures, whichever job ended first") {
  const TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "{\"attention\":\"sdpaa\"}\n";
  folder.write("l.jsonl", lines);
  BatchOptions options = options_for(folder, {"l.jsonl"});
  options.jobs = 4;
  const BatchOutcome outcome = run_batch(options);
  std::string names;
  for (const BatchItem& item : outcome.failures) names += item.name + " ";
  CHECK(names ==
        "l.000001 l.000002 l.000003 l.000004 l.000005 l.000006 l.000007 l.000008 l.000009 "
        "l.000010 ");
  REQUIRE(outcome.reasons.size() == 1);
  CHECK(outcome.reasons[0].first.name == "l.000001");
  CHECK(outcome.reasons[0].items == 40);
}
