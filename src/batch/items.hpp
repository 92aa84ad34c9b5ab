#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/batch.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"

#include "document/document.hpp"

namespace attn {

/// The possible names of documents, by their numbers from 0.
struct NameChoices {
  using Name = std::function<std::string(std::size_t)>;
  std::size_t count = 0;
  Name below;  ///< path below the input that led to it: "layer0/head3.json"
  Name whole;  ///< whole path: "experiments/layer0/head3.json"
  Name line;   ///< suffix of a document in a line, ".000012"; else empty
};

/// A name for each document, unlike all others: its path below its input without ".json" or
/// ".jsonl"; where several documents share that, the whole path; if that is not enough, the path
/// with its extension, followed by "~2", "~3"… No name lies inside another, since results lie in
/// folders of these names, and none is that of a summary.
///
/// Names of lines follow from their numbers, so that millions of lines take little memory: only
/// exceptions are stored.
class UnlikeNames {
 public:
  UnlikeNames() = default;
  explicit UnlikeNames(NameChoices choices);

  std::string operator[](std::size_t index) const;

 private:
  /// The chosen name, and the one with its extension.
  std::string chosen(std::size_t index) const;
  std::string full(std::size_t index) const;

  NameChoices choices_;
  std::vector<bool> whole_;  ///< whether the name is the whole path
  std::map<std::size_t, std::string> others_;
};

/// One document of a batch, not read yet.
struct ListedDocument {
  std::string name;            ///< name of its folder, "/" between folders; unique
  std::filesystem::path path;  ///< "-" = standard input
  std::size_t line = 0;        ///< from 1; 0 = the file is the document
  bool is_text = false;        ///< a text for a model instead of a document
  bool is_picture = false;     ///< a picture for a model instead of a document

  /// "docs/a.json", "docs.jsonl:12", "standard input:12", as UTF-8.
  std::string place() const;
};

/// Throws Error(usage) where options give a text or a picture in place of each one that a batch
/// reads from `place`, all of which would have the same result.
void refuse_replaced(bool is_text, bool is_picture, const DocumentOptions& options,
                     const std::string& place);

/// The suffix of names of documents in lines: ".000012".
std::string line_suffix(std::size_t line);

/// The text of a document, and the owner of its memory.
struct DocumentText {
  std::shared_ptr<const void> owner;
  std::string_view text;
};

/// All documents of a batch. Their order depends on the inputs alone: inputs as given, files of a
/// folder by name. Files in the folder of the results are left out, and files and folders below an
/// input whose name begins with a dot. A folder or a file of lines that cannot be read, and a link
/// below an input that leads out of FileAccess::restrict_to, is listed as one document, which
/// fails.
///
/// Only the offsets of lines are stored, so that millions of lines take little memory.
class DocumentList {
 public:
  /// Throws Error(usage) if there are no inputs, Error(file) if the list of inputs or standard
  /// input cannot be read, a pattern matches nothing, or there are no documents.
  explicit DocumentList(const BatchOptions& options);
  DocumentList(const DocumentList&) = delete;
  DocumentList& operator=(const DocumentList&) = delete;

  /// Adds the files that are to be read, and the list of them.
  void add_inputs(MappedFiles& files) const;

  std::size_t size() const { return count_; }
  /// Number of times that a file was given once more, which does not list it again.
  std::size_t repeated() const { return repeated_; }
  ListedDocument operator[](std::size_t index) const;

  /// Reads the document. Throws Error(file), or Error(input) if it is too large.
  DocumentText text(std::size_t index, const FileAccess& access) const;

 private:
  class Listing;

  /// The lines of a file that are not blank.
  struct Lines {
    std::vector<std::uint64_t> begins;
    std::vector<std::uint64_t> numbers;  ///< from 1; empty = 1, 2, 3…
    DocumentText whole;  ///< text of an input that can be read only once, such as a pipe
    bool texts = false;  ///< whether each line is a text for a model
  };
  /// A file that is a document or holds documents.
  struct Source {
    std::string path;
    std::string below;      ///< path below the input that led to it
    std::size_t first = 0;  ///< number of its first document
    std::unique_ptr<Lines> lines;
    std::unique_ptr<Error> error;  ///< reason why the file cannot be read
    bool typed = false;            ///< whether the user named the very file
    bool is_picture = false;       ///< whether it is a picture for a model
    /// Length of what the user named at the beginning of `path`, if that is not all of it.
    std::size_t named = std::string::npos;
  };

  const Source& source_of(std::size_t index) const;
  std::size_t line_of(const Source& source, std::size_t index) const;

  FileAccess confined_;  ///< where links below what the user named may lead
  std::vector<Source> sources_;
  std::optional<std::filesystem::path> list_;
  std::size_t count_ = 0, repeated_ = 0;
  UnlikeNames names_;
};

/// Parses a document of a batch, with the values that the options set. A text for a model becomes a
/// document with "text". `place` names the document in errors. Throws Error(input).
Document open_batch_document(const ListedDocument& listed, const DocumentText& text,
                             const DocumentOptions& options, const std::string& place);

/// The number of jobs: fewer where the system limits the program's memory, so that each job has
/// some. 0 = one for each processor.
std::size_t jobs_in_memory(std::size_t jobs);

/// A line of a stream, without its end.
struct ArrivedLine {
  std::size_t number = 0;                   ///< from 1
  std::shared_ptr<const std::string> text;  ///< null = the line is too long
};

/// The lines of a stream, each available as soon as it has arrived.
class ArrivingLines {
 public:
  /// `descriptor` stays open. Lines longer than `most_bytes` have no text. No line follows while
  /// `*stop` is true.
  ArrivingLines(int descriptor, std::uint64_t most_bytes, const std::atomic<bool>* stop)
      : descriptor_(descriptor), most_bytes_(most_bytes), stop_(stop) {}

  /// The next line that is not blank; absent at the end. Throws Error(file) if the stream cannot be
  /// read.
  std::optional<ArrivedLine> next();

 private:
  void read_more();
  bool is_stopped() const { return stop_ != nullptr && *stop_; }

  int descriptor_;
  std::uint64_t most_bytes_;
  const std::atomic<bool>* stop_;
  std::string came_;
  std::size_t begin_ = 0;     // start of the text after the last line
  std::size_t searched_ = 0;  // no line ends before this position
  std::size_t number_ = 0;
  bool skips_ = false;  // the rest of a line that is too long
  bool ended_ = false;
};

/// The documents of a batch, one after another: those of standard input line by line as they
/// arrive, all others in the order of DocumentList.
class ArrivingDocuments {
 public:
  /// Throws as DocumentList does.
  ArrivingDocuments(const BatchOptions& options, const std::atomic<bool>* stop);

  struct Arrived {
    ListedDocument document;
    std::function<DocumentText()> text;
  };

  /// The next document of the shard; absent at the end. Throws Error(file) if standard input cannot
  /// be read.
  std::optional<Arrived> next();

  /// Whether the number of documents is unknown until the end.
  static bool unlisted(const BatchOptions& options);

 private:
  std::optional<Arrived> next_line();
  std::optional<Arrived> next_listed();

  Limits limits_;
  Shard shard_;
  bool texts_;
  std::optional<ArrivingLines> lines_;
  std::optional<DocumentList> list_;
  std::size_t index_ = 0;
};

}  // namespace attn
