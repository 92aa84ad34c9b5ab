#include "layers/embedding_and_head.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Rows of a table [1,L,E]. Each is read by itself, as most of a vocabulary plays no part.
Tensor rows_for(const StoredMatrix& table, const std::vector<std::int64_t>& ids, DType dtype) {
  return table.rows_at(ids, dtype).reshaped({1, ids.size(), table.shape()[1]});
}

// Rows x [1,L,E] with zeros for hidden tokens and the others scaled up.
Tensor without_hidden(const HiddenTokens& hidden, const std::vector<std::int64_t>& ids,
                      const Tensor& x) {
  const auto count = static_cast<double>(std::count(ids.begin(), ids.end(), hidden.id));
  const double factor = (1 - hidden.trained) / (1 - count / static_cast<double>(ids.size()));
  const std::size_t width = x.shape().back();
  return with_floats(x, [&]<class T>(std::span<const T> from) {
    std::vector<T> y(from.size(), T(0));
    for (std::size_t i = 0; i < y.size(); ++i) {
      if (ids[i / width] == hidden.id) continue;
      y[i] = static_cast<T>(static_cast<double>(from[i]) * factor);
    }
    return Tensor(x.shape(), std::move(y));
  });
}

// The rows of the position table.
std::vector<std::int64_t> learned_places(const Embedding& embedding,
                                         const std::vector<std::int64_t>& ids) {
  std::vector<std::int64_t> places;
  places.reserve(ids.size());
  auto next = static_cast<std::int64_t>(embedding.first_position);
  for (const std::int64_t id : ids) places.push_back(embedding.padding == id ? id : next++);
  return places;
}

}  // namespace

Embedding Embedding::behind(const std::vector<std::int64_t>& ids) const {
  Embedding own = *this;
  const std::ptrdiff_t fillers = padding ? std::ranges::count(ids, *padding) : 0;
  own.first_position += ids.size() - static_cast<std::size_t>(fillers);
  if (own.sinusoidal) own.sinusoidal->first += ids.size();
  return own;
}

EmbeddedTerms embedded_terms(const Embedding& embedding, const std::vector<std::int64_t>& ids,
                             const std::vector<std::int64_t>& types,
                             const AttentionOptions& options) {
  const std::size_t threads = options.threads;
  const DType dtype = options.dtype;
  EmbeddedTerms terms;
  Tensor& x = terms.tokens;
  x = rows_for(embedding.tokens, ids, dtype);
  if (embedding.scale != 1) {
    x = mapped(
        threads, [&](double v) { return v * embedding.scale; }, x);
  }
  if (embedding.token_norm) x = apply(*embedding.token_norm, x, options.eps, threads);
  if (embedding.hidden) x = without_hidden(*embedding.hidden, ids, x);
  const StoredMatrix& positions = embedding.positions;
  // A table as wide as the states is added behind the projection.
  terms.projected = embedding.projection && positions && positions.shape()[1] != x.shape().back();
  if (terms.projected) x = apply(embedding.projection, x, threads);
  if (positions) {
    terms.positions = rows_for(positions, learned_places(embedding, ids), dtype);
  } else if (embedding.sinusoidal) {
    terms.positions =
        sines_then_cosines(ids.size(), x.shape().back(), *embedding.sinusoidal).converted(dtype);
  }
  if (embedding.types) {
    const std::vector<std::int64_t> zeros(types.empty() ? ids.size() : 0, 0);
    terms.types = rows_for(embedding.types, types.empty() ? zeros : types, dtype);
  }
  if (embedding.projection && embedding.projects_terms) {
    for (Tensor* term : {&terms.tokens, &terms.positions, &terms.types}) {
      if (*term) *term = apply(embedding.projection, *term, threads);
    }
    terms.projected = true;
  }
  return terms;
}

Tensor embed(const Embedding& embedding, const std::vector<std::int64_t>& ids,
             const std::vector<std::int64_t>& types, const AttentionOptions& options) {
  const std::size_t threads = options.threads;
  const EmbeddedTerms terms = embedded_terms(embedding, ids, types, options);
  Tensor x = terms.tokens;
  if (terms.positions) x = sum(x, terms.positions, threads);
  if (terms.types) x = sum(x, terms.types, threads);
  if (embedding.norm) x = apply(*embedding.norm, x, options.eps, threads);
  if (embedding.projection && !terms.projected) x = apply(embedding.projection, x, threads);
  return x;
}

Tensor read_layer_tokens(const LayerTokens& layers, const std::vector<std::int64_t>& ids,
                         const Tensor& embedded, const AttentionOptions& options) {
  std::vector<std::int64_t> known = ids;
  const auto words = static_cast<std::int64_t>(layers.tokens.shape()[0]);
  for (std::int64_t& id : known) id = id < words ? id : 0;
  const Tensor rows = rows_for(layers.tokens, known, DType::float64);
  const double divisor = std::sqrt(static_cast<double>(embedded.shape().back()));
  const Tensor made = mapped(
      options.threads, [=](double x) { return x / divisor; },
      apply(layers.projection, embedded.converted(DType::float64), options.threads));
  const Tensor parts = apply(layers.norm, made.reshaped({made.size() / layers.width, layers.width}),
                             options.eps, options.threads);
  std::vector<double> all;
  all.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    all.push_back((parts.values<double>()[i] + layers.scale * rows.values<double>()[i]) /
                  std::numbers::sqrt2);
  }
  return Tensor(made.shape(), std::move(all)).converted(embedded.dtype());
}

Tensor layer_part(const std::optional<LayerTokens>& layers, const Tensor& all, std::size_t n) {
  if (!layers) return {};
  std::vector<std::size_t> columns;
  for (std::size_t i = 0; i < layers->width; ++i) columns.push_back(n * layers->width + i);
  return picked(all, columns, all.rank() - 1);
}

Tensor sines_then_cosines(std::size_t length, std::size_t width, const Sinusoids& rule) {
  std::vector<double> x(length * width);
  const std::size_t half = rule.closed ? width / 2 : (width + 1) / 2;
  const double steps = rule.closed ? static_cast<double>(half) - 1 : static_cast<double>(width) / 2;
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t k = 0; k < (rule.closed ? 2 * half : width); ++k) {
      const std::size_t pair = k < half ? k : k - half;
      const double angle = static_cast<double>(i + rule.first) /
                           std::pow(10000.0, static_cast<double>(pair) / steps);
      x[i * width + k] = k < half ? std::sin(angle) : std::cos(angle);
    }
  }
  return {{1, length, width}, std::move(x)};
}

Tensor LogitsHead::bent(const Tensor& x, std::size_t threads) const {
  if (activation) return apply(dense, x, threads, activating(curve_of(*activation)));
  return mapped(
      threads, [](double v) { return std::tanh(v); }, apply(dense, x, threads));
}

Tensor LogitsHead::logits(Tensor x, double eps, std::size_t threads) const {
  if (dense) x = bent(x, threads);
  if (norm) x = apply(*norm, x, eps, threads);
  if (scale != 1) {
    x = mapped(
        threads, [&](double v) { return v * scale; }, x);
  }
  x = apply(words, x, threads);
  if (!softcap) return x;
  return mapped(
      threads, [cap = *softcap](double v) { return cap * std::tanh(v / cap); }, x);
}

double log_sum_exp(std::span<const double> logits) {
  const double largest = *std::ranges::max_element(logits);
  double sum = 0;
  for (const double logit : logits) sum += std::exp(logit - largest);
  return largest + std::log(sum);
}

Tensor Stack::finish(const Tensor& states) const {
  const Tensor x = leaving ? leaving(states) : states;
  const Tensor y = final_norm ? apply(*final_norm, x, options.eps, options.threads) : x;
  return output_projection ? apply(output_projection, y, options.threads) : y;
}

namespace {

// The pixels of each patch [n,3·P·P], row by row of patches, channel by channel within one.
Tensor patches_of(const Tensor& picture, std::size_t patch) {
  const Tensor numbers = picture.converted(DType::float64);
  const auto from = numbers.values<double>();
  const std::size_t height = picture.shape()[1], width = picture.shape()[2];
  const std::size_t rows = height / patch, columns = width / patch;
  std::vector<double> all;
  all.reserve(rows * columns * 3 * patch * patch);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      for (std::size_t line = 0; line < 3 * patch; ++line) {
        const std::size_t channel = line / patch, y = row * patch + line % patch;
        const auto pixels = from.subspan((channel * height + y) * width + column * patch, patch);
        all.insert(all.end(), pixels.begin(), pixels.end());
      }
    }
  }
  return Tensor({rows * columns, 3 * patch * patch}, std::move(all)).converted(picture.dtype());
}

}  // namespace

Tensor embed_picture(const PatchEmbedding& embedding, const Tensor& picture,
                     const AttentionOptions& options) {
  const auto typed = [&](const Tensor& x) { return x.converted(options.dtype); };
  Tensor x = apply(embedding.pixels, patches_of(typed(picture), embedding.patch), options.threads);
  if (embedding.first) x = concatenated(std::vector{typed(embedding.first), x});
  if (embedding.positions) x = sum(x, typed(embedding.positions), options.threads);
  if (embedding.registers) {
    const std::size_t before = embedding.first ? embedding.first.shape()[0] : 0;
    std::vector<Tensor> parts;
    if (before > 0) parts.push_back(rows_of(x, 0, before));
    parts.push_back(typed(embedding.registers));
    parts.push_back(rows_of(x, before, x.shape()[0] - before));
    x = concatenated(parts);
  }
  if (embedding.norm) x = apply(*embedding.norm, x, options.eps, options.threads);
  return x.reshaped({1, x.shape()[0], x.shape()[1]});
}

}  // namespace attn
