#include "document/tensor_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "attn/error.hpp"

#include "document/fields.hpp"
#include "document/mask_reader.hpp"
#include "io/json_tensor.hpp"
#include "io/raw_array.hpp"
#include "support/file_opening.hpp"
#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// A form of tensors as objects, which may have members of a view too. Its first field decides the
// form.
struct Form {
  std::array<Field, 4> all;  // those without a key are none

  std::string_view key() const { return all[0].key; }
  std::span<const Field> fields() const {
    return std::span(all).first(static_cast<std::size_t>(
        std::ranges::count_if(all, [](const Field& field) { return !field.key.empty(); })));
  }
};

constexpr const char* shape_schema = R"("$ref": "#/$defs/shape")";
constexpr const char* seed_schema = R"("type": "integer")";
constexpr auto forms = std::to_array<Form>({
    {{{{"data", R"("type": "array", "items": {"$ref": "#/$defs/numbers"})", true},
       {"shape", shape_schema, true}}}},
    {{{{"file", R"("type": "string")", true},
       {"name", R"("type": "string")"},
       {"shape", shape_schema},
       {"dtype", R"("type": "string")"}}}},
    {{{{"zeros", shape_schema, true}}}},
    {{{{"ones", shape_schema, true}}}},
    {{{{"full", shape_schema, true}, {"value", R"("$ref": "#/$defs/numbers")", true}}}},
    {{{{"arange", R"("type": "integer", "minimum": 1)", true}, {"shape", shape_schema}}}},
    {{{{"randn", shape_schema, true}, {"seed", seed_schema}}}},
    {{{{"rand", shape_schema, true}, {"seed", seed_schema}}}},
});

std::string tensor_schema() {
  std::string objects;
  for (const Form& form : forms) {
    std::vector<Field> fields(form.fields().begin(), form.fields().end());
    fields.insert(fields.end(), view_fields().begin(), view_fields().end());
    objects += ",\n        {" + object_schema(fields) + "}";
  }
  return "\n      \"oneOf\": [\n        {\"type\": \"array\", \"minItems\": 1, \"items\": "
         "{\"$ref\": "
         "\"#/$defs/numbers\"}}" +
         objects + "\n      ]\n    ";
}

// Numbers and their nesting are checked when the document is read.
constexpr auto tensor_schemas = std::to_array<SchemaDefinition>({
    {"numbers",
     R"("oneOf": [{"type": "number"}, {"type": "boolean"}, {"enum": ["inf", "-inf", "nan"]},
        {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/numbers"}}])"},
    {"shape", R"("type": "array", "minItems": 1, "items": {"type": "integer", "minimum": 1})"},
    {"tensor", tensor_schema},
});

// The form of the object. Throws Error(input) for unknown, missing or contradictory members.
const Form& form_of(const JsonValue& object, const std::string& pointer) {
  std::vector<std::string_view> known;
  const Form* found = nullptr;
  for (const Form& form : forms) {
    known.push_back(form.key());
    if (!object.find(form.key())) continue;
    if (found) {
      throw input_error(
          translated("a tensor cannot be both \"{1}\" and \"{2}\"", found->key(), form.key()),
          pointer, translated("give one of them"));
    }
    found = &form;
  }
  if (found) {
    std::vector<std::string_view> members = known_keys(found->fields());
    for (const Field& field : view_fields()) members.push_back(field.key);
    expect_known_members(object, members, pointer);
    return *found;
  }
  // tensor_from_json() reports the problems of these objects.
  if (object.find("files")) return forms[0];
  refuse_foreign_drawing(object, pointer);
  known.insert(known.end(), {"shape", "name", "value", "seed"});
  expect_known_members(object, known, pointer);
  if (object.find("shape")) return forms[0];
  throw input_error(
      translated("this object is not a tensor"), pointer,
      translated("give nested arrays, or an object with \"shape\" and \"data\", or with one of "
                 "\"file\", \"zeros\", \"ones\", \"full\", \"arange\", \"randn\", \"rand\""));
}

// A tensor with one number in all elements. Throws Error(input) if it does not fit the dtype.
Tensor filled(Shape shape, double number, DType dtype, const std::string& pointer) {
  const Tensor one = checked_conversion(Tensor({1}, std::vector{number}), dtype, pointer);
  return with_element_type(dtype, [&]<class T>() {
    std::vector<T> numbers(element_count(shape), one.values<T>()[0]);
    return Tensor(std::move(shape), std::move(numbers));
  });
}

// The numbers 0, 1, 2… in a shape.
Tensor counted(Shape shape, DType dtype, const std::string& pointer) {
  std::vector<double> numbers(element_count(shape));
  std::iota(numbers.begin(), numbers.end(), 0.0);
  return checked_conversion(Tensor(std::move(shape), std::move(numbers)), dtype, pointer);
}

}  // namespace

bool describes_tensor(const JsonValue& value) {
  return value.find("shape") != nullptr || std::ranges::any_of(forms, [&](const Form& form) {
           return value.find(form.key()) != nullptr;
         });
}

std::span<const SchemaDefinition> tensor_definitions() noexcept {
  return tensor_schemas;
}

TorchRandom torch_manual_seed(std::int64_t seed) {
  return TorchRandom(static_cast<std::uint64_t>(seed));
}

Tensor checked_conversion(const Tensor& tensor, DType dtype, const std::string& pointer) {
  if (tensor.dtype() == dtype) return tensor;
  const auto refuse = [&](double number, const std::string& expected) {
    throw input_error(
        translated("the number {1} is not a {2}", number_text(number), expected), pointer,
        dtype == DType::boolean && number < 0
            ? translated("give only 0 and 1; numbers that are added to the scores are \"bias\"")
            : translated("give {1}", dtype == DType::boolean ? translated("only 0 and 1")
                                                             : translated("only whole numbers")));
  };
  const bool whole = dtype == DType::boolean || dtype == DType::int64;
  check_memory(tensor.size(), whole ? sizeof(double) : size_of(dtype),
               translated("a tensor of shape {1}", text(tensor.shape())), pointer);
  if (whole) {
    const Tensor numbers = tensor.converted(DType::float64);
    for (const double number : numbers.values<double>()) {
      if (dtype == DType::boolean && number != 0 && number != 1)
        refuse(number, translated("truth value"));
      if (dtype == DType::int64 && !(std::floor(number) == number && std::abs(number) <= 0x1p53)) {
        refuse(number, translated("whole number"));
      }
    }
  }
  Tensor converted = tensor.converted(dtype);
  if (dtype == DType::float32 && tensor.dtype() == DType::float64) {
    const auto before = tensor.values<double>();
    const auto after = converted.values<float>();
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (std::isinf(after[i]) && std::isfinite(before[i])) {
        throw input_error(translated("the number {1} is beyond the range of {2}",
                                     number_text(before[i]), name(dtype)),
                          pointer, translated("set \"dtype\" to \"float64\""));
      }
    }
  }
  return converted;
}

void check_range(const Tensor& tensor, DType dtype, const std::string& pointer) {
  if (!tensor || !is_half(dtype) || is_shape_only(tensor)) return;
  const auto numbers = tensor.values<float>();
  const auto beyond = std::find_if(numbers.begin(), numbers.end(), [&](float number) {
    // Numbers of usual sizes need no rounding to tell.
    return std::abs(number) > 65504 && std::isfinite(number) &&
           std::isinf(nearest_half(number, dtype));
  });
  if (beyond == numbers.end()) return;
  throw input_error(
      translated("the number {1} is beyond the range of {2}", float_text(*beyond), name(dtype)),
      pointer, translated("set \"dtype\" to \"float32\""));
}

void TensorSource::start(bool sketching) {
  sketching_ = sketching;
  keeps_ = true;
  random_.reset();
  doubts_.clear();
  made_ = read_ = 0;
}

void TensorSource::check_elements(double count, const std::string& what,
                                  const std::string& pointer) const {
  check_element_limit(count, access_.limits.elements, what, pointer);
}

void TensorSource::seed(std::int64_t seed) {
  random_ = torch_manual_seed(seed);
}

TorchRandom& TensorSource::generator(const std::string& pointer, const std::string& drawn) {
  has_drawn_ = true;
  if (!random_) {
    throw input_error(translated("{1} needs a seed", drawn), pointer,
                      translated("add a \"seed\" to the document: the same seed gives the same "
                                 "numbers, those of torch.manual_seed"));
  }
  return *random_;
}

TensorFile TensorSource::open(const std::string& name) const {
  const std::vector<std::filesystem::path>& given = access_.given;
  if (std::find(given.begin(), given.end(), path(name)) == given.end()) {
    return TensorFile::open_named(folder_, name, result_files_.checked(access_, name, path(name)));
  }
  FileAccess anywhere = access_;
  anywhere.restrict_to.reset();
  return TensorFile::open(path(name), anywhere);
}

namespace {

// Help for a name that no file has: an address, a home folder, a tensor's name behind that of its
// file. Empty for any other name.
std::string help_for_file(const std::string& name) {
  if (name.find("://") != std::string::npos)
    return translated("download it first: nothing is fetched");
  if (name.starts_with("~/"))
    return translated("write the whole path: ~ stands for no folder in a document");
  const std::size_t colon = name.rfind(':');
  const bool of_tensor = colon != std::string::npos && colon + 1 < name.size() &&
                         name.find('/', colon) == std::string::npos &&
                         name.substr(0, colon).find('.') != std::string::npos;
  if (!of_tensor) return "";
  return translated("write {1}", "{\"file\": " + in_quotes(name.substr(0, colon)) +
                                     ", \"name\": " + in_quotes(name.substr(colon + 1)) + "}");
}

// Help for a name that no file in the folder of a document has: the one that is near, or else where
// it is looked for. Empty if the folder is missing too.
std::string help_for_missing(const std::filesystem::path& folder, const std::string& name) {
  const std::filesystem::path file = folder / name;
  std::error_code none;
  for (const char* ending : {".npy", ".npz", ".safetensors", ".pt", ".json", ".csv"}) {
    if (std::filesystem::exists(file.native() + ending, none))
      return translated("did you mean {1}?", in_quotes(name + ending));
  }
  if (const std::filesystem::path near = nearest_file(file); !near.empty()) {
    const std::filesystem::path own = near.lexically_relative(folder);
    const bool as_found =
        folder.empty() || own.empty() || std::filesystem::path(name).is_absolute();
    return translated("did you mean {1}?", in_quotes((as_found ? near : own).native()));
  }
  const std::filesystem::path in =
      std::filesystem::absolute(file, none).lexically_normal().parent_path();
  if (!std::filesystem::is_directory(in, none)) return "";
  return translated("check the name: it is looked for in the folder {1}", in_quotes(in.native()));
}

}  // namespace

const TensorFile& TensorSource::file(const std::string& name) {
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second;
  try {
    return files_.emplace(name, open(name)).first->second;
  } catch (const Error& error) {
    std::string help = error.kind() == ErrorKind::file ? help_for_file(name) : "";
    // A confined document does not learn which files there are.
    std::error_code none;
    const bool looks = error.kind() == ErrorKind::file && help.empty() && !access_.restrict_to &&
                       !name.empty() && std::ranges::count(access_.given, path(name)) == 0;
    if (looks && !std::filesystem::exists(path(name), none)) help = help_for_missing(folder_, name);
    if (help.empty()) throw;
    throw Error(error.kind(), error.problem(), error.where(), help);
  }
}

std::shared_ptr<const MappedFile> TensorSource::bytes(const std::string& name) {
  std::shared_ptr<const MappedFile>& known = bytes_[name];
  if (!known) known = MappedFile::open(FileName::by_document(folder_, name), access_);
  return known;
}

Tensor TensorSource::once(const std::string& key, const std::string& pointer,
                          const std::function<Tensor()>& read, DType dtype,
                          const std::string& conversion, Integers integers) {
  const auto known = tensors_.find(key);
  if (keeps_ && known != tensors_.end()) return known->second;
  const Tensor tensor = read();
  check_element_limit(tensor.size(), access_.limits.elements, pointer);
  read_ += static_cast<double>(tensor.size());
  check_elements(read_elements(), translated("what the document names up to here"), pointer);
  const bool kept = integers == Integers::kept && tensor.dtype() == DType::int64;
  Tensor converted = checked_conversion(tensor, kept ? DType::int64 : dtype, conversion);
  if (keeps_) tensors_.emplace(key, converted);
  return converted;
}

Tensor TensorSource::read_from(const std::string& file, const std::string& name, DType dtype) {
  return once(
      file + '\0' + name, name, [&] { return this->file(file).read(name); }, dtype, name);
}

Tensor TensorSource::drawn(const Shape& shape, DType dtype, const std::string& pointer,
                           const std::function<Tensor()>& draw) {
  try {
    made_ += static_cast<double>(element_count(shape));
  } catch (const Error& error) {
    throw error.inside(pointer);
  }
  return sketching_ ? shape_only(shape, dtype) : draw();
}

namespace {

// Throws Error(input) for a type beside a file that is not that of its numbers: nothing converts
// them to it.
void check_stored_type(const JsonValue& value, const std::string& stored,
                       const std::string& pointer) {
  const JsonValue* const type = value.find("dtype");
  if (!type || !type->is(JsonValue::Type::string) || type->string() == stored) return;
  // NumPy has no bfloat16: a result has such numbers as float32 in its files, and says their shape.
  if (type->string() == "bfloat16" && stored == "float32" && value.find("shape")) return;
  throw input_error(
      translated("the file holds numbers of the type {1}, not {2}", stored, type->string()),
      pointer_to(pointer, "dtype"),
      translated("leave it out: \"dtype\" at the top of the document says what is computed in; "
                 "numbers rounded to bfloat16 come from a .safetensors or .pt file"));
}

// The error of a stated shape that a file does not have, with "reshape" as its help if the file has
// as many elements.
Error with_reshape(const Error& error, const JsonValue& value, std::size_t elements,
                   const std::string& pointer) {
  const Shape stated = shape_from_json(*value.find("shape"), pointer_to(pointer, "shape"));
  if (element_count(stated) != elements) return error;
  return {error.kind(), error.problem(), error.where(),
          translated("name the file that was written with this entry, or write {1} in its place",
                     "\"reshape\": " + text(stated))};
}

}  // namespace

Tensor TensorSource::read(const JsonValue& value, DType dtype, const std::string& pointer,
                          Integers integers) {
  const bool object = value.is(JsonValue::Type::object);
  if (object && has_view(value)) {
    JsonValue whole = value;
    const TensorView view = take_view(whole, pointer);
    const Tensor tensor = read(whole, dtype, pointer, integers);
    Tensor seen = viewed(tensor, view, pointer);
    note_reshape(tensor.shape(), view, pointer);
    return seen;
  }
  const std::string_view form = object ? form_of(value, pointer).key() : "data";
  if (form != "data" && form != "file") return made(value, form, dtype, pointer);
  std::string stored;
  std::size_t elements = 0;
  const auto open = [&](const std::string& name, const std::string& tensor) {
    stored = file(name).stored_type(tensor);
    note_type(stored, dtype, pointer);
    Tensor read = file(name).read(tensor);
    elements = read.size();
    return read;
  };
  return once(
      pointer, pointer,
      [&] {
        try {
          Tensor tensor = tensor_from_json(value, dtype, pointer, open);
          if (form == "file") check_stored_type(value, stored, pointer);
          return tensor;
        } catch (const Error& error) {
          if (form != "file" || error.where() != pointer_to(pointer, "shape")) throw;
          throw with_reshape(error, value, elements, pointer);
        }
      },
      dtype, pointer_to(pointer, form), integers);
}

// Notes a reshape that takes the numbers of some axes for those of others: its sizes are those of
// the tensor in another order.
void TensorSource::note_reshape(const Shape& from, const TensorView& view,
                                const std::string& pointer) {
  if (!view.reshape || view.slice || view.index) return;
  Shape to = *view.reshape;
  // 0 is what the others leave.
  std::size_t known = 1;
  for (const std::size_t size : to) known *= size == 0 ? 1 : size;
  std::ranges::replace(to, 0U, element_count(from) / known);
  const auto long_axes = [](Shape shape) {
    std::erase(shape, 1U);
    return shape;
  };
  if (!std::ranges::is_permutation(from, to) || long_axes(from) == long_axes(to)) return;
  Shape order;
  for (const std::size_t size : to) {
    std::size_t axis = 0;
    while (from[axis] != size || std::ranges::count(order, axis) > 0) ++axis;
    order.push_back(axis);
  }
  std::string doubt = translated(
      "{1} writes the numbers of {2} one after the other into {3}, so that rows mix those "
      "of several: write \"transpose\": {4} in its place if the axes are to change places",
      shown_place(pointer_to(pointer, "reshape")), text(from), text(to), text(order));
  if (std::ranges::count(doubts_, doubt) == 0) doubts_.push_back(std::move(doubt));
}

// Notes the element type of a file at a top-level key. Each key is read more than once.
void TensorSource::note_type(const std::string& type, DType dtype, const std::string& pointer) {
  const bool at_top = pointer.find('/', 1) == std::string::npos && pointer.size() > 1;
  if (!at_top || type == name(dtype)) return;
  const std::string key = pointer.substr(1);
  const bool known = std::any_of(file_types_.begin(), file_types_.end(),
                                 [&](const auto& noted) { return noted.first == key; });
  if (!known) file_types_.emplace_back(key, type);
}

// A tensor that is made as the document describes.
Tensor TensorSource::made(const JsonValue& value, std::string_view form, DType dtype,
                          const std::string& pointer) {
  // 1. The shape, within the limits.
  const std::string at = pointer_to(pointer, form);
  const JsonValue& content = *value.find(form);
  Shape shape = form == "arange"
                    ? Shape{static_cast<std::size_t>(expect_integer(
                          content, at, 1,
                          content.is(JsonValue::Type::array)
                              ? translated("write {1}", R"({"arange": 6, "shape": [2,3]})")
                              : ""))}
                    : shape_from_json(content, at);
  const std::size_t count = element_count(shape);
  check_memory(count, sizeof(double), translated("a tensor of shape {1}", text(shape)), at);
  check_element_limit(count, access_.limits.elements, at);
  const std::string all = translated("the document so far");
  made_ += static_cast<double>(count);
  check_memory(made_ * sizeof(double), all, at);
  check_elements(made_, all, at);
  const JsonValue* const given = value.find("shape");
  if (form == "arange" && given) {
    const std::string shape_at = pointer_to(pointer, "shape");
    shape = shape_from_json(*given, shape_at);
    if (element_count(shape) != count) {
      throw input_error(translated("the shape {1} has {2} elements, but arange has {3}",
                                   text(shape), element_count(shape), count),
                        shape_at, translated("make the sizes' product equal to arange"));
    }
  }
  // 2. The elements. A sketch makes one of them, to check whether it fits the dtype.
  constexpr std::size_t few = 4096;
  const bool sketched = sketching_ && count > few;
  const auto made_of = [&](double number, const std::string& number_at) {
    const Tensor one = filled(sketched ? Shape{1} : shape, number, dtype, number_at);
    return sketched ? shape_only(shape, dtype) : one;
  };
  if (form == "zeros") return made_of(0, at);
  if (form == "ones") return made_of(1, at);
  if (form == "arange") {
    const Tensor numbers = counted(sketched ? Shape{few} : shape, dtype, pointer);
    return sketched ? shape_only(shape, dtype) : numbers;
  }
  if (form == "full") {
    const JsonValue* number = value.find("value");
    if (!number) {
      throw input_error(translated("\"full\" is given without a \"value\""), pointer,
                        translated("add \"value\", the number of every element"));
    }
    const std::string value_at = pointer_to(pointer, "value");
    // The value is read as a tensor of one element, so that "inf", "-inf", "nan", true and false
    // are numbers here too.
    JsonValue single;
    single.data = JsonValue::Array({*number});
    const Tensor one = tensor_from_json(single, DType::float64, value_at);
    return made_of(one.values<double>()[0], value_at);
  }
  std::optional<TorchRandom> own;
  if (const JsonValue* seed = value.find("seed")) {
    const std::string seed_at = pointer_to(pointer, "seed");
    own = torch_manual_seed(expect_integer(*seed, seed_at, INT64_MIN));
  }
  TorchRandom& random = own ? *own : generator(at);
  if (sketching_) {
    const bool fractions = dtype == DType::float32 || dtype == DType::float64;
    if (!fractions) checked_conversion(Tensor({1}, std::vector{0.5}), dtype, at);
    return shape_only(std::move(shape), dtype);
  }
  const Tensor drawn = form == "randn" ? torch_randn(random, std::move(shape))
                                       : torch_rand(random, std::move(shape));
  return checked_conversion(drawn, dtype, at);
}

}  // namespace attn
