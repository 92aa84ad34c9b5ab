#pragma once

#include <string>
#include <string_view>

namespace attn {

/// What to write in a document in the place of a call of NumPy or PyTorch that makes a tensor,
/// with which a text begins: `write {"randn": [2,3]}` for "torch.randn(2, 3)". Empty for texts
/// that begin otherwise.
std::string instead_of_call(std::string_view text);

}  // namespace attn
