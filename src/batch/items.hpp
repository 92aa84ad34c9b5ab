#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attn/batch.hpp"

#include "support/mapped_file.hpp"

namespace attn {

/// One document of a batch, not read yet unless it is a line.
struct ListedDocument {
  std::string name;            ///< of its folder, with / between folders; unlike all others'
  std::filesystem::path path;  ///< "-" = standard input
  /// Of a file with a document a line: the file, and the line without its end.
  std::shared_ptr<const MappedFile> lines;
  std::size_t begin = 0, size = 0;
  std::size_t line = 0;  ///< from 1; 0 = the file is the document

  /// "docs/a.json", "docs.jsonl:12", "standard input:12".
  std::string place() const;
};

/// All documents of a batch in an order that depends on nothing but the inputs: inputs as given,
/// files of a folder by name. Whatever is in the folder of the results is left out, as is every
/// file and folder below an input whose name begins with a dot. Throws Error(usage) if there are no
/// inputs, Error(file) if a folder or list cannot be read or a pattern matches nothing.
std::vector<ListedDocument> list_documents(const BatchOptions& options);

}  // namespace attn
