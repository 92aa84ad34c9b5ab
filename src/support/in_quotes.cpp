#include "support/in_quotes.hpp"

#include "support/printable.hpp"

namespace attn {

std::string in_quotes(std::string_view text) {
  return '"' + printable(text) + '"';
}

}  // namespace attn
