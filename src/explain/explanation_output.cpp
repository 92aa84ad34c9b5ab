#include "explain/explanation_output.hpp"

#include <string_view>

namespace attn {

ExplanationOutput::ExplanationOutput(ExplanationFormat format, bool list)
    : format_(format),
      list_(list && format == ExplanationFormat::json),
      json_([this](std::string_view piece) { text_ += piece; }) {
  if (list_) json_.begin_array();
}

void ExplanationOutput::add(const Explanation& explanation,
                            const std::function<void(JsonWriter& json)>& about) {
  if (format_ == ExplanationFormat::json) {
    add_json(explanation, about);
    return;
  }
  if (!text_.empty()) text_ += "\n\n";
  text_ += format_ == ExplanationFormat::markdown ? explanation_markdown(explanation)
                                                  : explanation_text(explanation);
}

void ExplanationOutput::add_json(const Explanation& explanation,
                                 const std::function<void(JsonWriter& json)>& about) {
  json_.begin_object();
  about(json_);
  json_.key("steps");
  json_.begin_array();
  std::string part;
  for (const Explanation::Step& step : explanation.steps) {
    if (!step.part.empty()) part = step.part;
    json_.begin_object();
    if (!part.empty()) {
      json_.key("part");
      json_.value(part);
    }
    json_.key("title");
    json_.value(step.title);
    json_.key("text");
    json_.value(step_text(step, 0, explanation.full));
    json_.end_object();
  }
  json_.end_array();
  json_.end_object();
}

std::string ExplanationOutput::finish() {
  if (list_) json_.end_array();
  if (format_ == ExplanationFormat::json) json_.finish();
  return std::move(text_);
}

}  // namespace attn
