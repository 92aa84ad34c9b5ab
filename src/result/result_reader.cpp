#include "result/result_reader.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <system_error>
#include <utility>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/tensor_source.hpp"
#include "io/json_tensor.hpp"
#include "io/json_value.hpp"
#include "io/raw_array.hpp"
#include "io/result_files.hpp"
#include "result/seen_keys.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"

namespace attn {
namespace {

Shape read_shape(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::array)) {
    throw input_error(translated("expected a shape, found {1}", translated(type_text(value))),
                      pointer, translated("give an array of sizes such as [2,3,4]"));
  }
  Shape shape;
  for (std::size_t i = 0; i < value.size(); ++i) {
    shape.push_back(
        static_cast<std::size_t>(expect_integer(value.element(i), pointer_to(pointer, i), 1)));
  }
  if (shape.size() < 2) {
    throw input_error(translated("the shape {1} has fewer than 2 axes", text(shape)), pointer,
                      translated("give at least the length and the width"));
  }
  return shape;
}

// Whether the object says how to make a tensor: {"zeros": [2,3]}.
bool holds_form(const JsonValue& object) {
  constexpr auto forms = std::to_array<std::string_view>(
      {"data", "shape", "zeros", "ones", "full", "arange", "randn", "rand"});
  return std::any_of(forms.begin(), forms.end(),
                     [&](std::string_view form) { return object.find(form) != nullptr; });
}

}  // namespace

std::filesystem::path result_in(const std::filesystem::path& input) {
  std::error_code none;
  std::filesystem::path result = input / "result.json";
  return input != "-" && std::filesystem::is_directory(input, none) &&
                 std::filesystem::exists(result, none)
             ? result
             : input;
}

Error not_a_result(const std::string& file) {
  return input_error(translated("this is an input document, not a result"), file,
                     translated("run it first: {1}", "attn-cli run " + printable(file)));
}

template <class Read>
auto ResultReader::placed(const Read& read) const {
  try {
    return read();
  } catch (const Error& error) {
    throw error.inside(name_);
  }
}

ResultReader::ResultReader(const std::filesystem::path& path, const FileAccess& access)
    : ResultReader(MappedFile::open(FileName::by_user(result_in(path)), access), result_in(path),
                   access) {}

ResultReader::ResultReader(std::shared_ptr<const MappedFile> file,
                           const std::filesystem::path& path, const FileAccess& access,
                           bool checked)
    : name_(path == "-" ? translated("standard input") : path.string()),
      stem_(path == "-" ? "" : path.stem().string()),
      access_(access),
      file_(std::move(file)),
      source_(path == "-" ? std::filesystem::path() : path.parent_path(), access) {
  if (looks_like_json(file_->bytes())) {
    placed([&] { read_names(); });
    if (checked) check_keys();
    return;
  }
  tensors_ = TensorFile::from_file(file_->bytes(), file_, path, access);
  names_ = tensors_->names();
}

void ResultReader::read_names() {
  root_ = parse_json(file_->text(), {.depth = access_.limits.nesting, .owner = file_});
  if (root_.is(JsonValue::Type::array)) {
    names_.emplace_back();
    return;
  }
  source_.expect(ResultFiles(root_));
  const JsonValue* tensors = root_.find("tensors");
  holder_ = &expect_object(tensors ? *tensors : root_, tensors ? "/tensors" : "");
  for (const JsonMember& member : holder_->members()) names_.push_back(member.key);
}

void ResultReader::check_keys() const {
  if (!is_object() || is_document()) return;
  constexpr auto known = std::to_array<std::string_view>(
      {"weights", "labels", "shapes", "title", "description", "format", "dtype", "allowed",
       "scores", "capped", "masked", "output", "seen", "kv_heads"});
  for (const JsonMember& member : root_.members()) {
    const bool is_known = std::find(known.begin(), known.end(), member.key) != known.end();
    const bool is_file = member.value.is(JsonValue::Type::object) &&
                         (member.value.find("file") || member.value.find("files"));
    const bool made = member.value.is(JsonValue::Type::object) && holds_form(member.value);
    if (is_known || is_file || made || looks_like_tensor(member.value)) continue;
    throw input_error(translated("unknown key \"{1}\"", member.key), pointer_to("", member.key),
                      suggestion(member.key, known))
        .inside(name_);
  }
}

bool ResultReader::is_document() const {
  return (root_.find("attention") || root_.find("model")) && !root_.find("tensors");
}

bool ResultReader::is_result() const {
  return root_.find("tensors") != nullptr;
}

std::optional<std::string> ResultReader::only_name() const {
  const bool only = names_.size() == 1 && (tensors_ || names_[0].empty());
  return only ? std::optional(names_[0]) : std::nullopt;
}

Tensor ResultReader::read_json(const std::string& tensor, DType dtype) {
  return placed([&] {
    if (!holder_) return tensor.empty() ? source_.read(root_, dtype, "") : Tensor();
    const JsonValue* value = holder_->find(tensor);
    if (!value || value->is(JsonValue::Type::boolean)) return Tensor();
    return source_.read(*value, dtype, pointer_to(holder_ == &root_ ? "" : "/tensors", tensor));
  });
}

Tensor ResultReader::read_tensor(const std::string& tensor) const {
  if (std::find(names_.begin(), names_.end(), tensor) == names_.end()) return {};
  Tensor read = tensors_->read(tensor);
  check_element_limit(read.size(), access_.limits.elements, name_);
  return read;
}

Tensor ResultReader::numbers(const std::string& tensor) {
  if (!tensors_) return read_json(tensor, DType::float64);
  const Tensor read = read_tensor(tensor);
  return read.dtype() == DType::float32 ? read : read.converted(DType::float64);
}

Tensor ResultReader::booleans(const std::string& tensor) {
  if (!tensors_) return read_json(tensor, DType::boolean);
  const Tensor read = read_tensor(tensor);
  return read ? placed([&] { return checked_conversion(read, DType::boolean, tensor); }) : read;
}

Tensor ResultReader::seen(const std::string& prefix, const Shape& weights) {
  const JsonValue* seen = root_.find("seen");
  if (!seen) return {};
  return placed([&] {
    return read_seen_keys(*seen, prefix, weights, "/seen",
                          [this](const JsonValue& value, const std::string& pointer) {
                            return source_.read(value, DType::float64, pointer);
                          });
  });
}

bool ResultReader::holds_floats() const {
  const JsonValue* dtype = root_.find("dtype");
  return dtype != nullptr && dtype->is(JsonValue::Type::string) && dtype->string() != "float64";
}

std::optional<std::size_t> ResultReader::kv_heads() const {
  const JsonValue* heads = root_.find("kv_heads");
  if (!heads || is_document()) return std::nullopt;
  return placed([&] { return static_cast<std::size_t>(expect_integer(*heads, "/kv_heads", 1)); });
}

std::string ResultReader::title() const {
  const JsonValue* title = root_.find("title");
  return title ? placed([&] { return expect_string(*title, "/title"); }) : "";
}

Labels ResultReader::labels(const std::string& tensor) {
  const JsonValue* labels = root_.find("labels");
  if (!labels) return {};
  return placed([&] {
           return read_labels(*labels, "/labels", {}, [this](const std::string& name) {
             return std::string(source_.bytes(name)->text());
           });
         })
      .of_attention(AttentionName::of_tensor(tensor), [&](const AttentionName& attention) {
        return std::any_of(names_.begin(), names_.end(), [&](const std::string& name) {
          return name.starts_with(attention.prefix());
        });
      });
}

std::vector<std::pair<std::string, Shape>> ResultReader::shapes() const {
  std::vector<std::pair<std::string, Shape>> shapes;
  if (tensors_) {
    for (const std::string& name : names_) shapes.emplace_back(name, read_tensor(name).shape());
  } else if (const JsonValue* value = root_.find("shapes")) {
    placed([&] {
      for (const JsonMember& member : expect_object(*value, "/shapes").members()) {
        shapes.emplace_back(member.key,
                            read_shape(member.value, pointer_to("/shapes", member.key)));
      }
    });
  }
  return shapes;
}

}  // namespace attn
