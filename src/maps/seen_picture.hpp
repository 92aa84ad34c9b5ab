#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <vector>

#include "attn/file_access.hpp"
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

/// The picture of a file for maps of so many keys, whose last ones are its patches. The picture is
/// stretched to whole patches. `grid` has the rows and columns of patches; empty = a square, before
/// which tokens such as [CLS] may stand. Throws Error(file), or Error(input) for a grid that does
/// not fit.
SeenPicture picture_under(const std::filesystem::path& path, const std::vector<std::size_t>& grid,
                          std::size_t keys, const FileAccess& access);

/// Gives a map the pictures if their patches are its keys.
void add_picture(AttentionMap& map, const std::optional<SeenPicture>& picture);

}  // namespace attn
