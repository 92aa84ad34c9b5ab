#pragma once

#include "document/plan.hpp"
#include "view/page_maker.hpp"

namespace attn {

/// Splits the logits of the tokens that follow each text of a plan's model, and of the likeliest
/// ones of its first prediction, and hands them to the page. The plan has a model. Throws Error as
/// split_logits() does, and Error(usage) where nothing is predicted.
void put_logit_sources(const Plan& plan, PageMaker& page);

}  // namespace attn
