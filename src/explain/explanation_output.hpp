#pragma once

#include <string>

#include "attn/explain.hpp"

#include "explain/explanation.hpp"
#include "report/facts.hpp"

namespace attn {

/// The text of one or more explanations in a format.
class ExplanationOutput {
 public:
  /// `list`: whether JSON is a list of objects instead of one object.
  ExplanationOutput(ExplanationFormat format, bool list) : format_(format), list_(list) {}

  /// `about`: the members of the JSON object before the steps of the explanation.
  void add(const Explanation& explanation, Fact::Members about);

  /// The text of all that was added.
  std::string text() const;

 private:
  ExplanationFormat format_;
  bool list_;
  std::string text_;
  Fact::List facts_;
};

}  // namespace attn
