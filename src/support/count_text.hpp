#pragma once

#include <cstddef>
#include <string>

namespace attn {

/// "1 sample", "2 samples"; a plural that takes more than an s is given: "2 queries".
inline std::string count_text(std::size_t count, const std::string& one,
                              const std::string& many = "") {
  return std::to_string(count) + " " + (count == 1 ? one : many.empty() ? one + "s" : many);
}

}  // namespace attn
