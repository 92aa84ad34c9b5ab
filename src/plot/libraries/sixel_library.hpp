#pragma once

#include "support/late_library.hpp"

namespace attn {

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
