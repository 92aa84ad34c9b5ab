#include "explain/explanation_output.hpp"

#include <utility>

namespace attn {

void ExplanationOutput::add(const Explanation& explanation, Fact::Members about) {
  if (format_ != ExplanationFormat::json) {
    if (!text_.empty()) text_ += "\n\n";
    text_ += format_ == ExplanationFormat::markdown ? explanation_markdown(explanation)
                                                    : explanation_text(explanation);
    return;
  }
  std::string part;
  about.push_back({"steps", list_of(explanation.steps, [&](const Explanation::Step& step) {
                     if (!step.part.empty()) part = step.part;
                     return object({{"part", unless_empty(part)},
                                    {"title", step.title},
                                    {"text", step_text(step, 0, explanation.full)}});
                   })});
  facts_.emplace_back(std::move(about));
}

std::string ExplanationOutput::text() const {
  if (format_ != ExplanationFormat::json) return text_;
  return json_text(list_ ? Fact(facts_) : facts_.front());
}

}  // namespace attn
