#include "cli/schema_command.hpp"

#include "attn/document.hpp"

#include "cli/output.hpp"

namespace attn::cli {

int schema_command(const NoArguments&) {
  print(document_schema());
  return 0;
}

}  // namespace attn::cli
