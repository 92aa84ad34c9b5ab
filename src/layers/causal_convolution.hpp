#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "attn/tensor.hpp"

namespace attn {

/// A convolution of each channel by itself: channel c of token t becomes
/// Σ_k weight[c,k] · x[t − K + 1 + k, c] + bias[c].
struct CausalConvolution {
  Tensor weight;  ///< [C,K]
  Tensor bias;    ///< [C]; absent = zeros
};

/// Memory that a token mixer keeps of the tokens it has read, of B texts. Empty = of none.
struct MixerState {
  std::vector<double> channels;  ///< [B,K − 1,C], of the last tokens, before the convolution
  /// [B,H,dk,dv] of a delta rule, [B,H,p,n] of a state space.
  std::vector<double> memory;
};

/// The numbers of a tensor in double precision.
std::vector<double> doubles_of(const Tensor& tensor);
/// Part `part` of numbers in parts of `size`.
inline std::span<double> part_of(std::vector<double>& all, std::size_t part, std::size_t size) {
  return std::span(all).subspan(part * size, size);
}

/// The convolved channels [B·L,C] of `channels`, float64 [..,C], of texts of `length` tokens. The
/// last tokens of each text take the place of those before it in `state`.
std::vector<double> convolved(const CausalConvolution& convolution, const Tensor& channels,
                              std::size_t length, std::size_t threads, MixerState& state);

/// A pass of states x [L,D] or [B,L,D] through a mixer whose heads keep a memory of the text.
class RecurrentPass {
 protected:
  RecurrentPass(const Tensor& x, double eps, std::size_t threads, MixerState& state);

  /// Reads the tokens of each text through the memory of each head, of `size` numbers.
  void read_heads(std::size_t heads, std::size_t size,
                  const std::function<void(std::size_t text, std::size_t head,
                                           std::span<double> memory)>& read);
  /// The outputs [..,L,width], in the type of x.
  Tensor result(std::size_t width);

  double eps_;
  std::size_t threads_;
  MixerState& state_;
  std::size_t length_, tokens_;  ///< of a text, and of all
  std::vector<double> convolved_, outputs_;

 private:
  Shape shape_;
  DType type_;
};

}  // namespace attn
