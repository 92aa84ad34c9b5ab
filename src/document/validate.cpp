#include "document/validate.hpp"

#include <set>
#include <string>
#include <utility>

#include "attn/document.hpp"

#include "document/keys.hpp"
#include "document/kinds.hpp"
#include "document/reader.hpp"
#include "report/facts.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

Fact::Members facts_of(const Error& error) {
  return {{"problem", error.problem()}, {"where", error.where()}, {"help", error.help()}};
}

}  // namespace

Validation validate(const std::filesystem::path& path, const FileAccess& given) {
  return validation_of(path == "-" ? translated("standard input") : path.string(), given,
                       [&](const FileAccess& access) {
                         return Document::open(path, access,
                                               {.dtype = DType::float32, .threads = 0});
                       });
}

Validation validation_of(std::string name, const FileAccess& given,
                         const std::function<Document(const FileAccess&)>& open) {
  Validation validation{std::move(name), {}};
  std::vector<Error>& all = validation.problems;
  try {
    with_whole_files(given, [&](const FileAccess& access) {
      const Document document = open(access);
      Problems problems;
      std::vector<Kind> kinds;
      if (!problems.attempt([&] { kinds = read_kinds(document.root()); })) {
        // Without a kind only the names of the keys can be judged.
        check_document_keys(document.root(), problems);
      }
      check_plans(document, kinds, problems);
      std::set<std::string> told;
      for (const Error& problem : problems.errors()) {
        const Error placed = document.placed(problem);
        // Several kinds may stumble over the same thing.
        if (told.insert(placed.what()).second) all.push_back(placed);
      }
      return true;
    });
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    all.assign(1, error);
  }
  return validation;
}

std::string validation_text(std::span<const Validation> validations) {
  std::string text;
  for (const Validation& validation : validations) {
    if (validation.problems.empty()) {
      text += validation.input + ": valid\n";
      continue;
    }
    text += validation.input + ": " +
            translated_count(validation.problems.size(), "{1} problem", "{1} problems") + "\n";
    for (const Error& problem : validation.problems) {
      for (const char c : std::string("\n") + problem.what())
        text += c == '\n' ? std::string("\n  ") : std::string(1, c);
      text += '\n';
    }
  }
  return text;
}

std::string validation_json(std::span<const Validation> validations) {
  return json_text(list_of(validations, [](const Validation& validation) {
    return object(
        {{"input", validation.input}, {"problems", list_of(validation.problems, facts_of)}});
  }));
}

std::string error_json(const Error& error) {
  Fact::Members facts = facts_of(error);
  facts.push_back({"exit_code", static_cast<std::size_t>(error.kind())});
  return json_text(object({{"error", facts}}), JsonLayout::line);
}

}  // namespace attn
