#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "view/map_rows.hpp"

namespace attn {

/// Small pictures of all heads, as codes of the range that is known when all are there.
class Thumbnails {
 public:
  static constexpr std::size_t side = 32;

  static ReducedMap of(const MapRows& map, bool diverging);

  void add(const ReducedMap& map, bool diverging);

  /// The codes of all: weights as shares of a range, what is diverging of one about 0.
  std::string codes(double least, double most, double furthest) const;

 private:
  struct Map {
    std::size_t first, end;
    bool diverging;
  };
  std::vector<Map> maps_;
  std::vector<float> values_;
  std::vector<std::uint8_t> hidden_;
};

}  // namespace attn
