#pragma once

#include <cstddef>
#include <optional>

#include "attn/view.hpp"

#include "document/document.hpp"
#include "document/plan.hpp"
#include "maps/attention_map.hpp"
#include "view/viewed_attention.hpp"

namespace attn {

/// The plan of a document whose maps are to be seen. Throws Error(usage) for several kinds of
/// attention, and as check_viewable() does.
Plan plan_of_view(const ViewOptions& options, const Document& document);

/// Throws Error(usage) if the plan's weights are pooled while they are computed.
void check_viewable(const Plan& plan);

/// What is known of it before it is computed. Throws Error(input) naming the field if heads or
/// layers are chosen that are not there.
ViewedInput planned_input(const Plan& plan, const ViewOptions& options);

/// Attention number `at` of the plan, whose map was computed; absent if its layer is not chosen.
std::optional<ViewedAttention> planned_attention(const Plan& plan, const AttentionMap& map,
                                                 std::size_t at, const ViewOptions& options);

}  // namespace attn
