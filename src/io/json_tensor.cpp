#include "io/json_tensor.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "attn/error.hpp"

#include "io/file_members.hpp"
#include "io/number_array.hpp"
#include "io/raw_array.hpp"
#include "io/safetensors.hpp"
#include "io/tensor_call.hpp"
#include "support/number_text.hpp"
#include "support/printable.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

// Sentences about arrays with one, two and more axes below them.
struct Sentences {
  const char *unlike_one, *unlike_others, *expected;
};
const Sentences& sentences(std::size_t axes) {
  static constexpr Sentences all[] = {
      {to_translate("row {1} has {2}, but the row before it has {3}"),
       to_translate("row {1} has {2}, but the rows before it have {3}"),
       to_translate("expected a row of {2}, found {1}")},
      {to_translate("matrix {1} has {2}, but the matrix before it has {3}"),
       to_translate("matrix {1} has {2}, but the matrices before it have {3}"),
       to_translate("expected a matrix of {2}, found {1}")},
      {to_translate("block {1} has {2}, but the block before it has {3}"),
       to_translate("block {1} has {2}, but the blocks before it have {3}"),
       to_translate("expected a block of {2}, found {1}")}};
  return all[std::min(axes, std::size(all)) - 1];
}

// Number of arrays with `axes` axes below them: "4 numbers", "1 row".
std::string counted(std::size_t count, std::size_t axes) {
  if (axes == 0) return translated_count(count, "{1} number", "{1} numbers");
  if (axes == 1) return translated_count(count, "{1} row", "{1} rows");
  return axes == 2 ? translated_count(count, "{1} matrix", "{1} matrices")
                   : translated_count(count, "{1} block", "{1} blocks");
}

const double* special_number(const std::string& text) {
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double minus_infinity = -infinity;
  static constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  if (text == "inf") return &infinity;
  if (text == "-inf") return &minus_infinity;
  if (text == "nan") return &not_a_number;
  return nullptr;
}

std::string described(const JsonValue& value) {
  if (value.is(JsonValue::Type::string))
    return translated("the string {1}", in_quotes(value.string()));
  if (value.is(JsonValue::Type::number))
    return translated("the number {1}", number_text(value.number()));
  return translated(type_text(value));
}

template <class T>
class Reader {
 public:
  explicit Reader(Shape shape, std::string pointer)
      : shape_(std::move(shape)), pointer_(std::move(pointer)) {}

  Tensor read(const JsonValue& value) {
    read_axis(value, 0);
    return Tensor(shape_, std::move(elements_));
  }

 private:
  void read_axis(const JsonValue& value, std::size_t axis) {
    check_row(value, axis);
    const bool innermost = axis + 1 == shape_.size();
    for (std::size_t i = 0; i < value.size(); ++i) {
      index_[axis] = i;
      if (innermost) {
        elements_.push_back(leaf(value.element(i), axis + 1));
      } else {
        read_axis(value.element(i), axis + 1);
      }
    }
  }

  // Throws if the value at `axis` steps below the top is no array of shape_[axis] elements.
  void check_row(const JsonValue& value, std::size_t axis) {
    if (!value.is(JsonValue::Type::array)) throw_not_a_row(value, axis);
    if (value.size() == 0) throw_empty(place(axis));
    const std::size_t axes = shape_.size() - axis;
    // An error about missing rows helps more than one about their number.
    if (axes > 1 && !value.element(0).is(JsonValue::Type::array)) {
      index_[axis] = 0;
      throw_not_a_row(value.element(0), axis + 1);
    }
    if (value.size() == shape_[axis]) return;
    bool second = index_[axis - 1] == 1;
    for (std::size_t i = 0; i + 1 < axis; ++i) second = second && index_[i] == 0;
    const Sentences& own = sentences(axes);
    throw input_error(translated(second ? own.unlike_one : own.unlike_others, index_[axis - 1],
                                 counted(value.size(), axes - 1), shape_[axis]),
                      place(axis), translated("give all rows of a tensor the same length"));
  }

  [[noreturn]] void throw_not_a_row(const JsonValue& value, std::size_t axis) const {
    const std::size_t axes = shape_.size() - axis;
    throw input_error(
        translated(sentences(axes).expected, described(value), counted(shape_[axis], axes - 1)),
        place(axis), translated("nest all parts of a tensor equally deep"));
  }

  T leaf(const JsonValue& value, std::size_t axis) const {
    if (value.is(JsonValue::Type::number)) {
      if constexpr (std::is_same_v<T, std::int64_t>) {
        if (value.is_integer()) return value.integer();
      }
      return converted(value.number());
    }
    if (value.is(JsonValue::Type::boolean)) return static_cast<T>(value.boolean());
    if (value.is(JsonValue::Type::array)) {
      throw input_error(translated("expected a number, found an array"), place(axis),
                        translated("nest all parts of a tensor equally deep"));
    }
    if (value.is(JsonValue::Type::string)) {
      if (const double* number = special_number(value.string())) {
        if constexpr (std::is_floating_point_v<T>) return static_cast<T>(*number);
      }
    }
    if (double number = 0; value.is(JsonValue::Type::string) &&
                           parse_number(value.string(), number) && std::isfinite(number)) {
      throw input_error(translated("expected a number, found {1}", described(value)), place(axis),
                        translated("write it without quotes: {1}", value.string()));
    }
    throw input_error(
        translated("expected a number, found {1}", described(value)), place(axis),
        std::is_floating_point_v<T>
            ? translated(
                  "numbers, true, false, \"inf\", \"-inf\" and \"nan\" are allowed in a tensor")
        : std::is_same_v<T, std::int64_t>
            ? translated("only integers are allowed here")
            : translated("only true, false, 1 and 0 are allowed here"));
  }

  T converted(double number) const {
    if constexpr (std::is_same_v<T, double>) {
      return number;
    } else if constexpr (std::is_same_v<T, float>) {
      const float rounded = static_cast<float>(number);
      if (std::isinf(rounded)) {
        throw input_error(
            translated("the number {1} is beyond the range of {2}", number_text(number),
                       name(DType::float32)),
            place(shape_.size()),
            translated("use the dtype \"float64\", or write \"inf\" and \"-inf\" for infinities"));
      }
      return rounded;
    } else if constexpr (std::is_same_v<T, std::int64_t>) {
      if (!(number >= -0x1p63 && number < 0x1p63)) {
        throw input_error(
            translated("the number {1} is beyond the range of int64", number_text(number)),
            place(shape_.size()), translated("only integers are allowed here"));
      }
      if (std::trunc(number) != number) {
        throw input_error(translated("the number {1} is not an integer", number_text(number)),
                          place(shape_.size()), translated("only integers are allowed here"));
      }
      return static_cast<std::int64_t>(number);
    } else {
      if (number != 0 && number != 1) {
        throw input_error(
            translated("the number {1} is neither true nor false", number_text(number)),
            place(shape_.size()), translated("only true, false, 1 and 0 are allowed here"));
      }
      return number == 1;
    }
  }

  // JSON pointer to the value under read, `axis` steps below the top.
  std::string place(std::size_t axis) const {
    std::string result = pointer_;
    for (std::size_t i = 0; i < axis; ++i) result = pointer_to(result, index_[i]);
    return result;
  }

 public:
  [[noreturn]] static void throw_empty(const std::string& pointer) {
    throw input_error(translated("an array is empty: no axis of a tensor may have the size 0"),
                      pointer, translated("write at least one number into it, or leave it out"));
  }

 private:
  Shape shape_;
  std::string pointer_;
  std::vector<T> elements_;
  std::size_t index_[most_axes] = {};
};

Tensor read_elements(const JsonValue& value, DType dtype, Shape shape, const std::string& pointer) {
  const NumberBlock* const block = value.block();
  if (block != nullptr && block->shape() == shape) {
    if (Tensor tensor = block->as(dtype)) return tensor;
  }
  return with_element_type(
      dtype, [&]<class T>() { return Reader<T>(std::move(shape), pointer).read(value); });
}

// Shape by the first element of each array. The others are checked against it while they are read.
Shape shape_of(const JsonValue& value, const std::string& pointer) {
  if (const NumberBlock* block = value.block()) return block->shape();
  Shape shape;
  std::string place = pointer;
  for (const JsonValue* inner = &value; inner->is(JsonValue::Type::array);
       inner = &inner->element(0)) {
    if (inner->size() == 0) Reader<double>::throw_empty(place);
    shape.push_back(inner->size());
    check_axes(shape.size(), pointer);
    place = pointer_to(place, std::size_t{0});
  }
  return shape;
}

Tensor read_flat(const JsonValue& value, DType dtype, const std::string& pointer) {
  const JsonValue *const given_shape = value.find("shape"), *const given_data = value.find("data");
  if (given_shape == nullptr || given_data == nullptr) {
    const bool data_is_missing = given_data == nullptr;
    throw input_error(
        translated("{1} is given without {2}", in_quotes(data_is_missing ? "shape" : "data"),
                   in_quotes(data_is_missing ? "data" : "shape")),
        pointer,
        data_is_missing ? translated("add \"data\", the numbers as one flat array")
                        : translated("add \"shape\", such as [2,3,4]"));
  }
  const JsonValue& data = *given_data;
  Shape shape = shape_from_json(*given_shape, pointer_to(pointer, "shape"));
  const std::string data_pointer = pointer_to(pointer, "data");
  if (!data.is(JsonValue::Type::array)) {
    throw input_error(translated("expected a flat array of numbers, found {1}", described(data)),
                      data_pointer, "");
  }
  const std::size_t count = element_count(shape);
  if (data.size() != count) {
    const bool nested = data.size() > 0 && data.element(0).is(JsonValue::Type::array);
    throw input_error(
        translated("the shape {1} takes {2}, but there {3}{4}", text(shape), counted(count, 0),
                   data.size() == 1 ? translated("is ") : translated("are "), data.size()),
        data_pointer,
        nested ? translated("write the numbers of \"data\" in one list, row after row, or nested "
                            "arrays alone, "
                            "without \"shape\" and \"data\"")
               : translated("make the product of the sizes equal to the number of elements"));
  }
  return read_elements(data, dtype, {count}, data_pointer).reshaped(std::move(shape));
}

void check_stated(const JsonValue& reference, const Tensor& tensor, const std::string& pointer) {
  const std::string help =
      translated("name the file that was written with this entry, or leave this out");
  if (const JsonValue* shape = reference.find("shape")) {
    const std::string at = pointer_to(pointer, "shape");
    const Shape stated = shape_from_json(*shape, at);
    if (stated != tensor.shape()) {
      throw input_error(translated("the tensor in the file has the shape {1}, not {2}",
                                   text(tensor.shape()), text(stated)),
                        at, help);
    }
  }
  if (const JsonValue* dtype = reference.find("dtype")) {
    const std::string at = pointer_to(pointer, "dtype");
    if (!dtype->is(JsonValue::Type::string)) {
      throw input_error(translated("{1} is not a type of elements", described(*dtype)), at,
                        translated("the types are \"float32\", \"float64\", \"bfloat16\", "
                                   "\"float16\", \"int64\" and \"bool\""));
    }
    // Numbers of 16-bit types are read as float32.
    const bool half =
        dtype->string() == name(DType::bfloat16) || dtype->string() == name(DType::float16);
    if (dtype->string() != name(tensor.dtype()) && !(half && tensor.dtype() == DType::float32)) {
      throw input_error(translated("the tensor in the file is of {1}, not {2}",
                                   name(tensor.dtype()), in_quotes(dtype->string())),
                        at, help);
    }
  }
}

Tensor read_reference(const JsonValue& value, const std::string& pointer, const OpenTensor& open) {
  const auto string_in = [&](const char* key) {
    const JsonValue* const text = value.find(key);
    if (text == nullptr) return std::string();
    if (text->is(JsonValue::Type::string)) return text->string();
    throw input_error(translated("expected a name, found {1}", described(*text)),
                      pointer_to(pointer, key), "");
  };
  const std::string file = string_in("file"), name = string_in("name");
  Tensor tensor;
  try {
    tensor = open(file, name);
  } catch (const Error& error) {
    throw error.inside(pointer_to(pointer, "file"));
  }
  check_stated(value, tensor, pointer);
  return tensor;
}

}  // namespace

namespace {

// Help for a text in place of a tensor: a number in quotes, or a call such as "torch.rand(2, 5)".
// Empty for any other text.
std::string meant_by(const std::string& text) {
  double number = 0;
  return parse_number(text, number) && std::isfinite(number)
             ? translated("write it without quotes: {1}", text)
             : instead_of_call(text);
}

}  // namespace

bool looks_like_tensor(const JsonValue& value) {
  if (value.is(JsonValue::Type::object)) {
    const JsonValue* data = value.find("data");
    return value.find("shape") != nullptr && data != nullptr && data->is(JsonValue::Type::array);
  }
  if (value.block() != nullptr) return true;
  const JsonValue* inner = &value;
  while (inner->is(JsonValue::Type::array) && inner->size() > 0) inner = &inner->element(0);
  // A lone number is no tensor; an array without elements is a tensor with a mistake.
  return inner->is(JsonValue::Type::array) ||
         (inner != &value &&
          (inner->is(JsonValue::Type::number) || inner->is(JsonValue::Type::boolean) ||
           (inner->is(JsonValue::Type::string) && special_number(inner->string()) != nullptr)));
}

Tensor tensor_from_json(const JsonValue& value, DType dtype, const std::string& pointer,
                        const OpenTensor& open) {
  if (value.is(JsonValue::Type::array)) {
    return read_elements(value, dtype, shape_of(value, pointer), pointer);
  }
  if (open && value.find("file") != nullptr) return read_reference(value, pointer, open);
  if (value.find("files") != nullptr) {
    throw input_error(
        translated("the tensor is in comma-separated files, which are not read back"), pointer,
        translated("write the result with RunOptions::tensors json, npy, npz or safetensors"));
  }
  if (value.find("shape") != nullptr || value.find("data") != nullptr) {
    return read_flat(value, dtype, pointer);
  }
  const std::string meant = value.is(JsonValue::Type::string) ? meant_by(value.string()) : "";
  if (!meant.empty())
    throw input_error(translated("{1} is not a tensor", described(value)), pointer, meant);
  if (value.is(JsonValue::Type::number) || value.is(JsonValue::Type::boolean)) {
    throw input_error(
        translated("{1} is not a tensor", described(value)), pointer,
        dtype == DType::boolean
            ? translated("give one truth for each key, such as [[false,true]]")
            : translated(
                  "give an array of numbers, one for each that is meant, such as [0.5,0.5]"));
  }
  // A string with an extension is likely a file's name.
  const bool names_file = value.is(JsonValue::Type::string) &&
                          value.string().find_last_of('.') != std::string::npos &&
                          value.string().find(' ') == std::string::npos;
  throw input_error(
      translated("{1} is not a tensor", described(value)), pointer,
      names_file ? translated("give nested arrays of numbers, such as [[1,2],[3,4]], or a file, "
                              "{\"file\": …}")
                 : translated("give nested arrays of numbers, such as [[1,2],[3,4]]"));
}

std::vector<std::size_t> sizes_from_json(const JsonValue& value, std::int64_t least,
                                         const std::string& pointer) {
  if (!value.is(JsonValue::Type::array)) {
    throw input_error(translated("expected an array of sizes, found {1}", described(value)),
                      pointer, translated("give an array of whole numbers, such as [2,3,4]"));
  }
  check_axes(value.size(), pointer);
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const JsonValue& element = value.element(i);
    constexpr std::int64_t most = std::int64_t{1} << 53;
    if (!element.is_integer() || element.integer() < least || element.integer() > most) {
      throw input_error(translated("{1} is not a size", described(element)), pointer_to(pointer, i),
                        translated("give whole numbers from {1} to 2^53", least));
    }
    sizes.push_back(static_cast<std::size_t>(element.integer()));
  }
  return sizes;
}

Shape shape_from_json(const JsonValue& value, const std::string& pointer) {
  Shape shape = sizes_from_json(value, 1, pointer);
  try {
    element_count(shape);
  } catch (const Error& error) {
    throw error.inside(pointer);
  }
  return shape;
}

namespace {

constexpr const char* help = to_translate(
    "a file of tensors is a result of attn-cli, nested arrays of numbers, or an object of such "
    "arrays");

}  // namespace

bool looks_like_json(std::span<const std::byte> bytes) noexcept {
  // The length at the start of a .safetensors file may look like a bracket or white space.
  if (looks_like_safetensors(bytes)) return false;
  std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && (text[first] == '{' || text[first] == '[');
}

JsonTensorFile::JsonTensorFile(std::string_view text, std::shared_ptr<const void> owner,
                               std::size_t depth)
    : root_(std::make_unique<const JsonValue>(parse_json(
          text,
          {.depth = depth, .threads = 0, .owner = std::move(owner), .python_numbers = true}))) {
  const JsonValue& root = *root_;
  const auto add = [&](std::string name, std::string pointer, const JsonValue& value) {
    names_.push_back(std::move(name));
    pointers_.push_back(std::move(pointer));
    values_.push_back(&value);
  };
  if (!root.is(JsonValue::Type::object) && !root.is(JsonValue::Type::array)) {
    throw input_error(
        translated("the JSON text holds no tensors but {1}", translated(type_text(root))), "",
        translated(help));
  }
  files_ = ResultFiles(root);
  const JsonValue* dtype = root.find("dtype");
  // Numbers of 16-bit types are written like those of float32.
  if (dtype != nullptr && dtype->is(JsonValue::Type::string)) {
    for (const DType known : {DType::float32, DType::bfloat16, DType::float16}) {
      if (dtype->string() != name(known)) continue;
      dtype_ = DType::float32;
      if (is_half(known)) half_ = known;
    }
  }
  const JsonValue* tensors = root.find("tensors");
  if (tensors != nullptr && tensors->is(JsonValue::Type::object)) {
    for (const JsonMember& member : tensors->members()) {
      add(member.key, pointer_to("/tensors", member.key), member.value);
    }
    return;
  }
  const JsonValue* const shards = root.find("weight_map");
  if (shards != nullptr && shards->is(JsonValue::Type::object) && !shards->members().empty() &&
      shards->members()[0].value.is(JsonValue::Type::string)) {
    throw input_error(
        translated("this is the index of a checkpoint, and its tensors are in others"), "",
        translated("name one of the files that \"weight_map\" names, such as {1}",
                   in_quotes(shards->members()[0].value.string())));
  }
  JsonMembers members = json_members(root, "", "");
  for (JsonTensor& tensor : members.tensors) {
    if (tensor.name.starts_with("labels.")) continue;  // numbers as names
    add(std::move(tensor.name), std::move(tensor.pointer), *tensor.value);
  }
  others_ = std::move(members.others);
  if (!names_.empty()) return;
  if (root.is(JsonValue::Type::array)) {
    add("", "", root);  // whose mistake is told as it is read
    others_.clear();
  } else if (others_.empty() || others_.front().name.empty()) {
    throw input_error(translated("the JSON object holds no tensor"), "", translated(help));
  }
}

DType JsonTensorFile::stored_type(const Tensor& read) const {
  if (!half_ || read.dtype() != DType::float32) return read.dtype();
  const auto numbers = read.values<float>();
  const bool holds = std::all_of(numbers.begin(), numbers.end(), [&](float x) {
    const auto exact = static_cast<double>(x);
    return std::isnan(x) || nearest_half(exact, *half_) == exact;
  });
  return holds ? *half_ : read.dtype();
}

Tensor JsonTensorFile::read(std::size_t index, const OpenTensor& open) const {
  return tensor_from_json(*values_[index], dtype_, pointers_[index], open);
}

}  // namespace attn
