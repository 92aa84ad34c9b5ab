#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "attn/tensor.hpp"

#include "images/decoding.hpp"
#include "images/resampling.hpp"
#include "io/json_value.hpp"
#include "layers/embedding_and_head.hpp"
#include "models/architecture.hpp"
#include "models/checkpoint.hpp"

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
  /// In place of `resize`: the largest size, in whole patches of that side, of at most so many
  /// patches; 0 = none.
  std::size_t most_patches = 0, patch = 0;
  bool resizes_numbers = false;  ///< resizes rescaled numbers, which are not rounded
  Resampling filter = Resampling::bilinear;
  std::optional<Size> crop;
  std::optional<double> rescale;
  bool normalize = true;
  std::array<double, 3> mean = {}, deviation = {};
  std::vector<std::string> warnings;  ///< of settings that hardly fit together

  /// Resized and cropped, in eight bits. Throws as resampled() does.
  Pixels prepared(const Pixels& picture, const Limits& limits) const;
  /// Pixels as numbers [3,H,W] of that type, rescaled, and resized where that comes after. Throws
  /// Error(input) without a place for more than the memory.
  Tensor rescaled(const Pixels& prepared, DType dtype) const;
  /// Those numbers, normalised channel by channel in their type.
  Tensor normalised(const Tensor& image) const;

 private:
  Tensor resized(const Tensor& image) const;
};

/// Reads a preprocessor_config.json. `kind` is that of the model's family, "ViT", for files that
/// name none. Throws Error(input) at the key for what is malformed, not known or not supported.
ImageProcessor read_image_processor(const JsonValue& config, const std::string& kind);

/// The grid of a picture [..,H,W] of that size. Throws Error(input) if it is smaller than a patch.
PatchGrid grid_of(const VisionPart& vision, std::size_t height, std::size_t width);

/// The neighbours and shares of `to` values from `from` values along an axis.
using AxisShares = std::function<std::vector<FilterShares>(std::size_t from, std::size_t to)>;

/// Rows of numbers, row by row of a grid, for another grid.
std::vector<double> on_other_grid(const std::vector<double>& table, const PatchGrid& from,
                                  const PatchGrid& to, const AxisShares& shares);

/// Rotation of the queries and keys of a picture's patches by the angles 2π·c·θ^(−4n/d), where c is
/// first the row and then the column of the patch's centre, from −1 to 1, and d the width of a head
/// (Siméoni et al. 2025, "DINOv3"). Tokens before the patches stay.
Rotary patch_rotary(const Architecture& model, const PatchGrid& grid);

/// Biases of scores [1,H,L,L] from a table `WeightPurpose::patch_bias`, interpolated bilinearly to
/// a grid of another size.
Tensor patch_biases(const Architecture& model, const Tensor& table, const PatchGrid& grid,
                    DType dtype);

/// The grid of the patches that a layer reads; the last of an odd number is merged with nothing.
PatchGrid grid_at(const PatchGrid& of_picture, const ModelLayer& layer);

/// Numbers of the windows [1,L] that patches are in. A grid that is no larger than a window is one.
/// Throws Error(input) for a grid that windows do not fill.
Tensor patch_windows(const PatchWindow& window, const PatchGrid& grid);

/// Biases of scores [1,H,L,L] within windows, from a table `WeightPurpose::patch_bias` [N,H] with a
/// row per distance in rows and columns; others are 0.
Tensor window_biases(const Tensor& table, const PatchWindow& window, const PatchGrid& grid,
                     DType dtype);

/// Four neighbours made one: a norm and a Linear layer of their states side by side, or the norm
/// behind it.
struct PatchMerging {
  Norm norm;               ///< of rows [4D], or of what `reduction` makes
  StoredLinear reduction;  ///< [D',4D]
  double eps = 1e-5;       ///< whatever that of the layers is
  std::size_t threads = 0;

  /// The states [1,L,D] of a grid as those of the merged one.
  Tensor merged(const Tensor& states, const PatchGrid& grid) const;
};

/// Names of a picture's tokens: "[CLS]", "[DIST]", "[REG1]"…, and "ROW,COLUMN" of the patches.
std::vector<std::string> picture_tokens(const Architecture& model, const PatchGrid& grid);

/// Checks what is particular to models of pictures, and adds the names of its tensors to `used`.
/// Throws Error(input) as check_weights() does.
void check_vision(const Architecture& model, const StackWeights& names,
                  const CheckpointWeights& weights, std::vector<std::string>& used);

/// The embedding of pictures of that grid, with positions interpolated as the family has it.
PatchEmbedding read_patch_embedding(const Architecture& model, const CheckpointWeights& weights,
                                    const PatchGrid& grid);

/// A picture's states through the model's pooling.
struct PooledPicture {
  Tensor weights;              ///< [1,H,1,L] of an attention that pools; absent = [CLS] is taken
  std::vector<double> vector;  ///< before its projection
};
/// The pooling of the states [1,L,D] that leave the model; absent if the model or its file has
/// none.
std::optional<PooledPicture> pooled_picture(const Architecture& model,
                                            const CheckpointWeights& weights, const Tensor& states,
                                            DType dtype, std::size_t threads);

/// The logits [pictures,texts]: products of normalised vectors, scaled and shifted as the
/// checkpoint says. `texts` are the states [1,L,D] that leave the model of texts, one for each list
/// of ids. Throws Error(input) if tensors for it are missing.
Tensor similarity_of(const Architecture& model, const CheckpointWeights& weights,
                     const std::vector<std::vector<double>>& pictures,
                     const std::vector<Tensor>& texts,
                     const std::vector<std::vector<std::int64_t>>& ids);

}  // namespace attn
