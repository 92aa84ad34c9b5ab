#include "layers/patch_embedding.hpp"

#include <utility>
#include <vector>

#include "attention/layer_norm.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// The pixels of each patch [n,3·P·P], row by row of patches, channel by channel within one.
Tensor patches_of(const Tensor& picture, std::size_t patch) {
  const Tensor numbers = picture.converted(DType::float64);
  const auto from = numbers.values<double>();
  const std::size_t height = picture.shape()[1], width = picture.shape()[2];
  const std::size_t rows = height / patch, columns = width / patch;
  std::vector<double> all;
  all.reserve(rows * columns * 3 * patch * patch);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      for (std::size_t line = 0; line < 3 * patch; ++line) {
        const std::size_t channel = line / patch, y = row * patch + line % patch;
        const auto pixels = from.subspan((channel * height + y) * width + column * patch, patch);
        all.insert(all.end(), pixels.begin(), pixels.end());
      }
    }
  }
  return Tensor({rows * columns, 3 * patch * patch}, std::move(all)).converted(picture.dtype());
}

}  // namespace

Tensor embed_picture(const PatchEmbedding& embedding, const Tensor& picture,
                     const AttentionOptions& options) {
  const auto typed = [&](const Tensor& x) { return x.converted(options.dtype); };
  Tensor x = apply(embedding.pixels, patches_of(typed(picture), embedding.patch), options.threads);
  if (embedding.first) x = concatenated(std::vector{typed(embedding.first), x});
  x = sum(x, typed(embedding.positions), options.threads);
  if (embedding.registers) {
    const std::size_t before = embedding.first ? embedding.first.shape()[0] : 0;
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(rows_of(x, 0, before));
    parts.push_back(typed(embedding.registers));
    parts.push_back(rows_of(x, before, x.shape()[0] - before));
    x = concatenated(parts);
  }
  if (embedding.norm) x = apply(*embedding.norm, x, options.eps, options.threads);
  return x.reshaped({1, x.shape()[0], x.shape()[1]});
}

}  // namespace attn
