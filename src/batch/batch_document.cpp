#include "batch/batch_document.hpp"

#include <algorithm>
#include <new>
#include <string_view>

#include "document/document.hpp"
#include "io/json_writer.hpp"
#include "support/memory_limit.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// Without what a file of lines of another system ends them with.
std::string_view line_of(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  if (text.ends_with('\r')) text.remove_suffix(1);
  return text;
}

}  // namespace

Document open_batch_document(const ListedDocument& listed, const DocumentText& text,
                             const DocumentOptions& options, const std::string& place) {
  JsonOptions reading = json_options(options);
  const bool standard_input = listed.path == "-";
  // On standard input documents and texts may follow one another.
  const bool is_text = listed.is_text && !(standard_input && text.text.starts_with('{'));
  if (!is_text) reading.owner = text.owner;
  const std::string text_document =
      is_text ? "{\"text\": " + json_string(line_of(text.text)) + "}" : "";
  Document document = Document::parse(
      is_text ? std::string_view(text_document) : text.text, place,
      standard_input ? std::filesystem::path() : listed.path.parent_path(), options.files, reading);
  put_options(options, document);
  return document;
}

Error error_of(const std::exception& exception) {
  if (const auto* error = dynamic_cast<const Error*>(&exception)) return *error;
  if (dynamic_cast<const std::bad_alloc*>(&exception) != nullptr) {
    return input_error(
        translated("there is not enough memory"), "",
        translated("make the tensors smaller, run fewer jobs, or raise the memory limit"));
  }
  return {ErrorKind::internal, exception.what(), "",
          translated("this is a bug of attn-cli: please report it with the input that shows it")};
}

void reword(BatchItem& item, const BatchOptions& options) {
  const auto& wording = options.wording;
  if (!wording) return;
  for (std::string& warning : item.warnings) warning = wording(warning);
  if (!item.error) return;
  const Error& error = *item.error;
  item.error =
      Error(error.kind(), wording(error.problem()), wording(error.where()), wording(error.help()));
}

std::size_t jobs_in_memory(std::size_t jobs) {
  constexpr std::size_t each = std::size_t{1} << 30U;
  const auto limit = address_space_limit();
  return limit ? std::min(thread_count(jobs), std::max<std::size_t>(1, *limit / each)) : jobs;
}

}  // namespace attn
