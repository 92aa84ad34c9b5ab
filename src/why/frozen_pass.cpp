#include "why/frozen_pass.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "tensor/operations.hpp"

namespace attn {
namespace {

std::vector<double> numbers_of(const Tensor& tensor) {
  const Tensor numbers = tensor.converted(DType::float64);
  return {numbers.values<double>().begin(), numbers.values<double>().end()};
}

}  // namespace

FrozenNorm::FrozenNorm(const std::optional<Norm>& norm, const Rows& x, double eps)
    : width_(x.width) {
  if (!norm) return;
  centred_ = norm->kind == NormKind::layer;
  if (norm->weight) weight_ = numbers_of(norm->weight);
  if (norm->bias) shift_ = numbers_of(norm->bias);
  for (std::size_t i = 0; i < x.count(); ++i) {
    std::vector<double> row(x.row(i), x.row(i) + width_);
    centre(row.data());
    const double variance = dot(row.data(), row.data(), width_) / static_cast<double>(width_);
    divisors_.push_back(1 / std::sqrt(variance + eps));
  }
}

FrozenNorm FrozenNorm::times(double factor, std::size_t rows, std::size_t width) const {
  FrozenNorm own = *this;
  own.width_ = width;
  if (own.divisors_.empty()) own.divisors_.assign(rows, 1);
  if (own.weight_.empty()) own.weight_.assign(width, 1);
  for (std::vector<double>* numbers : {&own.weight_, &own.shift_}) {
    for (double& x : *numbers) x *= factor;
  }
  return own;
}

void FrozenNorm::centre(double* row) const {
  if (!centred_) return;
  const double mean = std::accumulate(row, row + width_, 0.0) / static_cast<double>(width_);
  for (std::size_t k = 0; k < width_; ++k) row[k] -= mean;
}

void FrozenNorm::apply(std::size_t row, double* part) const {
  if (divisors_.empty()) return;
  centre(part);
  for (std::size_t k = 0; k < width_; ++k) {
    part[k] *= divisors_[row] * (weight_.empty() ? 1 : weight_[k]);
  }
}

void FrozenNorm::apply_back(std::size_t row, double* g) const {
  if (divisors_.empty()) return;
  for (std::size_t k = 0; k < width_; ++k) {
    g[k] *= divisors_[row] * (weight_.empty() ? 1 : weight_[k]);
  }
  centre(g);
}

void FrozenNorm::add_shift(double* part) const {
  if (!shift_.empty()) add_scaled(1, shift_.data(), width_, part);
}

double FrozenNorm::along_shift(const double* g) const {
  return shift_.empty() ? 0 : dot(g, shift_.data(), width_);
}
namespace {

// The layer after which nothing is asked for; absent = the last.
std::optional<ModelPlace> last_of(std::span<const FrozenChoice> choices) {
  std::optional<ModelPlace> last;
  for (const FrozenChoice& choice : choices) {
    if (!choice.attention) return std::nullopt;
    if (!last || is_before(*last, *choice.attention)) last = choice.attention;
  }
  return last;
}

/// Keeps of a pass what one choice asks for.
class Freezer {
 public:
  Freezer(const ModelPass& pass, const FrozenChoice& choice)
      : model_(pass.model),
        text_(pass.texts),
        choice_(choice),
        own_(stack_in(model_, choice.stack)),
        stack_(read_stack(pass, own_)) {
    frozen_.positions = choice_.positions;
    embed();
  }

  PassObserver observer() {
    return {.tensor = [this](const PassTensor& what, const Tensor& tensor) { take(what, tensor); },
            .layer =
                [this](const SamplePlace& at, const Layer& layer, const LayerStep& step) {
                  const std::size_t n = frozen_.layers.size();
                  if (!frozen_.attention && at.place == ModelPlace{choice_.stack, n}) {
                    keep(n, layer, step);
                  }
                }};
  }

  FrozenPass frozen() {
    if (!choice_.attention) {
      frozen_.final_norm = norm(stack_.final_norm, last_);
      frozen_.output_projection = stack_.output_projection;
    }
    return std::move(frozen_);
  }

 private:
  void take(const PassTensor& what, const Tensor& tensor) {
    if (what.quantity != PassTensor::Quantity::output) return;
    (what.place.stack == ModelPlace::Stack::encoder ? frozen_.memory : frozen_.output) = tensor;
  }

  FrozenNorm norm(const std::optional<Norm>& of, const Tensor& x) const {
    return of ? FrozenNorm(of, rows_at(x, choice_.positions), model_.of(own_).eps) : FrozenNorm();
  }
  FrozenNorm norm_of_sum(const std::optional<Norm>& of, const SubLayer& in) const {
    return of ? norm(of, sum(in.residual, in.branch)) : FrozenNorm();
  }

  void embed() {
    const EmbeddedTerms terms = embedded_terms(stack_.embedding, text_.read_by(own_).front(),
                                               text_.types_read_by(own_, 0), stack_.options);
    Tensor x;
    const auto add = [&](ModelPlace::Part part, const Tensor& term) {
      if (!term) return;
      frozen_.embedded.emplace_back(ModelPlace{.part = part}, rows_at(term, choice_.positions));
      x = x ? sum(x, term) : term;
    };
    add(ModelPlace::Part::embedding, terms.tokens);
    add(ModelPlace::Part::position, terms.positions);
    add(ModelPlace::Part::token_type, terms.types);
    frozen_.embedding_norm = norm(stack_.embedding.norm, x);
    if (!terms.projected) frozen_.embedding_projection = stack_.embedding.projection;
  }

  void keep(std::size_t n, const Layer& layer, const LayerStep& step) {
    const LayerSpec& spec = layer.spec;
    const LayerWeights& weights = layer.weights;
    const bool at_layer = choice_.attention && choice_.attention->layer == n;
    auto in = step.sublayers.begin();
    std::vector<FrozenSubLayer> all;

    if (weights.mixes_tokens()) {
      const FrozenNorm read = norm(weights.before_attention, in->before);
      if (at_layer && !choice_.attention->crosses()) {
        frozen_.attention = {spec, weights.self, read, step.self_request, step.self.weights};
        return;
      }
      FrozenSubLayer self;
      if (weights.mixer) {
        // Beside an attention it writes without norms of its own.
        FrozenSubLayer mixer;
        mixer.place = {choice_.stack, n, ModelPlace::Part::mixer};
        mixer.change = rows_at(weights.self.query ? step.mixed : in->branch, choice_.positions);
        (weights.self.query ? all.emplace_back() : self) = std::move(mixer);
      }
      if (weights.self.query) {
        self = attention({choice_.stack, n}, layer, step);
        self.on_branch = norm(weights.after_attention, in->scaled);
      }
      if (spec.residual_after_norm) self.on_stream = read;
      if (!spec.parallel) self.on_sum = norm_of_sum(weights.after_attention_sum, *in);
      all.push_back(std::move(self));
      ++in;
    }
    if (weights.cross.query) {
      if (at_layer) {
        frozen_.attention = {spec, weights.cross, norm(weights.before_cross, in->before),
                             step.cross_request, step.cross.weights};
        frozen_.layers.push_back(std::move(all));
        return;
      }
      FrozenSubLayer cross = attention({choice_.stack, n, ModelPlace::Part::cross}, layer, step);
      cross.on_branch = norm(weights.after_cross, in->scaled);
      cross.on_sum = norm_of_sum(weights.after_cross_sum, *in);
      all.push_back(std::move(cross));
      ++in;
    }
    last_ = step.states;
    if (!weights.feeds_forward()) {
      frozen_.layers.push_back(std::move(all));
      return;
    }
    FrozenSubLayer feed;
    feed.place = {choice_.stack, n, ModelPlace::Part::feed_forward};
    feed.change = rows_at(in->branch, choice_.positions);
    if (!spec.parallel) {
      if (spec.residual_after_norm) {
        feed.on_stream = norm(weights.before_feed_forward, in->before);
      }
      feed.on_sum = norm_of_sum(weights.after_feed_forward_sum, *in);
    }
    all.push_back(std::move(feed));
    if (weights.input_convolution) {
      ++in;
      FrozenSubLayer beside;
      beside.place = {choice_.stack, n, ModelPlace::Part::mixer};
      beside.change = rows_at(in->branch, choice_.positions);
      beside.on_sum = norm_of_sum(weights.input_convolution->norm, *in);
      all.push_back(std::move(beside));
    }
    if (weights.layer_input) {
      ++in;
      FrozenSubLayer input;
      input.place = {choice_.stack, n, ModelPlace::Part::layer_input};
      input.change = rows_at(in->branch, choice_.positions);
      all.push_back(std::move(input));
    }
    if (spec.state_scale != 1) {
      FrozenNorm& last = all.back().on_sum;
      last = last.times(spec.state_scale, choice_.positions.size(), step.states.shape().back());
    }
    frozen_.layers.push_back(std::move(all));
  }

  FrozenSubLayer attention(ModelPlace place, const Layer& layer, const LayerStep& step) const {
    const bool crosses = place.crosses();
    const AttentionResult& result = crosses ? step.cross : step.self;
    FrozenSubLayer own;
    own.place = std::move(place);
    own.scale = layer.spec.branch_scale;
    own.heads = layer.spec.heads.value_or(1);
    own.outputs = rows_at(result.output, choice_.positions);
    own.projection = (crosses ? layer.weights.cross : layer.weights.self).output;
    Rows weights_read = weights_of(result.weights, own.heads);
    for (std::size_t i = 0; i < weights_read.count(); ++i) {
      const double* row = weights_read.row(i);
      own.strongest.push_back(
          static_cast<std::size_t>(std::max_element(row, row + weights_read.width) - row));
    }
    if (choice_.attention) return own;
    const AttentionRequest& request = crosses ? step.cross_request : step.self_request;
    own.values = all_rows(value_of(request.score));
    if (request.gate) {
      own.gates = rows_at(request.gate, choice_.positions);
      for (double& x : own.gates.numbers) x = sigmoid(x);
    }
    own.weights = std::move(weights_read);
    return own;
  }

  static Rows all_rows(const Tensor& tensor) {
    std::vector<std::size_t> all(tensor.size() / tensor.shape().back());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return rows_at(tensor, all);
  }

  // Rows of the weights [1,H,Lq,Lk], the heads of a position one after the other.
  Rows weights_of(const Tensor& weights, std::size_t heads) const {
    const std::size_t queries = weights.shape()[2];
    std::vector<std::size_t> rows;
    for (const std::size_t position : choice_.positions) {
      for (std::size_t h = 0; h < heads; ++h) rows.push_back(h * queries + position);
    }
    return rows_at(weights, rows);
  }

  const Architecture& model_;
  const ModelTexts& text_;
  const FrozenChoice& choice_;
  const ModelStack& own_;
  Stack stack_;
  FrozenPass frozen_;
  Tensor last_;  // states after the last layer
};

}  // namespace

std::vector<FrozenPass> freeze(const ModelPass& pass, std::span<const FrozenChoice> choices,
                               const Progress& progress) {
  ModelOptions options = pass.options;
  options.dtype = DType::float64;
  options.wanted = {.last = last_of(choices)};
  const ModelPass own{pass.model, pass.weights, pass.texts, options};
  std::vector<Freezer> all;
  all.reserve(choices.size());
  std::vector<PassObserver> observers{{.progress = progress}};
  for (const FrozenChoice& choice : choices) {
    observers.push_back(all.emplace_back(own, choice).observer());
  }
  run_model(own, observers);
  std::vector<FrozenPass> passes;
  passes.reserve(all.size());
  for (Freezer& one : all) passes.push_back(one.frozen());
  return passes;
}

Rows rows_at(const Tensor& tensor, std::span<const std::size_t> positions) {
  const std::size_t width = tensor.shape().back();
  const Tensor numbers = tensor.converted(DType::float64);
  Rows rows(positions.size(), width);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    std::copy_n(numbers.values<double>().data() + positions[i] * width, width, rows.row(i));
  }
  return rows;
}

Tensor state_of(const Rows& rows, std::size_t row) {
  std::vector<double> state(rows.row(row), rows.row(row) + rows.width);
  return {Shape{1, 1, rows.width}, std::move(state)};
}

double dot(const double* a, const double* b, std::size_t count) {
  constexpr std::size_t lanes = 8;
  std::array<double, lanes> sums{};
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    for (std::size_t k = 0; k < lanes; ++k) sums[k] += a[i + k] * b[i + k];
  }
  double sum = 0;
  for (; i < count; ++i) sum += a[i] * b[i];
  for (const double part : sums) sum += part;
  return sum;
}

void add_scaled(double factor, const double* from, std::size_t count, double* to) {
  for (std::size_t i = 0; i < count; ++i) to[i] += factor * from[i];
}

Rows columns_of(const StoredMatrix& matrix) {
  const Rows rows = rows_of(matrix);
  Rows columns(rows.width, rows.count());
  constexpr std::size_t block = 16;  // rows whose lines of memory are kept while columns are filled
  for (std::size_t first = 0; first < rows.count(); first += block) {
    const std::size_t end = std::min(rows.count(), first + block);
    for (std::size_t k = 0; k < rows.width; ++k) {
      for (std::size_t i = first; i < end; ++i) columns.row(k)[i] = rows.row(i)[k];
    }
  }
  return columns;
}

Rows rows_of(const StoredMatrix& matrix) {
  const Tensor numbers = matrix.tensor();
  Rows rows;
  rows.width = numbers.shape()[1];
  rows.numbers.assign(numbers.values<double>().begin(), numbers.values<double>().end());
  return rows;
}

void add_combination(const Rows& rows, std::size_t first, std::span<const double> factors,
                     double* to) {
  for (std::size_t n = 0; n < factors.size(); ++n) {
    if (factors[n] != 0) add_scaled(factors[n], rows.row(first + n), rows.width, to);
  }
}

}  // namespace attn
