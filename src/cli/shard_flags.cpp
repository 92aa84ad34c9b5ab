#include "cli/shard_flags.hpp"

#include <cstdlib>

#include "attn/error.hpp"

#include "cli/flag_values.hpp"
#include "cli/output.hpp"

namespace attn::cli {

Shard shard_of(const std::string& text) {
  const std::size_t slash = text.find('/');
  if (slash == std::string::npos) {
    throw Error(ErrorKind::usage, "\"" + text + "\" is not what --shard takes", "--shard",
                "give the part, from 0, and the number of parts, such as 0/4");
  }
  return {whole_number("--shard", text.substr(0, slash)),
          whole_number("--shard", text.substr(slash + 1), 1)};
}

Shard shard_of_engine(bool quiet) {
  const auto found = find_shard([](const char* name) { return std::getenv(name); });
  if (!found) return {};
  if (!quiet) {
    complain("shard " + std::to_string(found->shard.index) + " of " +
             std::to_string(found->shard.count) + ", from 0, as " + found->source + " say");
  }
  return found->shard;
}

}  // namespace attn::cli
