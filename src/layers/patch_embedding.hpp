#pragma once

#include <cstddef>
#include <optional>

#include "attn/layers.hpp"
#include "attn/tensor.hpp"

#include "attention/linear.hpp"

namespace attn {

/// Patches of a picture as states of width D (Dosovitskiy et al. 2021, section 3.1). For a grid of
/// n patches of P × P pixels and c tokens before them with positions.
struct PatchEmbedding {
  std::size_t patch = 0;     ///< P
  StoredLinear pixels;       ///< [D,3·P·P]
  Tensor first;              ///< tokens before the patches [c,D]; absent = none
  Tensor registers;          ///< tokens behind `first`, without positions [r,D]; absent = none
  Tensor positions;          ///< [c + n,D]
  std::optional<Norm> norm;  ///< of all states
};

/// The states [1,c + r + n,D] of a normalised picture [3,H,W], in the type of the options. Pixels
/// that fill no patch play no part.
Tensor embed_picture(const PatchEmbedding& embedding, const Tensor& picture,
                     const AttentionOptions& options);

}  // namespace attn
