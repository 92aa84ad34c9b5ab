#include "run/computation.hpp"

#include <utility>

#include "document/mask_reader.hpp"
#include "support/overloaded.hpp"

namespace attn {
namespace {

// What stands for a bin of positions: its first one, by its label or, made up as pictures do, its
// number.
std::vector<std::string> bin_labels(const std::vector<std::string>& labels, const char* prefix,
                                    std::size_t positions, std::size_t bins) {
  if (positions == bins) return labels;
  std::vector<std::string> result;
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const std::size_t first = (bin * positions + bins - 1) / bins;
    result.push_back(labels.empty() ? prefix + std::to_string(first + 1) : labels[first]);
  }
  return result;
}

void name_bins(std::vector<std::vector<std::string>>& lists, const char* prefix,
               std::size_t positions, std::size_t bins) {
  if (lists.empty()) lists.emplace_back();
  for (auto& labels : lists) labels = bin_labels(labels, prefix, positions, bins);
  if (lists[0].empty()) lists.clear();
}

// "128", or "2 to 3" where the bins are not of one size.
std::string bin_size(std::size_t positions, std::size_t bins) {
  const std::size_t least = positions / bins;
  return std::to_string(least) + (positions % bins == 0 ? "" : " to " + std::to_string(least + 1));
}

void name_bins(WeightMap& map, const Pooling& pooling, const Shape& from) {
  const Shape& shape = map.weights.shape();
  const std::size_t queries = shape[shape.size() - 2], keys = shape.back();
  name_bins(map.labels.query, "Q_", from[0], queries);
  name_bins(map.labels.key, "K_", from[1], keys);
  if (from[0] == queries && from[1] == keys) return;
  const bool largest = pooling.reduction == Pooling::Reduction::max;
  map.cells = std::string(largest ? "Largest" : "Mean") + " of " + bin_size(from[0], queries) +
              " × " + bin_size(from[1], keys) + " Weights a Cell";
}

class Collector {
 public:
  explicit Collector(const DocumentRequest& request) : request_(request) {
    for (const NamedTensor& tensor : request.tokens) add(tensor.name, tensor.tensor);
  }

  void add(const std::string& name, const Tensor& tensor) {
    if (tensor) result_.tensors.emplace_back(name, tensor);
  }

  // Everything but the output, which layers have once for all.
  void add_attention(const AttentionResult& result, const std::string& prefix, const Mask& mask,
                     Labels labels) {
    add(prefix + "weights", result.weights);
    add(prefix + "pooled_weights", result.pooled);
    add(prefix + "pooled_allowed", result.pooled_allowed);
    add(prefix + "dropped", result.dropped);
    add(prefix + "allowed", result.allowed);
    add(prefix + "scores", result.scores);
    add(prefix + "capped", result.capped);
    add(prefix + "masked", result.masked);
    add(prefix + "lse", result.lse);
    result_.empty_rows += result.empty_rows;
    WeightMap map{prefix,
                  result.weights,
                  result.allowed,
                  result.scores,
                  result.capped,
                  result.masked,
                  std::move(labels),
                  mask_text(mask),
                  {},
                  false};
    if (result.pooled) {
      map.weights = result.pooled;
      map.allowed = result.pooled_allowed;
      name_bins(map, *request_.options().pool, result.pooled_from);
    }
    if (map.weights) {
      result_.shapes.emplace_back(prefix + (result.pooled ? "pooled_weights" : "weights"),
                                  map.weights.shape());
      map.heads_only = request_.heads_only;
    }
    result_.maps.push_back(std::move(map));
  }

  void add_output(const Tensor& output) {
    add("output", output);
    if (output) result_.shapes.emplace_back("output", output.shape());
  }

  Computation finish() { return std::move(result_); }

 private:
  const DocumentRequest& request_;
  Computation result_;
};

}  // namespace

Computation compute(const DocumentRequest& request) {
  Collector results(request);
  const Mask& mask = request.options().mask;
  const auto add = [&](const AttentionResult& result) {
    results.add_attention(result, "", mask, request.labels);
    results.add_output(result.output);
  };
  const auto add_layers = [&](const TransformerRequest& transformer) {
    const TransformerResult result = transform(transformer);
    for (std::size_t i = 0; i < result.layers.size(); ++i) {
      const std::string prefix =
          result.layers.size() > 1 ? "layers." + std::to_string(i) + "." : "";
      // A decoder's queries attend to themselves first; the key labels are those of its memory.
      const Labels own{request.labels.query,
                       transformer.decoder ? request.labels.query : request.labels.key};
      results.add_attention(result.layers[i].self, prefix + "self.", mask, own);
      if (transformer.decoder) {
        results.add_attention(result.layers[i].cross, prefix + "cross.", transformer.memory_mask,
                              request.labels);
      }
    }
    results.add_output(result.output);
  };
  std::visit(Overloaded{[&](const AttentionRequest& attention) { add(attend(attention)); },
                        [&](const ProjectedAttentionRequest& attention) {
                          add(attend_projected(attention));
                        },
                        add_layers},
             request.attention);
  return results.finish();
}

}  // namespace attn
