#include <algorithm>
#include <memory>

#include "attn/error.hpp"
#include "attn/explain.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/document_flags.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

struct GivenToExplain {
  Common common;
  ExplainOptions options;
  bool markdown = false;
};

int walk_through(const GivenToExplain& given) {
  ExplainOptions options = given.options;
  options.document.threads = given.common.threads;
  if (given.markdown && given.common.json) {
    throw Error(ErrorKind::usage, "--markdown and --json are given together", "attn-cli explain",
                "choose one of them");
  }
  if (given.markdown) options.format = ExplanationFormat::markdown;
  if (given.common.json) options.format = ExplanationFormat::json;
  const ExplainOutcome outcome = explain(options);
  if (given.common.quiet) return 0;
  warn(outcome.warnings);
  print(outcome.text);
  return 0;
}

}  // namespace

Command explain_command() {
  const auto given = std::make_shared<GivenToExplain>();
  ExplainOptions& options = given->options;
  Command command{"explain",
                  "Walk through the computation for one query, step by step",
                  document_words(options.document, "attn-cli explain"),
                  {},
                  [given] { return walk_through(*given); }};
  Flags& flags = command.flags;
  add_document(flags, options.document);
  flags.count("--sample", options.sample, "N", "Sample to explain, from 0");
  flags.count("--head", options.head, "N", "Head to explain, from 0");
  flags.add("--query", "N", "Query to explain, from 0; all: each of them",
            [&](const std::string& text) {
              options.every_query = text == "all";
              if (!options.every_query) options.query = whole_number("--query", text);
            });
  flags.toggle("--full", options.full, "Leave out nothing: every term, key and component");
  flags.add("--digits", "N", "Decimals to show, 2 to 16 (default 4)", [&](const std::string& text) {
    options.digits = static_cast<int>(std::min<std::size_t>(whole_number("--digits", text), 99));
  });
  flags.add("--layer", "LAYER",
            "Layer to explain, from 0; of an encoder-decoder model encoder.N, decoder.N or cross.N",
            [&](const std::string& text) {
              const std::size_t point = text.rfind('.');
              options.stack = point == std::string::npos ? "" : text.substr(0, point);
              options.layer = whole_number(
                  "--layer", point == std::string::npos ? text : text.substr(point + 1));
            });
  Flag& analyses =
      flags.add("--analyses", "LIST", "Of a model, for that query: rollout, norms, lens",
                [&](const std::string& text) {
                  for (const std::string& part : comma_separated(text)) {
                    const std::size_t at = choice("--analyses", part, names_of(head_analyses()));
                    options.analyses.push_back(head_analyses()[at].analysis);
                  }
                });
  analyses.words = {"rollout", "norms", "lens"};
  analyses.list = true;
  flags.toggle("--markdown", given->markdown, "Print Markdown with tables and formulas");
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
