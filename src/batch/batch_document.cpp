#include <algorithm>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "attn/batch.hpp"
#include "attn/document.hpp"
#include "attn/error.hpp"

#include "batch/input_kinds.hpp"
#include "batch/items.hpp"
#include "document/document.hpp"
#include "document/reader.hpp"
#include "io/json_value.hpp"
#include "io/json_writer.hpp"
#include "report/facts.hpp"
#include "run/document_run.hpp"
#include "support/mapped_file.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "support/utf8.hpp"

namespace attn {
namespace {

// The text without the end of its line, of either system.
std::string_view line_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

using Take = std::function<void(CheckedDocument)>;

CheckedDocument checked(std::string name, const BatchOptions& options, const FileAccess& access,
                        const std::function<Document(const FileAccess&)>& open) {
  double bytes = 0;
  std::vector<std::string> warnings;
  CheckedDocument document{validation_of(std::move(name), access, open, [&](const Plan& plan) {
    bytes += foreseen_bytes(plan, options.run);
    for (const std::string& warning : plan.warnings) {
      if (std::ranges::count(warnings, warning) == 0) warnings.push_back(warning);
    }
  })};
  if (!document.problems.empty()) return document;
  document.bytes = bytes;
  document.warnings = std::move(warnings);
  return document;
}

void validate_listed(const BatchOptions& options, const Take& take) {
  const DocumentList documents(options);
  for (std::size_t i = 0; i < documents.size(); ++i) {
    const ListedDocument listed = documents[i];
    take(
        checked(listed.place(), options, options.run.document.files, [&](const FileAccess& access) {
          FileAccess anywhere = access;
          anywhere.restrict_to.reset();
          const DocumentText text = documents.text(i, anywhere);
          JsonOptions reading{.dtype = DType::float32};
          reading.owner = text.owner;
          return Document::parse(text.text, listed.place(), listed.path.parent_path(), access,
                                 reading);
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

// Whether the text has a document on each line: the first line is a whole document and more text
// follows.
bool holds_lines(std::string_view text, const FileAccess& access) {
  constexpr std::string_view space = " \t\r\n";
  const std::size_t first = text.find_first_not_of(space);
  if (first == text.npos) return false;
  const std::size_t end = text.find('\n', first);
  return end != text.npos && text.find_first_not_of(space, end) != text.npos &&
         is_json(text.substr(first, end - first), access);
}

void validate_standard_input(const BatchOptions& options, const Take& take) {
  with_whole_files(options.run.document.files, [&](const FileAccess& access) {
    const auto file = MappedFile::open(FileName::by_user("-"), access);
    std::string_view rest = file->text();
    if (!holds_lines(rest, access)) {
      take(checked(translated("standard input"), options, access,
                   [&](const FileAccess& rules) { return Document::open(file, "-", rules); }));
      return true;
    }
    const auto document = [&](std::string_view text, const std::string& name) {
      take(checked(name, options, access, [&](const FileAccess& rules) {
        JsonOptions reading{.dtype = DType::float32};
        reading.owner = file;
        return Document::parse(text, name, {}, rules, reading);
      }));
    };
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
  if (std::filesystem::is_directory(path, ignored) || has_lines(path)) return false;
  return std::filesystem::exists(path, ignored) || input.find_first_of("*?[") == std::string::npos;
}

}  // namespace

Document open_batch_document(const ListedDocument& listed, const DocumentText& text,
                             const DocumentOptions& options, const std::string& place) {
  JsonOptions reading = json_options(options);
  const bool standard_input = listed.path == "-";
  // Standard input may mix documents and texts.
  const bool is_text = listed.is_text && !(standard_input && text.text.starts_with('{'));
  refuse_replaced(is_text, listed.is_picture, options, place);
  std::string made;  // document of a text or picture alone
  if (listed.is_picture) {
    made = "{\"image\": " + json_string(listed.path.filename().native()) + "}";
  } else if (is_text) {
    std::string_view line = line_of(text.text);
    if (listed.line == 1 && line.starts_with(byte_order_mark)) {
      line.remove_prefix(byte_order_mark.size());
    }
    characters_of(line, place);  // for its error
    made = "{\"text\": " + json_string(line) + "}";
  } else {
    reading.owner = text.owner;
  }
  Document document = Document::parse(
      made.empty() ? text.text : std::string_view(made), place,
      standard_input ? std::filesystem::path() : listed.path.parent_path(), options.files, reading);
  put_options(options, document);
  return document;
}

std::size_t jobs_in_memory(std::size_t jobs) {
  constexpr std::size_t each = std::size_t{1} << 30U;
  const auto limit = address_space_limit();
  return limit ? std::min(thread_count(jobs), std::max<std::size_t>(1, *limit / each)) : jobs;
}

void validate_batch(const BatchOptions& options, const Take& take) {
  const DocumentOptions& own = options.run.document;
  if (own.model && !(own.texts.empty() && own.images.empty() && own.sounds.empty())) {
    take(checked(own.model->string(), options, own.files, [&](const FileAccess& access) {
      DocumentOptions reading = own;
      reading.files = access;
      return open_document(reading);
    }));
  }
  for (const std::string& input : options.inputs) {
    if (input == "-") {
      validate_standard_input(options, take);
    } else if (is_one_document(input)) {
      take(checked(input, options, options.run.document.files, [&](const FileAccess& access) {
        return Document::open(input, access, {.dtype = DType::float32, .threads = 0});
      }));
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

std::string checked_text(std::span<const CheckedDocument> documents) {
  const bool many = documents.size() > 1;
  std::size_t wrong = 0, doubtful = 0;
  std::string text;
  for (const CheckedDocument& document : documents) {
    wrong += document.problems.empty() ? 0 : 1;
    doubtful += document.warnings.empty() ? 0 : 1;
    if (many && document.problems.empty() && document.warnings.empty()) continue;
    const Validation& validation = document;
    text += validation_text({&validation, 1});
    if (document.bytes)
      text += "  " +
              translated("about {1} of tensors will be written", bytes_text(*document.bytes)) +
              "\n";
    for (const std::string& warning : document.warnings)
      text += "  " + translated("warning: {1}", warning) + "\n";
  }
  if (many) {
    text += (doubtful == 0 ? translated("{1} documents, {2} with problems", documents.size(), wrong)
                           : translated("{1} documents, {2} with problems, {3} with warnings",
                                        documents.size(), wrong, doubtful)) +
            "\n";
  }
  return text;
}

std::string checked_json(std::span<const CheckedDocument> documents) {
  return json_text(list_of(documents, [](const CheckedDocument& document) {
    Fact::Members facts = facts_of(static_cast<const Validation&>(document));
    if (document.bytes) facts.push_back({"bytes", static_cast<std::size_t>(*document.bytes)});
    if (document.bytes) facts.push_back({"warnings", document.warnings});
    return object(std::move(facts));
  }));
}

}  // namespace attn
