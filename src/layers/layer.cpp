#include "layers/layer.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <variant>

#include "attention/paths.hpp"
#include "attention/positions.hpp"
#include "layers/embedding_and_head.hpp"
#include "support/overloaded.hpp"
#include "support/parallel_for.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// x [..,L,H·d] with zeros for some heads.
Tensor without_heads(const Tensor& x, const std::vector<std::size_t>& off, std::size_t heads) {
  if (off.empty()) return x;
  const std::size_t row = x.shape().back(), width = row / heads;
  return with_floats(x, [&]<class T>(std::span<const T> from) {
    std::vector<T> y(from.begin(), from.end());
    for (std::size_t at = 0; at < y.size(); at += row) {
      for (const std::size_t head : off) {
        std::fill_n(y.begin() + static_cast<std::ptrdiff_t>(at + head * width), width, T(0));
      }
    }
    return Tensor(x.shape(), std::move(y));
  });
}

// x Wᵀ + b, and `base` if that is there.
Tensor product(const StoredLinear& linear, const Tensor& x, std::size_t threads,
               const Tensor& base) {
  return apply(linear, x, threads, base ? adding(base) : Epilogue());
}

// The tokens that take an expert, and the share of it in each one's result.
struct ExpertTokens {
  std::vector<std::size_t> tokens;
  std::vector<double> shares;
};

// The tokens of each expert by the scores [L,count].
std::vector<ExpertTokens> tokens_by_expert(const Tensor& scores, const Experts& experts) {
  std::vector<ExpertTokens> all(experts.count);
  for (std::size_t t = 0; t < scores.size() / experts.count; ++t) {
    const auto row = scores.values<double>().subspan(t * experts.count, experts.count);
    for (const auto& [expert, share] : best_experts(experts, row)) {
      all[expert].tokens.push_back(t);
      all[expert].shares.push_back(share);
    }
  }
  return all;
}

// f(gate) · up of one expert, or g·σ(1.702 g)·(u + 1) within the limit.
double gated_number(const Experts& experts, const ActivationCurve& curve, double gate, double up) {
  if (!experts.limit) return activated(gate, curve) * up;
  const double g = std::min(gate, *experts.limit);
  return g / (1 + std::exp(-1.702 * g)) * (std::clamp(up, -*experts.limit, *experts.limit) + 1);
}

Tensor normed_by(const std::optional<Norm>& norm, const Tensor& x, double eps,
                 std::size_t threads) {
  return norm ? apply(*norm, x, eps, threads) : x;
}

// Adds to `total` [L,D] what the expert that every token takes makes of x [..,L,D].
void add_shared(const SharedExpert& shared, const ActivationCurve& curve, const Tensor& states,
                double eps, std::size_t threads, std::vector<double>& total) {
  const std::size_t width = states.shape().back();
  const Tensor x = normed_by(shared.before, states, eps, threads);
  const Tensor wide =
      shared.gate ? apply(shared.up, x, threads, gating(apply(shared.gate, x, threads), curve))
                  : apply(shared.up, x, threads, activating(curve));
  const Tensor out = normed_by(shared.after, apply(shared.down, wide, threads), eps, threads)
                         .converted(DType::float64);
  const Tensor scores =
      shared.share ? apply(shared.share, x, threads).converted(DType::float64) : Tensor();
  for (std::size_t i = 0; i < total.size(); ++i) {
    const double share = scores ? sigmoid(scores.values<double>()[i / width]) : 1;
    total[i] += share * out.values<double>()[i];
  }
}

// Each row of x [..,D] times a row [D].
Tensor times_row(const Tensor& x, const Tensor& row) {
  const std::vector<double> factors = doubles_of(row);
  return with_floats(x, [&]<class T>(std::span<const T> from) {
    std::vector<T> y(from.begin(), from.end());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= static_cast<T>(factors[i % factors.size()]);
    return Tensor(x.shape(), std::move(y));
  });
}

// Rows [n,D] times a number each.
Tensor rows_times(const Tensor& rows, const std::vector<double>& factors) {
  const std::size_t width = rows.shape().back();
  return with_floats(rows, [&]<class T>(std::span<const T> from) {
    std::vector<T> y(from.begin(), from.end());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] *= static_cast<T>(factors[i / width]);
    return Tensor(rows.shape(), std::move(y));
  });
}

// The wider states [n,F] of an expert's tokens [n,D].
Tensor expert_states(const Experts& experts, std::size_t e, const ActivationCurve& curve,
                     const Tensor& in, std::size_t threads) {
  if (!experts.gated) return apply(experts.gate_up(e), in, threads, activating(curve));
  const Tensor both = apply(experts.gate_up(e), in, threads);
  const std::size_t tokens = in.shape()[0], hidden = both.shape().back() / 2;
  const Tensor numbers = both.converted(DType::float64);
  std::vector<double> gated;
  gated.reserve(tokens * hidden);
  for (std::size_t i = 0; i < tokens * hidden; ++i) {
    gated.push_back(gated_number(experts, curve, numbers.values<double>()[2 * i],
                                 numbers.values<double>()[2 * i + 1]));
  }
  return Tensor({tokens, hidden}, std::move(gated)).converted(in.dtype());
}

// The feed-forward of x [..,L,D] by the experts of each token.
Tensor chosen_experts(const Experts& experts, const ActivationCurve& curve, const Tensor& states,
                      double eps, std::size_t threads) {
  const std::size_t width = states.shape().back();
  const Tensor x = normed_by(experts.before, states, eps, threads);
  const Tensor routed = normed_by(experts.before_router, states, eps, threads);
  const Tensor scores = apply(experts.router, routed, threads).converted(DType::float64);
  const std::size_t tokens = x.size() / width;
  std::vector<double> total(x.size(), 0);
  const std::vector<ExpertTokens> by_expert = tokens_by_expert(scores, experts);
  for (std::size_t e = 0; e < experts.count; ++e) {
    const auto& [taken, shares] = by_expert[e];
    if (taken.empty()) continue;
    Tensor in = picked(x.reshaped({tokens, width}), taken);
    if (experts.shares_of_inputs) in = rows_times(in, shares);
    const Tensor wide = expert_states(experts, e, curve, in, threads);
    const Tensor out = apply(experts.down(e), wide, threads).converted(DType::float64);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      for (std::size_t k = 0; k < width; ++k) {
        total[taken[i] * width + k] +=
            (experts.shares_of_inputs ? 1 : shares[i]) * out.values<double>()[i * width + k];
      }
    }
  }
  if (experts.after) {
    total = doubles_of(apply(*experts.after, Tensor(x.shape(), std::move(total)), eps, threads));
  }
  if (experts.shared) {
    add_shared(*experts.shared, curve, states, eps, threads, total);
    for (double& number : total) number *= experts.halved ? 0.5 : 1;
  }
  return Tensor(x.shape(), std::move(total)).converted(x.dtype());
}

class LayerPass {
 public:
  LayerPass(const Layer& layer, const StepOptions& options)
      : spec_(layer.spec),
        weights_(layer.weights),
        options_(options),
        threads_(layer.spec.self.threads) {}

  LayerStep pass(const Tensor& x, const Tensor& memory) {
    if (!weights_.streams) return pass_one(x, memory);
    const AlternatingUpdates& own = *weights_.streams;
    const double eps = spec_.self.eps;
    const std::vector<Tensor> expected = predicted(own, apart(x, own.count), eps, threads_);
    LayerStep done = pass_one(expected[own.active], memory);
    std::vector<Tensor> streams = corrected(own, expected, done.states, eps, threads_);
    if (weights_.layer_input) {
      // What the layer reads of its tokens goes to the streams behind the first.
      const Tensor read =
          own.scale ? times_row(streams[own.active], own.scale) : streams[own.active];
      const Tensor added = normed(weights_.layer_input->norm, layer_input(read, {}));
      for (std::size_t n = 1; n < own.count; ++n) streams[n] = sum(streams[n], added, threads_);
    }
    done.states = attn::side_by_side(streams);
    return done;
  }

 private:
  // The layer over states [..,L,D], those of the active stream if there are several.
  LayerStep pass_one(const Tensor& x, const Tensor& memory) {
    const std::optional<Norm> none;
    const auto feed = [&](const Tensor& states) {
      return [&, states](const Tensor& base) { return feed_forward(states, base); };
    };
    const Tensor h = normed(weights_.before_attention, x);
    Tensor y = x;
    if (options_.keeps_read != nullptr) *options_.keeps_read = h;
    if (options_.inside) {
      step_.keys_from = options_.keys_from;
      step_.types = options_.types;
    }
    if (weights_.mixes_tokens()) {
      const Tensor beside =
          weights_.augmented ? sum(x, weights_.augmented->of(h, spec_.self.eps, threads_), threads_)
                             : residual(x, h);
      y = sublayer({x, h, beside}, weights_.after_attention,
                   spec_.parallel ? none : weights_.after_attention_sum,
                   [&](const Tensor& base) { return mixed(h, base); });
      if (weights_.augmented) {
        y = mapped(
            threads_, [](double number) { return number / std::numbers::sqrt2; }, y);
      }
    }
    if (spec_.parallel) {
      const Tensor in = normed(weights_.before_feed_forward, x);
      step_.states =
          sublayer({x, in, y}, weights_.after_feed_forward, none, feed(in), options_.feed_forward);
      return std::move(step_);
    }
    if (weights_.cross.query) {
      const Tensor in = normed(weights_.before_cross, y);
      y = sublayer({y, in, y}, weights_.after_cross, weights_.after_cross_sum,
                   [&](const Tensor& base) { return attention(false, in, memory, base); });
    }
    if (!weights_.feeds_forward()) {
      step_.states = std::move(y);
      return std::move(step_);
    }
    const Tensor in = normed(weights_.before_feed_forward, y);
    step_.states = sublayer({y, in, residual(y, in)}, weights_.after_feed_forward,
                            weights_.after_feed_forward_sum, feed(in), options_.feed_forward);
    if (weights_.input_convolution) {
      const InputConvolution& own = *weights_.input_convolution;
      step_.states =
          sublayer({step_.states, x, step_.states}, none, own.norm, [&](const Tensor& base) {
            const Tensor y_beside = convolved_around(own, x);
            return base ? sum(base, y_beside, threads_) : y_beside;
          });
    }
    if (weights_.layer_input && !weights_.streams) {
      step_.states =
          sublayer({step_.states, step_.states, step_.states}, weights_.layer_input->norm, none,
                   [&](const Tensor& base) { return layer_input(step_.states, base); });
    }
    if (spec_.state_scale != 1) {
      step_.states = mapped(
          threads_, [scale = spec_.state_scale](double v) { return v * scale; }, step_.states);
    }
    return std::move(step_);
  }

  // The part of the layer that reads its tokens through a gate, added to `base` if that is there.
  Tensor layer_input(const Tensor& states, const Tensor& base) const {
    const LayerInput& own = *weights_.layer_input;
    const Tensor gates = apply(own.gate, states, threads_, activating(curve_of(spec_.activation)));
    const Tensor gated = mapped(
        threads_, [](double a, double b) { return a * b; }, gates, options_.layer_input);
    return product(own.projection, gated, threads_, base);
  }

  // The states that a sub-layer begins with, as in SubLayer.
  struct Entry {
    Tensor before, input, residual;
  };

  const Tensor& residual(const Tensor& x, const Tensor& normed_x) const {
    return spec_.residual_after_norm ? normed_x : x;
  }

  Tensor normed(const std::optional<Norm>& norm, const Tensor& x) const {
    return norm ? apply(*norm, x, spec_.self.eps, threads_) : x;
  }

  // `branch` gives what is added to the residual, or the sum if it gets the residual.
  template <class Branch>
  Tensor sublayer(const Entry& entry, const std::optional<Norm>& branch_norm,
                  const std::optional<Norm>& sum_norm, const Branch& branch,
                  const std::function<void(Tensor&)>& watched = {}) {
    const double scale = spec_.branch_scale;
    if (!options_.inside && !branch_norm && !watched && scale == 1) {
      return normed(sum_norm, branch(entry.residual));
    }
    const Tensor change = branch(Tensor());
    const Tensor scaled = scale == 1 ? change
                                     : mapped(
                                           threads_, [=](double x) { return x * scale; }, change);
    Tensor added = normed(branch_norm, scaled);
    if (watched) watched(added);
    Tensor after = normed(sum_norm, sum(entry.residual, added, threads_));
    if (options_.inside) {
      step_.sublayers.push_back(
          {entry.before, entry.input, change, scaled, added, entry.residual, after});
    }
    return after;
  }

  // Attention of the states over themselves or over the memory, projected, added to `base` if that
  // is there.
  Tensor attention(bool self, const Tensor& states, const Tensor& memory, const Tensor& base) {
    const AttentionWeights& weights = self ? weights_.self : weights_.cross;
    AttentionResult& result = self ? step_.self : step_.cross;
    Tensor heads;
    {
      Sequences sequences{states, memory};
      sequences.heads = spec_.heads;
      sequences.kv_heads = spec_.kv_heads;
      KeyValueCache* const cache = self ? options_.self_cache : options_.cross_cache;
      AttentionRequest request =
          project(self ? spec_.self : spec_.cross, sequences, weights, states.dtype(), cache);
      if (self && spec_.growth) grow_queries(request);
      if (self && !spec_.cosine_scales.empty()) take_cosines(request);
      const bool has_global = self && weights_.global && !options_.global.empty();
      if (has_global) add_global(states, request);
      if (self && weights_.distances) {
        request.mask.bias = disentangled_bias(*weights_.distances, request, options_.types);
      } else if (self && spec_.rounded_alibi) {
        request.mask.bias = alibi_rounding(request);
      }
      if (options_.requests) options_.requests(self, request);
      if (self && options_.rows && request.weights) {
        heads = by_rows(request);
      } else {
        const bool single = cache != nullptr && request.dtype == DType::float32;
        result = single ? attend_in_single(request, options_.progress)
                        : attend(request, options_.progress);
        heads = std::exchange(result.output, {});
      }
      if (has_global) heads = own_halves(heads);
      if (options_.inside) (self ? step_.self_request : step_.cross_request) = std::move(request);
    }
    heads = without_heads(heads, self ? options_.self_off : options_.cross_off,
                          spec_.heads.value_or(1));
    const auto& watched = self ? options_.self_heads : options_.cross_heads;
    if (watched) watched(heads);
    if (options_.inside) {
      result.output = heads;
      step_.self_off = options_.self_off;
    }
    if (weights.output) return product(weights.output, heads, threads_, base);
    return base ? sum(base, heads, threads_) : heads;
  }

  // The output of the mixer of tokens, projected, added to `base` if that is there.
  Tensor mixed(const Tensor& states, const Tensor& base) {
    if (!weights_.mixer) return attention(true, states, options_.keys_from, base);
    MixerState none;
    MixerState& state = options_.mixer_state != nullptr ? *options_.mixer_state : none;
    const Overloaded heads{[&](const DeltaRule& rule) {
                             return delta_rule(rule, states, spec_.self.eps, threads_, state);
                           },
                           [&](const ShortConvolution& rule) {
                             return short_convolution(rule, states, threads_, state);
                           },
                           [&](const StateSpace& rule) {
                             return state_space(rule, states, spec_.self.eps, threads_, state);
                           }};
    const auto output = [](const auto& rule) -> const StoredLinear& { return rule.output; };
    const bool beside = bool(weights_.self.query);
    Tensor y = product(std::visit(output, *weights_.mixer), std::visit(heads, *weights_.mixer),
                       threads_, base);
    if (options_.inside) step_.mixed = y;
    return beside ? attention(true, states, {}, y) : y;
  }

  // Multiplies queries by factors of their positions, the last of which is that of the last key.
  void grow_queries(AttentionRequest& request) const {
    auto& product = std::get<ScaledDotProduct>(request.score);
    const Shape& shape = product.query.shape();
    const std::size_t length = shape[shape.size() - 2], width = shape.back(),
                      first = product.key.shape()[shape.size() - 2] - length;
    product.query = with_floats(product.query, [&]<class T>(std::span<const T> from) {
      std::vector<T> y(from.begin(), from.end());
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] *= static_cast<T>(spec_.growth->at(first + i / width % length));
      }
      return Tensor(shape, std::move(y));
    });
  }

  // Makes vectors of heads twice as wide: keys and values are those for other tokens with those for
  // the tokens that see all behind them, and a query is 0 where it reads the other half.
  void add_global(const Tensor& states, AttentionRequest& request) const {
    AttentionWeights own;
    own.query = weights_.global->query;
    own.key = weights_.global->key;
    own.value = weights_.global->value;
    Sequences sequences{states, {}};
    sequences.heads = spec_.heads;
    const AttentionRequest global = project(spec_.self, sequences, own, states.dtype());
    auto& to = std::get<ScaledDotProduct>(request.score);
    const auto& from = std::get<ScaledDotProduct>(global.score);
    to.query = side_by_side(to.query, from.query, true);
    to.key = side_by_side(to.key, from.key, false);
    to.value = side_by_side(to.value, from.value, false);
    request.mask.global = options_.global;
  }

  // Whether each token [L] sees all others.
  std::vector<bool> global_tokens(std::size_t length) const {
    std::vector<bool> all(length, false);
    for (const std::size_t position : options_.global) all[position] = true;
    return all;
  }

  // Heads of a and b [..,L,H·d] side by side, [..,L,H·2d]; of queries those alone that a token has.
  Tensor side_by_side(const Tensor& a, const Tensor& b, bool queries) const {
    Shape shape = a.shape();
    const std::size_t length = shape[shape.size() - 2], heads = spec_.heads.value_or(1),
                      width = shape.back() / heads;
    shape.back() *= 2;
    const std::vector<bool> sees_all = global_tokens(length);
    return with_floats(a, [&]<class T>(std::span<const T> of_a) {
      const std::span<const T> of_b = b.values<T>();
      std::vector<T> y(2 * of_a.size(), T(0));
      for (std::size_t row = 0; row < of_a.size() / width; ++row) {
        const bool own = sees_all[row / heads % length];
        T* const to = y.data() + 2 * row * width;
        if (!queries || !own) std::ranges::copy(of_a.subspan(row * width, width), to);
        if (!queries || own) std::ranges::copy(of_b.subspan(row * width, width), to + width);
      }
      return Tensor(shape, std::move(y));
    });
  }

  // Of outputs [..,L,H·2d] the half of each head that belongs to its token's query.
  Tensor own_halves(const Tensor& outputs) const {
    Shape shape = outputs.shape();
    const std::size_t length = shape[shape.size() - 2], heads = spec_.heads.value_or(1);
    shape.back() /= 2;
    const std::size_t width = shape.back() / heads;
    const std::vector<bool> sees_all = global_tokens(length);
    return with_floats(outputs, [&]<class T>(std::span<const T> from) {
      std::vector<T> y;
      y.reserve(from.size() / 2);
      for (std::size_t row = 0; row < from.size() / (2 * width); ++row) {
        const std::size_t half = sees_all[row / heads % length] ? width : 0;
        const auto own = from.subspan(2 * row * width + half, width);
        y.insert(y.end(), own.begin(), own.end());
      }
      return Tensor(shape, std::move(y));
    });
  }

  // Makes queries and keys vectors [..,d] of length one, and multiplies queries by their head's
  // number.
  void take_cosines(AttentionRequest& request) const {
    auto& product = std::get<ScaledDotProduct>(request.score);
    for (Tensor* const part : {&product.query, &product.key}) {
      const std::size_t heads = spec_.cosine_scales.size(), width = part->shape().back();
      // Heads are an axis before the tokens, or side by side.
      const bool joined = part->rank() == 3;
      const std::size_t d = joined ? width / heads : width,
                        length = part->shape()[part->rank() - 2];
      *part = with_floats(*part, [&]<class T>(std::span<const T> from) {
        std::vector<T> y(from.begin(), from.end());
        for (std::size_t row = 0; row < y.size() / d; ++row) {
          const std::span<T> own = std::span(y).subspan(row * d, d);
          double squares = 0;
          for (const T x : own) squares += static_cast<double>(x) * static_cast<double>(x);
          const std::size_t head = (joined ? row : row / length) % heads;
          const double factor = (part == &product.query ? spec_.cosine_scales[head] : 1) /
                                std::max(std::sqrt(squares), 1e-12);
          for (T& x : own) x = static_cast<T>(static_cast<double>(x) * factor);
        }
        return Tensor(part->shape(), std::move(y));
      });
    }
  }

  Tensor by_rows(const AttentionRequest& request) const {
    constexpr std::size_t weights_at_a_time = std::size_t{1} << 24U;
    const std::size_t length = std::get<ScaledDotProduct>(request.score).query.shape()[1];
    return attend_by_queries(
        request, std::max<std::size_t>(16, weights_at_a_time / (spec_.heads.value_or(1) * length)),
        options_.rows, options_.progress);
  }

  // What the convolution makes of x [..,L,D], around each token, with zeros beyond the text.
  Tensor convolved_around(const InputConvolution& by, const Tensor& x) const {
    const std::size_t width = x.shape().back(), length = x.shape()[x.rank() - 2],
                      inputs = by.weight.shape()[1], kernel = by.weight.shape()[2];
    const std::vector<double> from = doubles_of(x), weights = doubles_of(by.weight);
    const std::vector<double> biases =
        by.bias ? doubles_of(by.bias) : std::vector<double>(width, 0);
    std::vector<double> y(from.size());
    parallel_for(from.size() / width, threads_, [&](std::size_t at) {
      const std::size_t token = at % length, middle = kernel / 2;
      for (std::size_t d = 0; d < width; ++d) {
        // Outputs are in as many groups as inputs.
        const std::size_t first = d / inputs * inputs;
        double sum = biases[d];
        for (std::size_t k = 0; k < kernel; ++k) {
          if (token + k < middle || token + k >= length + middle) continue;
          const double* row = from.data() + (at + k - middle) * width + first;
          const double* weight = weights.data() + d * inputs * kernel + k;
          for (std::size_t c = 0; c < inputs; ++c) sum += weight[c * kernel] * row[c];
        }
        y[at * width + d] =
            by.activation ? activated(sum, curve_of(*by.activation)) : std::tanh(sum);
      }
    });
    return Tensor(x.shape(), std::move(y)).converted(x.dtype());
  }

  // down(f(gate x) ⊙ up x), or down(f(up x)) without a gate.
  Tensor feed_forward(const Tensor& x, const Tensor& base) const {
    const ActivationCurve curve = curve_of(spec_.activation);
    if (weights_.experts) {
      const Tensor y = chosen_experts(*weights_.experts, curve, x, spec_.self.eps, threads_);
      return base ? sum(base, y, threads_) : y;
    }
    if (spec_.xielu) {
      const Tensor wide = mapped(
          threads_, [&](double h) { return xielu(h, *spec_.xielu); },
          apply(weights_.up, x, threads_));
      return product(weights_.down, wide, threads_, base);
    }
    if (!weights_.gate) {
      return product(weights_.down, apply(weights_.up, x, threads_, activating(curve)), threads_,
                     base);
    }
    Tensor gates = apply(weights_.gate, x, threads_);
    if (spec_.gate_quantile) gates = largest_of_rows(gates, *spec_.gate_quantile);
    const Tensor wide = apply(weights_.up, x, threads_, gating(gates, curve));
    return product(weights_.down, wide, threads_, base);
  }

  const LayerSpec& spec_;
  const LayerWeights& weights_;
  const StepOptions& options_;
  std::size_t threads_;
  LayerStep step_;
};

}  // namespace

namespace {

bool by_sigmoid(ShareRule shares) {
  return shares == ShareRule::sigmoid || shares == ShareRule::sigmoid_of_chosen;
}

// The numbers by which experts are chosen: their scores, unless something is added to what these
// become.
std::vector<double> choices(const Experts& experts, std::span<const double> scores) {
  std::vector<double> own(scores.begin(), scores.end());
  if (by_sigmoid(experts.shares) && !experts.corrects_scores) {
    for (double& number : own) number = sigmoid(number);
  } else if (!experts.correction.empty() && !experts.corrects_scores) {
    const double all = log_sum_exp(scores);
    for (double& number : own) number = std::exp(number - all);
  }
  for (std::size_t e = 0; e < experts.correction.size(); ++e) own[e] += experts.correction[e];
  return own;
}

// Takes the experts of all but the best groups out of the choice.
void keep_best_groups(const Experts& experts, std::vector<double>& numbers) {
  if (experts.groups <= 1) return;
  const std::size_t size = numbers.size() / experts.groups;
  std::vector<double> sums;
  for (std::size_t g = 0; g < experts.groups; ++g) {
    const auto group = std::span(numbers).subspan(g * size, size);
    double sum = 0;
    for (const std::size_t e : largest_of(group, experts.groups_by_best ? 1 : 2)) sum += group[e];
    sums.push_back(sum);
  }
  const std::vector<std::size_t> best = largest_of(sums, experts.best_groups);
  for (std::size_t e = 0; e < numbers.size(); ++e) {
    if (std::ranges::count(best, e / size) == 0) numbers[e] = -HUGE_VAL;
  }
}

}  // namespace

std::vector<ExpertShare> best_experts(const Experts& experts, std::span<const double> scores) {
  std::vector<double> numbers = choices(experts, scores);
  keep_best_groups(experts, numbers);
  const std::vector<std::size_t> taken = largest_of(numbers, experts.chosen);
  const auto power = [&](std::size_t e) { return std::exp(scores[e] - scores[taken.front()]); };
  std::vector<ExpertShare> shares;
  if (experts.shares == ShareRule::of_near) {
    // The next expert's softmax leaves out those that were taken before it.
    std::vector<std::uint8_t> gone(experts.count, 0);
    for (const std::size_t e : taken) {
      double sum = 0;
      for (std::size_t other = 0; other < experts.count; ++other) {
        const double away = scores[e] - scores[other];
        const bool far = away / std::max(std::abs(scores[other]), scores[e]) > experts.nearness;
        if (!far && gone[other] == 0) sum += std::exp(-away);
      }
      shares.push_back({e, 1 / sum});
      gone[e] = 1;
    }
    return shares;
  }
  const bool sigmoids = by_sigmoid(experts.shares);
  const auto part = [&](std::size_t e) { return sigmoids ? sigmoid(scores[e]) : power(e); };
  double sum = experts.shares == ShareRule::sigmoid ? 1 : 0;
  if (experts.shares == ShareRule::of_all) {
    for (std::size_t e = 0; e < experts.count; ++e) sum += part(e);
  } else if (sum == 0) {
    for (const std::size_t e : taken) sum += part(e);
    sum += experts.sum_plus;
  }
  for (const std::size_t e : taken) {
    const double factor = experts.factors.empty() ? 1 : experts.factors[e];
    shares.push_back({e, experts.scale * factor * part(e) / sum});
  }
  return shares;
}

double QueryGrowth::at(std::size_t position) const noexcept {
  return 1 + scale * std::log1p(std::floor(static_cast<double>(position + shift) / length));
}

double xielu(double x, const Xielu& constants) noexcept {
  const double linear = constants.beta * x;
  return x > 0 ? constants.positive * x * x + linear
               : constants.negative * (std::expm1(std::min(x, constants.eps)) - x) + linear;
}

double softplus(double x) noexcept {
  return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x)));
}

LayerStep step(const Layer& layer, const Tensor& x, const Tensor& memory,
               const StepOptions& options) {
  return LayerPass(layer, options).pass(x, memory);
}

ActivationCurve curve_of(Activation activation) {
  using kernels::Curve;
  switch (activation) {
    case Activation::relu:
      return {Curve::relu};
    case Activation::relu_squared:
      return {Curve::relu_squared};
    case Activation::gelu:
      return {Curve::gelu};
    case Activation::gelu_tanh:
      return {Curve::gelu_by_tanh, std::numbers::sqrt2 * std::numbers::inv_sqrtpi};
    case Activation::gelu_bloom:
      return {Curve::gelu_by_tanh, 0.79788456};
    case Activation::quick_gelu:
      return {Curve::sigmoid, 1.702};
    case Activation::silu:
      break;
  }
  return {Curve::sigmoid, 1};
}

}  // namespace attn
