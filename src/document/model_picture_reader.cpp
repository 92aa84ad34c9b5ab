#include "attn/error.hpp"

#include "document/model_reader.hpp"
#include "images/decoding.hpp"
#include "io/json_value.hpp"
#include "io/raw_array.hpp"
#include "support/file_opening.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

Pixels prepared_pixels(const std::string& name, const Document& document,
                       const ImageProcessor& processor, std::vector<std::string>& warnings) {
  const FileName file = FileName::by_document(document.folder(), name);
  const auto mapped = MappedFile::open(file, document.access());
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
  const bool several = value->is(JsonValue::Type::array);
  if (several && value->size() == 0) {
    throw input_error(translated("the list of pictures is empty"), "/image",
                      translated("name at least one"));
  }
  PreparedPictures all;
  std::vector<Tensor> images;
  const std::size_t count = several ? value->size() : 1;
  for (std::size_t b = 0; b < count; ++b) {
    check_time();
    const std::string at = several ? pointer_to("/image", b) : "/image";
    const std::string& name = expect_string(several ? value->element(b) : *value, at);
    const Pixels prepared = prepared_pixels(name, document, processor, all.warnings);
    if (images.empty()) {
      check_element_limit(static_cast<double>(prepared.rgb.size()) * static_cast<double>(count),
                          document.access().limits.elements, translated("the list of pictures"),
                          "/image");
    }
    const Tensor image = processor.rescaled(prepared, dtype);
    const Shape shape{1, 3, prepared.height, prepared.width};
    if (images.empty()) {
      all.grid = grid_of(*folder.architecture.vision, prepared.height, prepared.width);
      all.tokens = picture_tokens(folder.architecture, all.grid);
      if (several) check(all.tokens.size());
    } else if (images.front().shape() != shape) {
      const Shape& first = images.front().shape();
      throw input_error(
          translated("the picture comes out at {1} × {2} pixels, and the first one at {3} × {4}",
                     prepared.height, prepared.width, first[2], first[3]),
          at, translated("give pictures of different sizes in several documents"));
    }
    all.inputs.push_back(processor.normalised(image));
    images.push_back(image.reshaped(shape));
  }
  all.image = concatenated(images);
  return all;
}

}  // namespace attn
