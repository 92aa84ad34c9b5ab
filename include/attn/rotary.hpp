#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

// Scalings of rotary frequencies for texts longer than those of training. In the docstrings f is a
// pair's unscaled frequency and o the length of training in positions. Factors are finite and
// positive.

/// Frequency f / factor (Chen et al. 2023, section 3.2).
struct LinearScaling {
  double factor = 1;
};

/// θ becomes θ·(factor·L/o − (factor − 1))^(w/(w−2)) for texts of L > o positions ("NTK-aware",
/// made dynamic: Peng et al. 2023, section 3.3).
struct DynamicScaling {
  double factor = 1;
  double original = 0;  ///< o
};

/// Frequency f for waves shorter than o/high, f / factor for those longer than o/low, in between a
/// mixture linear in o/wavelength (Llama 3.1's configurations).
struct BandScaling {
  double factor = 1, low = 1, high = 4;
  double original = 0;  ///< o
};

/// Frequency f for pairs with more than `beta_fast` turns in o positions, f / factor for those with
/// fewer than `beta_slow`, in between a ramp over the pairs; cosines and sines times an amplitude
/// (Peng et al. 2023, section 3.4).
struct YarnScaling {
  double factor = 1;
  double original = 0;  ///< o
  double beta_fast = 32, beta_slow = 1;
  bool truncate = true;  ///< whether to round the ramp's ends outwards to whole pairs
  std::optional<double> amplitude = {};  ///< default 0.1·ln(factor) + 1, or by the two below
  std::optional<double> mscale = {}, mscale_all_dim = {};
};

/// Frequency f divided by a factor of its own for each pair: short_factors for texts up to o
/// positions, long_factors for longer ones (Ding et al. 2024).
struct LongScaling {
  std::vector<double> short_factors, long_factors;  ///< one per pair
  double original = 0;                              ///< o
  double amplitude = 1;                             ///< of cosines and sines
};

using RotaryScaling = std::variant<std::monostate, LinearScaling, DynamicScaling, BandScaling,
                                   YarnScaling, LongScaling>;

/// Rotary positions: pairs of columns of each query and key are rotated by an angle proportional to
/// the position, so that products depend on distances (Su et al. 2021, section 3.2). Pair n of
/// `width` columns is (n, n + width/2), or (2n, 2n + 1) if interleaved, and its angle position ·
/// θ^(−2n/width): (a, b) becomes (a cos − b sin, b cos + a sin).
struct Rotary {
  double theta = 10000;
  std::optional<std::size_t> width;  ///< even; later columns are kept; default: all of a head
  bool interleaved = false;
  RotaryScaling scaling;
  Tensor positions;      ///< int64 [Lq] or [B,Lq]; default i + offset, as the mask has it
  Tensor key_positions;  ///< int64 of the new keys, [L] or [B,L]; default `positions` if they are
                         ///< given, else past length + j
  Tensor cos, sin;       ///< in place of θ, width and scaling: [N,width/2], row = position, or
                         ///< [B,N,width/2]
};

}  // namespace attn
