#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "models/configuration_reader.hpp"
#include "models/vision.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

using Size = ImageProcessor::Size;
constexpr std::array<double, 3> halves{0.5, 0.5, 0.5};
constexpr std::array<double, 3> imagenet_mean{0.485, 0.456, 0.406};
constexpr std::array<double, 3> imagenet_deviation{0.229, 0.224, 0.225};
constexpr std::array<double, 3> clip_mean{0.48145466, 0.4578275, 0.40821073};
constexpr std::array<double, 3> clip_deviation{0.26862954, 0.26130258, 0.27577711};

/// A kind of processor: what its files leave unsaid.
struct ProcessorKind {
  std::string_view name;
  Size size;
  std::optional<Size> crop;  ///< where it crops by default
  Resampling filter;
  std::array<double, 3> mean, deviation;
  bool lone_is_shortest;         ///< whether a lone number is the length of the shorter side
  bool on_white;                 ///< whether transparent pictures are laid on white
  std::size_t most_patches = 0;  ///< in place of a size
  bool resizes_numbers = false;
};
// clang-format off
constexpr std::array<ProcessorKind, 9> kinds{{
    {"ViT", {224, 224, 0}, {}, Resampling::bilinear, halves, halves, false, false},
    {"DeiT", {256, 256, 0}, Size{224, 224, 0}, Resampling::bicubic, halves, halves, false, false},
    {"Siglip", {224, 224, 0}, {}, Resampling::bicubic, halves, halves, false, true},
    {"CLIP", {0, 0, 224}, Size{224, 224, 0}, Resampling::bicubic, clip_mean, clip_deviation, true,
     true},
    {"Bit", {0, 0, 224}, Size{224, 224, 0}, Resampling::bicubic, clip_mean, clip_deviation, true,
     true},
    {"Beit", {224, 224, 0}, {}, Resampling::bicubic, halves, halves, false, false},
    {"Blip", {384, 384, 0}, {}, Resampling::bicubic, clip_mean, clip_deviation, false, true},
    {"Siglip2", {}, {}, Resampling::bilinear, halves, halves, false, false, 256},
    {"DINOv3ViT", {224, 224, 0}, {}, Resampling::bilinear, imagenet_mean, imagenet_deviation, false,
     false, 0, true},
}};
// clang-format on

// Keys that play no part here, and those that are read.
constexpr std::array<std::string_view, 11> ignored_keys{
    "_valid_processor_keys", "data_format",      "input_data_format",
    "return_tensors",        "device",           "disable_grouping",
    "default_to_square",     "image_seq_length", "processor_class",
    "do_reduce_labels",      "reduce_labels"};
constexpr std::array<std::string_view, 2> patch_keys{"patch_size", "max_num_patches"};
constexpr std::array<std::string_view, 13> read_keys{
    "do_convert_rgb",        "do_resize",  "size",       "resample",
    "do_center_crop",        "crop_size",  "do_rescale", "rescale_factor",
    "do_normalize",          "image_mean", "image_std",  "image_processor_type",
    "feature_extractor_type"};

class ProcessorReader {
 public:
  ProcessorReader(const JsonValue& config, const std::string& kind)
      : config_(config), reader_(config, row_), kind_(kind_of(kind)) {}

  ImageProcessor read() const {
    refuse_unknown();
    ImageProcessor own;
    if (flag("do_convert_rgb", kind_.on_white)) own.transparency = Transparency::on_white;
    if (flag("do_resize", true)) read_size(own);
    own.filter = filter();
    if (flag("do_center_crop", kind_.crop.has_value())) {
      if (own.resizes_numbers) {
        refuse_key("do_center_crop", translated("pictures that are resized last are not cropped"),
                   translated("set it to false, and crop them before"));
      }
      own.crop = size("crop_size", kind_.crop.value_or(Size{224, 224, 0}), false);
    }
    if (flag("do_rescale", true)) {
      own.rescale = reader_.number("rescale_factor").value_or(1.0 / 255);
    }
    own.normalize = flag("do_normalize", true);
    own.mean = channels("image_mean", kind_.mean);
    own.deviation = channels("image_std", kind_.deviation);
    for (const double deviation : own.deviation) {
      if (own.normalize) positive("image_std", std::abs(deviation));
    }
    note_scales(own);
    return own;
  }

 private:
  // Notes numbers of bytes beside numbers from 0 to 1.
  static void note_scales(ImageProcessor& own) {
    const double largest = 255 * own.rescale.value_or(1);
    if (own.rescale && *own.rescale > 1) {
      own.warnings.push_back(translated(
          "\"rescale_factor\" of preprocessor_config.json is {1}, so that numbers of the "
          "picture go up to {2}: from 0 to 1 they go with 1/255 = 0.00392156862745098",
          number_text(*own.rescale), number_text(largest)));
    }
    const double mean = *std::ranges::max_element(own.mean);
    if (own.normalize && own.rescale && *own.rescale <= 1 && mean > largest) {
      own.warnings.push_back(translated(
          "\"image_mean\" of preprocessor_config.json goes up to {1}, and numbers of the "
          "picture from 0 to {2} after \"rescale_factor\": means of bytes go with "
          "\"do_rescale\": false",
          number_text(mean), number_text(largest)));
    }
  }

  void read_size(ImageProcessor& own) const {
    if (kind_.most_patches > 0) {
      own.patch = reader_.count("patch_size").value_or(16);
      own.most_patches = reader_.count("max_num_patches").value_or(kind_.most_patches);
      constexpr std::size_t most = 1 << 16;
      for (const std::size_t i : {0, 1}) {
        const std::size_t given = i == 0 ? own.patch : own.most_patches;
        if (given >= 1 && given <= most) continue;
        refuse_key(std::string(patch_keys[i]),
                   translated("the configuration asks for a size of {1}", given),
                   translated("sizes are from 1 to {1}", most));
      }
      return;
    }
    own.resize = size("size", kind_.size, kind_.lone_is_shortest);
    own.resizes_numbers = kind_.resizes_numbers;
  }

  const ProcessorKind& kind_of(std::string_view own) const {
    for (const char* key : {"image_processor_type", "feature_extractor_type"}) {
      const auto given = reader_.text(key);
      if (!given) continue;
      std::string_view name = *given;
      for (const std::string_view end : {"Fast", "Pil", "ImageProcessor", "FeatureExtractor"}) {
        if (name.ends_with(end)) name.remove_suffix(end.size());
      }
      for (const ProcessorKind& known : kinds) {
        if (known.name == name) return known;
      }
      refuse_key(key, translated("processors of the type {1} are not known", in_quotes(*given)),
                 translated("known are those of ViT, DeiT, CLIP, Bit, SigLIP, SigLIP 2, BEiT, BLIP "
                            "and DINOv3"));
    }
    const auto found = std::ranges::find(kinds, own, &ProcessorKind::name);
    return found == kinds.end() ? kinds.front() : *found;
  }

  void refuse_unknown() const {
    for (const JsonMember& member : config_.members()) {
      const JsonValue& value = member.value;
      if (value.is(JsonValue::Type::null)) continue;
      if (value.is(JsonValue::Type::boolean) && !value.boolean()) continue;
      if (std::ranges::count(ignored_keys, member.key) > 0) continue;
      if (std::ranges::count(read_keys, member.key) > 0) continue;
      if (kind_.most_patches > 0 && std::ranges::count(patch_keys, member.key) > 0) continue;
      refuse_key(member.key, translated("the processor's key \"{1}\" is not known", member.key),
                 translated("the pixels might be others than the model was trained on"));
    }
  }

  bool flag(const char* key, bool otherwise) const {
    return reader_.boolean(key).value_or(otherwise);
  }

  Resampling filter() const {
    const auto given = reader_.count("resample");
    if (!given) return kind_.filter;
    if (kind_.resizes_numbers && (*given < 2 || *given > 3)) {
      refuse_key("resample", translated("\"resample\": {1} is not a filter of numbers", *given),
                 translated("known are 2 (bilinear) and 3 (bicubic)"));
    }
    if (*given > static_cast<std::size_t>(Resampling::box)) {
      refuse_key("resample", translated("\"resample\": {1} is not a filter that is known", *given),
                 translated("known are 0 (nearest), 1 (Lanczos), 2 (bilinear), 3 (bicubic) and 4 "
                            "(box)"));
    }
    return static_cast<Resampling>(*given);
  }

  static std::size_t length(const std::string& key, const JsonValue& value) {
    constexpr std::int64_t most = 1 << 16;
    if (!value.is(JsonValue::Type::number) || !value.is_integer() || value.integer() < 1 ||
        value.integer() > most) {
      refuse_type(key, value, to_translate("a whole number from 1 to 65536"));
    }
    return static_cast<std::size_t>(value.integer());
  }

  Size size(const std::string& key, const Size& otherwise, bool lone_is_shortest) const {
    const JsonValue* value = reader_.find(key);
    if (value == nullptr) return otherwise;
    if (!value->is(JsonValue::Type::object)) {
      const std::size_t lone = length(key, *value);
      return lone_is_shortest ? Size{0, 0, lone} : Size{lone, lone, 0};
    }
    Size own;
    for (const JsonMember& member : value->members()) {
      if (member.value.is(JsonValue::Type::null)) continue;
      std::size_t* const to = member.key == "height"          ? &own.height
                              : member.key == "width"         ? &own.width
                              : member.key == "shortest_edge" ? &own.shortest
                                                              : nullptr;
      if (to == nullptr) {
        refuse_key(key, translated("the processor's key \"{1}\" is not known", member.key),
                   translated("give \"height\" and \"width\", or \"shortest_edge\""));
      }
      *to = length(key, member.value);
    }
    const bool both = own.height > 0 && own.width > 0 && own.shortest == 0;
    const bool one = own.height == 0 && own.width == 0 && own.shortest > 0;
    if (!both && !one) {
      refuse_key(key, translated("the size is not complete"),
                 translated("give \"height\" and \"width\", or \"shortest_edge\""));
    }
    return key == "crop_size" && one ? Size{own.shortest, own.shortest, 0} : own;
  }

  std::array<double, 3> channels(const char* key, const std::array<double, 3>& otherwise) const {
    const JsonValue* value = reader_.find(key);
    if (value == nullptr) return otherwise;
    constexpr const char* wanted = to_translate("a list of three numbers");
    if (value->is(JsonValue::Type::number))
      return {value->number(), value->number(), value->number()};
    if (!value->is(JsonValue::Type::array) || value->size() != 3) refuse_type(key, *value, wanted);
    std::array<double, 3> all{};
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (!value->element(i).is(JsonValue::Type::number))
        refuse_type(key, value->element(i), wanted);
      all[i] = value->element(i).number();
    }
    return all;
  }

  const JsonValue& config_;
  FamilyRow row_;
  ConfigurationReader reader_;
  const ProcessorKind& kind_;
};

// The largest size, similar to the picture's, in whole patches, of at most so many patches: by the
// scale that halving an interval finds, as the family's processor does.
PatchGrid largest_grid(std::size_t height, std::size_t width, std::size_t patch, std::size_t most) {
  const auto patches_at = [&](double scale, std::size_t size) {
    const double scaled = static_cast<double>(size) * scale / static_cast<double>(patch);
    return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(scaled)));
  };
  constexpr double eps = 1e-5;
  double low = eps / 10, high = 100;
  while (high - low >= eps) {
    const double scale = (low + high) / 2;
    const bool fits = patches_at(scale, height) * patches_at(scale, width) <= most;
    (fits ? low : high) = scale;
  }
  return {patches_at(low, height), patches_at(low, width)};
}

// Rows and columns of a picture after it is resized. The longer side is rounded down.
PatchGrid size_after(const Size& size, std::size_t height, std::size_t width) {
  if (size.shortest == 0) return {size.height, size.width};
  const std::size_t shorter = std::min(height, width);
  return {height == shorter ? size.shortest : size.shortest * height / shorter,
          width == shorter ? size.shortest : size.shortest * width / shorter};
}

}  // namespace

Pixels ImageProcessor::prepared(const Pixels& picture, const Limits& limits) const {
  Pixels result = picture;
  if (most_patches > 0) {
    const PatchGrid grid = largest_grid(picture.height, picture.width, patch, most_patches);
    result = resampled(picture, grid.rows * patch, grid.columns * patch, filter, limits);
  } else if (resize && !resizes_numbers) {
    const PatchGrid size = size_after(*resize, picture.height, picture.width);
    result = resampled(picture, size.rows, size.columns, filter, limits);
  }
  return crop ? centre_cropped(result, crop->height, crop->width, limits) : result;
}

namespace {

// Numbers of 16-bit types are computed in double precision, and rounded once.
DType computed_in(DType dtype) {
  return is_half(dtype) ? DType::float64 : dtype;
}

void check_numbers(std::size_t count, DType dtype) {
  check_memory(count, size_of(dtype), translated("the numbers of the picture"), "");
}

}  // namespace

Tensor ImageProcessor::rescaled(const Pixels& prepared, DType dtype) const {
  std::vector<double> of_bytes(256);
  for (std::size_t byte = 0; byte < of_bytes.size(); ++byte) {
    of_bytes[byte] = static_cast<double>(byte) * rescale.value_or(1);
  }
  const Tensor rounded = Tensor({256}, std::move(of_bytes)).converted(dtype);
  const std::size_t count = prepared.height * prepared.width;
  check_numbers(3 * count, computed_in(dtype));
  return with_floats(rounded.converted(computed_in(dtype)), [&](const auto& values) {
    using Number = typename std::remove_cvref_t<decltype(values)>::value_type;
    std::vector<Number> numbers(3 * count);
    in_stretches(count, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        for (std::size_t c = 0; c < 3; ++c) {
          numbers[c * count + i] = values[prepared.rgb[3 * i + c]];
        }
      }
    });
    const Tensor all({3, prepared.height, prepared.width}, std::move(numbers));
    return (resizes_numbers ? resized(all) : all).converted(dtype);
  });
}

// As torchvision resizes numbers: by a filter that is widened where the picture shrinks.
Tensor ImageProcessor::resized(const Tensor& image) const {
  const PatchGrid from{image.shape()[1], image.shape()[2]},
      to = size_after(*resize, from.rows, from.columns);
  const AxisShares shares = [&](std::size_t before, std::size_t after) {
    std::vector<FilterShares> all;
    for (std::size_t i = 0; i < after; ++i) {
      all.push_back(filter_shares(before, after, i, filter));
    }
    return all;
  };
  check_numbers(3 * std::max(from.rows, to.rows) * std::max(from.columns, to.columns),
                DType::float64);
  const Tensor wide = image.converted(DType::float64);
  const std::span<const double> numbers = wide.values<double>();
  std::vector<double> all;
  for (std::size_t c = 0; c < 3; ++c) {
    const auto first = numbers.begin() + static_cast<std::ptrdiff_t>(c * from.rows * from.columns);
    const std::vector<double> channel(
        first, first + static_cast<std::ptrdiff_t>(from.rows * from.columns));
    const std::vector<double> own = on_other_grid(channel, from, to, shares);
    all.insert(all.end(), own.begin(), own.end());
  }
  return Tensor({3, to.rows, to.columns}, std::move(all)).converted(image.dtype());
}

Tensor ImageProcessor::normalised(const Tensor& image) const {
  if (!normalize) return image;
  const DType dtype = computed_in(image.dtype());
  check_numbers(image.size(), dtype);
  return with_floats(image.converted(dtype), [&](const auto& values) {
    using Number = typename std::remove_cvref_t<decltype(values)>::value_type;
    std::vector<Number> numbers(values.size());
    const std::size_t count = numbers.size() / 3;
    in_stretches(numbers.size(), [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const double number = static_cast<double>(values[i]);
        numbers[i] = static_cast<Number>((number - mean[i / count]) / deviation[i / count]);
      }
    });
    return Tensor(image.shape(), std::move(numbers)).converted(image.dtype());
  });
}

ImageProcessor read_image_processor(const JsonValue& config, const std::string& kind) {
  if (!config.is(JsonValue::Type::object)) {
    throw input_error(
        translated("the configuration is {1}, not an object", translated(type_text(config))), "",
        translated("this is not the preprocessor_config.json of a model"));
  }
  return ProcessorReader(config, kind).read();
}

}  // namespace attn
