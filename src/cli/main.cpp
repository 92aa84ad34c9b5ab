#include <csignal>
#include <exception>
#include <new>
#include <string_view>

#include "attn/document.hpp"
#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/commands.hpp"
#include "cli/flags.hpp"
#include "cli/output.hpp"
#include "cli/process.hpp"

namespace {

// Whether --json is given, even if the other arguments make no sense.
bool asks_for_json(int count, char** words) {
  for (int i = 1; i < count && std::string_view(words[i]) != "--"; ++i) {
    if (std::string_view(words[i]) == "--json") return true;
  }
  return false;
}

void print_error(const attn::Error& error) {
  try {
    attn::cli::print(attn::error_json(error));
  } catch (const std::exception&) {
    // The error is on standard error already.
  }
}

}  // namespace

int main(int count, char** words) {
  using namespace attn::cli;
  keep_freed_memory();
  // A write to a reader that has gone away fails instead of ending the program.
  std::signal(SIGPIPE, SIG_IGN);
  occupy_closed_streams();
  offer_own_fonts();
  try {
    choose_language(count, words);
    survive_shortened_files();
    // A write beyond the limit of file sizes fails too. This signal is set last: a test that sees
    // it ignored knows that all others are set.
    std::signal(SIGXFSZ, SIG_IGN);
    return parse_arguments(count, words)();
  } catch (const attn::Error& error) {
    complain(with_flags(error.what()));
    if (asks_for_json(count, words)) print_error(with_flags(error));
    return static_cast<int>(error.kind());
  } catch (const std::bad_alloc&) {
    complain(attn::translated(
        "there is not enough memory\n  help:  make the tensors smaller, or raise the "
        "memory limit"));
    return static_cast<int>(attn::ErrorKind::input);
  } catch (const std::exception& error) {
    complain(error.what());
    complain(attn::translated(
        "this is a bug in attn-cli: please report it with the input that shows it"));
    return static_cast<int>(attn::ErrorKind::internal);
  }
}
