#include <algorithm>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/classification.hpp"
#include "models/configuration_reader.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

// The classes that the folder was saved from; empty if it does not say.
std::vector<std::string> saved_classes(const JsonValue& config) {
  std::vector<std::string> names;
  const JsonValue* classes = present_member(config, "architectures");
  if (classes == nullptr) return names;
  constexpr const char* wanted = to_translate("a list of names");
  if (!classes->is(JsonValue::Type::array)) refuse_type("architectures", *classes, wanted);
  for (std::size_t i = 0; i < classes->size(); ++i) {
    const JsonValue& name = classes->element(i);
    if (!name.is(JsonValue::Type::string)) refuse_type("architectures", name, wanted);
    names.push_back(name.string());
  }
  return names;
}

bool ends_with_one_of(std::string_view name, std::initializer_list<std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) { return name.ends_with(end); });
}

// Predictions of a class, by the names that transformers gives its classes.
enum class Predicts { tokens, others, nothing, unknown };

Predicts predicted_by(const std::string& name) {
  if (ends_with_one_of(name, {"ForCausalLM", "ForMaskedLM", "LMHeadModel", "HeadsModel", "MTModel",
                              "ForConditionalGeneration", "ForPreTraining"})) {
    return Predicts::tokens;
  }
  if (name.find("Reward") != name.npos ||
      ends_with_one_of(name,
                       {"Classification", "ClassificationWithTeacher", "QuestionAnswering",
                        "MultipleChoice", "Retrieval", "NextSentencePrediction", "Regression"})) {
    return Predicts::others;
  }
  return name.ends_with("Model") ? Predicts::nothing : Predicts::unknown;
}

// The tokens that classes let see all others where their users say nothing.
GlobalTokens global_tokens_of(std::string_view class_name) {
  if (class_name.ends_with("ForSequenceClassification")) return GlobalTokens::first;
  if (class_name.ends_with("ForQuestionAnswering")) return GlobalTokens::question;
  if (class_name.ends_with("ForMultipleChoice")) return GlobalTokens::choice;
  return GlobalTokens::none;
}

}  // namespace

bool encoder_alone(const JsonValue& config) {
  const JsonValue* both = present_member(config, "is_encoder_decoder");
  const bool only = both != nullptr && same_value(*both, JsonValue{false});
  return std::ranges::any_of(saved_classes(config), [&](const std::string& name) {
    if (name.starts_with("T5Gemma") && name.ends_with("Classification")) return only;
    return ends_with_one_of(name, {"EncoderModel", "ForTokenClassification"});
  });
}

bool decoder_alone(const JsonValue& config) {
  return std::ranges::any_of(saved_classes(config),
                             [](const std::string& name) { return name.ends_with("ForCausalLM"); });
}

void take_head_away(Architecture& model, const JsonValue& config) {
  const std::vector<std::string> classes = saved_classes(config);
  bool others = false;
  std::optional<ModelClassifier> classifier;
  for (const std::string& name : classes) {
    auto own = classifier_of(name, model, config);
    const Predicts what = own ? Predicts::others : predicted_by(name);
    if (what == Predicts::tokens || what == Predicts::unknown) return;
    others = others || what == Predicts::others;
    if (!classifier) classifier = std::move(own);
  }
  if (classes.empty()) return;
  model.classifier = std::move(classifier);
  model.headless_class = model.classifier ? model.classifier->name : classes.front();
  if (others) {
    if (model.stacks.front().names.contains(WeightPurpose::global_query)) {
      model.global_tokens = global_tokens_of(model.headless_class);
    }
    model.head = {};
    // The base of decoders that answer questions has another name there.
    model.prefixes.emplace_back("transformer.");
    if (model.classifier) {
      const auto unused = names_of_other_numbers(config);
      if (unused && model.classifier->labels.empty()) model.warnings.push_back(*unused);
      return;
    }
    model.warnings.push_back(translated(
        "what models of the class {1} predict is not computed: there are maps and states alone",
        in_quotes(model.headless_class)));
  } else if (model.head.dense.empty()) {
    model.tied = model.part_tied = false;
  }
}

}  // namespace attn
