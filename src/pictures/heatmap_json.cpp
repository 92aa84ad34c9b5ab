#include "attn/pictures.hpp"

#include "report/facts.hpp"

namespace attn {

std::string heatmap_json(const Heatmap& heatmap) {
  const bool labelled = !heatmap.query_labels.empty() || !heatmap.key_labels.empty();
  return json_text(object(
      {{"description", unless_empty(heatmap.title)},
       {"labels", only_if(labelled, object({{"query", unless_empty(heatmap.query_labels)},
                                            {"key", unless_empty(heatmap.key_labels)}}))},
       {"tensors", object({{"weights", heatmap.weights},
                           {"allowed", only_if(bool(heatmap.allowed), heatmap.allowed)}})}}));
}

}  // namespace attn
