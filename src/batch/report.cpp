#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "attn/batch.hpp"

#include "io/json_writer.hpp"
#include "support/display_width.hpp"
#include "support/printable.hpp"
#include "support/text_table.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Row = std::pair<std::string, std::string>;

std::string seconds_text(double seconds) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", seconds < 10 ? 2 : 0, seconds);
  return text;
}

std::vector<Row> rows(const BatchOutcome& outcome) {
  const BatchCounts& counts = outcome.counts;
  std::vector<Row> rows;
  if (outcome.shard.count > 1) {
    rows.emplace_back("shard", std::to_string(outcome.shard.index) + " of " +
                                   std::to_string(outcome.shard.count) + ", from 0");
  }
  rows.emplace_back("items", std::to_string(counts.items));
  rows.emplace_back("done", std::to_string(counts.done));
  if (counts.skipped > 0) {
    rows.emplace_back("skipped", translated("{1}, finished before", counts.skipped));
  }
  rows.emplace_back("failed", std::to_string(counts.failed));
  if (counts.left() > 0) {
    rows.emplace_back("left",
                      translated("{1}, to be done with BatchOptions::resume", counts.left()));
  }
  rows.emplace_back("seconds", seconds_text(outcome.seconds));
  rows.emplace_back("summary", outcome.summary.string());
  return rows;
}

}  // namespace

std::string batch_text(const BatchOutcome& outcome) {
  std::string text;
  constexpr std::size_t name_columns = 9;
  for (const auto& [name, value] : rows(outcome)) {
    text += padded_right(name, name_columns) + value + "\n";
  }
  if (outcome.failures.empty()) return text;
  std::array<TextColumn, 3> columns;
  for (const BatchItem& item : outcome.failures) {
    columns[0].cells.push_back(printable(item.name));
    columns[1].cells.push_back(padded_left(std::to_string(item.status()), 2));
    columns[2].cells.push_back(printable(item.error->problem()));
    if (item.error->where().empty()) continue;
    columns[0].cells.emplace_back();
    columns[1].cells.emplace_back();
    columns[2].cells.push_back(printable(item.error->where()));
  }
  text += "\nFailed\n" + text_table(columns);
  if (outcome.counts.failed > outcome.failures.size()) {
    text += translated("  … and {1} more, in the summary\n",
                       outcome.counts.failed - outcome.failures.size());
  }
  return text;
}

std::string batch_json(const BatchOutcome& outcome) {
  std::string text;
  JsonWriter json([&](std::string_view piece) { text += piece; });
  const auto write = [&](const char* key, const auto& value) {
    json.key(key);
    json.value(value);
  };
  json.begin_object();
  if (outcome.shard.count > 1) {
    json.key("shard");
    json.begin_object();
    write("index", outcome.shard.index);
    write("count", outcome.shard.count);
    json.end_object();
  }
  write("items", outcome.counts.items);
  write("done", outcome.counts.done);
  write("skipped", outcome.counts.skipped);
  write("failed", outcome.counts.failed);
  write("left", outcome.counts.left());
  write("seconds", outcome.seconds);
  write("interrupted", outcome.interrupted);
  write("summary", outcome.summary.string());
  json.key("warnings");
  json.begin_array();
  for (const std::string& warning : outcome.warnings) json.value(warning);
  json.end_array();
  json.key("failures");
  json.begin_array();
  for (const BatchItem& item : outcome.failures) {
    json.begin_object();
    write("item", item.name);
    write("input", item.input);
    write("status", static_cast<std::int64_t>(item.status()));
    write("problem", item.error->problem());
    write("where", item.error->where());
    write("help", item.error->help());
    json.end_object();
  }
  json.end_array();
  json.end_object();
  json.finish();
  return text;
}

}  // namespace attn
