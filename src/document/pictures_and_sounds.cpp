#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "document/document.hpp"
#include "document/fields.hpp"
#include "document/model_reader.hpp"
#include "document/reader.hpp"
#include "images/decoding.hpp"
#include "io/raw_array.hpp"
#include "io/sound_file.hpp"
#include "models/sound.hpp"
#include "support/mapped_file.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

std::shared_ptr<const MappedFile> opened(const FileName& file, const Document& document,
                                         const char* key) {
  const std::string name = file.path().native();
  if (name.find("http:/") != name.npos || name.find("https:/") != name.npos) {
    throw input_error(translated("{1} is an address, and nothing is downloaded", in_quotes(name)),
                      key, translated("download it first, and name the file"));
  }
  try {
    return MappedFile::open(file, document.access());
  } catch (const Error& error) {
    throw error.where().empty() ? error.inside(key) : error;
  }
}

// The names under a key, each with its place.
std::vector<std::pair<std::string, std::string>> names_under(const JsonValue& value,
                                                             const std::string& key) {
  std::vector<std::pair<std::string, std::string>> names;
  if (!value.is(JsonValue::Type::array)) return {{expect_string(value, key), key}};
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(key, i);
    names.emplace_back(expect_string(value.element(i), at), at);
  }
  return names;
}

Pixels prepared_pixels(const std::string& name, const Document& document,
                       const ImageProcessor& processor, std::vector<std::string>& warnings) {
  const FileName file = FileName::by_document(document.folder(), name);
  const auto mapped = opened(file, document, "/image");
  const Limits& limits = document.access().limits;
  try {
    const Pixels pixels = decode_picture(mapped->bytes(), limits, processor.transparency);
    if (pixels.cut_off) {
      warnings.push_back(
          translated("{1} has 16-bit grey values: those beyond 255 are cut off, as in Pillow",
                     in_quotes(name)));
    }
    return processor.prepared(pixels, limits);
  } catch (const Error& error) {
    throw error.inside(file.path().string());
  }
}

// A warning of a grid of patches to which positions must be stretched, in families whose code does
// so only if it is told to.
std::optional<std::string> stretched(const Architecture& model, const PatchGrid& grid,
                                     std::size_t height, std::size_t width) {
  const VisionPart& vision = *model.vision;
  if (model.positions != ModelPositions::learned || vision.antialiased ||
      model.family.starts_with("dinov2") ||
      (grid.rows == vision.side && grid.columns == vision.side)) {
    return std::nullopt;
  }
  return translated(
      "the prepared picture has {1} × {2} pixels, and \"image_size\" of the model is {3}: "
      "positions are interpolated, which transformers does only with "
      "interpolate_pos_encoding=True; "
      "\"size\" and \"crop_size\" of preprocessor_config.json say how large it comes out",
      height, width, vision.side * vision.patch);
}

}  // namespace

PreparedPictures prepare_pictures(const JsonValue* value, const Document& document,
                                  const ModelFolder& folder, DType dtype,
                                  const std::function<void(std::size_t tokens)>& check) {
  if (value == nullptr) {
    throw input_error(
        translated("the document has no picture for the model to read"), "/image",
        translated("give \"image\", or DocumentOptions::images: a PNG or JPEG file, or several"));
  }
  if (!folder.image_processor) {
    throw Error(
        ErrorKind::file,
        translated(
            "there is no preprocessor_config.json or processor_config.json in the folder {1}",
            in_quotes(folder.path.native())),
        "", translated("download it too: it says how pictures are prepared"));
  }
  const ImageProcessor& processor = *folder.image_processor;
  const auto names = names_under(*value, "/image");
  if (names.empty()) {
    throw input_error(translated("the list of pictures is empty"), "/image",
                      translated("name at least one"));
  }
  const bool several = value->is(JsonValue::Type::array);
  PreparedPictures all;
  all.warnings = processor.warnings;
  std::vector<Tensor> images;
  for (const auto& [name, at] : names) {
    check_time();
    const Pixels prepared = prepared_pixels(name, document, processor, all.warnings);
    if (images.empty()) {
      check_element_limit(static_cast<double>(prepared.rgb.size() * names.size()),
                          document.access().limits.elements, translated("the list of pictures"),
                          "/image");
    }
    const Tensor image = processor.rescaled(prepared, dtype);
    const std::size_t height = image.shape()[1], width = image.shape()[2];
    const Shape shape{1, 3, height, width};
    if (images.empty()) {
      all.grid = grid_of(*folder.architecture.vision, height, width);
      all.tokens = picture_tokens(folder.architecture, all.grid);
      if (auto warning = stretched(folder.architecture, all.grid, height, width)) {
        all.warnings.push_back(std::move(*warning));
      }
      if (several) check(all.tokens.size());
    } else if (images.front().shape() != shape) {
      const Shape& first = images.front().shape();
      throw input_error(
          translated("the picture comes out at {1} × {2} pixels, and the first one at {3} × {4}",
                     height, width, first[2], first[3]),
          at, translated("give pictures of different sizes in several documents"));
    }
    all.inputs.push_back(processor.normalised(image));
    images.push_back(image.reshaped(shape));
  }
  all.image = concatenated(images);
  return all;
}

namespace {

// A spectrogram as it stands in a file of tensors.
Tensor stored_spectrogram(const std::shared_ptr<const MappedFile>& file,
                          const std::filesystem::path& path, const FileAccess& access) {
  const TensorFile tensors = TensorFile::from_file(file->bytes(), file, path, access);
  const bool named = std::ranges::count(tensors.names(), "input_features") > 0;
  const Tensor own = tensors.read(named ? "input_features" : "");
  const Shape& shape = own.shape();
  return shape.size() == 3 && shape[0] == 1 ? own.reshaped({shape[1], shape[2]}) : own;
}

// Warning of a sound that goes on after what the model hears.
std::optional<std::string> warning_of_length(const std::string& name, const Sound& sound,
                                             const SoundProcessor& processor) {
  const auto seconds = [&](std::size_t samples) {
    return std::round(10 * static_cast<double>(samples) / static_cast<double>(processor.rate)) / 10;
  };
  const double all = seconds(sound.samples.size()), heard = seconds(processor.samples());
  if (all <= heard) return std::nullopt;
  return translated("{1} lasts {2} seconds, of which the model hears the first {3}",
                    in_quotes(name), number_text(all), number_text(heard));
}

Tensor heard_spectrogram(const std::shared_ptr<const MappedFile>& file, const std::string& name,
                         const ModelFolder& folder, const Limits& limits, std::size_t threads,
                         std::vector<std::string>& warnings) {
  if (!folder.sound_processor) {
    throw Error(
        ErrorKind::file,
        translated(
            "there is no preprocessor_config.json or processor_config.json in the folder {1}",
            in_quotes(folder.path.native())),
        "", translated("download it too: it says how sounds are prepared"));
  }
  const SoundProcessor& processor = *folder.sound_processor;
  Sound sound = decode_sound(file->bytes(), limits);
  if (sound.rate != processor.rate) {
    throw input_error(translated("the sound has {1} samples per second, and the model hears {2}",
                                 sound.rate, processor.rate),
                      "", translated("convert it: ffmpeg -i FILE -ar {1} OUT.wav", processor.rate));
  }
  if (auto warning = warning_of_length(name, sound, processor))
    warnings.push_back(std::move(*warning));
  return processor.spectrogram(std::move(sound.samples), threads);
}

}  // namespace

PreparedSounds prepare_sounds(const JsonValue* value, const Document& document,
                              const ModelFolder& folder, const ModelOptions& options) {
  std::vector<std::pair<std::string, std::string>> names;
  if (value != nullptr) names = names_under(*value, "/sound");
  if (names.empty()) {
    throw input_error(
        translated("the document has no sound for the model to hear"), "/sound",
        translated("give \"sound\", or DocumentOptions::sounds: a WAV or FLAC file, or a file of "
                   "tensors with its spectrogram"));
  }
  const SoundPart& part = *folder.architecture.sound;
  const Shape wanted{part.bands, 2 * part.positions};
  check_element_limit(static_cast<double>(element_count(wanted) * names.size()),
                      document.access().limits.elements, translated("the list of sounds"),
                      "/sound");
  PreparedSounds all;
  all.tokens = sound_tokens(part, folder.sound_processor.value_or(SoundProcessor()));
  for (const auto& [name, at] : names) {
    check_time();
    const FileName file = FileName::by_document(document.folder(), name);
    const auto mapped = opened(file, document, "/sound");
    try {
      const Tensor own = holds_tensors_alone(mapped->bytes())
                             ? stored_spectrogram(mapped, file.path(), document.access())
                             : heard_spectrogram(mapped, name, folder, document.access().limits,
                                                 options.threads, all.warnings);
      if (own.shape() != wanted) {
        const bool turned = own.shape() == Shape{wanted[1], wanted[0]};
        throw input_error(
            translated("the spectrogram is {1}, and the model hears {2}: bands and frames",
                       text(own.shape()), text(wanted)),
            "",
            turned ? translated("it has frames first: save it transposed, in NumPy by .T")
            : own.rank() == 2 && own.shape()[1] == wanted[1]
                ? translated("make it with {1} bands, as this model's feature extractor does",
                             wanted[0])
            : own.rank() == 1
                ? translated("these may be samples: save them as a WAV file, of which the "
                             "spectrogram is made")
                : translated(
                      "fill the sound with silence, or cut it, before its spectrogram is made"));
      }
      all.inputs.push_back(own.converted(options.dtype));
    } catch (const Error& error) {
      throw error.where().starts_with(file.path().string()) ? error
                                                            : error.inside(file.path().string());
    }
  }
  return all;
}

}  // namespace attn
