#include "models/token_embedding.hpp"

#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>

#include "attn/layers.hpp"

#include "attention/linear.hpp"
#include "models/elementwise.hpp"
#include "tensor/elements.hpp"
#include "tensor/operations.hpp"

namespace attn {

std::string TokenEmbedding::table() const {
  return weights_.found("tokens", std::nullopt, "weight").value_or("");
}

std::size_t TokenEmbedding::width() const {
  if (const auto shape = weights_.shape("embedding_projection", std::nullopt, "weight")) {
    return shape->front();
  }
  const std::string name =
      table().empty() ? weights_.name("tokens", std::nullopt) + ".weight" : table();
  return checkpoint_.shape(name).back();
}

Tensor TokenEmbedding::embed(const std::vector<std::int64_t>& ids,
                             const std::vector<std::int64_t>& types) const {
  Tensor x = looked_up("tokens", ids);
  if (model_.embedding_scale != 1) {
    x = mapped(
        options_.threads, [&](double v) { return v * model_.embedding_scale; }, x);
  }
  const auto positions = weights_.shape("positions", std::nullopt, "weight");
  Linear projection;
  if (const Tensor weight = weights_.find("embedding_projection", std::nullopt, "weight")) {
    projection = {weight, weights_.find("embedding_projection", std::nullopt, "bias")};
  }
  if (projection.weight && positions && positions->back() != x.shape().back()) {
    x = apply(projection, x, options_.threads);
    projection = {};
  }
  if (positions) {
    x = sum(checkpoint_, x, looked_up("positions", learned_places(ids)), options_.threads);
  } else if (model_.positions == ModelPositions::sinusoidal) {
    const Tensor places = sines_then_cosines(ids.size(), x.shape().back());
    x = sum(checkpoint_, x, places.converted(options_.dtype), options_.threads);
  }
  if (weights_.has("types", std::nullopt)) {
    const std::vector<std::int64_t> own =
        types.empty() ? std::vector<std::int64_t>(ids.size(), 0) : types;
    x = sum(checkpoint_, x, looked_up("types", own), options_.threads);
  }
  x = norms_.apply(x, "embedding_norm", std::nullopt);
  if (projection.weight) x = apply(projection, x, options_.threads);
  return x;
}

// Rows of a table, each read by itself: most of a vocabulary plays no part.
Tensor TokenEmbedding::looked_up(const char* purpose, const std::vector<std::int64_t>& ids) const {
  const auto name = weights_.found(purpose, std::nullopt, "weight");
  if (!name) return checkpoint_.read(weights_.name(purpose, std::nullopt) + ".weight");
  const std::size_t width = checkpoint_.shape(*name).back();
  std::vector<double> rows;
  rows.reserve(ids.size() * width);
  for (const std::int64_t id : ids) {
    const Tensor row =
        checkpoint_.read_rows(*name, static_cast<std::size_t>(id), 1).converted(DType::float64);
    rows.insert(rows.end(), row.values<double>().begin(), row.values<double>().end());
  }
  return Tensor({1, ids.size(), width}, std::move(rows)).converted(options_.dtype);
}

Tensor sines_then_cosines(std::size_t length, std::size_t width) {
  std::vector<double> x(length * width);
  const std::size_t half = (width + 1) / 2;
  for (std::size_t i = 0; i < length; ++i) {
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t pair = k < half ? k : k - half;
      const double angle =
          static_cast<double>(i) /
          std::pow(10000.0, 2.0 * static_cast<double>(pair) / static_cast<double>(width));
      x[i * width + k] = k < half ? std::sin(angle) : std::cos(angle);
    }
  }
  return {{1, length, width}, std::move(x)};
}

// The rows of the position table. A padding token in a text of RoBERTa stays at its own place.
std::vector<std::int64_t> TokenEmbedding::learned_places(
    const std::vector<std::int64_t>& ids) const {
  std::vector<std::int64_t> places;
  auto next = static_cast<std::int64_t>(model_.first_position);
  for (const std::int64_t id : ids) {
    const bool padding = model_.longest && model_.pad_id == id;
    places.push_back(padding ? *model_.pad_id : next++);
  }
  return places;
}

}  // namespace attn
