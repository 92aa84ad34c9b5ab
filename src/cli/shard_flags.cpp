#include "cli/shard_flags.hpp"

#include <cstdlib>

#include "attn/error.hpp"
#include "attn/language.hpp"

#include "cli/flag_values.hpp"
#include "cli/output.hpp"

namespace attn::cli {

Shard shard_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw Error(ErrorKind::usage, translated("\"{1}\" is not what {2} takes", text, "--shard"),
                "--shard",
                translated("give the part, from 0, and the number of parts, such as 0/4"));
  }
  return {whole_number("--shard", text.substr(0, slash)),
          whole_number("--shard", text.substr(slash + 1), 1)};
}

Shard shard_of_engine(bool quiet) {
  const auto found = find_shard([](const char* name) { return std::getenv(name); });
  if (!found) return {};
  if (!quiet) {
    complain(translated("shard {1} of {2}, from 0, as {3} say", found->shard.index,
                        found->shard.count, found->source));
  }
  return found->shard;
}

}  // namespace attn::cli
