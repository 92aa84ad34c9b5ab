#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "attn/error.hpp"

#include "document/keys.hpp"
#include "document/reader.hpp"

/// All problems of a document, a blank line between them, as a user reads them: those of each of
/// its kinds. Files it names are looked for in `folder`.
inline std::string problems_of(const std::string& text, const std::filesystem::path& folder = {}) {
  std::string all;
  try {
    const attn::Document document = attn::Document::parse(text, "doc.json", folder);
    attn::Problems problems;
    std::vector<attn::Kind> kinds;
    problems.attempt([&] { kinds = attn::read_kinds(document.root()); });
    for (const attn::Kind kind : kinds) attn::read_plan(document, kind, kinds, problems);
    for (const attn::Error& error : problems.errors()) {
      if (!all.empty()) all += "\n\n";
      all += document.placed(error).what();
    }
  } catch (const attn::Error& error) {
    all = error.what();
  }
  return all;
}
