#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "attn/batch.hpp"

#include "batch/names.hpp"

namespace attn {

/// One document of a batch, not read yet.
struct ListedDocument {
  std::string name;            ///< of its folder, with / between folders; unlike all others'
  std::filesystem::path path;  ///< "-" = standard input
  std::size_t line = 0;        ///< from 1; 0 = the file is the document
  bool is_text = false;        ///< a text for a model, no document

  /// "docs/a.json", "docs.jsonl:12", "standard input:12", as UTF-8.
  std::string place() const;
};

/// What the number of a line adds to a name: ".000012".
std::string line_suffix(std::size_t line);

/// The text of a document and what keeps it.
struct DocumentText {
  std::shared_ptr<const void> owner;
  std::string_view text;
};

/// All documents of a batch in an order that depends on nothing but the inputs: inputs as given,
/// files of a folder by name. Whatever is in the folder of the results is left out, as is every
/// file and folder below an input whose name begins with a dot. A folder or a file of lines that
/// cannot be read is listed as one document, which fails.
///
/// Lines are kept by where they begin, so that millions of them take little memory.
class DocumentList {
 public:
  /// Throws Error(usage) if there are no inputs, Error(file) if the list of inputs or standard
  /// input cannot be read, a pattern matches nothing, or there are no documents.
  explicit DocumentList(const BatchOptions& options);
  DocumentList(const DocumentList&) = delete;
  DocumentList& operator=(const DocumentList&) = delete;

  std::size_t size() const { return count_; }
  ListedDocument operator[](std::size_t index) const;

  /// Reads the document. Throws Error(file), or Error(input) if it is too large.
  DocumentText text(std::size_t index, const FileAccess& access) const;

 private:
  class Listing;

  /// Where the lines of a file begin that are not empty.
  struct Lines {
    std::vector<std::uint64_t> begins;
    std::vector<std::uint64_t> numbers;  ///< from 1; empty = 1, 2, 3…
    DocumentText whole;                  ///< of what can be read only once, such as a pipe
    bool texts = false;                  ///< of which each is a text for a model
  };
  /// A file that is a document or holds some.
  struct Source {
    std::string path;
    std::string below;      ///< its name below the input that led to it
    std::size_t first = 0;  ///< the number of its first document
    std::unique_ptr<Lines> lines;
    std::unique_ptr<Error> error;  ///< why there is nothing to read
  };

  const Source& source_of(std::size_t index) const;
  std::size_t line_of(const Source& source, std::size_t index) const;

  std::vector<Source> sources_;
  std::size_t count_ = 0;
  UnlikeNames names_;
};

}  // namespace attn
