#include "batch/items.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <glob.h>

#include "attn/error.hpp"

#include "batch/names.hpp"
#include "support/in_quotes.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& what, const std::string& reason,
                       const std::string& help) {
  throw Error(ErrorKind::file, what + ": " + reason, "", help);
}

bool is_hidden(const fs::path& path) {
  return path.filename().native().starts_with('.');
}

// Of a path as given: where it leads without "..", and without the root.
std::string whole_name(const fs::path& path) {
  fs::path normal = path.lexically_normal().relative_path();
  fs::path name;
  for (const fs::path& part : normal) {
    if (part != ".." && part != "." && !part.empty()) name /= part;
  }
  return name.generic_string();
}

std::string line_suffix(std::size_t line) {
  constexpr int digits = 6;
  char text[32];
  std::snprintf(text, sizeof text, ".%0*zu", digits, line);
  return text;
}

// As far as it can be told; a path that cannot be looked at is like no other one.
fs::path real_path(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored);
}

// Named pipes and devices are left alone; a link that leads nowhere is an item that fails.
bool is_readable(const fs::file_status& status) {
  return fs::is_regular_file(status) || status.type() == fs::file_type::not_found;
}

// The folders that every match of the pattern begins with, up to and with their last slash, as they
// stand in the paths of the matches: without the backslashes that take a character as it is.
std::string fixed_folders(std::string_view pattern) {
  std::string fixed;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      ++i;
    } else if (std::string_view("*?[").find(pattern[i]) != std::string_view::npos) {
      break;
    }
    fixed += pattern[i];
  }
  fixed.erase(fixed.rfind('/') + 1);
  return fixed;
}

class Listing {
 public:
  explicit Listing(const BatchOptions& options)
      : limits_{options.run.files.limits, std::nullopt, {}}, results_(real_path(options.run.out)) {}

  void add_input(const std::string& input) {
    if (input == "-") {
      add_file(input, "stdin.jsonl");
      return;
    }
    std::error_code ignored;
    const fs::path path(input);
    // What is there is meant as it stands, even if its name looks like a pattern.
    if (fs::exists(path, ignored) || input.find_first_of("*?[") == std::string::npos) {
      add_path(path);
      return;
    }
    add_pattern(input);
  }

  void add_path(const fs::path& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) {
      add_folder(path, "");
    } else {
      add_file(path, fs::path(whole_name(path)).filename().generic_string());
    }
  }

  std::vector<ListedDocument> documents() && {
    const std::vector<std::string> names = unlike_names(choices_);
    for (std::size_t i = 0; i < names.size(); ++i) found_[i].name = names[i];
    return std::move(found_);
  }

 private:
  void add_pattern(const std::string& pattern) {
    glob_t matches{};
    const int outcome = glob(pattern.c_str(), GLOB_ERR, nullptr, &matches);
    std::vector<std::string> paths;
    for (std::size_t i = 0; outcome == 0 && i < matches.gl_pathc; ++i) {
      paths.emplace_back(matches.gl_pathv[i]);
    }
    globfree(&matches);
    if (outcome == GLOB_NOSPACE) throw std::bad_alloc();
    if (outcome == GLOB_ABORTED) {
      fail("cannot read what " + in_quotes(pattern) + " matches", std::strerror(errno),
           "check the permissions of its folders");
    }
    if (paths.empty()) {
      fail("no document", "nothing matches " + in_quotes(pattern), "check the pattern");
    }
    // Names are mirrored from the first folder that varies.
    const std::string fixed = fixed_folders(pattern);
    for (const std::string& path : paths) {
      std::string below = path.substr(0, path.find_last_not_of('/') + 1);
      if (below.starts_with(fixed)) below.erase(0, fixed.size());
      std::error_code error;
      if (fs::is_directory(path, error)) {
        add_folder(path, below);
      } else {
        add_file(path, below);
      }
    }
  }

  void add_folder(const fs::path& folder, const std::string& below) {
    std::error_code error;
    if (!results_.empty() && real_path(folder) == results_) return;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      entries.push_back(*entry);
    }
    if (error) {
      fail("cannot read the folder " + in_quotes(folder.native()), error.message(),
           "check its permissions");
    }
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.path().native() < b.path().native(); });
    for (const fs::directory_entry& entry : entries) {
      const fs::path& path = entry.path();
      if (is_hidden(path)) continue;
      const std::string name =
          (below.empty() ? "" : below + "/") + path.filename().generic_string();
      // Links to folders may lead in circles.
      if (entry.is_directory(error) && !entry.is_symlink(error)) {
        add_folder(path, name);
      } else if ((path.extension() == ".json" || path.extension() == ".jsonl") &&
                 is_readable(entry.status(error))) {
        add_file(path, name);
      }
    }
  }

  void add_file(const fs::path& path, const std::string& below) {
    const bool standard_input = path == "-";
    const std::string whole = standard_input ? below : whole_name(path);
    std::error_code ignored;
    if (!seen_.insert(fs::absolute(path, ignored).lexically_normal().native()).second) return;
    if (!standard_input && path.extension() != ".jsonl") {
      add({"", path, nullptr, 0, 0, 0}, {below, whole, ""});
      return;
    }
    const auto file = MappedFile::open(path, limits_);
    const std::string_view text = file->text();
    std::size_t line = 0;
    for (std::size_t begin = 0; begin < text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      ++line;
      const std::string_view content = text.substr(begin, end - begin);
      if (content.find_first_not_of(" \t\r") != std::string_view::npos) {
        add({"", path, file, begin, content.size(), line}, {below, whole, line_suffix(line)});
      }
      begin = end + 1;
    }
  }

  void add(ListedDocument document, NameChoice choice) {
    found_.push_back(std::move(document));
    choices_.push_back(std::move(choice));
  }

  FileAccess limits_;
  fs::path results_;
  std::vector<ListedDocument> found_;
  std::vector<NameChoice> choices_;
  std::unordered_set<std::string> seen_;
};

std::vector<std::string> listed_inputs(const fs::path& list, const FileAccess& access) {
  const auto file = MappedFile::open(list, access);
  std::string_view text = file->text();
  const char end = text.find('\0') == std::string_view::npos ? '\n' : '\0';
  std::vector<std::string> inputs;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find(end), text.size());
    std::string_view input = text.substr(0, length);
    if (end == '\n' && input.ends_with('\r')) input.remove_suffix(1);
    if (!input.empty()) inputs.emplace_back(input);
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return inputs;
}

}  // namespace

std::string ListedDocument::place() const {
  const std::string file = path == "-" ? "standard input" : path.string();
  return line == 0 ? file : file + ":" + std::to_string(line);
}

std::vector<ListedDocument> list_documents(const BatchOptions& options) {
  if (options.inputs.empty() && !options.files_from) {
    throw Error(ErrorKind::usage, "no input documents given", "BatchOptions::inputs",
                "name documents, folders, patterns or .jsonl files, or a list with "
                "BatchOptions::files_from");
  }
  const bool reads_lines =
      std::find(options.inputs.begin(), options.inputs.end(), "-") != options.inputs.end();
  if (reads_lines && options.files_from == "-") {
    throw Error(ErrorKind::usage, "standard input is given both as documents and as their list",
                "BatchOptions::files_from", "leave one of them out");
  }
  Listing listing(options);
  for (const std::string& input : options.inputs) listing.add_input(input);
  if (options.files_from) {
    const FileAccess access{options.run.files.limits, std::nullopt, {}};
    for (const std::string& input : listed_inputs(*options.files_from, access)) {
      listing.add_path(input);
    }
  }
  std::vector<ListedDocument> documents = std::move(listing).documents();
  if (documents.empty()) {
    throw Error(ErrorKind::file, "there are no documents in what was given", "BatchOptions::inputs",
                "documents end in .json, files with a document a line in .jsonl");
  }
  return documents;
}

}  // namespace attn
