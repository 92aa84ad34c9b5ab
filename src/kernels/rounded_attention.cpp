#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <type_traits>

#include "kernels/attention_kernels.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/rounded_attention.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "kernels/attention_rows_inl.hpp"
#include "kernels/cpu_target.hpp"
#include "kernels/long_sums_inl.hpp"
#include "kernels/split_rows_inl.hpp"
#include "kernels/target_dispatch.hpp"

HWY_BEFORE_NAMESPACE();
namespace attn::kernels::HWY_NAMESPACE {
namespace {

using RoundedType = StepRounding::Type;

// The nearest number of the type, halves to even. Beyond the range of float16 the result exceeds
// largest_number.
template <RoundedType type, class D, class V>
HWY_INLINE V nearest(D d, V x) {
  const hn::RebindToUnsigned<D> words;
  const auto bits = hn::BitCast(words, x);
  if constexpr (type == RoundedType::bfloat16) {
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(words, 1U));
    const auto moved = hn::Add(bits, hn::Add(odd, hn::Set(words, 0x7FFFU)));
    return hn::BitCast(d, hn::And(moved, hn::Set(words, 0xFFFF0000U)));
  } else {
    // A sum with a number so large that 11 digits of x are left, or multiples of 2⁻²⁴.
    const auto power = hn::BitCast(d, hn::And(bits, hn::Set(words, 0x7F800000U)));
    const auto larger_one =
        hn::Mul(hn::Max(power, hn::Set(d, 0x1p-14F)), hn::Set(d, 12288.0F));  // 1.5 · 2¹³
    return hn::Sub(hn::Add(x, larger_one), larger_one);
  }
}

template <RoundedType type>
constexpr float largest_number = type == RoundedType::bfloat16 ? 0x1.FEp127F : 65504.0F;

// The steps from products to the factors of the values, for every row of a block: weights, or with
// `fused` the exponentials of scores that are not rounded.
template <RoundedType type, bool fused>
class RoundedRows {
 public:
  // `room`: takes the terms that a mask adds to a row.
  RoundedRows(const QueryBlock<float>& block, bool wide_weights, float* room)
      : block_(block),
        wide_(wide_weights),
        scale_(static_cast<float>(block.scale)),
        cap_(static_cast<float>(block.softcap)),
        room_(room) {}

  // Turns the products of a row with the keys `whole`, whole vectors, into factors of the type, in
  // place, and returns what multiplies their sum of values. `weights`, a row of all keys or null,
  // takes the weights before they are rounded for the product with the values.
  HWY_INLINE double weigh(std::size_t row, const Range& whole, float* scores, float* weights,
                          BlockOutcome& outcome) const {
    const Range own = Range{block_.mask.first[row], block_.mask.end[row]}.within(0, whole.end);
    float largest = -infinite<float>;
    const bool fits = block_.mask.rewritten == nullptr ? round_scores(whole, scores)
                                                       : rewrite_scores(row, own, whole, scores);
    if (!fits) outcome.out_of_range = true;
    hide_scores(block_.mask, row, 0, own, whole, scores, room_, 1.0F);
    exceeded(scores, whole, largest);
    if (largest == -infinite<float>) {
      ++outcome.empty_rows;
      std::fill(scores + whole.first, scores + whole.end, 0.0F);
      if (weights != nullptr) std::fill(weights, weights + block_.sizes.keys, 0.0F);
      return 1;
    }
    const auto sink = static_cast<float>(block_.sink);
    const float shift = std::max(largest, sink);
    const double total =
        exponentials_of(whole, shift, scores) + std::exp(block_.sink - static_cast<double>(shift));
    if (!std::isfinite(total)) outcome.out_of_range = true;
    if (weights == nullptr) {
      if (!fused) divide<false>(whole, static_cast<float>(1 / total), scores, nullptr);
      return fused ? 1 / total : 1;
    }
    divide<true>(whole, static_cast<float>(1 / total), scores, weights);
    std::fill(weights, weights + whole.first, 0.0F);
    if (whole.end < block_.sizes.keys) {
      std::fill(weights + whole.end, weights + block_.sizes.keys, 0.0F);
    }
    return fused ? 1 / total : 1;
  }

 private:
  using Tag = hn::ScalableTag<float>;
  using V = hn::Vec<Tag>;
  static constexpr std::size_t step = lanes_of<float>;
  static constexpr float largest_score =
      fused ? std::numeric_limits<float>::max() : largest_number<type>;

  // Replaces the scaled scores, then applies the softcap. Returns false if a number leaves the
  // range.
  bool rewrite_scores(std::size_t row, const Range& own, const Range& whole, float* scores) const {
    if (!round_scores(whole, scores, false)) return false;
    if (own.empty()) return true;
    block_.mask.rewritten(block_.mask.context,
                          {row, 1, own.first, own.end - own.first, scores + own.first, 0}, 1);
    bool fits = true;
    for (std::size_t j = own.first; j < own.end; ++j) {
      float& score = scores[j];
      if (score == -infinite<float>) continue;
      score = step_number(score);
      fits = fits && std::abs(score) <= largest_score;
      if (cap_ > 0) score = step_number(cap_ * step_number(std::tanh(step_number(score / cap_))));
    }
    return fits;
  }

  // The number that a step before the exponentials makes of x.
  static HWY_INLINE V stepped(Tag d, V x) {
    if constexpr (fused) return x;
    return nearest<type>(d, x);
  }
  static float step_number(float x) {
    if constexpr (fused) return x;
    const hn::CappedTag<float, 1> d;
    return hn::GetLane(nearest<type>(d, hn::Set(d, x)));
  }

  // Applies scale and softcap. Returns false if a number leaves the range.
  HWY_INLINE bool round_scores(const Range& whole, float* scores, bool with_cap = true) const {
    const Tag d;
    const V scale = hn::Set(d, scale_), cap = hn::Set(d, cap_);
    const bool capped = with_cap && cap_ > 0;
    V most = hn::Zero(d);
    for (std::size_t j = whole.first; j < whole.end; j += step) {
      const V product = stepped(d, hn::LoadU(d, scores + j));
      V x = stepped(d, hn::Mul(product, scale));
      most = larger(d, hn::Abs(product), larger(d, hn::Abs(x), most));
      if (capped) {
        x = stepped(d, hyperbolic_tangent(d, stepped(d, hn::Div(x, cap))));
        x = stepped(d, hn::Mul(cap, x));
      }
      hn::StoreU(x, d, scores + j);
    }
    return hn::AllTrue(d, hn::Le(most, hn::Set(d, largest_score)));
  }

  // Turns scores s into e^(s − shift) in place, rounded if they multiply the values. Returns the
  // sum of those that are not rounded, in parts of few keys (see LongSums).
  static HWY_INLINE double exponentials_of(const Range& whole, float shift, float* scores) {
    const Tag d;
    const V shifted = hn::Set(d, shift);
    double total = 0;
    for (std::size_t j = whole.first; j < whole.end;) {
      const std::size_t end = std::min(whole.end, j + 64 * step);
      V a = hn::Zero(d), b = a;
      for (; j + 2 * step <= end; j += 2 * step) {
        const V x = exponential(d, hn::Sub(hn::LoadU(d, scores + j), shifted));
        const V y = exponential(d, hn::Sub(hn::LoadU(d, scores + j + step), shifted));
        hn::StoreU(factor(d, x), d, scores + j);
        hn::StoreU(factor(d, y), d, scores + j + step);
        a = hn::Add(a, x);
        b = hn::Add(b, y);
      }
      for (; j < end; j += step) {
        const V x = exponential(d, hn::Sub(hn::LoadU(d, scores + j), shifted));
        hn::StoreU(factor(d, x), d, scores + j);
        a = hn::Add(a, x);
      }
      total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b))));
    }
    return total;
  }

  static HWY_INLINE V factor(Tag d, V exponential) {
    if constexpr (fused) return nearest<type>(d, exponential);
    return exponential;
  }

  // Turns exponentials into weights; those that multiply the values stay.
  template <bool wanted>
  HWY_INLINE void divide(const Range& whole, float factor, float* scores, float* weights) const {
    const Tag d;
    const V by = hn::Set(d, factor);
    const std::size_t keys = block_.sizes.keys;
    for (std::size_t j = whole.first; j < whole.end; j += step) {
      const V exact = hn::Mul(hn::LoadU(d, scores + j), by);
      const V weight = nearest<type>(d, exact);
      if constexpr (!fused) hn::StoreU(weight, d, scores + j);
      if constexpr (wanted) {
        const V shown = fused || wide_ ? exact : weight;
        if (j + step <= keys) {
          hn::StoreU(shown, d, weights + j);
        } else if (j < keys) {
          HWY_ALIGN std::array<float, step> last;
          hn::StoreU(shown, d, last.data());
          std::copy_n(last.begin(), keys - j, weights + j);
        }
      }
    }
  }

  const QueryBlock<float>& block_;
  bool wide_;
  float scale_, cap_;
  float* room_;
};

// Products in float, one strip of queries at a time.
class FloatProducts {
 public:
  static constexpr std::size_t rows = tile_rows, key_unit = columns_of<float>;

  FloatProducts(const HeadSizes& sizes, ScratchParts<float>& scratch)
      : width_(sizes.width), keys_(sizes.keys), queries_(scratch.next(rows * sizes.width)) {}

  void take_queries(const float* const* queries, std::size_t count) {
    pack_rows<rows>(queries, count, width_, 1.0F, queries_);
  }
  void multiply_keys(const PackedHead<float>& head, const Range& whole, float* scores,
                     std::size_t stride) const {
    multiply_panels(queries_, 1, head.keys, width_, whole, scores, stride);
  }
  void take_weights(std::size_t, const Range&, const float*) {}
  // Adds the products with the values of keys [whole). The weights stand in place of the scores.
  void multiply_values(const PackedHead<float>& head, const Range& whole, const float* weights,
                       std::size_t stride, float* sums, std::size_t output_width) const {
    const std::size_t depth = std::min(whole.end, keys_) - whole.first;
    for (std::size_t column = 0; column < output_width; column += key_unit) {
      const float* panel = head.values + column * keys_ + whole.first * key_unit;
      add_products<false>(weights + whole.first, stride, panel, depth, sums + column, output_width);
    }
  }

 private:
  std::size_t width_, keys_;
  float* queries_;
};

#if HWY_TARGET == HWY_AVX3

// Products of pairs of bfloat16 on matrix tiles, one strip of queries at a time.
class PairProducts {
 public:
  static constexpr std::size_t rows = 2 * tile_side, key_unit = tile_depth;

  PairProducts(const HeadSizes& sizes, ScratchParts<float>& scratch)
      : width_(sizes.width),
        width_steps_(tile_steps(sizes.width)),
        key_steps_(tile_steps(sizes.keys)),
        queries_(parts_in(scratch.next(rows * width_steps_ * tile_depth / 2))),
        weights_(parts_in(scratch.next(rows * key_steps_ * tile_depth / 2))) {
    if (queries_ != nullptr) tiles_.emplace();
  }

  void take_queries(const float* const* queries, std::size_t count) {
    split_rows<1>(queries, rows, width_, 1.0F, queries_);
    // Rows beyond the last query weigh nothing.
    if (count < rows) std::fill_n(weights_, rows * key_steps_ * tile_depth, std::uint16_t{0});
  }
  void multiply_keys(const PackedHead<float>& head, const Range& whole, float* scores,
                     std::size_t stride) const {
    const std::size_t tile_row = width_steps_ * tile_numbers;
    for (std::size_t key = whole.first; key < whole.end; key += key_unit) {
      const std::uint16_t* right = parts_in(head.keys) + key / tile_side * tile_row;
      multiply_bfloat16_tiles(
          {queries_, queries_ + tile_row, right, right + tile_row, width_steps_}, scores + key,
          stride, false);
    }
  }
  void take_weights(std::size_t row, const Range& whole, const float* weights) {
    const Floats d;
    std::uint16_t* to =
        weights_ + row / tile_side * key_steps_ * tile_numbers + row % tile_side * tile_depth;
    for (std::size_t key = whole.first; key < whole.end; key += key_unit) {
      store_parts<1>(hn::LoadU(d, weights + key), hn::LoadU(d, weights + key + tile_side),
                     to + key / tile_depth * tile_numbers);
    }
  }
  void multiply_values(const PackedHead<float>& head, const Range& whole, const float*, std::size_t,
                       float* sums, std::size_t output_width) const {
    const std::size_t tile_row = key_steps_ * tile_numbers;
    const std::size_t first = whole.first / tile_depth, steps = whole.end / tile_depth - first;
    const std::uint16_t* left = weights_ + first * tile_numbers;
    for (std::size_t column = 0; column < output_width; column += 2 * tile_side) {
      const std::uint16_t* right =
          parts_in(head.values) + column / tile_side * tile_row + first * tile_numbers;
      multiply_bfloat16_tiles({left, left + tile_row, right, right + tile_row, steps},
                              sums + column, output_width, true);
    }
  }

 private:
  std::size_t width_, width_steps_, key_steps_;
  std::uint16_t *queries_, *weights_;
  std::optional<MatrixTiles> tiles_;
};

#endif

// A block of queries, strip by strip. All scores of a strip are kept, because a weight is divided
// by the sum of its row before it is rounded, or an exponential rounded beside the largest one.
template <class Products, RoundedType type, bool fused>
class RoundedBlock {
  static constexpr std::size_t unit = std::max(Products::key_unit, lanes_of<float>);

 public:
  RoundedBlock(const QueryBlock<float>& block, const PackedHead<float>& head, bool wide_weights,
               float* weights, float* scratch)
      : RoundedBlock(block, head, wide_weights, weights, ScratchParts<float>(scratch)) {}

  static std::size_t scratch_count(const HeadSizes& sizes) {
    ScratchParts<float> scratch(nullptr);
    Products products(sizes, scratch);
    scratch.next(sums_count(sizes));
    scratch.next(sizes.keys);
    scratch.next(Products::rows * stride_of(sizes));
    return scratch.count();
  }

  BlockOutcome compute() {
    for (std::size_t row = 0; row < block_.queries; row += Products::rows) {
      const std::size_t rows = std::min(Products::rows, block_.queries - row);
      add_strip(row, rows);
      if (outcome_.out_of_range) break;
    }
    return outcome_;
  }

 private:
  RoundedBlock(const QueryBlock<float>& block, const PackedHead<float>& head, bool wide_weights,
               float* weights, ScratchParts<float> scratch)
      : block_(block),
        head_(head),
        weights_(weights),
        stride_(stride_of(block.sizes)),
        output_width_(output_width(block.sizes)),
        products_(block.sizes, scratch),
        sums_(scratch.next(sums_count(block.sizes)), Products::rows * output_width_),
        rows_(block, wide_weights, scratch.next(block.sizes.keys)),
        scores_(scratch.next(Products::rows * stride_)) {}

  // One cache line more than whole units keeps rows off the same sets of a cache.
  static std::size_t stride_of(const HeadSizes& sizes) {
    return rounded_up(sizes.keys, unit) + cache_line<float>;
  }
  static std::size_t output_width(const HeadSizes& sizes) {
    return rounded_up(sizes.value_width, Products::key_unit);
  }
  static std::size_t sums_count(const HeadSizes& sizes) {
    return LongSums<float>::scratch_count(Products::rows * output_width(sizes));
  }

  void add_strip(std::size_t row, std::size_t rows) {
    const Range seen = view_of(block_.mask, row, rows).any;
    const Range whole{seen.first / unit * unit, rounded_up(seen.end, unit)};
    std::array<const float*, Products::rows> queries{};
    for (std::size_t r = 0; r < rows; ++r) {
      queries[r] = block_.query + (row + r) * block_.query_stride;
    }
    products_.take_queries(queries.data(), rows);
    products_.multiply_keys(head_, whole, scores_, stride_);
    std::array<double, Products::rows> factors{};
    for (std::size_t r = 0; r < rows; ++r) {
      float* const scores = scores_ + r * stride_;
      factors[r] = rows_.weigh(
          row + r, whole, scores,
          weights_ == nullptr ? nullptr : weights_ + (row + r) * block_.sizes.keys, outcome_);
      products_.take_weights(r, whole, scores);
    }
    if (block_.output == nullptr) return;
    sums_.clear();
    constexpr std::size_t part = LongSums<float>::fold_keys;
    for (std::size_t key = whole.first; key < whole.end; key += part) {
      const Range keys{key, std::min(key + part, whole.end)};
      products_.multiply_values(head_, keys, scores_, stride_, sums_.at(0), output_width_);
      sums_.added(keys.end - keys.first);
    }
    for (std::size_t r = 0; r < rows; ++r) {
      float* const to = block_.output + (row + r) * block_.output_stride;
      sums_.put(r * output_width_, block_.sizes.value_width, factors[r], to);
      if (!all_finite(to, block_.sizes.value_width)) outcome_.out_of_range = true;
    }
  }

  const QueryBlock<float>& block_;
  const PackedHead<float>& head_;
  float* weights_;
  std::size_t stride_, output_width_;
  Products products_;
  LongSums<float> sums_;
  RoundedRows<type, fused> rows_;
  float* scores_;
  BlockOutcome outcome_;
};

}  // namespace

std::size_t rounded_scratch(const HeadSizes& sizes) {
  const std::size_t of_floats =
      RoundedBlock<FloatProducts, RoundedType::float16, false>::scratch_count(sizes);
#if HWY_TARGET == HWY_AVX3
  return std::max(of_floats,
                  RoundedBlock<PairProducts, RoundedType::bfloat16, false>::scratch_count(sizes));
#else
  return of_floats;
#endif
}

BlockOutcome attend_rounded(const QueryBlock<float>& block, const PackedHead<float>& head,
                            const StepRounding& rounding, float* weights, float* scratch) {
  const bool wide = rounding.wide_weights;
  const auto computed = [&]<class Products, RoundedType type>(
                            std::type_identity<Products>,
                            std::integral_constant<RoundedType, type>) {
    return rounding.fused
               ? RoundedBlock<Products, type, true>(block, head, wide, weights, scratch).compute()
               : RoundedBlock<Products, type, false>(block, head, wide, weights, scratch).compute();
  };
  constexpr std::type_identity<FloatProducts> floats;
  constexpr std::integral_constant<RoundedType, RoundedType::bfloat16> bfloat16;
  constexpr std::integral_constant<RoundedType, RoundedType::float16> float16;
  if (rounding.type == RoundedType::float16) return computed(floats, float16);
#if HWY_TARGET == HWY_AVX3
  if (multiplies_pairs(rounding.type)) {
    return computed(std::type_identity<PairProducts>(), bfloat16);
  }
#endif
  return computed(floats, bfloat16);
}

#if HWY_TARGET == HWY_AVX3

bool has_pairs() {
  return uses_matrix_tiles();
}
void pack_keys_in_pairs(const HeadSizes& sizes, const float* const* rows, PackedHead<float>& head) {
  split_keys<1>(sizes, rows, parts_in(head.keys), head);
}
void pack_values_in_pairs(const HeadSizes& sizes, const float* const* rows,
                          PackedHead<float>& head) {
  split_values<1>(sizes, rows, parts_in(head.values), head);
}

#else

bool has_pairs() {
  return false;
}
void pack_keys_in_pairs(const HeadSizes&, const float* const*, PackedHead<float>&) {}
void pack_values_in_pairs(const HeadSizes&, const float* const*, PackedHead<float>&) {}

#endif

}  // namespace attn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attn::kernels {

ATTN_FOR_TARGETS(rounded_scratch);
ATTN_FOR_TARGETS(attend_rounded);
ATTN_FOR_TARGETS(has_pairs);
ATTN_FOR_TARGETS(pack_keys_in_pairs);
ATTN_FOR_TARGETS(pack_values_in_pairs);

bool multiplies_pairs(StepRounding::Type type) noexcept {
  return type == StepRounding::Type::bfloat16 && ATTN_OF_TARGET(has_pairs)();
}

// Two numbers fill a float.
std::size_t pair_key_count(const HeadSizes& sizes) noexcept {
  return tiled_numbers(sizes.keys, sizes.width) / 2;
}
std::size_t pair_value_count(const HeadSizes& sizes) noexcept {
  return tiled_numbers(sizes.keys, sizes.value_width) / 2;
}

void pack_key_pairs(const HeadSizes& sizes, const float* const* rows,
                    PackedHead<float>& head) noexcept {
  ATTN_OF_TARGET(pack_keys_in_pairs)(sizes, rows, head);
}
void pack_value_pairs(const HeadSizes& sizes, const float* const* rows,
                      PackedHead<float>& head) noexcept {
  ATTN_OF_TARGET(pack_values_in_pairs)(sizes, rows, head);
}

std::size_t rounded_scratch_count(const HeadSizes& sizes) noexcept {
  return ATTN_OF_TARGET(rounded_scratch)(sizes);
}

BlockOutcome attend_rounded_block(const QueryBlock<float>& block, const PackedHead<float>& head,
                                  const StepRounding& rounding, float* weights,
                                  float* scratch) noexcept {
  return ATTN_OF_TARGET(attend_rounded)(block, head, rounding, weights, scratch);
}

}  // namespace attn::kernels
#endif
