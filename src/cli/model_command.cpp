#include <memory>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/language.hpp"
#include "attn/model.hpp"
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

int describe(const GivenToModel& given) {
  if (given.row && given.common.json) {
    throw Error(ErrorKind::usage, translated("--row and --json are given together"),
                "attn-cli model", translated("a row already is JSON: leave out --json"));
  }
  const bool data = given.row || given.common.json;
  const std::string text = given.row           ? model_row(given.folder)
                           : given.common.json ? model_json(given.folder)
                                               : model_text(given.folder);
  if (given.common.quiet) return 0;
  print(data ? text : terminal_lines(text));
  return 0;
}

}  // namespace

Command model_command() {
  const auto given = std::make_shared<GivenToModel>();
  CheckpointFolder& folder = given->folder;
  Command command{
      "model",
      translated("Describe the checkpoint folder of a model"),
      {"FOLDER",
       translated("Checkpoint folder"),
       [&folder](const std::vector<std::string>& words) {
         if (words.size() != 1) {
           throw Error(ErrorKind::usage,
                       words.empty() ? translated("no checkpoint folder given")
                                     : translated("more than one checkpoint folder given"),
                       "attn-cli model", translated("name one folder, which holds config.json"));
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
             translated("File with a row of the table of models, instead of the known one"));
  add_files(flags, folder.files);
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
