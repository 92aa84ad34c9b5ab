#include "io/sound_file.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>

#include <sndfile.h>

#include "attn/error.hpp"

#include "support/late_library.hpp"
#include "support/memory.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"

namespace attn {
namespace {

constinit const LateLibrary sound_library{ATTN_SOUND_LIBRARY, "libsndfile"};
constinit const LateFunction<decltype(::sf_open_virtual)> open_virtual(sound_library,
                                                                       "sf_open_virtual");
constinit const LateFunction<decltype(::sf_readf_double)> read_frames(sound_library,
                                                                      "sf_readf_double");
constinit const LateFunction<decltype(::sf_strerror)> error_text(sound_library, "sf_strerror");
constinit const LateFunction<decltype(::sf_close)> close_sound(sound_library, "sf_close");

struct CloseSound {
  void operator()(SNDFILE* sound) const { close_sound(sound); }
};

/// The bytes of a file and a place in them.
struct SoundBytes {
  std::span<const std::byte> bytes;
  sf_count_t at = 0;
};

SoundBytes& bytes_of(void* data) {
  return *static_cast<SoundBytes*>(data);
}

sf_count_t length_of(void* data) {
  return static_cast<sf_count_t>(bytes_of(data).bytes.size());
}

sf_count_t seek_to(sf_count_t offset, int whence, void* data) {
  SoundBytes& own = bytes_of(data);
  const sf_count_t from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? own.at : length_of(data);
  own.at = std::clamp<sf_count_t>(from + offset, 0, length_of(data));
  return own.at;
}

sf_count_t read_bytes(void* to, sf_count_t count, void* data) {
  SoundBytes& own = bytes_of(data);
  const sf_count_t read = std::clamp<sf_count_t>(count, 0, length_of(data) - own.at);
  std::memcpy(to, own.bytes.data() + own.at, static_cast<std::size_t>(read));
  own.at += read;
  return read;
}

sf_count_t write_nothing(const void*, sf_count_t, void*) {
  return 0;
}

sf_count_t place_in(void* data) {
  return bytes_of(data).at;
}

}  // namespace

bool looks_like_sound(std::span<const std::byte> file) noexcept {
  const auto begins = [&](std::size_t at, std::string_view letters) {
    return file.size() >= at + letters.size() &&
           std::memcmp(file.data() + at, letters.data(), letters.size()) == 0;
  };
  constexpr std::size_t form = 8;
  return (begins(0, "RIFF") && begins(form, "WAVE")) ||
         (begins(0, "FORM") && begins(form, "AIF")) || begins(0, "fLaC") || begins(0, "OggS") ||
         begins(0, "ID3");
}

Sound decode_sound(std::span<const std::byte> file, const Limits& limits) {
  const auto begins_with = [&](std::string_view bytes) {
    return file.size() >= bytes.size() &&
           std::equal(bytes.begin(), bytes.end(), reinterpret_cast<const char*>(file.data()));
  };
  if (begins_with("\x89PNG") || begins_with("\xFF\xD8\xFF")) {
    throw input_error(translated("the file is a picture, not a sound"), "",
                      translated("give a WAV or FLAC file"));
  }
  SoundBytes bytes{file};
  SF_VIRTUAL_IO reading{length_of, seek_to, read_bytes, write_nothing, place_in};
  SF_INFO info = {};
  const std::unique_ptr<SNDFILE, CloseSound> sound(open_virtual(&reading, SFM_READ, &info, &bytes));
  if (!sound || info.channels < 1 || info.samplerate < 1) {
    throw input_error(translated("libsndfile cannot read this as a sound: {1}",
                                 printable(error_text(sound.get()))),
                      "", translated("give a WAV or FLAC file"));
  }
  const auto channels = static_cast<std::size_t>(info.channels);
  Sound own{static_cast<std::size_t>(info.samplerate), {}};
  constexpr std::size_t frames_at_once = 1 << 14;
  std::vector<double> block(frames_at_once * channels);
  while (true) {
    check_time();
    const sf_count_t read =
        read_frames(sound.get(), block.data(), static_cast<sf_count_t>(frames_at_once));
    if (read <= 0) break;
    if (own.samples.size() + static_cast<std::size_t>(read) > limits.elements) {
      throw input_error(
          translated("the sound has more than {1} samples, which is the limit", limits.elements),
          "", translated("shorten it, or raise the limit with Limits::elements"));
    }
    check_memory(own.samples.size() + frames_at_once, sizeof(double),
                 translated("the samples of the sound"), "");
    for (std::size_t i = 0; i < static_cast<std::size_t>(read); ++i) {
      double sum = 0;
      for (std::size_t c = 0; c < channels; ++c) sum += block[i * channels + c];
      own.samples.push_back(sum / static_cast<double>(channels));
    }
  }
  if (!own.samples.empty()) return own;
  throw input_error(translated("the sound is empty"), "", translated("give another file"));
}

}  // namespace attn
