#pragma once

#include <string>

#include "document/plan.hpp"
#include "view/page_maker.hpp"

namespace attn {

/// Splits the scores of heads in every sample, and hands them to the page. `heads`: as
/// ViewOptions::why. The plan has a model. Throws Error as split() does, and Error(usage) for heads
/// of layers that are left out and for more scores than a page keeps.
void put_score_parts(const Plan& plan, const std::string& heads, PageMaker& page);

/// Splits the logits of the tokens that follow each text of a plan's model, and of the likeliest
/// ones of its first prediction, and hands them to the page. The plan has a model. Throws Error as
/// split_logits() does.
void put_logit_parts(const Plan& plan, PageMaker& page);

}  // namespace attn
