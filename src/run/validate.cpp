#include <algorithm>
#include <string>

#include "attn/document.hpp"

#include "run/document.hpp"
#include "run/document_keys.hpp"

namespace attn {
namespace {

bool same(const Error& a, const Error& b) {
  return std::string(a.what()) == b.what();
}

}  // namespace

std::vector<Error> validate(const std::filesystem::path& path) {
  std::vector<Error> all;
  try {
    const Document document = Document::open(path);
    Problems problems;
    std::vector<Kind> kinds;
    if (!problems.attempt([&] { kinds = read_kinds(document.root()); })) {
      // Without a kind only the names of the keys can be judged.
      check_document_keys(document.root(), problems);
    }
    for (const Kind kind : kinds) read_document(document, kind, kinds, problems);
    for (const Error& problem : problems.errors()) {
      const Error placed = document.placed(problem);
      // Several kinds may stumble over the same thing.
      if (std::none_of(all.begin(), all.end(),
                       [&](const Error& known) { return same(known, placed); })) {
        all.push_back(placed);
      }
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    all.push_back(error);
  }
  return all;
}

}  // namespace attn
