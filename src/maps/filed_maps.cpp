#include "maps/filed_maps.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/tensor_source.hpp"
#include "maps/attention_map.hpp"
#include "maps/decoding_steps.hpp"
#include "maps/edge_maps.hpp"
#include "maps/map_selection.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_names.hpp"
#include "support/errors.hpp"
#include "support/mapped_file.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Whether the mask hides cells of the tensor. Scores are there before the mask.
bool shows_mask(const std::string& tensor) {
  return is_map(tensor) &&
         (tensor.ends_with("weights") || tensor.ends_with("masked") || tensor.ends_with("dropped"));
}

// Attention of a tensor; a tensor whose name is not one of a result's maps keeps the whole name.
AttentionName attention_of(const std::string& tensor) {
  return is_map(tensor) ? AttentionName::of_tensor(tensor) : AttentionName(tensor);
}

std::string prefix_of(const std::string& tensor) {
  return is_map(tensor) ? AttentionName::of_tensor(tensor).prefix() : "";
}

// Name of the mask of a map of weights.
std::string allowed_of(const std::string& tensor) {
  return prefix_of(tensor) + (tensor.ends_with("pooled_weights") ? "pooled_allowed" : "allowed");
}

// Number of query heads that share a key and value head, from the result or the shapes in it.
std::size_t heads_per_group(const ResultReader& file, const Tensor& weights) {
  if (const auto kv_heads = file.kv_heads(); kv_heads && weights.rank() >= 3) {
    const std::size_t heads = weights.shape()[weights.rank() - 3];
    return heads % *kv_heads == 0 ? heads / *kv_heads : 1;
  }
  std::size_t query_heads = 0, key_heads = 0;
  for (const auto& [name, shape] : file.shapes({"query", "key"})) {
    if (shape.size() == 4) (name == "query" ? query_heads : key_heads) = shape[1];
  }
  return key_heads > 0 && query_heads % key_heads == 0 && query_heads > 0 ? query_heads / key_heads
                                                                          : 1;
}

Labels read_label_file(const std::filesystem::path& path, const FileAccess& access) {
  const auto file = MappedFile::open(FileName::by_user(path), access);
  try {
    return labels_in(file->text(), access.limits.nesting);
  } catch (const Error& error) {
    throw error.inside(path == "-" ? translated("standard input") : path.string());
  }
}

// Axes with those of queries and keys, which may be left out; none stay none.
std::vector<MapAxis> whole(std::vector<MapAxis> axes) {
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

// Seen cells of each head, of the shape of the numbers.
Tensor allowed_of_heads(const AttentionMap& map) {
  check_allowed(map);
  if (map.allowed.shape() == map.numbers.shape()) return map.allowed;
  return picked(map.allowed, std::vector<std::size_t>(map.numbers.shape()[1]), 1);
}

std::string sizes_text(const Shape& sizes) {
  std::string text;
  for (const std::size_t size : sizes)
    text += (text.empty() ? "" : ",") + (size == 0 ? "-1" : std::to_string(size));
  return text;
}

std::string axes_text(const std::vector<MapAxis>& axes) {
  std::string text;
  for (const MapAxis axis : axes) {
    text += text.empty() ? "" : ", ";
    for (const auto& [name, value] : map_axes()) {
      if (value == axis) text += name;
    }
  }
  return text;
}

}  // namespace

std::span<const Named<MapAxis>> map_axes() noexcept {
  static constexpr Named<MapAxis> axes[] = {{"layer", MapAxis::layer},
                                            {"batch", MapAxis::batch},
                                            {"head", MapAxis::head},
                                            {"query", MapAxis::query},
                                            {"key", MapAxis::key}};
  return axes;
}

FiledMaps::FiledMaps(MapFiles files, MapRequest request, MapContents contents, bool english)
    : files_(std::move(files)),
      request_(std::move(request)),
      contents_(contents),
      axes_(whole(request_.axes)),
      found_(layers_in(files_, request_.name, contents, english)) {
  if (has_axis(MapAxis::layer)) take_axis_apart(english);
}

void FiledMaps::take_axis_apart(bool english) {
  const std::vector<FiledLayer> tensors = std::exchange(found_.layers, {});
  for (const FiledLayer& tensor : tensors) {
    const Shape shape = arranged(numbers(tensor), tensor).shape();
    for (std::size_t i = 0; i < shape[0]; ++i) {
      const std::size_t number = found_.layers.size();
      found_.layers.push_back({tensor.file, tensor.tensor, number, layer_text(number, english), i});
    }
  }
  found_.is_stack = true;
}

bool FiledMaps::has_axis(MapAxis axis) const {
  return std::find(axes_.begin(), axes_.end(), axis) != axes_.end();
}

// The tensor with the sizes that are asked for.
Tensor FiledMaps::reshaped(const Tensor& tensor) const {
  if (request_.reshape.empty() || !tensor) return tensor;
  Shape shape = request_.reshape;
  const auto left = std::find(shape.begin(), shape.end(), std::size_t{0});
  std::size_t known = 1;
  for (const std::size_t size : shape) known *= size == 0 ? 1 : size;
  if (left != shape.end() && tensor.size() % known == 0) *left = tensor.size() / known;
  if (left != shape.end() ? *left == 0 : known != tensor.size()) {
    throw input_error(
        translated("the tensor {1} has {2} elements, which do not make the sizes {3}",
                   text(tensor.shape()), tensor.size(), sizes_text(request_.reshape)),
        "MapRequest::reshape",
        translated("give sizes whose product is {1}; -1 is the one that is left", tensor.size()));
  }
  return tensor.reshaped(shape);
}

Tensor FiledMaps::numbers(const FiledLayer& layer) {
  if (read_.file == layer.file && read_.name == layer.tensor) return read_.tensor;
  Tensor tensor = !layer.nodes.empty() ? map_of_edges(*layer.file, {layer.nodes, layer.tensor})
                                       : layer.file->numbers(layer.tensor);
  if (!layer.steps.empty()) {
    JoinedSteps joined = joined_steps(*layer.file, layer.steps, layer.repeats);
    tensor = joined.numbers;
    there_ = joined.there;
  }
  if (const auto only = layer.file->only_name(); only && !tensor) {
    tensor = layer.file->numbers(*only);
  }
  tensor = reshaped(tensor);
  read_ = {layer.file, layer.tensor, tensor};
  return tensor;
}

// Tensor with its axes in their usual order, or the part of one layer.
Tensor FiledMaps::arranged(const Tensor& tensor, const FiledLayer& layer) const {
  if (axes_.empty() || !tensor) return tensor;
  if (tensor.rank() != axes_.size()) {
    throw input_error(translated("the tensor {1} has {2}, not the {3} of {4}", text(tensor.shape()),
                                 translated_count(tensor.rank(), "{1} axis", "{1} axes"),
                                 axes_.size(), axes_text(axes_)),
                      "MapRequest::axes",
                      translated("name the axes of the tensor, from the first on"));
  }
  Shape order;
  for (const auto& [name, axis] : map_axes()) {
    const auto at = std::find(axes_.begin(), axes_.end(), axis);
    if (at != axes_.end()) order.push_back(static_cast<std::size_t>(at - axes_.begin()));
  }
  Tensor usual = tensor;
  if (!std::is_sorted(order.begin(), order.end())) {
    TensorView view;
    view.axes = order;
    usual = viewed(tensor, view, "");
  }
  if (!layer.index) return usual;
  const Shape rest(usual.shape().begin() + 1, usual.shape().end());
  return part_of(usual, *layer.index * element_count(rest), rest);
}

// Meaning of a tensor by its name in a result; of another program's tensor by rows that are
// weights, or by axes that the user names.
TensorMeaning FiledMaps::meaning_of_numbers(const AttentionMap& map,
                                            const ResultReader& file) const {
  const TensorMeaning by_name = meaning_of(map.tensor);
  const bool known = by_name != TensorMeaning::positions || file.is_result();
  if (axes_.empty() && known) return by_name;
  if (by_name == TensorMeaning::weights || has_rows_of_weights(map.numbers)) {
    return TensorMeaning::weights;
  }
  return axes_.empty() ? by_name : TensorMeaning::other_map;
}

Labels FiledMaps::labels_of(const AttentionMap& map, ResultReader& file) const {
  Labels labels = request_.reshape.empty() ? file.labels(map.tensor) : Labels();
  std::string pointer = "/labels", place = file.name();
  if (request_.labels) {
    labels = read_label_file(*request_.labels, files_[0]->access());
    pointer = "";
    place = request_.labels->string();
  }
  if (!map.is_map() || !map.numbers || map.numbers.rank() < 2) return labels;
  const Shape& shape = map.numbers.shape();
  if (!request_.labels && labels.query.empty() && labels.key.empty()) {
    return file.own_labels(map.tensor, shape[shape.size() - 2], shape.back());
  }
  try {
    return fitted(std::move(labels), shape[shape.size() - 2], shape.back(), pointer);
  } catch (const Error& error) {
    throw error.inside(place);
  }
}

AttentionMap FiledMaps::read(const FiledLayer& layer) {
  ResultReader& file = *layer.file;
  const std::string& tensor = layer.tensor;
  AttentionMap map;
  map.file = file.name();
  map.of_result = file.is_result();
  map.tensor = tensor;
  map.place = layer.place;
  map.name = attention_of(tensor);
  if (!map.place.empty() && map.name.empty()) map.name = AttentionName("", layer.number, "");
  if (found_.is_stack) map.layer = layer.number;
  map.numbers = arranged(numbers(layer), layer);
  const bool of_edges = !layer.nodes.empty() && map.numbers.rank() == 3;
  map.heads_only = of_edges || (has_axis(MapAxis::head) && !has_axis(MapAxis::batch));
  map.meaning = layer.steps.empty() ? meaning_of_numbers(map, file) : TensorMeaning::weights;
  if (!layer.nodes.empty() && !map.holds_weights()) map.meaning = TensorMeaning::other_map;
  const std::string prefix = prefix_of(tensor);
  if (shows_mask(tensor)) {
    Tensor allowed = file.booleans(allowed_of(tensor));
    if (!request_.reshape.empty()) {
      const bool fits = allowed && map.numbers && allowed.size() == map.numbers.size();
      allowed = fits ? reshaped(allowed) : Tensor();
    }
    if (axes_.empty() || (allowed && allowed.rank() == axes_.size())) {
      map.allowed = arranged(allowed, layer);
    }
    if (map.numbers && map.numbers.rank() == 4) {
      map.allowed = for_each_head(map.allowed, map.numbers.shape()[1]);
    }
    if (!map.allowed && axes_.empty() && request_.reshape.empty() && map.numbers) {
      map.allowed = file.seen(prefix, map.numbers.shape());
    }
  }
  if (!layer.steps.empty() && axes_.empty() && request_.reshape.empty()) {
    map.allowed = for_each_head(there_, map.numbers.shape()[1]);
  }
  if (contents_ == MapContents::stages) {
    map.scores = arranged(file.numbers(prefix + "scores"), layer);
    map.capped = arranged(file.numbers(prefix + "capped"), layer);
    map.masked = arranged(file.numbers(prefix + "masked"), layer);
  }
  map.labels = labels_of(map, file);
  map.title = file.title();
  if (request_.reshape.empty()) map.heads_per_group = heads_per_group(file, map.numbers);
  return map;
}

// Mean or largest of the layers, element by element.
AttentionMap FiledMaps::together(const std::vector<FiledLayer>& layers) {
  const bool largest = request_.selection.layers_together == MapSelection::Layers::max;
  AttentionMap all;
  std::vector<double> sum;
  std::vector<std::uint8_t> allowed;
  bool hides = true;  // whether every layer has a mask
  std::vector<std::size_t> numbers;
  for (const FiledLayer& layer : layers) {
    const AttentionMap one = read(layer);
    numbers.push_back(layer.number);
    const Tensor converted = one.numbers.converted(DType::float64);
    const auto values = converted.values<double>();
    if (sum.empty()) {
      all = one;
      sum.assign(values.begin(), values.end());
    } else if (one.numbers.shape() != all.numbers.shape()) {
      throw input_error(
          translated("layer {1} has the shape {2}, layer {3} {4}", layer.number,
                     text(one.numbers.shape()), numbers[0], text(all.numbers.shape())),
          layers_field, translated("choose layers of one shape"));
    } else {
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const bool shows = values[i] > sum[i] || std::isnan(values[i]);  // a NaN in any layer shows
        sum[i] = !largest ? sum[i] + values[i] : shows ? values[i] : sum[i];
      }
    }
    hides = hides && one.allowed;
    if (!hides) continue;
    const Tensor mask = allowed_of_heads(one);
    const auto seen = mask.values<std::uint8_t>();
    allowed.resize(seen.size());
    for (std::size_t i = 0; i < seen.size(); ++i) allowed[i] |= seen[i];
  }
  if (!largest) {
    for (double& number : sum) number /= static_cast<double>(layers.size());
  }
  std::sort(numbers.begin(), numbers.end());
  const std::string taken = numbers_text(numbers, found_.layers.size(), NumberedThing::layer, 0);
  all.layer.reset();
  if (attention_of(all.tensor).empty()) all.name = AttentionName("", 0, "");
  all.place = largest ? translated("Largest of {1}", taken) : translated("Mean of {1}", taken);
  all.numbers = Tensor(all.numbers.shape(), std::move(sum));
  all.allowed = hides ? Tensor(all.numbers.shape(), std::move(allowed)) : Tensor();
  all.scores = all.capped = all.masked = Tensor();
  return all;
}

AttentionMap FiledMaps::read(const std::vector<FiledLayer>& layers) {
  return takes_together() ? together(layers) : read(layers[0]);
}

void FiledMaps::each(const std::function<void(AttentionMap map)>& take) {
  const std::vector<FiledLayer> layers = wanted();
  if (takes_together()) {
    take(together(layers));
    return;
  }
  for (const FiledLayer& layer : layers) take(read(layer));
}

std::vector<AttentionMap> FiledMaps::chosen() {
  std::vector<AttentionMap> maps;
  each([&](AttentionMap map) { maps.push_back(std::move(map)); });
  return maps;
}

AttentionMap FiledMaps::named(const std::string& tensor) {
  return read({files_[0].get(), tensor, 0, ""});
}

AttentionMap FiledMaps::one() {
  const std::vector<FiledLayer> layers = wanted();
  if (takes_together()) return together(layers);
  if (files_.size() > 1 && !request_.selection.layers) {
    throw input_error(
        translated("such a picture shows one layer, but there are {1} files", files_.size()),
        "MapRequest::others",
        translated("choose one with MapSelection::layers, or mean, or draw them as a grid"));
  }
  if (request_.selection.layers && layers.size() > 1) {
    throw input_error(
        translated("such a picture shows one layer, but {1} are chosen", layers.size()),
        layers_field, translated("choose one, take their mean, or draw them as a grid"));
  }
  return read(layers[0]);
}

std::vector<FiledMaps> all_stacks(const MapFiles& files, const MapRequest& request,
                                  MapContents contents) {
  std::vector<FiledMaps> stacks;
  const auto add = [&](MapRequest one) {
    FiledMaps stack(files, one, contents);
    if (one.axes.empty() && stack.shape_of_first().size() == 5) {
      one.axes = {MapAxis::layer, MapAxis::batch, MapAxis::head, MapAxis::query, MapAxis::key};
      stack = FiledMaps(files, one, contents);
    }
    stacks.push_back(std::move(stack));
  };
  add(request);
  std::vector<std::string> others = stacks[0].left_out();
  while (!others.empty()) {
    MapRequest rest = request;
    std::string name = pattern_of(others[0]).value_or(others[0]);
    std::vector<NumberedName> numbered = names_of_pattern(others, name);
    if (numbered.size() < 2 || files[0]->holds_sentences()) {
      name = others[0];
      numbered = {{name, 0}};
    }
    rest.name = name;
    add(std::move(rest));
    std::erase_if(others, [&](const std::string& other) {
      return std::any_of(numbered.begin(), numbered.end(),
                         [&](const NumberedName& one) { return one.name == other; });
    });
  }
  return stacks;
}

void each_of(std::vector<FiledMaps>& stacks, const std::function<void(AttentionMap map)>& take) {
  struct Place {
    FiledMaps* stack;
    std::vector<FiledLayer> layers;  // one, or those that are taken together
    std::ptrdiff_t in_file;
  };
  std::vector<Place> places;
  for (FiledMaps& stack : stacks) {
    const std::vector<std::string>& names = stack.names();
    std::vector<FiledLayer> layers = stack.wanted();
    const auto add = [&](std::vector<FiledLayer> of) {
      const auto at = std::find(names.begin(), names.end(), of[0].tensor);
      places.push_back({&stack, std::move(of), at - names.begin()});
    };
    if (stack.takes_together()) {
      add(std::move(layers));
    } else {
      for (FiledLayer& layer : layers) add({std::move(layer)});
    }
  }
  std::stable_sort(places.begin(), places.end(),
                   [](const Place& a, const Place& b) { return a.in_file < b.in_file; });
  for (const Place& place : places) take(place.stack->read(place.layers));
}

bool is_samples_of_one_head(const AttentionMap& map) {
  return map.numbers.rank() == 3 && !map.heads_only;
}

std::string samples_of_one_head_warning() {
  return translated(
      "a tensor of three axes is taken as samples of one head each, [samples,queries,keys]: "
      "reshape it to [1,heads,queries,keys] if they are heads");
}

}  // namespace attn
