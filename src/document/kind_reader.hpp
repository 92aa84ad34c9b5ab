#pragma once

#include <span>

#include "document/document.hpp"
#include "document/plan.hpp"
#include "document/problems.hpp"
#include "document/tensor_source.hpp"

namespace attn {

/// Reads every part of the document as `kind`, one of `kinds`, needs it; all problems go to
/// `problems`, and the plan is whole only if there are none.
Plan read_kind(const Document& document, Kind kind, std::span<const Kind> kinds, Problems& problems,
               TensorSource& tensors);

}  // namespace attn
