#include "maps/seen_picture.hpp"

#include <algorithm>
#include <cstdint>
#include <variant>
#include <vector>

#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "models/model_folder.hpp"
#include "result/result_reader.hpp"

namespace attn {
namespace {

// Side of the patches of a picture of H × W pixels in rows × columns patches; 0 if there is none.
// Where several fit, as pixels may be left over at the ends, one that leaves fewest.
std::size_t patch_of(std::size_t height, std::size_t width, std::size_t rows, std::size_t columns) {
  std::size_t best = 0, least = 0;
  for (std::size_t patch = std::min(height / rows, width / columns); patch > 0; --patch) {
    if (height / patch != rows || width / patch != columns) break;
    const std::size_t left_over = std::min(height % patch, width % patch);
    if (best == 0 || left_over < least) {
      best = patch;
      least = left_over;
    }
  }
  return best;
}

// Pictures [B,3,H,W] with the numbers [rows,columns] of a grid; absent if they do not fit.
std::optional<SeenPicture> seen(const Tensor& image, const Tensor& grid) {
  if (!image || !grid || image.rank() != 4 || image.shape()[1] != 3 || grid.size() != 2) {
    return std::nullopt;
  }
  const Tensor numbers = grid.converted(DType::float64);
  const double rows = numbers.values<double>()[0], columns = numbers.values<double>()[1];
  const std::size_t height = image.shape()[2], width = image.shape()[3];
  if (!(rows >= 1 && columns >= 1 && rows <= static_cast<double>(height) &&
        columns <= static_cast<double>(width))) {
    return std::nullopt;
  }
  SeenPicture picture{image, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), 0};
  picture.patch = patch_of(height, width, picture.rows, picture.columns);
  if (picture.patch == 0) return std::nullopt;
  return picture;
}

}  // namespace

Tensor SeenPicture::grid() const {
  return {{2},
          std::vector<std::int64_t>{static_cast<std::int64_t>(rows),
                                    static_cast<std::int64_t>(columns)}};
}

std::optional<SeenPicture> picture_of(const Plan& plan) {
  Tensor image, grid;
  for (const NamedTensor& token : plan.tokens) {
    if (token.name == "image") image = token.tensor;
    if (token.name == "grid") grid = token.tensor;
  }
  std::optional<SeenPicture> picture = seen(image, grid);
  const ModelRequest* const model = model_of(plan);
  if (picture && model != nullptr && model->folder->architecture.vision) {
    picture->patch = model->folder->architecture.vision->patch;
  }
  return picture;
}

std::optional<SeenPicture> picture_of(ResultReader& file) {
  const auto has = [&](const char* name) {
    return std::find(file.names().begin(), file.names().end(), name) != file.names().end();
  };
  if (!has("image") || !has("grid")) return std::nullopt;
  return seen(file.numbers("image"), file.numbers("grid"));
}

void add_picture(AttentionMap& map, const std::optional<SeenPicture>& picture) {
  if (!picture || !map.is_map() || !map.numbers || map.name.stack() == "text") return;
  if (map.numbers.rank() < 2 || map.numbers.shape().back() < picture->patches()) return;
  map.picture = picture;
}

}  // namespace attn
