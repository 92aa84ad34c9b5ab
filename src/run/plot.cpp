#include <array>
#include <string>

#include "attn/error.hpp"
#include "attn/io.hpp"
#include "attn/run.hpp"

#include "run/dimension_chart.hpp"
#include "run/document.hpp"
#include "run/document_object.hpp"
#include "run/map_selection.hpp"
#include "run/tensor_source.hpp"
#include "support/atomic_file.hpp"
#include "support/count_text.hpp"
#include "support/mapped_file.hpp"
#include "support/nearest_name.hpp"

namespace attn {
namespace {

// What a file holds of one attention, as far as pictures need it.
struct Drawable {
  Tensor weights, allowed;
  Labels labels;
  std::string title;
  std::vector<std::pair<std::string, Shape>> shapes;
};

bool is_json(std::string_view text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
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

Drawable read_json(std::string_view text, const std::filesystem::path& folder) {
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
  if (const JsonValue* weights = holder->find("weights");
      weights && !weights->is(JsonValue::Type::boolean)) {
    drawable.weights = tensors.read(*weights, DType::float64, pointer_to(pointer, "weights"));
  }
  if (const JsonValue* allowed = holder->find("allowed")) {
    drawable.allowed = tensors.read(*allowed, DType::boolean, pointer_to(pointer, "allowed"));
  }
  if (const JsonValue* shapes = root.find("shapes")) read_shapes(*shapes, drawable);
  if (const JsonValue* labels = root.find("labels"))
    drawable.labels = read_labels(*labels, "/labels", 0, 0, 0);
  if (const JsonValue* title = root.find("title")) drawable.title = expect_string(*title, "/title");
  return drawable;
}

Drawable read_tensor_file(const TensorFile& file) {
  Drawable drawable;
  for (const std::string& name : file.names()) {
    const Tensor tensor = file.read(name);
    drawable.shapes.emplace_back(name, tensor.shape());
    if (name == "weights") drawable.weights = tensor;
    if (name == "allowed") drawable.allowed = checked_conversion(tensor, DType::boolean, name);
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

Picture draw(const PlotRequest& request, const Drawable& drawable) {
  if (request.kind == PlotKind::dimensions) {
    const DimensionChart chart = dimension_chart(drawable.shapes);
    if (chart.query.empty() && chart.key.empty() && chart.value.empty() && chart.output.empty()) {
      throw input_error("there are no shapes to draw", "",
                        "give a result, {\"shapes\": {\"query\": [3,4], …}}, or a file with "
                        "tensors named query, key, "
                        "value and output");
    }
    return draw_dimensions(chart, request.options, request.format);
  }
  if (!drawable.weights) {
    throw input_error("there are no weights to draw", "",
                      "give a result with weights, {\"weights\": …}, or a file with one tensor");
  }
  const Maps maps(drawable.weights);
  check_labels(drawable.labels, maps);
  std::optional<Maps> allowed;
  if (drawable.allowed) {
    if (drawable.allowed.shape() != drawable.weights.shape()) {
      throw input_error("allowed " + text(drawable.allowed.shape()) +
                            " does not have the shape of the weights " +
                            text(drawable.weights.shape()),
                        "/allowed", "give both the same shape");
    }
    allowed.emplace(drawable.allowed);
  }
  const Maps* hidden = allowed ? &*allowed : nullptr;
  if (request.kind == PlotKind::grid) {
    return draw_grid(all_heatmaps(maps, hidden, drawable.labels), request.options, request.format);
  }
  maps.check(request.sample, request.head);
  return draw_heatmap(
      chosen_heatmap(maps, hidden, drawable.labels, drawable.title, request.sample, request.head),
      request.options, request.format);
}

}  // namespace

Picture plot(const PlotRequest& request) {
  const auto file = MappedFile::open(request.input);
  const bool standard_input = request.input == "-";
  const std::string name = standard_input ? "standard input" : request.input.string();
  Drawable drawable;
  if (is_json(file->text())) {
    try {
      drawable = read_json(file->text(),
                           standard_input ? std::filesystem::path() : request.input.parent_path());
    } catch (const Error& error) {
      throw error.inside(name);
    }
  } else {
    drawable = read_tensor_file(TensorFile::from_memory(file->bytes(), file, name));
  }
  if (request.labels) drawable.labels = read_label_file(*request.labels);
  try {
    return draw(request, drawable);
  } catch (const Error& error) {
    // A flag's error speaks of the command line, not of the file.
    throw error.where().starts_with("--") ? error : error.inside(name);
  }
}

PictureFormat picture_format(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  if (extension == ".png") return PictureFormat::png;
  if (extension == ".svg") return PictureFormat::svg;
  if (extension == ".pdf") return PictureFormat::pdf;
  throw input_error(extension.empty()
                        ? "\"" + path.string() + "\" has no extension that names a picture format"
                        : "unsupported picture format \"" + extension + "\"",
                    "--out", "name a file that ends in .png, .svg or .pdf");
}

void write_picture(const Picture& picture, const std::filesystem::path& path) {
  write_whole_file(path, picture.bytes);
}

}  // namespace attn
