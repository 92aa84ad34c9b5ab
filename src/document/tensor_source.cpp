#include "document/tensor_source.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "document/object.hpp"
#include "io/json_tensor.hpp"
#include "support/memory_limit.hpp"
#include "support/number_text.hpp"

namespace attn {
namespace {

struct Form {
  std::string_view key;                   // the member that tells the form
  std::array<std::string_view, 3> other;  // what else may stand beside it
};

constexpr std::array<Form, 8> forms{{{"data", {"shape"}},
                                     {"file", {"name", "shape", "dtype"}},
                                     {"zeros", {}},
                                     {"ones", {}},
                                     {"full", {"value"}},
                                     {"arange", {"shape"}},
                                     {"randn", {"seed"}},
                                     {"rand", {"seed"}}}};

// The one form the object has, or an Error naming what is unknown, missing or too much.
const Form& form_of(const JsonValue& object, const std::string& pointer) {
  std::vector<std::string_view> known;
  const Form* found = nullptr;
  for (const Form& form : forms) {
    known.push_back(form.key);
    if (!object.find(form.key)) continue;
    if (found) {
      throw input_error("a tensor cannot be both \"" + std::string(found->key) + "\" and \"" +
                            std::string(form.key) + "\"",
                        pointer, "give one of them");
    }
    found = &form;
  }
  if (found) {
    known = {found->key};
    for (const std::string_view other : found->other) {
      if (!other.empty()) known.push_back(other);
    }
    expect_known_keys(object, known, pointer);
    return *found;
  }
  if (object.find("files")) {
    throw input_error("the tensor stands in comma-separated files, which are not read back",
                      pointer, "write the result with --tensors json, npy, npz or safetensors");
  }
  known.insert(known.end(), {"shape", "name", "value", "seed"});
  expect_known_keys(object, known, pointer);
  if (object.find("shape")) {
    throw input_error("\"shape\" is given without \"data\"", pointer,
                      "add \"data\", the numbers as one flat array");
  }
  throw input_error(
      "this object is no tensor", pointer,
      "give nested arrays, or an object with \"shape\" and \"data\", or with one of \"file\", "
      "\"zeros\", \"ones\", \"full\", \"arange\", \"randn\", \"rand\"");
}

Shape read_shape(const JsonValue& value, const std::string& pointer) {
  if (!value.is(JsonValue::Type::array)) {
    throw input_error("expected a shape, found " + std::string(type_text(value)), pointer,
                      "give an array of sizes such as [2,3,4]");
  }
  // No shape that fits a document's tensors comes near; longer ones are mistakes, and would make
  // endless messages.
  constexpr std::size_t most_axes = 32;
  if (value.size() > most_axes) {
    throw input_error("the shape has " + std::to_string(value.size()) + " axes", pointer,
                      "give 2 to 4 sizes such as [2,3,4]");
  }
  Shape shape;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const std::string at = pointer_to(pointer, i);
    const double number = expect_number(value.element(i), at);
    if (number == 0) {
      throw input_error("an axis of size 0", at, "give every axis at least one element");
    }
    if (!(number >= 1 && number <= 0x1p53 && std::floor(number) == number)) {
      throw input_error("the size " + number_text(number) + " is no whole number of at least 1", at,
                        "give whole numbers of at least 1");
    }
    shape.push_back(static_cast<std::size_t>(number));
  }
  if (shape.empty())
    throw input_error("the shape has no axes", pointer, "give 2 to 4 sizes such as [2,3,4]");
  return shape;
}

void check_limit(double count, std::uint64_t most, const std::string& what,
                 const std::string& pointer) {
  if (count <= static_cast<double>(most)) return;
  throw input_error(
      what + " has " + number_text(count) + " elements, and the limit is " + std::to_string(most),
      pointer, "make it smaller, or raise the limit with --max-elements");
}

std::size_t checked_count(const Shape& shape, std::uint64_t most, const std::string& pointer) {
  try {
    const std::size_t count = element_count(shape);
    check_memory(count, sizeof(double), "a tensor of shape " + text(shape), pointer);
    check_element_limit(count, most, "");
    return count;
  } catch (const Error& error) {
    throw error.where().empty() ? error.inside(pointer) : error;
  }
}

Tensor filled(Shape shape, double value, DType dtype, std::uint64_t most,
              const std::string& pointer) {
  std::vector<double> numbers(checked_count(shape, most, pointer), value);
  return checked_conversion(Tensor(std::move(shape), std::move(numbers)), dtype, pointer);
}

Tensor counted(const JsonValue& object, DType dtype, std::uint64_t most,
               const std::string& pointer) {
  const std::string at = pointer_to(pointer, "arange");
  const auto count = static_cast<std::size_t>(expect_integer(*object.find("arange"), at, 1));
  check_memory(count, sizeof(double), "a tensor of " + std::to_string(count) + " numbers", at);
  check_element_limit(count, most, at);
  Shape shape{count};
  if (const JsonValue* given = object.find("shape")) {
    const std::string shape_at = pointer_to(pointer, "shape");
    shape = read_shape(*given, shape_at);
    if (checked_count(shape, most, shape_at) != count) {
      throw input_error("the shape " + text(shape) + " has " +
                            std::to_string(element_count(shape)) + " elements, but arange has " +
                            std::to_string(count),
                        shape_at, "make the sizes' product equal to arange");
    }
  }
  std::vector<double> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<double>(i);
  return checked_conversion(Tensor(std::move(shape), std::move(numbers)), dtype, pointer);
}

}  // namespace

void check_element_limit(std::size_t count, std::uint64_t most, const std::string& where) {
  check_limit(static_cast<double>(count), most, "the tensor", where);
}

TorchRandom torch_manual_seed(std::int64_t seed) {
  return TorchRandom(static_cast<std::uint64_t>(seed));
}

Tensor checked_conversion(const Tensor& tensor, DType dtype, const std::string& pointer) {
  if (tensor.dtype() == dtype) return tensor;
  const auto refuse = [&](double number, const char* expected) {
    throw input_error(
        "the number " + number_text(number) + " is no " + expected, pointer,
        std::string("give ") + (dtype == DType::boolean ? "only 0 and 1" : "only whole numbers"));
  };
  const bool whole = dtype == DType::boolean || dtype == DType::int64;
  check_memory(tensor.size(), whole ? sizeof(double) : size_of(dtype),
               "a tensor of shape " + text(tensor.shape()), pointer);
  if (whole) {
    const Tensor numbers = tensor.converted(DType::float64);
    for (const double number : numbers.values<double>()) {
      if (dtype == DType::boolean && number != 0 && number != 1) refuse(number, "truth value");
      if (dtype == DType::int64 && !(std::floor(number) == number && std::abs(number) <= 0x1p53)) {
        refuse(number, "whole number");
      }
    }
  }
  Tensor converted = tensor.converted(dtype);
  if (dtype == DType::float32 && tensor.dtype() == DType::float64) {
    const auto before = tensor.values<double>();
    const auto after = converted.values<float>();
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (std::isinf(after[i]) && std::isfinite(before[i])) {
        throw input_error(
            "the number " + number_text(before[i]) + " is beyond the range of float32", pointer,
            "set \"dtype\" to \"float64\"");
      }
    }
  }
  return converted;
}

void TensorSource::check_elements(double count, const std::string& what,
                                  const std::string& pointer) const {
  check_limit(count, access_.limits.elements, what, pointer);
}

void TensorSource::seed(std::int64_t seed) {
  random_ = torch_manual_seed(seed);
}

TorchRandom& TensorSource::generator(const std::string& pointer, const std::string& drawn) {
  if (!random_) {
    throw input_error(
        drawn + " needs a seed", pointer,
        "add a \"seed\" to the document: the same seed gives the same numbers, those of "
        "torch.manual_seed");
  }
  return *random_;
}

const TensorFile& TensorSource::file(const std::string& name) {
  const auto known = files_.find(name);
  if (known != files_.end()) return known->second;
  return files_.emplace(name, TensorFile::open(folder_ / name, access_)).first->second;
}

Tensor TensorSource::read(const JsonValue& value, DType dtype, const std::string& pointer) {
  if (value.is(JsonValue::Type::object)) return read_object(value, dtype, pointer);
  if (value.is(JsonValue::Type::array)) {
    Tensor tensor = tensor_from_json(value, dtype, pointer);
    check_element_limit(tensor.size(), access_.limits.elements, pointer);
    return tensor;
  }
  throw input_error("expected a tensor, found " + std::string(type_text(value)), pointer,
                    "give nested arrays of numbers, or an object such as {\"file\": \"q.npy\"}");
}

Tensor TensorSource::read_object(const JsonValue& value, DType dtype, const std::string& pointer) {
  const std::string_view form = form_of(value, pointer).key;
  const std::string at = pointer_to(pointer, form);
  const JsonValue& content = *value.find(form);
  const std::uint64_t most = access_.limits.elements;
  if (form == "data") {
    const JsonValue* shape = value.find("shape");
    if (!shape) {
      throw input_error("\"data\" is given without a \"shape\"", pointer,
                        "add \"shape\", such as [2,3,4]");
    }
    const Shape wanted = read_shape(*shape, pointer_to(pointer, "shape"));
    const std::size_t count = checked_count(wanted, most, pointer_to(pointer, "shape"));
    const Tensor flat = tensor_from_json(content, dtype, at);
    if (flat.rank() != 1 || flat.size() != count) {
      throw input_error(
          "the shape " + text(wanted) + " has " + std::to_string(count) +
              " elements, but the data has " +
              (flat.rank() == 1 ? std::to_string(flat.size()) : "the shape " + text(flat.shape())),
          at, "give the data as one flat array of that many numbers");
    }
    return flat.reshaped(wanted);
  }
  if (form == "file") {
    const std::string& file_name = expect_string(content, at);
    const JsonValue* name = value.find("name");
    try {
      const Tensor tensor =
          file(file_name).read(name ? expect_string(*name, pointer_to(pointer, "name")) : "");
      check_element_limit(tensor.size(), most, pointer);
      check_stated(value, tensor, pointer);
      return checked_conversion(tensor, dtype, at);
    } catch (const Error& error) {
      throw error.where().starts_with(pointer) ? error : error.inside(at);
    }
  }
  if (form == "zeros") return filled(read_shape(content, at), 0, dtype, most, at);
  if (form == "ones") return filled(read_shape(content, at), 1, dtype, most, at);
  if (form == "full") {
    const JsonValue* number = value.find("value");
    if (!number) {
      throw input_error("\"full\" is given without a \"value\"", pointer,
                        "add \"value\", the number of every element");
    }
    const std::string value_at = pointer_to(pointer, "value");
    // One element read as a tensor is: "inf", "-inf", "nan", true and false count as numbers here
    // too.
    JsonValue single;
    single.data = JsonValue::Array{*number};
    const Tensor one = tensor_from_json(single, DType::float64, value_at);
    return filled(read_shape(content, at), one.values<double>()[0], dtype, most, value_at);
  }
  if (form == "arange") return counted(value, dtype, most, pointer);

  std::optional<TorchRandom> own;
  if (const JsonValue* seed = value.find("seed")) {
    const std::string seed_at = pointer_to(pointer, "seed");
    own = torch_manual_seed(expect_integer(*seed, seed_at, INT64_MIN));
  }
  TorchRandom& random = own ? *own : generator(at);
  Shape shape = read_shape(content, at);
  checked_count(shape, most, at);
  const Tensor drawn = form == "randn" ? torch_randn(random, std::move(shape))
                                       : torch_rand(random, std::move(shape));
  return checked_conversion(drawn, dtype, at);
}

}  // namespace attn
