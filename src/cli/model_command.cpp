#include <memory>
#include <string>
#include <vector>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/model.hpp"
#include "attn/model_list.hpp"
#include "attn/terminal.hpp"

#include "cli/commands.hpp"
#include "cli/common_flags.hpp"
#include "cli/output.hpp"

namespace attn::cli {
namespace {

struct GivenToModel {
  Common common;
  CheckpointFolder folder;
  bool row = false;
};

struct GivenToTokens {
  Common common;
  DocumentOptions document;
};

int list_models(const GivenToModel& given) {
  const std::vector<ListedModel> models = models_here(".", given.folder.files);
  print(given.common.json ? models_here_json(models) : terminal_lines(models_here_text(models)));
  return 0;
}

int show_tokens(const GivenToTokens& given) {
  const DocumentOptions& options = given.document;
  if (options.input.empty() && (!options.model || options.texts.empty())) {
    throw Error(ErrorKind::usage,
                options.texts.empty() ? translated("no text given") : translated("no model given"),
                "attn-cli tokens",
                translated("give a model and a text: attn-cli tokens --model M --text T"));
  }
  // A word that is no file, by its looks, is meant as a text.
  std::error_code none;
  const std::string input = options.input.string();
  if (input != "-" && options.texts.empty() && input.find_first_of("./") == std::string::npos &&
      !std::filesystem::exists(options.input, none)) {
    throw Error(ErrorKind::usage, translated("unexpected argument \"{1}\"", input),
                "attn-cli tokens", translated("give a text with {1}", "--text \"" + input + "\""));
  }
  std::vector<std::string> warnings;
  const std::string text = given.common.json ? tokens_json(options, &warnings)
                                             : terminal_lines(tokens_text(options, &warnings));
  if (!given.common.quiet) warn(warnings);
  print(text);
  return 0;
}

int describe(const GivenToModel& given) {
  if (given.folder.path.empty() && !given.row) return list_models(given);
  if (given.folder.path.empty()) {
    throw Error(ErrorKind::usage, translated("no checkpoint folder given"), "attn-cli model",
                translated("name one folder, which holds config.json"));
  }
  if (given.row && given.common.json) {
    throw Error(ErrorKind::usage, translated("--row and --json are given together"),
                "attn-cli model", translated("a row already is JSON: leave out --json"));
  }
  const bool data = given.row || given.common.json;
  const std::string text = given.row           ? model_row(given.folder)
                           : given.common.json ? model_json(given.folder)
                                               : model_text(given.folder);
  print(data ? text : terminal_lines(text));
  return 0;
}

}  // namespace

Command model_command() {
  const auto given = std::make_shared<GivenToModel>();
  CheckpointFolder& folder = given->folder;
  Command command{
      "model",
      translated("Describe a model, or list those that this machine has"),
      {"FOLDER",
       translated("Folder, file or name of a model; without it, all models found are listed"),
       [&folder](const std::vector<std::string>& words) {
         if (words.empty()) return;
         if (words.size() != 1) {
           throw Error(ErrorKind::usage, translated("more than one checkpoint folder given"),
                       "attn-cli model", translated("name one folder, which holds config.json"));
         }
         std::error_code none;
         if ((words[0] == "ls" || words[0] == "list") && !std::filesystem::exists(words[0], none)) {
           throw Error(ErrorKind::usage, translated("unexpected argument \"{1}\"", words[0]),
                       "attn-cli model",
                       translated("leave it out: attn-cli model lists those that are found"));
         }
         folder.path = words[0];
       },
       {},
       true},
      {},
      [given] { return describe(*given); }};
  Flags& flags = command.flags;
  flags.toggle("--row", given->row,
               translated("Print the row of the table of models that the model is computed by"));
  flags.text("--architecture", folder.architecture, "FILE",
             translated("JSON description of a model family, instead of the built-in one"));
  add_files(flags, folder.files);
  add_common(flags, given->common);
  return command;
}

Command tokens_command() {
  const auto given = std::make_shared<GivenToTokens>();
  DocumentOptions& document = given->document;
  Command command{
      "tokens",
      translated("Show the tokens of a text: pieces, ids and places, without computing"),
      {"INPUT",
       translated("Document with a text, - for standard input; not needed beside "
                  "--model and --text"),
       [&document](const std::vector<std::string>& words) {
         if (words.empty()) return;
         std::error_code none;
         const bool folder = std::filesystem::is_directory(words[0], none);
         if (words.size() != 1) {
           throw Error(ErrorKind::usage, translated("more than one document given"),
                       "attn-cli tokens",
                       folder ? translated("write {1}", "attn-cli tokens --model " + words[0] +
                                                            " --text \"" + words[1] + "\"")
                              : translated("name one"));
         }
         if (folder) {
           throw Error(
               ErrorKind::usage, translated("\"{1}\" is a folder", words[0]), "attn-cli tokens",
               translated("write {1}", "attn-cli tokens --model " + words[0] + " --text TEXT"));
         }
         document.input = words[0];
       },
       {},
       true},
      {},
      [given] { return show_tokens(*given); }};
  Flags& flags = command.flags;
  flags.text("--model", document.model, "DIR",
             translated("Folder, file or name of the model whose tokenizer is used; a tokenizer "
                        "alone will do"));
  add_texts(flags, document);
  add_files(flags, document.files);
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
