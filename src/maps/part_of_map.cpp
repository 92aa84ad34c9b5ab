#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "attn/error.hpp"

#include "maps/map_selection.hpp"
#include "maps/selected_map.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Lists of the samples that stay; one list for all of them stays as it is.
template <class T>
void keep_samples(std::vector<T>& lists, const std::vector<std::size_t>& samples) {
  if (lists.size() <= 1) return;
  std::vector<T> kept;
  for (const std::size_t sample : samples) kept.push_back(lists[sample]);
  lists = std::move(kept);
}

// The samples and heads of [B,H,Lq,Lk], or of a mask with an axis of 1 for all of them.
Tensor of_samples_and_heads(const Tensor& maps, const std::vector<std::size_t>& samples,
                            const std::vector<std::size_t>& heads) {
  if (!maps) return maps;
  const auto along = [](const Tensor& of, const std::vector<std::size_t>& numbers,
                        std::size_t axis) {
    return of.shape()[axis] == 1 || of.shape()[axis] == numbers.size() ? of
                                                                       : picked(of, numbers, axis);
  };
  return along(along(maps, samples, 0), heads, 1);
}

/// Samples × heads of one tensor of a map, as its selection leaves them.
struct Stacked {
  Shape shape;  // [B,H,Lq,Lk]
  std::vector<double> numbers;
  std::vector<std::uint8_t> allowed;
  Labels labels;
  bool positions_apart = false;
};

Stacked stacked(const SelectedMap& selected, const std::vector<std::size_t>& samples,
                const std::vector<std::size_t>& heads) {
  Stacked all;
  for (const std::size_t sample : samples) {
    for (const std::size_t head : heads) {
      const Heatmap one = selected_heatmap(selected, sample, head);
      const Shape shape = {samples.size(), heads.size(), one.weights.shape()[0],
                           one.weights.shape()[1]};
      if (!all.shape.empty() && all.shape != shape) {
        throw input_error(
            translated("samples {1} and {2} have different words", samples[0], sample),
            "MapSelection::merge_pieces",
            translated("choose one sample with MapSelection::chosen_samples"));
      }
      all.shape = shape;
      all.positions_apart = all.positions_apart || one.first_query != one.first_key;
      const Tensor numbers = one.weights.converted(DType::float64);
      all.numbers.insert(all.numbers.end(), numbers.values<double>().begin(),
                         numbers.values<double>().end());
      if (one.allowed) {
        const Tensor seen = one.allowed.converted(DType::boolean);
        all.allowed.insert(all.allowed.end(), seen.values<std::uint8_t>().begin(),
                           seen.values<std::uint8_t>().end());
      }
      if (head != heads[0]) continue;
      if (!one.query_labels.empty()) all.labels.query.push_back(one.query_labels);
      if (!one.key_labels.empty()) all.labels.key.push_back(one.key_labels);
      all.labels.query_spans.push_back(one.query_spans);
      all.labels.key_spans.push_back(one.key_spans);
    }
  }
  return all;
}

std::string sizes_text(const Shape& sizes) {
  std::string text;
  for (const std::size_t size : sizes)
    text += (text.empty() ? "" : ",") + (size == 0 ? "-1" : std::to_string(size));
  return text;
}

}  // namespace

Tensor taken_tensor(const Tensor& tensor, const MapRequest& request) {
  if (!tensor) return tensor;
  const Tensor part = request.slice ? sliced(tensor, *request.slice, "MapRequest::slice") : tensor;
  if (request.reshape.empty()) return part;
  Shape shape = request.reshape;
  const auto left = std::find(shape.begin(), shape.end(), std::size_t{0});
  std::size_t known = 1;
  for (const std::size_t size : shape) known *= size == 0 ? 1 : size;
  if (left != shape.end() && part.size() % known == 0) *left = part.size() / known;
  if (left != shape.end() ? *left == 0 : known != part.size()) {
    throw input_error(
        translated("the tensor {1} has {2} elements, which do not make the sizes {3}",
                   text(part.shape()), part.size(), sizes_text(request.reshape)),
        "MapRequest::reshape",
        translated("give sizes whose product is {1}; -1 is the one that is left", part.size()));
  }
  return part.reshaped(shape);
}

std::vector<MapAxis> whole_axes(std::vector<MapAxis> axes) {
  if (axes.empty()) return axes;
  const bool query = std::find(axes.begin(), axes.end(), MapAxis::query) != axes.end();
  const bool key = std::find(axes.begin(), axes.end(), MapAxis::key) != axes.end();
  if (!query && !key) axes.insert(axes.end(), {MapAxis::query, MapAxis::key});
  std::set<MapAxis> known(axes.begin(), axes.end());
  if (query != key || known.size() != axes.size()) {
    throw input_error(
        translated("these axes are not those of maps"), "MapRequest::axes",
        translated(
            "name each of layer, batch and head at most once, and query and key both or neither"));
  }
  return axes;
}

Tensor in_usual_order(const Tensor& tensor, const std::vector<MapAxis>& axes) {
  Shape order;
  for (const auto& [name, axis] : map_axes()) {
    const auto at = std::find(axes.begin(), axes.end(), axis);
    if (at != axes.end()) order.push_back(static_cast<std::size_t>(at - axes.begin()));
  }
  if (std::is_sorted(order.begin(), order.end())) return tensor;
  return permuted(tensor, order);
}

bool takes_positions(const MapSelection& selection) {
  return !selection.plain();
}

bool takes_part(const MapSelection& selection) {
  return takes_positions(selection) || selection.chosen_heads || selection.chosen_samples;
}

AttentionMap chosen_part(AttentionMap map, const MapSelection& selection) {
  if (!takes_part(selection) || !map.is_map()) return map;
  const MapChoice choice{0, 0, selection};
  SelectedMap selected(map, choice);
  selected.first_number = 0;
  std::vector<std::size_t> samples = drawn_samples(selected), heads = drawn_heads(selected);
  AttentionMap part = map;
  part.heads_only = false;
  part.heads_per_group = heads.size() == selected.numbers.heads() ? map.heads_per_group : 1;
  part.heads = heads;
  keep_samples(part.query_tokens, samples);
  keep_samples(part.key_tokens, samples);
  const auto whole = [&](const Tensor& tensor) {
    return tensor ? Maps(tensor, map.heads_only).all() : tensor;
  };
  if (!takes_positions(selection)) {
    for (Tensor* tensor : {&part.numbers, &part.allowed, &part.hidden_in_effect, &part.scores,
                           &part.capped, &part.masked})
      *tensor = of_samples_and_heads(whole(*tensor), samples, heads);
    keep_samples(part.labels.query, samples);
    keep_samples(part.labels.key, samples);
    keep_samples(part.labels.query_spans, samples);
    keep_samples(part.labels.key_spans, samples);
    return part;
  }
  if (samples_together(selection)) samples.resize(1);
  if (heads_together(selection)) part.heads = {0}, heads.resize(1);
  Stacked numbers = stacked(selected, samples, heads);
  part.numbers = Tensor(numbers.shape, std::move(numbers.numbers));
  part.hidden_in_effect = {};
  part.allowed =
      numbers.allowed.empty() ? Tensor() : Tensor(numbers.shape, std::move(numbers.allowed));
  numbers.labels.either = map.labels.either;
  part.labels = std::move(numbers.labels);
  part.query_tokens.clear();
  part.key_tokens.clear();
  part.positions_apart = numbers.positions_apart || !selection.drop.empty();
  MapChoice of_stages = choice;
  of_stages.selection.renormalize = false;
  for (Tensor* stage : {&part.scores, &part.capped, &part.masked}) {
    if (!*stage || selection.merge_pieces) {
      *stage = {};
      continue;
    }
    AttentionMap own = map;
    own.numbers = *stage;
    Stacked stage_numbers = stacked(SelectedMap(own, of_stages), samples, heads);
    *stage = Tensor(stage_numbers.shape, std::move(stage_numbers.numbers));
  }
  return part;
}

}  // namespace attn
