#include <algorithm>
#include <cmath>
#include <utility>

#include "attn/error.hpp"

#include "layers/embedding_and_head.hpp"
#include "models/classification.hpp"
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
  /// `row`: the number of the position among those of the pass.
  LogitWalk(const FrozenPass& pass, std::size_t row, std::vector<double> direction)
      : pass_(pass), row_(row), g_(std::move(direction)) {}

  /// Fills all but position, token, label and logit. `bias` is that of the logit itself.
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
          add(sublayer.place, dot(g_.data(), sublayer.change.row(row_), g_.size()));
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
    norm.apply_back(row_, g.data());
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
      const double* output = sublayer.outputs.row(row_) + h * width;
      add(sublayer.place.with_head(h), dot(own, output, width));
      // A head that is off keeps its weights, but has written zeros.
      const bool off = std::all_of(output, output + width, [](double x) { return x == 0; });
      Sources& to = sublayer.place.crosses() ? cross_ : self_;
      to.heads.push_back(places_.back());
      std::vector<double> gated(own, own + width);
      for (std::size_t i = 0; i < width && !sublayer.gates.numbers.empty(); ++i) {
        gated[i] *= sublayer.gates.row(row_)[h * width + i];
      }
      std::vector<double> row(sublayer.values.count(), 0.0);
      for (std::size_t j = 0; j < row.size() && !off; ++j) {
        const double weight = sublayer.weights.row(row_ * heads + h)[j];
        if (weight == 0) continue;
        row[j] = weight * dot(gated.data(), sublayer.values.row(j) + h / group * width, width);
      }
      to.rows.push_back(std::move(row));
      to.directions.push_back(off ? std::vector<double>(width, 0.0) : std::move(gated));
    }
  }

  void embedding() {
    if (pass_.embedding_projection) take_back_through(pass_.embedding_projection);
    through(pass_.embedding_norm, g_);
    for (std::size_t p = pass_.embedded.size(); p-- > 0;) {
      const auto& [place, rows] = pass_.embedded[p];
      add(place, dot(g_.data(), rows.row(row_), g_.size()));
    }
  }

  /// Contributions of heads by the token that they read.
  struct Sources {
    std::vector<ModelPlace> heads;
    std::vector<std::vector<double>> rows, directions;

    Tensor finish() {
      std::reverse(heads.begin(), heads.end());
      std::reverse(rows.begin(), rows.end());
      std::reverse(directions.begin(), directions.end());
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
    split.directions = std::move(self_.directions);
    return split;
  }

  const FrozenPass& pass_;
  std::size_t row_;
  std::vector<double> g_;  // direction in the stream
  double bias_ = 0;
  std::vector<ModelPlace> places_;
  std::vector<double> contributions_;
  Sources self_, cross_;
};

/// The logit g·x + bias of what a head reads.
struct Direction {
  std::vector<double> g;
  double bias = 0;
};

// At x [1,1,D], with the norm's denominators and the ratios of the function as they are there; of a
// difference of logits, the difference of both directions.
Direction direction_of(const LogitsHead& head, std::size_t chosen,
                       std::optional<std::size_t> against, const Tensor& x, double eps,
                       std::size_t threads) {
  Direction own{head.words.weight.row(chosen), 0};
  if (against) {
    const std::vector<double> other = head.words.weight.row(*against);
    add_scaled(-1, other.data(), other.size(), own.g.data());
  }
  for (double& g : own.g) g *= head.scale;
  const auto add_bias = [&own](const Tensor& bias) {
    if (!bias) return;
    const Tensor numbers = bias.converted(DType::float64);
    own.bias += dot(own.g.data(), numbers.values<double>().data(), own.g.size());
  };
  if (head.dense) {
    const Tensor before = apply(head.dense, x, threads), after = head.bent(x, threads);
    if (head.norm) {
      const std::size_t only = 0;
      const FrozenNorm norm(head.norm, rows_at(after, {&only, 1}), eps);
      own.bias += norm.along_shift(own.g.data());
      norm.apply_back(0, own.g.data());
    }
    for (std::size_t k = 0; k < own.g.size(); ++k) {
      const double z = before.values<double>()[k];
      own.g[k] *= z == 0 ? 0 : after.values<double>()[k] / z;
    }
    add_bias(head.dense.bias);
    std::vector<double> to(head.dense.weight.shape()[1], 0.0);
    add_combination(rows_of(head.dense.weight), 0, own.g, to.data());
    own.g = std::move(to);
  }
  if (head.words.bias) {
    const Tensor bias = head.words.bias.converted(DType::float64);
    own.bias += bias.values<double>()[chosen];
    if (against) own.bias -= bias.values<double>()[*against];
  }
  return own;
}

// Adds the numbers of another tensor of the shape, if there are any.
void add_to(Tensor& to, const Tensor& from) {
  if (from) to = to ? sum(to, from) : from;
}

}  // namespace

ChosenLogit::ChosenLogit(const Architecture& model, const CheckpointWeights& weights,
                         const ModelTexts& text, std::optional<std::size_t> query) {
  const std::size_t last = text.read_by(model.stacks.back()).front().size() - 1;
  read = {{query.value_or(last), 1}};
  if (!has_classifier(model, weights)) {
    head = read_head(model, weights);
    head.softcap.reset();
    return;
  }
  const Classifier classifier = Classifier::read(model, weights);
  head = classifier.head();
  labels = classifier.labels();
  using Reads = ModelClassifier::Reads;
  averaged = model.classifier->reads == Reads::mean_of_logits;
  if (model.classifier->reads != Reads::each) {
    read = classifier.read_positions(text.ids.front(), text.place);
  }
}

FrozenChoice ChosenLogit::kept(const Architecture& model) const {
  FrozenChoice choice;
  choice.stack = last_stack_of(model);
  for (const auto& [position, share] : read) choice.positions.push_back(position);
  return choice;
}

LogitSplit split_logit(const Architecture& model, const ChosenLogit& chosen, const FrozenPass& pass,
                       const LogitTerms& terms, std::size_t threads) {
  const LogitsHead& head = chosen.head;
  const Rows states = rows_at(pass.output, pass.positions);
  // What the head reads: a state for each of the logits, or the sum of the shares of all states.
  std::vector<Tensor> inputs;
  Rows sum_of_states(1, states.width);
  for (std::size_t r = 0; r < states.count(); ++r) {
    add_scaled(chosen.read[r].second, states.row(r), states.width, sum_of_states.row(0));
    if (chosen.averaged) inputs.push_back(state_of(states, r));
  }
  if (!chosen.averaged) inputs.push_back(state_of(sum_of_states, 0));
  std::vector<double> logits(head.size(), 0);
  for (std::size_t n = 0; n < inputs.size(); ++n) {
    const Tensor own = head.logits(inputs[n], model.eps, threads);
    add_scaled(chosen.averaged ? chosen.read[n].second : 1, own.values<double>().data(),
               logits.size(), logits.data());
  }
  const auto likeliest = std::ranges::max_element(logits) - logits.begin();
  LogitSplit split;
  const std::size_t wanted = terms.token.value_or(static_cast<std::size_t>(likeliest));
  double size = 0;
  Direction direction;
  for (std::size_t r = 0; r < states.count(); ++r) {
    if (r < inputs.size()) {
      direction = direction_of(head, wanted, terms.against, inputs[r], model.eps, threads);
    }
    std::vector<double> g = direction.g;
    for (double& x : g) x *= chosen.read[r].second;
    size += std::sqrt(dot(g.data(), g.data(), g.size()) *
                      dot(states.row(r), states.row(r), states.width));
    const double bias = direction.bias * (chosen.averaged || r == 0 ? 1 : 0);
    LogitSplit own = LogitWalk(pass, r, std::move(g))
                         .walk(chosen.averaged ? bias * chosen.read[r].second : bias);
    add_to(own.parts, split.parts);
    add_to(own.tokens, split.tokens);
    add_to(own.cross_tokens, split.cross_tokens);
    split = std::move(own);
  }
  split.position = pass.positions.front();
  split.token = wanted;
  split.against = terms.against;
  split.logit = logits[wanted];
  if (terms.against) split.logit -= logits[*terms.against];
  if (!chosen.labels.empty()) {
    split.label = chosen.labels[wanted];
    if (terms.against) split.against_label = chosen.labels[*terms.against];
  }
  check_sum(split.parts.values<double>(), split.logit, size, [&] {
    return terms.against
               ? translated("the difference of the logits of tokens {1} and {2} at position {3}",
                            wanted, *terms.against, split.position)
               : translated("the logit of token {1} at position {2}", wanted, split.position);
  });
  return split;
}

std::vector<LogitSplit> split_logits(const Architecture& model, const LogitsHead& head,
                                     const FrozenPass& pass, std::span<const LogitRow> rows,
                                     std::size_t threads) {
  const Rows states = rows_at(pass.output, pass.positions);
  std::vector<LogitSplit> splits;
  for (const auto& [row, token] : rows) {
    const Tensor state = state_of(states, row);
    Direction direction = direction_of(head, token, std::nullopt, state, model.eps, threads);
    const std::vector<double>& g = direction.g;
    const double size = std::sqrt(dot(g.data(), g.data(), g.size()) *
                                  dot(states.row(row), states.row(row), states.width));
    LogitSplit& split =
        splits.emplace_back(LogitWalk(pass, row, std::move(direction.g)).walk(direction.bias));
    split.position = pass.positions[row];
    split.token = token;
    split.logit = head.logits(state, model.eps, threads).values<double>()[token];
    check_sum(split.parts.values<double>(), split.logit, size, [&] {
      return translated("the logit of token {1} at position {2}", split.token, split.position);
    });
  }
  return splits;
}

}  // namespace attn
