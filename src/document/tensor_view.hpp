#pragma once

#include <optional>
#include <string>

#include "attn/tensor.hpp"

#include "io/json_value.hpp"

namespace attn {

/// How a tensor that is given is to be seen, one after the other: a part of it ("index", of its
/// first axes), another shape of the same elements ("reshape"), its axes in another order
/// ("transpose", true for the last two or a list, or "layout", the letters of B, H, L and D in the
/// order in which the axes stand).
struct TensorView {
  std::optional<Shape> index, reshape;  ///< a size of reshape is 0 for "what is left"
  bool transposed = false;
  std::optional<Shape> axes;
  std::string layout;  ///< empty = B, H, L, D

  bool plain() const { return !index && !reshape && !transposed && !axes && layout.empty(); }
};

/// Takes the members that say so out of the object; those that are left are the tensor's own.
/// Throws Error(input) below `pointer`.
TensorView take_view(JsonValue& object, const std::string& pointer);

/// Whether the object has such members.
bool has_view(const JsonValue& object);

/// The tensor, seen so; elements are copied only where axes change their order. Of a shape alone
/// its shape. Throws Error(input) below `pointer` for a view that does not fit.
Tensor viewed(const Tensor& tensor, const TensorView& view, const std::string& pointer);

}  // namespace attn
