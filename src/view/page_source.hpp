#pragma once

#include <string_view>

namespace attn {

/// The page's own files, as they were when the program was built.
struct PageSource {
  std::string_view skeleton;  ///< with {{language}}, {{head}} and {{data}} where these belong
  std::string_view style, script;
  std::string_view style_hash, script_hash;  ///< SHA-256, in hexadecimal digits
};

PageSource page_source() noexcept;

}  // namespace attn
