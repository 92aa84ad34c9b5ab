#pragma once

#include "cli/flags.hpp"

namespace attn::cli {

/// Sets the language of all texts: what --lang says, "zh" or "en", else Chinese where the locale
/// (LC_ALL, LC_MESSAGES or LANG, the first that is set, and LANGUAGE before them) begins with "zh".
/// The texts stand in share/locale beside the program or one folder up. Throws Error(file) if
/// --lang asks for texts that are not there; a locale whose texts are not there is English.
void choose_language(int count, const char* const* words);

/// --lang, whose value choose_language() has read before.
void add_language(Flags& flags);

}  // namespace attn::cli
