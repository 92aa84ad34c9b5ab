#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string_view>
#include <system_error>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/terminal.hpp"
#include "attn/view.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/flags.hpp"
#include "cli/map_flags.hpp"
#include "cli/output.hpp"
#include "cli/picture_flags.hpp"

namespace attn::cli {
namespace {

constexpr const char* usual_page = "view.html";

struct GivenToView {
  Common common;
  ViewOptions options;
  std::string out = usual_page;
  std::vector<std::string> of_run, of_plot;  // what attn-cli run and plot take too
  std::size_t sample = 0, head = 0;          // single ones, which maps.selection has too
};

// The result.json in a folder of results; any other name as it is.
std::filesystem::path input_of(const std::string& word) {
  const std::filesystem::path result = std::filesystem::path(word) / "result.json";
  std::error_code ignored;
  return std::filesystem::exists(result, ignored) ? result : std::filesystem::path(word);
}

// Throws Error(usage) for a file of words, which another program takes beside the maps.
void refuse_labels(const std::string& word) {
  std::error_code none;
  const std::filesystem::path path(word);
  if (path.extension() != ".txt" || !std::filesystem::is_regular_file(path, none)) return;
  std::string first;
  std::ifstream(path) >> first;
  // Numbers, a comment before them, and documents.
  if (first.empty() || std::string_view("0123456789+-.#[{").find(first[0]) != std::string::npos ||
      first == "nan" || first == "inf")
    return;
  throw Error(ErrorKind::usage, translated("\"{1}\" is a text, not a file of maps", word),
              "attn-cli view",
              translated("for names of tokens, one on each line, write {1}", "--labels " + word));
}

void take_words(const std::vector<std::string>& words, GivenToView& given) {
  DocumentOptions& document = given.options.document;
  if (words.empty() && document.model) return;
  if (words.empty()) {
    throw Error(
        ErrorKind::usage, translated("no input given"), "attn-cli view",
        translated("name a document, a result or a file of maps, - for standard input, or give "
                   "--model and --text"));
  }
  refuse_model_folder(words[0], "attn-cli view");
  document.input = input_of(words[0]);
  for (auto word = words.begin() + 1; word != words.end(); ++word) refuse_labels(*word);
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    given.options.maps.others.push_back(input_of(*word));
  }
}

ViewCommands commands_of(const GivenToView& given) {
  constexpr const char* folder = "attention_results";
  const ViewOptions& options = given.options;
  std::vector<std::string> run{"attn-cli", "run"}, plot;
  if (!options.document.input.empty()) run.push_back(options.document.input.string());
  run.insert(run.end(), given.of_run.begin(), given.of_run.end());
  // Paths alone read the other text: the maps are those of the text itself.
  const auto patch = std::ranges::find(run, "--patch");
  if (options.paths && patch != run.end()) run.erase(patch, patch + 2);
  if (options.stages) run.emplace_back("--stages");
  run.insert(run.end(), {"--plots", "none", "--out", folder});
  plot.push_back(options.document.input.string());
  for (const auto& other : options.maps.others) plot.push_back(other.string());
  plot.insert(plot.end(), given.of_plot.begin(), given.of_plot.end());
  return {run, {std::string(folder) + "/result.json"}, plot};
}

// Throws Error(usage) where the shell writes standard output, a report, into a page, as far as the
// system says so.
void refuse_redirected(const std::string& out) {
  std::error_code none;
  const std::filesystem::path file = std::filesystem::read_symlink("/proc/self/fd/1", none);
  if (out != usual_page || file.extension() != ".html") return;
  const std::string name = std::filesystem::proximate(file, none).string();
  throw Error(
      ErrorKind::usage,
      translated("standard output is \"{1}\", and the page goes into a file of its own", name),
      "attn-cli view",
      translated("write {1}, or {2} for standard output", "--out " + name, "--out -"));
}

int make_page(const GivenToView& given) {
  refuse_redirected(given.out);
  ViewOptions options = given.options;
  const Common& common = given.common;
  const bool to_standard_output = given.out == "-";
  constexpr std::string_view others[]{".png", ".svg", ".pdf"};
  const std::string ending = std::filesystem::path(given.out).extension();
  if (std::ranges::count(others, ending) > 0) {
    throw Error(ErrorKind::usage, translated("the page is HTML, not {1}", ending.substr(1)),
                "--out",
                translated("name a file that ends in {1}; attn-cli plot draws pictures", ".html"));
  }
  std::error_code none;
  if (!to_standard_output && ending.empty() && !std::filesystem::exists(given.out, none)) {
    throw Error(ErrorKind::usage, translated("\"{1}\" has no extension", given.out), "--out",
                translated("write {1}", "--out " + given.out +
                                            (given.out.ends_with('/') ? "view.html" : ".html")));
  }
  if (to_standard_output && common.json) {
    throw Error(ErrorKind::usage,
                translated("the report cannot go to standard output together with the page"),
                "--json",
                translated("leave out --json, or give {1} a file with --out", "attn-cli view"));
  }
  options.document.threads = common.threads;
  options.commands = commands_of(given);
  ProgressLine progress(common.quiet);
  show_generation(options.document, progress);
  options.progress = [&progress](std::size_t done, std::size_t all) {
    progress.show([&] { return translated("{1} of {2} passes", done, all); });
  };
  std::string page;
  const ViewOutcome outcome = to_standard_output
                                  ? view(options, [&](std::string_view piece) { page += piece; })
                                  : view(options, std::filesystem::path(given.out));
  progress.clear();
  if (to_standard_output) print_result(page);
  if (!common.quiet) warn(outcome.warnings);
  if (to_standard_output || (common.quiet && !common.json)) return 0;
  print(common.json ? view_json(outcome, given.out)
                    : terminal_lines(view_text(outcome) + "  " + given.out + "\n"));
  return 0;
}

// Adds the flags about the cells that a page keeps of its maps, and their colours.
void add_view(Flags& flags, ViewOptions& options) {
  flags.begin_group(FlagGroup::pictures);
  flags.add(
      "--cells", "N",
      translated("Limit of the cells of all maps together (default 48M); larger maps are reduced"),
      [&](const std::string& text) {
        options.cells = static_cast<std::size_t>(large_number("--cells", text));
      });
  flags.add("--vectors", "BYTES",
            translated("Limit of the queries and keys that show each weight's arithmetic (default "
                       "48M; 0 for none)"),
            [&](const std::string& text) {
              options.vectors =
                  text == "0" ? 0 : static_cast<std::size_t>(large_number("--vectors", text));
            });
  add_colour_map(flags, options.cmap);
  flags.add("--color-range", "LO,HI", translated("Lowest and highest weight of the colour scale"),
            [&](const std::string& text) { options.color_range = given_range(text); });
}

}  // namespace

Command view_command() {
  const auto given = std::make_shared<GivenToView>();
  ViewOptions& options = given->options;
  Command command{
      "view",
      translated("Make one page for browsers that shows all maps"),
      {"INPUT…",
       translated("Document, result, its folder or file of tensors, - for standard input; for "
                  "tensors also one file per layer"),
       [given = given.get()](const std::vector<std::string>& words) { take_words(words, *given); },
       {},
       true},
      {},
      [given] { return make_page(*given); }};
  Flags& flags = command.flags;
  add_document(flags, options.document);
  // --heads chooses heads to look at, as in attn-cli plot.
  std::erase_if(flags, [](const Flag& flag) { return flag.name == "--heads"; });
  add_pooling(flags, options.document.pool);
  record(flags, given->of_run);
  flags.begin_group(FlagGroup::output);
  flags.text("--out", given->out, "FILE",
             translated("Page to write (default view.html), - for standard output"));
  flags.toggle("--stages", options.stages,
               translated("Show the steps of the score too: scores, capped, masked"));
  flags.add("--why", "LAYER.HEAD",
            translated("Show the strongest parts of the scores of a head of a model, or of all "
                       "heads: what the layers before wrote; of predicted and generated tokens "
                       "too, with answer of these alone"),
            [&options](const std::string& text) {
              if (text.find(',') != text.npos)
                throw wrong_value("--why", text, translated("one head such as 2.0, or all"));
              options.why = text;
            });
  flags.add("--against", "INPUT",
            translated("Compare with the heads of another model, document or result, which "
                       "--adapter, --heads-off and --patch leave as it is"),
            [&](const std::string& text) { options.against = input_of(text); });
  flags
      .add("--effects", "WAY",
           translated("For a model: run it once without each head, whose output is then zero, or "
                      "its mean, and show what it predicts"),
           [&](const std::string& text) { options.effects = text.empty() ? "zero" : text; })
      .optional_value = true;
  flags.back().words = {"zero", "mean"};
  add_paths(flags, {options.logit, options.against_logit},
            [&](std::vector<std::string> ends) { options.paths = std::move(ends); });
  flags.need({"--logit-difference"}, {"--paths"});
  flags.add("--corpus", "FILE",
            translated("For a model: texts, one per line, over which each head's statistics have "
                       "their means and errors"),
            [&](const std::string& text) { options.corpus = text; });
  flags.add("--story", "FILE", translated("Story that was made in a page"),
            [&](const std::string& text) { options.story = text; });
  Flags of_maps;
  add_map_source(of_maps, options.maps);
  add_selection(of_maps, {options.maps.selection, given->sample, given->head});
  add_hide_mask(of_maps, options.maps.selection);
  // The page's commands name layer, head and sample themselves.
  constexpr std::string_view of_page[]{"--layers", "--layer", "--head", "--heads", "--sample"};
  const auto rest = std::stable_partition(of_maps.begin(), of_maps.end(), [&](const Flag& flag) {
    return std::ranges::count(of_page, flag.name) > 0;
  });
  flags.insert(flags.end(), of_maps.begin(), rest);
  of_maps.erase(of_maps.begin(), rest);
  record(of_maps, given->of_plot);
  flags.insert(flags.end(), of_maps.begin(), of_maps.end());
  add_view(flags, options);
  flags.text("--title", options.title, "TEXT", translated("Title of the page"));
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
