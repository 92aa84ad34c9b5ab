#include <algorithm>
#include <memory>

#include "plot/axes/keys.hpp"

namespace attn::plot {

bool BarAndKey::means_as(const BarAndKey& other) const {
  const auto same = [&](double position) {
    return scale.map.at(position) == other.scale.map.at(position);
  };
  return same(0) && same(0.5) && same(1) && scale.range.low == other.scale.range.low &&
         scale.range.high == other.scale.range.high && scale.norm.kind == other.scale.norm.kind &&
         scale.norm.gamma == other.scale.norm.gamma && scale.percent == other.scale.percent &&
         label == other.label;
}

void BarAndKey::take(const BarAndKey& other) {
  scale.beyond_low = scale.beyond_low || other.scale.beyond_low;
  scale.beyond_high = scale.beyond_high || other.scale.beyond_high;
  if (scale.keys_of_rows != other.scale.keys_of_rows) scale.keys_of_rows = 0;
  for (const LegendEntry& entry : other.key) {
    if (std::ranges::count(key, entry.name, &LegendEntry::name) == 0) key.push_back(entry);
  }
}

bool Figure::stand_apart(const BarAndKey& bar) {
  if (panel_ == nullptr) return false;
  panel_->bar = std::make_shared<const BarAndKey>(bar);
  return panel_->bar_apart;
}

FrameParts frame_parts(std::span<const Matrix> maps, bool weights, const ColorOptions& colors,
                       const FigureOptions& options, const CellChoice& cells) {
  FrameParts parts{colour_scale(maps, weights, colors, options), {}};
  if (parts.scale.whole_rows && parts.scale.keys_of_rows == 0) {
    for (const Matrix& map : maps)
      parts.scale.keys_of_frames = std::max(parts.scale.keys_of_frames, map.columns());
  }
  parts.key = colour_key(
      maps, CellColours(parts.scale, colors, options, beside(paper_of(options), parts.scale.map)),
      cells);
  return parts;
}

ColourScale scale_of_figure(std::span<const Matrix> maps, bool weights, const ColorOptions& colors,
                            const FigureOptions& options) {
  ColourScale own = colour_scale(maps, weights, colors, options);
  if (options.frames == nullptr) return own;
  const std::size_t keys = own.keys_of_rows;
  own = options.frames->scale;
  own.keys_of_rows = own.whole_rows ? keys : 0;
  return own;
}

}  // namespace attn::plot
