#include "maps/answer_shares.hpp"

#include <algorithm>

#include "tensor/elements.hpp"

namespace attn {
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
