#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/batch.hpp"

#include "io/json_value.hpp"
#include "support/descriptor.hpp"

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

/// The summaries of a folder: the last line of each item. Only names and places of lines are kept,
/// so that millions of them take little memory; lines are read again when they are asked for.
class Summaries {
 public:
  /// Reads `summary.jsonl` and those of all shards, if there are any. A last line that was cut off
  /// is left out; so is any other that is none of a summary, with a warning. Throws Error(file).
  static Summaries read(const std::filesystem::path& folder);

  /// Nothing too if the line is no longer there.
  std::optional<SummaryRecord> find(const std::string& item) const;

  /// One for each line that was left out, but at most eleven.
  const std::vector<std::string>& warnings() const { return warnings_; }

  std::size_t size() const { return lines_.size(); }
  /// The lines, sorted by item.
  template <class Use>
  void for_each(const Use& use) const {
    for (const Line& line : lines_) use(text_of(line));
  }

 private:
  struct Line {
    std::uint64_t name = 0;    ///< where it stands in names_
    std::uint64_t offset = 0;  ///< of the line in its file
    std::uint32_t name_size = 0, size = 0, file = 0;
  };

  void read_file(std::uint32_t number_of_file);
  void add(std::string_view text, std::uint64_t offset, std::uint32_t file, std::size_t number);
  void keep_last_ones();
  std::string_view name_of(const Line& line) const;
  std::string text_of(const Line& line) const;

  std::vector<std::filesystem::path> files_;
  std::string names_;
  std::vector<Line> lines_;
  std::vector<std::string> warnings_;
  std::size_t left_out_ = 0;
};

/// A summary being written. Several threads may append.
class SummaryFile {
 public:
  /// Starts anew, or goes on behind the last whole line with `keep`. What has the file's name
  /// already is replaced unless it is a file without other names. Throws Error(file).
  SummaryFile(std::filesystem::path path, bool keep);

  /// The line reaches the file at once, or the file stays as it was. Throws Error(file); from then
  /// on every call does.
  void append(std::string_view line);

 private:
  void open(bool keep);
  void lock() const;
  void copy(bool keep) const;
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path path_;
  Descriptor file_{-1};
  std::uint64_t size_ = 0;
  int failure_ = 0;  ///< the reason why it could not be written
  std::mutex guard_;
};

}  // namespace attn
