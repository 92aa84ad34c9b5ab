#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attn/io.hpp"
#include "attn/run.hpp"

#include "temporary_folder.hpp"

/// Result of attn::run for a document, without pictures.
struct DocumentResult {
  std::vector<attn::RunReport> reports;
  std::string bytes;  ///< of result.json; empty with several kinds

  attn::Tensor tensor(std::string_view name) const {
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    return attn::TensorFile::from_memory({first, bytes.size()}, nullptr, "result.json").read(name);
  }
};

/// Runs a document that stands in `folder`; the results go to a folder "out" there.
inline DocumentResult run_document(const std::string& text, const TemporaryFolder& folder,
                                   const std::vector<attn::Kind>& kinds = {}) {
  attn::RunOptions options;
  options.document.input = folder.write("doc.json", text);
  options.out = folder / "out";
  options.document.attention = kinds;
  options.stages = true;
  options.plots = {};
  return {attn::run(options).reports, read_text(folder / "out/result.json")};
}

inline DocumentResult run_document(const std::string& text) {
  const TemporaryFolder folder;
  return run_document(text, folder);
}
