#include "view/filed_attentions.hpp"

#include <algorithm>
#include <utility>

#include "attention/attention_name.hpp"
#include "maps/map_selection.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_names.hpp"
#include "support/translated.hpp"
#include "view/hidden_reasons.hpp"
#include "view/map_rows.hpp"

namespace attn {
namespace {

std::vector<std::size_t> heads_of(const Tensor& maps, const MapSelection& selection) {
  return numbers_in(selection.chosen_heads, maps.shape()[1], "MapSelection::chosen_heads", "head",
                    "heads");
}

std::vector<MapTokens> tokens_of(const std::vector<std::vector<std::string>>& lists,
                                 std::size_t samples, const HeadCounting& counting) {
  std::vector<MapTokens> tokens;
  for (std::size_t b = 0; b < samples && !lists.empty(); ++b) {
    tokens.push_back(labelled_tokens(Labels::of_sample(lists, b), counting));
  }
  return tokens;
}

}  // namespace

FiledAttentions::FiledAttentions(const ViewOptions& options, std::shared_ptr<ResultReader> first)
    : options_(options), first_(std::move(first)) {
  MapRequest request;
  request.input = options.document.input;
  request.others = options.others;
  request.name = options.name;
  request.axes = options.axes;
  request.labels = options.labels;
  request.selection.layers = options.selection.layers;
  request.selection.layers_together = options.selection.layers_together;
  request.files = options.document.files;
  stacks_ =
      all_stacks(request, options.stages ? MapContents::stages : MapContents::weights, first_);
}

ViewedInput FiledAttentions::input() {
  ViewedInput input;
  input.title = first_->title();
  bool samples_only = false, stages = false;
  for (FiledMaps& stack : stacks_) {
    stack.each([&](const AttentionMap& map) {
      check_is_map(map);
      const Maps sizes(map.numbers, map.heads_only);
      samples_only = samples_only || (map.numbers.rank() == 3 && !map.heads_only);
      stages = stages || map.scores;
      const std::size_t heads =
          heads_of(as_maps(map.numbers, map.heads_only), options_.selection).size();
      std::size_t tensors = 1;
      for (const Tensor* stage : {&map.scores, &map.capped, &map.masked}) {
        if (*stage) ++tensors;
      }
      input.sizes.push_back({sizes.samples() * heads * tensors, sizes.queries(), sizes.keys()});
    });
  }
  if (samples_only && !first_->is_result() && options_.axes.empty()) {
    input.warnings.emplace_back(translated(
        "a tensor of three axes is taken as samples of one head each, [samples,queries,keys]: "
        "reshape it to [1,heads,queries,keys] if they are heads"));
  }
  if (options_.stages && !stages) {
    input.warnings.emplace_back(translated(
        "the input holds no steps of the score: compute it with run() and RunOptions::stages"));
  }
  return input;
}

void FiledAttentions::walk(const std::function<void(const ViewedAttention&)>& take) {
  for (FiledMaps& stack : stacks_) {
    stack.each([&](const AttentionMap& map) { take(viewed(map)); });
  }
}

ViewedAttention FiledAttentions::viewed(const AttentionMap& map) const {
  ViewedAttention viewed;
  AttentionMaps& maps = viewed.maps;
  viewed.tensor = map.holds_weights() ? "weights" : map.tensor;
  viewed.tensor.erase(0, viewed.tensor.rfind('.') + 1);  // npos + 1 = 0
  viewed.holds_weights = map.holds_weights();
  maps.name = map.name;
  viewed.stack = map.tensor.empty() || is_map(map.tensor)
                     ? maps.name.stack_title()
                     : pattern_of(maps.name.text()).value_or(maps.name.text());
  viewed.title = map.place.empty() ? AttentionName::of_tensor(map.tensor).title() : map.place;

  const bool floats = first_->holds_floats();
  const auto numbers = [&](const Tensor& tensor) {
    const Tensor all = as_maps(tensor, map.heads_only);
    return floats ? all.converted(DType::float32) : all;
  };
  maps.weights = numbers(map.numbers);
  maps.allowed = as_maps(map.allowed, map.heads_only);
  const std::size_t of = maps.weights.shape()[1], samples = maps.weights.shape()[0];
  const std::vector<std::size_t> heads = heads_of(maps.weights, options_.selection);
  if (heads.size() == of) {
    viewed.heads_a_group = map.heads_per_group;
  } else {
    viewed.heads = heads;
  }
  const auto chosen = [&](const Tensor& tensor) { return maps_of_heads(tensor, heads, of); };
  maps.weights = chosen(maps.weights);
  maps.allowed = chosen(maps.allowed);
  const auto add_stage = [&](const char* name, const Tensor& stage) {
    if (stage) viewed.stages.emplace_back(name, chosen(numbers(stage)));
  };
  add_stage("scores", map.scores);
  add_stage("capped", map.capped);
  add_stage("masked", map.masked);
  maps.same_positions = maps.weights.shape()[2] == maps.weights.shape()[3] &&
                        !maps.name.is_cross() &&
                        (map.labels.query == map.labels.key || map.labels.either);
  viewed.labels = map.labels;
  maps.queries = tokens_of(map.labels.query, samples, options_.counting);
  maps.keys = tokens_of(map.labels.key, samples, options_.counting);
  viewed.hidden_because = apparent_reasons(maps.allowed, samples, maps.same_positions);
  return viewed;
}

}  // namespace attn
