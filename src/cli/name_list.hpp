#pragma once

#include <string>

#include "attn/language.hpp"

namespace attn::cli {

/// The separator of the names of a list: ", " in English.
inline std::string name_separator() {
  return translated("{1}, {2}", "", "");
}

}  // namespace attn::cli
