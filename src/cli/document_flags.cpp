#include "cli/document_flags.hpp"

#include <cstdint>

#include "attn/error.hpp"

#include "cli/flag_values.hpp"

namespace attn::cli {

std::string one_input(const DocumentArguments& arguments, const std::string& command) {
  if (arguments.inputs.empty()) {
    throw Error(ErrorKind::usage, "no input document given", command,
                "name a document, or - for standard input; data/ has examples");
  }
  if (arguments.inputs.size() > 1) {
    throw Error(ErrorKind::usage,
                "more than one input document given: \"" + arguments.inputs[1] + "\" is the second",
                command, "run them one by one, or use attn-cli batch");
  }
  return arguments.inputs[0];
}

DocumentOptions document_options(const DocumentArguments& arguments, const CommonArguments& common,
                                 const std::string& command) {
  DocumentOptions options = document_overrides(arguments, common);
  options.input = one_input(arguments, command);
  return options;
}

DocumentOptions document_overrides(const DocumentArguments& arguments,
                                   const CommonArguments& common) {
  DocumentOptions options;
  options.attention = arguments.attention;
  options.dtype = arguments.dtype;
  if (arguments.heads) options.heads = whole_number("--heads", *arguments.heads, 1);
  if (arguments.scale) options.scale = finite_number("--scale", *arguments.scale);
  if (arguments.seed) options.seed = integer("--seed", *arguments.seed);
  if (arguments.valid_lens) {
    options.valid_lens.emplace();
    for (const std::string& part : comma_separated(*arguments.valid_lens)) {
      options.valid_lens->push_back(static_cast<std::int64_t>(whole_number("--valid-lens", part)));
    }
  }
  options.causal = arguments.causal;
  if (common.threads) options.threads = whole_number("--threads", *common.threads, 1);
  options.files = file_access(arguments.files);
  return options;
}

}  // namespace attn::cli
