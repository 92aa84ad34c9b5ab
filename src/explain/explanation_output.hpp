#pragma once

#include <functional>
#include <string>

#include "attn/explain.hpp"

#include "explain/explanation.hpp"
#include "io/json_writer.hpp"

namespace attn {

/// Explanations one after the other, in the format that is asked for.
class ExplanationOutput {
 public:
  /// `list`: whether JSON is a list of objects, and not one.
  ExplanationOutput(ExplanationFormat format, bool list);

  /// `about` writes the members of the JSON object that stand before the steps.
  void add(const Explanation& explanation, const std::function<void(JsonWriter& json)>& about);

  /// All of it; nothing can be added after that.
  std::string finish();

 private:
  void add_json(const Explanation& explanation, const std::function<void(JsonWriter& json)>& about);

  ExplanationFormat format_;
  bool list_;
  std::string text_;
  JsonWriter json_;
};

}  // namespace attn
