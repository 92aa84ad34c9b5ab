#include "maps/computed_maps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <variant>

#include "attn/gradient.hpp"

#include "attention/pooled_map.hpp"
#include "attention/visibility.hpp"
#include "layers/embedding_and_head.hpp"
#include "models/classification.hpp"
#include "models/model_folder.hpp"
#include "support/overloaded.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

constexpr std::size_t most_predicted = 10;

// Labels of pooled bins: that of the bin's first position, else its number, as pictures have them.
std::vector<std::string> bin_labels(const std::vector<std::string>& labels,
                                    const std::string& prefix, std::size_t first_number,
                                    std::size_t positions, std::size_t bins) {
  if (positions == bins) return labels;
  std::vector<std::string> result;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t first = (bin * positions + bins - 1) / bins;
    result.push_back(labels.empty() ? prefix + std::to_string(first + first_number)
                                    : labels[first]);
  }
  return result;
}

void name_bins(std::vector<std::vector<std::string>>& lists, const std::string& prefix,
               std::size_t first_number, std::size_t positions, std::size_t bins) {
  if (lists.empty()) lists.emplace_back();
  for (auto& labels : lists) labels = bin_labels(labels, prefix, first_number, positions, bins);
  if (lists[0].empty()) lists.clear();
}

// The parts of an axis in bins; those of less than half a bin have none.
void put_in_bins(std::vector<std::vector<AxisSpan>>& lists, std::size_t positions,
                 std::size_t bins) {
  const auto bin = [&](std::size_t position) {
    return (position * bins + positions / 2) / positions;
  };
  for (std::vector<AxisSpan>& spans : lists) {
    for (AxisSpan& span : spans) span = {span.name, bin(span.first), bin(span.end)};
    std::erase_if(spans, [](const AxisSpan& span) { return span.first == span.end; });
  }
}

// "128", or "2 to 3" where the bins are not of one size.
std::string bin_size(std::size_t positions, std::size_t bins) {
  const std::size_t least = positions / bins;
  return positions % bins == 0 ? std::to_string(least) : translated("{1} to {2}", least, least + 1);
}

void name_bins(AttentionMap& map, const Pooling& pooling, const Shape& from) {
  const Shape& shape = map.numbers.shape();
  const std::size_t queries = shape[shape.size() - 2], keys = shape.back();
  const std::size_t first = map.first_number();
  name_bins(map.labels.query, first == 0 ? "" : "Q_", first, from[0], queries);
  name_bins(map.labels.key, first == 0 ? "" : "K_", first, from[1], keys);
  put_in_bins(map.labels.query_spans, from[0], queries);
  put_in_bins(map.labels.key_spans, from[1], keys);
  if (from[0] == queries && from[1] == keys) return;
  const bool largest = pooling.reduction == Pooling::Reduction::max;
  map.cells = translated(largest ? to_translate("Largest of {1} × {2} Weights per Cell")
                                 : to_translate("Mean of {1} × {2} Weights per Cell"),
                         bin_size(from[0], queries), bin_size(from[1], keys));
}

// Map of an attention, without its numbers.
AttentionMap map_of(const Plan& plan, const PlannedAttention& attention) {
  AttentionMap map;
  map.name = attention.name;
  map.tensor = map.name.tensor(plan.pool() ? "pooled_weights" : "weights");
  map.allowed_known = true;
  map.heads_only = attention.heads_only();
  map.heads_per_group = attention.geometry.heads / attention.geometry.kv_heads;
  map.labels = attention.labels;
  map.title = plan.title;
  map.planned = &attention;
  return map;
}

/// Results on their way to the consumer, and the facts of the computation.
class Results {
 public:
  Results(const Plan& plan, const ComputedConsumer& consumer)
      : not_finite(plan), plan_(plan), consumer_(consumer), picture_(picture_of(plan)) {
    for (const NamedTensor& token : plan.tokens) put(token.name, token.tensor);
  }

  void put(const std::string& name, Tensor tensor) {
    if (tensor && consumer_.tensor) consumer_.tensor({name, std::move(tensor)});
  }
  void put(AttentionMap map, std::size_t attention) {
    add_picture(map, picture_);
    if (consumer_.map) consumer_.map(std::move(map), attention);
  }
  const Plan& plan() const { return plan_; }

  ComputedFacts facts;
  NotFiniteNumbers not_finite;

 private:
  const Plan& plan_;
  const ComputedConsumer& consumer_;
  std::optional<SeenPicture> picture_;
};

// Whether the weights are finite because that is what was computed of them.
bool implies_weights(const Plan& plan, const Tensor& output) {
  const AttentionOptions& options = plan.attention_options();
  return output && !options.dropout && !options.weight_expression &&
         not_finite(output, false, plan.options().threads).count == 0;
}

void put_attention(Results& results, AttentionResult result, std::size_t at, bool finite) {
  const PlannedAttention& attention = results.plan().attentions[at];
  results.not_finite.look_at(attention.name, result, finite);
  AttentionMap map = map_of(results.plan(), attention);
  results.facts.empty_rows += result.empty_rows;
  // Pictures and reports show numbers of float32 and float64.
  const auto wide = [](const Tensor& tensor) { return tensor.converted(widened(tensor.dtype())); };
  map.numbers = wide(result.weights);
  map.allowed = result.allowed;
  map.hidden_in_effect = hidden_in_effect(attention.mask, attention.geometry, map.numbers,
                                          results.plan().options().dtype);
  map.compared = std::move(result.compared);
  map.scores = wide(result.scores);
  map.capped = wide(result.capped);
  map.masked = wide(result.masked);
  if (result.pooled) {
    map.numbers = result.pooled;
    map.allowed = result.pooled_allowed;
    map.hidden_in_effect = {};
    name_bins(map, *results.plan().pool(), result.pooled_from);
  }
  if (map.numbers) results.facts.shapes.emplace_back(map.tensor, map.numbers.shape());
  const auto put = [&](const char* quantity, Tensor& tensor) {
    results.put(attention.name.tensor(quantity), std::move(tensor));
  };
  put("weights", result.weights);
  put("pooled_weights", result.pooled);
  put("pooled_allowed", result.pooled_allowed);
  put("dropped", result.dropped);
  put("allowed", result.allowed);
  put("scores", result.scores);
  put("capped", result.capped);
  put("masked", result.masked);
  put("lse", result.lse);
  results.put(std::move(map), at);
}

void put_output(Results& results, const Tensor& output) {
  if (!output) return;
  results.not_finite.look_at("output", output);
  results.facts.shapes.emplace_back("output", output.shape());
  results.put("output", output);
}

void put_all(Results& results, AttentionResult result) {
  const Tensor output = result.output;
  put_attention(results, std::move(result), 0, implies_weights(results.plan(), output));
  put_output(results, output);
}

void put_all(Results& results, TransformerResult result, bool decoder) {
  const bool finite = implies_weights(results.plan(), result.output);
  std::size_t at = result.layers.size() * (decoder ? 2 : 1);
  for (TransformerResult::Layer& layer : result.encoder_layers)
    put_attention(results, std::move(layer.self), at++, finite);
  if (result.memory) {
    results.not_finite.look_at("memory", result.memory);
    results.put("memory", result.memory);
  }
  at = 0;
  for (TransformerResult::Layer& layer : result.layers) {
    put_attention(results, std::move(layer.self), at++, finite);
    if (decoder) put_attention(results, std::move(layer.cross), at++, finite);
  }
  put_output(results, result.output);
}

// Gradients under the names of the document: "gradient.x".
Gradients named_gradients(const Plan& plan) {
  const Gradients computed = std::visit(
      Overloaded{
          [&](const AttentionRequest& request) { return gradients(request, plan.output_gradient); },
          [&](const ProjectedAttentionRequest& request) {
            return gradients(request, plan.output_gradient);
          },
          [](const TransformerRequest&) { return Gradients(); },
          [](const ModelRequest&) { return Gradients(); }},
      plan.computation);
  Gradients named;
  for (const auto& [ours, by_rows] : computed) {
    const Tensor gradient = plan.pages ? plan.pages->summed(ours, by_rows) : by_rows;
    std::string name = ours;
    for (const auto& [from, to] : plan.gradient_names) {
      if (from == ours) name = to;
    }
    name = "gradient." + name;
    const auto known = std::find_if(named.begin(), named.end(),
                                    [&](const auto& one) { return one.first == name; });
    const bool parameter = ours.find('.') != std::string::npos;
    if (known == named.end()) {
      named.emplace_back(name, gradient);
    } else {
      const Tensor own = gradient.converted(known->second.dtype());
      known->second =
          parameter ? concatenated(std::array{known->second, own}) : sum(known->second, own);
    }
  }
  return named;
}

void put_gradients(Results& results) {
  if (!results.plan().output_gradient) return;
  for (auto& [name, gradient] : named_gradients(results.plan())) {
    results.not_finite.look_at(name, gradient);
    results.put(name, std::move(gradient));
  }
}

// Seen keys [B,1,Lq,Lk], for all heads; absent if every key is seen. Positions behind the end of a
// sample see nothing.
Tensor allowed_by(const PlannedAttention& attention,
                  const std::vector<std::vector<std::int64_t>>& queries) {
  if (!attention.mask.hides()) return {};
  const Geometry& sizes = attention.geometry;
  const Visibility visibility(attention.mask, sizes, {});
  std::vector<std::uint8_t> seen(sizes.batch * sizes.queries * sizes.keys);
  for (std::size_t b = 0; b < sizes.batch; ++b) {
    for (std::size_t i = 0; i < std::min(queries[b].size(), sizes.queries); ++i) {
      visibility.see(b, 0, i,
                     std::span(seen).subspan((b * sizes.queries + i) * sizes.keys, sizes.keys));
    }
  }
  return {{sizes.batch, 1, sizes.queries, sizes.keys}, std::move(seen)};
}

// Weights [B,H,Lq,Lk] reduced to bins.
Tensor pooled(const Tensor& weights, const Pooling& pooling, const Geometry& sizes) {
  PooledMap bins(pooling, sizes, sizes.queries);
  with_floats(weights, [&](const auto numbers) {
    for (std::size_t map = 0; map < sizes.batch * sizes.heads; ++map) {
      for (std::size_t block = 0; block < bins.blocks().size(); ++block) {
        const std::size_t first = map * sizes.queries + bins.blocks()[block].first;
        bins.add(map, block, numbers.data() + first * sizes.keys);
      }
    }
  });
  return bins.weights(weights.dtype());
}

// Seen keys [B,1,Lq,Lk] as bins of which any pair is seen.
Tensor pooled_seen(const Tensor& allowed, const Pooling& pooling, Geometry sizes) {
  if (!allowed) return {};
  sizes.heads = sizes.kv_heads = 1;
  const auto seen = allowed.values<std::uint8_t>();
  PooledMap bins(pooling, sizes, sizes.queries);
  for (std::size_t b = 0; b < sizes.batch; ++b) {
    for (std::size_t block = 0; block < bins.blocks().size(); ++block) {
      const auto& [first, count, first_bin, in_block, row] = bins.blocks()[block];
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t at = (b * sizes.queries + first + i) * sizes.keys;
        bins.see(b, block, i, seen.subspan(at, sizes.keys));
      }
    }
  }
  return bins.allowed();
}

// Whether members of two masks are equal.
template <class T>
bool same(const T& a, const T& b) {
  return a == b;
}
bool same(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() != b.dtype()) return false;
  const std::size_t size = a.size() * size_of(a.dtype());
  return size == 0 || std::memcmp(a.bytes(), b.bytes(), size) == 0;
}
bool same(const Expression& a, const Expression& b) {
  return a.text == b.text &&
         std::ranges::equal(a.tables, b.tables, [](const auto& one, const auto& other) {
           return one.first == other.first && same(one.second, other.second);
         });
}
bool same(const std::optional<Window>& a, const std::optional<Window>& b) {
  return a && b ? a->left == b->left && a->right == b->right : a.has_value() == b.has_value();
}
bool same(const std::optional<Alibi>& a, const std::optional<Alibi>& b) {
  return a && b ? a->slopes == b->slopes && a->samples == b->samples && a->symmetric == b->symmetric
                : a.has_value() == b.has_value();
}

// Whether two masks have the same parts.
bool alike(const Mask& a, const Mask& b) {
  return std::apply(
      [&](const auto&... of_a) {
        return std::apply([&](const auto&... of_b) { return (same(of_a, of_b) && ...); },
                          members_of(b));
      },
      members_of(a));
}

/// Maps of a model's attentions. Layers that see the same keys share the tensor of these.
class ModelMaps {
 public:
  ModelMaps(const Plan& plan, const ModelRequest& request)
      : plan_(plan), request_(request), given_(plan.attentions.size(), false) {}

  // Number of the attention whose weights these are.
  std::optional<std::size_t> find(const PassTensor& tensor) const {
    if (tensor.quantity != PassTensor::Quantity::weights) return std::nullopt;
    const auto found =
        std::ranges::find(plan_.attentions, tensor.place.attention(), &PlannedAttention::name);
    if (found == plan_.attentions.end()) return std::nullopt;
    return static_cast<std::size_t>(found - plan_.attentions.begin());
  }

  AttentionMap give(std::size_t at, Tensor weights) {
    given_[at] = true;
    AttentionMap map = map_of(plan_, plan_.attentions[at]);
    map.numbers = std::move(weights);
    map.allowed = allowed(plan_.attentions[at]);
    const Geometry& sizes = plan_.attentions[at].geometry;
    if (request_.pool && map.numbers) {
      map.numbers = pooled(map.numbers, *request_.pool, sizes);
      name_bins(map, *request_.pool, {sizes.queries, sizes.keys});
    }
    return map;
  }
  bool is_given(std::size_t at) const { return given_[at]; }

 private:
  Tensor allowed(const PlannedAttention& attention) {
    for (const auto& [other, seen] : seen_) {
      if (other->geometry.weights_shape() == attention.geometry.weights_shape() &&
          other->name.in_decoder() == attention.name.in_decoder() &&
          other->name.is_cross() == attention.name.is_cross() &&
          alike(other->mask, attention.mask)) {
        return seen;
      }
    }
    const auto& ids = attention.name.in_decoder() ? request_.texts.decoder_ids : request_.texts.ids;
    Tensor seen = allowed_by(attention, ids);
    if (request_.pool) seen = pooled_seen(seen, *request_.pool, attention.geometry);
    return seen_.emplace_back(&attention, std::move(seen)).second;
  }

  const Plan& plan_;
  const ModelRequest& request_;
  std::vector<bool> given_;
  std::vector<std::pair<const PlannedAttention*, Tensor>> seen_;
};

// Whether reports name the shape of a result: of weights, and of what leaves the model.
bool is_reported(const PassTensor& result) {
  using enum PassTensor::Quantity;
  using Stack = ModelPlace::Stack;
  const Stack stack = result.place.stack;
  return result.quantity == weights || result.quantity == pooling || result.quantity == logits ||
         result.quantity == classification || result.quantity == sentence_embedding ||
         (result.quantity == output && (stack == Stack::only || stack == Stack::decoder));
}

// Looks at a tensor of a model. Scores that are not hidden are in what is masked.
void look_at(NotFiniteNumbers& not_finite, const PassTensor& what, const Tensor& tensor) {
  using enum PassTensor::Quantity;
  if (what.quantity == scores || what.quantity == capped) return;
  if (what.quantity != weights && what.quantity != pooling) {
    not_finite.look_at(what.name(), tensor);
  } else {
    not_finite.look_at_weights(what.name(), tensor,
                               what.quantity == weights && !what.place.crosses());
  }
}

std::vector<std::vector<double>> rows_in(const Tensor& matrix) {
  const Tensor numbers = matrix.converted(DType::float64);
  const std::size_t width = matrix.shape()[1];
  std::vector<std::vector<double>> rows;
  for (std::size_t i = 0; i < matrix.shape()[0]; ++i) {
    const auto row = numbers.values<double>().subspan(i * width, width);
    rows.emplace_back(row.begin(), row.end());
  }
  return rows;
}

std::vector<std::vector<Classification>> said_by_classifier(const ModelRequest& request,
                                                            const Tensor& logits) {
  const Architecture& model = request.folder->architecture;
  const Classifier classifier = Classifier::read(model, request.folder->weights);
  return classified(logits, *model.classifier, classifier.labels(),
                    request.texts.read_by(model.stacks.back()));
}

void put_model(Results& results, const ModelRequest& request, const Progress& progress,
               std::vector<PassObserver> observers) {
  const Plan& plan = results.plan();
  const WantedResults& wanted = request.options.wanted;
  if (!wanted.predicted.empty()) results.facts.predictions.resize(wanted.predicted.size());
  ModelMaps maps(plan, request);
  AnswerShares shares(request);
  PassObserver& own = observers.emplace_back();
  own.progress = progress;
  own.tensor = [&](const PassTensor& what, Tensor tensor) {
    look_at(results.not_finite, what, tensor);
    const std::string name = what.name();
    const auto at = maps.find(what);
    const bool in_bins = at && request.pool;
    if (is_reported(what) && !in_bins) results.facts.shapes.emplace_back(name, tensor.shape());
    if (at && shares.reads(plan.attentions[*at].name)) {
      shares.add(plan.attentions[*at].name, tensor);
    }
    if (what.quantity == PassTensor::Quantity::sentence_similarity) {
      results.facts.similarities = rows_in(tensor);
    }
    if (what.quantity == PassTensor::Quantity::token_similarity) {
      results.facts.token_similarity = tensor.converted(DType::float64);
    }
    if (what.quantity == PassTensor::Quantity::classification) {
      results.facts.classifications = said_by_classifier(request, tensor);
    }
    if (!in_bins) results.put(name, tensor);
    if (!at) return;
    AttentionMap map = maps.give(*at, std::move(tensor));
    if (in_bins) {
      results.facts.shapes.emplace_back(map.tensor, map.numbers.shape());
      results.put(map.tensor, map.numbers);
    }
    results.put(std::move(map), *at);
  };
  own.predicted = [&](std::size_t sample, std::size_t position, const Tensor& logits) {
    results.not_finite.look_at_logits(sample, position, logits);
    results.facts.predictions[sample].push_back(prediction_of(position, logits, *request.folder));
  };
  run_model(request.pass(), observers);
  Tensor shared = shares.finish();
  if (shared) results.not_finite.look_at("shares", shared);
  results.put("shares", std::move(shared));
  if (wanted.by_rows) return;
  for (std::size_t at = 0; at < plan.attentions.size(); ++at) {
    if (!maps.is_given(at)) results.put(maps.give(at, {}), at);
  }
}

}  // namespace

ComputedFacts compute(const Plan& plan, const ComputedConsumer& consumer,
                      std::vector<PassObserver> observers) {
  Results results(plan, consumer);
  const Progress& progress = consumer.progress;
  std::visit(Overloaded{[&](const ModelRequest& request) {
                          put_model(results, request, progress, std::move(observers));
                        },
                        [&](const AttentionRequest& request) {
                          put_all(results, attend(request, progress));
                          put_gradients(results);
                        },
                        [&](const ProjectedAttentionRequest& request) {
                          put_all(results, attend_projected(request, progress));
                          put_gradients(results);
                        },
                        [&](const TransformerRequest& request) {
                          put_all(results, transform(request, progress), request.decoder);
                          put_gradients(results);
                        }},
             plan.computation);
  results.facts.warnings = results.not_finite.warnings();
  return std::move(results.facts);
}

Prediction prediction_of(std::size_t position, const Tensor& logits, const ModelFolder& folder) {
  const Tensor numbers = logits.converted(DType::float64);
  const auto scores = numbers.values<double>();
  const double whole = log_sum_exp(scores);
  Prediction result;
  result.position = position;
  for (const std::size_t best : largest_of(scores, most_predicted)) {
    const auto id = static_cast<std::int64_t>(best);
    result.likeliest.push_back(
        {id, written_token(folder, id).value_or(""), std::exp(scores[best] - whole)});
  }
  return result;
}

namespace {

// Tokens behind the prompt of a sample.
std::size_t answer_length(const ModelRequest& request, std::size_t sample) {
  const auto& samples = request.texts.read_by(request.folder->architecture.stacks.back());
  return samples[sample].size() - request.prompts[sample];
}

std::size_t longest_answer(const ModelRequest& request) {
  std::size_t longest = 0;
  for (std::size_t b = 0; b < request.prompts.size(); ++b) {
    longest = std::max(longest, answer_length(request, b));
  }
  return longest;
}

}  // namespace

bool AnswerShares::reads(const AttentionName& name) const {
  if (!request_.answer) return false;
  return request_.folder->architecture.encoder_decoder() ? name.is_cross() : name.is_self();
}

void AnswerShares::add(const AttentionName& name, const Tensor& weights) {
  const AnswerParts& parts = request_.parts;
  const bool sink = !parts.sinks.empty() && parts.sinks[*name.layer()];
  const Shape& shape = weights.shape();
  const std::size_t heads = shape[1], queries = shape[2], keys = shape[3],
                    count = parts.names.size(), longest = longest_answer(request_);
  std::vector<double>& layer = layers_.emplace_back(shape[0] * heads * longest * count);
  with_floats(weights, [&](const auto numbers) {
    for (std::size_t row = 0; row < shape[0] * heads; ++row) {
      const std::size_t b = row / heads;
      const std::vector<std::size_t>& columns = parts.columns[b];
      for (std::size_t i = 0; i < answer_length(request_, b); ++i) {
        const auto from = numbers.subspan((row * queries + request_.prompts[b] + i) * keys, keys);
        double* const to = layer.data() + (row * longest + i) * count;
        double sum = 0;
        for (std::size_t j = 0; j < keys; ++j) {
          const auto weight = static_cast<double>(from[j]);
          to[j < columns.size() ? columns[j] : parts.answer] += weight;
          sum += weight;
        }
        if (sink) to[count - 1] = 1 - sum;
      }
    }
  });
}

Shape AnswerShares::shape(std::size_t layers) const {
  Shape shape{layers, request_.folder->architecture.heads, longest_answer(request_),
              request_.parts.names.size()};
  if (request_.prompts.size() > 1) shape.insert(shape.begin(), request_.prompts.size());
  return shape;
}

Tensor AnswerShares::finish() const {
  if (layers_.empty()) return {};
  const std::size_t batch = request_.prompts.size(), size = layers_[0].size() / batch;
  std::vector<double> all;
  for (std::size_t b = 0; b < batch; ++b) {
    for (const std::vector<double>& layer : layers_) {
      const auto from = layer.begin() + static_cast<std::ptrdiff_t>(b * size);
      all.insert(all.end(), from, from + static_cast<std::ptrdiff_t>(size));
    }
  }
  return Tensor(shape(layers_.size()), std::move(all)).converted(request_.options.dtype);
}

}  // namespace attn
