#include "models/projection_reader.hpp"

#include <utility>
#include <variant>
#include <vector>

#include "attn/tensor.hpp"

#include "support/overloaded.hpp"

namespace attn {

AttentionWeights ProjectionReader::self(std::size_t n) const {
  using enum WeightPurpose;
  if (model_.latent) return latent_projections(n);
  AttentionWeights own = weights_.has(query_key_value, n)
                             ? fused_projections(n)
                             : projections(query, key, value, output, n);
  if (model_.heads_apart) {
    const Tensor bias = weights_.find(query_bias, n, "weight");
    own.query.bias = bias.reshaped({bias.size()});
  }
  if (model_.gated_queries) split_gate(own);
  if (weights_.has(attention_gate, n)) own.gate = weights_.linear(attention_gate, n);
  if (model_.value_norms_bare) own.value_norm = Norm{{}, {}, model_.norm};
  return own;
}

AttentionWeights ProjectionReader::cross(std::size_t n) const {
  using enum WeightPurpose;
  return projections(cross_query, cross_key, cross_value, cross_output, n);
}

AttentionWeights ProjectionReader::projections(WeightPurpose query, WeightPurpose key,
                                               WeightPurpose value, WeightPurpose output,
                                               std::size_t n) const {
  AttentionWeights own;
  const std::size_t of = stack_.layers[n].keys_of.value_or(n);
  own.query = weights_.linear(query, n);
  own.key = weights_.linear(key, of);
  if (model_.rows_in_pairs) {
    own.query = own.query.picked(rows_by_halves(model_.heads));
    own.key = own.key.picked(rows_by_halves(model_.kv_heads));
  }
  if (model_.turned_back) {
    own.query = own.query.picked(exchanged_halves(model_.heads));
    own.key = own.key.picked(exchanged_halves(model_.kv_heads));
  }
  own.value = stack_.layers[n].keys_are_values ? own.key : weights_.linear(value, of);
  own.output = weights_.linear(output, n);
  return own;
}

// The parts of a projection of query, key and value in one.
AttentionWeights ProjectionReader::fused_projections(std::size_t n) const {
  const StoredLinear fused = weights_.linear(WeightPurpose::query_key_value, n);
  const std::size_t d = model_.head_width, heads = model_.heads, groups = model_.kv_heads;
  AttentionWeights own;
  own.output = weights_.linear(WeightPurpose::output, n);
  if (model_.fused == FusedLayout::side_by_side) {
    own.query = fused.rows(0, heads * d);
    own.key = fused.rows(heads * d, groups * d);
    own.value = fused.rows((heads + groups) * d, groups * d);
    return own;
  }
  if (model_.fused == FusedLayout::four_parts) {
    std::vector<std::size_t> parts[3];  // queries, values, keys
    const std::size_t rows = heads * d / 4;
    for (std::size_t row = 0; row < 12 * rows; ++row) {
      parts[row / rows % 3].push_back(row);
    }
    own.query = fused.picked(parts[0]);
    own.value = fused.picked(parts[1]);
    own.key = fused.picked(parts[2]);
    return own;
  }
  // Head by head or group by group: the queries, a key, a value.
  const std::size_t queries = heads / groups;
  std::vector<std::size_t> query, key, value;
  for (std::size_t g = 0; g < groups; ++g) {
    std::size_t row = g * (queries + 2) * d;
    for (std::size_t i = 0; i < queries * d; ++i) query.push_back(row++);
    for (std::size_t i = 0; i < d; ++i) key.push_back(row++);
    for (std::size_t i = 0; i < d; ++i) value.push_back(row++);
  }
  own.query = fused.picked(query);
  own.key = fused.picked(key);
  own.value = fused.picked(value);
  // Biases that stand apart from the fused matrix.
  const Tensor of_queries = weights_.find(WeightPurpose::query_bias, n, "weight"),
               of_values = weights_.find(WeightPurpose::value_bias, n, "weight");
  if (of_queries) own.query.bias = of_queries;
  if (of_values) own.value.bias = of_values;
  return own;
}

// Files have each head's rotated numbers behind the others: here they come first. Rows of keys and
// values are in turn, head by head.
AttentionWeights ProjectionReader::latent_projections(std::size_t n) const {
  using enum WeightPurpose;
  const ModelLatent& sizes = *model_.latent;
  const auto norm = [&](WeightPurpose purpose) {
    return Norm{weights_.find(purpose, n, "weight"), {}, NormKind::rms};
  };
  std::vector<std::size_t> queries, keys, values;
  for (std::size_t head = 0; head < model_.heads; ++head) {
    const std::size_t first = head * model_.head_width, second = head * (sizes.own + sizes.value);
    for (std::size_t i = 0; i < sizes.shared; ++i) queries.push_back(first + sizes.own + i);
    for (std::size_t i = 0; i < sizes.own; ++i) queries.push_back(first + i);
    for (std::size_t i = 0; i < sizes.own; ++i) keys.push_back(second + i);
    for (std::size_t i = 0; i < sizes.value; ++i) values.push_back(second + sizes.own + i);
  }
  AttentionWeights own;
  LatentStates& latent = own.latent.emplace();
  if (sizes.query_rank > 0) {
    latent.query = weights_.linear(query_down, n);
    latent.query_norm = norm(query_down_norm);
  }
  const StoredLinear narrow = weights_.linear(key_value_down, n),
                     both = weights_.linear(key_value, n);
  latent.key_value = narrow.rows(0, sizes.rank);
  latent.key_value_norm = norm(key_value_down_norm);
  latent.shared_key = narrow.rows(sizes.rank, sizes.shared);
  own.query = weights_.linear(query, n).picked(queries);
  own.key = both.picked(keys);
  own.value = both.picked(values);
  own.output = weights_.linear(output, n);
  return own;
}

// The rows of heads whose halves are stored row by row in turn.
std::vector<std::size_t> ProjectionReader::rows_by_halves(std::size_t heads) const {
  const std::size_t half = model_.head_width / 2;
  std::vector<std::size_t> rows;
  for (std::size_t head = 0; head < heads; ++head) {
    for (const std::size_t second : {0, 1}) {
      for (std::size_t i = 0; i < half; ++i) rows.push_back(2 * (head * half + i) + second);
    }
  }
  return rows;
}

// The rows of heads with their halves exchanged, by which each pair of columns turns the other way
// round.
std::vector<std::size_t> ProjectionReader::exchanged_halves(std::size_t heads) const {
  const std::size_t half = model_.head_width / 2;
  std::vector<std::size_t> rows;
  for (std::size_t part = 0; part < 2 * heads; ++part) {
    for (std::size_t i = 0; i < half; ++i) rows.push_back((part ^ 1U) * half + i);
  }
  return rows;
}

// The rows of a head's query are followed by those of its gate.
void ProjectionReader::split_gate(AttentionWeights& attention) const {
  std::vector<std::size_t> queries, gates;
  for (std::size_t row = 0; row < 2 * model_.heads * model_.head_width; ++row) {
    (row / model_.head_width % 2 == 0 ? queries : gates).push_back(row);
  }
  attention.gate = attention.query.picked(gates);
  attention.query = attention.query.picked(queries);
}

std::optional<TokenMixer> ProjectionReader::mixer(std::size_t n) const {
  using Mixer = std::optional<TokenMixer>;
  return std::visit(
      Overloaded{[](const std::monostate&) { return Mixer(); },
                 [&](const DeltaSizes& sizes) { return Mixer(linear_attention(sizes, n)); },
                 [&](const ShortConvolutionSizes&) { return Mixer(short_convolution(n)); },
                 [&](const ModelStateSpace& sizes) { return Mixer(state_space(sizes, n)); }},
      model_.mixer);
}

// Files have a convolution of each channel as [C,1,K].
CausalConvolution ProjectionReader::convolution(WeightPurpose purpose, std::size_t n) const {
  const Tensor weight = weights_.find(purpose, n, "weight");
  return {weight.reshaped({weight.shape().front(), weight.shape().back()}),
          weights_.find(purpose, n, "bias")};
}

ShortConvolution ProjectionReader::short_convolution(std::size_t n) const {
  using enum WeightPurpose;
  return {weights_.linear(mixer_in, n), convolution(mixer_convolution, n),
          weights_.linear(mixer_output, n)};
}

// Rows of one product are in turn gate, x, B, C and steps in Mamba 2, x and gate in Mamba.
StateSpace ProjectionReader::state_space(const ModelStateSpace& sizes, std::size_t n) const {
  using enum WeightPurpose;
  StateSpace own;
  own.sizes = sizes;
  own.activation = model_.mixer_activation;
  const StoredLinear all = weights_.linear(mixer_in, n);
  const std::size_t inner = sizes.inner(), channels = sizes.channels();
  if (sizes.rank > 0) {
    own.channels = all.rows(0, inner);
    own.gate = all.rows(inner, inner);
    own.selection = weights_.linear(mixer_selection, n);
    own.step = {weights_.linear(mixer_step, n).weight, {}};
    own.step_bias = weights_.find(mixer_step, n, "bias");
  } else {
    own.gate = all.rows(0, inner);
    own.channels = all.rows(inner, channels);
    own.step = all.rows(inner + channels, sizes.heads);
    own.step_bias = weights_.find(mixer_step_bias, n, "weight");
  }
  if (!sizes.factors.empty()) multiply_parts(sizes, own);
  own.convolution = convolution(mixer_convolution, n);
  own.step_norm = weights_.find(mixer_step_norm, n, "weight");
  own.input_norm = weights_.find(mixer_input_norm, n, "weight");
  own.output_norm = weights_.find(mixer_output_norm, n, "weight");
  own.decay_log = weights_.find(mixer_decay_log, n, "weight");
  own.skip = weights_.find(mixer_skip, n, "weight");
  own.norm = weights_.find(mixer_norm, n, "weight");
  own.output = weights_.linear(mixer_output, n);
  return own;
}

// Factors of gate, x, B, C and steps (Falcon-H1).
void ProjectionReader::multiply_parts(const ModelStateSpace& sizes, StateSpace& own) const {
  const std::vector<double>& factors = sizes.factors;
  const std::size_t selected = sizes.groups * sizes.states;
  own.gate = own.gate.times(1, factors[0]);
  own.step = own.step.times(1, factors[4]);
  std::vector<double> rows;
  for (const auto& [count, factor] :
       {std::pair(sizes.inner(), factors[1]), std::pair(selected, factors[2]),
        std::pair(selected, factors[3])}) {
    rows.insert(rows.end(), count, factor);
  }
  const auto multiplied = [&](const Tensor& tensor) {
    std::vector<double> numbers = doubles_of(tensor);
    const std::size_t width = numbers.size() / rows.size();
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] *= rows[i / width];
    return Tensor(tensor.shape(), std::move(numbers));
  };
  const Tensor bias = own.channels.bias ? multiplied(own.channels.bias) : Tensor();
  own.channels = Linear{multiplied(own.channels.weight.tensor()), bias};
}

DeltaRule ProjectionReader::linear_attention(const DeltaSizes& sizes, std::size_t n) const {
  using enum WeightPurpose;
  DeltaRule own;
  own.sizes = sizes;
  if (weights_.has(linear_query_key_value_gate, n)) {
    split_groups(n, own);
  } else {
    own.query_key_value = weights_.linear(linear_query_key_value, n);
    own.gate = weights_.linear(linear_gate, n);
    own.strength = weights_.linear(linear_strength, n);
    own.decay = weights_.linear(linear_decay, n);
  }
  own.convolution = convolution(linear_convolution, n).weight;
  own.decay_log = weights_.find(linear_decay_log, n, "weight");
  own.decay_bias = weights_.find(linear_decay_bias, n, "weight");
  own.norm = weights_.find(linear_norm, n, "weight");
  own.output = weights_.linear(linear_output, n);
  return own;
}

// Rows group by group: query, key, the values and the gates of the heads that share them; and the
// strengths and decays of these heads.
void ProjectionReader::split_groups(std::size_t n, DeltaRule& own) const {
  const DeltaSizes& sizes = own.sizes;
  const std::size_t shared = sizes.value_heads / sizes.key_heads,
                    values = shared * sizes.value_width;
  std::vector<std::size_t> query, key, value, gate, strength, decay;
  std::size_t row = 0, number = 0;
  const auto add = [](std::vector<std::size_t>& to, std::size_t& from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to.push_back(from++);
  };
  for (std::size_t g = 0; g < sizes.key_heads; ++g) {
    add(query, row, sizes.key_width);
    add(key, row, sizes.key_width);
    add(value, row, values);
    add(gate, row, values);
    add(strength, number, shared);
    add(decay, number, shared);
  }
  query.insert(query.end(), key.begin(), key.end());
  query.insert(query.end(), value.begin(), value.end());
  const StoredLinear rows = weights_.linear(WeightPurpose::linear_query_key_value_gate, n),
                     numbers = weights_.linear(WeightPurpose::linear_strength_decay, n);
  own.query_key_value = rows.picked(query);
  own.gate = rows.picked(gate);
  own.strength = numbers.picked(strength);
  own.decay = numbers.picked(decay);
}

}  // namespace attn
