#pragma once

#include <cstddef>
#include <optional>

#include "attn/tensor.hpp"

namespace attn {

struct AttentionMap;
struct Plan;
class ResultReader;

/// Pictures that a model saw, whose patches are the last keys of its maps, after tokens such as
/// [CLS].
struct SeenPicture {
  Tensor image;                       ///< [B,3,H,W], from 0 to 1
  std::size_t rows = 0, columns = 0;  ///< of patches
  std::size_t patch = 0;              ///< pixels of a patch's side

  std::size_t patches() const { return rows * columns; }
  /// [rows, columns] as results have them.
  Tensor grid() const;
};

/// Pictures of a plan; absent if it reads none.
std::optional<SeenPicture> picture_of(const Plan& plan);

/// Pictures of a result, its tensors "image" and "grid"; absent if it has none. Throws Error(input)
/// naming the file.
std::optional<SeenPicture> picture_of(ResultReader& file);

/// Gives a map the pictures if their patches are its keys.
void add_picture(AttentionMap& map, const std::optional<SeenPicture>& picture);

}  // namespace attn
