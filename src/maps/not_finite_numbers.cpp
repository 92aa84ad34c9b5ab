#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string_view>
#include <utility>
#include <variant>

#include "attention/attention_steps.hpp"
#include "attention/head_rows.hpp"
#include "attention/positions.hpp"
#include "attention/projected_attention.hpp"
#include "layers/torch_layers.hpp"
#include "maps/computed_maps.hpp"
#include "models/model_folder.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

std::string_view quantity_of(std::string_view tensor) {
  return tensor.substr(tensor.rfind('.') + 1);  // npos + 1 = 0
}

double first_number_at(const Tensor& tensor, std::size_t element) {
  return part_of(tensor, element, {1}).converted(DType::float64).values<double>()[0];
}

bool is_faulty(const Tensor& tensor) {
  return not_finite(tensor).count > 0;
}

std::string input_text(std::string_view name) {
  return translated("the input {1}", in_quotes(name));
}

// The title of a step, as explanations have it.
std::string title_of(RowStep step, const Score& score) {
  switch (step) {
    case RowStep::given:
      break;
    case RowStep::preparation:
      return translated("Norms and rotation of queries and keys");
    case RowStep::product:
      return std::holds_alternative<Additive>(score)
                 ? translated("The scores")
                 : translated("Dot products of the query and the keys");
    case RowStep::scale:
      return translated("Scale");
    case RowStep::own_score:
      return translated("The score by expression");
    case RowStep::softcap:
      return translated("Softcap");
    case RowStep::bias:
      return translated("Bias and mask");
    case RowStep::softmax:
      return translated("Softmax");
    case RowStep::own_weight:
      return translated("The weight by expression");
    case RowStep::output:
      return translated("The weighted sum of the values");
    case RowStep::gate:
      return translated("The gate");
  }
  return {};
}

// The title of what is written at a place: by an attention, or what leaves a layer.
std::string title_of(const ModelPlace& place) {
  using Stack = ModelPlace::Stack;
  const std::string layer =
      place.stack == Stack::decoder   ? translated("Decoder layer {1}", place.layer)
      : place.stack == Stack::encoder ? translated("Encoder layer {1}", place.layer)
                                      : translated("Layer {1}", place.layer);
  if (place.part == ModelPlace::Part::self) return translated("{1}: self-attention", layer);
  return place.crosses() ? translated("{1}: cross-attention", layer) : layer;
}

// The step that a tensor of an attention is the result of, where its own type alone does not hold a
// number.
std::string step_of_tensor(std::string_view tensor, const AttentionOptions& options,
                           const Score& score) {
  const auto title = [&](RowStep step) { return in_quotes(title_of(step, score)); };
  const std::string_view quantity = quantity_of(tensor);
  if (tensor.starts_with("gradient.")) return in_quotes(translated("The gradient"));
  if (quantity == "scores") {
    return title(options.score_expression ? RowStep::own_score : RowStep::scale);
  }
  if (quantity == "capped") return title(RowStep::softcap);
  if (quantity == "masked") return title(RowStep::bias);
  if (quantity == "dropped") return in_quotes(translated("Dropout"));
  if (quantity == "output") return title(RowStep::output);
  return title(options.weight_expression ? RowStep::own_weight : RowStep::softmax);
}

// The rows that a number of a tensor [..,Lq,n] of an attention belongs to: one, or several of a
// cell of pooled weights, or those of all heads where these are mixed.
std::vector<RowPlace> rows_of(std::string_view tensor, Shape index, const Shape& shape,
                              const Geometry& geometry, bool mixed) {
  const std::string_view quantity = quantity_of(tensor);
  if (tensor.starts_with("gradient.")) return {};
  if (quantity == "lse") index.push_back(0);
  const std::size_t rank = index.size();
  const bool heads_joined = quantity == "output" && (geometry.joined || mixed);
  RowPlace place{0, 0, index[rank - 2]};
  if (rank == 4 || (rank == 3 && (geometry.batch_axis || heads_joined))) place.batch = index[0];
  if (rank == 4) place.head = index[1];
  if (rank == 3 && !geometry.batch_axis && !heads_joined) place.head = index[0];
  std::vector<RowPlace> rows;
  if (heads_joined) {
    const std::size_t own = index[rank - 1] / std::max<std::size_t>(1, geometry.value_width);
    for (std::size_t head = 0; head < geometry.heads; ++head) {
      if (mixed || head == own) rows.push_back({place.batch, head, place.query});
    }
    return rows;
  }
  const std::size_t bins = shape[shape.size() - (quantity == "lse" ? 1 : 2)];
  for (std::size_t query = 0; query < geometry.queries; ++query) {
    // Query i of L belongs to bin ⌊i·N/L⌋.
    if (query * bins / geometry.queries == index[rank - 2])
      rows.push_back({place.batch, place.head, query});
  }
  return rows;
}

}  // namespace

void NotFiniteNumbers::note(const std::string& name, const Tensor& tensor, const NotFinite& found) {
  if (found.count == 0) return;
  found_.push_back({name, found.count, tensor.size(), index_of(found.first, tensor.shape()),
                    first_number_at(tensor, found.first), tensor.shape()});
}

void NotFiniteNumbers::look_at(const std::string& name, const Tensor& tensor) {
  const std::string_view quantity = quantity_of(name);
  const bool hiding = quantity == "masked" || quantity == "lse";
  note(name, tensor, not_finite(tensor, hiding, plan_.options().threads));
}

void NotFiniteNumbers::look_at_weights(const std::string& name, const Tensor& weights, bool self) {
  const Shape& shape = weights.shape();
  const std::size_t queries = shape[shape.size() - 2], keys = shape.back();
  const auto any = with_floats(weights, [&]<class T>(std::span<const T> numbers) {
    for (std::size_t row = 0; row < numbers.size() / keys; ++row) {
      const std::size_t seen = self ? row % queries : 0;
      if (!std::isfinite(numbers[row * keys + seen])) return true;
    }
    return false;
  });
  if (any) look_at(name, weights);
}

void NotFiniteNumbers::look_at(const AttentionName& name, const AttentionResult& result,
                               bool implied) {
  const auto* const request = std::get_if<AttentionRequest>(&plan_.computation);
  const bool hides = plan_.attention_options().score_expression ||
                     (request != nullptr && std::holds_alternative<GivenScores>(request->score));
  // What a mask hides may hold anything.
  const auto look_at_scores = [&](const char* quantity, const Tensor& scores) {
    if (!scores || !is_faulty(scores)) return;
    const Tensor numbers = scores.converted(DType::float64);
    NotFinite found;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double score = numbers.values<double>()[i];
      if (std::isfinite(score)) continue;
      if (result.allowed && result.allowed.values<std::uint8_t>()[i] == 0) continue;
      if (hides && score == -std::numeric_limits<double>::infinity()) continue;
      found.add(i);
    }
    note(name.tensor(quantity), scores, found);
  };
  look_at_scores("scores", result.scores);
  look_at_scores("capped", result.capped);
  look_at(name.tensor("masked"), result.masked);
  if (!implied) look_at(name.tensor("weights"), result.weights);
  if (!implied) look_at(name.tensor("pooled_weights"), result.pooled);
  look_at(name.tensor("dropped"), result.dropped);
  look_at(name.tensor("lse"), result.lse);
}

void NotFiniteNumbers::look_at_logits(std::size_t sample, std::size_t position,
                                      const Tensor& logits) {
  const NotFinite found = not_finite(logits);
  if (found.count == 0) return;
  found_.push_back({"logits",
                    found.count,
                    logits.size(),
                    {sample, position, found.first},
                    first_number_at(logits, found.first),
                    logits.shape()});
}

std::vector<std::string> NotFiniteNumbers::warnings() const {
  std::vector<std::string> warnings;
  std::size_t count = 0, all = 0;
  for (const GeneratedText& text :
       plan_.model ? plan_.model->generated : std::vector<GeneratedText>()) {
    all += text.probabilities.size();
    count += static_cast<std::size_t>(std::ranges::count_if(
        text.probabilities, [](double probability) { return !std::isfinite(probability); }));
  }
  for (std::size_t b = 0; count > 0 && warnings.empty(); ++b) {
    const std::vector<double>& own = plan_.model->generated[b].probabilities;
    const auto first =
        std::ranges::find_if(own, [](double probability) { return !std::isfinite(probability); });
    if (first == own.end()) continue;
    warnings.push_back(translated_count(
        count,
        "{1} of {2} probabilities of the tokens that follow the texts is {3}, that of token {4} "
        "after sample {5}: the tokens say nothing from there on",
        "{1} of {2} probabilities of the tokens that follow the texts are NaN or infinite, the "
        "first, {3}, that of token {4} after sample {5}: the tokens say nothing from there on",
        all, number_text(*first), first - own.begin(), b));
  }
  if (found_.empty()) return warnings;
  const Found& first = found_.front();
  std::string text = translated_count(
      first.count,
      "{1} of {2} numbers of {3} is NaN or infinite: {4} at {5}; the first step with such a number "
      "is {6}",
      "{1} of {2} numbers of {3} are NaN or infinite, the first, {4}, at {5}; the first step with "
      "such a number is {6}",
      grouped(first.of), in_quotes(first.tensor), number_text(first.number),
      attn::text(first.index), step_of(first));
  constexpr std::size_t most_named = 4;
  std::string others;
  for (std::size_t i = 1; i < std::min(found_.size(), most_named + 1); ++i) {
    others += (i == 1 ? "" : translated(", ")) + in_quotes(found_[i].tensor);
  }
  if (found_.size() > most_named + 1) others += " …";
  if (!others.empty()) text += translated("; others are in {1}", others);
  warnings.push_back(std::move(text));
  return warnings;
}

std::string NotFiniteNumbers::step_of(const Found& found) const {
  return std::visit([&](const auto& request) { return step_of(found, request); },
                    plan_.computation);
}

std::string NotFiniteNumbers::step_of(const Found& found, const AttentionRequest& request) const {
  for (const RowPlace& place :
       rows_of(found.tensor, found.index, found.shape, plan_.attentions[0].geometry, false)) {
    const auto step = first_not_finite(request, place);
    if (!step) continue;
    return step->step == RowStep::given ? input_text(step->tensor)
                                        : in_quotes(title_of(step->step, request.score));
  }
  return step_of_tensor(found.tensor, request, request.score);
}

std::string NotFiniteNumbers::step_of(const Found& found,
                                      const ProjectedAttentionRequest& request) const {
  const AttentionWeights weights = request.projections;
  const AttentionRequest inner = project(request, request.states, weights,
                                         is_half(request.dtype) ? request.dtype : DType::float64);
  const bool mixed = static_cast<bool>(weights.output);
  const auto is_input = [&](std::string_view name) {
    return std::ranges::any_of(plan_.shapes, [&](const auto& one) { return one.first == name; });
  };
  // Whether the states that a row is projected from are not finite, and what the document calls
  // them.
  const auto input_of = [&](const NotFiniteStep& step,
                            const RowPlace& place) -> std::optional<std::string> {
    const Sequences& states = request.states;
    const std::size_t past = plan_.attentions[0].geometry.past;
    if (step.tensor == "query") {
      const HeadRows<double> rows(states.query, 1);
      if (all_finite(rows(place.batch, 0, place.query))) return std::nullopt;
      return input_text(is_input("x") ? "x" : "query");
    }
    if (step.tensor != "key" && step.tensor != "value") return input_text(step.tensor);
    if (step.key < past) return input_text("past_" + std::string(step.tensor));
    const HeadRows<double> rows(
        step.tensor == "key" ? states.key_or_query() : states.value_or_key(), 1);
    if (all_finite(rows(place.batch, 0, step.key - past))) return std::nullopt;
    return input_text(is_input("memory") ? "memory" : is_input("x") ? "x" : step.tensor);
  };
  for (const RowPlace& place :
       rows_of(found.tensor, found.index, found.shape, plan_.attentions[0].geometry, mixed)) {
    const auto step = first_not_finite(inner, place);
    if (!step) continue;
    if (step->step != RowStep::given) return in_quotes(title_of(step->step, inner.score));
    return input_of(*step, place)
        .value_or(in_quotes(translated("Projections of queries, keys and values")));
  }
  if (mixed && quantity_of(found.tensor) == "output")
    return in_quotes(translated("The output projection"));
  return step_of_tensor(found.tensor, request, inner.score);
}

namespace {

// The first part of a stack's layers that is faulty, from the states x on; empty if none is.
std::string faulty_layer(const TransformerRequest& request, Tensor x, const Tensor& memory) {
  for (std::size_t layer = 0; layer < request.layers.size(); ++layer) {
    const LayerStep done = step(layer_of(request, layer), x, memory, {.inside = true});
    const bool several = request.layers.size() > 1 || !request.stack.empty();
    const std::string name = request.stack.empty()        ? translated("Layer {1}", layer)
                             : request.stack == "encoder" ? translated("Encoder layer {1}", layer)
                                                          : translated("Decoder layer {1}", layer);
    std::vector<std::string> parts{several ? translated("{1}: self-attention", name)
                                           : translated("Self-attention")};
    if (request.decoder) {
      parts.push_back(several ? translated("{1}: cross-attention", name)
                              : translated("Cross-attention"));
    }
    parts.push_back(several ? translated("{1}: feed-forward", name) : translated("Feed-forward"));
    for (std::size_t part = 0; part < parts.size(); ++part) {
      const SubLayer& states = done.sublayers[part];
      if (is_faulty(states.input) || is_faulty(states.change) || is_faulty(states.after))
        return parts[part];
    }
    x = done.states;
  }
  return "";
}

}  // namespace

std::string NotFiniteNumbers::step_of(const Found& found, const TransformerRequest& request) const {
  const auto quiet = [](TransformerRequest own) {
    own.weights = own.stages = false;
    return own;
  };
  const Tensor x = states_of(request, DType::float64);
  const Tensor given = request.memory.converted(DType::float64);
  if (is_faulty(x)) return input_text("x");
  if (given && is_faulty(given)) return input_text("memory");
  std::string first;
  if (request.encoder) first = faulty_layer(quiet(encoder_of(request)), given, {});
  if (first.empty())
    first = faulty_layer(quiet(request), x, memory_of(quiet(request), DType::float64));
  return first.empty() ? step_of_tensor(found.tensor, request, ScaledDotProduct())
                       : in_quotes(first);
}

std::string NotFiniteNumbers::step_of(const Found& found, const ModelRequest& request) const {
  ModelOptions options = request.options;
  options.wanted = {.weights = false};
  const Architecture& model = request.folder->architecture;
  std::string first;
  PassObserver looking;
  for (const ModelStack& stack : model.stacks) {
    for (std::size_t n = 0; n < stack.layers.size(); ++n) {
      const ModelPlace::Stack name = stack_of(model, stack);
      looking.places.push_back({name, n});
      if (stack.crosses) looking.places.push_back({name, n, ModelPlace::Part::cross});
      looking.places.push_back({name, n, ModelPlace::Part::residual});
    }
  }
  looking.written = [&](const SamplePlace& at, const Tensor& numbers) {
    if (first.empty() && is_faulty(numbers)) first = title_of(at.place);
  };
  looking.tensor = [&](const PassTensor& what, const Tensor& numbers) {
    if (!first.empty() || !is_faulty(numbers)) return;
    first = what.quantity == PassTensor::Quantity::embedded ? translated("The token's embedding")
                                                            : translated("What leaves the model");
  };
  run_model({model, request.folder->weights, request.texts, options}, {looking});
  if (first.empty() && quantity_of(found.tensor) == "logits") {
    first = translated("The likeliest tokens");
  }
  return in_quotes(first.empty() ? found.tensor : first);
}

}  // namespace attn
