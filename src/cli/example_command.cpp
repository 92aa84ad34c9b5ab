#include "cli/example_command.hpp"

#include <string_view>
#include <vector>

#include "attn/document.hpp"

#include "cli/output.hpp"

namespace attn::cli {

int example_command(const ExampleArguments& arguments) {
  std::vector<std::string_view> names;
  for (const KindInfo& kind : kinds()) {
    names.push_back(kind.name);
    names.insert(names.end(), kind.aliases.begin(), kind.aliases.end());
  }
  if (arguments.kinds.size() != 1) {
    throw Error(ErrorKind::usage,
                arguments.kinds.empty() ? "no kind given" : "more than one kind given",
                "attn-cli example", "name one of the kinds that attn-cli list shows");
  }
  const KindInfo* kind = find_kind(arguments.kinds[0]);
  if (!kind) {
    throw Error(ErrorKind::input, "unknown kind of attention \"" + arguments.kinds[0] + "\"",
                "attn-cli example", nearest_known(arguments.kinds[0], names));
  }
  print(example_document(kind->kind));
  return 0;
}

}  // namespace attn::cli
