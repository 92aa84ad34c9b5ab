#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attn/file_access.hpp"

namespace attn {

/// A sound of one channel.
struct Sound {
  std::size_t rate = 0;         ///< samples per second
  std::vector<double> samples;  ///< from −1 to 1
};

/// Whether the bytes begin as those of a sound: WAV, AIFF, FLAC, Ogg or MP3 with a tag.
bool looks_like_sound(std::span<const std::byte> file) noexcept;

/// Decodes WAV, FLAC, Ogg and whatever else libsndfile reads; several channels become their mean.
/// Throws Error(input) without a place for other and broken files and for more samples than
/// `limits.elements`, Error(file) where libsndfile is not installed.
Sound decode_sound(std::span<const std::byte> file, const Limits& limits);

}  // namespace attn
