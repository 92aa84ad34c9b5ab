#include "cli/commands.hpp"

#include <algorithm>

#include "attn/language.hpp"

#include "cli/spoken_language.hpp"

namespace attn::cli {

std::vector<Command> commands() {
  std::vector<Command> all{
      run_command(),      batch_command(),  plot_command(),       show_command(),
      explain_command(),  heads_command(),  view_command(),       compare_command(),
      validate_command(), schema_command(), model_command(),      example_command(),
      bench_command(),    list_command(),   completion_command(), manual_command()};
  for (Command& command : all) {
    const bool speaks = std::any_of(command.flags.begin(), command.flags.end(),
                                    [](const Flag& flag) { return flag.name == "--lang"; });
    if (!speaks) add_language(command.flags);
    command.flags.insert(command.flags.begin(),
                         Flag{"--help", "", translated("Print this help"), {}});
  }
  return all;
}

}  // namespace attn::cli
