#include "batch/items.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <fcntl.h>
#include <glob.h>
#include <unistd.h>

#include "batch/input_kinds.hpp"
#include "support/errors.hpp"
#include "support/file_opening.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

namespace fs = std::filesystem;

Error file_error(const std::string& what, const std::string& reason, const std::string& help) {
  return {ErrorKind::file, what + ": " + reason, "", help};
}

bool is_hidden(const fs::path& path) {
  return path.filename().native().starts_with('.');
}

// A path without "..", "." and root.
std::string whole_name(const fs::path& path) {
  fs::path normal = path.lexically_normal().relative_path();
  fs::path name;
  for (const fs::path& part : normal) {
    if (part != ".." && part != "." && !part.empty()) name /= part;
  }
  return name.generic_string();
}

// The path without links; a path that cannot be examined equals no other.
fs::path real_path(const fs::path& path) {
  std::error_code ignored;
  return fs::weakly_canonical(path, ignored);
}

// Folders that glob() could not read; its callback has no argument for a list.
thread_local std::vector<std::pair<std::string, int>> unreadable_folders;

int note_unreadable(const char* folder, int reason) {
  unreadable_folders.emplace_back(folder, reason);
  return 0;
}

// The folders, with their last slash, that all matches of the pattern begin with, as they stand in
// the paths of matches: without backslashes that escape characters.
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

// Help for a pattern that matches nothing: its folders may be mistyped.
std::string help_for_pattern(const std::string& pattern) {
  std::error_code error;
  const std::string fixed = fixed_folders(pattern);
  const fs::path folder = fs::path(fixed).parent_path();
  const bool there = folder.empty() || fs::exists(folder, error) || !pattern.starts_with(fixed);
  const std::string near = there ? "" : nearest_file(folder);
  if (near.empty() || !fs::is_directory(near, error)) return translated("check the pattern");
  return translated("did you mean \"{1}\"?", near + "/" + pattern.substr(fixed.size()));
}

// The line that begins at `begin` in a file that was listed before, without its end.
std::string line_at(const ListedDocument& document, std::uint64_t begin, const Limits& limits) {
  const std::string name = in_quotes(document.path.native());
  // The file may have been replaced: opening a pipe must not block.
  const Descriptor file(open(document.path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (file.get() < 0) {
    throw file_error(translated("cannot open {1}", name), system_error_text(errno),
                     translated("check the file"));
  }
  // The end of the line before is read too, which shows whether the file was rewritten.
  const std::uint64_t from = begin == 0 ? 0 : begin - 1;
  std::string text;
  std::size_t end = std::string::npos;
  for (std::size_t piece = 4096; end == std::string::npos; piece *= 2) {
    const std::size_t used = text.size();
    if (used > limits.file_bytes) {
      throw input_error(translated("the line is longer than the limit of files"), document.place(),
                        translated("make it shorter, or raise the limit with Limits::file_bytes"));
    }
    text.resize(used + piece);
    const ssize_t count =
        pread(file.get(), text.data() + used, piece, static_cast<off_t>(from + used));
    if (count < 0)
      throw file_error(translated("cannot read {1}", name), system_error_text(errno),
                       translated("check the file"));
    text.resize(used + static_cast<std::size_t>(count));
    if (count == 0) break;
    end = text.find('\n', std::max<std::size_t>(used, begin - from));
  }
  if (text.size() <= begin - from || (begin > 0 && text[0] != '\n')) {
    throw Error(ErrorKind::file, translated("{1} was changed while the batch was reading it", name),
                document.place(),
                translated("run the batch again when no other program writes the file"));
  }
  return text.substr(begin - from, end == std::string::npos ? end : end - (begin - from));
}

FileName named(const fs::path& path, bool typed) {
  return typed ? FileName::by_user(path) : FileName::by_document("", path);
}

// A name in a list, and the number of its line, counted from 1.
struct ListedName {
  std::string name;
  std::size_t line;
};

std::vector<ListedName> listed_inputs(const fs::path& list, const FileAccess& access) {
  const auto file = MappedFile::open(FileName::by_user(list), access);
  std::string_view text = file->text();
  if (const std::size_t first = text.find_first_not_of(" \t\r\n");
      first != text.npos && text[first] == '{') {
    throw input_error(translated("this is a document, not a list of documents"), list.string(),
                      translated("name it without BatchOptions::files_from"));
  }
  const char end = text.find('\0') == std::string_view::npos ? '\n' : '\0';
  std::vector<ListedName> inputs;
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t length = std::min(text.find(end), text.size());
    std::string_view input = text.substr(0, length);
    if (end == '\n' && input.ends_with('\r')) input.remove_suffix(1);
    if (!input.empty()) inputs.push_back({std::string(input), line});
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return inputs;
}

void check_inputs(const BatchOptions& options) {
  if (options.inputs.empty() && !options.files_from) {
    throw Error(ErrorKind::usage, translated("no input documents given"), "BatchOptions::inputs",
                translated("name documents, folders, patterns or .jsonl files, or a list with "
                           "BatchOptions::files_from"));
  }
  const bool reads_lines =
      std::find(options.inputs.begin(), options.inputs.end(), "-") != options.inputs.end();
  if (reads_lines && options.files_from == "-") {
    throw Error(ErrorKind::usage,
                translated("standard input is given both as documents and as their list"),
                "BatchOptions::files_from", translated("leave one of them out"));
  }
}

}  // namespace

void refuse_replaced(bool is_text, bool is_picture, const DocumentOptions& options,
                     const std::string& place) {
  const bool texts = is_text && !options.texts.empty(), ids = is_text && !options.token_ids.empty();
  if (!texts && !ids && !(is_picture && !options.images.empty())) return;
  const char* const field = texts ? "DocumentOptions::texts"
                            : ids ? "DocumentOptions::token_ids"
                                  : "DocumentOptions::images";
  throw Error(ErrorKind::usage,
              is_picture ? translated("{1} would replace the picture {2}", field, place)
                         : translated("{1} would replace each text of {2}", field, place),
              field, translated("leave it out: what a batch reads is in its files"));
}

std::string line_suffix(std::size_t line) {
  return "." + with_zeros(line, 6);
}

class DocumentList::Listing {
 public:
  Listing(const BatchOptions& options, const FileAccess& confined, std::vector<Source>& found)
      : limits_{options.run.document.files.limits, std::nullopt, {}, {}},
        confined_(confined),
        results_(real_path(options.run.out)),
        model_(options.run.document.model.has_value()),
        checkpoint_(model_ ? real_path(*options.run.document.model) : fs::path()),
        reads_pictures_(model_ && prepares_pictures(*options.run.document.model)),
        found_(found) {}

  void add_input(const std::string& input) {
    if (input == "-") {
      auto lines = read_lines(input, !model_);
      lines->texts = model_;
      add_lines(input, "stdin.jsonl", std::move(lines));
      return;
    }
    std::error_code ignored;
    const fs::path path(input);
    if (!model_ && is_checkpoint(path)) {
      throw Error(ErrorKind::file,
                  translated("{1} is the folder of a model, not of documents", in_quotes(input)),
                  "BatchOptions::inputs", translated("give it with DocumentOptions::model"));
    }
    // An existing file is taken literally, even if its name looks like a pattern.
    if (fs::exists(path, ignored) || input.find_first_of("*?[") == std::string::npos) {
      typed_ = !fs::is_directory(path, ignored);
      add_path(path);
      typed_ = false;
      return;
    }
    add_pattern(input);
  }

  void add_path(const fs::path& path) {
    below_ = path;
    add_path(path, "", fs::path(whole_name(path)).filename());
  }

  // One that is not there fails at its line of the list.
  void add_listed(const ListedName& listed, const fs::path& list) {
    const fs::path path(listed.name);
    std::error_code error;
    if (fs::status(path, error).type() != fs::file_type::not_found) return add_path(path);
    if (is_repeated(path)) return;
    const fs::path beside = list.parent_path() / path;
    const bool meant = list != "-" && path.is_relative() && fs::exists(beside, error);
    add_error(
        path, fs::path(whole_name(path)).filename(),
        {ErrorKind::file,
         translated("cannot open {1}: {2}", in_quotes(listed.name), system_error_text(ENOENT)),
         (list == "-" ? "standard input" : path_text(list.native())) + ":" +
             std::to_string(listed.line),
         listed.name.find(" #") != listed.name.npos || listed.name.starts_with('#')
             ? translated("there are no comments in a list: take out what begins with #")
         : meant ? translated("names are relative to the current folder: write {1}",
                              path_text(beside.native()))
                 : translated("check the name: names are relative to the current folder")});
  }

  std::size_t repeated() const { return repeated_; }

 private:
  // Files of a folder are named below `folder_name`; a file, or a folder that cannot be read, has
  // the name `name`.
  void add_path(const fs::path& path, const std::string& folder_name, const std::string& name) {
    std::error_code error;
    if (leads_outside(path, name)) return;
    if (fs::is_directory(path, error)) {
      add_folder(path, folder_name, name);
    } else {
      add_file(path, name);
    }
  }

  void add_pattern(const std::string& pattern) {
    glob_t matches{};
    unreadable_folders.clear();
    const int outcome = glob(pattern.c_str(), 0, note_unreadable, &matches);
    std::vector<std::string> paths;
    for (std::size_t i = 0; outcome == 0 && i < matches.gl_pathc; ++i) {
      paths.emplace_back(matches.gl_pathv[i]);
    }
    globfree(&matches);
    if (outcome == GLOB_NOSPACE) throw std::bad_alloc();
    auto unreadable = std::exchange(unreadable_folders, {});
    std::erase_if(unreadable, [](const auto& folder) { return folder.second == ENOENT; });
    if (paths.empty() && unreadable.empty()) {
      throw file_error(translated("no document"),
                       translated("nothing matches {1}", in_quotes(pattern)),
                       pattern.find("**") == pattern.npos
                           ? help_for_pattern(pattern)
                           : translated("name the folder, which is read with those within it: {1}",
                                        path_text(fixed_folders("./" + pattern))));
    }
    // Names begin with the first folder that differs between matches.
    const std::string fixed = fixed_folders(pattern);
    const auto below_fixed = [&](const std::string& path) {
      return whole_name(path.starts_with(fixed) ? path.substr(fixed.size()) : path);
    };
    below_ = fixed;
    for (const std::string& path : paths) add_path(path, below_fixed(path), below_fixed(path));
    for (const auto& [folder, reason] : unreadable) {
      add_unreadable(folder, below_fixed(folder), system_error_text(reason));
    }
  }

  void add_folder(const fs::path& folder, const std::string& below, const std::string& name) {
    std::error_code error;
    if (!results_.empty() && real_path(folder) == results_) return;
    std::vector<fs::directory_entry> entries;
    for (fs::directory_iterator entry(folder, error); !error && entry != fs::directory_iterator();
         entry.increment(error)) {
      entries.push_back(*entry);
    }
    if (error) add_unreadable(folder, name, system_error_text(error.value()));
    const bool own = !checkpoint_.empty() && real_path(folder) == checkpoint_;
    std::sort(entries.begin(), entries.end(),
              [](const auto& a, const auto& b) { return a.path().native() < b.path().native(); });
    for (const fs::directory_entry& entry : entries) {
      const fs::path& path = entry.path();
      if (is_hidden(path) || (own && belongs_to_checkpoint(path))) continue;
      const std::string inside =
          (below.empty() ? "" : below + "/") + path.filename().generic_string();
      // Links to folders may lead in circles.
      if (entry.is_directory(error) && !entry.is_symlink(error)) {
        add_folder(path, inside, inside);
      } else if ((path.extension() == ".json" || has_lines(path) ||
                  (reads_pictures_ && is_picture(path))) &&
                 !fs::is_directory(entry.status(error)) && !leads_outside(path, inside)) {
        add_file(path, inside);
      }
    }
  }

  void add_unreadable(const fs::path& folder, const std::string& name, const std::string& reason) {
    add_error(folder, name.empty() ? "folder" : name,
              file_error(translated("cannot read the folder {1}", in_quotes(folder.native())),
                         reason, translated("check its permissions")));
  }

  void add_error(const fs::path& path, const std::string& below, const Error& error) {
    found_.push_back({path.string(), below, 0, nullptr, std::make_unique<Error>(error)});
  }

  // Whether the path is listed as an item that fails, as a link leads out of the allowed folder.
  bool leads_outside(const fs::path& path, const std::string& name) {
    try {
      refuse_links_outside(path, below_, confined_);
      return false;
    } catch (const Error& error) {
      add_error(path, name, error);
      return true;
    }
  }

  // Whether the file was found before.
  bool is_repeated(const fs::path& path) {
    std::error_code ignored;
    if (seen_.insert(fs::absolute(path, ignored).lexically_normal().native()).second) return false;
    ++repeated_;
    return true;
  }

  void add_file(const fs::path& path, const std::string& below) {
    if (is_repeated(path)) return;
    if (model_ && typed_ && (path.extension() == ".csv" || path.extension() == ".tsv")) {
      add_error(path, below,
                input_error(translated("this is a table, not texts"), path_text(path.native()),
                            translated("give a .txt file with a text on each line, or a .jsonl "
                                       "with a document on each, such as {1}",
                                       R"({"text": "…"})")));
      return;
    }
    if (model_ && typed_ && is_prose(path)) {
      add_error(path, below,
                input_error(translated("this is plain text, not an input document"),
                            path_text(path.native()), call_it_texts(path)));
      return;
    }
    const bool texts = model_ && path.extension() == ".txt";
    if (!has_lines(path) && !texts) {
      found_.push_back({path.string(), below, 0, nullptr, nullptr, typed_,
                        model_ && is_picture(path), below_.native().size()});
      return;
    }
    try {
      auto lines = read_lines(path, !texts);
      lines->texts = texts;
      add_lines(path, below, std::move(lines));
      found_.back().named = below_.native().size();
    } catch (const Error& error) {
      add_error(path, below, error);
    }
  }

  void add_lines(const fs::path& path, const std::string& below, std::unique_ptr<Lines> lines) {
    found_.push_back({path.string(), below, 0, std::move(lines), nullptr});
  }

  std::unique_ptr<Lines> read_lines(const fs::path& path, bool documents) const {
    return with_whole_files(limits_, [&](const FileAccess& access) {
      const auto file = MappedFile::open(named(path, typed_ || path == "-"), access);
      const std::string_view text = file->text();
      refuse_utf_16(text, path);
      if (documents) {
        refuse_summary(text, path);
        refuse_other_lines(text, path);
      }
      auto lines = std::make_unique<Lines>();
      bool all = true;
      std::uint64_t number = 0;
      for (std::size_t begin = 0; begin < text.size();) {
        const std::size_t end = std::min(text.find('\n', begin), text.size());
        ++number;
        const std::string_view content = text.substr(begin, end - begin);
        if (content.find_first_not_of(" \t\r") != std::string_view::npos) {
          lines->begins.push_back(begin);
          if (!all) lines->numbers.push_back(number);
        } else if (std::exchange(all, false)) {
          for (std::uint64_t before = 1; before < number; ++before) {
            lines->numbers.push_back(before);
          }
        }
        begin = end + 1;
      }
      lines->begins.shrink_to_fit();
      if (!file->can_be_read_again()) lines->whole = {file, text};
      return lines;
    });
  }

  FileAccess limits_;
  const FileAccess& confined_;
  fs::path below_;  // what the user named of the path that is added
  fs::path results_;
  bool model_;           // whether lines of .txt files are texts for a model
  fs::path checkpoint_;  // of the model, whose own files are no documents
  bool reads_pictures_;  // whether pictures in folders are for the model
  bool typed_ = false;   // whether the user named the very file that is added
  std::vector<Source>& found_;
  std::unordered_set<std::string> seen_;
  std::size_t repeated_ = 0;  // files that were found before
};

std::string ListedDocument::place() const {
  const std::string file = path == "-" ? "standard input" : path_text(path.native());
  return line == 0 ? file : file + ":" + std::to_string(line);
}

DocumentList::DocumentList(const BatchOptions& options)
    : confined_{{}, options.run.document.files.restrict_to, {}, {}}, list_(options.files_from) {
  check_inputs(options);
  Listing listing(options, confined_, sources_);
  for (const std::string& input : options.inputs) listing.add_input(input);
  if (options.files_from) {
    const auto inputs = with_whole_files(
        FileAccess{options.run.document.files.limits, std::nullopt, {}, {}},
        [&](const FileAccess& access) { return listed_inputs(*options.files_from, access); });
    for (const ListedName& input : inputs) listing.add_listed(input, *options.files_from);
  }
  repeated_ = listing.repeated();
  for (Source& source : sources_) {
    // Lines of standard input may be documents too.
    refuse_replaced(source.lines && source.lines->texts && source.path != "-", source.is_picture,
                    options.run.document, path_text(source.path));
    source.first = count_;
    count_ += source.lines ? source.lines->begins.size() : 1;
  }
  if (count_ == 0) {
    const bool own = std::ranges::any_of(options.inputs, [&](const std::string& input) {
      std::error_code none;
      return std::filesystem::equivalent(input, options.run.out, none);
    });
    // Folders are read for documents alone.
    std::string texts;
    for (const std::string& input : options.inputs) {
      if (texts.empty() && options.run.document.model && holds_texts(input)) texts = input;
    }
    // Files of lines are all that has no document here, and the first of them is named.
    const Source* const file =
        sources_.empty() || sources_.front().path == "-" ? nullptr : &sources_.front();
    throw Error(ErrorKind::file,
                own ? translated("the folder of the results is that of the documents, and results "
                                 "are not read")
                : file == nullptr    ? translated("there are no documents in what was given")
                : file->lines->texts ? translated("{1} has no text", in_quotes(file->path))
                                     : translated("{1} has no document", in_quotes(file->path)),
                own ? "RunOptions::out" : "BatchOptions::inputs",
                own ? translated("give another folder")
                : !texts.empty()
                    ? translated("write {1}", "'" + texts + "/*.txt'")
                    : translated("documents end in .json, files with one document per line in "
                                 ".jsonl, files with one text per line in .txt"));
  }
  names_ =
      UnlikeNames({count_, [this](std::size_t index) { return path_text(source_of(index).below); },
                   [this](std::size_t index) {
                     const Source& source = source_of(index);
                     return path_text(source.path == "-" ? source.below : whole_name(source.path));
                   },
                   [this](std::size_t index) {
                     const std::size_t line = line_of(source_of(index), index);
                     return line == 0 ? std::string() : line_suffix(line);
                   }});
}

void DocumentList::add_inputs(MappedFiles& files) const {
  for (const Source& source : sources_) files.add(fs::path(source.path));
  if (list_) files.add(*list_);
}

const DocumentList::Source& DocumentList::source_of(std::size_t index) const {
  const auto next = std::upper_bound(
      sources_.begin(), sources_.end(), index,
      [](std::size_t number, const Source& source) { return number < source.first; });
  return *std::prev(next);
}

std::size_t DocumentList::line_of(const Source& source, std::size_t index) const {
  if (!source.lines) return 0;
  const std::vector<std::uint64_t>& numbers = source.lines->numbers;
  return numbers.empty() ? index - source.first + 1 : numbers[index - source.first];
}

ListedDocument DocumentList::operator[](std::size_t index) const {
  const Source& source = source_of(index);
  return {names_[index], source.path, line_of(source, index), source.lines && source.lines->texts,
          source.is_picture};
}

DocumentText DocumentList::text(std::size_t index, const FileAccess& access) const {
  const Source& source = source_of(index);
  if (source.error) throw Error(*source.error);
  // A link may have replaced the file since it was listed.
  refuse_links_outside(source.path, source.path.substr(0, source.named), confined_);
  if (!source.lines) {
    const auto file = MappedFile::open(named(source.path, source.typed), access);
    return {file, file->text()};
  }
  const std::uint64_t begin = source.lines->begins[index - source.first];
  if (const DocumentText& whole = source.lines->whole; whole.owner) {
    const std::size_t end = std::min(whole.text.find('\n', begin), whole.text.size());
    return {whole.owner, whole.text.substr(begin, end - begin)};
  }
  const auto line =
      std::make_shared<const std::string>(line_at((*this)[index], begin, access.limits));
  return {line, *line};
}

}  // namespace attn
