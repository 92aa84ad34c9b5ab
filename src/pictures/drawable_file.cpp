#include "pictures/drawable_file.hpp"

#include <algorithm>
#include <charconv>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "pictures/mask_picture.hpp"
#include "pictures/picture_kinds.hpp"
#include "pictures/selected_map.hpp"
#include "result/result_reader.hpp"
#include "result/tensor_meaning.hpp"
#include "support/mapped_file.hpp"
#include "support/nearest_name.hpp"

namespace attn {
namespace {

// The tensor to draw: the one asked for, or the weights, of a layer's first attention if there are
// several.
std::string wanted_tensor(const PlotRequest& request, std::span<const std::string> names) {
  if (!request.name) {
    if (std::find(names.begin(), names.end(), "weights") != names.end()) return "weights";
    for (const std::string weights : {"weights", "pooled_weights"}) {
      for (const std::string& name : names) {
        if (name == weights || name.ends_with("." + weights)) return name;
      }
    }
    return "weights";
  }
  if (std::find(names.begin(), names.end(), *request.name) != names.end()) return *request.name;
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw input_error("there is no tensor \"" + *request.name + "\"", "PlotRequest::name",
                    suggestion(*request.name, known));
}

// Scores before the mask have nothing to hide, and what is no map has no mask of its shape.
bool shows_mask(const std::string& tensor) {
  return is_map(tensor) &&
         (tensor.ends_with("weights") || tensor.ends_with("masked") || tensor.ends_with("dropped"));
}

std::string prefix_of(const std::string& tensor) {
  const std::size_t point = tensor.rfind('.');
  return point == std::string::npos || !is_map(tensor) ? "" : tensor.substr(0, point + 1);
}

// The mask of a map of weights.
std::string allowed_of(const std::string& tensor) {
  return prefix_of(tensor) + (tensor.ends_with("pooled_weights") ? "pooled_allowed" : "allowed");
}

Labels read_label_file(const std::filesystem::path& path, FileAccess access) {
  access.restrict_to.reset();  // what the user names may stand anywhere
  const auto file = MappedFile::open(path, access);
  try {
    return read_labels(parse_json(file->text(), {.depth = access.limits.nesting}), "");
  } catch (const Error& error) {
    throw error.inside(path.string());
  }
}

bool holds_weights(const std::string& tensor) {
  return is_map(tensor) && tensor.ends_with("weights");
}

// How many query heads share each key and value head, if the result or its shapes tell.
std::size_t heads_a_group(const ResultReader& file, const Tensor& weights) {
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

Drawable map_of(ResultReader& file, const std::string& tensor, PictureKind::Shows shows) {
  Drawable drawable;
  drawable.name = file.name();
  drawable.tensor = tensor;
  drawable.weights = file.numbers(drawable.tensor);
  if (const auto only = file.only_name(); only && !drawable.weights)
    drawable.weights = file.numbers(*only);
  if (shows_mask(drawable.tensor)) drawable.allowed = file.booleans(allowed_of(drawable.tensor));
  if (shows_mask(drawable.tensor) && !drawable.allowed && drawable.weights) {
    drawable.allowed = file.seen(prefix_of(drawable.tensor), drawable.weights.shape());
  }
  if (shows == PictureKind::Shows::stages) {
    const std::string prefix = prefix_of(drawable.tensor);
    drawable.scores = file.numbers(prefix + "scores");
    drawable.capped = file.numbers(prefix + "capped");
    drawable.masked = file.numbers(prefix + "masked");
  }
  drawable.labels = file.labels(drawable.tensor);
  drawable.title = file.title();
  drawable.heads_a_group = heads_a_group(file, drawable.weights);
  return drawable;
}

// A name with a # in the place of each number that is no layer's, and the numbers.
std::pair<std::string, std::vector<std::size_t>> numbered(std::string_view name) {
  std::string sort;
  std::vector<std::size_t> numbers;
  for (std::size_t at = 0; at < name.size();) {
    const std::size_t end = std::min(name.find_first_not_of("0123456789", at), name.size());
    std::size_t number = 0;
    const auto read = std::from_chars(name.data() + at, name.data() + end, number);
    if (end == at || read.ec != std::errc() || sort.ends_with("layers.")) {
      sort += name.substr(at, std::max<std::size_t>(end - at, 1));
      at = std::max(end, at + 1);
      continue;
    }
    sort += '#';
    numbers.push_back(number);
    at = end;
  }
  return {std::move(sort), std::move(numbers)};
}

}  // namespace

Drawable read_drawable(const PlotRequest& request, const FileAccess& access) {
  ResultReader file(request.input, access);
  Drawable drawable;
  drawable.name = file.name();
  const PictureKind::Shows shows = picture_kind(request.kind).shows;
  if (shows == PictureKind::Shows::mask && file.is_document()) {
    drawable.mask = [map = document_mask(file.text(), file.name(), request, access)] {
      return map;
    };
  } else if (shows == PictureKind::Shows::sizes) {
    drawable.shapes = file.shapes();
  } else {
    drawable = map_of(file, wanted_tensor(request, file.names()), shows);
  }
  if (request.labels) drawable.labels = read_label_file(*request.labels, access);
  return drawable;
}

std::vector<Drawable> read_layers(const PlotRequest& request, const FileAccess& access) {
  ResultReader file(request.input, access);
  const std::string first = wanted_tensor(request, file.names());
  std::vector<Drawable> layers{map_of(file, first, PictureKind::Shows::weights)};
  std::vector<std::string> left_out;
  for (const std::string& name : file.names()) {
    if (request.name || !holds_weights(name) || name == first) continue;
    if (sort_of(name) == sort_of(first)) {
      layers.push_back(map_of(file, name, PictureKind::Shows::weights));
    } else {
      left_out.push_back(name);
    }
  }
  layers[0].left_out = std::move(left_out);
  if (request.labels) {
    const Labels labels = read_label_file(*request.labels, access);
    for (Drawable& layer : layers) layer.labels = labels;
  }
  return layers;
}

std::vector<Drawable> read_steps(const PlotRequest& request, const FileAccess& access) {
  ResultReader file(request.input, access);
  std::string wanted = wanted_tensor(request, file.names());
  const std::vector<std::string>& all = file.names();
  if (!all.empty() && std::find(all.begin(), all.end(), wanted) == all.end()) wanted = all[0];
  const auto [sort, number] = numbered(wanted);
  std::vector<std::pair<std::vector<std::size_t>, std::string>> names;
  for (const std::string& name : all) {
    auto [own_sort, own_number] = numbered(name);
    if (own_sort == sort) names.emplace_back(std::move(own_number), name);
  }
  if (names.empty()) names.emplace_back(number, wanted);
  std::sort(names.begin(), names.end());
  std::vector<Drawable> steps;
  for (const auto& [place, name] : names) {
    steps.push_back(map_of(file, name, PictureKind::Shows::weights));
    if (!is_map(name)) steps.back().tensor = "weights";
    if (request.labels) steps.back().labels = read_label_file(*request.labels, access);
  }
  return steps;
}

}  // namespace attn
