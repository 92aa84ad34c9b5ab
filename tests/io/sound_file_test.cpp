#include "io/sound_file.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "support/mapped_file.hpp"

namespace attn {
namespace {

// A WAV file of 16-bit samples, channel by channel within a frame.
std::vector<std::byte> wav(std::uint16_t channels, std::uint32_t rate,
                           const std::vector<std::int16_t>& samples) {
  std::string bytes;
  const auto add = [&](std::uint32_t number, int count) {
    for (int i = 0; i < count; ++i) bytes += static_cast<char>((number >> (8 * i)) & 255U);
  };
  const auto length = static_cast<std::uint32_t>(2 * samples.size());
  bytes += "RIFF";
  add(36 + length, 4);
  bytes += "WAVEfmt ";
  add(16, 4);
  add(1, 2);
  add(channels, 2);
  add(rate, 4);
  add(2U * channels * rate, 4);
  add(2U * channels, 2);
  add(16, 2);
  bytes += "data";
  add(length, 4);
  for (const std::int16_t sample : samples) add(static_cast<std::uint16_t>(sample), 2);
  const auto all = std::as_bytes(std::span(bytes));
  return {all.begin(), all.end()};
}

}  // namespace

TEST_CASE("sound files: samples are parts of the largest, and channels become their mean") {
  const Sound sound = decode_sound(wav(2, 8000, {16384, -16384, 32767, 0, -32768, -32768}), {});
  CHECK(sound.rate == 8000);
  CHECK(sound.samples == std::vector<double>{0, 32767.0 / 65536, -1});
}

TEST_CASE("sound files: FLAC gives the samples that were written") {
  const auto path = std::filesystem::path(ATTN_TEST_DATA) / "io" / "files" / "ramp.flac";
  const auto file = MappedFile::open(FileName::by_user(path));
  const Sound sound = decode_sound(file->bytes(), {});
  CHECK(sound.rate == 16'000);
  REQUIRE(sound.samples.size() == 64);
  CHECK(sound.samples[0] == -16'000.0 / 32'768);
  CHECK(sound.samples[63] == 15'500.0 / 32'768);
}

TEST_CASE("sound files: others, empty and long ones are refused") {
  const std::string text = "this is a text";
  CHECK(error_from([&] { decode_sound(std::as_bytes(std::span(text)), {}); }) ==
        "libsndfile cannot read this as a sound: Format not recognised.\n"
        "  help:  give a WAV or FLAC file");
  CHECK(error_from([] { decode_sound(wav(1, 8000, {}), {}); }) ==
        "the sound is empty\n  help:  give another file");
  Limits limits;
  limits.elements = 2;
  CHECK(error_from([&] {
          decode_sound(wav(1, 8000, {1, 2, 3}), limits);
        }) ==
        "the sound has more than 2 samples, which is the limit\n"
        "  help:  shorten it, or raise the limit with Limits::elements");
}

}  // namespace attn
