#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace attn::plot {

/// A PNG file of `width` × `height` opaque pixels, 0xXXRRGGBB each, in rows of `stride` pixels; it
/// states its resolution, the program that made it and, if it is not empty, its provenance. With
/// `transparent` pixels are 0xAARRGGBB, the colours multiplied by their alpha as Cairo has them.
/// The pixels are used up.
std::string encode_png(std::span<std::uint32_t> pixels, std::size_t width, std::size_t height,
                       std::size_t stride, double dpi, std::string_view provenance = {},
                       bool transparent = false);

/// The same without any statement, for an image within another file: one byte a pixel if there are
/// at most 256 colours.
std::string encode_image(std::span<const std::uint32_t> pixels, std::size_t width,
                         std::size_t height);

}  // namespace attn::plot
