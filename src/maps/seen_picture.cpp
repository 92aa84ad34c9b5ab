#include "maps/seen_picture.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "attn/error.hpp"

#include "document/plan.hpp"
#include "images/resampling.hpp"
#include "maps/attention_map.hpp"
#include "models/model_folder.hpp"
#include "result/result_reader.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"

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

namespace {

// Rows and columns of a square of patches, before which up to eight tokens stand.
std::vector<std::size_t> square_of(std::size_t keys) {
  constexpr std::size_t most_before = 8;
  const auto side = static_cast<std::size_t>(std::sqrt(static_cast<double>(keys)));
  if (side > 0 && keys - side * side <= most_before) return {side, side};
  throw input_error(translated("{1} keys are not the patches of a square", keys),
                    "PlotRequest::grid", translated("say how many rows and columns there are"));
}

// The picture in whole patches, [1,3,H,W] from 0 to 1.
Tensor in_patches(const Pixels& picture, std::size_t rows, std::size_t columns, std::size_t patch,
                  const Limits& limits) {
  const Pixels whole =
      resampled(picture, rows * patch, columns * patch, Resampling::bicubic, limits);
  const std::size_t count = whole.height * whole.width;
  std::vector<float> numbers(3 * count);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t colour = 0; colour < 3; ++colour) {
      numbers[colour * count + i] = static_cast<float>(whole.rgb[3 * i + colour]) / 255.F;
    }
  }
  return Tensor({1, 3, whole.height, whole.width}, std::move(numbers));
}

}  // namespace

SeenPicture picture_under(const std::filesystem::path& path, const std::vector<std::size_t>& grid,
                          std::size_t keys, const FileAccess& access) {
  SeenPicture picture;
  const std::vector<std::size_t> sides = grid.empty() ? square_of(keys) : grid;
  picture.rows = sides[0];
  picture.columns = sides[1];
  if (picture.rows > keys || picture.columns > keys || picture.patches() > keys) {
    throw input_error(translated("the map has {1} keys, fewer than the {2} × {3} patches", keys,
                                 picture.rows, picture.columns),
                      "PlotRequest::grid",
                      translated("give the rows and columns of the patches that are keys"));
  }
  const auto file = MappedFile::open(FileName::by_user(path), access);
  try {
    const Pixels pixels = decode_picture(file->bytes(), access.limits);
    const std::size_t fitting =
        std::min(pixels.height / picture.rows, pixels.width / picture.columns);
    // Coarser patches would show that the picture was stretched.
    constexpr std::size_t least = 8;
    picture.patch = std::max(least, fitting);
    picture.image = in_patches(pixels, picture.rows, picture.columns, picture.patch, access.limits);
  } catch (const Error& error) {
    throw error.inside(path.string());
  }
  return picture;
}

void add_picture(AttentionMap& map, const std::optional<SeenPicture>& picture) {
  if (!picture || !map.is_map() || !map.numbers || map.name.stack() == "text") return;
  if (map.numbers.rank() < 2) return;
  const std::size_t keys = map.numbers.shape().back();
  if (keys >= picture->patches()) {
    map.picture = picture;
    return;
  }
  // Maps behind mergings of patches have a key for each four.
  SeenPicture merged = *picture;
  while (merged.patches() > keys) {
    merged.rows = (merged.rows + 1) / 2;
    merged.columns = (merged.columns + 1) / 2;
    merged.patch *= 2;
  }
  if (merged.patches() == keys && merged.rows > 1) map.picture = std::move(merged);
}

}  // namespace attn
