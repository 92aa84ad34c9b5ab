#include "pictures/drawable.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "attn/error.hpp"

#include "io/json_value.hpp"
#include "pictures/mask_picture.hpp"
#include "result/result_reader.hpp"
#include "result/tensor_meaning.hpp"
#include "support/count_text.hpp"
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

void check_labels(const Labels& labels, const Maps& maps) {
  const auto check = [&](const std::vector<std::vector<std::string>>& lists, std::size_t length,
                         const char* axis) {
    if (lists.size() > 1 && lists.size() != maps.samples()) {
      throw input_error(count_text(lists.size(), "list") + " of labels for " +
                            count_text(maps.samples(), "sample"),
                        std::string("/labels/") + axis,
                        "give one list for all samples, or one list a sample");
    }
    for (const auto& list : lists) check_label_count(list.size(), length, axis);
  };
  check(labels.query, maps.queries(), "query");
  check(labels.key, maps.keys(), "key");
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

}  // namespace

Drawable read_drawable(const PlotRequest& request, const FileAccess& access) {
  ResultReader file(request.input, access);
  Drawable drawable;
  drawable.name = file.name();
  if (request.kind == PlotKind::mask && file.is_document()) {
    drawable.mask = document_mask(file.text(), file.name(), request, access);
  } else if (request.kind == PlotKind::dimensions) {
    drawable.shapes = file.shapes();
  } else {
    drawable.tensor = wanted_tensor(request, file.names());
    drawable.weights = file.numbers(drawable.tensor);
    if (const auto only = file.only_name(); only && !drawable.weights)
      drawable.weights = file.numbers(*only);
    if (shows_mask(drawable.tensor)) drawable.allowed = file.booleans(allowed_of(drawable.tensor));
    if (request.kind == PlotKind::stages) {
      const std::string prefix = prefix_of(drawable.tensor);
      drawable.scores = file.numbers(prefix + "scores");
      drawable.capped = file.numbers(prefix + "capped");
      drawable.masked = file.numbers(prefix + "masked");
    }
    drawable.labels = file.labels(drawable.tensor);
    drawable.title = file.title();
  }
  if (request.labels) drawable.labels = read_label_file(*request.labels, access);
  return drawable;
}

DrawableMaps maps_of(const Drawable& drawable) {
  if (!drawable.weights) {
    throw input_error("there are no weights to draw", "",
                      "give a result with weights, {\"weights\": …}, or a file with one tensor");
  }
  DrawableMaps maps{Maps(drawable.weights), {}};
  if (!is_map(drawable.tensor)) return maps;
  check_labels(drawable.labels, maps.weights);
  if (drawable.allowed) {
    if (drawable.allowed.shape() != drawable.weights.shape()) {
      throw input_error("allowed " + text(drawable.allowed.shape()) +
                            " does not have the shape of the weights " +
                            text(drawable.weights.shape()),
                        "/allowed", "give both the same shape");
    }
    maps.allowed.emplace(drawable.allowed);
  }
  return maps;
}

}  // namespace attn
