#include "result/result_reader.hpp"

#include <algorithm>
#include <array>
#include <system_error>

#include "attn/error.hpp"

#include "attention/attention_name.hpp"
#include "document/keys.hpp"
#include "io/hashed_files.hpp"
#include "io/json_tensor.hpp"
#include "io/raw_array.hpp"
#include "result/result_writer.hpp"
#include "support/errors.hpp"
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
  root_ = parse_json(file_->text(),
                     {.depth = access_.limits.nesting, .owner = file_, .python_numbers = true});
  if (root_.is(JsonValue::Type::array)) {
    read_members();
    if (names_.empty()) names_.emplace_back();  // whose mistake is told as it is read
    return;
  }
  source_.expect(ResultFiles(root_));
  const JsonValue* tensors = root_.find("tensors");
  holder_ = &expect_object(tensors ? *tensors : root_, tensors ? "/tensors" : "");
  if (is_object() && !is_document()) {
    read_members();
  } else {
    for (const JsonMember& member : holder_->members()) names_.push_back(member.key);
  }
}

namespace {

// Members of an object with maps that say something about them.
constexpr auto told_keys = std::to_array<std::string_view>(
    {"labels", "shapes", "title", "description", "format", "dtype", "seen", "kv_heads"});
// Tensors that such an object has by the names of results.
constexpr auto tensor_keys =
    std::to_array<std::string_view>({"weights", "allowed", "scores", "capped", "masked", "output"});

bool is_reference(const JsonValue& value) {
  return value.is(JsonValue::Type::object) && (value.find("file") || value.find("files"));
}

// Whether a value says by itself that it is a tensor, with what mistakes ever.
bool is_stated(const JsonMember& member) {
  return std::ranges::count(tensor_keys, member.key) > 0 || is_reference(member.value) ||
         (member.value.is(JsonValue::Type::object) && holds_form(member.value));
}

}  // namespace

// Tensors and others of a text that is no result, by their paths.
void ResultReader::read_members() {
  const auto add = [&](JsonMembers found) {
    for (JsonTensor& tensor : found.tensors) {
      names_.push_back(tensor.name);
      members_.try_emplace(tensor.name, std::move(tensor));
    }
    others_.insert(others_.end(), found.others.begin(), found.others.end());
  };
  if (!root_.is(JsonValue::Type::object)) {
    add(json_members(root_, "", ""));
    return;
  }
  for (const JsonMember& member : root_.members()) {
    if (is_stated(member)) {
      names_.push_back(member.key);
    } else if (std::ranges::count(told_keys, member.key) == 0) {
      add(json_members(member.value, pointer_to("", member.key), member.key));
    }
  }
}

void ResultReader::check_keys() const {
  if (!is_object() || is_document()) return;
  std::vector<std::string_view> known(tensor_keys.begin(), tensor_keys.end());
  known.insert(known.end(), told_keys.begin(), told_keys.end());
  for (const OtherMember& other : others_) {
    const JsonValue* value = root_.find(other.name);
    if (value == nullptr) continue;
    // Beside maps a file may say what it likes, but for a known key with a slip in it.
    if (!names_.empty() && nearest_name(other.name, known).empty()) continue;
    throw input_error(translated("unknown key \"{1}\"", other.name), pointer_to("", other.name),
                      suggestion(other.name, known))
        .inside(name_);
  }
}

bool ResultReader::is_document() const {
  if (root_.find("tensors")) return false;
  if (root_.find("model") && !holds_foreign_tensors()) return true;
  const JsonValue* attention = root_.find("attention");
  // Maps of another program may go by that name too.
  return attention && json_members(*attention, "", "").tensors.empty();
}

bool ResultReader::holds_foreign_tensors() const {
  return root_.is(JsonValue::Type::object) &&
         std::ranges::any_of(root_.members(), [](const JsonMember& member) {
           // Documents have numbers there, or lists of them.
           const bool counts = member.key == "layers" || member.key == "heads";
           if (find_key(member.key) != nullptr && !counts) return false;
           const std::vector<JsonTensor> tensors = json_members(member.value, "", "").tensors;
           return std::ranges::any_of(tensors, [&](const JsonTensor& tensor) {
             return !counts || !tensor.value->is(JsonValue::Type::array) ||
                    tensor.value->element(0).is(JsonValue::Type::array);
           });
         });
}

void ResultReader::refuse_other(const std::string& name) const {
  for (const OtherMember& other : others()) {
    if (other.name == name) throw not_a_tensor(other).inside(name_);
  }
}

bool ResultReader::is_result() const {
  return root_.find("tensors") != nullptr;
}

std::optional<std::string> ResultReader::only_name() const {
  // A lone tensor under a key that says nothing is what the file is about.
  const bool only =
      names_.size() == 1 && (tensors_ || names_[0].empty() || members_.contains(names_[0]));
  return only ? std::optional(names_[0]) : std::nullopt;
}

Tensor ResultReader::read_json(const std::string& tensor, DType dtype) {
  return placed([&] {
    if (const auto member = members_.find(tensor); member != members_.end()) {
      return source_.read(*member->second.value, dtype, member->second.pointer);
    }
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

std::string ResultReader::document() const {
  const JsonValue* document = is_result() ? root_.find("document") : nullptr;
  if (document == nullptr || !document->is(JsonValue::Type::string)) return "";
  return (std::filesystem::path(name_).parent_path() / document->string())
      .lexically_normal()
      .string();
}

std::vector<std::string> ResultReader::changes() const {
  const JsonValue* told = is_result() ? root_.find("changes") : nullptr;
  std::vector<std::string> changes;
  if (told == nullptr || !told->is(JsonValue::Type::array)) return changes;
  for (std::size_t i = 0; i < told->size(); ++i) {
    if (told->element(i).is(JsonValue::Type::string)) changes.push_back(told->element(i).string());
  }
  return changes;
}

std::optional<std::string> ResultReader::kind() const {
  const JsonValue* kind = is_result() ? root_.find("attention") : nullptr;
  if (kind == nullptr || !kind->is(JsonValue::Type::string)) return std::nullopt;
  return kind->string();
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

namespace {

constexpr std::string_view of_queries[] = {"query", "queries", "target", "tgt",    "left",
                                           "rows",  "row",     "output", "decoder"};
constexpr std::string_view of_keys[] = {"key",     "keys",   "source", "src",    "right",
                                        "columns", "column", "input",  "encoder"};

// Which side of a map a list of texts names by its own name.
enum class LabelledSide { either, query, key };
LabelledSide side_of(std::string_view name) {
  name.remove_prefix(name.rfind('.') + 1);
  const auto begins = [&](std::string_view word) {
    return name.starts_with(word) && (name.size() == word.size() || name[word.size()] == '_');
  };
  if (std::ranges::any_of(of_queries, begins)) return LabelledSide::query;
  return std::ranges::any_of(of_keys, begins) ? LabelledSide::key : LabelledSide::either;
}

// Number of characters of the parts of two paths that are the same from the first on.
std::size_t shared_path(std::string_view a, std::string_view b) {
  std::size_t shared = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()) && a[i] == b[i]; ++i) {
    if (a[i] == '.') shared = i + 1;
  }
  return shared;
}

}  // namespace

Labels ResultReader::own_labels(const std::string& tensor, std::size_t queries,
                                std::size_t keys) const {
  struct Found {
    std::vector<std::vector<std::string>> texts;
    std::size_t near = 0, count = 0;
    bool named = false;
  };
  const auto find = [&](LabelledSide side, std::size_t length) {
    Found best;
    for (const OtherMember& other : others()) {
      const LabelledSide own = side_of(other.name);
      if (!other.texts || (own != side && own != LabelledSide::either)) continue;
      std::vector<std::vector<std::string>> texts = other.texts();
      const bool fits = !texts.empty() && std::ranges::all_of(texts, [&](const auto& list) {
        return list.size() == length;
      });
      if (!fits) continue;
      const std::size_t near = shared_path(other.name, tensor);
      const bool named = own == side;
      const bool better =
          best.count == 0 || near > best.near || (near == best.near && named && !best.named);
      const bool alike = !better && near == best.near && named == best.named;
      if (better) {
        best = {std::move(texts), near, 1, named};
      } else if (alike && texts != best.texts) {
        ++best.count;
      }
    }
    return best.count == 1 ? std::move(best.texts) : std::vector<std::vector<std::string>>();
  };
  Labels labels;
  labels.query = find(LabelledSide::query, queries);
  labels.key = find(LabelledSide::key, keys);
  return labels;
}

std::vector<std::pair<std::string, Shape>> ResultReader::shapes(
    const std::vector<std::string>& names) const {
  std::vector<std::pair<std::string, Shape>> shapes;
  if (tensors_) {
    for (const std::string& name : names_) {
      if (!names.empty() && std::ranges::count(names, name) == 0) continue;
      try {
        shapes.emplace_back(name, read_tensor(name).shape());
      } catch (const Error&) {
        continue;  // a tensor that was not asked for
      }
    }
  } else if (const JsonValue* value = root_.find("shapes")) {
    placed([&] {
      for (const JsonMember& member : expect_object(*value, "/shapes").members()) {
        if (!names.empty() && std::ranges::count(names, member.key) == 0) continue;
        shapes.emplace_back(member.key,
                            read_shape(member.value, pointer_to("/shapes", member.key)));
      }
    });
  }
  return shapes;
}

}  // namespace attn
