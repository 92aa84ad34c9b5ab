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

constexpr const char* layers_field = "MapSelection::layers";

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
  for (const auto& [name, shape] : file.shapes()) {
    if (shape.size() != 4) continue;
    if (name == "query") query_heads = shape[1];
    if (name == "key") key_heads = shape[1];
  }
  return key_heads > 0 && query_heads % key_heads == 0 && query_heads > 0 ? query_heads / key_heads
                                                                          : 1;
}

Labels read_label_file(const std::filesystem::path& path, FileAccess access) {
  access.restrict_to.reset();  // a file that the user names may be in any folder
  const auto file = MappedFile::open(path, access);
  try {
    return labels_in(file->text(), access.limits.nesting);
  } catch (const Error& error) {
    throw error.inside(path == "-" ? translated("standard input") : path.string());
  }
}

std::string listed(const std::vector<std::string>& tensors) {
  constexpr std::size_t most = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(tensors.size(), most); ++i) {
    text += (i > 0 ? ", " : "") + tensors[i];
  }
  if (tensors.size() > most) text += translated(" and {1} more", tensors.size() - most);
  return text;
}

// Axes with those of queries and keys, which may be left out.
std::vector<MapAxis> whole(std::vector<MapAxis> axes) {
  const bool query = std::find(axes.begin(), axes.end(), MapAxis::query) != axes.end();
  const bool key = std::find(axes.begin(), axes.end(), MapAxis::key) != axes.end();
  if (!query && !key) axes.insert(axes.end(), {MapAxis::query, MapAxis::key});
  std::set<MapAxis> known(axes.begin(), axes.end());
  if (query != key || known.size() != axes.size()) {
    throw input_error(
        translated("these axes are not those of maps"), "PlotRequest::axes",
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

FiledMaps::FiledMaps(MapRequest request, MapContents contents,
                     std::vector<std::shared_ptr<ResultReader>> opened, bool english)
    : request_(std::move(request)),
      contents_(contents),
      files_(std::move(opened)),
      english_(english) {
  std::vector<std::filesystem::path> paths{request_.input};
  paths.insert(paths.end(), request_.others.begin(), request_.others.end());
  if (!request_.axes.empty()) axes_ = whole(request_.axes);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (i == files_.size()) {
      files_.push_back(std::make_shared<ResultReader>(paths[i], request_.files));
    }
    find(*files_[i]);
  }
  if (files_.size() > 1) number_files();
  if (has_axis(MapAxis::layer)) take_axis_apart();
}

std::string FiledMaps::layer_text(std::size_t number) const {
  const InEnglish english(english_);
  return translated("Layer {1}", number + 1);
}

void FiledMaps::find(ResultReader& file) {
  const std::vector<std::string>& names = file.names();
  if (!request_.name) {
    find_weights(file);
    return;
  }
  const std::string& name = *request_.name;
  if (std::find(names.begin(), names.end(), name) != names.end()) {
    add(file, {name});
    return;
  }
  if (names_of_pattern(names, name).empty()) {
    const std::vector<std::string_view> known(names.begin(), names.end());
    throw input_error(translated("there is no tensor \"{1}\"", name), "PlotRequest::name",
                      suggestion(name, known));
  }
  add_numbered(file, names, name);
}

void FiledMaps::add(ResultReader& file, const std::vector<std::string>& tensors) {
  for (const std::string& tensor : tensors) {
    const auto number = file.is_result() || is_map(tensor)
                            ? AttentionName::of_tensor(tensor).layer()
                            : std::nullopt;
    layers_.push_back({&file, tensor, number.value_or(layers_.size()), ""});
    is_stack_ = is_stack_ || number;
  }
}

// Adds the tensors whose names fit the pattern, in the order of their numbers.
void FiledMaps::add_numbered(ResultReader& file, const std::vector<std::string>& names,
                             const std::string& pattern) {
  std::vector<NumberedName> numbered = names_of_pattern(names, pattern);
  count_from_zero(numbered);
  for (const NumberedName& tensor : numbered) {
    // A name that itself says the layer may say more: "Layer 2, Self-Attention".
    const bool is_known = !AttentionName::of_tensor(tensor.name).title().empty();
    layers_.push_back(
        {&file, tensor.name, tensor.number, is_known ? "" : layer_text(tensor.number)});
  }
  is_stack_ = true;
}

// Adds the weights of a result: of the first attention, and of the same attention in other layers.
void FiledMaps::find_weights(ResultReader& file) {
  const std::vector<std::string>& names = file.names();
  std::string first;
  for (const std::string weights : {"weights", "pooled_weights"}) {
    for (const std::string& name : names) {
      if (first.empty() && (name == weights || name.ends_with("." + weights))) first = name;
    }
    if (std::find(names.begin(), names.end(), weights) != names.end()) first = weights;
    if (!first.empty()) break;
  }
  if (first.empty()) {
    if (file.only_name() || contents_ == MapContents::mask) {
      add(file, std::vector<std::string>{"weights"});
    } else {
      find_by_values(file);
    }
    return;
  }
  std::vector<std::string> stack{first};
  for (const std::string& name : names) {
    if (meaning_of(name) != TensorMeaning::weights || name == first) continue;
    if (AttentionName(name).without_layer() == AttentionName(first).without_layer()) {
      stack.push_back(name);
    } else {
      left_out_.push_back(name);
    }
  }
  add(file, stack);
}

// Adds the tensors of another program whose rows are weights.
void FiledMaps::find_by_values(ResultReader& file) {
  std::vector<std::string> found, tensors;
  if (!file.is_document()) {
    for (const std::string& name : file.names()) {
      try {
        const Tensor tensor = file.numbers(name);
        tensors.push_back(in_quotes(name) + " " + text(tensor.shape()));
        if (has_rows_of_weights(tensor)) found.push_back(name);
      } catch (const Error&) {
        continue;  // labels, a title, texts
      }
    }
  }
  if (found.empty()) {
    if (tensors.empty()) {
      throw input_error(
          translated("there are no weights to draw"), "",
          translated("give a result with weights, {\"weights\": …}, or a file with one tensor"))
          .inside(file.name());
    }
    throw input_error(translated("there are no weights to draw among {1}", listed(tensors)),
                      file.name(),
                      translated("choose a tensor with PlotRequest::name, and say what its axes "
                                 "are with PlotRequest::axes if it is a map"));
  }
  const std::optional<std::string> pattern = pattern_of(found[0]);
  std::vector<NumberedName> stack;
  if (pattern) stack = names_of_pattern(found, *pattern);
  for (const std::string& name : found) {
    const bool taken = std::any_of(stack.begin(), stack.end(),
                                   [&](const NumberedName& one) { return one.name == name; });
    if (!taken && !(stack.empty() && name == found[0])) left_out_.push_back(name);
  }
  if (stack.size() < 2) {
    add(file, {found[0]});
  } else {
    add_numbered(file, found, *pattern);
  }
}

// Orders files of one layer each by the number in which their names differ, if they do.
void FiledMaps::number_files() {
  is_stack_ = true;
  std::vector<std::string> names;
  for (const Layer& layer : layers_) names.push_back(layer.file->name());
  const std::optional<std::string> pattern = pattern_of(names[0]);
  std::vector<NumberedName> numbered;
  if (pattern && layers_.size() == files_.size()) numbered = names_of_pattern(names, *pattern);
  if (numbered.size() != names.size()) {
    numbered.clear();
    for (std::size_t i = 0; i < names.size(); ++i) numbered.push_back({names[i], i});
  } else {
    count_from_zero(numbered);
  }
  std::vector<Layer> ordered;
  std::vector<bool> taken(layers_.size(), false);
  for (const NumberedName& name : numbered) {
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      if (taken[i] || names[i] != name.name) continue;
      taken[i] = true;
      ordered.push_back(layers_[i]);
      ordered.back().number = name.number;
      ordered.back().place = layer_text(name.number);
      break;
    }
  }
  layers_ = std::move(ordered);
}

void FiledMaps::take_axis_apart() {
  const std::vector<Layer> tensors = std::exchange(layers_, {});
  for (const Layer& tensor : tensors) {
    const Shape shape = arranged(numbers(tensor), tensor).shape();
    for (std::size_t i = 0; i < shape[0]; ++i) {
      const std::size_t number = layers_.size();
      layers_.push_back({tensor.file, tensor.tensor, number, layer_text(number), i});
    }
  }
  is_stack_ = true;
}

bool FiledMaps::has_axis(MapAxis axis) const {
  return std::find(axes_.begin(), axes_.end(), axis) != axes_.end();
}

std::vector<FiledMaps::Layer> FiledMaps::wanted_layers() const {
  if (!request_.selection.layers) return layers_;
  if (!is_stack_) {
    throw input_error(
        translated("there is one map, and no stack of layers"), layers_field,
        translated("leave it out, name the tensors of the layers with PlotRequest::name, such as "
                   "layer{n}, or the axis of the layers with PlotRequest::axes"));
  }
  std::size_t count = 0;
  std::string known;
  for (const Layer& layer : layers_) {
    count = std::max(count, layer.number + 1);
    known += (known.empty() ? "" : ", ") + std::to_string(layer.number);
  }
  std::vector<Layer> wanted;
  for (const PositionRange& range : *request_.selection.layers) {
    const Positions numbers = positions_in(range, count, layers_field, "layer", "layers");
    const std::size_t before = wanted.size();
    for (const Layer& layer : layers_) {
      if (layer.number >= numbers.first && layer.number < numbers.end) wanted.push_back(layer);
    }
    if (wanted.size() == before) {
      throw input_error(translated("there is no layer {1}", numbers.first), layers_field,
                        translated("choose among {1}", known));
    }
  }
  return wanted;
}

Tensor FiledMaps::numbers(const Layer& layer) {
  if (read_.file == layer.file && read_.name == layer.tensor) return read_.tensor;
  Tensor tensor = layer.file->numbers(layer.tensor);
  if (const auto only = layer.file->only_name(); only && !tensor) {
    tensor = layer.file->numbers(*only);
  }
  read_ = {layer.file, layer.tensor, tensor};
  return tensor;
}

// Tensor with its axes in their usual order, or the part of one layer.
Tensor FiledMaps::arranged(const Tensor& tensor, const Layer& layer) const {
  if (axes_.empty() || !tensor) return tensor;
  if (tensor.rank() != axes_.size()) {
    throw input_error(translated("the tensor {1} has {2}, not the {3} of {4}", text(tensor.shape()),
                                 translated_count(tensor.rank(), "{1} axis", "{1} axes"),
                                 axes_.size(), axes_text(axes_)),
                      "PlotRequest::axes",
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
  Labels labels = file.labels(map.tensor);
  std::string pointer = "/labels", place = file.name();
  if (request_.labels) {
    labels = read_label_file(*request_.labels, request_.files);
    pointer = "";
    place = request_.labels->string();
  }
  if (!map.is_map() || !map.numbers || map.numbers.rank() < 2) return labels;
  const Shape& shape = map.numbers.shape();
  try {
    return fitted(std::move(labels), shape[shape.size() - 2], shape.back(), pointer);
  } catch (const Error& error) {
    throw error.inside(place);
  }
}

AttentionMap FiledMaps::read(const Layer& layer) {
  ResultReader& file = *layer.file;
  const std::string& tensor = layer.tensor;
  AttentionMap map;
  map.file = file.name();
  map.tensor = tensor;
  map.place = layer.place;
  map.name = attention_of(tensor);
  if (!map.place.empty() && map.name.empty()) map.name = AttentionName("", layer.number, "");
  if (is_stack_) map.layer = layer.number;
  map.numbers = arranged(numbers(layer), layer);
  map.heads_only = has_axis(MapAxis::head) && !has_axis(MapAxis::batch);
  map.meaning = meaning_of_numbers(map, file);
  const std::string prefix = prefix_of(tensor);
  if (shows_mask(tensor)) {
    const Tensor allowed = file.booleans(allowed_of(tensor));
    if (axes_.empty() || (allowed && allowed.rank() == axes_.size())) {
      map.allowed = arranged(allowed, layer);
    }
    if (!map.allowed && axes_.empty() && map.numbers) {
      map.allowed = file.seen(prefix, map.numbers.shape());
    }
  }
  if (contents_ == MapContents::stages) {
    map.scores = arranged(file.numbers(prefix + "scores"), layer);
    map.capped = arranged(file.numbers(prefix + "capped"), layer);
    map.masked = arranged(file.numbers(prefix + "masked"), layer);
  }
  map.labels = labels_of(map, file);
  map.title = file.title();
  map.heads_per_group = heads_per_group(file, map.numbers);
  return map;
}

// Mean or largest of the layers, element by element.
AttentionMap FiledMaps::together(const std::vector<Layer>& layers) {
  const bool largest = request_.selection.layers_together == MapSelection::Layers::max;
  AttentionMap all;
  std::vector<double> sum;
  std::vector<std::uint8_t> allowed;
  bool hides = true;  // whether every layer has a mask
  std::vector<std::size_t> numbers;
  for (const Layer& layer : layers) {
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
  const std::string taken = numbers_text(numbers, layers_.size(), NumberedThing::layer);
  all.layer.reset();
  if (attention_of(all.tensor).empty()) all.name = AttentionName("", 0, "");
  all.place = largest ? translated("Largest of {1}", taken) : translated("Mean of {1}", taken);
  all.numbers = Tensor(all.numbers.shape(), std::move(sum));
  all.allowed = hides ? Tensor(all.numbers.shape(), std::move(allowed)) : Tensor();
  all.scores = all.capped = all.masked = Tensor();
  return all;
}

AttentionMap FiledMaps::read(const std::vector<Layer>& layers) {
  return takes_together() ? together(layers) : read(layers[0]);
}

void FiledMaps::each(const std::function<void(AttentionMap map)>& take) {
  const std::vector<Layer> layers = wanted_layers();
  if (takes_together()) {
    take(together(layers));
    return;
  }
  for (const Layer& layer : layers) take(read(layer));
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
  const std::vector<Layer> layers = wanted_layers();
  if (takes_together()) return together(layers);
  if (files_.size() > 1 && !request_.selection.layers) {
    throw input_error(
        translated("such a picture shows one layer, but there are {1} files", files_.size()),
        "PlotRequest::others",
        translated("choose one with MapSelection::layers, or mean, or draw them as a grid"));
  }
  if (request_.selection.layers && layers.size() > 1) {
    throw input_error(
        translated("such a picture shows one layer, but {1} are chosen", layers.size()),
        layers_field, translated("choose one, take their mean, or draw them as a grid"));
  }
  return read(layers[0]);
}

std::vector<FiledMaps> all_stacks(const MapRequest& request, MapContents contents,
                                  std::shared_ptr<ResultReader> first) {
  std::vector<std::shared_ptr<ResultReader>> files;
  if (first) files.push_back(std::move(first));
  std::vector<FiledMaps> stacks;
  const auto add = [&](MapRequest one) {
    FiledMaps stack(one, contents, files);
    files = stack.files();
    if (one.axes.empty() && stack.shape_of_first().size() == 5) {
      one.axes = {MapAxis::layer, MapAxis::batch, MapAxis::head, MapAxis::query, MapAxis::key};
      stack = FiledMaps(one, contents, files);
    }
    stacks.push_back(std::move(stack));
  };
  add(request);
  std::vector<std::string> others = stacks[0].left_out();
  while (!others.empty()) {
    MapRequest rest = request;
    std::string name = pattern_of(others[0]).value_or(others[0]);
    std::vector<NumberedName> numbered = names_of_pattern(others, name);
    if (numbered.size() < 2) {
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
    std::vector<FiledMaps::Layer> layers;  // one, or those that are taken together
    std::ptrdiff_t in_file;
  };
  std::vector<Place> places;
  for (FiledMaps& stack : stacks) {
    const std::vector<std::string>& names = stack.names();
    std::vector<FiledMaps::Layer> layers = stack.wanted_layers();
    const auto add = [&](std::vector<FiledMaps::Layer> of) {
      const auto at = std::find(names.begin(), names.end(), of[0].tensor);
      places.push_back({&stack, std::move(of), at - names.begin()});
    };
    if (stack.takes_together()) {
      add(std::move(layers));
    } else {
      for (FiledMaps::Layer& layer : layers) add({std::move(layer)});
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
