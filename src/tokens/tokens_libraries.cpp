#include "tokens/tokens_libraries.hpp"

#include <oniguruma.h>
#include <utf8proc.h>

namespace attn {

std::string tokens_libraries() {
  return std::string("utf8proc ") + utf8proc_version() + ", Oniguruma " + onig_version() +
         ", SentencePiece";
}

}  // namespace attn
