#include "cli/validate_command.hpp"

#include <algorithm>
#include <vector>

#include "attn/document.hpp"

#include "cli/flag_values.hpp"
#include "cli/output.hpp"

namespace attn::cli {

int validate_command(const ValidateArguments& arguments) {
  if (arguments.inputs.empty()) {
    throw Error(ErrorKind::usage, "no input document given", "attn-cli validate",
                "name documents, or - for standard input");
  }
  int exit_code = 0;
  std::vector<Validation> validations;
  const FileAccess access = file_access(arguments.files);
  for (const std::string& input : arguments.inputs) {
    validations.push_back(validate(input, access));
    for (const Error& problem : validations.back().problems) {
      exit_code = std::max(exit_code, static_cast<int>(problem.kind()));
    }
  }
  if (!arguments.common.quiet) {
    print(arguments.common.json ? validation_json(validations) : validation_text(validations));
  }
  return exit_code;
}

}  // namespace attn::cli
