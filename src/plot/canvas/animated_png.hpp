#pragma once

#include <span>
#include <string>

namespace attn::plot {

/// An animated PNG of frames, PNG files of one size without palettes, each shown for so many
/// seconds, over and over. Readers that know no animations show the first. Throws Error(internal)
/// for frames of several sizes.
std::string animated_png(std::span<const std::string> frames, double seconds);

}  // namespace attn::plot
