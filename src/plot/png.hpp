#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace attn::plot {

/// A PNG file of `width` × `height` opaque pixels, 0xXXRRGGBB each, in rows of `stride` pixels; it
/// states its resolution and the program that made it. The pixels are used up.
std::string encode_png(std::span<std::uint32_t> pixels, std::size_t width, std::size_t height,
                       std::size_t stride, double dpi);

}  // namespace attn::plot
