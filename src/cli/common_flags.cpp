#include "cli/common_flags.hpp"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "attn/cpu.hpp"
#include "attn/language.hpp"

#include "cli/map_flags.hpp"
#include "cli/output.hpp"
#include "cli/picture_flags.hpp"
#include "cli/process.hpp"

namespace attn::cli {

void add_report(Flags& flags, Common& common) {
  flags.begin_group(FlagGroup::output);
  flags.toggle("--json", common.json, translated("Print the report as JSON"));
  flags.toggle("--quiet", common.quiet,
               translated("Print errors and what is asked for, but no warnings or reports"));
  flags.toggle("--no-color", common.no_color, translated("Print without colours"));
  add_language(flags);
}

void add_common(Flags& flags, Common& common, const std::string& threads) {
  add_report(flags, common);
  flags.begin_group(FlagGroup::computation);
  flags.count(
      "--threads", common.threads, "N",
      threads.empty() ? translated("Threads to compute with (default: all cores)") : threads, 1);
  Flag& cpu = flags.add(
      "--cpu", "TARGET",
      translated("Instruction set to compute with: see attn-cli list (default: the best)"),
      [](const std::string& text) {
        if (is_digits(text)) throw written_otherwise("--cpu", text, "--threads " + text);
        try {
          use_cpu_target(text);
        } catch (const Error& error) {
          throw Error(error.kind(), error.problem(), "--cpu", error.help());
        }
      });
  cpu.words.assign(cpu_targets().begin(), cpu_targets().end());
}

void add_limits(Flags& flags, Limits& limits) {
  flags.begin_group(FlagGroup::limits);
  flags.add(
      "--max-file-size", "BYTES",
      translated("Largest file or standard input, such as 500M (default 64G, standard input 1G)"),
      [&](const std::string& text) {
        limits.file_bytes = limits.stream_bytes = large_number("--max-file-size", text, "B");
      });
  flags.add("--max-unpacked-size", "BYTES",
            translated("Largest array in an .npz, unpacked (default 16G)"),
            [&](const std::string& text) {
              limits.unpacked_bytes = large_number("--max-unpacked-size", text, "B");
            });
  flags.add(
      "--max-elements", "N",
      translated("Maximum number of tensor elements per document (default 1G)"),
      [&](const std::string& text) { limits.elements = large_number("--max-elements", text); });
  flags.add("--max-work", "N",
            translated("Limit of the multiply-adds of a document (default: no limit, in batch with "
                       "--restrict 1T)"),
            [&](const std::string& text) {
              limits.work = static_cast<double>(large_number("--max-work", text));
            });
  flags.add(
      "--max-seconds", "SECONDS",
      translated("Limit of the time for a document (default: no limit, in batch with --restrict "
                 "60)"),
      [&](const std::string& text) {
        double seconds = 0;
        if (!parse_number(text, seconds) && !text.ends_with('s'))
          throw wrong_value("--max-seconds", text, translated("a number of seconds, such as 300"));
        seconds = finite_number("--max-seconds", text);
        if (seconds <= 0) {
          throw wrong_value("--max-seconds", text, translated("a number above 0"));
        }
        limits.seconds = seconds;
      });
  flags.add("--max-nesting", "N", translated("Limit of nested arrays and objects (default 512)"),
            [&](const std::string& text) {
              limits.nesting = whole_number("--max-nesting", text, 1);
              if (limits.nesting > deepest_nesting) {
                throw wrong_value("--max-nesting", text,
                                  translated("at most {1}", deepest_nesting));
              }
            });
}

void add_files(Flags& flags, FileAccess& access) {
  flags.begin_group(FlagGroup::limits);
  flags.add("--restrict", "DIR",
            translated("Let documents name only files in this folder, for untrusted documents"),
            [&](const std::string& text) {
              std::error_code none;
              if (!std::filesystem::is_directory(text, none)) {
                throw Error(ErrorKind::file, translated("there is no folder \"{1}\"", text),
                            "--restrict", translated("name the folder of the documents' files"));
              }
              access.restrict_to = text;
            });
  add_limits(flags, access.limits);
}

void add_provenance(Flags& flags, bool& target, const std::string& where) {
  flags.toggle(
      "--provenance", target,
      translated("Write the program's version, the CPU target and hashes of the input into {1}",
                 where));
}

Kind kind_named(const std::string& name, const std::string& where) {
  if (const KindInfo* kind = find_kind(name)) return kind->kind;
  std::vector<std::string_view> names;
  for (const KindInfo& known : kinds()) {
    names.push_back(known.name);
    names.insert(names.end(), known.aliases.begin(), known.aliases.end());
  }
  constexpr std::string_view of_libraries[]{"eager", "flash", "flash_attention_2",
                                            "flex_attention"};
  const bool kernel = std::ranges::count(of_libraries, name) > 0;
  throw Error(ErrorKind::usage, translated("unknown kind of attention \"{1}\"", name), where,
              kernel ? translated("leave it out: it changes no number") : suggestion(name, names));
}

std::vector<std::string> kind_words() {
  std::vector<std::string> words;
  for (const KindInfo& kind : kinds()) {
    words.emplace_back(kind.name);
    words.insert(words.end(), kind.aliases.begin(), kind.aliases.end());
  }
  return words;
}

Flag& add_kind(Flags& flags, const std::string& help, std::function<void(Kind)> take) {
  Flag& flag =
      flags.add("--attention", "KIND", help, [take = std::move(take)](const std::string& text) {
        if (text.find(',') != std::string::npos) {
          std::string meant;
          for (const std::string& kind : comma_separated(text))
            meant += (meant.empty() ? "--attention " : " --attention ") + kind;
          throw written_otherwise("--attention", text, meant);
        }
        take(kind_named(text, "--attention"));
      });
  flag.words = kind_words();
  return flag;
}

namespace {

// A file of lengths, which documents alone can name.
void refuse_file_of_lens(const std::string& text) {
  const std::string ending = std::filesystem::path(text).extension().string();
  if (ending.size() < 2 || !std::isalpha(static_cast<unsigned char>(ending[1]))) return;
  throw invalid_value("--valid-lens", text,
                      translated("write the numbers, such as --valid-lens 6,4, or \"valid_lens\": "
                                 "{\"file\": \"{1}\"} into the document",
                                 text));
}

}  // namespace

void add_document(Flags& flags, DocumentOptions& options) {
  flags.begin_group(FlagGroup::computation);
  add_kind(flags, translated("Kind of attention, instead of the document's; repeatable"),
           [&](Kind kind) { options.attention.push_back(kind); })
      .repeats = true;
  flags.begin_group(FlagGroup::mask);
  flags.toggle("--causal", options.causal, translated("Hide the keys after each query"));
  flags.add("--valid-lens", "N,N,…", translated("Valid keys, one number per sample"),
            [&](const std::string& text) {
              refuse_file_of_lens(text);
              options.valid_lens.emplace();
              for (const std::string& part : listed("--valid-lens", text)) {
                options.valid_lens->push_back(
                    static_cast<std::int64_t>(whole_number("--valid-lens", part)));
              }
            });
  flags.begin_group(FlagGroup::computation);
  flags.count("--heads", options.heads, "N",
              translated("Number of heads to split [B,L,H·D] tensors into"), 1);
  flags.add("--scale", "X", translated("Scale of the scores"),
            [&](const std::string& text) { options.scale = finite_number("--scale", text); });
  flags.add("--score", "EXPR",
            translated("Expression for the scores, such as \"s - 0.1 * abs(i - j)\""),
            [&](const std::string& text) { options.score = text; });
  flags.add("--where", "EXPR",
            translated("Expression that selects the visible keys, such as \"j <= i\""),
            [&](const std::string& text) { options.where = text; });
  flags.add("--weight", "EXPR",
            translated("Expression for the weights, such as \"p > 0.1 ? p : 0\""),
            [&](const std::string& text) { options.weight = text; });
  flags
      .add("--table", "NAME=FILE", translated("Tensor that expressions read by name; repeatable"),
           [&](const std::string& text) {
             const std::size_t sign = text.find('=');
             if (sign == std::string::npos || sign == 0) {
               throw invalid_value("--table", text,
                                   translated("write NAME=FILE, such as doc=documents.npy"));
             }
             const std::string file = text.substr(sign + 1);
             if (double number = 0; parse_number(file, number) && !is_file(file)) {
               throw invalid_value(
                   "--table", text,
                   translated("name a file, or write the number into the expression"));
             }
             options.tables.emplace_back(text.substr(0, sign), file);
           })
      .repeats = true;
  flags.add("--seed", "N", translated("Seed of random tensors"),
            [&](const std::string& text) { options.seed = integer("--seed", text); });
  flags.choice("--dtype", options.dtype, document_dtypes(), "TYPE");
  flags.choice("--rounding", options.fused_rounding, document_roundings(), "STEPS",
               translated(": where 16-bit types round (default autocast)"));
  add_model(flags, options);
  add_files(flags, options.files);
}

void refuse_model_folder(const std::string& input, const std::string& command) {
  std::error_code none;
  if (std::filesystem::exists(input + "/summary.jsonl", none) &&
      !std::filesystem::exists(input + "/result.json", none)) {
    throw Error(ErrorKind::file, translated("\"{1}\" has the results of a batch", input), command,
                translated("name one of them, such as {1}", input + "/NAME"));
  }
  if (!std::filesystem::exists(input + "/config.json", none) ||
      std::filesystem::exists(input + "/result.json", none)) {
    return;
  }
  constexpr std::string_view of_maps[]{"attn-cli plot", "attn-cli show", "attn-cli compare"};
  const std::string model = "--model " + input + " --text TEXT";
  throw Error(ErrorKind::file, translated("\"{1}\" is the folder of a model", input), command,
              std::ranges::count(of_maps, command) > 0
                  ? translated("compute its maps with {1}", "attn-cli run " + model)
                  : translated("give it with a text: {1}", model));
}

namespace {

// Refuses a command line without an input document, unless a model `reads` something else.
void check_without_input(const DocumentOptions& options, bool reads, const std::string& command) {
  if (options.model && reads) return;
  if (options.model && options.prompt) {
    throw Error(ErrorKind::usage,
                translated("--prompt names a prompt of the model's folder, and there is no text"),
                "--prompt", translated("write {1}", "--text \"" + *options.prompt + "\""));
  }
  if (options.model) {
    throw Error(ErrorKind::usage,
                translated("there is neither a text nor a document for the model"), command,
                translated("give a text with --text, or name a document"));
  }
  if (!options.texts.empty()) {
    throw Error(ErrorKind::usage, translated("--text is given without --model"), command,
                translated("name the checkpoint folder that reads it with --model"));
  }
  if (!options.token_ids.empty()) {
    throw Error(ErrorKind::usage, translated("{1} is given without {2}", "--ids", "--model"),
                command, translated("name the checkpoint folder that reads it with --model"));
  }
  throw Error(
      ErrorKind::usage, translated("no input document given"), command,
      translated("name a document, or - for standard input; attn-cli example KIND prints one"));
}

// Refuses words that are not one document. `text_only`: a model is given and nothing that it reads,
// so that the words may be its text.
void check_inputs(const std::vector<std::string>& inputs, bool text_only,
                  const std::string& command) {
  std::string whole = inputs[0];
  for (std::size_t i = 1; i < inputs.size(); ++i) whole += " " + inputs[i];
  std::error_code none;
  const bool bare = text_only && inputs[0] != "-" && inputs[0] != "";
  if (bare && !std::filesystem::path(inputs[0]).has_extension() &&
      !std::filesystem::exists(inputs[0], none)) {
    throw Error(ErrorKind::usage, translated("there is no document \"{1}\"", inputs[0]), command,
                translated("give a text with {1}", "--text \"" + whole + "\""));
  }
  if (inputs.size() > 1 && std::filesystem::exists(whole, none)) {
    throw Error(ErrorKind::usage,
                translated("more than one input document given: \"{1}\" is the second", inputs[1]),
                command, translated("put it in quotes: {1}", "\"" + whole + "\""));
  }
  if (inputs[0].find_first_of("*?") != std::string::npos &&
      !std::filesystem::exists(inputs[0], none)) {
    throw Error(
        ErrorKind::usage, translated("\"{1}\" is a pattern, not a document", inputs[0]), command,
        translated("compute all that it matches with {1}", "attn-cli batch '" + inputs[0] + "'"));
  }
  if (inputs[0].starts_with('{') && !std::filesystem::exists(inputs[0], none)) {
    throw Error(ErrorKind::usage, translated("a document is given in place of its file"), command,
                translated("pass it on standard input to {1}", command + " -"));
  }
  refuse_model_folder(inputs[0], command);
  if (inputs.size() > 1) {
    const bool tensors = std::ranges::all_of(inputs, [](const std::string& input) {
      return std::filesystem::path(input).extension() == ".npy";
    });
    throw Error(ErrorKind::usage,
                translated("more than one input document given: \"{1}\" is the second", inputs[1]),
                command,
                tensors ? translated("name the files in a document: {1}",
                                     R"({"attention": "sdpa", "query": {"file": ")" + inputs[0] +
                                         R"("}, "key": …})")
                        : translated("run them one by one, or use attn-cli batch"));
  }
  // Folders of results are told apart where documents are opened.
  if (std::filesystem::is_directory(inputs[0], none) &&
      !std::filesystem::exists(inputs[0] + "/result.json", none)) {
    throw Error(ErrorKind::file, translated("\"{1}\" is a folder", inputs[0]), command,
                translated("compute all documents in it with {1}", "attn-cli batch " + inputs[0]));
  }
}

}  // namespace

Words document_words(DocumentOptions& options, const std::string& command) {
  return {"INPUT",
          translated("Input document, - for standard input"),
          [&options, command](const std::vector<std::string>& inputs) {
            const bool reads = !options.texts.empty() || !options.images.empty() ||
                               !options.sounds.empty() || !options.token_ids.empty();
            // The second text of `--patch A B` follows as a word.
            if (options.patch && options.model && !reads && inputs.size() == 1) {
              options.texts.push_back({std::exchange(*options.patch, inputs[0]), std::nullopt});
              return;
            }
            if (inputs.empty()) {
              check_without_input(options, reads, command);
              return;
            }
            check_inputs(inputs, options.model && !reads, command);
            options.input = inputs[0];
          },
          {},
          true};
}

namespace {

// The page with all maps. It is no picture, so that "all" leaves it out.
constexpr std::string_view page_name = "view";

// The words of --plots: the kinds of pictures of a run, the page, all of them, none.
std::vector<std::string_view> plot_names(bool page) {
  std::vector<std::string_view> names;
  for (const PlotKindInfo& kind : plot_kinds()) {
    if (kind.of_runs) names.push_back(kind.name);
  }
  if (page) names.push_back(page_name);
  names.insert(names.end(), {"all", "none"});
  return names;
}

// Throws Error(usage) for pictures that are named as files: "heatmap.pdf".
void check_files(const std::string& text, std::span<const std::string> names,
                 std::span<const std::string_view> known) {
  for (const auto& format : picture_formats()) {
    const std::string extension = '.' + std::string(format.name);
    if (extension == ".png") continue;  // usual, so that the name of the picture will do
    std::string meant;
    bool found = false, others = false;
    for (const std::string& name : names) {
      const bool file = name.ends_with(extension);
      const std::string stem = file ? name.substr(0, name.size() - extension.size()) : name;
      others = others || std::ranges::count(known, std::string_view(stem)) == 0;
      found = found || file;
      meant += (meant.empty() ? "" : ",") + stem;
    }
    if (!found || others) continue;
    throw written_otherwise("--plots", text,
                            "--plots " + meant + " --format" + ' ' + std::string(format.name));
  }
}

std::vector<PlotKind> plots(const std::string& text, bool* page) {
  const std::vector<std::string_view> known = plot_names(page != nullptr);
  if (page != nullptr) *page = false;
  const std::vector<std::string> names = listed("--plots", text);
  check_files(text, names, known);
  for (const std::string& name : names) {
    const auto kind = std::ranges::find(plot_kinds(), name, &PlotKindInfo::name);
    if (kind != plot_kinds().end() && std::ranges::count(known, name) == 0) {
      throw Error(ErrorKind::usage, translated("{1} does not draw {2}", "--plots", name), "--plots",
                  translated("draw it of a result: {1}",
                             "attn-cli plot " + name +
                                 (name == "figure"                               ? " FILE"
                                  : name == "difference" || name == "comparison" ? " RESULT OTHER"
                                                                                 : " RESULT") +
                                 " --out " + name + ".png"));
    }
    const std::size_t point = name.rfind('.');  // npos + 1 = 0
    const bool format =
        std::ranges::find(picture_formats(), std::string_view(name).substr(point + 1),
                          &Named<PictureFormat>::name) != picture_formats().end();
    if (format && point == name.npos) {
      throw Error(ErrorKind::usage, translated("{1} is a format, not a kind of picture", name),
                  "--plots", translated("write {1}", "--format " + name));
    }
    if (format && std::ranges::count(known, std::string_view(name).substr(0, point)) == 0) {
      throw invalid_value("--plots", name,
                          translated("name a kind, such as heatmap: its file goes into the folder "
                                     "of {1}",
                                     "--out"));
    }
    choice("--plots", name, known);
    if (name == "none" && names.size() > 1) {
      throw Error(ErrorKind::usage, translated("\"none\" excludes all other pictures"), "--plots",
                  translated("leave out either none or the others"));
    }
  }
  std::vector<PlotKind> kinds;
  for (const std::string& name : names) {
    if (page != nullptr && name == page_name) *page = true;
    for (const PlotKindInfo& kind : plot_kinds()) {
      const bool asked = name == kind.name || (name == "all" && kind.of_runs);
      if (asked && std::find(kinds.begin(), kinds.end(), kind.kind) == kinds.end()) {
        kinds.push_back(kind.kind);
      }
    }
  }
  return kinds;
}

void add_plots(Flags& flags, RunOptions& options, bool* page) {
  std::string usual;
  for (const PlotKindInfo& kind : plot_kinds()) {
    if (std::find(options.plots.begin(), options.plots.end(), kind.kind) == options.plots.end())
      continue;
    usual += (usual.empty() ? "" : ",") + std::string(kind.name);
  }
  const std::vector<std::string_view> known = plot_names(page != nullptr);
  Flag& flag =
      flags.add("--plots", "LIST", translated("{1} (default {2})", alternatives(known), usual),
                [&options, page](const std::string& text) {
                  options.plots = plots(text, page);
                  options.plots_chosen = true;
                  options.most_weights_for_heatmap = RunOptions().most_weights_for_heatmap;
                });
  flag.words.assign(known.begin(), known.end());
  flag.list = true;
}

}  // namespace

bool answers(const RunOptions& options, bool json, const std::string& command) {
  if (options.out != "-") return false;
  const auto refuse = [&](const std::string& what, const std::string& flag) {
    throw Error(ErrorKind::usage,
                translated("{1} cannot go to standard output together with the result", what), flag,
                translated("leave out {1}, or give {2} a folder with --out", flag, command));
  };
  if (json) refuse(translated("the report"), "--json");
  if (options.tensors && *options.tensors != TensorFormat::json)
    refuse(translated("files of tensors"), "--tensors");
  if (!options.plots.empty() && options.plots != RunOptions().plots)
    refuse(translated("pictures"), "--plots");
  return true;
}

namespace {

// The tensor of a layer that TransformerLens or a path of modules calls so, "layers.2.self.weights"
// for "blocks.2.attn.hook_pattern" or "encoder.layer.2.attention.self"; empty for other names.
std::string layer_named_elsewhere(const std::string& name) {
  constexpr std::string_view digits = "0123456789";
  constexpr std::size_t most_digits = 6;
  const std::size_t begin = std::min(name.find_first_of(digits), name.size());
  const std::size_t end = std::min(name.find_first_not_of(digits, begin), name.size());
  if (begin == end || end - begin > most_digits || name.find_first_of(digits, end) != name.npos)
    return "";
  const std::string before = name.substr(0, begin), after = name.substr(end);
  const unsigned long layer = std::stoul(name.substr(begin, end - begin));
  const auto own = [](unsigned long number, std::string_view part) {
    return "layers." + std::to_string(number) + "." + std::string(part);
  };
  if (before == "blocks.") {
    if (after == ".attn.hook_pattern") return own(layer, "self.weights");
    if (after == ".attn.hook_attn_scores") return own(layer, "self.scores");
    if (after == ".hook_resid_post") return own(layer, "output");
    if (after == ".hook_resid_pre") return layer == 0 ? "embedded" : own(layer - 1, "output");
    return "";
  }
  constexpr std::string_view modules[]{".attention", ".attention.self", ".attn", ".self_attn",
                                       ".self_attention"};
  const bool of_list = before == "attentions[" || before == "attentions.";
  return of_list || std::ranges::count(modules, after) > 0 ? own(layer, "self.weights") : "";
}

// The tensor of a result that other libraries call so; empty for other names.
std::string tensor_named_elsewhere(const std::string& name) {
  constexpr std::pair<std::string_view, std::string_view> names[]{
      {"attentions", "weights"},
      {"attention_weights", "weights"},
      {"attn_weights", "weights"},
      {"attention_probs", "weights"},
      {"pattern", "weights"},
      {"hook_pattern", "weights"},
      {"attn.hook_pattern", "weights"},
      {"attn_output_weights", "weights"},
      {"hook_attn_scores", "scores"},
      {"attn_scores", "scores"},
      {"softmax_lse", "lse"},
      {"logsumexp", "lse"},
      {"out", "output"}};
  for (const auto& [theirs, ours] : names) {
    if (name == theirs) return std::string(ours);
  }
  return layer_named_elsewhere(name);
}

}  // namespace

void add_results(Flags& flags, RunOptions& options, bool* page) {
  // Up to this many weights are computed for a heatmap that nobody asked for.
  options.most_weights_for_heatmap = std::size_t{1} << 28U;
  add_model_results(flags, options.document);
  flags.begin_group(FlagGroup::output);
  flags.text(
      "--out", options.out, "DIR",
      translated("Folder of the results (default attention_results), - for standard output"));
  flags.add(
      "--only", "NAME,…",
      translated("Tensors to write: output, weights, gradient…; the last part of a dotted name is "
                 "enough"),
      [&](const std::string& text) {
        options.only = comma_separated(text);
        std::string own_names;
        bool foreign = false;
        for (const std::string& name : options.only) {
          const std::string ours = tensor_named_elsewhere(name);
          foreign = foreign || !ours.empty();
          own_names += (own_names.empty() ? "" : ",") + (ours.empty() ? name : ours);
        }
        if (foreign) throw written_otherwise("--only", text, "--only " + own_names);
      });
  flags.begin_group(FlagGroup::pictures);
  add_plots(flags, options, page);
  flags.choice("--format", options.format, picture_formats(), "FORMAT");
  flags.begin_group(FlagGroup::output);
  flags.choice("--tensors", options.tensors, tensor_formats(), "FORMAT",
               translated(": where the numbers go (default json; above 64 MB safetensors)"));
  flags.toggle("--stages", options.stages,
               translated("Write the steps of the score too: scores, capped, masked, lse"));
  flags.add("--no-weights", "", translated("Do not write the weights"),
            [&](const std::string&) { options.weights = false; });
  flags.add("--no-sync", "",
            translated("Do not wait until results are on the disk: faster, but a power failure may "
                       "leave results that have to be computed again"),
            [&](const std::string&) { options.sync = false; });
  flags.toggle("--timing", options.timing, translated("Write the seconds taken into result.json"));
  add_provenance(flags, options.provenance, translated("result.json and the pictures"));
  add_pooling(flags, options.document.pool);
  add_picture(flags, {options.plot, options.selection, options.sample, options.head});
  let_heads_choose(flags);
}

Shard shard_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw invalid_value("--shard", text,
                        translated("give the part, from 0, and the number of parts, such as 0/4"));
  }
  return {whole_number("--shard", text.substr(0, slash)),
          whole_number("--shard", text.substr(slash + 1), 1)};
}

Shard shard_of_engine(bool quiet) {
  const auto found = find_shard([](const char* name) { return std::getenv(name); });
  if (!found) return {};
  if (!quiet) {
    complain(translated("shard {1} of {2}, from 0, as {3} say: {4} does all", found->shard.index,
                        found->shard.count, found->source, "--shard 0/1"));
  }
  return found->shard;
}

}  // namespace attn::cli
