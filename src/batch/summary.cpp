#include "batch/summary.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <fstream>
#include <functional>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "report/facts.hpp"
#include "support/atomic_file.hpp"
#include "support/errors.hpp"
#include "support/number_text.hpp"
#include "support/output_lock.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

Fact facts_of(const std::vector<WrittenFile>& files) {
  Fact::Members members;
  for (const WrittenFile& file : files) {
    members.push_back(
        {file.path.generic_string(), object({{"bytes", file.bytes}, {"xxh128", file.hash}})});
  }
  return members;
}

constexpr const char* no_summary = to_translate("this is not the summary of a batch");
constexpr JsonObject::Texts texts_of_line_errors = {
    .missing = to_translate("the line has no \"{1}\""),
    .missing_help = no_summary,
    .type_help = no_summary,
    .missing_in_object = true};

std::optional<Error> error_of(const JsonObject& line) {
  const std::size_t status = line.count("status");
  if (status == 0) return std::nullopt;
  constexpr std::array<ErrorKind, 4> kinds{ErrorKind::usage, ErrorKind::input, ErrorKind::file,
                                           ErrorKind::internal};
  const auto kind = std::find(kinds.begin(), kinds.end(), static_cast<ErrorKind>(status));
  if (kind == kinds.end()) {
    throw input_error(translated("an item cannot end with {1}", status), line.place("status"),
                      translated(no_summary));
  }
  const JsonObject error = line.object("error");
  return Error(*kind, error.string("problem"), error.string("where"), error.string("help"));
}

constexpr std::size_t most_warnings = 10;

// Flags of open() in the place of a summary: links are not followed, pipes do not block.
constexpr int only_files = O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;

bool is_file(const Descriptor& file) {
  struct stat status {};
  return fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode);
}

[[noreturn]] void fail_to_read(const fs::path& path, int reason) {
  throw Error(
      ErrorKind::file,
      translated("cannot read {1}: {2}", in_quotes(path.native()), system_error_text(reason)), "",
      translated("check the permissions of the file"));
}

// The end of the last whole line. The summary is read and not mapped, since other processes may
// shorten it.
std::uint64_t end_of_lines(const Descriptor& file, const fs::path& path) {
  struct stat status {};
  if (fstat(file.get(), &status) != 0) fail_to_read(path, errno);
  std::array<char, 1 << 16> piece;
  for (auto end = static_cast<std::uint64_t>(status.st_size); end > 0;) {
    const std::uint64_t begin = end - std::min<std::uint64_t>(end, piece.size());
    const ssize_t count = pread(file.get(), piece.data(), end - begin, static_cast<off_t>(begin));
    if (count < 0) fail_to_read(path, errno);
    const std::string_view text(piece.data(), static_cast<std::size_t>(count));
    if (const std::size_t last = text.rfind('\n'); last != text.npos) return begin + last + 1;
    end = begin;
  }
  return 0;
}

}  // namespace

std::string record_line(const SummaryRecord& record) {
  const BatchItem& item = record.item;
  Fact error = Fact::absent();
  if (item.error) {
    error = object({{"problem", item.error->problem()},
                    {"where", item.error->where()},
                    {"help", item.error->help()}});
  }
  return json_text(object({{"item", item.name},
                           {"input", item.input},
                           {"status", item.status()},
                           {"seconds", item.seconds},
                           {"warnings", item.warnings},
                           {"error", error},
                           {"files", facts_of(record.files)},
                           {"inputs", Fact::Members(record.inputs.begin(), record.inputs.end())},
                           {"options", Fact::Members(record.options.begin(), record.options.end())},
                           {"items", record.items},
                           {"finished", record.finished}}),
                   JsonLayout::line);
}

SummaryRecord read_record(std::string_view text) {
  const JsonValue root = parse_json(text);
  const JsonObject line(expect_object(root, ""), "", texts_of_line_errors);
  SummaryRecord record;
  record.item.name = line.string("item");
  record.item.input = line.string("input");
  record.item.seconds = line.number("seconds");
  line.each("warnings", [&](const JsonValue& warning, const std::string& place) {
    record.item.warnings.push_back(expect_string(warning, place));
  });
  record.item.error = error_of(line);
  const JsonObject files = line.object("files");
  for (const JsonMember& file : files.value().members()) {
    const JsonObject written = files.object(file.key);
    record.files.push_back({file.key, written.count("bytes"), written.string("xxh128")});
  }
  record.inputs = strings_in(line.object("inputs"));
  for (auto& option : strings_in(line.object("options"))) record.options.insert(std::move(option));
  record.items = line.count("items");
  record.finished = line.string("finished");
  return record;
}

std::string ShardFiles::name(const Shard& shard) const {
  if (shard.count == 1) return std::string(stem).append(extension);
  return std::string(stem) + "." + std::to_string(shard.index) + "-of-" +
         std::to_string(shard.count) + std::string(extension);
}

std::vector<fs::path> ShardFiles::in(const fs::path& folder, std::error_code& error) const {
  std::vector<fs::path> files;
  const std::string start = std::string(stem) + ".";
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    const std::string file = entry->path().filename();
    if (file == name({}) || (file.starts_with(start) && file.ends_with(extension) &&
                             file.find("-of-") != std::string::npos)) {
      files.push_back(entry->path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string nearest_resumable(const fs::path& folder) {
  constexpr std::size_t most_names = 1000;
  const fs::path own = folder.has_filename() ? folder : folder.parent_path();
  const fs::path beside = own.has_parent_path() ? own.parent_path() : fs::path(".");
  std::vector<std::string> names;
  std::error_code error, none;
  std::size_t seen = 0;
  for (fs::directory_iterator at(beside, error), end; !error && at != end && seen < most_names;
       at.increment(error), ++seen) {
    if (at->is_directory(none) && !summary_files.in(at->path(), none).empty())
      names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  const std::string_view nearest = nearest_name(
      own.filename().native(), std::vector<std::string_view>(names.begin(), names.end()));
  return nearest.empty() ? "" : (own.parent_path() / nearest).string();
}

std::string ShardFiles::missing_in(const fs::path& folder) const {
  std::error_code none;
  std::set<std::size_t> there;
  std::size_t count = 0;
  for (const fs::path& file : in(folder, none)) {
    const std::string name = file.filename().string();
    const std::size_t start = stem.size() + 1, of = name.find("-of-");
    if (of == name.npos) continue;
    Shard shard;
    const std::size_t end = name.size() - extension.size();
    if (!parse_number(name.substr(start, of - start), shard.index) ||
        !parse_number(name.substr(of + 4, end - of - 4), shard.count) ||
        (count != 0 && count != shard.count))
      return "";
    count = shard.count;
    there.insert(shard.index);
  }
  constexpr std::size_t most = 10;
  std::string missing;
  std::size_t listed = 0;
  for (std::size_t index = 0; index < count && listed < most; ++index) {
    if (there.contains(index)) continue;
    missing += (listed++ == 0 ? "" : ", ") + std::to_string(index) + "/" + std::to_string(count);
  }
  return missing;
}

Summaries Summaries::read(const fs::path& folder) {
  Summaries summaries;
  std::error_code error;
  summaries.files_ = summary_files.in(folder, error);
  if (error) {
    throw Error(ErrorKind::file,
                translated("cannot read the folder {1}: {2}", in_quotes(folder.native()),
                           system_error_text(error.value())),
                "", translated("name the folder of a batch"));
  }
  for (std::uint32_t file = 0; file < summaries.files_.size(); ++file) summaries.read_file(file);
  summaries.keep_last_ones();
  if (summaries.left_out_ > most_warnings) {
    summaries.warnings_.push_back(translated("{1} more lines of summaries are left out",
                                             summaries.left_out_ - most_warnings));
  }
  return summaries;
}

void Summaries::read_file(std::uint32_t number_of_file) {
  const fs::path& path = files_[number_of_file];
  const Descriptor file(::open(path.c_str(), O_RDONLY | only_files));
  if (file.get() < 0 && errno != ELOOP) fail_to_read(path, errno);
  if (file.get() < 0 || !is_file(file)) return;  // it will be replaced
  constexpr std::size_t piece = std::size_t{1} << 20U;
  std::string text;
  std::uint64_t begin = 0;  // of the text in the file
  for (std::size_t number = 1;;) {
    const std::size_t used = text.size();
    text.resize(used + piece);
    const ssize_t count = ::read(file.get(), text.data() + used, piece);
    if (count < 0 && errno != EINTR) fail_to_read(path, errno);
    text.resize(used + static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
    if (count == 0) return;
    std::size_t at = 0;
    for (std::size_t end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
      add(std::string_view(text).substr(at, end - at), begin + at, number_of_file, number++);
    }
    text.erase(0, at);
    begin += at;
  }
}

void Summaries::add(std::string_view text, std::uint64_t offset, std::uint32_t file,
                    std::size_t number) {
  try {
    const SummaryRecord record = read_record(text);
    lines_.push_back({names_.size(), offset, static_cast<std::uint32_t>(record.item.name.size()),
                      static_cast<std::uint32_t>(text.size()), file});
    names_ += record.item.name;
  } catch (const Error& wrong) {
    if (++left_out_ > most_warnings) return;
    warnings_.push_back(translated("{1}:{2} is left out, and its item counts as not done: {3}",
                                   files_[file].string(), number, wrong.problem()));
  }
}

// Keeps one line for each item: the one that finished last; of equal times the last line.
void Summaries::keep_last_ones() {
  std::stable_sort(lines_.begin(), lines_.end(),
                   [this](const Line& a, const Line& b) { return name_of(a) < name_of(b); });
  std::size_t kept = 0;
  for (std::size_t first = 0, end; first < lines_.size(); first = end) {
    end = first + 1;
    while (end < lines_.size() && name_of(lines_[end]) == name_of(lines_[first])) ++end;
    std::size_t last = first;
    std::string finished;
    for (std::size_t i = first; i < end && end - first > 1; ++i) {
      std::string when = read_record(text_of(lines_[i])).finished;
      if (when < finished) continue;
      finished = std::move(when);
      last = i;
    }
    lines_[kept++] = lines_[last];
  }
  lines_.resize(kept);
  lines_.shrink_to_fit();
}

std::string_view Summaries::name_of(const Line& line) const {
  return std::string_view(names_).substr(line.name, line.name_size);
}

std::string Summaries::text_of(const Line& line) const {
  const fs::path& path = files_[line.file];
  const Descriptor file(::open(path.c_str(), O_RDONLY | only_files));
  if (file.get() < 0) fail_to_read(path, errno);
  std::string text(line.size, '\0');
  const ssize_t count =
      pread(file.get(), text.data(), text.size(), static_cast<off_t>(line.offset));
  if (count < 0) fail_to_read(path, errno);
  text.resize(static_cast<std::size_t>(count));
  return text;
}

std::size_t Summaries::index_of(const std::string& item) const {
  const auto line = std::lower_bound(
      lines_.begin(), lines_.end(), item,
      [this](const Line& known, const std::string& name) { return name_of(known) < name; });
  const bool found = line != lines_.end() && name_of(*line) == item;
  return found ? static_cast<std::size_t>(line - lines_.begin()) : lines_.size();
}

std::optional<SummaryRecord> Summaries::find(const std::string& item) const {
  const std::size_t line = index_of(item);
  if (line == lines_.size()) return std::nullopt;
  try {
    SummaryRecord record = read_record(text_of(lines_[line]));
    if (record.item.name == item) return record;
  } catch (const Error&) {
    // Another process has changed the file since.
  }
  return std::nullopt;
}

SummaryFile::SummaryFile(fs::path path, bool keep) : path_(std::move(path)) {
  open(keep);
  size_ = keep ? end_of_lines(file_, path_) : 0;
  if (ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) fail(errno);
}

void SummaryFile::open(bool keep) {
  while (true) {
    file_ = Descriptor(::open(path_.c_str(), O_RDWR | O_APPEND | only_files));
    if (file_.get() < 0 && errno == ENOENT) {
      file_ = Descriptor(
          ::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_EXCL | only_files, 0666));
      if (file_.get() < 0 && errno == EEXIST) continue;
    }
    const bool link = file_.get() < 0 && errno == ELOOP;
    if (file_.get() < 0 && !link && errno != ENXIO) fail(errno);
    if (file_.get() < 0 || !is_file(file_)) {
      if (unlink(path_.c_str()) != 0 && errno != ENOENT) fail(errno);
      continue;
    }
    lock();
    struct stat own {
    }, named{};
    if (fstat(file_.get(), &own) != 0) fail(errno);
    // The process that held the lock may have replaced the file.
    if (lstat(path_.c_str(), &named) != 0 || own.st_dev != named.st_dev ||
        own.st_ino != named.st_ino) {
      continue;
    }
    if (own.st_nlink == 1) return;
    copy(keep);
  }
}

void SummaryFile::lock() const {
  // A batch that was just killed may still be ending.
  constexpr std::chrono::seconds patience(2);
  if (take_lock(file_.get(), patience)) return;
  throw Error(ErrorKind::file,
              translated("another batch is writing {1}", in_quotes(path_.native())), "",
              translated("wait for it to end, or write into another folder"));
}

// Replaces a file that has other names by a copy, since users of the other names do not expect
// changes.
void SummaryFile::copy(bool keep) const {
  AtomicFile own(path_);
  std::array<char, 1 << 16> piece;
  for (off_t offset = 0; keep;) {
    const ssize_t count = pread(file_.get(), piece.data(), piece.size(), offset);
    if (count < 0) fail_to_read(path_, errno);
    if (count == 0) break;
    own.write({piece.data(), static_cast<std::size_t>(count)});
    offset += count;
  }
  own.commit();
}

void SummaryFile::append(std::string_view line) {
  const std::lock_guard lock(guard_);
  if (failure_ != 0) fail(failure_);
  for (std::string_view rest = line; !rest.empty();) {
    const ssize_t count = write(file_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      failure_ = errno;
      // The partial line must not become the start of the next one.
      [[maybe_unused]] const int cut = ftruncate(file_.get(), static_cast<off_t>(size_));
      fail(failure_);
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  size_ += line.size();
}

void SummaryFile::sync() const {
  if (fsync(file_.get()) != 0 && errno != EINVAL && errno != ENOSYS) fail(errno);
}

void SummaryFile::keep_last_lines() const {
  const auto each_line = [&](const std::function<void(const std::string&, std::size_t)>& use) {
    std::ifstream file(path_);
    std::string line;
    for (std::size_t number = 0; std::getline(file, line); ++number) use(line, number);
  };
  std::unordered_map<std::string, std::size_t> last;
  std::size_t lines = 0;
  each_line([&](const std::string& line, std::size_t number) {
    ++lines;
    try {
      last[read_record(line).item.name] = number;
    } catch (const Error&) {
      // A line that is no record belongs to no item.
    }
  });
  if (last.size() == lines) return;
  std::unordered_set<std::size_t> kept;
  for (const auto& [name, number] : last) kept.insert(number);
  AtomicFile own(path_);
  each_line([&](const std::string& line, std::size_t number) {
    if (kept.contains(number)) own.write(line + "\n");
  });
  own.sync();
  own.commit();
}

void SummaryFile::fail(int reason) const {
  throw Error(
      ErrorKind::file,
      translated("cannot write {1}: {2}", in_quotes(path_.native()), system_error_text(reason)), "",
      reason == ENOSPC || reason == EDQUOT || reason == EFBIG
          ? translated("free some space, then go on with BatchOptions::resume")
          : translated("check the permissions of the folder and the file"));
}

SavedRecords::SavedRecords(SummaryFile& summary, fs::path folder, bool sync)
    : summary_(summary),
      folder_(std::move(folder)),
      sync_(sync),
      queue_(sync, most_waiting, [this](const auto& records) { save(records); }) {}

void SavedRecords::add(SummaryRecord record) {
  if (record.item.error) {
    summary_.append(record_line(record));  // there are no files to wait for
    return;
  }
  queue_.add(std::move(record));
}

void SavedRecords::finish() {
  queue_.finish();
  if (sync_) summary_.sync();
}

void SavedRecords::save(const std::vector<SummaryRecord>& records) {
  if (sync_) sync_file_system(folder_);
  for (const SummaryRecord& record : records) summary_.append(record_line(record));
}

}  // namespace attn
