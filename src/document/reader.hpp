#pragma once

#include <functional>
#include <span>
#include <vector>

#include "document/document.hpp"
#include "document/plan.hpp"
#include "report/facts.hpp"

namespace attn {

/// The plan of the document for `kind`, one of its `kinds`. All problems go to `problems`; the plan
/// may be computed only if there are none. Nothing is made, drawn or embedded before all sizes are
/// checked.
Plan read_plan(const Document& document, Kind kind, std::span<const Kind> kinds,
               Problems& problems);

/// Finds all problems of the document except those of single random numbers, which are not drawn.
/// Plans without problems go to `visit`; what they draw or embed is only a shape.
void check_plans(const Document& document, std::span<const Kind> kinds, Problems& problems,
                 const std::function<void(const Plan&)>& visit = {});

/// The plans of all kinds of the document. Throws the first problem, at its place in the document
/// or at the field that set it. `choose` sets the wanted results of a plan; it is called before
/// anything is made or drawn, so that all sizes can be checked.
std::vector<Plan> read_plans(const Document& document,
                             const std::function<void(Plan&)>& choose = {});

/// All problems of the document that `open` returns. An error that `open` throws is the only
/// problem. `visit` as in check_plans().
Validation validation_of(std::string name, const FileAccess& access,
                         const std::function<Document(const FileAccess&)>& open,
                         const std::function<void(const Plan&)>& visit = {});

/// "input" and "problems" of a validation.
Fact::Members facts_of(const Validation& validation);

}  // namespace attn
