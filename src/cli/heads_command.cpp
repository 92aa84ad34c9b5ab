#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/heads.hpp"
#include "attn/language.hpp"
#include "attn/pictures.hpp"
#include "attn/terminal.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/map_flags.hpp"
#include "cli/name_list.hpp"
#include "cli/output.hpp"
#include "cli/picture_flags.hpp"
#include "cli/process.hpp"

namespace attn::cli {
namespace {

struct GivenHeads {
  Common common;
  HeadsCorpusOptions corpus;  // and in it what is asked of one input
  bool csv = false;
  std::size_t head = 0;  // a single one, which maps.selection has too
  std::optional<std::filesystem::path> merge, against;

  HeadsOptions& heads() { return corpus.heads; }
};

// Warnings of analyses that only write tensors where none are written.
std::vector<std::string> warnings_of_tensors(const HeadsOptions& options) {
  std::vector<std::string> warnings;
  for (const HeadAnalysis analysis : options.analyses) {
    const bool tensors = analysis == HeadAnalysis::rollout || analysis == HeadAnalysis::norms ||
                         analysis == HeadAnalysis::distances;
    const auto row = std::ranges::find(head_analyses(), analysis, &HeadAnalysisInfo::analysis);
    if (options.out || !tensors || row == head_analyses().end()) continue;
    warnings.push_back(translated("the analysis {1} only writes tensors: add {2}", row->name,
                                  translated("{1} or {2}", "--out DIR", "--plots all")));
  }
  return warnings;
}

int read_one(HeadsOptions options, const GivenHeads& given) {
  ProgressLine progress(given.common.quiet);
  show_generation(options.document, progress);
  options.progress = [&progress](std::size_t done, std::size_t all) {
    progress.show([&] { return translated("{1} of {2} passes", done, all); });
  };
  const HeadsOutcome outcome = read_heads(options);
  progress.clear();
  if (given.common.json) {
    print(heads_json(outcome));
    return 0;
  }
  if (!given.common.quiet) {
    warn(outcome.warnings);
    warn(warnings_of_tensors(options));
  }
  if (given.common.quiet && options.out && !given.csv) return 0;
  print(given.csv ? asked_csv(outcome, options)
                  : terminal_lines(with_flags(heads_text(outcome, options.table))));
  return 0;
}

int compare_two(HeadsOptions options, const GivenHeads& given) {
  if (!given.corpus.corpus.empty() || given.merge) {
    throw Error(ErrorKind::usage, translated("--against compares two inputs, not a corpus"),
                "--against", translated("leave out --corpus and --merge"));
  }
  ProgressLine progress(given.common.quiet);
  show_generation(options.document, progress);
  const HeadsAgainst outcome = compare_heads(options, *given.against);
  progress.clear();
  if (given.common.json) {
    print(against_json(outcome));
    return 0;
  }
  if (!given.common.quiet) warn(outcome.warnings);
  if (given.common.quiet && options.out && !given.csv) return 0;
  print(given.csv ? against_csv(outcome)
                  : terminal_lines(with_flags(against_text(outcome, options.table))));
  return 0;
}

int report(const HeadsCorpusOutcome& outcome, const GivenHeads& given) {
  if (!given.common.quiet) warn(outcome.warnings);
  if (!given.common.quiet || given.common.json || given.csv) {
    std::string text = with_flags(outcome.table);
    for (const auto& file : outcome.files) text += "  " + file.string() + "\n";
    print(given.common.json ? outcome.json : given.csv ? outcome.csv : terminal_lines(text));
  }
  if (outcome.interrupted) return interrupted_code;
  return outcome.failed > 0 ? some_failed_code : 0;
}

int read_many(HeadsCorpusOptions options, const GivenHeads& given) {
  if (given.merge) {
    options.out = *given.merge;
    return report(merge_corpus(options), given);
  }
  options.out = options.heads.out.value_or("attention_heads");
  if (!options.shard) options.shard = shard_of_engine(given.common.quiet);
  ProgressLine progress(given.common.quiet);
  const HeadsCorpusOutcome outcome = read_corpus(
      options,
      [&](std::size_t done, std::size_t all) {
        progress.show([&] { return translated("{1} of {2} texts", done, all); });
      },
      &stop_at_interrupt());
  progress.clear();
  return report(outcome, given);
}

int read(const GivenHeads& given) {
  HeadsCorpusOptions options = given.corpus;
  HeadsOptions& heads = options.heads;
  heads.document.threads = heads.plot.figure.threads = given.common.threads;
  if (given.merge && heads.out) {
    throw Error(ErrorKind::usage, translated("joined sums are written beside those of the shards"),
                "--out", translated("leave it out"));
  }
  if (heads.plots && !heads.out) heads.out = "attention_heads";
  heads.table.width = terminal_options({}, given.common).columns;
  if (heads.table.wide && !given.csv && !heads.out && options.corpus.empty() && !given.merge) {
    throw Error(ErrorKind::usage, translated("--wide is about comma-separated values"), "--wide",
                translated("give --csv, or a folder with --out"));
  }
  if (given.csv && given.common.json) {
    throw Error(ErrorKind::usage, translated("--csv and --json are given together"),
                "attn-cli heads", translated("choose one of them"));
  }
  if (given.against) return compare_two(heads, given);
  return given.merge || !options.corpus.empty() ? read_many(std::move(options), given)
                                                : read_one(heads, given);
}

// Throws Error(usage) for a list of which several names are those of other programs, with all of
// them as they are called here.
void refuse_other_names(const std::string& flag, const std::string& text,
                        const std::vector<std::string_view>& names) {
  std::string meant;
  std::size_t others = 0;
  for (const std::string& part : listed(flag, text)) {
    std::string own = part;
    if (std::ranges::count(names, std::string_view(part)) == 0) {
      const auto near = std::ranges::find_if(names, [&](std::string_view name) {
        return suggestion(part, names) == suggestion(name, names);
      });
      if (near == names.end()) return;
      own = *near;
      ++others;
    }
    meant += (meant.empty() ? "" : ",") + own;
  }
  if (others < 2) return;
  throw written_otherwise(flag, text, flag + " " + meant);
}

template <class Table>
void add_list(Flags& flags, const std::string& name, const Table& table, const std::string& help,
              const std::function<void(std::size_t)>& take,
              const std::function<void()>& none = {}) {
  Flag& flag = flags.add(name, "LIST", help, [=](const std::string& text) {
    if (none && text == "none") return none();
    refuse_other_names(name, text, names_of(table));
    for (const std::string& part : listed(name, text)) {
      if (part != "all") {
        take(choice(name, part, names_of(table)));
        continue;
      }
      for (std::size_t i = 0; i < table.size(); ++i) take(i);
    }
  });
  for (const auto& row : table) flag.words.emplace_back(row.name);
  if (none) flag.words.emplace_back("none");
  flag.list = true;
}

void add_table(Flags& flags, HeadsTable& table) {
  flags.begin_group(FlagGroup::output);
  std::vector<std::string_view> names = names_of(head_statistics());
  names.emplace_back("layer");
  Flag& sort = flags.add("--sort", "STATISTIC",
                         translated("Statistic that the table is sorted by, or layer (default: the "
                                    "largest share of the weight in one place)"),
                         [&table, names](const std::string& text) {
                           const std::size_t at = choice("--sort", text, names);
                           table.by_layer = at + 1 == names.size();
                           if (!table.by_layer) table.sort = head_statistics()[at].statistic;
                         });
  sort.words.assign(names.begin(), names.end());
  flags
      .add("--top", "N", translated("Heads that the table lists, or all (default 20)"),
           [&table](const std::string& text) {
             table.top.reset();
             if (text == "0" || text.starts_with('-'))
               throw wrong_value("--top", text, translated("a whole number of at least 1, or all"));
             if (text != "all") table.top = whole_number("--top", text, 1);
           })
      .words = {"all"};
}

void add_counting(Flags& flags, HeadCounting& counting) {
  flags.begin_group(FlagGroup::computation);
  flags.toggle("--ignore-special", counting.ignore_special,
               translated("Leave out rows of special tokens such as [CLS]"));
  flags.add("--separators", "TOKEN,…",
            translated("Tokens that separate (default: as the tokenizer says)"),
            [&](const std::string& text) { counting.separators = comma_separated(text); });
  flags.add("--sink-threshold", "X",
            translated("Mean weight on the first key that makes a sink (default 0.3)"),
            [&](const std::string& text) {
              counting.sink_threshold = finite_size("--sink-threshold", text);
              if (counting.sink_threshold > 1) {
                throw wrong_value("--sink-threshold", text,
                                  translated("a share of a row's weight, from 0 to 1"));
              }
            });
  flags.toggle("--without-first-key", counting.without_first_key,
               translated("Leave the first key out of the scores of patterns"));
  flags.toggle("--without-self", counting.without_self,
               translated("Leave a query's own key out of the scores of patterns"));
  constexpr std::array<Named<HeadCounting::Measure>, 2> measures{
      {{"share", HeadCounting::Measure::share}, {"difference", HeadCounting::Measure::difference}}};
  flags.choice("--measure", counting.measure, measures, "NAME",
               translated(": how patterns are scored (default share)"));
}

void add_rollout(Flags& flags, RolloutOptions& rollout) {
  flags.begin_group(FlagGroup::computation);
  flags.add("--residual", "X", translated("Rollout: share of a layer's own input (default 0.5)"),
            [&](const std::string& text) { rollout.residual = finite_size("--residual", text); });
  constexpr std::array<Named<RolloutOptions::Fusion>, 3> fusions{
      {{"mean", RolloutOptions::Fusion::mean},
       {"max", RolloutOptions::Fusion::max},
       {"min", RolloutOptions::Fusion::min}}};
  flags.choice("--fusion", rollout.fusion, fusions, "NAME",
               translated(": rollout, of the heads of a layer (default mean)"));
  flags.add("--discarded", "X",
            translated("Rollout: share of the smallest weights to leave out (default 0)"),
            [&](const std::string& text) { rollout.discarded = finite_size("--discarded", text); });
}

// Analyses beyond statistics, and what each of them takes.
void add_analyses(Flags& flags, HeadsOptions& options) {
  std::string analyses;
  for (const std::string_view name : names_of(head_analyses())) {
    analyses += (analyses.empty() ? "" : name_separator()) + std::string(name);
  }
  add_list(flags, "--analyses", head_analyses(),
           translated("Further analyses to compute: {1}", analyses),
           [&](std::size_t at) { options.analyses.push_back(head_analyses()[at].analysis); });
  add_rollout(flags, options.rollout);
  flags.count("--lens-tokens", options.lens_tokens, "N",
              translated("Lens: likeliest tokens per position (default 5)"), 1);
  flags.count("--induction-length", options.induction_length, "N",
              translated("Induction: number of random tokens that are repeated (default 50)"), 2);
  flags.count("--induction-samples", options.induction_samples, "N",
              translated("Induction: number of such texts (default 4)"), 1);
  flags.count("--steps", options.gradient_steps, "N",
              translated("Gradients: steps of integrated ones, such as 50 (default none)"), 1);
  flags.text("--baseline", options.baseline, "TOKEN",
             translated("Gradients: token that integrated ones begin with, by its text or id "
                        "(default: zeros)"));
  flags.add("--without-heads-of", "N,N,…",
            translated(
                "Layers whose heads are left out one at a time, to see how the predictions change"),
            [&](const std::string& text) {
              if (text.find_first_not_of("0123456789,; ") != text.npos) {
                throw wrong_value("--without-heads-of", text,
                                  translated("layers, such as 0,1,2: each head of each takes a "
                                             "pass of the model"));
              }
              for (const std::string& part : listed("--without-heads-of", text)) {
                options.without_heads_of.push_back(whole_number("--without-heads-of", part));
              }
            });
  add_list(flags, "--sweep", patched_parts(),
           translated("With --patch and without --at: the parts that are patched one at a time, "
                      "those of layers at each position (default heads)"),
           [&](std::size_t at) { options.sweep.push_back(patched_parts()[at].part); });
  flags.toggle("--by-position", options.by_position,
               translated("Patch parts of heads at one position at a time"));
  flags.toggle("--frozen-patterns", options.frozen_patterns,
               translated("Keep the weights of the text in all layers above a patched part, and on "
                          "the way of a path"));
  flags.toggle("--attribution", options.attribution,
               translated("Show beside each effect what the gradient of the part estimates"));
  add_paths(flags, {options.logit, options.against_logit}, [&](std::vector<std::string> ends) {
    options.paths = true;
    options.receivers = std::move(ends);
  });
}

// Readings of many texts: which of them, and how much of them stays. The output's group begins
// here.
void add_corpus(Flags& flags, GivenHeads& given) {
  HeadsCorpusOptions& corpus = given.corpus;
  flags.add("--corpus", "FILE",
            translated("Texts for the model, one per line, or .jsonl with {\"text\": …}"),
            [&](const std::string& text) { corpus.corpus = text; });
  add_logits(
      flags, {corpus.heads.logit, corpus.heads.against_logit},
      translated(
          "Token of a lens, its rank and probability in each layer; of gradients; of "
          "--patch; or, with --corpus, whose logit after each text is summed up part by part "
          "(default: the likeliest token)"));
  flags
      .add(
          "--average", "N",
          translated("With --corpus: mean maps of the first N positions of the texts (default 32)"),
          [&](const std::string& text) {
            corpus.average = text.empty() ? 32 : whole_number("--average", text, 1);
          })
      .optional_value = true;
  flags.add("--shard", "I/N", translated("Read only part I of N of the corpus, counted from 0"),
            [&](const std::string& text) { corpus.shard = shard_of(text); });
  flags.toggle("--resume", corpus.resume,
               translated("Continue where an earlier reading of the corpus stopped"));
  flags.text("--merge", given.merge, "DIR", translated("Join the sums of all shards in DIR"));
  flags.begin_group(FlagGroup::output);
  flags.count(
      "--kept", corpus.kept, "N",
      translated(
          "Texts to list for each head and statistic, those with the largest values (default 3)"));
  flags.count(
      "--reach", corpus.reach, "N",
      translated("Weights by relative position: up to this distance from the query (default 32)"));
}

void add_plots(Flags& flags, bool& plots) {
  flags
      .add("--plots", "LIST",
           translated("heads, all or none: pictures of everything reported (default none)"),
           [&](const std::string& text) {
             constexpr std::array<std::string_view, 3> words{"heads", "all", "none"};
             for (const std::string& part : listed("--plots", text)) {
               const auto kind = std::ranges::find(plot_kinds(), part, &PlotKindInfo::name);
               if (kind != plot_kinds().end()) {
                 const std::string command =
                     kind->of_runs ? "attn-cli run --plots " : "attn-cli plot ";
                 throw invalid_value("--plots", part,
                                     translated("draw it with {1}", command + part));
               }
               plots = choice("--plots", part, words) != 2;
             }
           })
      .words = {"heads", "all", "none"};
}

}  // namespace

Command heads_command() {
  const auto given = std::make_shared<GivenHeads>();
  HeadsCorpusOptions& corpus = given->corpus;
  HeadsOptions& options = corpus.heads;
  Command command{
      "heads",
      translated("Report what each head of a stack of maps does, over one text or many"),
      document_words(options.document, "attn-cli heads"),
      {},
      [given] { return read(*given); }};
  command.words.help = translated(
      "Document, result or file of tensors, - for standard input; for tensors also one file per "
      "layer");
  command.words.take = [given = given.get(),
                        take = command.words.take](const std::vector<std::string>& words) {
    if (words.empty() && (given->merge || !given->corpus.corpus.empty())) return;
    take({words.begin(), words.begin() + (words.empty() ? 0 : 1)});
    if (words.size() > 1) given->heads().maps.others.assign(words.begin() + 1, words.end());
  };
  Flags& flags = command.flags;
  add_document(flags, options.document);
  flags.begin_group(FlagGroup::computation);
  add_list(
      flags, "--statistics", head_statistics(),
      translated("Statistics to report, or none in the printed text (default all)"),
      [&](std::size_t at) { options.statistics.push_back(head_statistics()[at].statistic); },
      [&] { options.table.statistics = false; });
  add_counting(flags, options.counting);
  add_analyses(flags, options);
  add_map_source(flags, options.maps);
  add_selection(flags, {options.maps.selection, options.sample, given->head});
  let_heads_choose(flags);
  flags.begin_group(FlagGroup::input);
  flags.text("--against", given->against, "INPUT",
             translated("Compare with the heads of another model, document or result, which "
                        "--adapter, --heads-off and --patch leave as it is"));
  add_corpus(flags, *given);
  flags.text(
      "--out", options.out, "DIR",
      translated(
          "Folder of tables, tensors and pictures (default attention_heads, if there are any)"));
  flags.begin_group(FlagGroup::pictures);
  add_plots(flags, options.plots);
  flags.choice("--format", options.format, picture_formats(), "FORMAT");
  add_dpi(flags, options.plot.figure.dpi);
  add_figure_size(flags, options.plot.figure.figsize);
  add_colour_map(flags, options.plot.colors.cmap);
  add_table(flags, options.table);
  flags.toggle(
      "--csv", given->csv,
      translated("Print comma-separated values: a line per head and statistic, per patched part "
                 "or path, or per head that is left out"));
  flags.toggle("--wide", options.table.wide,
               translated("In comma-separated values: a line per head, a column per statistic"));
  flags.need({"--format", "--dpi", "--figsize", "--cmap"}, {"--plots"});
  flags.need({"--residual", "--fusion", "--discarded"}, {"--analyses rollout"});
  flags.need({"--lens-tokens"}, {"--analyses lens"});
  flags.need({"--induction-length", "--induction-samples"}, {"--analyses induction"});
  flags.need({"--ablate"}, {"--heads-off", "--without-heads-of"});
  flags.need({"--steps", "--baseline"}, {"--analyses gradients"});
  flags.need({"--shard", "--resume", "--average"}, {"--corpus"});
  flags.need({"--kept", "--reach"}, {"--corpus", "--merge"});
  // The lines and the objects are those of all heads, in the order of layers.
  flags.idle({"--sort", "--top"}, {"--csv", "--json"});
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
