#include "pictures/drawable.hpp"

#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "document/document.hpp"
#include "document/object.hpp"
#include "document/tensor_source.hpp"
#include "io/json_tensor_file.hpp"
#include "pictures/mask_picture.hpp"
#include "result/tensor_meaning.hpp"
#include "support/count_text.hpp"
#include "support/mapped_file.hpp"
#include "support/nearest_name.hpp"

namespace attn {
namespace {

// Among names of tensors, what stands before "weights" in that of the weights to draw: nothing, or
// "self." and the like for those of a layer's first attention.
std::string prefix_of_weights(std::span<const std::string> names) {
  constexpr std::string_view weights = "weights";
  if (std::find(names.begin(), names.end(), weights) != names.end()) return "";
  for (const std::string& name : names) {
    if (name.ends_with(".weights")) return name.substr(0, name.size() - weights.size());
  }
  return "";
}

// A decoder's queries attend to themselves first; the key labels are those of its memory.
void give_own_labels(Drawable& drawable, const std::string& prefix,
                     std::span<const std::string> names) {
  constexpr std::string_view self = "self.";
  if (!prefix.ends_with(self)) return;
  const std::string cross = prefix.substr(0, prefix.size() - self.size()) + "cross.weights";
  if (std::find(names.begin(), names.end(), cross) == names.end()) return;
  drawable.labels.key = drawable.labels.query;
}

void read_shapes(const JsonValue& value, Drawable& drawable) {
  for (const JsonMember& member : expect_object(value, "/shapes").members()) {
    const std::string pointer = pointer_to("/shapes", member.key);
    if (!member.value.is(JsonValue::Type::array)) {
      throw input_error("expected a shape, found " + std::string(type_text(member.value)), pointer,
                        "give an array of sizes such as [2,3,4]");
    }
    Shape shape;
    for (std::size_t i = 0; i < member.value.size(); ++i) {
      shape.push_back(static_cast<std::size_t>(
          expect_integer(member.value.element(i), pointer_to(pointer, i), 1)));
    }
    if (shape.size() < 2) {
      throw input_error("the shape " + text(shape) + " has fewer than 2 axes", pointer,
                        "give at least the length and the width");
    }
    drawable.shapes.emplace_back(member.key, std::move(shape));
  }
}

// The tensor to draw: the one asked for, or the weights.
std::string wanted_tensor(const PlotRequest& request, std::span<const std::string> names) {
  if (!request.name) {
    std::string weights = prefix_of_weights(names) + "weights";
    if (std::find(names.begin(), names.end(), weights) != names.end()) return weights;
    const auto pooled = std::find_if(names.begin(), names.end(), [](const std::string& name) {
      return name == "pooled_weights" || name.ends_with(".pooled_weights");
    });
    return pooled == names.end() ? weights : *pooled;
  }
  if (std::find(names.begin(), names.end(), *request.name) != names.end()) return *request.name;
  const std::vector<std::string_view> known(names.begin(), names.end());
  throw input_error("there is no tensor \"" + *request.name + "\"", "--name",
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

Drawable read_json(const JsonValue& root, const std::filesystem::path& folder,
                   const PlotRequest& request, const FileAccess& access) {
  Drawable drawable;
  TensorSource tensors(folder, access);
  if (root.is(JsonValue::Type::array)) {
    drawable.weights = tensors.read(root, DType::float64, "");
    return drawable;
  }
  const JsonValue* holder = root.find("tensors");
  const std::string pointer = holder ? "/tensors" : "";
  if (!holder) holder = &root;
  expect_object(*holder, pointer);
  std::vector<std::string> names;
  for (const JsonMember& member : holder->members()) names.push_back(member.key);
  const auto read = [&](const std::string& name, DType dtype) {
    const JsonValue* value = holder->find(name);
    if (!value || value->is(JsonValue::Type::boolean)) return Tensor();
    return tensors.read(*value, dtype, pointer_to(pointer, name));
  };
  if (request.kind != PlotKind::dimensions) {
    drawable.tensor = wanted_tensor(request, names);
    const std::string prefix = prefix_of(drawable.tensor);
    drawable.weights = read(drawable.tensor, DType::float64);
    if (shows_mask(drawable.tensor))
      drawable.allowed = read(allowed_of(drawable.tensor), DType::boolean);
    if (request.kind == PlotKind::stages) {
      drawable.scores = read(prefix + "scores", DType::float64);
      drawable.capped = read(prefix + "capped", DType::float64);
      drawable.masked = read(prefix + "masked", DType::float64);
    }
  }
  if (const JsonValue* shapes = root.find("shapes")) read_shapes(*shapes, drawable);
  if (const JsonValue* labels = root.find("labels"))
    drawable.labels = read_labels(*labels, "/labels", 0, 0, 0);
  give_own_labels(drawable, prefix_of(drawable.tensor), names);
  if (const JsonValue* title = root.find("title")) drawable.title = expect_string(*title, "/title");
  return drawable;
}

Tensor drawable_numbers(const Tensor& tensor) {
  return tensor && tensor.dtype() != DType::float32 ? tensor.converted(DType::float64) : tensor;
}

Drawable read_tensor_file(const TensorFile& file, const PlotRequest& request,
                          const Limits& limits) {
  Drawable drawable;
  const std::vector<std::string> names(file.names().begin(), file.names().end());
  drawable.tensor = wanted_tensor(request, names);
  const std::string prefix = prefix_of(drawable.tensor);
  for (const std::string& name : names) {
    const Tensor tensor = file.read(name);
    check_element_limit(tensor.size(), limits.elements, request.input.string());
    drawable.shapes.emplace_back(name, tensor.shape());
    if (name == drawable.tensor) drawable.weights = drawable_numbers(tensor);
    if (name == allowed_of(drawable.tensor) && shows_mask(drawable.tensor))
      drawable.allowed = checked_conversion(tensor, DType::boolean, name);
    if (name == prefix + "scores") drawable.scores = drawable_numbers(tensor);
    if (name == prefix + "capped") drawable.capped = drawable_numbers(tensor);
    if (name == prefix + "masked") drawable.masked = drawable_numbers(tensor);
  }
  if (!drawable.weights && names.size() == 1)
    drawable.weights = drawable_numbers(file.read(names[0]));
  return drawable;
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

// What the user names may stand anywhere, what a file names may be confined.
std::shared_ptr<const MappedFile> open_named(const std::filesystem::path& path,
                                             const FileAccess& access) {
  FileAccess anywhere = access;
  anywhere.restrict_to.reset();
  return MappedFile::open(path, anywhere);
}

Labels read_label_file(const std::filesystem::path& path, const FileAccess& access) {
  const auto file = open_named(path, access);
  try {
    return read_labels(parse_json(file->text(), {.depth = access.limits.nesting}), "", 0, 0, 0);
  } catch (const Error& error) {
    throw error.inside(path.string());
  }
}

// An input document has a kind but no results yet.
bool is_document(const JsonValue& root) {
  return root.find("attention") && !root.find("tensors");
}

Drawable read_file(const PlotRequest& request, const FileAccess& access) {
  const auto file = open_named(request.input, access);
  const bool standard_input = request.input == "-";
  const std::string name = standard_input ? "standard input" : request.input.string();
  Drawable drawable;
  if (looks_like_json(file->bytes())) {
    bool document = false;
    try {
      const JsonValue root =
          parse_json(file->text(), {.depth = access.limits.nesting, .owner = file});
      document =
          request.kind == PlotKind::mask && root.is(JsonValue::Type::object) && is_document(root);
      if (!document) {
        drawable =
            read_json(root, standard_input ? std::filesystem::path() : request.input.parent_path(),
                      request, access);
      }
    } catch (const Error& error) {
      throw error.where().starts_with("--") ? error : error.inside(name);
    }
    if (document) drawable.mask = document_mask(file->text(), name, request, access);
  } else {
    drawable = read_tensor_file(TensorFile::from_memory(file->bytes(), file, name, access.limits),
                                request, access.limits);
  }
  drawable.name = name;
  return drawable;
}

}  // namespace

Drawable read_drawable(const PlotRequest& request, const FileAccess& access) {
  Drawable drawable = read_file(request, access);
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

Labels labels_in(const std::filesystem::path& path) {
  if (path == "-") return {};
  try {
    const auto file = MappedFile::open(path);
    if (!looks_like_json(file->bytes())) return {};
    const JsonValue root = parse_json(file->text(), {.owner = file});
    const JsonValue* labels = root.find("labels");
    return labels ? read_labels(*labels, "/labels", 0, 0, 0) : Labels{};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace attn
