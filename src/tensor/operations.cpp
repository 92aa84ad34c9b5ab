#include "tensor/operations.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <type_traits>
#include <utility>

#include "attn/error.hpp"

#include "support/parallel_for.hpp"
#include "support/translated.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"

namespace attn {
namespace {

[[noreturn]] void refuse(const Tensor& a, const Tensor& b) {
  throw Error(ErrorKind::internal,
              translated("the tensors {1} {2} and {3} {4} do not fit together", name(a.dtype()),
                         text(a.shape()), name(b.dtype()), text(b.shape())),
              "", "");
}

const std::byte* bytes_of(const Tensor& tensor) {
  return static_cast<const std::byte*>(tensor.bytes());
}

// New tensor with the dtype of `like`, whose elements fill(bytes) writes; a shape alone if `like`
// is one.
template <class Fill>
Tensor made(Shape shape, const Tensor& like, const Fill& fill) {
  if (is_shape_only(like)) return shape_only(std::move(shape), like.dtype());
  const auto bytes = new_elements<std::byte>(element_count(shape) * size_of(like.dtype()));
  fill(bytes.get());
  return Tensor::borrowed(std::move(shape), like.dtype(), bytes.get(), bytes);
}

std::size_t product(const Shape& shape, std::size_t first, std::size_t end) {
  std::size_t count = 1;
  for (std::size_t axis = first; axis < end; ++axis) count *= shape[axis];
  return count;
}

// Copies elements of the shape `shape`, from `axis` on, to the starts of the axes of a tensor of
// the shape `of`.
void copy_block(const std::byte* from, const Shape& shape, std::byte* to, const Shape& of,
                std::size_t axis, std::size_t element_bytes) {
  const std::size_t from_bytes = product(shape, axis + 1, shape.size()) * element_bytes;
  const std::size_t to_bytes = product(of, axis + 1, of.size()) * element_bytes;
  if (from_bytes == to_bytes) {
    std::memcpy(to, from, shape[axis] * from_bytes);
    return;
  }
  for (std::size_t i = 0; i < shape[axis]; ++i) {
    copy_block(from + i * from_bytes, shape, to + i * to_bytes, of, axis + 1, element_bytes);
  }
}

// Bits of a float; those of a 16-bit number are what is stored.
template <class T>
auto bits_of(T number) {
  if constexpr (std::is_same_v<T, std::uint16_t>) {
    return number;
  } else {
    return std::bit_cast<
        std::conditional_t<std::is_same_v<T, float>, std::uint32_t, std::uint64_t>>(number);
  }
}

// Whether all bits of the exponent are set, as of NaN and infinities, in numbers other than
// `apart`. By bits and in pieces, for which compilers use vectors.
template <class T, class Bits>
bool any_not_finite(const T* numbers, std::size_t count, Bits exponent, Bits apart) {
  Bits found = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Bits bits = bits_of(numbers[i]);
    found |= (bits & exponent) == exponent && bits != apart ? Bits{1} : Bits{0};
  }
  return found != 0;
}

template <class T>
bool finite_by_bits(std::span<const T> numbers) {
  const auto exponent = bits_of(std::numeric_limits<T>::infinity());
  constexpr std::size_t piece = 16;
  std::size_t i = 0;
  for (; i + piece <= numbers.size(); i += piece) {
    if (any_not_finite(numbers.data() + i, piece, exponent, decltype(exponent){})) return false;
  }
  return std::ranges::all_of(numbers.subspan(i), [](T x) { return std::isfinite(x); });
}

// Finds them among numbers whose infinity has these bits.
template <class T, class Bits>
NotFinite not_finite_by_bits(std::span<const T> numbers, Bits infinity, bool hiding,
                             std::size_t threads) {
  constexpr Bits sign = Bits{1} << (8 * sizeof(Bits) - 1);
  const Bits apart = hiding ? static_cast<Bits>(sign | infinity) : Bits{0};
  constexpr std::size_t block = std::size_t{1} << 18U, piece = 256;
  std::vector<NotFinite> found((numbers.size() + block - 1) / block);
  parallel_for(found.size(), threads, [&](std::size_t at) {
    const std::size_t end = std::min(numbers.size(), (at + 1) * block);
    for (std::size_t i = at * block; i < end; i += piece) {
      const std::size_t count = std::min(piece, end - i);
      if (!any_not_finite(numbers.data() + i, count, infinity, apart)) continue;
      for (std::size_t j = i; j < i + count; ++j) {
        if (any_not_finite(numbers.data() + j, 1, infinity, apart)) found[at].add(j);
      }
    }
  });
  NotFinite all;
  for (const NotFinite& part : found) {
    if (all.count == 0) all.first = part.first;
    all.count += part.count;
  }
  return all;
}

}  // namespace

Tensor part_of(const Tensor& tensor, std::size_t first, Shape shape) {
  if (is_shape_only(tensor)) return shape_only(std::move(shape), tensor.dtype());
  return Tensor::borrowed(std::move(shape), tensor.dtype(),
                          bytes_of(tensor) + first * size_of(tensor.dtype()),
                          std::make_shared<const Tensor>(tensor));
}

Tensor rows_of(const Tensor& tensor, std::size_t first, std::size_t count) {
  Shape shape = tensor.shape();
  const std::size_t row = tensor.size() / shape[0];
  shape[0] = count;
  return part_of(tensor, first * row, std::move(shape));
}

bool all_finite(std::span<const float> numbers) {
  return finite_by_bits(numbers);
}

bool all_finite(std::span<const double> numbers) {
  return finite_by_bits(numbers);
}

bool all_finite(const Tensor& tensor) {
  return with_floats(tensor, [](const auto numbers) { return all_finite(numbers); });
}

NotFinite not_finite(const Tensor& tensor, bool hiding, std::size_t threads) {
  const auto halves = [&](std::uint16_t infinity) {
    return not_finite_by_bits(
        std::span(static_cast<const std::uint16_t*>(tensor.bytes()), tensor.size()), infinity,
        hiding, threads);
  };
  switch (tensor.dtype()) {
    case DType::int64:
    case DType::boolean:
      return {};
    case DType::bfloat16:
      return halves(bfloat16_bits(std::numeric_limits<float>::infinity()));
    case DType::float16:
      return halves(float16_bits(std::numeric_limits<float>::infinity()));
    case DType::float32:
    case DType::float64:
      break;
  }
  return with_floats(tensor, [&]<class T>(std::span<const T> numbers) {
    return not_finite_by_bits(numbers, bits_of(std::numeric_limits<T>::infinity()), hiding,
                              threads);
  });
}

std::vector<std::size_t> largest_of(std::span<const double> numbers, std::size_t count) {
  std::vector<std::size_t> places(numbers.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  count = std::min(count, places.size());
  std::partial_sort(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(count),
                    places.end(), [&](std::size_t a, std::size_t b) {
                      const double one = numbers[a], other = numbers[b];
                      if (one > other || one < other) return one > other;
                      if (std::isnan(one) != std::isnan(other)) return std::isnan(other);
                      return a < b;
                    });
  places.resize(count);
  return places;
}

Shape index_of(std::size_t element, const Shape& shape) {
  Shape index(shape.size());
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = element % shape[axis];
    element /= shape[axis];
  }
  return index;
}

Tensor picked(const Tensor& tensor, std::span<const std::size_t> indices, std::size_t axis) {
  Shape shape = tensor.shape();
  const std::size_t parts = product(shape, 0, axis);
  const std::size_t slice = product(shape, axis + 1, shape.size()) * size_of(tensor.dtype());
  const std::size_t part = std::exchange(shape[axis], indices.size()) * slice;
  return made(std::move(shape), tensor, [&](std::byte* to) {
    for (std::size_t i = 0; i < parts; ++i) {
      for (const std::size_t index : indices) {
        std::memcpy(to, bytes_of(tensor) + i * part + index * slice, slice);
        to += slice;
      }
    }
  });
}

Tensor concatenated(std::span<const Tensor> tensors, std::size_t axis) {
  const Tensor& first = tensors.front();
  Shape shape = first.shape();
  shape[axis] = 0;
  for (const Tensor& tensor : tensors) {
    Shape expected = first.shape();
    if (tensor.rank() == expected.size()) expected[axis] = tensor.shape()[axis];
    if (tensor.shape() != expected || tensor.dtype() != first.dtype()) refuse(first, tensor);
    shape[axis] += tensor.shape()[axis];
  }
  const std::size_t parts = product(shape, 0, axis);
  return made(std::move(shape), first, [&](std::byte* to) {
    for (std::size_t i = 0; i < parts; ++i) {
      for (const Tensor& tensor : tensors) {
        const std::size_t bytes = tensor.size() / parts * size_of(tensor.dtype());
        std::memcpy(to, bytes_of(tensor) + i * bytes, bytes);
        to += bytes;
      }
    }
  });
}

Tensor batched(std::span<const Tensor> samples) {
  const Tensor& first = samples.front();
  if (samples.size() == 1) return first;
  Shape shape = first.shape();
  bool padded = false;
  for (const Tensor& sample : samples) {
    if (sample.rank() != shape.size() || sample.dtype() != first.dtype()) refuse(first, sample);
    padded = padded || sample.shape() != first.shape();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      shape[axis] = std::max(shape[axis], sample.shape()[axis]);
    }
  }
  shape[0] = samples.size();
  return made(shape, first, [&](std::byte* to) {
    const std::size_t bytes = product(shape, 1, shape.size()) * size_of(first.dtype());
    if (padded) std::memset(to, 0, samples.size() * bytes);
    for (const Tensor& sample : samples) {
      copy_block(bytes_of(sample), sample.shape(), to, shape, 0, size_of(first.dtype()));
      to += bytes;
    }
  });
}

Tensor repeated(const Tensor& tensor, std::size_t count) {
  Shape shape = tensor.shape();
  shape[0] *= count;
  return made(std::move(shape), tensor, [&](std::byte* to) {
    const std::size_t bytes = tensor.size() * size_of(tensor.dtype());
    for (std::size_t i = 0; i < count; ++i) std::memcpy(to + i * bytes, bytes_of(tensor), bytes);
  });
}

Tensor permuted(const Tensor& tensor, const Shape& order) {
  const Shape& from = tensor.shape();
  Shape shape, strides;  // of the result's axes; strides in the tensor's bytes
  for (const std::size_t axis : order) {
    shape.push_back(from[axis]);
    strides.push_back(product(from, axis + 1, from.size()) * size_of(tensor.dtype()));
  }
  // The last axes that keep their places are copied as one piece.
  std::size_t moved = order.size();
  while (moved > 0 && order[moved - 1] == moved - 1) --moved;
  const std::size_t piece = product(shape, moved, shape.size()) * size_of(tensor.dtype());
  const std::size_t pieces = product(shape, 0, moved);
  return made(shape, tensor, [&](std::byte* to) {
    const std::byte* source = bytes_of(tensor);
    Shape at(moved, 0);
    for (std::size_t done = 0; done < pieces; ++done) {
      std::memcpy(to, source, piece);
      to += piece;
      for (std::size_t axis = moved; axis-- > 0;) {
        source += strides[axis];
        if (++at[axis] < shape[axis]) break;
        source -= shape[axis] * strides[axis];
        at[axis] = 0;
      }
    }
  });
}

Tensor sum(const Tensor& a, const Tensor& b, std::size_t threads) {
  const bool fits =
      b.rank() <= a.rank() && std::equal(b.shape().rbegin(), b.shape().rend(), a.shape().rbegin());
  if (!fits || a.dtype() != b.dtype()) refuse(a, b);
  return with_float_type(a.dtype(), [&]<class T>() {
    const auto y = new_elements<T>(a.size());
    const auto left = a.values<T>(), right = b.values<T>();
    constexpr std::size_t block = 1 << 14U;
    parallel_for((a.size() + block - 1) / block, threads, [&](std::size_t at) {
      const std::size_t end = std::min(a.size(), (at + 1) * block);
      for (std::size_t i = at * block; i < end;) {
        const std::size_t j = i % right.size(), count = std::min(end - i, right.size() - j);
        std::transform(left.data() + i, left.data() + i + count, right.data() + j, y.get() + i,
                       std::plus<>());
        i += count;
      }
    });
    return filled(a.shape(), y);
  });
}

Tensor divided(const Tensor& tensor, double divisor) {
  return mapped(
      1, [divisor](double number) { return number / divisor; }, tensor.converted(DType::float64));
}

}  // namespace attn
