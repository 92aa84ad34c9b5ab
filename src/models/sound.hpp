#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "io/json_value.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

namespace attn {

/// The way from a sound to the spectrogram that a model reads, as preprocessor_config.json gives it
/// (Radford et al. 2022, "Whisper", section 2.2).
struct SoundProcessor {
  std::size_t bands = 80;    ///< of the mel scale
  std::size_t rate = 16000;  ///< samples per second
  std::size_t hop = 160;     ///< samples from one frame to the next
  std::size_t window = 400;  ///< samples of a frame
  std::size_t seconds = 30;  ///< length to which sounds are filled with silence, or cut

  std::size_t samples() const noexcept { return seconds * rate; }

  /// The logarithms of the powers in bands [bands,samples/hop], float64: frames around every hop of
  /// the sound, which is mirrored at its ends, under a Hann window; powers of their Fourier
  /// transform, in triangles of Slaney's mel scale up to 8000 Hz; (max(log10, largest − 8) + 4)
  /// / 4.
  Tensor spectrogram(std::vector<double> sound, std::size_t threads) const;
};

/// Reads a preprocessor_config.json. Throws Error(input) at the key for what is malformed, not
/// known or not supported.
SoundProcessor read_sound_processor(const JsonValue& config);

/// Names of the tokens of a sound, the seconds at which they begin: "0.00s", "0.02s"…
std::vector<std::string> sound_tokens(const SoundPart& sound, const SoundProcessor& processor);

/// Checks what is particular to models of sound, and adds the names of its tensors to `used`.
/// Throws Error(input) as check_weights() does.
void check_sound(const Architecture& model, const StackWeights& names,
                 const CheckpointWeights& weights, std::vector<std::string>& used);

/// The states [1,L,D] of a spectrogram [bands,2·L] before the first layer of the encoder: two
/// convolutions with GELU, the second of every other frame, and positions. In the type of the
/// options.
Tensor embed_sound(const Architecture& model, const CheckpointWeights& weights,
                   const Tensor& spectrogram, const AttentionOptions& options);

}  // namespace attn
