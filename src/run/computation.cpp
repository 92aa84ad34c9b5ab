#include "run/computation.hpp"

#include <utility>

#include "run/mask_reader.hpp"

namespace attn {
namespace {

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
    add(prefix + "dropped", result.dropped);
    add(prefix + "allowed", result.allowed);
    add(prefix + "scores", result.scores);
    add(prefix + "capped", result.capped);
    add(prefix + "masked", result.masked);
    add(prefix + "lse", result.lse);
    result_.shapes.emplace_back(prefix + "weights", result.weights.shape());
    result_.empty_rows += result.empty_rows;
    const AttentionRequest& attention = request_.attention;
    const bool heads_only =
        attention.heads && result.weights.rank() == 3 && attention.query.rank() == 2;
    result_.maps.push_back({prefix, result.weights, result.allowed, result.scores, result.capped,
                            result.masked, std::move(labels), mask_text(mask), heads_only});
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
  const AttentionRequest& attention = request.attention;
  if (info(attention.kind).family != Family::transformer) {
    const AttentionResult result = info(attention.kind).family == Family::projected
                                       ? attend_projected({attention, request.projections})
                                       : attend(attention);
    results.add_attention(result, "", attention.mask, request.labels);
    results.add_output(result.output);
    return results.finish();
  }
  TransformerRequest transformer = request.transformer;
  transformer.attention = attention;
  const TransformerResult result = transform(transformer);
  for (std::size_t i = 0; i < result.layers.size(); ++i) {
    const std::string prefix = result.layers.size() > 1 ? "layers." + std::to_string(i) + "." : "";
    // A decoder's queries attend to themselves first; the key labels are those of its memory.
    const Labels own{request.labels.query,
                     transformer.decoder ? request.labels.query : request.labels.key};
    results.add_attention(result.layers[i].self, prefix + "self.", attention.mask, own);
    if (transformer.decoder) {
      results.add_attention(result.layers[i].cross, prefix + "cross.", transformer.memory_mask,
                            request.labels);
    }
  }
  results.add_output(result.output);
  return results.finish();
}

}  // namespace attn
