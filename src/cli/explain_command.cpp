#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/explain.hpp"
#include "attn/language.hpp"
#include "attn/terminal.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/map_flags.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

constexpr std::string_view explained_analyses[]{"rollout", "norms", "lens"};

struct GivenToExplain {
  Common common;
  ExplainOptions options;
  bool markdown = false, csv = false;
};

int walk_through(const GivenToExplain& given) {
  ExplainOptions options = given.options;
  options.document.threads = given.common.threads;
  const std::pair<bool, const char*> formats[]{
      {given.markdown, "--markdown"}, {given.csv, "--csv"}, {given.common.json, "--json"}};
  const char* chosen = nullptr;
  for (const auto& [wanted, name] : formats) {
    if (!wanted) continue;
    if (chosen != nullptr) {
      throw Error(ErrorKind::usage, translated("{1} and {2} are given together", chosen, name),
                  "attn-cli explain", translated("choose one of them"));
    }
    chosen = name;
  }
  if (given.csv) options.format = ExplanationFormat::csv;
  if (given.markdown) options.format = ExplanationFormat::markdown;
  if (given.common.json) options.format = ExplanationFormat::json;
  if (options.layer && options.logit && !options.why && options.analyses.empty()) {
    throw Error(ErrorKind::usage, translated("{1} has no effect with {2}", "--layers", "--logit"),
                "--layers",
                translated("leave it out; in place of {1}, {2} shows the likeliest tokens of each "
                           "layer",
                           "--logit", "--analyses lens"));
  }
  ProgressLine progress(given.common.quiet);
  show_generation(options.document, progress);
  const ExplainOutcome outcome = explain(options);
  progress.clear();
  if (!given.common.quiet) warn(outcome.warnings);
  print(given.common.json || given.csv ? outcome.text : terminal_lines(outcome.text));
  return 0;
}

// Takes one document, or several files of maps.
void take_words(const std::vector<std::string>& words, ExplainOptions& options,
                const std::function<void(const std::vector<std::string>&)>& take_one) {
  if (words.size() < 2) {
    take_one(words);
    return;
  }
  const bool name = words.size() == 2 && words[1].find_first_of("./*?") == std::string::npos;
  if (name && !std::filesystem::exists(words[1])) {
    throw Error(ErrorKind::usage, translated("unexpected argument \"{1}\"", words[1]),
                "attn-cli explain", translated("write {1}", "--query " + words[1]));
  }
  options.document.input = words[0];
  options.maps.others.assign(words.begin() + 1, words.end());
}

// Adds the flags that choose among existing maps. --heads, the number of heads that tensors of a
// document are split into, chooses heads of maps too, as --head does.
void add_maps(Flags& flags, ExplainOptions& options) {
  MapSelection& selection = options.maps.selection;
  add_shown(flags, "--head",
            translated("Head to explain, counted from 0; for maps also several, mean, max or all"),
            {selection.heads, selection.chosen_heads, options.head});
  let_heads_choose(flags);
  Flags of_maps;
  add_map_source(of_maps, options.maps);
  for (Flag& flag : of_maps) {
    if (flag.name == "--layers" || flag.name == "--layer") {
      flag.help = translated(
          "Layers to explain, counted from 0: one of a model, of an encoder-decoder "
          "encoder.N, decoder.N or cross.N; of maps also several, their mean or max");
      flag.take = [take = flag.take, &options](const std::string& text) {
        if (take_layer(text, options)) return;
        take(text);
        MapSelection& chosen = options.maps.selection;
        if (!chosen.layers) chosen.layers.emplace(1);  // all of them
      };
    }
    flags.push_back(flag);
  }
}

}  // namespace

Command explain_command() {
  const auto given = std::make_shared<GivenToExplain>();
  ExplainOptions& options = given->options;
  Command command{"explain",
                  translated("Walk through the computation for one query, step by step"),
                  document_words(options.document, "attn-cli explain"),
                  {},
                  [given] { return walk_through(*given); }};
  command.words.help =
      translated("Document, result, its folder, or files of maps, - for standard input");
  command.words.take = [&options, take = command.words.take](const auto& words) {
    take_words(words, options, take);
  };
  Flags& flags = command.flags;
  add_document(flags, options.document);
  flags.begin_group(FlagGroup::input);
  flags.add("--sample", "N", translated("Sample to explain, counted from 0"),
            [&](const std::string& text) { options.sample = position_of("--sample", text); });
  add_maps(flags, options);
  flags.begin_group(FlagGroup::input);
  flags.add(
      "--query", "N|TOKEN",
      translated(
          "Query to explain: counted from 0, its token, ROW,COLUMN of a patch, or all (default "
          "0; with --why and --logit the last, or the mask token)"),
      [&](const std::string& text) {
        options.every_query = text == "all";
        options.query_token.reset();
        if (options.every_query) return;
        if (!is_digits(text)) {
          options.query_token = text;
          return;
        }
        options.query = whole_number("--query", text);
        options.split_query = options.query;
      });
  flags.begin_group(FlagGroup::output);
  flags.toggle("--full", options.full,
               translated("Leave out nothing: every term, key and component"));
  flags.add("--digits", "N", translated("Decimals to show, 2 to 16 (default 4)"),
            [&](const std::string& text) {
              constexpr std::size_t fewest = 2, most = 16;
              const std::size_t digits = whole_number("--digits", text);
              if (digits < fewest || digits > most)
                throw wrong_value("--digits", text, translated("decimals from 2 to 16"));
              options.digits = static_cast<int>(digits);
            });
  Flag& analyses = flags.add(
      "--analyses", "LIST", translated("For a model, analyses of that query: rollout, norms, lens"),
      [&](const std::string& text) {
        for (const std::string& part : comma_separated(text)) {
          const auto row = std::ranges::find(head_analyses(), part, &HeadAnalysisInfo::name);
          // The others are refused by explain().
          if (row == head_analyses().end()) choice("--analyses", part, explained_analyses);
          options.analyses.push_back(row->analysis);
        }
      });
  analyses.words.assign(std::begin(explained_analyses), std::end(explained_analyses));
  analyses.list = true;
  flags
      .add("--why", "LAYER.HEAD",
           translated("For a model: the score of the query and the key as a sum over what the "
                      "layers before wrote (default: of --layers and --head)"),
           [&](const std::string& text) {
             options.why = true;
             if (text.empty()) return;
             const auto layer = options.layer;
             const std::size_t head = options.head;
             const std::string stack = options.stack;
             take_head_of_layer("--why", text, options);
             if (head != 0 && head != options.head) {
               throw Error(ErrorKind::usage,
                           translated("{1} and --why name different heads", "--head"), "--head",
                           translated("leave it out"));
             }
             if (!layer || (layer == options.layer && stack == options.stack)) return;
             throw Error(ErrorKind::usage, translated("--layers and --why name different layers"),
                         "--layers", translated("leave it out"));
           })
      .optional_value = true;
  add_why(flags, {options.logit, options.against_logit}, [&options](const std::string& text) {
    if (is_digits(text)) {
      options.key = whole_number("--key", text);
    } else {
      options.key_token = text;
    }
  });
  flags.toggle("--csv", given->csv,
               translated("For --why or --logit: print a row for each pair of parts, or part"));
  flags.need({"--csv"}, {"--why", "--logit"});
  flags.toggle("--markdown", given->markdown,
               translated("Print Markdown with tables and formulas"));
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
