#include "models/sound.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "layers/layer.hpp"
#include "models/configuration_reader.hpp"
#include "models/family_row.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

constexpr double highest_frequency = 8000;  // Hz
constexpr std::size_t convolved_frames = 3;

// Slaney's mel scale: straight up to 1000 Hz, then logarithmic.
double mel_of(double hertz) {
  if (hertz < 1000) return 3 * hertz / 200;
  return 15 + std::log(hertz / 1000) * 27 / std::log(6.4);
}

double hertz_of(double mel) {
  if (mel < 15) return 200 * mel / 3;
  return 1000 * std::exp(std::log(6.4) / 27 * (mel - 15));
}

// Triangles over the frequencies of a transform [bands,window/2 + 1], each of an area of 1.
Tensor mel_triangles(const SoundProcessor& by) {
  const std::size_t bins = by.window / 2 + 1;
  std::vector<double> edges;
  for (std::size_t i = 0; i < by.bands + 2; ++i) {
    edges.push_back(hertz_of(mel_of(highest_frequency) * static_cast<double>(i) /
                             static_cast<double>(by.bands + 1)));
  }
  const auto last = static_cast<double>(by.rate / 2);
  std::vector<double> all;
  for (std::size_t band = 0; band < by.bands; ++band) {
    const double low = edges[band], top = edges[band + 1], high = edges[band + 2];
    for (std::size_t bin = 0; bin < bins; ++bin) {
      const double at = last * static_cast<double>(bin) / static_cast<double>(bins - 1);
      const double height = std::min((at - low) / (top - low), (high - at) / (high - top));
      all.push_back(std::max(0.0, height) * 2 / (high - low));
    }
  }
  return {{by.bands, bins}, std::move(all)};
}

// Cosines, then sines, of a transform's frequencies under a Hann window [2·bins,window].
Tensor transform_under_window(std::size_t window) {
  const std::size_t bins = window / 2 + 1;
  const double turn = 2 * std::numbers::pi / static_cast<double>(window);
  std::vector<double> all;
  for (std::size_t row = 0; row < 2 * bins; ++row) {
    for (std::size_t i = 0; i < window; ++i) {
      const double weight = 0.5 - 0.5 * std::cos(turn * static_cast<double>(i));
      // The product is taken modulo the window, so that angles stay small and exact.
      const double angle = turn * static_cast<double>(row % bins * i % window);
      all.push_back(weight * (row < bins ? std::cos(angle) : std::sin(angle)));
    }
  }
  return {{2 * bins, window}, std::move(all)};
}

// Frames [count,window] around each hop of a sound, which is mirrored at its ends.
Tensor frames_of(const std::vector<double>& sound, const SoundProcessor& by) {
  const std::size_t count = sound.size() / by.hop;
  const auto half = static_cast<std::ptrdiff_t>(by.window / 2),
             end = static_cast<std::ptrdiff_t>(sound.size());
  std::vector<double> all;
  all.reserve(count * by.window);
  for (std::size_t frame = 0; frame < count; ++frame) {
    for (std::size_t i = 0; i < by.window; ++i) {
      auto at = static_cast<std::ptrdiff_t>(frame * by.hop + i) - half;
      if (at < 0) at = -at;
      if (at >= end) at = 2 * (end - 1) - at;
      all.push_back(sound[static_cast<std::size_t>(at)]);
    }
  }
  return {{count, by.window}, std::move(all)};
}

// Rows [L,C] and their neighbours on both sides, zeros beyond the ends, of every `stride`-th row:
// [L/stride,3·C], channel by channel.
Tensor with_neighbours(const Tensor& rows, std::size_t stride) {
  const std::size_t length = rows.shape()[0], channels = rows.shape()[1];
  const Tensor numbers = rows.converted(DType::float64);
  const auto from = numbers.values<double>();
  std::vector<double> all;
  all.reserve((length + stride - 1) / stride * convolved_frames * channels);
  for (std::size_t row = 0; row < length; row += stride) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t k = 0; k < convolved_frames; ++k) {
        const bool there = row + k >= 1 && row + k <= length;
        all.push_back(there ? from[(row + k - 1) * channels + c] : 0);
      }
    }
  }
  const std::size_t count = all.size() / (convolved_frames * channels);
  return Tensor({count, convolved_frames * channels}, std::move(all)).converted(rows.dtype());
}

// Values that others would make another spectrogram of.
void refuse_other_sound(const ConfigurationReader& reader) {
  for (const auto& [key, meaning] :
       {std::pair("dither", to_translate("noise that is added to sounds is not computed")),
        std::pair("padding_value", to_translate("sounds are filled with silence alone"))}) {
    if (reader.number(key).value_or(0) == 0) continue;
    refuse_key(key, translated(meaning), translated("set it to 0"));
  }
  if (!reader.boolean("do_normalize").value_or(false)) return;
  refuse_key("do_normalize", translated("sounds are not brought to one variance"),
             translated("set it to false"));
}

}  // namespace

Tensor SoundProcessor::spectrogram(std::vector<double> sound, std::size_t threads) const {
  sound.resize(samples(), 0);
  const Tensor parts =
      apply(Linear{transform_under_window(window), {}}, frames_of(sound, *this), threads);
  const std::size_t count = parts.shape()[0], bins = window / 2 + 1;
  const auto numbers = parts.values<double>();
  std::vector<double> powers;
  powers.reserve(count * bins);
  for (std::size_t frame = 0; frame < count; ++frame) {
    const auto row = numbers.subspan(frame * 2 * bins, 2 * bins);
    for (std::size_t bin = 0; bin < bins; ++bin) {
      powers.push_back(row[bin] * row[bin] + row[bins + bin] * row[bins + bin]);
    }
  }
  const Tensor banded =
      apply(Linear{mel_triangles(*this), {}}, Tensor({count, bins}, std::move(powers)), threads);
  const auto rows = banded.values<double>();
  double largest = -HUGE_VAL;
  std::vector<double> all(rows.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double logarithm = std::log10(std::max(rows[i], 1e-10));
    all[i % bands * count + i / bands] = logarithm;
    largest = std::max(largest, logarithm);
  }
  for (double& number : all) number = (std::max(number, largest - 8) + 4) / 4;
  return {{bands, count}, std::move(all)};
}

SoundProcessor read_sound_processor(const JsonValue& config) {
  if (!config.is(JsonValue::Type::object)) {
    throw input_error(
        translated("the configuration is {1}, not an object", translated(type_text(config))), "",
        translated("this is not the preprocessor_config.json of a model"));
  }
  // Filters of bands stand in old files, and are those of the scale.
  constexpr auto known = std::to_array<std::string_view>(
      {"feature_size", "sampling_rate", "hop_length", "n_fft", "chunk_length", "dither",
       "padding_value", "do_normalize", "mel_filters", "n_samples", "nb_max_frames", "padding_side",
       "return_attention_mask", "feature_extractor_type", "processor_class"});
  for (const JsonMember& member : config.members()) {
    if (member.value.is(JsonValue::Type::null)) continue;
    if (std::ranges::count(known, member.key) > 0) continue;
    refuse_key(member.key, translated("the processor's key \"{1}\" is not known", member.key),
               translated("the spectrogram might be another than the model was trained on"));
  }
  const FamilyRow row;
  const ConfigurationReader reader(config, row);
  if (reader.text("feature_extractor_type").value_or("WhisperFeatureExtractor") !=
      "WhisperFeatureExtractor") {
    refuse_key("feature_extractor_type",
               translated("spectrograms of other families are not computed"),
               translated("known is WhisperFeatureExtractor"));
  }
  refuse_other_sound(reader);
  SoundProcessor own;
  constexpr std::size_t most = 1 << 20;
  for (const auto& [key, size] :
       {std::pair("feature_size", &own.bands), std::pair("sampling_rate", &own.rate),
        std::pair("hop_length", &own.hop), std::pair("n_fft", &own.window),
        std::pair("chunk_length", &own.seconds)}) {
    *size = reader.count(key).value_or(*size);
    if (*size > 0 && *size <= most) continue;
    refuse_key(key, translated("the configuration asks for a size of {1}", *size),
               translated("sizes are from 1 to {1}", most));
  }
  constexpr std::size_t most_samples = 1 << 26, most_window = 1 << 13;
  if (own.samples() > most_samples || own.window > most_window || own.hop > own.samples() ||
      own.window / 2 >= own.samples() || own.window < 2) {
    throw input_error(translated("sounds of {1} samples cannot be cut into frames of {2}",
                                 own.samples(), own.window),
                      "/n_fft", translated("use the configuration as published"));
  }
  return own;
}

std::vector<std::string> sound_tokens(const SoundPart& sound, const SoundProcessor& processor) {
  std::vector<std::string> all;
  const double each =
      200 * static_cast<double>(processor.hop) / static_cast<double>(processor.rate);
  for (std::size_t i = 0; i < sound.positions; ++i) {
    const auto hundredths = static_cast<std::size_t>(std::llround(each * static_cast<double>(i)));
    const std::string part = std::to_string(hundredths % 100);
    all.push_back(std::to_string(hundredths / 100) + (part.size() == 1 ? ".0" : ".") + part + "s");
  }
  return all;
}

void check_sound(const Architecture& model, const StackWeights& names,
                 const CheckpointWeights& weights, std::vector<std::string>& used) {
  using enum WeightPurpose;
  const auto expect = [&](WeightPurpose purpose, const char* part, const Shape& wanted) {
    const auto name = names.found(purpose, std::nullopt, part);
    if (!name) {
      throw input_error(translated("the weights have no tensor {1}",
                                   in_quotes(names.name(purpose, std::nullopt) + "." + part)),
                        weights.place(), translated("the file is incomplete: download it again"));
    }
    used.push_back(*name);
    expect_shape(weights, *name, wanted);
  };
  const std::size_t width = model.width;
  expect(tokens, "weight", {width, model.sound->bands, convolved_frames});
  expect(tokens, "bias", {width});
  expect(second_convolution, "weight", {width, width, convolved_frames});
  expect(second_convolution, "bias", {width});
  expect(positions, "weight", {model.sound->positions, width});
}

Tensor embed_sound(const Architecture& model, const CheckpointWeights& weights,
                   const Tensor& spectrogram, const AttentionOptions& options) {
  using enum WeightPurpose;
  const StackWeights names(weights, model, model.stacks.front());
  const auto convolved = [&](WeightPurpose purpose, const Tensor& x, std::size_t stride) {
    const Tensor weight = names.find(purpose, std::nullopt, "weight");
    const StoredLinear linear = Linear{weight.reshaped({model.width, weight.size() / model.width}),
                                       names.find(purpose, std::nullopt, "bias")};
    return apply(linear, with_neighbours(x, stride), options.threads,
                 activating(curve_of(Activation::gelu)));
  };
  const std::size_t bands = spectrogram.shape()[0], frames = spectrogram.shape()[1];
  const Tensor numbers = spectrogram.converted(DType::float64);
  std::vector<double> turned(spectrogram.size());
  for (std::size_t i = 0; i < turned.size(); ++i) {
    turned[i] = numbers.values<double>()[i % bands * frames + i / bands];
  }
  const Tensor rows = Tensor({frames, bands}, std::move(turned)).converted(options.dtype);
  const Tensor x = convolved(second_convolution, convolved(tokens, rows, 1), 2);
  const Tensor table = names.find(positions, std::nullopt, "weight").converted(options.dtype);
  const Tensor states = sum(x, rows_of(table, 0, x.shape()[0]), options.threads);
  return states.reshaped({1, states.shape()[0], states.shape()[1]});
}

}  // namespace attn
