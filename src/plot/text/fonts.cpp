#include "plot/text/fonts.hpp"

#include <algorithm>
#include <vector>

#include <utf8proc.h>

#include "support/translated.hpp"

namespace attn::plot {
namespace {

constexpr FT_UInt finer_across = 8;
constexpr double units_a_pixel = 64;  // FreeType's units in a pixel

struct FontFile {
  std::string path;
  int index = 0;
};

FontFile file_of(const char* family) {
  FcPattern* pattern = FcPatternCreate();
  FcPatternAddString(pattern, FC_FAMILY, reinterpret_cast<const FcChar8*>(family));
  FcConfigSubstitute(nullptr, pattern, FcMatchPattern);
  FcDefaultSubstitute(pattern);
  FcResult result = FcResultNoMatch;
  FcPattern* match = FcFontMatch(nullptr, pattern, &result);
  FontFile file;
  if (match != nullptr) {
    FcChar8* path = nullptr;
    if (FcPatternGetString(match, FC_FILE, 0, &path) == FcResultMatch) {
      file.path = reinterpret_cast<const char*>(path);
    }
    FcPatternGetInteger(match, FC_INDEX, 0, &file.index);
    FcPatternDestroy(match);
  }
  FcPatternDestroy(pattern);
  return file;
}

// Whether letters of a script stand one after another, each in its one shape.
bool is_plain(gunichar letter) {
  switch (g_unichar_get_script(letter)) {
    case G_UNICODE_SCRIPT_COMMON:
    case G_UNICODE_SCRIPT_LATIN:
    case G_UNICODE_SCRIPT_GREEK:
    case G_UNICODE_SCRIPT_CYRILLIC:
      return true;
    default:
      return false;
  }
}

// Adds a glyph's picture to the line's; glyphs may touch.
void add_bitmap(const FT_Bitmap& bitmap, int left, int top, cairo_surface_t* surface) {
  unsigned char* data = cairo_image_surface_get_data(surface);
  const int stride = cairo_image_surface_get_stride(surface);
  const int x_end =
      std::min(left + static_cast<int>(bitmap.width), cairo_image_surface_get_width(surface));
  const int y_end =
      std::min(top + static_cast<int>(bitmap.rows), cairo_image_surface_get_height(surface));
  for (int y = std::max(0, top); y < y_end; ++y) {
    const unsigned char* from = bitmap.buffer + std::ptrdiff_t{y - top} * bitmap.pitch - left;
    unsigned char* to = data + std::ptrdiff_t{y} * stride;
    for (int x = std::max(0, left); x < x_end; ++x)
      to[x] = static_cast<unsigned char>(to[x] | from[x]);
  }
}

constexpr const char* noto_package = "fonts-noto-core";
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

std::string families_of_scripts(const std::string& text) {
  std::string families;
  for (const char* at = text.c_str(); *at != '\0'; at = g_utf8_find_next_char(at, nullptr)) {
    const gunichar letter = g_utf8_get_char(at);
    constexpr gunichar first_of_others = 0x590;  // after Latin, Greek, Cyrillic and Armenian
    if (letter < first_of_others || is_plain(letter) || is_emoji(letter)) continue;
    if (fonts_for(letter).packages != noto_package) continue;
    std::string family = ",Noto Sans " + script_name(g_unichar_get_script(letter));
    std::ranges::replace(family, '-', ' ');
    if (families.find(family) == families.npos) families += family;
  }
  return families;
}

std::string installed_instead(const std::string& family) {
  constexpr std::pair<std::string_view, const char*> languages[]{
      {" SC", "zh-cn"},      {" CN", "zh-cn"},    {"YaHei", "zh-cn"},    {"SimHei", "zh-cn"},
      {"SimSun", "zh-cn"},   {"KaiTi", "zh-cn"},  {"FangSong", "zh-cn"}, {"PingFang", "zh-cn"},
      {"Heiti", "zh-cn"},    {"Songti", "zh-cn"}, {" TC", "zh-tw"},      {" HK", "zh-tw"},
      {"JhengHei", "zh-tw"}, {" JP", "ja"},       {"Hiragino", "ja"},    {"Meiryo", "ja"},
      {"Yu Gothic", "ja"},   {" KR", "ko"},       {"Malgun", "ko"},      {"Nanum", "ko"}};
  const auto named = std::ranges::find_if(
      languages, [&](const auto& row) { return family.find(row.first) != family.npos; });
  if (named == std::end(languages)) return "";
  const auto* const language = reinterpret_cast<const FcChar8*>(named->second);
  FcPattern* pattern = FcPatternCreate();
  FcPatternAddString(pattern, FC_LANG, language);
  FcConfigSubstitute(nullptr, pattern, FcMatchPattern);
  FcDefaultSubstitute(pattern);
  FcResult result = FcResultNoMatch;
  FcPattern* match = FcFontMatch(nullptr, pattern, &result);
  FcPatternDestroy(pattern);
  if (match == nullptr) return "";
  FcLangSet* known = nullptr;
  FcChar8* name = nullptr;
  std::string instead;
  if (FcPatternGetLangSet(match, FC_LANG, 0, &known) == FcResultMatch &&
      FcLangSetHasLang(known, language) == FcLangEqual &&
      FcPatternGetString(match, FC_FAMILY, 0, &name) == FcResultMatch)
    instead = reinterpret_cast<const char*>(name);
  FcPatternDestroy(match);
  return instead;
}

bool is_installed(const std::string& family) {
  for (const char* general : {"serif", "sans-serif", "monospace"}) {
    if (family == general) return true;
  }
  FcPattern* pattern = FcPatternCreate();
  FcPatternAddString(pattern, FC_FAMILY, reinterpret_cast<const FcChar8*>(family.c_str()));
  FcConfigSubstitute(nullptr, pattern, FcMatchPattern);
  FcDefaultSubstitute(pattern);
  FcResult result = FcResultNoMatch;
  FcPattern* match = FcFontMatch(nullptr, pattern, &result);
  bool found = false;
  FcChar8* name = nullptr;
  for (int i = 0; match != nullptr && !found &&
                  FcPatternGetString(match, FC_FAMILY, i, &name) == FcResultMatch;
       ++i) {
    found = g_ascii_strcasecmp(reinterpret_cast<const char*>(name), family.c_str()) == 0;
  }
  if (match != nullptr) FcPatternDestroy(match);
  FcPatternDestroy(pattern);
  return found;
}

HintedFont::HintedFont(const char* family) {
  const FontFile file = file_of(family);
  if (FT_Init_FreeType(&library_) != 0) {
    library_ = nullptr;
    return;
  }
  if (FT_New_Face(library_, file.path.c_str(), file.index, &face_) != 0) face_ = nullptr;
}

HintedFont::~HintedFont() {
  glyphs_.clear();
  if (face_ != nullptr) FT_Done_Face(face_);
  if (library_ != nullptr) FT_Done_FreeType(library_);
}

bool HintedFont::set_size(double points, double dpi) {
  if (points == points_ && dpi == dpi_) return true;
  glyphs_.clear();
  points_ = dpi_ = 0;
  const auto dots = static_cast<FT_UInt>(dpi);
  if (FT_Set_Char_Size(face_, static_cast<FT_F26Dot6>(points * units_a_pixel), 0,
                       dots * finer_across, dots) != 0) {
    return false;
  }
  FT_Matrix back_to_pixels = {65536 / finer_across, 0, 0, 65536};
  FT_Set_Transform(face_, &back_to_pixels, nullptr);
  points_ = points;
  dpi_ = dpi;
  return true;
}

const HintedFont::LoadedGlyph& HintedFont::load(FT_UInt index) {
  LoadedGlyph& loaded = glyphs_[index];
  FT_Glyph glyph = nullptr;
  if (loaded.glyph == nullptr && FT_Load_Glyph(face_, index, FT_LOAD_FORCE_AUTOHINT) == 0 &&
      FT_Get_Glyph(face_->glyph, &glyph) == 0) {
    loaded.glyph.reset(glyph);
    loaded.advance = face_->glyph->advance.x;
  }
  return loaded;
}

std::optional<HintedLine> HintedFont::line(const std::string& text, double points, double dpi,
                                           bool with_coverage) {
  if (face_ == nullptr || !set_size(points, dpi)) return std::nullopt;
  std::vector<std::unique_ptr<FT_GlyphRec_, ReleaseGlyph>> placed;
  FT_BBox ink = {32000, 32000, -32000, -32000};
  FT_Vector pen = {0, 0};
  FT_UInt previous = 0;
  for (const char* at = text.c_str(); *at != '\0'; at = g_utf8_find_next_char(at, nullptr)) {
    const gunichar letter = g_utf8_get_char(at);
    const FT_UInt index = FT_Get_Char_Index(face_, letter);
    if (index == 0 || !is_plain(letter)) return std::nullopt;
    FT_Vector kerning = {0, 0};
    if (previous != 0 && FT_HAS_KERNING(face_)) {
      FT_Get_Kerning(face_, previous, index, FT_KERNING_DEFAULT, &kerning);
    }
    pen.x += kerning.x / static_cast<FT_Pos>(finer_across);
    const LoadedGlyph& loaded = load(index);
    FT_Glyph glyph = nullptr;
    if (loaded.glyph == nullptr || FT_Glyph_Copy(loaded.glyph.get(), &glyph) != 0) {
      return std::nullopt;
    }
    placed.emplace_back(glyph);
    FT_Glyph_Transform(glyph, nullptr, &pen);
    FT_BBox box;
    FT_Glyph_Get_CBox(glyph, FT_GLYPH_BBOX_SUBPIXELS, &box);
    ink = {std::min(ink.xMin, box.xMin), std::min(ink.yMin, box.yMin), std::max(ink.xMax, box.xMax),
           std::max(ink.yMax, box.yMax)};
    pen.x += loaded.advance;
    previous = index;
  }
  if (ink.xMin > ink.xMax) ink = {0, 0, 0, 0};

  const auto pixels = [](FT_Pos subpixels) {
    return static_cast<double>(subpixels) / units_a_pixel;
  };
  HintedLine line;
  line.width = pixels(pen.x);
  line.ascent = pixels(ink.yMax);
  line.descent = -pixels(ink.yMin);
  line.left = pixels(ink.xMin);
  line.right = pixels(ink.xMax);
  if (!with_coverage) return line;

  const int width = static_cast<int>((ink.xMax - ink.xMin) / 64) + 2;
  const int height = static_cast<int>((ink.yMax - ink.yMin) / 64) + 2;
  line.coverage.reset(cairo_image_surface_create(CAIRO_FORMAT_A8, width, height));
  if (cairo_surface_status(line.coverage.get()) != CAIRO_STATUS_SUCCESS) return std::nullopt;
  cairo_surface_flush(line.coverage.get());
  for (auto& owner : placed) {
    FT_Glyph glyph = owner.get();
    if (FT_Glyph_To_Bitmap(&glyph, FT_RENDER_MODE_NORMAL, nullptr, 0) != 0) return std::nullopt;
    const std::unique_ptr<FT_GlyphRec_, ReleaseGlyph> rendered(glyph);
    const auto* picture = reinterpret_cast<FT_BitmapGlyph>(glyph);
    add_bitmap(picture->bitmap, static_cast<int>(picture->left - line.left),
               static_cast<int>(line.ascent - picture->top + 1), line.coverage.get());
  }
  cairo_surface_mark_dirty(line.coverage.get());
  return line;
}

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
      return {name, noto_package};
  }
}

}  // namespace attn::plot
