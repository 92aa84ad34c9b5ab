#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "attention/geometry.hpp"
#include "attention/head_rows.hpp"
#include "document/option_reader.hpp"
#include "document/reader.hpp"
#include "support/number_text.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

using Doubles = std::vector<double>;

// Keys of a document that would change scores, weights or visible keys.
constexpr std::array excluded{
    "mask",  "attention_mask", "valid_lens",  "past_key",      "past_value",   "softcap",
    "score", "weight",         "tables",      "rotary",        "query_norm",   "key_norm",
    "sinks", "gradient",       "block_table", "relative_bias", "add_zero_attn"};

// Linear attention with a state S [d_k,d_v] per key head. Token t changes it to
// e^g ⊙ S + β k ⊗ (v − (e^g ⊙ S)ᵀk), or without β to e^g ⊙ S + k ⊗ v, and reads scale · Sᵀq (Yang
// et al. 2024, "Gated Delta Networks", equation 10; ONNX's LinearAttention).
class LinearAttention {
 public:
  LinearAttention(const LinearRule& rule, const AttentionRequest& request, const Geometry& geometry)
      : geometry_(geometry),
        scale_(scale_of(request, geometry)),
        width_(geometry.key_width),
        past_(rule.past_state ? width_ : 0) {
    const Sequences& given = *sequences_of(request.score);
    const auto rows = [&](const Tensor& tensor, std::size_t heads) {
      return HeadRows<double>(tensor.converted(request.dtype), heads);
    };
    queries_ = rows(given.query, geometry.heads);
    keys_ = rows(given.key_or_query(), geometry.kv_heads);
    values_ = rows(given.value_or_key(), geometry.kv_heads);
    if (rule.decay) decay_ = rows(rule.decay, geometry.kv_heads);
    if (rule.past_state) state_ = rows(rule.past_state, geometry.kv_heads);
    if (!rule.beta) return;
    shared_ = rule.beta.rank() < 4 && rule.beta.shape().back() == 1;
    beta_ = rows(rule.beta, shared_ ? 1 : geometry.kv_heads);
  }

  // The weight of each value, after those of the rows of the state before the first token:
  // [B,H,Lq,P + Lk].
  Tensor weights(std::size_t threads) const {
    const Geometry& g = geometry_;
    const std::size_t columns = past_ + g.keys;
    Doubles all(g.batch * g.heads * g.queries * columns);
    parallel_for(g.batch * g.heads * g.queries, threads, [&](std::size_t row) {
      weigh(row, std::span(all).subspan(row * columns, columns));
    });
    return {Shape{g.batch, g.heads, g.queries, columns}, std::move(all)};
  }

  // The state after the last token, [B,G,d_k,d_v].
  Tensor last_state() const {
    const Geometry& g = geometry_;
    Doubles all(g.batch * g.kv_heads * width_ * g.value_width);
    for (std::size_t map = 0; map < g.batch * g.kv_heads; ++map) {
      const std::span state =
          std::span(all).subspan(map * width_ * g.value_width, width_ * g.value_width);
      write(map / g.kv_heads, map % g.kv_heads, state);
    }
    return {Shape{g.batch, g.kv_heads, width_, g.value_width}, std::move(all)};
  }

 private:
  double beta(std::size_t batch, std::size_t group, std::size_t token) const {
    return beta_ ? (*beta_)(batch, shared_ ? 0 : group, token)[0] : 1;
  }

  // The factor of row d of the state before a token writes to it.
  double kept(std::size_t batch, std::size_t group, std::size_t token, std::size_t d) const {
    if (!decay_) return 1;
    const std::span<const double> rates = (*decay_)(batch, group, token);
    return std::exp(rates[rates.size() == 1 ? 0 : d]);
  }

  // Weights of the values in Sᵀr with r = scale · q, from the query back to the first token: token
  // t gives its value the weight β r·k, and the rest of r, e^g ⊙ (r − β (r·k) k), or without β e^g
  // ⊙ r, reads the state before it.
  void weigh(std::size_t row, std::span<double> weights) const {
    const std::size_t query = row % geometry_.queries, map = row / geometry_.queries;
    const std::size_t batch = map / geometry_.heads;
    const std::size_t head = map % geometry_.heads;
    const std::size_t group = head / (geometry_.heads / geometry_.kv_heads);
    const std::span<const double> q = queries_(batch, head, query);
    Doubles reading(q.begin(), q.end());
    for (double& r : reading) r *= scale_;
    for (std::size_t token = query + 1; token-- > 0;) {
      const std::span<const double> k = keys_(batch, group, token);
      const double weight = beta(batch, group, token) *
                            std::inner_product(reading.begin(), reading.end(), k.begin(), 0.0);
      weights[past_ + token] = weight;
      for (std::size_t d = 0; d < width_; ++d) {
        if (beta_) reading[d] -= weight * k[d];
        reading[d] *= kept(batch, group, token, d);
      }
    }
    if (past_ > 0) std::ranges::copy(reading, weights.begin());
  }

  void write(std::size_t batch, std::size_t group, std::span<double> state) const {
    const std::size_t columns = geometry_.value_width;
    for (std::size_t d = 0; d < past_; ++d) {
      std::ranges::copy((*state_)(batch, group, d), state.subspan(d * columns, columns).begin());
    }
    for (std::size_t token = 0; token < geometry_.keys; ++token) {
      const std::span<const double> k = keys_(batch, group, token);
      const std::span<const double> v = values_(batch, group, token);
      Doubles written(v.begin(), v.end());
      for (std::size_t d = 0; d < width_; ++d) {
        const double factor = kept(batch, group, token, d);
        for (std::size_t c = 0; c < columns; ++c) {
          double& cell = state[d * columns + c];
          cell *= factor;
          if (beta_) written[c] -= cell * k[d];
        }
      }
      const double strength = beta(batch, group, token);
      for (std::size_t d = 0; d < width_; ++d) {
        for (std::size_t c = 0; c < columns; ++c) {
          state[d * columns + c] += strength * k[d] * written[c];
        }
      }
    }
  }

  const Geometry& geometry_;
  double scale_;
  std::size_t width_, past_;  // d_k, and the rows of the state before the first token
  HeadRows<double> queries_, keys_, values_;
  std::optional<HeadRows<double>> decay_, beta_, state_;
  bool shared_ = false;  // whether all key heads have one β
};

// Throws unless the tensor has one of these widths for each token: [..,L,G·w], or [B,G,L,w].
void check_rates(const Tensor& tensor, const char* name, const Geometry& g,
                 const std::vector<std::size_t>& widths) {
  if (!tensor) return;
  const Shape& shape = tensor.shape();
  const std::size_t rank = shape.size();
  const auto fits = [&](std::size_t width) {
    const Shape last = rank == 4 ? Shape{g.kv_heads, g.keys, width} : Shape{g.keys, width};
    return rank >= 2 &&
           Shape(shape.end() - static_cast<std::ptrdiff_t>(last.size()), shape.end()) == last;
  };
  const auto is = [&](std::size_t width) {
    return fits(rank == 4 && width % g.kv_heads == 0 ? width / g.kv_heads : width);
  };
  const bool samples = rank < 3 || shape[0] == 1 || shape[0] == g.batch;
  if (samples && std::ranges::any_of(widths, is)) return;
  throw input_error(
      translated("{1} {2} does not fit: expected [B,{3},{4}] or [B,{3},{5}]", name, text(shape),
                 g.keys, widths.front(), widths.back()),
      std::string("/linear_attention/") + name,
      translated("B is the number of samples: 1, which stands for all, or {1}", g.batch));
}

void check_rule(const LinearRule& rule, const Geometry& g) {
  if (g.queries != g.keys) {
    throw input_error(
        translated("linear attention reads one token after the other, but there are {1} queries "
                   "and {2} keys",
                   g.queries, g.keys),
        "/key",
        translated("give as many keys as queries, and what was read before them as "
                   "\"past_state\""));
  }
  check_rates(rule.decay, "decay", g, {g.kv_heads, g.kv_heads * g.key_width});
  check_rates(rule.beta, "beta", g, {g.kv_heads, 1});
  const Shape expected{g.batch, g.kv_heads, g.key_width, g.value_width};
  if (!rule.past_state || rule.past_state.shape() == expected) return;
  throw input_error(
      translated("past_state {1} does not fit: expected {2}", text(rule.past_state.shape()),
                 text(expected)),
      "/linear_attention/past_state",
      translated("give a matrix of d_k rows and d_v columns for each sample and key head"));
}

// Rates are logarithms of factors, which are at most 1 where a state decays.
void warn_of_growth(const LinearRule& rule, std::vector<std::string>& warnings) {
  if (!rule.decay || is_shape_only(rule.decay)) return;
  const Tensor rates = rule.decay.converted(DType::float64);
  const auto all = rates.values<double>();
  const auto above = std::ranges::find_if(all, [](double rate) { return rate >= 1e-6; });
  if (above == all.end()) return;
  const auto rounded = [](double number) { return number_text(std::round(number * 1e6) / 1e6); };
  std::string warning = translated(
      "linear_attention.decay holds {1}: a rate above 0 makes the state grow, since the "
      "factor of a token is e to its power",
      rounded(*above));
  if (*above < 1) {
    warning += translated("; write {1}, the natural logarithm, for a factor of {2}",
                          rounded(std::log(*above)), rounded(*above));
  }
  warnings.push_back(std::move(warning));
}

// The rows of matrices [B,G,R,C] in the layout of a tensor of `rank` axes: [B,G,R,C], [B,R,G·C] or
// [R,G·C].
Tensor in_layout(const Tensor& matrices, std::size_t rank) {
  if (rank == 4) return matrices;
  const Shape& shape = matrices.shape();
  Shape joined{shape[0], shape[2], shape[1] * shape[3]};
  if (rank == 2) joined.erase(joined.begin());
  const HeadRows<double> rows(matrices, shape[1]);
  Doubles all;
  all.reserve(matrices.size());
  for (std::size_t b = 0; b < shape[0]; ++b) {
    for (std::size_t r = 0; r < shape[2]; ++r) {
      for (std::size_t g = 0; g < shape[1]; ++g) {
        const auto row = rows(b, g, r);
        all.insert(all.end(), row.begin(), row.end());
      }
    }
  }
  return {std::move(joined), std::move(all)};
}

// A state is a past: its rows are values, whose keys are the unit vectors.
void put_past(const Tensor& state, DocumentParts& parts) {
  const Shape& shape = state.shape();
  Tensor units = shape_only({1, shape[1], shape[2], shape[2]});
  if (!is_shape_only(state)) {
    Doubles ones(element_count(units.shape()));
    for (std::size_t g = 0; g < shape[1]; ++g) {
      for (std::size_t d = 0; d < shape[2]; ++d) ones[(g * shape[2] + d) * shape[2] + d] = 1;
    }
    units = Tensor(units.shape(), std::move(ones));
  }
  const std::size_t rank = parts.states.query.rank();
  const auto put = [&](const Tensor& matrices) {
    if (!is_shape_only(matrices)) return in_layout(matrices, rank).converted(parts.numbers());
    Shape joined{matrices.shape()[0], matrices.shape()[2],
                 matrices.shape()[1] * matrices.shape()[3]};
    if (rank == 2) joined.erase(joined.begin());
    return shape_only(rank == 4 ? matrices.shape() : joined, parts.numbers());
  };
  parts.states.past_key = put(units);
  parts.states.past_value = put(state);
}

// The sizes of the attention; absent if its tensors do not fit, which planning finds again.
std::optional<Geometry> geometry_of(const AttentionRequest& request) {
  try {
    return check_geometry(request);
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace

void add_linear_attention(DocumentParts& parts, const LinearRule& rule, const std::string& at) {
  for (const char* name : excluded) {
    if (!parts.find(name)) continue;
    throw input_error(
        translated("\"{1}\" and \"{2}\" cannot both be given", name, "linear_attention"),
        std::string("/") + name,
        translated("leave one of them out: linear attention sees the keys up to each query, and "
                   "its weights are not those of a softmax"));
  }
  AttentionRequest request{parts.options, score_of(parts.plan.kind)};
  *sequences_of(request.score) = parts.states;
  const std::optional<Geometry> geometry = geometry_of(request);
  if (!geometry) return;
  check_rule(rule, *geometry);
  warn_of_growth(rule, parts.plan.warnings);
  std::optional<LinearAttention> linear;  // while sketching there are no numbers
  if (!parts.tensors.sketching()) linear.emplace(rule, request, *geometry);
  const Shape shape{geometry->batch, geometry->heads, geometry->queries,
                    geometry->keys + (rule.past_state ? geometry->key_width : 0)};
  Tensor weights = parts.tensors.drawn(shape, DType::float64, at,
                                       [&] { return linear->weights(parts.options.threads); });
  parts.tables.emplace_back("linear", std::move(weights));
  parts.options.weight_expression.text = "linear[b, h, i, j]";
  if (linear) {
    parts.plan.tokens.push_back({"present_state", linear->last_state().converted(parts.numbers())});
  }
  if (rule.past_state) put_past(rule.past_state, parts);
}

}  // namespace attn
