#pragma once

#include <cstddef>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// How unlike the heads of a stack are (Clark et al. 2019, section 6): Jensen-Shannon divergences
/// of their rows in nats, added up over rows and samples. A row of n keys is smoothed first:
/// 0.999·A + 0.001/n.
class HeadDistances {
 public:
  explicit HeadDistances(std::size_t threads) : threads_(threads) {}

  /// The maps [B,H,Lq,Lk] of one more layer, which all must be of one shape but for their heads.
  /// Rows without weight do not count.
  void add(const Tensor& maps);

  /// [N,N] float64 of all heads, in the order in which they were added.
  Tensor distances() const;

 private:
  std::size_t threads_;
  std::vector<Tensor> layers_;
};

/// Points in the plane whose distances are near those given (Torgerson 1952): the two leading
/// eigenvectors of −½ J D² J, times the roots of their eigenvalues, [N,2] float64. Of each axis the
/// coordinate that is largest is positive.
Tensor scaled_to_plane(const Tensor& distances);

}  // namespace attn
