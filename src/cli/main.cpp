#include <csignal>
#include <exception>
#include <new>

#include "attn/error.hpp"

#include "cli/arguments.hpp"
#include "cli/compare_command.hpp"
#include "cli/explain_command.hpp"
#include "cli/output.hpp"
#include "cli/plot_command.hpp"
#include "cli/run_command.hpp"

int main(int count, char** words) {
  using namespace attn::cli;
  // A reader that goes away is an error of one write, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    const Arguments arguments = parse_arguments(count, words);
    if (arguments.print) {
      print(*arguments.print);
      return 0;
    }
    switch (arguments.command) {
      case Arguments::Command::run:
        return run_command(arguments.run);
      case Arguments::Command::plot:
        return plot_command(arguments.plot);
      case Arguments::Command::compare:
        return compare_command(arguments.compare);
      case Arguments::Command::explain:
        return explain_command(arguments.explain);
      case Arguments::Command::none:
        break;
    }
    return 0;
  } catch (const attn::Error& error) {
    complain(error.what());
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    complain(
        "there is not enough memory\n  help:  make the tensors smaller, or raise the memory limit");
    return static_cast<int>(attn::ErrorKind::input);
  } catch (const std::exception& error) {
    complain(error.what());
    complain("this is a bug of attn-cli: please report it with the input that shows it");
    return static_cast<int>(attn::ErrorKind::internal);
  }
}
