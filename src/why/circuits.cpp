#include "why/circuits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <Eigen/SVD>

#include "attn/error.hpp"

#include "attention/linear.hpp"
#include "models/classification.hpp"
#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tensor/operations.hpp"
#include "why/frozen_pass.hpp"

namespace attn {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Rows `first` … `first + count` − 1 as a matrix.
Matrix block(const Rows& rows, std::size_t first, std::size_t count) {
  return Eigen::Map<const Matrix>(rows.row(first), static_cast<Eigen::Index>(count),
                                  static_cast<Eigen::Index>(rows.width));
}

// R of Wᵀ = Q R with orthonormal columns of Q, for W [d,D]: ‖Wᵀ X‖ = ‖R X‖ for every X.
Matrix triangle(const Matrix& w) {
  const Eigen::HouseholderQR<Matrix> qr(w.transpose());
  const Eigen::Index rows = std::min(w.rows(), w.cols());
  return qr.matrixQR().topRows(rows).triangularView<Eigen::Upper>();
}

std::vector<double> singular_values(const Matrix& matrix) {
  const Eigen::JacobiSVD<Matrix> svd(matrix);
  return {svd.singularValues().begin(), svd.singularValues().end()};
}

std::vector<std::complex<double>> eigenvalues_of(const Matrix& matrix) {
  const Eigen::EigenSolver<Matrix> solver(matrix, false);
  std::vector<std::complex<double>> all(solver.eigenvalues().begin(), solver.eigenvalues().end());
  std::ranges::stable_sort(all,
                           [](const auto& a, const auto& b) { return std::abs(a) > std::abs(b); });
  return all;
}

std::vector<double> doubles(const Tensor& tensor) {
  const Tensor numbers = tensor.converted(DType::float64);
  return {numbers.values<double>().begin(), numbers.values<double>().end()};
}

void centre_rows(Rows& rows) {
  for (std::size_t i = 0; i < rows.count(); ++i) {
    double* const row = rows.row(i);
    const double mean =
        std::accumulate(row, row + rows.width, 0.0) / static_cast<double>(rows.width);
    for (std::size_t k = 0; k < rows.width; ++k) row[k] -= mean;
  }
}

// Each row times the weights of a norm that is read through, less its mean after a layer norm.
void fold(const std::optional<Norm>& norm, Rows& rows) {
  if (!norm) return;
  if (norm->weight) {
    const std::vector<double> weight = doubles(norm->weight);
    for (std::size_t i = 0; i < rows.count(); ++i) {
      for (std::size_t k = 0; k < rows.width; ++k) rows.row(i)[k] *= weight[k];
    }
  }
  if (norm->kind == NormKind::layer) centre_rows(rows);
}

// Row i times weight i of a norm of queries or keys, which one head's or all heads' weights repeat.
void scale_rows(const std::optional<Norm>& norm, Rows& rows) {
  if (!norm || !norm->weight) return;
  const std::vector<double> weight = doubles(norm->weight);
  for (std::size_t i = 0; i < rows.count(); ++i) {
    for (std::size_t k = 0; k < rows.width; ++k) rows.row(i)[k] *= weight[i % weight.size()];
  }
}

// Matrices one below the other, as a tensor.
Tensor stacked(const std::vector<Matrix>& all) {
  std::vector<double> numbers;
  for (const Matrix& one : all) numbers.insert(numbers.end(), one.data(), one.data() + one.size());
  const auto columns = static_cast<std::size_t>(all.front().cols());
  const Shape shape{numbers.size() / columns, columns};
  return {shape, std::move(numbers)};
}

// x Wᵀ
Tensor times(const Tensor& x, const Tensor& w, std::size_t threads) {
  return apply(StoredLinear(StoredMatrix(w), {}), x, threads);
}

}  // namespace

std::optional<double> HeadCircuit::copying() const {
  double sum = 0, sizes = 0;
  for (const std::complex<double>& value : eigenvalues) {
    sum += value.real();
    sizes += std::abs(value);
  }
  return sizes == 0 ? std::nullopt : std::optional(sum / sizes);
}

/// The matrices of a layer's heads, as rows of the stream's width: queries and values as they read
/// it, keys likewise, outputs as they write it.
struct ModelCircuits::LayerMatrices {
  std::size_t heads = 0, group = 1;  // query heads that share a key head
  std::size_t width = 0, value_width = 0;
  Rows query, key, value, output;

  Matrix q(std::size_t head) const { return block(query, head * width, width); }
  Matrix k(std::size_t head) const { return block(key, head / group * width, width); }
  Matrix v(std::size_t head) const { return block(value, head / group * value_width, value_width); }
  Matrix o(std::size_t head) const { return block(output, head * value_width, value_width); }
};

/// The heads of a layer, as earlier ones feed later ones. Matrices [heads · r,D] one below the
/// other have the Frobenius norms of W_OV, W_QK, W_QKᵀ and W_OV.
struct ModelCircuits::LayerFeeds {
  std::size_t first = 0, count = 0;  // its heads among those of the stack
  Tensor written;                    // R of W_V times W_O
  std::vector<double> sizes;         // norms of these by head
  std::array<Tensor, composition_inputs> reads;
  std::array<std::vector<double>, composition_inputs> read_sizes;
};

ModelCircuits::ModelCircuits(const ModelPass& pass)
    : model_(pass.model),
      threads_(pass.options.threads),
      options_{.dtype = DType::float64, .threads = threads_, .wanted = {.weights = false}},
      name_(last_stack_of(model_)),
      stack_(read_stack({model_, pass.weights, pass.texts, options_}, model_.stacks.back())) {
  if (model_.streams) {
    throw input_error(
        translated("circuits are those of heads that write into one stream of states"),
        "CircuitsOptions::model", translated("name another model"));
  }
  if (has_head(model_, pass.weights)) words_ = read_head(model_, pass.weights);
}

ModelCircuits::LayerMatrices ModelCircuits::matrices(std::size_t n) const {
  const Layer layer = stack_.layer(n);
  const AttentionWeights& self = layer.weights.self;
  if (self.latent) {
    throw input_error(translated("the queries and keys of the model are made of narrow vectors"),
                      "CircuitsOptions::model",
                      translated("name a model whose heads read the states themselves"));
  }
  LayerMatrices own;
  own.heads = layer.spec.heads.value_or(1);
  const std::size_t kv_heads = layer.spec.kv_heads.value_or(own.heads);
  own.group = own.heads / kv_heads;
  own.query = rows_of(self.query.weight);
  own.key = rows_of(self.key.weight);
  own.value = rows_of(self.value.weight);
  own.width = own.query.count() / own.heads;
  own.value_width = own.value.count() / kv_heads;
  for (Rows* rows : {&own.query, &own.key, &own.value}) fold(layer.weights.before_attention, *rows);
  for (const auto* norms : {&self.query_norm, &layer.spec.self.query_norm}) {
    scale_rows(*norms, own.query);
  }
  for (const auto* norms : {&self.key_norm, &layer.spec.self.key_norm}) scale_rows(*norms, own.key);
  own.output = columns_of(self.output.weight);
  for (double& x : own.output.numbers) x *= layer.spec.branch_scale;
  if (const auto& norm = layer.weights.after_attention) {
    if (norm->kind == NormKind::layer) centre_rows(own.output);
    fold(Norm{norm->weight, {}, NormKind::rms}, own.output);
  }
  const auto& read = layer.weights.before_attention;
  if (read && read->kind == NormKind::layer) centre_rows(own.output);
  return own;
}

bool ModelCircuits::has_tokens() const {
  return words_ && !words_->dense && !stack_.output_projection && !stack_.embedding.projection &&
         stack_.embedding.tokens;
}

// Σ e_t u_tᵀ [D,D] over all tokens, with the rows e of the embedding and u of the head, these as
// they read the stream and less their mean over all tokens.
Tensor ModelCircuits::embedding_by_words() const {
  constexpr std::size_t tokens_at_once = 4096;
  const std::size_t width = stack_.embedding.tokens.shape()[1],
                    tokens = std::min(stack_.embedding.tokens.shape()[0], words_->size());
  std::vector<double> sums(width * width, 0), of_words(width, 0), of_rows(width, 0);
  const auto add = [](const Rows& rows, std::vector<double>& to) {
    for (std::size_t i = 0; i < rows.count(); ++i)
      add_scaled(1, rows.row(i), rows.width, to.data());
  };
  for (std::size_t first = 0; first < tokens; first += tokens_at_once) {
    check_time();
    const std::size_t count = std::min(tokens_at_once, tokens - first);
    const Rows rows = rows_of(stack_.embedding.tokens.rows(first, count));
    Rows words = rows_of(words_->words.weight.rows(first, count));
    fold(stack_.final_norm, words);
    add(rows, of_rows);
    add(words, of_words);
    const StoredMatrix by_column(Tensor({count, width}, std::move(words.numbers)), true);
    const Tensor columns = permuted(Tensor({count, width}, rows.numbers), {1, 0});
    const Tensor part = apply(StoredLinear(by_column, {}), columns, threads_);
    add_scaled(1, part.values<double>().data(), sums.size(), sums.data());
  }
  // Logits that are capped do not count up to a common number.
  for (std::size_t i = 0; i < width && !words_->softcap; ++i) {
    add_scaled(-of_rows[i] / static_cast<double>(tokens), of_words.data(), width,
               sums.data() + i * width);
  }
  const double scale = stack_.embedding.scale * words_->scale;
  for (double& x : sums) x *= scale;
  return {{width, width}, std::move(sums)};
}

ModelCircuits::LayerFeeds ModelCircuits::read_layer(std::size_t n, const Tensor& tokens,
                                                    std::vector<HeadCircuit>& heads) const {
  const LayerMatrices layer = matrices(n);
  const std::size_t first = heads.size(), count = layer.heads;
  heads.resize(first + count);
  std::vector<Matrix> written(count);
  std::array<std::vector<Matrix>, composition_inputs> reads;
  for (auto& of_input : reads) of_input.resize(count);
  const Tensor by_tokens =
      tokens ? times(Tensor({layer.output.count(), layer.output.width}, layer.output.numbers),
                     tokens, threads_)
             : Tensor();
  parallel_for(count, threads_, [&](std::size_t h) {
    const Matrix q = layer.q(h), k = layer.k(h), v = layer.v(h), o = layer.o(h);
    const Matrix of_q = triangle(q), of_k = triangle(k), of_v = triangle(v), of_o = triangle(o);
    written[h] = of_v * o;
    reads[0][h] = of_k * q;
    reads[1][h] = of_q * k;
    reads[2][h] = of_o * v;
    HeadCircuit& own = heads[first + h];
    own.head = ModelPlace{name_, n}.with_head(h);
    own.ov_norm = written[h].norm();
    own.qk_norm = reads[0][h].norm();
    own.ov_values = singular_values(of_v * of_o.transpose());
    own.qk_values = singular_values(of_q * of_k.transpose());
    if (!tokens) return;
    // The eigenvalues of E V O U but for zeros are those of O U E V.
    Rows rows;
    rows.width = by_tokens.shape()[1];
    const auto part = by_tokens.values<double>().subspan(h * layer.value_width * rows.width,
                                                         layer.value_width * rows.width);
    rows.numbers.assign(part.begin(), part.end());
    own.eigenvalues = eigenvalues_of(block(rows, 0, layer.value_width) * v.transpose());
  });
  LayerFeeds feeds;
  feeds.first = first;
  feeds.count = count;
  feeds.written = stacked(written);
  for (const Matrix& one : written) feeds.sizes.push_back(one.norm());
  for (std::size_t input = 0; input < composition_inputs; ++input) {
    feeds.reads[input] = stacked(reads[input]);
    for (const Matrix& one : reads[input]) feeds.read_sizes[input].push_back(one.norm());
  }
  return feeds;
}

std::vector<double> ModelCircuits::scores(const LayerFeeds& earlier, const LayerFeeds& later,
                                          std::size_t input) const {
  const Tensor product = times(earlier.written, later.reads[input], threads_);
  const std::size_t rows = product.shape()[0] / earlier.count,
                    columns = product.shape()[1] / later.count;
  std::vector<double> all(earlier.count * later.count, 0);
  parallel_for(earlier.count, threads_, [&](std::size_t a) {
    for (std::size_t b = 0; b < later.count; ++b) {
      double squares = 0;
      for (std::size_t i = 0; i < rows; ++i) {
        const double* const row =
            product.values<double>().data() + (a * rows + i) * product.shape()[1] + b * columns;
        squares += dot(row, row, columns);
      }
      const double sizes = earlier.sizes[a] * later.read_sizes[input][b];
      if (sizes != 0) all[a * later.count + b] = std::sqrt(squares) / sizes;
    }
  });
  return all;
}

StackCircuits ModelCircuits::all(const std::function<void(std::size_t, std::size_t)>& done) const {
  const Tensor tokens = has_tokens() ? embedding_by_words() : Tensor();
  StackCircuits circuits;
  struct Pair {
    std::size_t earlier, later;
    std::array<std::vector<double>, composition_inputs> scores;
  };
  std::vector<LayerFeeds> layers;
  std::vector<Pair> pairs;
  // 1. Layer by layer, as what a layer reads is of no use to later ones.
  for (std::size_t n = 0; n < stack_.count; ++n) {
    check_time();
    if (!model_.stacks.back().layers[n].has_map()) continue;
    LayerFeeds& own = layers.emplace_back(read_layer(n, tokens, circuits.heads));
    for (std::size_t before = 0; before + 1 < layers.size(); ++before) {
      Pair& pair = pairs.emplace_back();
      pair.earlier = before;
      pair.later = layers.size() - 1;
      for (std::size_t input = 0; input < composition_inputs; ++input)
        pair.scores[input] = scores(layers[before], own, input);
    }
    own.reads = {};
    if (done) done(n + 1, stack_.count);
  }
  // 2. As matrices of all heads.
  const std::size_t heads = circuits.heads.size();
  for (std::size_t input = 0; input < composition_inputs; ++input) {
    std::vector<double> numbers(heads * heads, std::numeric_limits<double>::quiet_NaN());
    for (const Pair& pair : pairs) {
      const LayerFeeds &from = layers[pair.earlier], &to = layers[pair.later];
      for (std::size_t at = 0; at < pair.scores[input].size(); ++at) {
        numbers[(from.first + at / to.count) * heads + to.first + at % to.count] =
            pair.scores[input][at];
      }
    }
    circuits.compositions[input] = Tensor({heads, heads}, std::move(numbers));
  }
  return circuits;
}

std::vector<double> ModelCircuits::embedded(std::size_t token) const {
  std::vector<double> row = stack_.embedding.tokens.row(token);
  for (double& x : row) x *= stack_.embedding.scale;
  return row;
}

std::optional<std::vector<double>> ModelCircuits::moved(const ModelPlace& head,
                                                        std::size_t token) const {
  if (!has_tokens()) return std::nullopt;
  const LayerMatrices layer = matrices(head.layer);
  const std::vector<double> row = embedded(token);
  const Eigen::Map<const Eigen::VectorXd> x(row.data(), static_cast<Eigen::Index>(row.size()));
  const Eigen::VectorXd y = layer.o(*head.head).transpose() * (layer.v(*head.head) * x);
  Rows read(1, row.size());
  std::copy(y.begin(), y.end(), read.row(0));
  // The mean of what the last norm reads goes before its weights count, as it is linear.
  const auto& norm = stack_.final_norm;
  if (norm && norm->kind == NormKind::layer) centre_rows(read);
  if (norm) fold(Norm{norm->weight, {}, NormKind::rms}, read);
  for (double& number : read.numbers) number *= words_->scale;
  const std::size_t width = read.width;
  return doubles(apply(StoredLinear(words_->words.weight, {}),
                       Tensor({1, width}, std::move(read.numbers)), threads_));
}

std::vector<double> ModelCircuits::sought(const ModelPlace& head, std::size_t token) const {
  if (!stack_.embedding.tokens || stack_.embedding.projection) {
    throw input_error(translated("the model has no embedding of the width of its states"),
                      "CircuitsOptions::model", translated("leave the tokens out"));
  }
  const LayerMatrices layer = matrices(head.layer);
  const std::vector<double> row = embedded(token);
  const Eigen::Map<const Eigen::VectorXd> x(row.data(), static_cast<Eigen::Index>(row.size()));
  const Eigen::VectorXd y =
      layer.k(*head.head).transpose() * (layer.q(*head.head) * x) * stack_.embedding.scale;
  std::vector<double> numbers(y.begin(), y.end());
  const Shape shape{1, numbers.size()};
  return doubles(apply(StoredLinear(stack_.embedding.tokens, {}), Tensor(shape, std::move(numbers)),
                       threads_));
}

}  // namespace attn
