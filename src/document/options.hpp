#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attn/document.hpp"

#include "document/document.hpp"

namespace attn {

/// One thing that is set in place of what a document says.
struct Setting {
  std::string key;    ///< of the document
  std::string inner;  ///< a member of the key's object; empty = all of the key
  std::string field;  ///< of DocumentOptions, which errors name
  JsonValue value;
};

/// All that the options set. `place` says how a file or folder that they name is written into a
/// document.
std::vector<Setting> settings(
    const DocumentOptions& options,
    const std::function<std::string(const std::filesystem::path&)>& place);

/// How the document's text is best read.
JsonOptions json_options(const DocumentOptions& options);

/// The document with what the command line says put into it, so that one reader checks both.
Document open_document(const DocumentOptions& options);
/// The same of the input's file, which is open already.
Document open_document(const DocumentOptions& options,
                       const std::shared_ptr<const MappedFile>& file);

/// Puts what the command line says into a document that is open already.
void put_options(const DocumentOptions& options, Document& document);

}  // namespace attn
