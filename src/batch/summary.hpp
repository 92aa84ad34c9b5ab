#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "attn/batch.hpp"

#include "batch/fingerprint.hpp"
#include "io/json_value.hpp"
#include "result/provenance.hpp"
#include "support/file_opening.hpp"
#include "support/work_queue.hpp"

namespace attn {

/// A line of a summary: the outcome of an item, and the facts that decide whether a later batch may
/// skip it.
struct SummaryRecord {
  BatchItem item;
  std::size_t items = 0;           ///< of the whole batch, all shards together
  Description::Fields options;     ///< that are not the default ones
  FileHashList inputs;             ///< of the document and of the files that it names
  std::vector<WrittenFile> files;  ///< of the result, paths below the item's folder
  std::string finished;            ///< UTC, "2024-03-01T12:00:00.123456Z"
};

std::string record_line(const SummaryRecord& record);

/// Throws Error(input) if the text is no line of a summary.
SummaryRecord read_record(std::string_view line);

/// Files of a folder, one for each shard: "summary.jsonl" of all, "summary.2-of-8.jsonl" of one.
struct ShardFiles {
  std::string_view stem, extension;

  std::string name(const Shard& shard) const;
  /// Those that are in the folder, sorted by name.
  std::vector<std::filesystem::path> in(const std::filesystem::path& folder,
                                        std::error_code& error) const;
  /// The shards of which none is there, "1/2, 3/4"; empty if all are, or if shards of several
  /// numbers are.
  std::string missing_in(const std::filesystem::path& folder) const;
};
inline constexpr ShardFiles summary_files{"summary", ".jsonl"};

/// The summaries of a folder: the last line of each item. Only names and offsets of lines are
/// stored, so that millions of lines take little memory; the text of a line is read on demand.
class Summaries {
 public:
  /// Reads `summary.jsonl` and the summaries of all shards, if there are any. A last line that was
  /// cut off is left out; any other malformed line is left out with a warning. Throws Error(file).
  static Summaries read(const std::filesystem::path& folder);

  /// The record of an item; absent if there is none, or another process removed its line.
  std::optional<SummaryRecord> find(const std::string& item) const;

  /// One for each line that was left out, at most eleven.
  const std::vector<std::string>& warnings() const { return warnings_; }

  std::size_t size() const { return lines_.size(); }
  /// The place of an item among the lines, or size().
  std::size_t index_of(const std::string& item) const;
  /// The item of a line.
  std::string_view name(std::size_t index) const { return name_of(lines_[index]); }
  /// The lines, sorted by item.
  template <class Use>
  void for_each(const Use& use) const {
    for (const Line& line : lines_) use(text_of(line));
  }

 private:
  struct Line {
    std::uint64_t name = 0;    ///< offset in names_
    std::uint64_t offset = 0;  ///< offset of the line in its file
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

/// Name of the folder with a summary that is nearest to one beside it without; empty if none is.
std::string nearest_resumable(const std::filesystem::path& folder);

/// A summary that is written. Several threads may append.
class SummaryFile {
 public:
  /// Starts an empty file, or with `keep` goes on after the last whole line. A link, a pipe, or a
  /// file with other names in its place is replaced. Throws Error(file).
  SummaryFile(std::filesystem::path path, bool keep);

  /// Appends the whole line, or leaves the file as it was and throws Error(file), as does every
  /// later call.
  void append(std::string_view line);
  /// Waits until the lines are on the disk.
  void sync() const;
  /// Replaces the file by one with the last line of each item, of which one that failed and was
  /// computed again has several. Nothing can be appended after that.
  void keep_last_lines() const;

 private:
  void open(bool keep);
  void lock() const;
  void copy(bool keep) const;
  [[noreturn]] void fail(int reason) const;

  std::filesystem::path path_;
  Descriptor file_{-1};
  std::uint64_t size_ = 0;
  int failure_ = 0;  ///< errno of the first failure
  std::mutex guard_;
};

/// Records on their way into a summary, which get their lines when the files of their items are on
/// the disk. Waiting for the disk takes longer than computing a small document, so that a thread
/// waits once for all records that have come meanwhile. Several threads may add records.
class SavedRecords {
 public:
  /// `folder` holds the files; without `sync` nothing is waited for.
  SavedRecords(SummaryFile& summary, std::filesystem::path folder, bool sync);

  /// Throws Error(file) if this record, or an earlier one, cannot be saved.
  void add(SummaryRecord record);
  /// Waits until all records are saved. Throws as add() does.
  void finish();

 private:
  static constexpr std::size_t most_waiting = 1000;

  void save(const std::vector<SummaryRecord>& records);

  SummaryFile& summary_;
  std::filesystem::path folder_;
  bool sync_;
  WorkQueue<SummaryRecord> queue_;
};

}  // namespace attn
