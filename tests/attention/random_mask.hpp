#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "attn/spec.hpp"

#include "attention/geometry.hpp"
#include "attention/visibility.hpp"

namespace attn::testing {

/// A rule of `where` as a text, and what it says.
struct WhereRule {
  const char* text;
  bool (*holds)(std::ptrdiff_t head, std::ptrdiff_t query, std::ptrdiff_t key,
                std::ptrdiff_t offset);
};
constexpr auto where_rules = std::to_array<WhereRule>({
    {"(i + j) % 3 != 0", [](std::ptrdiff_t, std::ptrdiff_t i, std::ptrdiff_t j,
                            std::ptrdiff_t) { return (i + j) % 3 != 0; }},
    {"abs(i + offset - j) < 9",
     [](std::ptrdiff_t, std::ptrdiff_t i, std::ptrdiff_t j, std::ptrdiff_t offset) {
       return i + offset - j < 9 && j - i - offset < 9;
     }},
    {"j // 4 != 2 || h == 1", [](std::ptrdiff_t h, std::ptrdiff_t, std::ptrdiff_t j,
                                 std::ptrdiff_t) { return j / 4 != 2 || h == 1; }},
    {"j <= i + offset", [](std::ptrdiff_t, std::ptrdiff_t i, std::ptrdiff_t j,
                           std::ptrdiff_t offset) { return j <= i + offset; }},
});

/// Draws every part of a mask that fits an attention. `Choose` gives numbers from 0 up to below its
/// argument.
template <class Choose>
class RandomMask {
 public:
  RandomMask(Choose choose, const Geometry& geometry)
      : choose_(std::move(choose)), geometry_(geometry) {}

  /// A member of Mask and how it is drawn, with those that it has no meaning without.
  struct Part {
    std::string_view name;
    void (RandomMask::*draw)(Mask& mask);
  };

  /// The members of Mask in their order.
  static constexpr auto parts() {
    constexpr auto all = std::to_array<Part>({
        {"causal", &RandomMask::draw_causal},
        {"align", &RandomMask::draw_align},
        {"window", &RandomMask::draw_window},
        {"global", &RandomMask::draw_global},
        {"padding", &RandomMask::draw_padding},
        {"allow", &RandomMask::draw_allow},
        {"block", &RandomMask::draw_block},
        {"bias", &RandomMask::draw_bias},
        {"alibi", &RandomMask::draw_alibi},
        {"valid_lens", &RandomMask::draw_valid_lens},
        {"documents", &RandomMask::draw_documents},
        {"prefix", &RandomMask::draw_prefix},
        {"chunk", &RandomMask::draw_chunk},
        {"dilation", &RandomMask::draw_dilation},
        {"where", &RandomMask::draw_where},
        {"fill", &RandomMask::draw_fill},
    });
    static_assert(all.size() == std::tuple_size_v<MaskMembers>,
                  "each member of Mask is drawn by a part of its own");
    return all;
  }

  /// A mask of one part.
  Mask of(const Part& part) {
    Mask mask;
    (this->*part.draw)(mask);
    return mask;
  }

  /// A mask with each part but some in `tenths` of ten cases.
  Mask any(std::size_t tenths, const std::vector<std::string_view>& without = {}) {
    Mask mask;
    for (const Part& part : parts()) {
      if (std::ranges::count(without, part.name) == 0 && choose_(10) < tenths) {
        (this->*part.draw)(mask);
      }
    }
    return mask;
  }

  /// The largest reach of a window where it is bounded.
  std::size_t farthest = 60;

 private:
  std::size_t from_to(std::size_t first, std::size_t last) {
    return first + choose_(last - first + 1);
  }
  bool chance(std::size_t tenths) { return choose_(10) < tenths; }
  std::size_t samples() { return chance(3) ? 1 : geometry_.batch; }

  std::optional<std::size_t> reach() {
    constexpr std::size_t huge = std::numeric_limits<std::size_t>::max();
    if (chance(2)) return std::nullopt;
    return chance(1) ? huge - choose_(2) * (huge / 2) : from_to(0, farthest);
  }

  // One of the shapes that broadcast against the weights.
  Shape broadcast_shape() {
    const Shape weights = geometry_.weights_shape();
    Shape shape(weights.end() - static_cast<std::ptrdiff_t>(from_to(0, weights.size())),
                weights.end());
    for (std::size_t& size : shape) size = chance(2) ? 1 : size;
    return shape;
  }

  Tensor flags(Shape shape, std::size_t tenths) {
    std::vector<std::uint8_t> elements(element_count(shape));
    for (std::uint8_t& element : elements) element = chance(tenths);
    return {std::move(shape), std::move(elements)};
  }

  Tensor integers(Shape shape, std::size_t last) {
    std::vector<std::int64_t> elements(element_count(shape));
    for (std::int64_t& element : elements) element = static_cast<std::int64_t>(from_to(0, last));
    return {std::move(shape), std::move(elements)};
  }

  void draw_causal(Mask& mask) { mask.causal = true; }
  void draw_align(Mask& mask) { mask.align = Alignment::lower_right; }
  void draw_window(Mask& mask) { mask.window = Window{reach(), reach()}; }
  void draw_global(Mask& mask) {
    if (!mask.window && chance(9)) draw_window(mask);
    for (std::size_t n = from_to(1, 3); n > 0; --n) {
      mask.global.push_back(choose_(geometry_.keys));
    }
  }
  void draw_padding(Mask& mask) { mask.padding = flags({samples(), geometry_.keys}, 2); }
  void draw_allow(Mask& mask) { mask.allow = flags(broadcast_shape(), 8); }
  void draw_block(Mask& mask) { mask.block = flags(broadcast_shape(), 2); }
  // Multiples of 1/8, exact in every type.
  void draw_bias(Mask& mask) {
    Shape shape = broadcast_shape();
    std::vector<float> elements(element_count(shape));
    for (float& element : elements) {
      element = chance(1) ? -std::numeric_limits<float>::infinity()
                          : static_cast<float>(from_to(0, 96)) / 8 - 6;
    }
    mask.bias = {std::move(shape), std::move(elements)};
  }
  void draw_alibi(Mask& mask) {
    Alibi& alibi = mask.alibi.emplace();
    alibi.symmetric = chance(5);
    if (chance(5)) alibi.samples = samples();
    for (std::size_t h = 0; h < alibi.samples * geometry_.heads; ++h) {
      alibi.slopes.push_back(static_cast<double>(choose_(16)) / 64);
    }
  }
  void draw_valid_lens(Mask& mask) {
    const std::size_t count = samples();
    mask.valid_lens =
        integers(chance(5) ? Shape{count} : Shape{count, geometry_.queries}, geometry_.keys);
  }
  void draw_documents(Mask& mask) { mask.documents = integers({samples(), geometry_.keys}, 2); }
  void draw_prefix(Mask& mask) { mask.prefix = integers({samples()}, geometry_.keys); }
  void draw_chunk(Mask& mask) { mask.chunk = from_to(1, farthest + 1); }
  void draw_dilation(Mask& mask) {
    if (!mask.window) draw_window(mask);
    mask.dilation = from_to(1, 4);
  }
  void draw_where(Mask& mask) { mask.where.text = where_rules[choose_(where_rules.size())].text; }
  void draw_fill(Mask& mask) { mask.fill = -1e6; }

  Choose choose_;
  const Geometry& geometry_;
};

}  // namespace attn::testing
