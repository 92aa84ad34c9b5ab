#include "models/tensor_checks.hpp"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/errors.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {

const Shape& expect_shape(const CheckpointWeights& weights, const std::string& name,
                          const Shape& wanted) {
  const Shape& shape = weights.shape(name);
  bool fits = shape.size() == wanted.size();
  for (std::size_t axis = 0; fits && axis < shape.size(); ++axis) {
    fits = shape[axis] > 0 && (wanted[axis] == 0 || shape[axis] == wanted[axis]);
  }
  if (!fits) refuse_shape(weights, name, shape, wanted);
  return shape;
}

namespace {

bool holds_numbers(ElementType type) {
  return type == ElementType::float16 || type == ElementType::bfloat16 ||
         type == ElementType::float32 || type == ElementType::float64;
}

}  // namespace

void check_numbers(const CheckpointWeights& weights, const std::string& name) {
  if (holds_numbers(weights.type(name))) return;
  throw input_error(
      translated("the weight {1} is stored as {2}", in_quotes(name),
                 attn::name(weights.type(name))),
      weights.place(),
      translated("the meaning of such elements is not known: use the model's unquantized folder"));
}

TensorChecks::TensorChecks(const Architecture& model, const CheckpointWeights& weights,
                           const ModelStack& stack, const std::string& prefix,
                           std::set<std::string>& used)
    : model_(model.of(stack)),
      weights_(weights),
      stack_(stack),
      prefix_(prefix),
      names_(weights, model, stack, prefix),
      used_(used) {}

Shape TensorChecks::matrix(WeightPurpose purpose, LayerNumber layer, std::size_t rows,
                           std::size_t columns) {
  const auto name = names_.found(purpose, layer, "weight");
  if (!name) missing(purpose, layer);
  Shape shape = weights_.shape(*name);
  const bool turned = layer && model_.stores_transposed(purpose);
  if (layer && model_.has_heads_apart(purpose)) {
    expect_shape(weights_, *name, {turned ? columns : rows, model_.heads, model_.head_width});
    shape = {shape[0], shape[1] * shape[2]};
  }
  if (shape.size() == 2 && turned) std::swap(shape[0], shape[1]);
  const bool fits = shape.size() == 2 && (rows == 0 || shape[0] == rows) &&
                    (columns == 0 || shape[1] == columns) && shape[0] > 0 && shape[1] > 0;
  if (!fits) {
    refuse_shape(weights_, *name, weights_.shape(*name),
                 turned ? Shape{columns, rows} : Shape{rows, columns},
                 cause(purpose, shape, {rows, columns}));
  }
  use(purpose, layer, *name, shape[0]);
  return shape;
}

std::string TensorChecks::cause(WeightPurpose purpose, const Shape& found,
                                const Shape& wanted) const {
  if (weights_.gguf() != nullptr || found.size() != 2 || wanted[0] == found[0]) return "";
  const bool columns = wanted[1] == 0 || wanted[1] == found[1];
  const SizeKeys& keys = model_.size_keys;
  const std::size_t width = model_.head_width;
  using enum WeightPurpose;
  if (purpose == tokens && columns && !keys.vocabulary.empty()) {
    return other_number(keys.vocabulary, wanted[0], found[0]);
  }
  const bool of_key = purpose == key || purpose == value;
  if ((!of_key && purpose != query) || !columns || model_.latent || found[0] % width != 0)
    return "";
  const std::size_t heads = found[0] / width;
  if (of_key && keys.kv_heads.empty()) {
    return translated(
        "config.json has no \"num_key_value_heads\", and \"{1}\" ({2}) counts in its "
        "place; with heads {3} wide the weights have {4} heads of keys",
        keys.heads, model_.kv_heads, width, heads);
  }
  if (wanted[0] % width != 0) return "";
  return translated("\"{1}\" of config.json is {2}, and with heads {3} wide the weights have {4}",
                    of_key ? keys.kv_heads : keys.heads, wanted[0] / width, width, heads);
}

void TensorChecks::tensor(WeightPurpose purpose, std::size_t n, const Shape& wanted) {
  const auto name = names_.found(purpose, n, "weight");
  if (!name) missing(purpose, n);
  expect_shape(weights_, *name, wanted);
  take(*name);
}

void TensorChecks::vector(WeightPurpose purpose, LayerNumber layer, std::size_t width) {
  if (!stack_.names.contains(purpose) || model_.norms_bare) return;
  const auto name = names_.found(purpose, layer, "weight");
  const bool may_lack = std::ranges::count(model_.optional, purpose) > 0;
  if (!name) {
    // Some models have it nowhere, some not in their first layer.
    if (!may_lack || there_.contains(purpose)) missing(purpose, layer);
    return;
  }
  if (may_lack && layer && *layer > 1 && !there_.contains(purpose)) missing(purpose, 1);
  there_.insert(purpose);
  if (weights_.shape(*name) != Shape{width})
    refuse_shape(weights_, *name, weights_.shape(*name), {width});
  use(purpose, layer, *name, width);
}

void TensorChecks::norms_by_head(WeightPurpose purpose, std::size_t n, std::size_t heads) {
  if (!stack_.names.contains(purpose)) return;
  if (names_.has(purpose, n)) {
    matrix(purpose, n, heads, model_.head_width);
    return;
  }
  for (std::size_t head = 0; head < heads; ++head) {
    const auto name = names_.found(purpose, n, "weight", head);
    if (!name) missing(purpose, n);
    expect_shape(weights_, *name, {model_.head_width});
    take(*name);
  }
}

void TensorChecks::take(const std::string& name) {
  used_.insert(name);
  check_numbers(weights_, name);
}

void TensorChecks::use(WeightPurpose purpose, LayerNumber layer, const std::string& name,
                       std::size_t rows) {
  take(name);
  const auto bias = names_.found(purpose, layer, "bias");
  check_bias(purpose, layer, bias);
  if (bias) {
    take(*bias);
    if (weights_.shape(*bias) != Shape{rows})
      refuse_shape(weights_, *bias, weights_.shape(*bias), {rows});
  }
  if (!layer) return;
  const auto [first, is_first] = has_bias_.try_emplace(purpose, bias.has_value());
  if (is_first || first->second == bias.has_value()) return;
  throw input_error(
      translated("the weights have biases for {1} in some layers and not in layer {2}",
                 in_quotes(names_.name(purpose, 0)), bias ? 0 : *layer),
      weights_.place(), translated("the file is incomplete: download it again"));
}

// Help for a bias that no layer has, so that it is the configuration that errs; empty for others.
std::string TensorChecks::no_bias_at_all(WeightPurpose purpose, LayerNumber layer,
                                         std::string_view part) const {
  const std::string name = names_.name(purpose, layer);
  const std::string last = name.substr(name.rfind('.') + 1) + std::string(part);
  const bool any = std::ranges::any_of(
      weights_.names(), [&](const std::string& own) { return own.ends_with("." + last); });
  if (part != ".bias" || any || !model_.biases || !weights_.has(name + ".weight")) return "";
  const auto rule = model_.biases->find(purpose);
  if (rule == model_.biases->end()) return "";
  return rule->second.key.empty()
             ? translated(
                   "models of the type {1} have it, and no layer of the file: \"model_type\" "
                   "of config.json may be that of another model",
                   in_quotes(model_.family))
             : translated("no layer of the file has it: correct \"{1}\" of config.json",
                          rule->second.key);
}

void TensorChecks::missing(WeightPurpose purpose, LayerNumber layer, const char* part) const {
  const std::string wanted = names_.name(purpose, layer) + part;
  if (const std::string help = no_bias_at_all(purpose, layer, part); !help.empty()) {
    throw input_error(translated("the weights have no tensor {1}", in_quotes(wanted)),
                      weights_.place(), help);
  }
  const std::vector<std::string_view> known(weights_.names().begin(), weights_.names().end());
  throw input_error(translated("the weights have no tensor {1}", in_quotes(wanted)),
                    weights_.place(), suggestion(wanted, known));
}

void TensorChecks::check_bias(WeightPurpose purpose, LayerNumber layer,
                              const std::optional<std::string>& name) const {
  if (!model_.biases) return;
  const auto rule = model_.biases->find(purpose);
  const bool none = rule == model_.biases->end();
  if (!name && !none && rule->second.there.value_or(false)) missing(purpose, layer, ".bias");
  if (!name || (!none && rule->second.there.value_or(true))) return;
  throw input_error(
      none ? translated("the weights have the bias {1}, which models of the type {2} do not have",
                        in_quotes(*name), in_quotes(model_.family))
           : translated("the weights have the bias {1}, which \"{2}\": false leaves out",
                        in_quotes(*name), rule->second.key),
      weights_.place(),
      none ? translated("what it does would be left out: give a row that has it in \"biases\"")
           : translated("what it does would be left out: correct the configuration"));
}

}  // namespace attn
