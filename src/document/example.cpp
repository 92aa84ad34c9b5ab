#include <string>

#include "attn/document.hpp"

namespace attn {

std::string example_document(Kind kind) {
  const KindInfo& row = info(kind);
  return "{\n  \"attention\": \"" + std::string(row.name) + "\",\n" + std::string(row.example) +
         "\n}\n";
}

}  // namespace attn
