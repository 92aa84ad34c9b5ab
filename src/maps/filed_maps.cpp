#include "maps/filed_maps.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "maps/assembled_maps.hpp"
#include "maps/map_selection.hpp"
#include "maps/selected_map.hpp"
#include "result/tensor_names.hpp"
#include "support/mapped_file.hpp"
#include "support/translated.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Whether the mask hides cells of the tensor. Scores are there before the mask.
bool shows_mask(const std::string& tensor) {
  return is_map(tensor) && (tensor.ends_with("weights") || tensor.ends_with("masked") ||
                            tensor.ends_with("dropped") || tensor.ends_with("rollout"));
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

}  // namespace

Labels read_label_file(const std::filesystem::path& path, const FileAccess& access) {
  const auto file = [&] {
    try {
      return MappedFile::open(FileName::by_user(path), access);
    } catch (const Error& error) {
      const bool list = path.native().find(',') != std::string::npos;
      throw Error(error.kind(), error.problem(), "MapRequest::labels",
                  list ? translated("write the labels into a file, one per line, and name it")
                       : error.help());
    }
  }();
  try {
    return labels_in(file->text(), access.limits.nesting);
  } catch (const Error& error) {
    throw error.inside(path == "-" ? translated("standard input") : path.string());
  }
}

namespace {

// Labels of a tensor in another shape than the file's are its own where there is one list that
// fits.
void keep_fitting(Labels& labels, std::size_t queries, std::size_t keys) {
  const auto keep = [](std::vector<std::vector<std::string>>& lists, std::size_t count) {
    if (lists.size() != 1 || lists[0].size() != count) lists.clear();
  };
  keep(labels.query, queries);
  keep(labels.key, keys);
  labels.either = false;
}

void cut_last(std::vector<std::vector<std::string>>& lists, std::size_t count) {
  for (auto& list : lists) {
    if (list.size() == count + 1) list.pop_back();
  }
}

// A list that names the chosen positions alone as one for all of them, whose others are unnamed.
void name_chosen(std::vector<std::string>& list, const std::vector<std::size_t>& chosen,
                 std::size_t count) {
  if (list.size() == count || list.size() != chosen.size()) return;
  std::vector<std::string> all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(std::to_string(i));
  for (std::size_t i = 0; i < chosen.size(); ++i) all[chosen[i]] = list[i];
  list = std::move(all);
}

}  // namespace

Labels fitting_labels(Labels labels, const MapSelection& selection, std::size_t queries,
                      std::size_t keys) {
  const bool by_label = selection.query.has_value() || !selection.drop.empty();
  MapSelection ranges;  // labels choose nothing before they have their places
  ranges.queries = selection.queries;
  ranges.keys = selection.keys;
  ranges.drop_first = by_label ? 0 : selection.drop_first;
  const Positions of_queries = selected_queries(ranges, queries, {});
  std::vector<std::size_t> chosen(of_queries.count());
  std::iota(chosen.begin(), chosen.end(), of_queries.first);
  const std::vector<std::size_t> of_keys = selected_keys(ranges, keys, {});
  if (labels.either) {
    const auto fits = [&](std::size_t count) {
      return std::ranges::all_of(labels.query,
                                 [&](const auto& list) { return list.size() == count; });
    };
    // One list names the sides whose positions or chosen positions it has.
    if (fits(queries) || fits(keys)) return labels;
    labels.either = false;
    if (!fits(chosen.size())) labels.query.clear();
    if (const auto& lists = labels.key; !lists.empty() && lists[0].size() != of_keys.size()) {
      if (labels.query.empty()) return {lists, lists, true};  // fits neither: let it be refused
      labels.key.clear();
    }
  }
  for (auto& list : labels.query) name_chosen(list, chosen, queries);
  for (auto& list : labels.key) name_chosen(list, of_keys, keys);
  return labels;
}

namespace {

Labels fitted(Labels labels, std::size_t queries, std::size_t keys, const std::string& pointer,
              const std::string& place) {
  try {
    return attn::fitted(std::move(labels), queries, keys, pointer);
  } catch (const Error& error) {
    throw error.inside(place);
  }
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

FiledMaps::FiledMaps(MapFiles files, MapRequest request, MapContents contents, bool english)
    : files_(std::move(files)),
      request_(std::move(request)),
      contents_(contents),
      axes_(whole_axes(request_.axes)),
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

// The map over all steps of decoding, one below the other.
Tensor FiledMaps::of_steps(const FiledLayer& layer) {
  if (read_.file == layer.file && read_.name == layer.steps[0]) return read_.tensor;
  std::vector<Tensor> steps;
  for (const std::string& name : layer.steps) steps.push_back(layer.file->numbers(name));
  const std::string beams = "beam_indices";
  const bool chosen = std::ranges::count(layer.file->names(), beams) > 0;
  StitchedSteps all = stitched(std::move(steps), chosen ? layer.file->numbers(beams) : Tensor(),
                               layer.file->access().limits, layer.file->name());
  read_ = {layer.file,
           layer.steps[0],
           taken_tensor(all.numbers, request_),
           {},
           taken_tensor(all.allowed, request_),
           std::move(all.shapes)};
  return read_.tensor;
}

// Rows and columns of maps [B,H,Lq,Lk] from the first column on.
Tensor block_of(const Tensor& maps, std::size_t row, std::size_t rows, std::size_t columns) {
  if (!maps) return maps;
  std::vector<std::size_t> of_rows(rows), of_columns(columns);
  std::iota(of_rows.begin(), of_rows.end(), row);
  std::iota(of_columns.begin(), of_columns.end(), std::size_t{0});
  return picked(picked(maps, of_rows, 2), of_columns, 3);
}

std::vector<AttentionMap> FiledMaps::steps() {
  const std::vector<FiledLayer> layers = wanted();
  if (layers[0].steps.empty()) return {};
  const AttentionMap whole = one();
  if (!axes_.empty() || request_.changes_shape() || takes_together()) return {whole};
  const MapChoice any;
  const SelectedMap checked(whole, any);
  std::vector<AttentionMap> steps;
  const auto shorten = [](std::vector<std::vector<std::string>>& lists, std::size_t first,
                          std::size_t count) {
    for (auto& list : lists) {
      const auto start = list.begin() + static_cast<std::ptrdiff_t>(first);
      list = std::vector<std::string>(start, start + static_cast<std::ptrdiff_t>(count));
    }
  };
  std::size_t row = 0;
  for (const Shape& shape : read_.steps) {
    AttentionMap& step = steps.emplace_back(whole);
    step.numbers = block_of(whole.numbers, row, shape[2], shape[3]);
    step.allowed = block_of(whole.allowed, row, shape[2], shape[3]);
    shorten(step.labels.query, row, shape[2]);
    shorten(step.labels.key, 0, shape[3]);
    step.labels.query_spans = {};
    row += shape[2];
  }
  return steps;
}

Tensor FiledMaps::numbers(const FiledLayer& layer) {
  if (!layer.steps.empty()) return of_steps(layer);
  if (read_.file == layer.file && read_.name == layer.tensor) return read_.tensor;
  Tensor tensor = !layer.nodes.empty() ? map_of_edges(*layer.file, {layer.nodes, layer.tensor})
                                       : layer.file->numbers(layer.tensor);
  if (const auto only = layer.file->only_name(); only && !tensor) {
    tensor = layer.file->numbers(*only);
  }
  const Shape in_file = tensor ? tensor.shape() : Shape();
  tensor = taken_tensor(tensor, request_);
  read_ = {layer.file, layer.tensor, tensor, in_file, {}, {}};
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
  const Tensor usual = in_usual_order(tensor, axes_);
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

Labels FiledMaps::labels_of(const AttentionMap& map, ResultReader& file, bool of_steps) const {
  const bool sized = map.is_map() && map.numbers && map.numbers.rank() >= 2;
  const Shape shape = sized ? map.numbers.shape() : Shape{0, 0};
  const std::size_t queries = shape[shape.size() - 2], keys = shape.back();
  if (!request_.labels) {
    Labels labels = file.labels(map.tensor);
    if (has_rows_of_first_text(map.tensor) && !labels.query.empty()) labels.query.resize(1);
    // A table has names of its rows and columns, whatever these are.
    const bool table = !map.is_map() && map.numbers && map.numbers.rank() == 2;
    if (table && labels.query.empty() && labels.key.empty())
      return file.own_labels(map.tensor, map.numbers.shape()[0], map.numbers.shape()[1]);
    if (sized && labels.query.empty() && labels.key.empty())
      return file.own_labels(map.tensor, queries, keys);
    if (request_.changes_shape()) keep_fitting(labels, queries, keys);
    return sized ? fitted(std::move(labels), queries, keys, "/labels", file.name()) : labels;
  }
  // A pipe is read once.
  if (!given_labels_) given_labels_ = read_label_file(*request_.labels, files_[0]->access());
  Labels labels = *given_labels_;
  if (!sized) return labels;
  // The last token of a text that was generated is no query, and in self-attention no key.
  if (of_steps) {
    cut_last(labels.query, queries);
    if (queries == keys || !labels.either) cut_last(labels.key, keys);
  }
  return fitted(fitting_labels(std::move(labels), request_.selection, queries, keys), queries, keys,
                "", request_.labels->string());
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
  map.layers_of_axis = guesses_layers_;
  map.numbers = arranged(numbers(layer), layer);
  const bool of_edges = !layer.nodes.empty() && map.numbers.rank() == 3;
  const bool as_filed = axes_.empty() && !request_.changes_shape() && file.is_result();
  map.heads_only = of_edges || (has_axis(MapAxis::head) && !has_axis(MapAxis::batch)) ||
                   (as_filed && maps_are_of_heads(file.shapes({"query"})));
  map.meaning = layer.steps.empty()                ? meaning_of_numbers(map, file)
                : has_rows_of_weights(map.numbers) ? TensorMeaning::weights
                                                   : TensorMeaning::other_map;
  if (!layer.nodes.empty() && !map.holds_weights()) map.meaning = TensorMeaning::other_map;
  const std::string prefix = prefix_of(tensor);
  if (!layer.steps.empty()) map.allowed = arranged(read_.allowed, layer);
  if (shows_mask(tensor)) {
    Tensor allowed = file.booleans(allowed_of(tensor));
    // A rollout has no axis of heads.
    if (map.is_rollout() && allowed && allowed.rank() == 4 && allowed.shape()[1] == 1) {
      const Shape& shape = allowed.shape();
      allowed = allowed.reshaped({shape[0], shape[2], shape[3]});
    }
    if (request_.changes_shape() || !axes_.empty()) {
      if (read_.in_file.size() == 4) allowed = for_each_head(allowed, read_.in_file[1]);
      if (allowed && allowed.shape() != read_.in_file && !read_.in_file.empty()) allowed = {};
      allowed = taken_tensor(allowed, request_);
    }
    if (axes_.empty() || (allowed && allowed.rank() == axes_.size()))
      map.allowed = arranged(allowed, layer);
    if (map.numbers && map.numbers.rank() == 4) {
      map.allowed = for_each_head(map.allowed, map.numbers.shape()[1]);
    }
    if (!map.allowed && axes_.empty() && !request_.changes_shape() && map.numbers) {
      map.allowed = file.seen(prefix, map.numbers.shape());
    }
  }
  if (contents_ == MapContents::stages) {
    const auto stage = [&](const char* name) {
      return arranged(taken_tensor(file.numbers(prefix + name), request_), layer);
    };
    map.scores = stage("scores");
    map.capped = stage("capped");
    map.masked = stage("masked");
  }
  map.labels = labels_of(map, file, !layer.steps.empty());
  map.title = file.title();
  if (!request_.changes_shape()) map.heads_per_group = heads_per_group(file, map.numbers);
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
  const bool all = request_.selection.layers_together == MapSelection::Layers::all;
  if ((request_.selection.layers || all) && layers.size() > 1) {
    throw input_error(
        translated("such a picture shows one layer, but {1} are chosen", layers.size()),
        layers_field, translated("choose one, take their mean, or draw them as a grid"));
  }
  return read(layers[0]);
}

std::optional<std::string> FiledMaps::others_of_one() const {
  const MapSelection& selection = request_.selection;
  if (selection.layers || takes_together() || found_.layers.size() < 2) return std::nullopt;
  return translated(
      "this is layer {1} of {2}: MapSelection::layers {3} shows another, mean all of them together",
      found_.layers[0].number, found_.layers.size(), found_.layers[1].number);
}

std::optional<std::string> FiledMaps::files_as_layers() const {
  if (!found_.in_order_given || request_.selection.layers) return std::nullopt;
  return translated(
      "the files are layers 0 to {1} in the order given; attn-cli plot comparison shows them under "
      "their own names",
      found_.layers.size() - 1);
}

std::vector<FiledMaps> all_stacks(const MapFiles& files, const MapRequest& request,
                                  MapContents contents) {
  std::vector<FiledMaps> stacks;
  const auto add = [&](MapRequest one) {
    FiledMaps stack(files, one, contents);
    if (one.axes.empty() && stack.shape_of_first().size() == 5) {
      one.axes = {MapAxis::layer, MapAxis::batch, MapAxis::head, MapAxis::query, MapAxis::key};
      stack = FiledMaps(files, one, contents);
      stack.guesses_layers_ = true;
    }
    stacks.push_back(std::move(stack));
  };
  add(request);
  std::vector<std::string> others = stacks[0].left_out();
  while (!others.empty()) {
    MapRequest rest = request;
    std::string name = pattern_of(others[0]).value_or(others[0]);
    std::vector<NumberedName> numbered = names_of_pattern(others, name);
    const std::string steps = pattern_of_steps(beginning_of_steps(others[0]));
    const bool of_steps = is_a_step(others[0]) && !steps_of_layers(others, steps).empty();
    if (of_steps) {
      name = steps;
      numbered.clear();
      for (const std::string& other : others) {
        if (is_a_step(other) && pattern_of_steps(beginning_of_steps(other)) == steps)
          numbered.push_back({other, 0});
      }
    }
    if (!of_steps && (numbered.size() < 2 || files[0]->holds_sentences())) {
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

}  // namespace attn
