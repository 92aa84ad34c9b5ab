#include <memory>
#include <string>
#include <vector>

#include "attn/error.hpp"
#include "attn/model.hpp"

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
    throw Error(ErrorKind::usage, "--row and --json are given together", "attn-cli model",
                "a row is JSON by itself: leave out --json");
  }
  const std::string text = given.row           ? model_row(given.folder)
                           : given.common.json ? model_json(given.folder)
                                               : model_text(given.folder);
  if (!given.common.quiet) print(text);
  return 0;
}

}  // namespace

Command model_command() {
  const auto given = std::make_shared<GivenToModel>();
  CheckpointFolder& folder = given->folder;
  Command command{"model",
                  "Describe the checkpoint folder of a model",
                  {"FOLDER",
                   "Checkpoint folder",
                   [&folder](const std::vector<std::string>& words) {
                     if (words.size() != 1) {
                       throw Error(ErrorKind::usage,
                                   words.empty() ? "no checkpoint folder given"
                                                 : "more than one checkpoint folder given",
                                   "attn-cli model", "name one folder, which holds config.json");
                     }
                     folder.path = words[0];
                   },
                   {},
                   true},
                  {},
                  [given] { return describe(*given); }};
  Flags& flags = command.flags;
  flags.toggle("--row", given->row, "Print the row of the table that the model is computed by");
  flags.text("--architecture", folder.architecture, "FILE",
             "Row that describes the model, instead of a known one");
  add_files(flags, folder.files);
  add_common(flags, given->common);
  return command;
}

}  // namespace attn::cli
