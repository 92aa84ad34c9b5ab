#include "plot/text/script_fonts.hpp"

#include <pango/pango.h>
#include <utf8proc.h>

#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr gunichar first_skin_tone = 0x1F3FB, last_skin_tone = 0x1F3FF;
constexpr gunichar first_pictograph = 0x1F000;  // signs below are in fonts of symbols
constexpr gunichar first_rare_han = 0x20000;    // of the supplementary planes

bool is_emoji(gunichar letter) {
  if (letter >= first_skin_tone && letter <= last_skin_tone) return true;
  const auto* property = utf8proc_get_property(static_cast<utf8proc_int32_t>(letter));
  return letter >= first_pictograph &&
         (property->boundclass == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC ||
          property->boundclass == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR);
}

std::string script_name(GUnicodeScript script) {
  const guint32 code = g_unicode_script_to_iso15924(script);
  std::string name;
  for (int shift = 24; shift >= 0; shift -= 8) name += static_cast<char>(code >> shift);
  // Pango's names follow GLib's numbers up to this script.
  if (script <= G_UNICODE_SCRIPT_LYDIAN) {
    auto* scripts = static_cast<GEnumClass*>(g_type_class_ref(PANGO_TYPE_SCRIPT));
    const GEnumValue* value = g_enum_get_value(scripts, static_cast<int>(script));
    if (value != nullptr) name = value->value_nick;
    g_type_class_unref(scripts);
  }
  name.front() = g_ascii_toupper(name.front());
  return name;
}

}  // namespace

ScriptFonts fonts_for(gunichar letter) {
  if (is_emoji(letter)) return {"emoji", "fonts-noto-color-emoji"};
  const GUnicodeScript script = g_unichar_get_script(letter);
  const std::string name = script_name(script);
  switch (script) {
    case G_UNICODE_SCRIPT_HAN:
      return {name, letter >= first_rare_han ? translated("fonts-noto-cjk or fonts-hanazono")
                                             : translated("fonts-wqy-zenhei or fonts-noto-cjk")};
    case G_UNICODE_SCRIPT_HANGUL:
    case G_UNICODE_SCRIPT_HIRAGANA:
    case G_UNICODE_SCRIPT_KATAKANA:
    case G_UNICODE_SCRIPT_BOPOMOFO:
      return {name, translated("fonts-wqy-zenhei or fonts-noto-cjk")};
    case G_UNICODE_SCRIPT_COMMON:
    case G_UNICODE_SCRIPT_INHERITED:
      return {"symbols", translated("fonts-noto-core or fonts-symbola")};
    default:
      return {name, "fonts-noto-core"};
  }
}

}  // namespace attn::plot
