#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "heads/heads_table.hpp"
#include "heads/model_analyses.hpp"
#include "models/model_folder.hpp"
#include "report/text_table.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "why/attribution.hpp"
#include "why/why.hpp"

namespace attn {
namespace {

// Throws Error for models and passes without gradients of a logit.
void check_gradients_of(const ModelRequest& request) {
  const Architecture& model = request.folder->architecture;
  const char* const field = "HeadsOptions::analyses";
  if (model.senses(model.stacks.front())) {
    throw input_error(translated("gradients are those of models of texts"), field,
                      translated("leave gradients out"));
  }
  if (model.streams) {
    throw input_error(translated("there are no gradients through streams of states"), field,
                      translated("leave gradients out"));
  }
  if (!has_head(model, request.folder->weights)) {
    throw input_error(no_head_text(model), field,
                      translated("leave gradients out, or use the folder of the whole model"));
  }
  if (is_changed(request.options) || !request.options.heads_off.empty()) {
    throw Error(ErrorKind::usage, translated("gradients are those of the model as it is"), field,
                translated("leave out gradients, or the patch and the heads that are off"));
  }
}

GradientChoice choice_of(const HeadsOptions& asked, const ModelFolder& folder) {
  const auto named = [&](const std::optional<std::string>& token, const char* field) {
    return token && !token->empty() ? std::optional(token_named(*token, folder, field))
                                    : std::nullopt;
  };
  GradientChoice choice;
  choice.steps = asked.gradient_steps;
  choice.terms = {named(asked.logit, "HeadsOptions::logit"),
                  named(asked.against_logit, "HeadsOptions::against_logit")};
  if (choice.terms.token && choice.terms.token == choice.terms.against) {
    throw input_error(translated("both logits are of one token"), "HeadsOptions::against_logit",
                      translated("give two tokens"));
  }
  if (const auto token = named(asked.baseline, "HeadsOptions::baseline")) {
    choice.baseline = static_cast<std::int64_t>(*token);
  }
  return choice;
}

// Rows of several lengths, with NaN after their ends.
Tensor padded(const std::vector<std::vector<double>>& rows) {
  std::size_t longest = 0;
  for (const std::vector<double>& row : rows) longest = std::max(longest, row.size());
  std::vector<double> all(rows.size() * longest, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t b = 0; b < rows.size(); ++b) {
    std::ranges::copy(rows[b], all.begin() + static_cast<std::ptrdiff_t>(b * longest));
  }
  return Tensor({rows.size(), longest}, std::move(all));
}

}  // namespace

std::vector<TextGradients> text_gradients(const ModelRequest& request, const HeadsOptions& asked,
                                          NamedTensors& tensors) {
  check_gradients_of(request);
  const ModelFolder& folder = *request.folder;
  const Architecture& model = folder.architecture;
  const auto written = [&](std::size_t id) {
    return written_token(folder, static_cast<std::int64_t>(id)).value_or(std::to_string(id));
  };
  GradientChoice choice = choice_of(asked, folder);
  std::vector<TextGradients> all;
  std::vector<std::vector<double>> heads, inputs, integrated;
  for (std::size_t b = 0; b < request.texts.ids.size(); ++b) {
    const ModelTexts text = request.texts.of_sample(b);
    const auto& predicted = request.options.wanted.predicted;
    choice.position.reset();
    if (b < predicted.size() && !predicted[b].empty()) choice.position = predicted[b].front();
    LogitAttribution own = attribute({model, folder.weights, text, request.options}, choice);
    TextGradients& to = all.emplace_back();
    to = {b,
          own.position,
          written(own.token),
          own.against ? written(*own.against) : "",
          own.value,
          {},
          own.inputs,
          own.integrated,
          choice.baseline ? written(static_cast<std::size_t>(*choice.baseline)) : "",
          own.baseline_value,
          own.error};
    std::vector<double>& row = heads.emplace_back();
    for (std::size_t n = 0; n < own.layers.size(); ++n) {
      AttentionHeads& layer = to.heads.emplace_back();
      layer.name = ModelPlace{last_stack_of(model), own.layers[n]}.attention().text();
      for (const double number : own.heads[n]) layer.heads.push_back({number});
      row.insert(row.end(), own.heads[n].begin(), own.heads[n].end());
    }
    inputs.push_back(std::move(own.inputs));
    if (choice.steps > 0) integrated.push_back(std::move(own.integrated));
  }
  const std::size_t layers = all.front().heads.size();
  if (layers > 0) {
    tensors.emplace_back("gradients.heads",
                         padded(heads).reshaped({all.size(), layers, model.heads}));
  }
  tensors.emplace_back("gradients.tokens", padded(inputs));
  if (!integrated.empty()) tensors.emplace_back("gradients.integrated", padded(integrated));
  return all;
}

namespace {

std::string heads_of_gradients(const TextGradients& own, std::optional<std::size_t> top) {
  std::vector<std::pair<std::string, double>> heads;
  for (const AttentionHeads& layer : own.heads) {
    for (std::size_t h = 0; h < layer.heads.size(); ++h) {
      heads.emplace_back(AttentionName(layer.name).head_name(h), layer.heads[h].front());
    }
  }
  std::ranges::stable_sort(heads, std::ranges::greater(),
                           [](const auto& head) { return std::abs(head.second); });
  if (top) heads.resize(std::min(heads.size(), *top));
  TextTable table{{{translated("head")}, {translated("gradient × attention"), true}}};
  for (const auto& [name, number] : heads) table.add({name, with_decimals(number, 4)});
  return table.text();
}

std::string tokens_of_gradients(const TextGradients& own, const std::vector<std::string>& tokens) {
  std::vector<TextTable::Column> columns{{translated("position"), true},
                                         {translated("token")},
                                         {translated("gradient × input"), true}};
  if (!own.integrated.empty()) columns.push_back({translated("integrated gradients"), true});
  TextTable table(columns);
  for (std::size_t i = 0; i < own.inputs.size(); ++i) {
    std::vector<std::string> cells{std::to_string(i),
                                   i < tokens.size() ? "\"" + printable(tokens[i]) + "\"" : "",
                                   with_decimals(own.inputs[i], 4)};
    if (!own.integrated.empty()) cells.push_back(with_decimals(own.integrated[i], 4));
    table.add(std::move(cells));
  }
  return table.text();
}

}  // namespace

std::string gradients_text(const std::vector<TextGradients>& gradients,
                           const std::vector<std::string>& tokens, std::optional<std::size_t> top) {
  const TextGradients& own = gradients.front();
  const auto quoted = [](const std::string& token) { return "\"" + printable(token) + "\""; };
  const std::string value = with_decimals(own.value, 4);
  std::string text =
      own.against.empty()
          ? translated("\nGradients of the logit of {1} at position {2}, {3}", quoted(own.token),
                       own.position, value)
          : translated("\nGradients of the logit of {1} minus that of {2} at position {3}, {4}",
                       quoted(own.token), quoted(own.against), own.position, value);
  text += "\n\n" + heads_of_gradients(own, top) + "\n" + tokens_of_gradients(own, tokens);
  if (own.integrated.empty()) return text;
  const std::string before = with_decimals(own.baseline_value, 4),
                    error = with_decimals(own.error, 4);
  return text + (own.baseline.empty()
                     ? translated("\nIntegrated gradients begin with zeros instead of all "
                                  "embeddings, where the value is {1}; their sum minus the change "
                                  "of the value is {2}.\n",
                                  before, error)
                     : translated("\nIntegrated gradients begin with {1} instead of all "
                                  "tokens, where the value is {2}; their sum minus the change of "
                                  "the value is {3}.\n",
                                  quoted(own.baseline), before, error));
}

Fact facts_of(const TextGradients& own) {
  const auto layer = [](const AttentionHeads& attention) {
    std::vector<double> numbers;
    for (const std::vector<double>& head : attention.heads) numbers.push_back(head.front());
    return object({{"name", attention.name}, {"heads", numbers}});
  };
  const bool integrated = !own.integrated.empty();
  return object({{"sample", own.sample},
                 {"position", own.position},
                 {"token", own.token},
                 {"against", unless_empty(own.against)},
                 {"value", own.value},
                 {"attentions", list_of(own.heads, layer)},
                 {"inputs", own.inputs},
                 {"integrated", unless_empty(own.integrated)},
                 {"baseline", unless_empty(own.baseline)},
                 {"baseline_value", only_if(integrated, own.baseline_value)},
                 {"error", only_if(integrated, own.error)}});
}

}  // namespace attn
