#include "view/thumbnails.hpp"

#include <algorithm>
#include <cmath>

#include "view/cell_codes.hpp"

namespace attn {

ReducedMap Thumbnails::of(const MapRows& map, bool diverging) {
  return pooled(map, std::min(side, map.rows()), std::min(side, map.columns()), diverging);
}

void Thumbnails::add(const ReducedMap& map, bool diverging) {
  maps_.push_back({values_.size(), values_.size() + map.values.size(), diverging});
  for (const double value : map.values) values_.push_back(static_cast<float>(value));
  hidden_.insert(hidden_.end(), map.hidden.begin(), map.hidden.end());
}

std::string Thumbnails::codes(double least, double most, double furthest) const {
  const Codes codes = codes_of(CellType::uint8);
  std::string bytes;
  bytes.reserve(values_.size());
  for (const Map& map : maps_) {
    const double from = map.diverging ? -furthest : least;
    const double width = (map.diverging ? furthest : most) - from;
    for (std::size_t i = map.first; i < map.end; ++i) {
      const double value = static_cast<double>(values_[i]);
      std::uint32_t code = code_apart(value, hidden_[i] != 0, codes);
      if (code == 0) {
        const double share = width > 0 ? (value - from) / width : map.diverging ? 0.5 : 0;
        code = code_of_share(share, codes);
      }
      bytes += static_cast<char>(code);
    }
  }
  return bytes;
}

}  // namespace attn
