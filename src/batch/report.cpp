#include <string>
#include <string_view>

#include "attn/batch.hpp"

#include "report/facts.hpp"
#include "report/text_table.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

// The counts that are to read, line by line: a name and its value.
std::string counts_text(const BatchOutcome& outcome) {
  const BatchCounts& counts = outcome.counts;
  std::string text;
  const auto add = [&](std::string_view name, const std::string& value) {
    constexpr std::size_t name_columns = 9;
    text += padded_right(translated(name), name_columns) + value + "\n";
  };
  if (outcome.shard.count > 1) {
    add(to_translate("shard"),
        translated("{1} of {2}, counted from 0", outcome.shard.index, outcome.shard.count));
  }
  add(to_translate("items"), std::to_string(counts.items));
  add(to_translate("done"), std::to_string(counts.done));
  if (counts.skipped > 0)
    add(to_translate("skipped"), translated("{1}, finished before", counts.skipped));
  add(to_translate("failed"), std::to_string(counts.failed));
  if (counts.left() > 0) {
    add(to_translate("left"),
        translated("{1}, to be done with BatchOptions::resume", counts.left()));
  }
  add(to_translate("seconds"), with_decimals(outcome.seconds, outcome.seconds < 10 ? 2 : 0));
  add(to_translate("summary"), printable(outcome.summary.native()));
  return text;
}

}  // namespace

std::string batch_text(const BatchOutcome& outcome) {
  std::string text = counts_text(outcome);
  if (outcome.failures.empty()) return text;
  TextTable table{{{""}, {""}, {""}}};
  for (const BatchItem& item : outcome.failures) {
    table.add({item.name, padded_left(std::to_string(item.status()), 2), item.error->problem()});
    if (!item.error->where().empty()) table.add({"", "", item.error->where()});
  }
  text += translated("\nFailed\n") + table.text();
  if (outcome.counts.failed > outcome.failures.size()) {
    text += translated("  … and {1} more, in the summary\n",
                       outcome.counts.failed - outcome.failures.size());
  }
  return text;
}

std::string batch_json(const BatchOutcome& outcome) {
  const BatchCounts& counts = outcome.counts;
  const auto failure = [](const BatchItem& item) {
    return object({{"item", item.name},
                   {"input", item.input},
                   {"status", item.status()},
                   {"problem", item.error->problem()},
                   {"where", item.error->where()},
                   {"help", item.error->help()}});
  };
  return json_text(object(
      {{"shard", only_if(outcome.shard.count > 1,
                         object({{"index", outcome.shard.index}, {"count", outcome.shard.count}}))},
       {"items", counts.items},
       {"done", counts.done},
       {"skipped", counts.skipped},
       {"failed", counts.failed},
       {"left", counts.left()},
       {"seconds", outcome.seconds},
       {"interrupted", outcome.interrupted},
       {"summary", outcome.summary},
       {"warnings", outcome.warnings},
       {"failures", list_of(outcome.failures, failure)}}));
}

}  // namespace attn
