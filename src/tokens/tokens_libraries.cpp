#include "tokens/tokens_libraries.hpp"

#include <array>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <utf8proc.h>

namespace attn {

std::string tokens_libraries() {
  std::array<char, 64> pcre2{};
  pcre2_config(PCRE2_CONFIG_VERSION, pcre2.data());
  const std::string version = pcre2.data();
  return std::string("utf8proc ") + utf8proc_version() + ", PCRE2 " +
         version.substr(0, version.find(' ')) + ", SentencePiece";
}

}  // namespace attn
