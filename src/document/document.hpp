#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/file_access.hpp"
#include "attn/io.hpp"

#include "io/json_value.hpp"
#include "support/errors.hpp"
#include "support/mapped_file.hpp"

namespace attn {

/// Help for a text that begins as one array of documents or of texts, which is read from files with
/// one on each line; empty for other texts. `path` is that of its file.
std::string lines_of_array(std::string_view text, const std::filesystem::path& path);

/// Whether a file with tensors of these names is a document: it has "query", "key" and "value".
bool state_attention(std::span<const std::string> names);

/// Whether the bytes are of a format that holds tensors and nothing else.
bool holds_tensors_alone(std::span<const std::byte> bytes);

/// A parsed input document, with the values that options put in place of its own.
class Document {
 public:
  /// Reads and parses a file ("-" = standard input) of any folder: JSON, or tensors by the names of
  /// a document's keys, "query", "key" and "value" among them, whose scaled dot products are
  /// attended to unless options name another kind. `access` limits its size, its nesting and the
  /// files that it names. Throws Error(file) or Error(input).
  static Document open(const std::filesystem::path& path, const FileAccess& access = {},
                       const JsonOptions& options = {.dtype = DType::float32});
  /// Parses a file that is open already.
  static Document open(const std::shared_ptr<const MappedFile>& file,
                       const std::filesystem::path& path, const FileAccess& access,
                       const JsonOptions& options = {.dtype = DType::float32});
  static Document parse(std::string_view text, std::string name, std::filesystem::path folder,
                        const FileAccess& access = {},
                        const JsonOptions& options = {.dtype = DType::float32});

  /// Replaces or adds a top-level member, or the member `inner` of a top-level object. Errors at
  /// that member name `field` instead.
  void override_with(std::string_view key, JsonValue value, std::string field);
  void override_inside(std::string_view key, std::string_view inner, JsonValue value,
                       std::string field);

  /// Takes a file that options name for one that the user gave.
  void give(std::filesystem::path path) { access_.given.push_back(std::move(path)); }

  /// `generated` as in DocumentOptions; may be empty.
  void watch_generation(std::function<void(std::size_t done, std::size_t all)> generated) {
    generated_ = std::move(generated);
  }

  /// The error with a place for users: "doc.json, /query/1", or the field that set the value. An
  /// error that names a field already stays unchanged.
  Error placed(const Error& error) const;

  const JsonValue& root() const noexcept { return root_; }
  /// Files of tensors that are open already, by the names that root() has for them.
  const std::map<std::string, TensorFile>& files() const noexcept { return files_; }
  const std::filesystem::path& folder() const noexcept { return folder_; }
  /// Warnings of values that options put in place of others and that may be meant otherwise.
  const std::vector<std::string>& doubts() const noexcept { return doubts_; }
  const std::string& name() const noexcept { return name_; }
  const FileAccess& access() const noexcept { return access_; }
  const std::function<void(std::size_t, std::size_t)>& generated() const noexcept {
    return generated_;
  }

 private:
  static Document of_tensors(TensorFile file, const std::filesystem::path& path,
                             const FileAccess& access);

  JsonValue root_;
  std::map<std::string, TensorFile> files_;
  std::string name_;
  std::filesystem::path folder_;
  FileAccess access_;
  std::function<void(std::size_t done, std::size_t all)> generated_;
  std::vector<std::pair<std::string, std::string>> fields_;  ///< JSON pointer → field
  std::vector<std::string> doubts_;
};

/// A value that options put in place of a document's own.
struct Setting {
  std::string key;    ///< key of the document
  std::string inner;  ///< member of the key's object; empty = the whole value
  std::string field;  ///< "DocumentOptions::scale", for errors
  JsonValue value;
};

/// All values that the options set. `place` gives the text for a file or folder that they name.
std::vector<Setting> settings(
    const DocumentOptions& options,
    const std::function<std::string(const std::filesystem::path&)>& place);

/// The type of numbers and the threads for parsing a document with these options.
JsonOptions json_options(const DocumentOptions& options);

/// Opens the input and puts the options into it, so that one reader checks both.
Document open_document(const DocumentOptions& options);
/// Parses the input's file, which is open already.
Document open_document(const DocumentOptions& options,
                       const std::shared_ptr<const MappedFile>& file);

/// Puts the options into a document that is open already.
void put_options(const DocumentOptions& options, Document& document);

/// Collects the problems of a document, so that all of them are reported at once.
class Problems {
 public:
  /// Runs the step and stores the errors that it throws. Returns whether there was none. A step is
  /// not run if no further error is kept: making a million of them takes seconds.
  template <class Step>
  bool attempt(Step&& step) {
    if (is_full()) return false;
    try {
      std::forward<Step>(step)();
      return true;
    } catch (const SeveralErrors& several) {
      for (const Error& error : several.errors()) add(error);
      return false;
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      add(error);
      return false;
    }
  }

  /// Keeps the error, unless there are thousands already.
  void add(Error error) {
    if (!is_full()) errors_.push_back(std::move(error));
  }

  /// Whether there are so many errors that no further one is kept.
  bool is_full() const noexcept {
    constexpr std::size_t most = 2000;
    return errors_.size() >= most;
  }

  const std::vector<Error>& errors() const noexcept { return errors_; }

  void throw_first() const {
    if (!errors_.empty()) throw errors_.front();
  }
  void throw_all() const {
    if (!errors_.empty()) throw SeveralErrors(errors_);
  }

 private:
  std::vector<Error> errors_;
};

/// The document's names of the parts of a request, for errors in the user's words: "/x" for the
/// request's "/query", "/parameters/query.weight" for "/parameters/W_q.weight".
class DocumentNames {
 public:
  /// Renames the request's tensor `ours` to the document's member `theirs`.
  void tensor(const std::string& ours, const std::string& theirs);

  /// Shows the parameter `ours` as `shown` in texts, at the JSON pointer `place`.
  void parameter(const std::string& ours, const std::string& shown, const std::string& place);

  Error named(const Error& error) const;

 private:
  struct Renaming {
    std::string pointer, place;  // in the error's place
    std::string text, shown;     // in its texts
  };
  std::vector<Renaming> renamings_;
};

/// Title of a document as readers see it: in the language of speak() for the examples that come
/// with the program, unchanged for all others. Results keep the title of their document.
std::string shown_title(const std::string& title);

}  // namespace attn
