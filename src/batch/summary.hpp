#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/batch.hpp"

#include "io/json_value.hpp"

namespace attn {

/// A file and its hash, or its size in bytes.
template <class Value>
using FileValues = std::vector<std::pair<std::string, Value>>;

/// A line of a summary: what became of an item, and what is needed to know whether it is to be done
/// again.
struct SummaryRecord {
  BatchItem item;
  std::size_t items = 0;            ///< of the whole batch, all shards together
  std::string options;              ///< options_hash()
  FileValues<std::string> inputs;   ///< the document and the files that it named
  FileValues<std::uint64_t> files;  ///< of the result, below the item's folder
  std::string finished;             ///< UTC, "2024-03-01T12:00:00.123456Z"
};

std::string record_line(const SummaryRecord& record);

/// Throws Error(input) if the line is none of a summary.
SummaryRecord read_record(std::string_view line);

/// "summary.jsonl", or "summary.2-of-8.jsonl".
std::string summary_name(const Shard& shard);

/// The summaries of a folder: the last line of each item.
class Summaries {
 public:
  /// Reads `summary.jsonl` and those of all shards, if there are any. A last line that was cut off
  /// is left out. Throws Error(file), or Error(input) naming file and line.
  static Summaries read(const std::filesystem::path& folder);

  std::optional<SummaryRecord> find(const std::string& item) const;

  std::size_t size() const { return lines_.size(); }
  /// Sorted by item.
  template <class Use>
  void for_each(const Use& use) const {
    for (const auto& [item, line] : lines_) use(line.text);
  }

 private:
  struct Line {
    std::string finished, text;
  };
  std::map<std::string, Line> lines_;
};

/// A summary being written. Several threads may append.
class SummaryFile {
 public:
  /// Starts anew, or goes on behind the last whole line with `keep`. Throws Error(file).
  SummaryFile(std::filesystem::path path, bool keep);
  ~SummaryFile();
  SummaryFile(const SummaryFile&) = delete;
  SummaryFile& operator=(const SummaryFile&) = delete;

  /// The line reaches the file at once. Throws Error(file).
  void append(std::string_view line);

 private:
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::mutex guard_;
};

}  // namespace attn
