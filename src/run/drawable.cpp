#include "run/drawable.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "attn/error.hpp"
#include "attn/io.hpp"

#include "run/document.hpp"
#include "run/document_object.hpp"
#include "run/tensor_source.hpp"
#include "support/count_text.hpp"
#include "support/mapped_file.hpp"

namespace attn {
namespace {

bool is_json(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

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

Drawable read_json(std::string_view text, const std::filesystem::path& folder, bool wants_weights) {
  const JsonValue root = parse_json(text);
  Drawable drawable;
  TensorSource tensors(folder);
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
  const std::string prefix = prefix_of_weights(names);
  if (const JsonValue* weights = holder->find(prefix + "weights");
      wants_weights && weights && !weights->is(JsonValue::Type::boolean)) {
    drawable.weights =
        tensors.read(*weights, DType::float64, pointer_to(pointer, prefix + "weights"));
  }
  if (const JsonValue* allowed = holder->find(prefix + "allowed"); wants_weights && allowed) {
    drawable.allowed =
        tensors.read(*allowed, DType::boolean, pointer_to(pointer, prefix + "allowed"));
  }
  if (const JsonValue* shapes = root.find("shapes")) read_shapes(*shapes, drawable);
  if (const JsonValue* labels = root.find("labels"))
    drawable.labels = read_labels(*labels, "/labels", 0, 0, 0);
  give_own_labels(drawable, prefix, names);
  if (const JsonValue* title = root.find("title")) drawable.title = expect_string(*title, "/title");
  return drawable;
}

Drawable read_tensor_file(const TensorFile& file) {
  Drawable drawable;
  const std::string prefix = prefix_of_weights(file.names());
  for (const std::string& name : file.names()) {
    const Tensor tensor = file.read(name);
    drawable.shapes.emplace_back(name, tensor.shape());
    if (name == prefix + "weights") drawable.weights = tensor;
    if (name == prefix + "allowed")
      drawable.allowed = checked_conversion(tensor, DType::boolean, name);
  }
  if (!drawable.weights && file.names().size() == 1) drawable.weights = file.read(file.names()[0]);
  if (drawable.weights && drawable.weights.dtype() != DType::float32) {
    drawable.weights = drawable.weights.converted(DType::float64);
  }
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
    for (const auto& list : lists) {
      if (list.size() == length) continue;
      throw input_error(
          count_text(list.size(), "label") + " for " +
              (axis == std::string_view("query") ? count_text(length, "query", "queries")
                                                 : count_text(length, "key")),
          std::string("/labels/") + axis, "give one label each");
    }
  };
  check(labels.query, maps.queries(), "query");
  check(labels.key, maps.keys(), "key");
}

Labels read_label_file(const std::filesystem::path& path) {
  const auto file = MappedFile::open(path);
  try {
    return read_labels(parse_json(file->text()), "", 0, 0, 0);
  } catch (const Error& error) {
    throw error.inside(path.string());
  }
}

Drawable read_file(const PlotRequest& request) {
  const auto file = MappedFile::open(request.input);
  const bool standard_input = request.input == "-";
  const std::string name = standard_input ? "standard input" : request.input.string();
  Drawable drawable;
  if (is_json(file->text())) {
    try {
      drawable = read_json(file->text(),
                           standard_input ? std::filesystem::path() : request.input.parent_path(),
                           request.kind != PlotKind::dimensions);
    } catch (const Error& error) {
      throw error.inside(name);
    }
  } else {
    drawable = read_tensor_file(TensorFile::from_memory(file->bytes(), file, name));
  }
  drawable.name = name;
  return drawable;
}

}  // namespace

Drawable read_drawable(const PlotRequest& request) {
  Drawable drawable = read_file(request);
  if (request.labels) drawable.labels = read_label_file(*request.labels);
  return drawable;
}

DrawableMaps maps_of(const Drawable& drawable) {
  if (!drawable.weights) {
    throw input_error("there are no weights to draw", "",
                      "give a result with weights, {\"weights\": …}, or a file with one tensor");
  }
  DrawableMaps maps{Maps(drawable.weights), {}};
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
    if (!is_json(file->text())) return {};
    const JsonValue root = parse_json(file->text());
    const JsonValue* labels = root.find("labels");
    return labels ? read_labels(*labels, "/labels", 0, 0, 0) : Labels{};
  } catch (const Error&) {
    return {};
  }
}

}  // namespace attn
