#include "io/raw_array.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include "attn/error.hpp"

#include "support/memory.hpp"
#include "support/number_text.hpp"
#include "support/translated.hpp"
#include "support/work_budget.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are borrowed as little-endian");

struct Half {
  std::uint16_t bits;
  explicit operator float() const { return float16_number(bits); }
};

struct Brain {
  std::uint16_t bits;
  explicit operator float() const { return bfloat16_number(bits); }
};

struct Boolean {
  std::uint8_t bits;

  explicit operator std::uint8_t() const { return bits != 0; }
};

// C++ type of tensors with elements of the stored C++ type; int64 for integers.
template <class Stored>
struct Widened {
  using type = std::int64_t;
};
template <>
struct Widened<Half> {
  using type = float;
};
template <>
struct Widened<Brain> {
  using type = float;
};
template <>
struct Widened<float> {
  using type = float;
};
template <>
struct Widened<double> {
  using type = double;
};
template <>
struct Widened<Boolean> {
  using type = std::uint8_t;
};

// Calls `use` with a null pointer of the C++ type that stores elements of this type.
template <class Use>
auto with_stored_type(ElementType type, Use use) {
  switch (type) {
    case ElementType::float16:
      return use(static_cast<Half*>(nullptr));
    case ElementType::bfloat16:
      return use(static_cast<Brain*>(nullptr));
    case ElementType::float32:
      return use(static_cast<float*>(nullptr));
    case ElementType::float64:
      return use(static_cast<double*>(nullptr));
    case ElementType::int8:
      return use(static_cast<std::int8_t*>(nullptr));
    case ElementType::int16:
      return use(static_cast<std::int16_t*>(nullptr));
    case ElementType::int32:
      return use(static_cast<std::int32_t*>(nullptr));
    case ElementType::int64:
      return use(static_cast<std::int64_t*>(nullptr));
    case ElementType::uint8:
      return use(static_cast<std::uint8_t*>(nullptr));
    case ElementType::uint16:
      return use(static_cast<std::uint16_t*>(nullptr));
    case ElementType::uint32:
      return use(static_cast<std::uint32_t*>(nullptr));
    case ElementType::uint64:
      return use(static_cast<std::uint64_t*>(nullptr));
    case ElementType::boolean:
      break;
  }
  return use(static_cast<Boolean*>(nullptr));
}

// Calls use(source, i) for each element with its index in the file's order and, from 0 upwards, in
// row-major order.
template <class Use>
void for_each_element(const RawArray& array, std::size_t count, Use use) {
  if (!array.column_major) {
    in_stretches(count, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) use(i, i);
    });
    return;
  }
  const std::size_t rank = array.shape.size();
  std::array<std::size_t, most_axes> index{}, step{};
  for (std::size_t axis = 0, product = 1; axis < rank; product *= array.shape[axis++]) {
    step[axis] = product;
  }
  std::size_t source = 0;
  in_stretches(count, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      use(source, i);
      for (std::size_t axis = rank; axis-- > 0;) {
        source += step[axis];
        if (++index[axis] < array.shape[axis]) break;
        source -= step[axis] * array.shape[axis];
        index[axis] = 0;
      }
    }
  });
}

template <class To>
void widen_all(ElementType type, const std::byte* from, std::size_t count, To* to) {
  with_stored_type(type, [&]<class Stored>(Stored*) {
    for (std::size_t i = 0; i < count; ++i) {
      Stored stored;
      std::memcpy(&stored, from + i * sizeof(Stored), sizeof(Stored));
      if constexpr (std::is_same_v<Stored, Half> || std::is_same_v<Stored, Brain>) {
        to[i] = static_cast<To>(static_cast<float>(stored));
      } else if constexpr (std::is_same_v<Stored, Boolean>) {
        to[i] = stored.bits != 0 ? To(1) : To(0);
      } else {
        to[i] = static_cast<To>(stored);
      }
    }
    return true;
  });
}

template <class To, class Stored>
Tensor convert(const RawArray& array, std::size_t count) {
  std::vector<To> elements(count);
  for_each_element(array, count, [&](std::size_t source, std::size_t i) {
    std::array<std::byte, sizeof(Stored)> bytes;
    std::memcpy(bytes.data(), array.bytes.data() + source * sizeof(Stored), sizeof(Stored));
    if (array.big_endian) std::reverse(bytes.begin(), bytes.end());
    const auto stored = std::bit_cast<Stored>(bytes);
    if constexpr (std::is_same_v<Stored, std::uint64_t>) {
      if (!std::in_range<std::int64_t>(stored)) {
        throw input_error(translated("the number {1} is beyond the range of int64", stored),
                          "element " + std::to_string(i), translated("save it as float64"));
      }
    }
    elements[i] = static_cast<To>(stored);  // NOLINT(bugprone-signed-char-misuse): a number
  });
  return Tensor(array.shape, std::move(elements));
}

// True if a tensor stores the elements in the same way as the file.
bool stored_alike(const RawArray& array, DType dtype) {
  if (array.big_endian || array.column_major) return false;
  const auto address = std::bit_cast<std::uintptr_t>(array.bytes.data());
  if (address % size_of(dtype) != 0) return false;
  switch (array.type) {
    case ElementType::float32:
    case ElementType::float64:
    case ElementType::int64:
      return true;
    case ElementType::boolean:
      return std::all_of(array.bytes.begin(), array.bytes.end(),
                         [](std::byte byte) { return byte <= std::byte{1}; });
    default:
      return false;
  }
}

}  // namespace

const char* name(ElementType type) noexcept {
  constexpr std::array names = {"float16", "bfloat16", "float32", "float64", "int8",
                                "int16",   "int32",    "int64",   "uint8",   "uint16",
                                "uint32",  "uint64",   "bool"};
  return names[static_cast<std::size_t>(type)];
}

std::size_t size_of(ElementType type) noexcept {
  return with_stored_type(type, [](auto* null) { return sizeof(*null); });
}

DType widened(ElementType type) noexcept {
  return with_stored_type(
      type, []<class Stored>(Stored*) { return dtype_of<typename Widened<Stored>::type>(); });
}

void check_axes(std::size_t axes, const std::string& where) {
  if (axes <= most_axes) return;
  throw input_error(translated("the tensor has more than {1} axes", most_axes), where, "");
}

std::string empty_reason(const Shape& shape) {
  return translated("no numbers: its shape is {1}", text(shape));
}

void check_element_limit(std::size_t count, std::uint64_t most, const std::string& where) {
  check_element_limit(static_cast<double>(count), most, translated("the tensor"), where);
}

void check_element_limit(double count, std::uint64_t most, const std::string& what,
                         const std::string& where) {
  const double limit = static_cast<double>(most);
  if (count <= limit) return;
  throw input_error(translated("{1} has {2} elements, and the limit is {3}", what,
                               amount_text(count, limit), limit_text(limit)),
                    where, translated("make it smaller, or raise the limit with Limits::elements"));
}

void widen(ElementType type, const std::byte* from, std::size_t count, float* to) {
  widen_all(type, from, count, to);
}

void widen(ElementType type, const std::byte* from, std::size_t count, double* to) {
  widen_all(type, from, count, to);
}

std::string_view stored_type(const RawArray& array) noexcept {
  return array.make_row ? array.stored_as : name(array.type);
}

Tensor tensor_from(const RawArray& array) {
  check_axes(array.shape.size(), "");
  const std::size_t count = element_count(array.shape);
  if (count == 0) {
    throw input_error(translated("the shape {1} has an axis of size 0", text(array.shape)), "",
                      translated("sizes of axes are 1 or more: check what was saved"));
  }
  if (array.make_row) {
    check_memory(count, sizeof(float), translated("the tensor {1}", text(array.shape)), "");
    const std::size_t width = array.shape.empty() ? 1 : array.shape.back();
    std::vector<float> numbers(count);
    const auto make_rows = [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) {
        array.make_row(row, numbers.data() + row * width);
      }
    };
    in_stretches(count / width, make_rows, width);
    return Tensor(array.shape, std::move(numbers));
  }
  if (count > std::numeric_limits<std::size_t>::max() / 8 ||
      array.bytes.size() != count * size_of(array.type)) {
    throw Error(ErrorKind::internal, translated("the bytes of an array are not those of its shape"),
                "", "");
  }
  const DType dtype = widened(array.type);
  if (stored_alike(array, dtype)) {
    return Tensor::borrowed(array.shape, dtype, array.bytes.data(), array.owner);
  }
  check_memory(count, size_of(dtype), translated("the tensor {1}", text(array.shape)), "");
  return with_stored_type(array.type, [&]<class Stored>(Stored*) {
    return convert<typename Widened<Stored>::type, Stored>(array, count);
  });
}

}  // namespace attn
