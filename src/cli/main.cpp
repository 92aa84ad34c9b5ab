#include <csignal>
#include <exception>
#include <new>

#include "attn/error.hpp"

#include "cli/commands.hpp"
#include "cli/flags_of_fields.hpp"
#include "cli/kept_memory.hpp"
#include "cli/output.hpp"
#include "cli/shortened_file.hpp"

int main(int count, char** words) {
  using namespace attn::cli;
  survive_shortened_files();
  keep_freed_memory();
  // A reader that goes away is an error of one write, not the end of the program.
  std::signal(SIGPIPE, SIG_IGN);
  // So is a file that would grow beyond the limit.
  std::signal(SIGXFSZ, SIG_IGN);
  occupy_closed_streams();
  try {
    return parse_arguments(count, words)();
  } catch (const attn::Error& error) {
    complain(with_flags(error.what()));
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
