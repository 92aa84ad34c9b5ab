#include <algorithm>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "attention/linear.hpp"
#include "attention/packed_product.hpp"
#include "tensor/elements.hpp"
#include "tensor/half_number.hpp"
#include "tensor/operations.hpp"

namespace attn {
namespace {

// Elements that need not be aligned, each made a number by `number`.
template <class Stored, class To, class Number>
void widen_by(const std::byte* from, std::size_t count, To* to, const Number& number) {
  for (std::size_t i = 0; i < count; ++i) {
    Stored stored;
    std::memcpy(&stored, from + i * sizeof(Stored), sizeof(Stored));
    to[i] = static_cast<To>(number(stored));
  }
}

template <class To>
void widen(DType type, const std::byte* from, std::size_t count, To* to) {
  const auto same = [](auto number) { return number; };
  switch (type) {
    case DType::float32:
      return widen_by<float>(from, count, to, same);
    case DType::float64:
      return widen_by<double>(from, count, to, same);
    case DType::bfloat16:
      return widen_by<std::uint16_t>(from, count, to,
                                     [](std::uint16_t bits) { return bfloat16_number(bits); });
    case DType::float16:
      return widen_by<std::uint16_t>(from, count, to,
                                     [](std::uint16_t bits) { return float16_number(bits); });
    case DType::int64:
    case DType::boolean:
      break;
  }
}

bool holds_numbers(DType type) {
  return type != DType::int64 && type != DType::boolean;
}

}  // namespace

StoredMatrix::StoredMatrix(Tensor stored, bool transposed)
    : stored_(holds_numbers(stored.dtype()) ? std::move(stored) : stored.converted(DType::float64)),
      transposed_(transposed) {
  if (!stored_) return;
  columns_ = stored_.shape()[transposed ? 0 : 1];
  count_ = stored_.shape()[transposed ? 1 : 0];
}

StoredMatrix::StoredMatrix(MadeRows made)
    : make_row_(std::move(made.make)),
      in_blocks_(made.in_blocks),
      columns_(made.columns),
      count_(made.rows) {}

StoredMatrix StoredMatrix::rows(std::size_t first, std::size_t count) const {
  StoredMatrix part = *this;
  part.count_ = count;
  if (order_.empty()) {
    part.first_ = first_ + first;
  } else {
    const auto begin = order_.begin() + static_cast<std::ptrdiff_t>(first);
    part.order_.assign(begin, begin + static_cast<std::ptrdiff_t>(count));
  }
  return part;
}

StoredMatrix StoredMatrix::picked(const std::vector<std::size_t>& rows) const {
  StoredMatrix part = *this;
  part.count_ = rows.size();
  part.order_.clear();
  for (const std::size_t row : rows) part.order_.push_back(stored_row(row));
  return part;
}

StoredMatrix StoredMatrix::turned() const {
  if (!make_row_ && order_.empty()) {
    if (!transposed_) return StoredMatrix(rows_of(stored_, first_, count_), true);
    if (count_ == stored_.shape()[1]) return StoredMatrix(stored_);
  }
  if (!transposed_) return StoredMatrix(tensor(), true);
  const auto columns = new_elements<double>(count_ * columns_);
  widen_rows(0, count_, count_, columns.get());
  return StoredMatrix(filled({columns_, count_}, columns));
}

// An element of the tensor that is stored.
const std::byte* StoredMatrix::bytes_at(std::size_t row, std::size_t column) const {
  return static_cast<const std::byte*>(stored_.bytes()) +
         (row * stored_.shape()[1] + column) * size_of(stored_.dtype());
}

template <class T>
void StoredMatrix::widen_rows(std::size_t first, std::size_t count, std::size_t stride,
                              T* to) const {
  if (make_row_) {
    std::vector<float> numbers(std::is_same_v<T, float> ? 0 : columns_);
    for (std::size_t i = 0; i < count; ++i) {
      if constexpr (std::is_same_v<T, float>) {
        make_row_(stored_row(first + i), to + i * stride);
      } else {
        make_row_(stored_row(first + i), numbers.data());
        std::copy(numbers.begin(), numbers.end(), to + i * stride);
      }
    }
    return;
  }
  const DType type = stored_.dtype();
  if (!transposed_) {
    for (std::size_t i = 0; i < count; ++i) {
      widen(type, bytes_at(stored_row(first + i), 0), columns_, to + i * stride);
    }
    return;
  }
  // Runs of neighbouring columns; a part of a fused projection has few of them.
  for (std::size_t i = 0; i < count;) {
    std::size_t end = i + 1;
    while (end < count && stored_row(first + end) == stored_row(first + end - 1) + 1) ++end;
    for (std::size_t k = 0; k < columns_; ++k) {
      widen(type, bytes_at(k, stored_row(first + i)), end - i, to + k * stride + i);
    }
    i = end;
  }
}

// Null if the elements must be widened, picked or moved to an aligned place.
template <class T>
const T* StoredMatrix::in_memory() const {
  if (make_row_) return nullptr;
  const bool aligned = reinterpret_cast<std::uintptr_t>(stored_.bytes()) % alignof(T) == 0;
  if (stored_.dtype() != dtype_of<T>() || !aligned || !order_.empty()) return nullptr;
  return static_cast<const T*>(stored_.bytes()) + first_ * (transposed_ ? 1 : stored_.shape()[1]);
}

// Where products of a few rows find the numbers, if these are aligned or in blocks.
void StoredMatrix::set_places(MatrixRows& rows) const {
  using kernels::StoredNumber;
  if (make_row_) {
    if (in_blocks_.form == nullptr || !in_blocks_.form->in_products) return;
    rows.stored = *in_blocks_.form->in_products;
    rows.places = [this](std::size_t first, std::size_t count, const std::byte** to) {
      for (std::size_t i = 0; i < count; ++i) to[i] = in_blocks_.row(stored_row(first + i));
    };
    return;
  }
  const DType type = stored_.dtype();
  const bool aligned = reinterpret_cast<std::uintptr_t>(stored_.bytes()) % size_of(type) == 0;
  if (type == DType::float64 || !aligned || (transposed_ && !order_.empty())) return;
  rows.stored = type == DType::float32    ? StoredNumber::float32
                : type == DType::bfloat16 ? StoredNumber::bfloat16
                                          : StoredNumber::float16;
  if (transposed_) {
    rows.lines = bytes_at(0, first_);
    return;
  }
  rows.places = [this](std::size_t first, std::size_t count, const std::byte** to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = bytes_at(stored_row(first + i), 0);
  };
}

MatrixRows StoredMatrix::source() const {
  const auto make = [this](std::size_t first, std::size_t count, std::size_t stride, auto* to) {
    widen_rows(first, count, stride, to);
  };
  const bool brain = !make_row_ && stored_.dtype() == DType::bfloat16;
  MatrixRows rows{count_, columns_, transposed_, brain, make, make};
  rows.in_memory = in_memory<float>();
  rows.doubles_in_memory = in_memory<double>();
  rows.stride = make_row_ ? columns_ : stored_.shape()[1];
  set_places(rows);
  if (kept_ && order_.empty()) rows.kept = &kept_->matrix(kept_name_, first_, count_);
  return rows;
}

Tensor StoredMatrix::rows_at(std::span<const std::int64_t> rows, DType dtype) const {
  return with_float_type(dtype, [&]<class T>() {
    const auto numbers = new_elements<T>(rows.size() * columns_);
    T* to = numbers.get();
    for (const std::int64_t row : rows) {
      widen_rows(static_cast<std::size_t>(row), 1, transposed_ ? 1 : columns_, to);
      to += columns_;
    }
    return filled({rows.size(), columns_}, numbers);
  });
}

std::vector<double> StoredMatrix::row(std::size_t at) const {
  std::vector<double> numbers(columns_);
  widen_rows(at, 1, transposed_ ? 1 : columns_, numbers.data());
  return numbers;
}

Tensor StoredMatrix::tensor() const {
  std::vector<double> numbers;
  numbers.reserve(count_ * columns_);
  for (std::size_t i = 0; i < count_; ++i) {
    const std::vector<double> own = row(i);
    numbers.insert(numbers.end(), own.begin(), own.end());
  }
  return {shape(), std::move(numbers)};
}

StoredMatrix rows_in_turn(const StoredMatrix& even, const StoredMatrix& odd) {
  const Shape shape = even.shape();
  // Rows that are made are floats, which would round doubles.
  if (even.holds_doubles() || odd.holds_doubles()) {
    std::vector<double> numbers;
    for (std::size_t i = 0; i < shape[0]; ++i) {
      for (const StoredMatrix* from : {&even, &odd}) {
        const std::vector<double> own = from->row(i);
        numbers.insert(numbers.end(), own.begin(), own.end());
      }
    }
    return StoredMatrix(Tensor({2 * shape[0], shape[1]}, std::move(numbers)));
  }
  return StoredMatrix(MadeRows{2 * shape[0], shape[1], [=](std::size_t row, float* to) {
                                 const StoredMatrix& from = row % 2 == 0 ? even : odd;
                                 const MatrixRows rows = from.source();
                                 rows.floats(row / 2, 1, rows.side_by_side ? 1 : shape[1], to);
                               }});
}

StoredLinear::StoredLinear(StoredMatrix own_weight, Tensor own_bias)
    : weight(std::move(own_weight)), bias(std::move(own_bias)) {}

StoredLinear::StoredLinear(const Linear& linear)
    : weight(linear.weight ? StoredMatrix(linear.weight) : StoredMatrix()), bias(linear.bias) {}

StoredLinear StoredLinear::rows(std::size_t first, std::size_t count) const {
  return {weight.rows(first, count), bias ? rows_of(bias, first, count) : Tensor()};
}

StoredLinear StoredLinear::picked(const std::vector<std::size_t>& rows) const {
  return {weight.picked(rows), bias ? attn::picked(bias, rows) : Tensor()};
}

StoredLinear StoredLinear::times(double of_input, double of_output) const {
  if (of_input == 1 && of_output == 1) return *this;
  const auto multiplied = [](const Tensor& tensor, double factor) {
    const Tensor numbers = tensor.converted(DType::float64);
    std::vector<double> y(numbers.values<double>().begin(), numbers.values<double>().end());
    for (double& x : y) x *= factor;
    return Tensor(tensor.shape(), std::move(y));
  };
  return Linear{multiplied(weight.tensor(), of_input * of_output),
                bias ? multiplied(bias, of_output) : Tensor()};
}

Tensor apply(const StoredLinear& linear, const Tensor& x, std::size_t threads, Epilogue epilogue) {
  const Product product{linear.weight.source(), linear.bias, std::move(epilogue)};
  return apply(std::span(&product, 1), x, threads).front();
}

std::vector<Tensor> apply(std::span<const StoredLinear* const> all, const Tensor& x,
                          std::size_t threads) {
  std::vector<Product> products;
  products.reserve(all.size());
  for (const StoredLinear* linear : all) {
    products.push_back({linear->weight.source(), linear->bias});
  }
  return apply(products, x, threads);
}

}  // namespace attn
