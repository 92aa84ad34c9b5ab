#pragma once

#include <string>

#include <glib.h>

namespace attn::plot {

/// What letters belong to as people call it, and where Debian has a font for it.
struct ScriptFonts {
  std::string script;    ///< "Hangul", "Devanagari", "emoji"; rarer ones by their ISO 15924 code
  std::string packages;  ///< "fonts-noto-core", "fonts-wqy-zenhei or fonts-noto-cjk"
};

ScriptFonts fonts_for(gunichar letter);

}  // namespace attn::plot
