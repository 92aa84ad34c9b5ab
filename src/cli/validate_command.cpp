#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "attn/batch.hpp"
#include "attn/document.hpp"
#include "attn/language.hpp"
#include "attn/model.hpp"
#include "attn/terminal.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/flags.hpp"
#include "cli/model_flags.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

struct GivenToValidate {
  Common common;
  BatchOptions batch;  ///< the documents, and a model with what it reads
};

int check(const GivenToValidate& given) {
  const DocumentOptions& model = given.batch.run.document;
  const bool reads = !model.texts.empty() || !model.images.empty();
  if (reads && !model.model) {
    throw Error(ErrorKind::usage, translated("--text or --image is given without --model"),
                "attn-cli validate",
                translated("name the checkpoint folder that reads it with --model"));
  }
  if (given.batch.inputs.empty() && !given.batch.files_from && !model.model) {
    throw Error(ErrorKind::usage, translated("no input document given"), "attn-cli validate",
                translated("name documents, folders or .jsonl files, or - for standard input"));
  }
  int exit_code = 0;
  std::vector<CheckedDocument> documents;
  if (model.model && !reads) {
    documents.push_back(
        {validate_model({*model.model, model.architecture, model.files}), std::nullopt});
  }
  validate_batch(given.batch,
                 [&](CheckedDocument document) { documents.push_back(std::move(document)); });
  for (CheckedDocument& validation : documents) {
    for (Error& problem : validation.problems) problem = with_flags(problem);
    for (const Error& problem : validation.problems) {
      exit_code = std::max(exit_code, static_cast<int>(problem.kind()));
    }
  }
  if (given.common.quiet) return exit_code;
  print(given.common.json ? checked_json(documents) : terminal_lines(checked_text(documents)));
  return exit_code;
}

}  // namespace

Command validate_command() {
  const auto given = std::make_shared<GivenToValidate>();
  Command command{"validate",
                  translated("Check documents without computing them"),
                  {"INPUT…",
                   translated("Documents, folders, patterns, .jsonl files; - for standard input"),
                   [given = given.get()](const std::vector<std::string>& inputs) {
                     given->batch.inputs = inputs;
                   },
                   {},
                   true},
                  {},
                  [given] { return check(*given); }};
  add_model(command.flags, given->batch.run.document);
  command.flags.begin_group(FlagGroup::input);
  command.flags.text("--files-from", given->batch.files_from, "LIST",
                     translated("File with one input per line, - for standard input"));
  add_files(command.flags, given->batch.run.document.files);
  add_common(command.flags, given->common);
  return command;
}

}  // namespace attn::cli
