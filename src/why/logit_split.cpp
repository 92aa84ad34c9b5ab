#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "support/translated.hpp"
#include "tensor/operations.hpp"
#include "why/frozen_pass.hpp"
#include "why/splits.hpp"

namespace attn {
namespace {

/// Goes back from a direction after the last norm to every part: what a part adds to the logit is
/// its product with the direction, taken back through the frozen norms that the part passes.
class LogitWalk {
 public:
  LogitWalk(const FrozenPass& pass, std::vector<double> direction)
      : pass_(pass), g_(std::move(direction)) {}

  /// Fills all but position, token and logit. `bias` is that of the logit itself.
  LogitSplit walk(double bias) {
    bias_ = bias;
    if (pass_.output_projection) take_back_through(pass_.output_projection);
    through(pass_.final_norm, g_);
    for (std::size_t n = pass_.layers.size(); n-- > 0;) {
      const auto& sublayers = pass_.layers[n];
      for (std::size_t s = sublayers.size(); s-- > 0;) {
        const FrozenSubLayer& sublayer = sublayers[s];
        through(sublayer.on_sum, g_);
        if (sublayer.heads == 0) {
          add(sublayer.place, dot(g_.data(), sublayer.change.row(0), g_.size()));
        } else {
          attention(sublayer);
        }
        through(sublayer.on_stream, g_);
      }
    }
    embedding();
    return finished();
  }

 private:
  void add(ModelPlace place, double contribution) {
    places_.push_back(std::move(place));
    contributions_.push_back(contribution);
  }

  // g for what enters a norm.
  void through(const FrozenNorm& norm, std::vector<double>& g) {
    if (!norm) return;
    bias_ += norm.along_shift(g.data());
    norm.apply_back(0, g.data());
  }

  // g Wᵀ of y = x Wᵀ + b, for g [out]: [in].
  std::vector<double> before(const StoredLinear& linear, const std::vector<double>& g) {
    if (linear.bias) {
      const Tensor numbers = linear.bias.converted(DType::float64);
      bias_ += dot(g.data(), numbers.values<double>().data(), g.size());
    }
    std::vector<double> to(linear.weight.shape()[1], 0.0);
    add_combination(rows_of(linear.weight), 0, g, to.data());
    return to;
  }
  void take_back_through(const StoredLinear& linear) { g_ = before(linear, g_); }

  // The heads of an attention, the last first, as all parts are collected from the end.
  void attention(const FrozenSubLayer& sublayer) {
    std::vector<double> g = g_;
    through(sublayer.on_branch, g);
    for (double& x : g) x *= sublayer.scale;
    g = before(sublayer.projection, g);
    const std::size_t heads = sublayer.heads, width = g.size() / heads;
    const std::size_t group = heads * width / sublayer.values.width;
    for (std::size_t h = heads; h-- > 0;) {
      const double* own = g.data() + h * width;
      const double* output = sublayer.outputs.row(0) + h * width;
      add(sublayer.place.with_head(h), dot(own, output, width));
      // A head that is off keeps its weights, but has written zeros.
      const bool off = std::all_of(output, output + width, [](double x) { return x == 0; });
      Sources& to = sublayer.place.crosses() ? cross_ : self_;
      to.heads.push_back(places_.back());
      std::vector<double> gated(own, own + width);
      for (std::size_t i = 0; i < width && !sublayer.gates.numbers.empty(); ++i) {
        gated[i] *= sublayer.gates.row(0)[h * width + i];
      }
      std::vector<double> row(sublayer.values.count(), 0.0);
      for (std::size_t j = 0; j < row.size() && !off; ++j) {
        const double weight = sublayer.weights.row(h)[j];
        if (weight == 0) continue;
        row[j] = weight * dot(gated.data(), sublayer.values.row(j) + h / group * width, width);
      }
      to.rows.push_back(std::move(row));
    }
  }

  void embedding() {
    if (pass_.embedding_projection) take_back_through(pass_.embedding_projection);
    through(pass_.embedding_norm, g_);
    for (std::size_t p = pass_.embedded.size(); p-- > 0;) {
      const auto& [place, rows] = pass_.embedded[p];
      add(place, dot(g_.data(), rows.row(0), g_.size()));
    }
  }

  /// Contributions of heads by the token that they read.
  struct Sources {
    std::vector<ModelPlace> heads;
    std::vector<std::vector<double>> rows;

    Tensor finish() {
      std::reverse(heads.begin(), heads.end());
      std::reverse(rows.begin(), rows.end());
      if (rows.empty()) return {};
      std::vector<double> all;
      for (const auto& row : rows) all.insert(all.end(), row.begin(), row.end());
      return {Shape{rows.size(), rows.front().size()}, std::move(all)};
    }
  };

  LogitSplit finished() {
    std::reverse(places_.begin(), places_.end());
    std::reverse(contributions_.begin(), contributions_.end());
    add({.part = ModelPlace::Part::bias}, bias_);
    LogitSplit split;
    split.places = std::move(places_);
    const Shape shape{contributions_.size()};
    split.parts = Tensor(shape, std::move(contributions_));
    split.tokens = self_.finish();
    split.cross_tokens = cross_.finish();
    split.heads = std::move(self_.heads);
    split.cross_heads = std::move(cross_.heads);
    return split;
  }

  const FrozenPass& pass_;
  std::vector<double> g_;  // direction in the stream
  double bias_ = 0;
  std::vector<ModelPlace> places_;
  std::vector<double> contributions_;
  Sources self_, cross_;
};

}  // namespace

void check_split_logits(const Architecture& model, const CheckpointWeights& weights) {
  if (!read_head(model, weights).dense) return;
  throw input_error(
      translated("the logits of {1} are not a sum over parts: the model's head has an activation "
                 "after the last state",
                 model.family),
      "WhyOptions::logit", translated("split the scores of its heads, or another model's logit"));
}

FrozenChoice kept_for_logit(const Architecture& model, std::size_t position) {
  FrozenChoice choice;
  choice.stack = last_stack_of(model);
  choice.positions = {position};
  return choice;
}

LogitSplit split_logit(const Architecture& model, const CheckpointWeights& weights,
                       const FrozenPass& pass, std::optional<std::size_t> token,
                       std::size_t threads) {
  check_split_logits(model, weights);
  LogitsHead head = read_head(model, weights);
  head.softcap.reset();
  const std::size_t position = pass.positions.front();
  const Rows state = rows_at(pass.output, pass.positions);
  const Tensor logits = head.logits(Tensor({1, 1, state.width}, state.numbers), model.eps, threads);
  const std::span<const double> all = logits.values<double>();
  const auto likeliest = std::max_element(all.begin(), all.end()) - all.begin();
  const std::size_t chosen = token.value_or(static_cast<std::size_t>(likeliest));

  std::vector<double> direction = head.words.weight.row(chosen);
  for (double& x : direction) x *= head.scale;
  double bias = 0;
  if (head.words.bias) bias = head.words.bias.converted(DType::float64).values<double>()[chosen];
  const double size = std::sqrt(dot(direction.data(), direction.data(), direction.size()) *
                                dot(state.row(0), state.row(0), state.width));
  LogitWalk walker(pass, std::move(direction));
  LogitSplit split = walker.walk(bias);
  split.position = position;
  split.token = chosen;
  split.logit = all[chosen];
  check_sum(split.parts.values<double>(), split.logit, size,
            [&] { return translated("the logit of token {1} at position {2}", chosen, position); });
  return split;
}

}  // namespace attn
