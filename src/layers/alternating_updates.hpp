#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attn/tensor.hpp"

#include "attention/linear.hpp"

namespace attn {

/// P streams of states, of which a layer computes one, the active one, and moves the others by how
/// far that is from what it was expected to be (Baykal et al. 2023, "Alternating Updates for
/// Efficient Transformers", algorithm 1; the coefficients are those of Gemma 3n). Streams stand
/// side by side, [..,L,P·D].
struct AlternatingUpdates {
  std::size_t count = 0, active = 0;  ///< P, and the number of the active stream
  StoredLinear router;                ///< [P,D], of the normed states over D
  Norm router_norm;                   ///< [D]
  StoredLinear prediction;            ///< [P·P,P]
  StoredLinear correction;            ///< [P,P]
  Tensor scale;                       ///< [D], of what the layer's input reads; absent = ones
};

/// The streams [..,L,D] of states [..,L,P·D], and back.
std::vector<Tensor> apart(const Tensor& streams, std::size_t count);
Tensor side_by_side(const std::vector<Tensor>& streams);

/// Streams as they are expected behind the layer, x_n + Σ_m c_nm x_m, with coefficients that are
/// made of the active stream's router.
std::vector<Tensor> predicted(const AlternatingUpdates& updates, const std::vector<Tensor>& streams,
                              double eps, std::size_t threads);

/// The streams behind the layer, which made `computed` of the active one: predicted_n +
/// (1 + c_n)(computed − predicted_active).
std::vector<Tensor> corrected(const AlternatingUpdates& updates,
                              const std::vector<Tensor>& predicted, const Tensor& computed,
                              double eps, std::size_t threads);

/// Makes streams of states that are embedded, and states of the streams that leave the last layer.
struct StreamEnds {
  std::vector<StoredLinear> in, out;  ///< [D,D] of each stream but the first

  /// [..,L,P·D] of x [..,L,D]: x, and each product at the length of x.
  Tensor spread(const Tensor& x, std::size_t threads) const;
  /// The mean [..,L,D] of the first stream and of each product of another one at its length.
  Tensor joined(const Tensor& streams, std::size_t threads) const;
};

/// Residual of an attention beside its states, x + norm(right left x) of the normed states x that
/// the attention reads ("learned augmented residual layer" of Gemma 3n); the sum with the
/// attention's result is divided by √2.
struct AugmentedResidual {
  StoredLinear left, right;  ///< [R,D], [D,R]
  std::optional<Norm> norm;

  Tensor of(const Tensor& x, double eps, std::size_t threads) const;
};

/// The number z below which a normal number is with that probability, within rounding; 0 ≤ share
/// < 1, where 0 gives −∞.
double normal_quantile(double share);

/// max(0, x − mean − z · deviation) over each row of x [..,F]: about the share of x that z is the
/// quantile of becomes zeros.
Tensor largest_of_rows(const Tensor& x, double z);

}  // namespace attn
