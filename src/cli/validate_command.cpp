#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "attn/document.hpp"
#include "attn/model.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/flags_of_fields.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

struct GivenToValidate {
  Common common;
  FileAccess files;
  std::optional<std::filesystem::path> folder;
  std::vector<std::string> inputs;
};

int check(const GivenToValidate& given) {
  if (given.inputs.empty() && !given.folder) {
    throw Error(ErrorKind::usage, "no input document given", "attn-cli validate",
                "name documents, or - for standard input");
  }
  int exit_code = 0;
  std::vector<Validation> validations;
  if (given.folder) validations.push_back(validate_model({*given.folder, {}, given.files}));
  for (const std::string& input : given.inputs) {
    validations.push_back(validate(input, given.files));
  }
  for (Validation& validation : validations) {
    for (Error& problem : validation.problems) problem = with_flags(problem);
    for (const Error& problem : validation.problems) {
      exit_code = std::max(exit_code, static_cast<int>(problem.kind()));
    }
  }
  if (!given.common.quiet) {
    print(given.common.json ? validation_json(validations) : validation_text(validations));
  }
  return exit_code;
}

}  // namespace

Command validate_command() {
  const auto given = std::make_shared<GivenToValidate>();
  Command command{
      "validate",
      "Check documents without computing them",
      {"INPUT",
       "Input documents, - for standard input",
       [given = given.get()](const std::vector<std::string>& inputs) { given->inputs = inputs; },
       {},
       true},
      {},
      [given] { return check(*given); }};
  command.flags.text("--model", given->folder, "DIR", "Check a checkpoint folder too");
  add_files(command.flags, given->files);
  add_common(command.flags, given->common);
  return command;
}

}  // namespace attn::cli
