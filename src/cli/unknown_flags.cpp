#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/plot.hpp"

#include "cli/commands.hpp"

namespace attn::cli {
namespace {

// Flags of other programs, and the advice to whoever gives them.
constexpr std::pair<std::string_view, std::string_view> foreign_flags[]{
    {"--dry-run", to_translate("attn-cli validate checks a document without computing it")},
    {"--check", to_translate("attn-cli validate checks a document without computing it")},
    {"--verbose", to_translate("--stages writes the steps of the score, and attn-cli explain shows "
                               "every number of one query")},
    {"-v", to_translate("-V prints the version; --stages writes the steps of the score, and "
                        "attn-cli explain shows every number of one query")},
    {"--debug", to_translate("--stages writes the steps of the score, and attn-cli explain shows "
                             "every number of one query")},
    {"--no-plots", to_translate("write --plots none")},
    {"--no-plot", to_translate("write --plots none")},
    {"--input", to_translate("name the file without a flag before it; a text goes to --text")},
    {"--file", to_translate("name the file without a flag before it; a text goes to --text")},
    {"-i", to_translate("name the file without a flag before it")},
    {"-f", to_translate("name the file without a flag before it")},
    {"--window", to_translate("write --where \"abs(i - j) <= 3\", or \"mask\": {\"window\": "
                              "{\"left\": 3, \"right\": 0}} into the document")},
    {"--dropout", to_translate("write \"dropout\": {\"p\": 0.1, \"training\": true} into the "
                               "document")},
    {"--bias", to_translate("write \"mask\": {\"bias\": {\"file\": …}} into the document, or add "
                            "it with --table b=FILE --score \"s + b[i, j]\"")},
    {"--softmax-scale", to_translate("write --scale X")},
    {"--save-tensors", to_translate("write --tensors safetensors")},
    {"--linewidths", to_translate("leave it out: widths of lines follow the size of the letters, "
                                  "--font-scale")},
    {"--softmax", to_translate("leave it out: weights are a softmax of the scores")},
    {"--softcap", to_translate("write --score \"50 * tanh(s / 50)\", or \"softcap\": 50 into the "
                               "document")},
    {"--rotary", to_translate("write \"rotary\": {\"theta\": 10000} into the document")},
    {"--rope", to_translate("write \"rotary\": {\"theta\": 10000} into the document")},
    {"--alibi", to_translate("write \"mask\": {\"alibi\": true} into the document")},
    {"--sinks", to_translate("write \"sinks\" with a number for each head into the document")},
    {"--parameters", to_translate("write \"parameters\": {\"file\": …} into the document")},
    {"--fp16", to_translate("write --dtype float16")},
    {"--half", to_translate("write --dtype float16")},
    {"--bf16", to_translate("write --dtype bfloat16")},
    {"--float64", to_translate("write --dtype float64")},
    {"--double", to_translate("write --dtype float64")},
    {"--model-path", to_translate("write --model DIR")},
    {"--model-name", to_translate("write --model DIR")},
    {"--checkpoint", to_translate("write --model DIR")},
    {"--seq-len", to_translate("leave it out: sizes follow from the tensors, or from the text")},
    {"--max-length", to_translate("leave it out: sizes follow from the tensors, or from the text")},
    {"--prompt-text", to_translate("give a text with --text")},
    {"--log-level", to_translate("--quiet prints nothing but errors; attn-cli explain shows every "
                                 "number of one query")},
    {"--attn", to_translate("write --attention KIND")},
    {"--attention-type", to_translate("write --attention KIND")},
    {"--tokens", to_translate("--generate N generates tokens, --ids gives their ids, attn-cli "
                              "tokens shows those of a text")},
    {"--token-ids", to_translate("attn-cli run --model M --ids 1,2,3 reads token ids")},
    {"--dark", to_translate("write --background dark")},
    {"--transparent", to_translate("write --background transparent")},
    {"--log", to_translate("write --norm log")},
    {"--latex",
     to_translate("explain --markdown prints formulas, and pictures for LaTeX are .pdf")},
    {"--batch-size", to_translate("leave it out: all samples are computed together")},
    {"--epochs", to_translate("leave it out: nothing is trained")},
    {"--lr", to_translate("leave it out: nothing is trained")},
    {"--learning-rate", to_translate("leave it out: nothing is trained")},
    {"--temperature", to_translate("leave it out: the likeliest token is taken each time")},
    {"--top-p", to_translate("leave it out: the likeliest token is taken each time")},
    {"--top-k", to_translate("leave it out: the likeliest token is taken each time")},
    {"--do-sample", to_translate("leave it out: the likeliest token is taken each time")},
    {"--repeat", to_translate("leave it out: each shape is repeated for about a second")},
    {"--seconds", to_translate("leave it out: each shape is repeated for about a second")},
    {"--runs", to_translate("leave it out: each shape is repeated for about a second")},
    {"--iterations", to_translate("leave it out: each shape is repeated for about a second")},
    {"--warmup", to_translate("leave it out: each shape is repeated for about a second")},
    {"--fill", to_translate("write \"mask\": {\"fill\": -1e9} into the document")},
    {"--repeats", to_translate("leave it out: each shape is repeated for about a second")},
    {"--special-tokens", to_translate("write \"special_tokens\": false into the document")},
    {"--add-special-tokens", to_translate("write \"special_tokens\": false into the document")},
    {"--quantize", to_translate("leave it out: weights are read as they are stored")},
    {"--load-in-8bit", to_translate("leave it out: weights are read as they are stored")},
    {"--html", to_translate("attn-cli view writes a page, explain --markdown prints Markdown")},
    {"--theme", to_translate("--background white or dark is for pictures; a page follows the "
                             "browser")},
    {"-m", to_translate("write --model DIR")},
    {"-t", to_translate("write --text TEXT")},
    {"--open", to_translate("view writes a page: open it with a browser")},
    {"--browser", to_translate("view writes a page: open it with a browser")},
    {"--port", to_translate("view writes a page: open it with a browser")},
    {"--serve", to_translate("view writes a page: open it with a browser")},
    {"--force", to_translate("leave it out: files of an earlier result are replaced")},
    {"--overwrite", to_translate("leave it out: files of an earlier result are replaced")},
    {"--yes", to_translate("leave it out: files of an earlier result are replaced")},
    {"-y", to_translate("leave it out: files of an earlier result are replaced")},
    {"--tokenizer", to_translate("leave it out: the folder of the model has its tokenizer")},
    {"--grayscale", to_translate("write --cmap Greys")},
    {"--tight", to_translate("leave it out: margins are trimmed")},
    {"--bbox-inches", to_translate("leave it out: margins are trimmed")},
    {"--recursive", to_translate("leave it out: folders are read with those within them")},
    {"-r", to_translate("leave it out: folders are read with those within them")},
    {"--attention-mask",
     to_translate("write \"mask\": {\"keep\": {\"file\": …}} into the document")},
    {"--attn-mask", to_translate("write \"mask\": {\"keep\": {\"file\": …}} into the document")},
    {"--padding-mask", to_translate("write \"mask\": {\"padding\": {\"file\": …}} into the "
                                    "document")},
    {"--device", to_translate("leave it out: attention is computed on the CPU")},
    {"--gpu", to_translate("leave it out: attention is computed on the CPU")},
    {"--cuda", to_translate("leave it out: attention is computed on the CPU")},
};

// Commands that take a flag, as "attn-cli plot, show".
std::string takers(const std::string& flag, const std::vector<Command>& all) {
  std::string names;
  for (const Command& command : all) {
    if (std::ranges::find(command.flags, flag, &Flag::name) != command.flags.end())
      names += (names.empty() ? "attn-cli " : ", ") + command.name;
  }
  return names;
}

// Help for a flag of other programs that names what is written; empty for other flags.
std::string advice_of_output(const std::string& flag, const std::string& command, bool writes) {
  constexpr std::string_view outputs[]{"--out",     "-o",         "--output",     "--output-file",
                                       "--save",    "--save-dir", "--output-dir", "--outdir",
                                       "--savefig", "--out-dir"};
  if (std::ranges::find(outputs, flag) == std::end(outputs)) return "";
  if (writes) return translated("write {1}", "--out");
  if (command == "attn-cli show")
    return translated("write {1}", "attn-cli plot heatmap FILE --out PICTURE");
  return translated("it prints to standard output: write {1}", command + " … > FILE");
}

// "attn-cli list takes --json, --lang", of a command with few flags; empty for others.
std::string few_flags(const std::string& command, const std::vector<Command>& all) {
  constexpr std::size_t few = 6;
  for (const Command& one : all) {
    if ("attn-cli " + one.name != command) continue;
    std::string names;
    std::size_t count = 0;
    for (const Flag& flag : one.flags) {
      if (flag.hidden || flag.name == "--help") continue;
      names += (names.empty() ? "" : ", ") + flag.name;
      ++count;
    }
    return count <= few ? translated("{1} takes {2}", command, names) : "";
  }
  return "";
}

}  // namespace

std::string advice(const std::string& flag, const std::vector<std::string_view>& names,
                   const std::string& command, const std::vector<Command>& all) {
  const auto known = [&](const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  constexpr std::string_view sizes[]{"--heads", "--head",    "--batch",   "--batch-size", "--dim",
                                     "--width", "--length",  "--seq-len", "--queries",    "--keys"};
  if (known("--shape") && std::ranges::count(sizes, flag) > 0)
    return translated("write {1}", "--shape B,H,Lq,Lk,D");
  if (flag == "--verbose" || known("--stages") || !flag.starts_with("-v")) {
    for (const auto& [foreign, help] : foreign_flags) {
      if (flag == foreign && !known(flag)) return translated(help);
    }
  }
  if (command.empty() && !takers(flag, all).empty())
    return translated("write the command first: {1}", "attn-cli run " + flag);
  const std::string place = command.empty() ? "attn-cli" : command;
  const std::string name = flag.substr(std::min<std::size_t>(flag.size(), 2));
  for (const Command& one : all) {
    if ("attn-cli " + one.name != place || !flag.starts_with("--")) continue;
    const bool of_folder = flag == "--model" && one.words.name == "FOLDER";
    if (one.name == name || of_folder) return translated("name the file without a flag before it");
    if (std::ranges::count(one.words.known, name) > 0)
      return translated("write {1}", place + " " + name);
  }
  if (flag == "--format" && known("--json"))
    return translated("--json prints JSON, and attn-cli plot draws pictures");
  if (flag == "-j") return translated("write {1}", known("--jobs") ? "--jobs N" : "--threads N");
  if (!command.empty()) {
    std::string text = advice_of_output(flag, command, known("--out"));
    if (!text.empty()) return text;
  }
  const std::string others = takers(flag, all);
  if (known(flag + "s")) {
    return translated("did you mean \"{1}\"?", flag + "s") +
           (others.empty() ? std::string() : translated(" {1} belongs to {2}", flag, others));
  }
  if (flag.starts_with("--no-") && known("--" + flag.substr(5)))
    return translated("leave out {1}", "--" + flag.substr(5));
  if (!others.empty())
    return translated("{1} takes no {2}: it belongs to {3}", place, flag, others);
  const std::string text = suggestion(flag, names);
  if (text != suggestion("", names)) return text;
  for (const Command& one : all) {
    const auto plots = std::ranges::find(one.flags, "--plots", &Flag::name);
    const bool picture =
        "attn-cli " + one.name == place && plots != one.flags.end() &&
        std::ranges::count(plots->words, flag.substr(std::min<std::size_t>(flag.size(), 2))) > 0;
    if (picture) return translated("write {1}", "--plots " + flag.substr(2));
  }
  for (const auto& format : picture_formats()) {
    if (flag == "--" + std::string(format.name) && known("--format"))
      return translated("write {1}", "--format " + std::string(format.name));
  }
  for (const Command& one : all) {
    if (flag == "--" + one.name)
      return translated("it is a command: see {1} --help", "attn-cli " + one.name);
  }
  if (std::string few = few_flags(place, all); !few.empty()) return few;
  return translated("see {1} --help", place);
}

}  // namespace attn::cli
