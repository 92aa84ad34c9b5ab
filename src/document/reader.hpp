#pragma once

#include <functional>
#include <span>
#include <vector>

#include "document/document.hpp"
#include "document/plan.hpp"
#include "document/problems.hpp"

namespace attn {

/// Reads every part of the document as `kind`, one of `kinds`, needs it. All problems go to
/// `problems`, those of shapes that do not fit together too; the plan is to be computed only if
/// there are none. Nothing is made, drawn or embedded before all sizes are known and checked.
Plan read_plan(const Document& document, Kind kind, std::span<const Kind> kinds,
               Problems& problems);

/// All problems of the document but those of single numbers that are to be drawn; nothing is.
void check_plans(const Document& document, std::span<const Kind> kinds, Problems& problems);

/// The plans of all kinds of the document. Throws its first problem, with its place in the document
/// or the flag it came from. `choose` sets the options that say what will be computed of a plan; it
/// is called before anything is made or drawn, so that the size of everything can be checked.
std::vector<Plan> read_plans(const Document& document,
                             const std::function<void(Plan&)>& choose = {});

}  // namespace attn
