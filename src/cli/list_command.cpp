#include "cli/list_command.hpp"

#include "attn/document.hpp"

#include "cli/output.hpp"

namespace attn::cli {

int list_command(const ListArguments& arguments) {
  print(arguments.common.json ? catalogue_json() : catalogue_text());
  return 0;
}

}  // namespace attn::cli
