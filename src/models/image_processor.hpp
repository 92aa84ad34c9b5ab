#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "attn/tensor.hpp"

#include "images/decoding.hpp"
#include "images/resampling.hpp"
#include "io/json_value.hpp"

namespace attn {

/// The way from a picture to the numbers that a model reads, as preprocessor_config.json or
/// processor_config.json gives it.
struct ImageProcessor {
  /// A size: rows and columns, or the length of the shorter side.
  struct Size {
    std::size_t height = 0, width = 0, shortest = 0;  ///< `shortest` 0 = the other two hold
  };
  Transparency transparency = Transparency::dropped;
  std::optional<Size> resize;
  Resampling filter = Resampling::bilinear;
  std::optional<Size> crop;
  std::optional<double> rescale;
  bool normalize = true;
  std::array<double, 3> mean = {}, deviation = {};

  /// Resized and cropped, in eight bits. Throws as resampled() does.
  Pixels prepared(const Pixels& picture, const Limits& limits) const;
  /// Pixels as numbers [3,H,W] of that type, rescaled. Throws Error(input) without a place for more
  /// than the memory.
  Tensor rescaled(const Pixels& prepared, DType dtype) const;
  /// Those numbers, normalised channel by channel in their type.
  Tensor normalised(const Tensor& image) const;
};

/// Reads a preprocessor_config.json. `kind` is that of the model's family, "ViT", for files that
/// name none. Throws Error(input) at the key for what is malformed, not known or not supported.
ImageProcessor read_image_processor(const JsonValue& config, const std::string& kind);

}  // namespace attn
