#include "cli/document_flags.hpp"

#include <cstdint>

#include "attn/document.hpp"

#include "cli/common_flags.hpp"

namespace attn::cli {

void add_document(Flags& flags, DocumentOptions& options) {
  add_kind(flags, "Kind of attention, instead of the document's; again for several",
           [&](Kind kind) { options.attention.push_back(kind); })
      .repeats = true;
  flags.toggle("--causal", options.causal, "Hide the keys after each query");
  flags.add("--valid-lens", "N,N,…", "Valid keys, one number a sample",
            [&](const std::string& text) {
              options.valid_lens.emplace();
              for (const std::string& part : comma_separated(text)) {
                options.valid_lens->push_back(
                    static_cast<std::int64_t>(whole_number("--valid-lens", part)));
              }
            });
  flags.count("--heads", options.heads, "N", "Heads to split tensors without a head axis into", 1);
  flags.add("--scale", "X", "Factor of the scores",
            [&](const std::string& text) { options.scale = finite_number("--scale", text); });
  flags.add("--seed", "N", "Seed of random tensors",
            [&](const std::string& text) { options.seed = integer("--seed", text); });
  flags.choice("--dtype", options.dtype, document_dtypes(), "TYPE");
  add_files(flags, options.files);
}

Words document_words(DocumentOptions& options, const std::string& command) {
  return {"INPUT",
          "Input document, - for standard input",
          [&options, command](const std::vector<std::string>& inputs) {
            if (inputs.empty()) {
              throw Error(ErrorKind::usage, "no input document given", command,
                          "name a document, or - for standard input; data/ has examples");
            }
            if (inputs.size() > 1) {
              throw Error(ErrorKind::usage,
                          "more than one input document given: \"" + inputs[1] + "\" is the second",
                          command, "run them one by one, or use attn-cli batch");
            }
            options.input = inputs[0];
          },
          {},
          true};
}

}  // namespace attn::cli
