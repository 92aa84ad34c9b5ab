#include "models/sound.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "error_from.hpp"
#include "io/json_value.hpp"

namespace attn {

TEST_CASE("spectrograms are those of WhisperFeatureExtractor") {
  // transformers 5.24, without PyTorch: feature_size 6, hop_length 2000, chunk_length 1.
  const std::vector<double> wanted{
      1.20846713,   1.24097109,   1.23092973,   1.23093021,   1.23093069,    1.23093021,
      1.15134072,   -0.759028912, 0.955301642,  1.09677148,   0.857438385,   0.857421517,
      0.85741806,   0.857421398,  0.849556565,  -0.759028912, 0.545834899,   0.00134766102,
      1.06028974,   -0.23908782,  -0.759028912, -0.759028912, 0.483373106,   -0.759028912,
      0.339148104,  -0.759028912, 0.858598769,  1.02226436,   0.883408546,   -0.759028912,
      0.393316984,  -0.759028912, 0.155971587,  -0.759028912, -0.759028912,  0.75704062,
      0.957288027,  0.956534505,  0.799949706,  -0.759028912, 0.00470775366, -0.759028912,
      -0.759028912, -0.759028912, -0.759028912, 0.789199233,  0.815738082,   -0.759028912};
  std::vector<double> sound;
  for (std::size_t i = 0; i < 12'000; ++i) {
    const double t = static_cast<double>(i) / 16'000, turn = 2 * std::numbers::pi * t;
    sound.push_back(0.5 * std::sin(440 * turn) + 0.3 * std::sin(3000 * turn * t) +
                    0.1 * std::sin(97 * turn));
  }
  const SoundProcessor processor{.bands = 6, .hop = 2000, .seconds = 1};
  const Tensor found = processor.spectrogram(sound, 1);
  REQUIRE(found.shape() == Shape{6, 8});
  double largest = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    largest = std::max(largest, std::abs(found.values<double>()[i] - wanted[i]));
  }
  // Theirs are rounded to single precision, from 1 to 8 on to 5·10⁻⁷, and divided by 4.
  CHECK(largest <= 3e-7);
}

TEST_CASE("settings of spectrograms that are not followed are refused at their place") {
  const auto refused = [](const std::string& settings) {
    return error_from([&] { read_sound_processor(parse_json(settings)); });
  };
  CHECK(refused(R"({"dither": 0.0001})") ==
        "noise that is added to sounds is not computed\n  where: /dither\n"
        "  help:  set it to 0");
  CHECK(refused(R"({"do_normalize": true})") ==
        "sounds are not brought to one variance\n  where: /do_normalize\n"
        "  help:  set it to false");
  CHECK(refused(R"({"feature_extractor_type": "Wav2Vec2FeatureExtractor"})") ==
        "spectrograms of other families are not computed\n  where: /feature_extractor_type\n"
        "  help:  known is WhisperFeatureExtractor");
  CHECK(refused(R"({"hop": 1})") ==
        "the processor's key \"hop\" is not known\n  where: /hop\n"
        "  help:  the spectrogram might be another than the model was trained on");
  CHECK(refused(R"({"n_fft": 0})") ==
        "the configuration asks for a size of 0\n  where: /n_fft\n"
        "  help:  sizes are from 1 to 1048576");
  CHECK(refused(R"({"feature_size": 128, "mel_filters": [], "n_samples": 480000})") == "no error");
}

TEST_CASE("tokens of a sound are named by the seconds at which they begin") {
  const std::vector<std::string> tokens = sound_tokens({.bands = 80, .positions = 1500}, {});
  CHECK(tokens.front() == "0.00s");
  CHECK(tokens[55] == "1.10s");
  CHECK(tokens.back() == "29.98s");
}

}  // namespace attn
