#pragma once

#include <cairo-ft.h>
#include <cairo-pdf.h>
#include <cairo-svg.h>
#include <fontconfig/fontconfig.h>
#include <ft2build.h>
#include <glib-object.h>
#include <hb-ot.h>
#include <pango/pangocairo.h>
#include <pango/pangofc-font.h>
#include FT_FREETYPE_H
#include FT_GLYPH_H
#include FT_OUTLINE_H

#include "support/late_library.hpp"

namespace attn {

/// Library of drawing that needs all others: what it is linked with is found through it.
extern const LateLibrary pango_library;

// Functions of the libraries of drawing, found in this namespace before the libraries' own, which
// the program is not linked with: one that is missing here does not link.
#define ATTN_DRAWING(function) \
  inline constinit const LateFunction<decltype(::function)> function(pango_library, #function)

// GLib and GObject.
ATTN_DRAWING(g_ascii_strcasecmp);
ATTN_DRAWING(g_ascii_toupper);
ATTN_DRAWING(g_ascii_xdigit_value);
ATTN_DRAWING(g_enum_get_value);
ATTN_DRAWING(g_object_unref);
ATTN_DRAWING(g_type_check_instance_cast);
ATTN_DRAWING(g_type_check_instance_is_a);
ATTN_DRAWING(g_type_class_ref);
ATTN_DRAWING(g_type_class_unref);
ATTN_DRAWING(g_unichar_get_script);
ATTN_DRAWING(g_unichar_isalnum);
ATTN_DRAWING(g_unichar_ismark);
ATTN_DRAWING(g_unicode_script_to_iso15924);
ATTN_DRAWING(g_utf8_find_next_char);
ATTN_DRAWING(g_utf8_find_prev_char);
ATTN_DRAWING(g_utf8_get_char);
ATTN_DRAWING(g_utf8_get_char_validated);
ATTN_DRAWING(g_utf8_validate_len);

// Fontconfig.
ATTN_DRAWING(FcConfigSubstitute);
ATTN_DRAWING(FcDefaultSubstitute);
ATTN_DRAWING(FcFontMatch);
ATTN_DRAWING(FcLangSetHasLang);
ATTN_DRAWING(FcPatternAddString);
ATTN_DRAWING(FcPatternCreate);
ATTN_DRAWING(FcPatternDestroy);
ATTN_DRAWING(FcPatternGetBool);
ATTN_DRAWING(FcPatternGetInteger);
ATTN_DRAWING(FcPatternGetLangSet);
ATTN_DRAWING(FcPatternGetString);

// FreeType.
ATTN_DRAWING(FT_Done_Face);
ATTN_DRAWING(FT_Done_FreeType);
ATTN_DRAWING(FT_Done_Glyph);
ATTN_DRAWING(FT_Get_Char_Index);
ATTN_DRAWING(FT_Get_Glyph);
ATTN_DRAWING(FT_Get_Kerning);
ATTN_DRAWING(FT_Glyph_Copy);
ATTN_DRAWING(FT_Glyph_Get_CBox);
ATTN_DRAWING(FT_Glyph_To_Bitmap);
ATTN_DRAWING(FT_Glyph_Transform);
ATTN_DRAWING(FT_Init_FreeType);
ATTN_DRAWING(FT_Load_Glyph);
ATTN_DRAWING(FT_New_Face);
ATTN_DRAWING(FT_Outline_Decompose);
ATTN_DRAWING(FT_Outline_Transform);
ATTN_DRAWING(FT_Set_Char_Size);
ATTN_DRAWING(FT_Set_Transform);

// HarfBuzz.
ATTN_DRAWING(hb_font_get_face);
ATTN_DRAWING(hb_ot_color_has_layers);
ATTN_DRAWING(hb_ot_color_has_png);
ATTN_DRAWING(hb_ot_color_has_svg);

// Pango.
ATTN_DRAWING(pango_cairo_context_set_font_options);
ATTN_DRAWING(pango_cairo_font_get_scaled_font);
ATTN_DRAWING(pango_cairo_font_get_type);
ATTN_DRAWING(pango_cairo_font_map_get_default);
ATTN_DRAWING(pango_cairo_glyph_string_path);
ATTN_DRAWING(pango_cairo_show_glyph_string);
ATTN_DRAWING(pango_cairo_show_layout_line);
ATTN_DRAWING(pango_color_parse);
ATTN_DRAWING(pango_context_load_font);
ATTN_DRAWING(pango_context_set_language);
ATTN_DRAWING(pango_context_set_round_glyph_positions);
ATTN_DRAWING(pango_fc_font_get_pattern);
ATTN_DRAWING(pango_fc_font_get_type);
ATTN_DRAWING(pango_font_describe);
ATTN_DRAWING(pango_font_description_free);
ATTN_DRAWING(pango_font_description_from_string);
ATTN_DRAWING(pango_font_description_get_family);
ATTN_DRAWING(pango_font_description_get_size);
ATTN_DRAWING(pango_font_description_get_weight);
ATTN_DRAWING(pango_font_description_new);
ATTN_DRAWING(pango_font_description_set_absolute_size);
ATTN_DRAWING(pango_font_description_set_family);
ATTN_DRAWING(pango_font_description_set_weight);
ATTN_DRAWING(pango_font_get_hb_font);
ATTN_DRAWING(pango_font_map_create_context);
ATTN_DRAWING(pango_glyph_string_get_width);
ATTN_DRAWING(pango_language_from_string);
ATTN_DRAWING(pango_layout_get_font_description);
ATTN_DRAWING(pango_layout_get_line_readonly);
ATTN_DRAWING(pango_layout_get_text);
ATTN_DRAWING(pango_layout_get_unknown_glyphs_count);
ATTN_DRAWING(pango_layout_line_get_extents);
ATTN_DRAWING(pango_layout_new);
ATTN_DRAWING(pango_layout_set_font_description);
ATTN_DRAWING(pango_layout_set_single_paragraph_mode);
ATTN_DRAWING(pango_layout_set_text);
ATTN_DRAWING(pango_script_get_type);

// cairo.
ATTN_DRAWING(cairo_arc);
ATTN_DRAWING(cairo_clip);
ATTN_DRAWING(cairo_close_path);
ATTN_DRAWING(cairo_create);
ATTN_DRAWING(cairo_curve_to);
ATTN_DRAWING(cairo_destroy);
ATTN_DRAWING(cairo_fill);
ATTN_DRAWING(cairo_font_options_create);
ATTN_DRAWING(cairo_font_options_destroy);
ATTN_DRAWING(cairo_font_options_set_antialias);
ATTN_DRAWING(cairo_font_options_set_hint_metrics);
ATTN_DRAWING(cairo_font_options_set_hint_style);
ATTN_DRAWING(cairo_ft_font_face_get_synthesize);
ATTN_DRAWING(cairo_get_current_point);
ATTN_DRAWING(cairo_get_matrix);
ATTN_DRAWING(cairo_get_scaled_font);
ATTN_DRAWING(cairo_get_source);
ATTN_DRAWING(cairo_identity_matrix);
ATTN_DRAWING(cairo_image_surface_create);
ATTN_DRAWING(cairo_image_surface_create_for_data);
ATTN_DRAWING(cairo_image_surface_create_from_png_stream);
ATTN_DRAWING(cairo_image_surface_get_data);
ATTN_DRAWING(cairo_image_surface_get_height);
ATTN_DRAWING(cairo_image_surface_get_stride);
ATTN_DRAWING(cairo_image_surface_get_width);
ATTN_DRAWING(cairo_line_to);
ATTN_DRAWING(cairo_mask);
ATTN_DRAWING(cairo_matrix_transform_point);
ATTN_DRAWING(cairo_move_to);
ATTN_DRAWING(cairo_new_path);
ATTN_DRAWING(cairo_paint);
ATTN_DRAWING(cairo_pattern_create_for_surface);
ATTN_DRAWING(cairo_pattern_destroy);
ATTN_DRAWING(cairo_pattern_set_filter);
ATTN_DRAWING(cairo_pdf_surface_create_for_stream);
ATTN_DRAWING(cairo_pdf_surface_restrict_to_version);
ATTN_DRAWING(cairo_pdf_surface_set_metadata);
ATTN_DRAWING(cairo_rectangle);
ATTN_DRAWING(cairo_restore);
ATTN_DRAWING(cairo_rotate);
ATTN_DRAWING(cairo_save);
ATTN_DRAWING(cairo_scale);
ATTN_DRAWING(cairo_scaled_font_destroy);
ATTN_DRAWING(cairo_scaled_font_get_font_face);
ATTN_DRAWING(cairo_scaled_font_get_scale_matrix);
ATTN_DRAWING(cairo_scaled_font_get_type);
ATTN_DRAWING(cairo_scaled_font_reference);
ATTN_DRAWING(cairo_scaled_font_status);
ATTN_DRAWING(cairo_set_dash);
ATTN_DRAWING(cairo_set_line_join);
ATTN_DRAWING(cairo_set_line_width);
ATTN_DRAWING(cairo_set_matrix);
ATTN_DRAWING(cairo_set_scaled_font);
ATTN_DRAWING(cairo_set_source_rgb);
ATTN_DRAWING(cairo_set_source_rgba);
ATTN_DRAWING(cairo_set_source_surface);
ATTN_DRAWING(cairo_show_page);
ATTN_DRAWING(cairo_status);
ATTN_DRAWING(cairo_status_to_string);
ATTN_DRAWING(cairo_stroke);
ATTN_DRAWING(cairo_surface_destroy);
ATTN_DRAWING(cairo_surface_finish);
ATTN_DRAWING(cairo_surface_flush);
ATTN_DRAWING(cairo_surface_mark_dirty);
ATTN_DRAWING(cairo_surface_status);
ATTN_DRAWING(cairo_svg_surface_create_for_stream);
ATTN_DRAWING(cairo_svg_surface_set_document_unit);
ATTN_DRAWING(cairo_tag_begin);
ATTN_DRAWING(cairo_tag_end);
ATTN_DRAWING(cairo_translate);

#undef ATTN_DRAWING

// Part of sixel.h that pictures in terminals need. Few terminals show sixels: the library is no
// requirement of the build, and opened by the name of its interface, which libsixel 1 keeps.
struct sixel_output;
struct sixel_dither;

extern const LateLibrary sixel;

inline constexpr int sixel_rgb888 = 3;           // SIXEL_PIXELFORMAT_RGB888
inline constexpr int sixel_no_diffusion = 1;     // SIXEL_DIFFUSE_NONE
inline constexpr int sixel_failed_bit = 0x1000;  // of SIXEL_FAILED()

using SixelWrite = int (*)(char* data, int size, void* target);

#define ATTN_SIXEL(function, ...) \
  inline constinit const LateFunction<__VA_ARGS__> function(sixel, #function)

ATTN_SIXEL(sixel_output_new, int(sixel_output**, SixelWrite, void* target, void* allocator));
ATTN_SIXEL(sixel_output_unref, void(sixel_output*));
ATTN_SIXEL(sixel_dither_new, int(sixel_dither**, int colours, void* allocator));
ATTN_SIXEL(sixel_dither_unref, void(sixel_dither*));
ATTN_SIXEL(sixel_dither_initialize, int(sixel_dither*, unsigned char* pixels, int width, int height,
                                        int format, int largest, int representative, int quality));
ATTN_SIXEL(sixel_dither_get_palette, unsigned char*(sixel_dither*));
ATTN_SIXEL(sixel_dither_get_num_of_palette_colors, int(sixel_dither*));
ATTN_SIXEL(sixel_dither_set_diffusion_type, void(sixel_dither*, int diffusion));
ATTN_SIXEL(sixel_encode, int(unsigned char* pixels, int width, int height, int depth, sixel_dither*,
                             sixel_output*));

#undef ATTN_SIXEL

}  // namespace attn
