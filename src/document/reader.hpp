#pragma once

#include <span>
#include <vector>

#include "document/document.hpp"
#include "document/plan.hpp"
#include "document/problems.hpp"

namespace attn {

/// Reads every part of the document as `kind`, one of `kinds`, needs it. All problems go to
/// `problems`, those of shapes that do not fit together too; the plan is to be computed only if
/// there are none.
Plan read_plan(const Document& document, Kind kind, std::span<const Kind> kinds,
               Problems& problems);

/// The plans of all kinds of the document. Throws its first problem, with its place in the document
/// or the flag it came from.
std::vector<Plan> read_plans(const Document& document);

}  // namespace attn
