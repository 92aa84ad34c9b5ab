#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "attn/batch.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"

#include "batch/items.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "io/json_value.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

using Take = std::function<void(Validation)>;

void validate_listed(const BatchOptions& options, const Take& take) {
  const DocumentList documents(options);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const ListedDocument listed = documents[i];
    take(validation_of(listed.place(), options.run.document.files, [&](const FileAccess& access) {
      FileAccess anywhere = access;
      anywhere.restrict_to.reset();
      const DocumentText text = documents.text(i, anywhere);
      JsonOptions reading{.dtype = DType::float32};
      reading.owner = text.owner;
      return Document::parse(text.text, listed.place(), listed.path.parent_path(), access, reading);
    }));
  }
}

bool is_json(std::string_view text, const FileAccess& access) {
  try {
    parse_json(text, {.depth = access.limits.nesting});
    return true;
  } catch (const Error&) {
    return false;
  }
}

// One document of any number of lines, or one a line: then the first line is a document by itself
// and others follow.
bool holds_lines(std::string_view text, const FileAccess& access) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == text.npos) return false;
  const std::size_t end = text.find('\n', first);
  return end != text.npos && text.find_first_not_of(space, end) != text.npos &&
         is_json(text.substr(first, end - first), access);
}

void validate_standard_input(const FileAccess& files, const Take& take) {
  with_whole_files(files, [&](const FileAccess& access) {
    const auto file = MappedFile::open("-", access);
    const auto document = [&](std::string_view text, const std::string& name) {
      take(validation_of(name, access, [&](const FileAccess& rules) {
        JsonOptions reading{.dtype = DType::float32};
        reading.owner = file;
        return Document::parse(text, name, {}, rules, reading);
      }));
    };
    std::string_view rest = file->text();
    if (!holds_lines(rest, access)) {
      document(rest, translated("standard input"));
      return true;
    }
    for (std::size_t number = 1; !rest.empty(); ++number) {
      const std::size_t end = std::min(rest.find('\n'), rest.size());
      const std::string_view line = rest.substr(0, end);
      if (line.find_first_not_of(" \t\r") != line.npos) {
        document(line, "standard input:" + std::to_string(number));
      }
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return true;
  });
}

bool is_one_document(const std::string& input) {
  const std::filesystem::path path(input);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored) || path.extension() == ".jsonl") return false;
  return std::filesystem::exists(path, ignored) || input.find_first_of("*?[") == std::string::npos;
}

}  // namespace

void validate_batch(const BatchOptions& options, const Take& take) {
  for (const std::string& input : options.inputs) {
    if (input == "-") {
      validate_standard_input(options.run.document.files, take);
    } else if (is_one_document(input)) {
      take(validate(input, options.run.document.files));
    } else {
      BatchOptions one = options;
      one.inputs = {input};
      one.files_from.reset();
      one.run.out.clear();
      validate_listed(one, take);
    }
  }
  if (!options.files_from) return;
  BatchOptions listed = options;
  listed.inputs.clear();
  listed.run.out.clear();
  validate_listed(listed, take);
}

}  // namespace attn
