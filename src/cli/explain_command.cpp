#include "cli/explain_command.hpp"

#include "attn/error.hpp"
#include "attn/explain.hpp"

#include "cli/document_flags.hpp"
#include "cli/flag_values.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

ExplainOptions options_of(const ExplainArguments& arguments) {
  ExplainOptions options;
  options.document = document_options(arguments, arguments.common, "attn-cli explain");
  if (arguments.sample) options.sample = whole_number("--sample", *arguments.sample);
  if (arguments.head) options.head = whole_number("--head", *arguments.head);
  if (arguments.query) options.query = whole_number("--query", *arguments.query);
  if (arguments.layer) options.layer = whole_number("--layer", *arguments.layer);
  if (arguments.markdown && arguments.common.json) {
    throw Error(ErrorKind::usage, "--markdown and --json are given together", "attn-cli explain",
                "choose one of them");
  }
  if (arguments.markdown) options.format = ExplanationFormat::markdown;
  if (arguments.common.json) options.format = ExplanationFormat::json;
  return options;
}

}  // namespace

int explain_command(const ExplainArguments& arguments) {
  const ExplainOutcome outcome = explain(options_of(arguments));
  if (arguments.common.quiet) return 0;
  warn(outcome.warnings);
  print(outcome.text);
  return 0;
}

}  // namespace attn::cli
