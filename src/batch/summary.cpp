#include "batch/summary.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "attn/error.hpp"

#include "document/object.hpp"
#include "io/json_writer.hpp"
#include "support/in_quotes.hpp"
#include "support/number_text.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

/// One line of JSON as it is written.
class LineWriter {
 public:
  void begin() { open('{'); }
  void end() { close('}'); }
  void key(std::string_view name) {
    comma();
    text_ += json_string(name) + ": ";
    fresh_ = true;
  }
  void value(std::string_view text) { add(json_string(text)); }
  void value(std::size_t number) { add(std::to_string(number)); }
  void value(double number) { add(number_text(number)); }
  void value(const std::vector<std::string>& texts) {
    comma();
    open('[');
    for (const std::string& text : texts) value(text);
    close(']');
  }
  template <class Value>
  void value(const FileValues<Value>& files) {
    comma();
    open('{');
    for (const auto& [file, of_it] : files) {
      key(file);
      value(of_it);
    }
    end();
  }
  template <class Value>
  void member(std::string_view name, const Value& of_it) {
    key(name);
    value(of_it);
  }
  void begin_member(std::string_view name) {
    key(name);
    comma();
    open('{');
  }

  std::string take() { return std::move(text_) + "\n"; }

 private:
  void open(char bracket) {
    text_ += bracket;
    fresh_ = true;
  }
  void close(char bracket) {
    text_ += bracket;
    fresh_ = false;
  }
  void comma() {
    if (!fresh_) text_ += ", ";
    fresh_ = false;
  }
  void add(const std::string& value) {
    comma();
    text_ += value;
  }

  std::string text_;
  bool fresh_ = true;
};

const JsonValue& required(const JsonValue& object, const char* key) {
  const JsonValue* value = object.find(key);
  if (value == nullptr) {
    throw input_error(std::string("the line has no \"") + key + "\"", "",
                      "this is no summary of a batch");
  }
  return *value;
}

std::string text_of(const JsonValue& object, const char* key) {
  return expect_string(required(object, key), pointer_to("", key));
}

std::size_t count_of(const JsonValue& object, const char* key) {
  return static_cast<std::size_t>(expect_integer(required(object, key), pointer_to("", key), 0));
}

std::optional<Error> error_of(const JsonValue& line) {
  const std::size_t status = count_of(line, "status");
  if (status == 0) return std::nullopt;
  constexpr std::array<ErrorKind, 4> kinds{ErrorKind::usage, ErrorKind::input, ErrorKind::file,
                                           ErrorKind::internal};
  const auto kind = std::find(kinds.begin(), kinds.end(), static_cast<ErrorKind>(status));
  if (kind == kinds.end()) {
    throw input_error("an item cannot end with " + std::to_string(status), "/status",
                      "this is no summary of a batch");
  }
  const JsonValue& error = expect_object(required(line, "error"), "/error");
  return Error(*kind, text_of(error, "problem"), text_of(error, "where"), text_of(error, "help"));
}

// A summary that other processes may be shortening: a mapping of it could end under our feet.
std::string read_whole(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) {
    throw Error(ErrorKind::file, "cannot read " + in_quotes(path.native()), "",
                "check the permissions of the file");
  }
  return text;
}

bool is_summary(const std::string& name) {
  return name == "summary.jsonl" || (name.starts_with("summary.") && name.ends_with(".jsonl") &&
                                     name.find("-of-") != std::string::npos);
}

}  // namespace

std::string record_line(const SummaryRecord& record) {
  LineWriter line;
  line.begin();
  line.member("item", record.item.name);
  line.member("input", record.item.input);
  line.member("status", static_cast<std::size_t>(record.item.status()));
  line.member("seconds", record.item.seconds);
  line.member("warnings", record.item.warnings);
  if (record.item.error) {
    line.begin_member("error");
    line.member("problem", record.item.error->problem());
    line.member("where", record.item.error->where());
    line.member("help", record.item.error->help());
    line.end();
  }
  line.member("files", record.files);
  line.member("inputs", record.inputs);
  line.member("options", record.options);
  line.member("items", record.items);
  line.member("finished", record.finished);
  line.end();
  return line.take();
}

SummaryRecord read_record(std::string_view text) {
  const JsonValue line = parse_json(text);
  expect_object(line, "");
  SummaryRecord record;
  record.item.name = text_of(line, "item");
  record.item.input = text_of(line, "input");
  record.item.seconds = expect_number(required(line, "seconds"), "/seconds");
  const JsonValue& warnings = required(line, "warnings");
  if (!warnings.is(JsonValue::Type::array)) {
    throw input_error("expected an array, found " + std::string(type_text(warnings)), "/warnings",
                      "this is no summary of a batch");
  }
  for (std::size_t i = 0; i < warnings.size(); ++i) {
    record.item.warnings.push_back(expect_string(warnings.element(i), pointer_to("/warnings", i)));
  }
  record.item.error = error_of(line);
  for (const JsonMember& file : expect_object(required(line, "files"), "/files").members()) {
    record.files.emplace_back(file.key, static_cast<std::uint64_t>(expect_integer(
                                            file.value, pointer_to("/files", file.key), 0)));
  }
  for (const JsonMember& file : expect_object(required(line, "inputs"), "/inputs").members()) {
    record.inputs.emplace_back(file.key,
                               expect_string(file.value, pointer_to("/inputs", file.key)));
  }
  record.options = text_of(line, "options");
  record.items = count_of(line, "items");
  record.finished = text_of(line, "finished");
  return record;
}

std::string summary_name(const Shard& shard) {
  if (shard.count == 1) return "summary.jsonl";
  return "summary." + std::to_string(shard.index) + "-of-" + std::to_string(shard.count) + ".jsonl";
}

Summaries Summaries::read(const fs::path& folder) {
  Summaries summaries;
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
       entry.increment(error)) {
    if (is_summary(entry->path().filename().native())) files.push_back(entry->path());
  }
  if (error) {
    throw Error(ErrorKind::file,
                "cannot read the folder " + in_quotes(folder.native()) + ": " + error.message(), "",
                "name the folder of a batch");
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string text = read_whole(file);
    std::size_t number = 0;
    for (std::size_t begin = 0, end; (end = text.find('\n', begin)) != std::string::npos;
         begin = end + 1) {
      ++number;
      const std::string_view line = std::string_view(text).substr(begin, end - begin);
      try {
        SummaryRecord record = read_record(line);
        Line& known = summaries.lines_[record.item.name];
        if (record.finished < known.finished) continue;
        known = {std::move(record.finished), std::string(line)};
      } catch (const Error& wrong) {
        throw wrong.inside(file.string() + ":" + std::to_string(number));
      }
    }
  }
  return summaries;
}

std::optional<SummaryRecord> Summaries::find(const std::string& item) const {
  const auto line = lines_.find(item);
  if (line == lines_.end()) return std::nullopt;
  return read_record(line->second.text);
}

SummaryFile::SummaryFile(fs::path path, bool keep) : path_(std::move(path)) {
  descriptor_ = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(errno);
  // A batch that was just killed may still be ending.
  constexpr int attempts = 20;
  for (int attempt = 1; flock(descriptor_, LOCK_EX | LOCK_NB) != 0; ++attempt) {
    if (errno != EWOULDBLOCK) break;  // a file system without locks
    if (attempt == attempts) {
      close(descriptor_);
      throw Error(ErrorKind::file, "another batch is writing " + in_quotes(path_.native()), "",
                  "wait for it to end, or write into another folder");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  off_t whole = 0;
  if (keep) {
    const std::string text = read_whole(path_);
    whole = static_cast<off_t>(text.rfind('\n') + 1);  // npos + 1 = 0
  }
  if (ftruncate(descriptor_, whole) != 0) {
    const int reason = errno;
    close(descriptor_);
    fail(reason);
  }
}

SummaryFile::~SummaryFile() {
  close(descriptor_);
}

void SummaryFile::append(std::string_view line) {
  const std::lock_guard lock(guard_);
  while (!line.empty()) {
    const ssize_t count = write(descriptor_, line.data(), line.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    line.remove_prefix(static_cast<std::size_t>(count));
  }
}

void SummaryFile::fail(int reason) const {
  throw Error(ErrorKind::file,
              "cannot write " + in_quotes(path_.native()) + ": " + std::strerror(reason), "",
              reason == ENOSPC || reason == EDQUOT || reason == EFBIG
                  ? "free some space, then go on with BatchOptions::resume"
                  : "check the permissions of the folder and the file");
}

}  // namespace attn
