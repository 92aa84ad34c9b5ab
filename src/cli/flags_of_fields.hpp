#pragma once

#include <string>

#include "attn/error.hpp"

namespace attn::cli {

/// A text of the library with flags in place of the fields that it names: "--keys" for
/// "MapSelection::keys".
std::string with_flags(std::string text);
Error with_flags(const Error& error);

}  // namespace attn::cli
